"""The search of the event that tells two inputs apart best. It reads one half of the outputs only.

For each feature the candidates are single values, thresholds, and unions of values or bins in the order of their
likelihood ratio, as in the lemma of Neyman and Pearson. Each candidate is scored by the bound that its counts would
give. The score needs no proof: the bound itself is computed from the other half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TypeAlias

import numpy as np
from scipy import special

from tacit.arrays import Floats, Ints
from tacit.auditing.events import Event, Projection
from tacit.auditing.features import Feature
from tacit.auditing.sampling import ABSENT, PROJECTION, Table

_Column: TypeAlias = Floats | list[str]
_THRESHOLDS, _BINS, _TAIL, _MOST_VALUES = 200, 40, 24, 200
_FEWEST = 3
_FEWEST_IN_UNION = 12
"""A union of rarer values would fit the search half alone: each of them is on one side by chance."""

_TIE = 0.01


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event, on which input it is more likely, and its score."""

    event: Event
    on_first: bool
    score: float


def find_event(
    first: Table,
    second: Table,
    *,
    delta: Fraction,
    error: Fraction,
    numbers_only: bool = False,
) -> Candidate:
    """Return the candidate with the highest score; near ties go to the simplest, which comes first."""
    projection = fit_projection(first, second)
    best = Candidate(Event(feature="type", values=(ABSENT,)), on_first=True, score=-inf)
    names = second.names() | first.names()
    for name in [*names, *([PROJECTION] if projection else [])]:
        sides = _sides(name, first, second, projection)
        if numbers_only and isinstance(sides[0], list):
            continue
        for found in _of_feature(name, sides, projection if name == PROJECTION else None, delta=delta, error=error):
            if found.score > best.score + _TIE:
                best = found
    return best


def _sides(name: str, first: Table, second: Table, projection: Projection | None) -> tuple[_Column, _Column]:
    """Return a feature of both tables, as numbers if all its values are numbers."""
    if name == PROJECTION and projection is not None:
        sums = [[projection.values(size, chunk) for size, chunk in table.chunks()] for table in (first, second)]
        return np.concatenate(sums[0]), np.concatenate(sums[1])
    if first.names().get(name, True) and second.names().get(name, True):
        return first.numbers(name), second.numbers(name)
    return first.texts(name), second.texts(name)


def _of_feature(
    name: str, sides: tuple[_Column, _Column], projection: Projection | None, *, delta: Fraction, error: Fraction
) -> Iterator[Candidate]:
    sizes = len(sides[0]), len(sides[1])
    for build, *hits in _families(*sides):
        for on_first in (True, False):
            likely, unlikely = hits if on_first else hits[::-1]
            runs = sizes if on_first else sizes[::-1]
            scores = score(likely, unlikely, runs, delta=float(delta), error=float(error))
            place = int(np.argmax(scores))
            event = build(name, place)
            if projection is not None:
                event = replace(event, projection=projection)
            yield Candidate(event, on_first, float(scores[place]))


def score(likely: Ints, unlikely: Ints, runs: tuple[int, int], *, delta: float, error: float) -> Floats:
    """Return about ln((p - δ)/q) for many counts at once, p and q by Clopper and Pearson's quantiles."""
    p = np.where(likely == 0, 0, special.betaincinv(np.maximum(likely, 1), runs[0] - likely + 1, error / 2))
    rest = np.maximum(runs[1] - unlikely, 1)
    q = np.where(unlikely == runs[1], 1, special.betainccinv(unlikely + 1, rest, error / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), -inf))


_Family: TypeAlias = tuple[Callable[[str, int], Event], Ints, Ints]


def _families(first: _Column, second: _Column) -> Iterator[_Family]:
    if isinstance(first, list) or isinstance(second, list):
        yield from _of_values(list(first), list(second))
        return
    pooled = np.concatenate([first, second])
    pooled = pooled[~np.isnan(pooled)]
    values, counts = np.unique(pooled, return_counts=True)
    if values.size == 0:
        return
    if values.size > 1:
        yield from _of_thresholds(values, first, second, pooled)
    if values.size <= _MOST_VALUES or counts.max() >= _FEWEST:
        yield from _of_values(first.tolist(), second.tolist())
    if values.size > _MOST_VALUES:
        yield _of_bins(first, second, pooled)


