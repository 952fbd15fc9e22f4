"""How answers look on a terminal and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING

from tacit.query.planned import Planned
from tacit.query.receipt import promise
from tacit.query.release import Release
from tacit.query.shown import grid
from tacit.query.words import percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SCHEMA = 1
_WIDE = 10_000


def console() -> Console:
    """Return where talk goes."""
    from rich.console import Console  # noqa: PLC0415 - heavy

    return Console(stderr=True, highlight=False, soft_wrap=True)


def paper() -> Console:
    """Return where data go: as wide as a terminal is, and as wide as need be elsewhere."""
    from rich.console import Console  # noqa: PLC0415 - heavy

    width = None if sys.stdout.isatty() else _WIDE
    return Console(file=sys.stdout, highlight=False, soft_wrap=True, width=width)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something takes its time; elsewhere say nothing."""
    if not sys.stderr.isatty():
        yield
        return
    with console().status(what):
        yield


def answer_table(answer: Release) -> Table:
    """Return the answer as a table, every noisy column followed by its intervals."""
    from rich.table import Table  # noqa: PLC0415 - heavy
    from rich.text import Text  # noqa: PLC0415 - heavy

    headings, rows = grid(answer.columns(), answer.confidence)
    noisy = [f"{percent(answer.confidence)} interval of {column.name}" for column in answer.columns()]
    shown = Table()
    for heading in headings:
        interval = heading in noisy
        shown.add_column(Text(heading), justify="left" if interval else "right", style="dim" if interval else None)
    for row in rows:
        shown.add_row(*map(Text, row))
    return shown


def as_json(answer: Release) -> dict[str, object]:
    """Return an answer for machines."""
    return {
        "question": answer.plan.sql,
        "cost": promise(answer.cost),
        "confidence": answer.confidence,
        "rows": [{name: _plain(value) for name, value in row.items()} for row in answer.intervals().dicts()],
        "receipt": answer.receipt,
    }


def planned_json(planned: Planned) -> dict[str, object]:
    """Return a plan for machines."""
    return {
        "schema": SCHEMA,
        "question": planned.plan.sql,
        "cost": promise(planned.cost),
        "noise": planned.why,
        "confidence": planned.confidence,
        "error": planned.error | dict.fromkeys(planned.unknown),
        "assume": planned.assume,
    }


def _plain(value: object) -> object:
    """Return a value as JSON has it; infinity and NaN are null there."""
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
