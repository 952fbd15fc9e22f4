"""Estimates in rows and columns: every count stands beside its error.

If only the largest counts are shown, their errors are mostly upwards, and an interval that holds for one value misses
more often than it says. Intervals of a list that is cut are therefore simultaneous: with the stated confidence they
hold for all values of the domain at once, whichever are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import InvalidError
from tacit.safe_text import aligned

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from tacit.local.estimate import Estimate, Interval

_CONFIDENCE = 0.95
_SHORT, _ROWS = 5, 10


def people(estimate: Estimate) -> str:
    """Say how many reports there were, and how many were dropped."""
    dropped = f", {estimate.dropped:,} dropped" if estimate.dropped else ""
    return f"{estimate.n:,} reports{dropped}"


def arrow(estimate: Estimate, ends: Interval) -> pa.Table:
    """Return value, count (and the unbiased count of a consistent estimate), std, low and high."""
    pa = _module("pyarrow")
    source = estimate.unbiased
    more = {"unbiased": source.counts} if estimate.biased else {}
    return pa.table(
        {"value": _values(pa, estimate), "count": estimate.counts, **more}
        | {"std": source.std, "low": ends.low, "high": ends.high}
    )


def _values(pa: Any, estimate: Estimate) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the domain as a column; as text where it has values of several kinds."""
    if isinstance(estimate.domain, range):
        return pa.array(np.arange(len(estimate.domain)))
    kinds = {type(value) for value in estimate.domain}
    return pa.array(list(estimate.domain) if len(kinds) == 1 else [str(value) for value in estimate.domain])


def polars(table: pa.Table) -> pl.DataFrame:
    """Return an Arrow table as a polars frame."""
    frame: pl.DataFrame = _module("polars").from_arrow(table)
    return frame


def _module(name: str) -> Any:  # noqa: ANN401 - a module
    from importlib import import_module  # noqa: PLC0415 - for what may be missing alone

    try:
        return import_module(name)
    except ImportError:
        raise InvalidError(
            name, "no such package here", "installed for this; `counts` and `interval` need none"
        ) from None


def short(estimate: Estimate) -> str:
    """Return one line: the largest counts, each with its interval."""
    parts = [f"{value!r}: {count} ({low} to {high})" for value, count, _, low, high in _largest(estimate, _SHORT)]
    more = ", …" if estimate.counts.size > _SHORT else ""
    kind = "Consistent estimate" if estimate.biased else "Estimate"
    of = f"intervals{_at_once(estimate, _SHORT)}{' of the unbiased counts' if estimate.biased else ''}"
    return f"<{kind} from {people(estimate)}; {_CONFIDENCE:.0%} {of}; {', '.join(parts)}{more}>"


def text(estimate: Estimate) -> str:
    """Return the largest counts in rows, with what they rest on below."""
    heads = ("value", "count", "std", f"{_CONFIDENCE:.0%} interval{_at_once(estimate, _ROWS)}")
    rows = [heads] + [
        (str(value), count, std, f"{low} to {high}") for value, count, std, low, high in _largest(estimate, _ROWS)
    ]
    hidden = estimate.counts.size - len(rows) + 1
    more = f" The other {hidden:,} values are below." if hidden else ""
    return "\n".join([*aligned(rows), f"{people(estimate)}. {estimate.note}{more}"])


def _at_once(estimate: Estimate, most: int) -> str:
    return ", all at once" if estimate.counts.size > most else ""


def _largest(estimate: Estimate, most: int) -> list[tuple[object, str, str, str, str]]:
    """Return value, count, std and ends of the largest counts, as text but for the value."""
    source = estimate.unbiased
    low, high = source.interval(confidence=_CONFIDENCE, simultaneous=estimate.counts.size > most)
    columns = (estimate.counts, source.std, low, high)
    order = np.argsort(-estimate.counts, kind="stable")[:most]
    numbers = ([f"{column[place]:,.0f}" for column in columns] for place in order)
    return [(estimate.domain[place], *four) for place, four in zip(order, numbers, strict=True)]