def _of_values(first: Sequence[Feature], second: Sequence[Feature]) -> Iterator[_Family]:
    """Yield single values, and the unions of the values whose likelihood ratio is highest, or lowest."""
    counts = Counter(filter(_is_present, first)), Counter(filter(_is_present, second))
    common = [value for value, _ in (counts[0] + counts[1]).most_common(_MOST_VALUES)]
    if not common:
        return
    a = np.array([counts[0][value] for value in common], dtype=np.int64)
    b = np.array([counts[1][value] for value in common], dtype=np.int64)
    yield (lambda name, place: Event(feature=name, values=(common[place],))), a, b
    often = np.flatnonzero(a + b >= _FEWEST_IN_UNION)
    for order in (often[places] for places in _orders(a[often], b[often])) if often.size else ():
        ranked = [common[place] for place in order]
        yield (
            (lambda name, place, ranked=ranked: Event(feature=name, values=tuple(ranked[: place + 1]))),  # type: ignore[misc]  # bound now
            np.cumsum(a[order]),
            np.cumsum(b[order]),
        )


def _is_present(value: Feature) -> bool:
    return value == value  # noqa: PLR0124 - NaN stands for an absent number


def _of_thresholds(values: Floats, first: Floats, second: Floats, pooled: Floats) -> Iterator[_Family]:
    """Yield x ≤ t and x > t, t at quantiles of the values and at the most extreme values."""
    inner = np.quantile(pooled, np.linspace(0, 1, _THRESHOLDS), method="inverted_cdf")
    at = np.unique(np.concatenate([inner, values[:_TAIL], values[-_TAIL:]]))[:-1]
    below = [np.searchsorted(np.sort(side[~np.isnan(side)]), at, side="right") for side in (first, second)]
    sizes = [int(np.count_nonzero(~np.isnan(side))) for side in (first, second)]
    yield (lambda name, place: Event(feature=name, intervals=((-inf, float(at[place])),))), below[0], below[1]
    yield (
        (lambda name, place: Event(feature=name, intervals=((float(at[place]), inf),))),
        sizes[0] - below[0],
        sizes[1] - below[1],
    )


def _of_bins(first: Floats, second: Floats, pooled: Floats) -> _Family:
    """Return unions of bins between quantiles, in the order of their likelihood ratio."""
    inner = np.unique(np.quantile(pooled, np.linspace(0, 1, _BINS + 1)[1:-1], method="inverted_cdf"))
    edges = np.concatenate([[-inf], inner, [inf]])
    a, b = (
        np.bincount(np.searchsorted(inner, side[~np.isnan(side)], side="left"), minlength=inner.size + 1)
        for side in (first, second)
    )
    order = _orders(a, b)[0]

    def build(name: str, place: int) -> Event:
        chosen = sorted(order[: place + 1].tolist())
        return Event(feature=name, intervals=_joined([(float(edges[i]), float(edges[i + 1])) for i in chosen]))

    return build, np.cumsum(a[order]), np.cumsum(b[order])


def _joined(intervals: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Join intervals that touch.

    >>> _joined([(0, 1), (1, 2), (4, 5)])
    ((0, 2), (4, 5))
    """
    joined = [intervals[0]]
    for low, high in intervals[1:]:
        if low == joined[-1][1]:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return tuple(joined)


def _orders(a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """Return places by falling and by rising likelihood ratio."""
    ratio = (a + 0.5) / (b + 0.5)
    falling = np.argsort(-ratio, kind="stable")
    return falling, falling[::-1]


def fit_projection(first: Table, second: Table) -> Projection | None:
    """Return weights under which the means of two inputs are far apart, if outputs have several items.

    The weights are those of Fisher's linear discriminant with a diagonal covariance.
    """
    names = [name for name, numeric in first.names().items() if numeric and name.endswith("]")]
    items = [(name, first.numbers(name), second.numbers(name)) for name in names]
    items = [(name, a, b) for name, a, b in items if not np.isnan(a).any() and not np.isnan(b).any()]
    if len(items) < 2:  # noqa: PLR2004 - one item is a feature already
        return None
    weights = np.array([_weight(a, b) for _, a, b in items])
    if not np.isfinite(weights).all() or not weights.any():
        return None
    return Projection(tuple(name for name, _, _ in items), tuple((weights / np.abs(weights).max()).tolist()))


def _weight(a: Floats, b: Floats) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        spread = a.var() + b.var()
        return float((a.mean() - b.mean()) / spread) if spread > 0 else 0.0
