"""Classes of rows that share their quasi-identifiers, and which of them fail a requirement.

Vectors of floats decide what is far from a tie; what is near one is decided by integers (`exact`, `distances`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tacit.anonymity.distances import Ground, ground
from tacit.anonymity.exact import entropy_at_least, recursive_holds
from tacit.anonymity.models import KAnonymity, LDiversity, Model, NTCloseness, TCloseness
from tacit.anonymity.tables import Column, Longs, Texts
from tacit.arrays import Floats
from tacit.errors import InvalidError

Flags = npt.NDArray[np.bool_]
_NEAR, _CELLS, _WIDE, _KEY = 1e-9, 4_000_000, 10, 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """For each row its class; for each class its size and the codes that its rows share."""

    ids: Longs
    sizes: Longs
    shared: npt.NDArray[np.int64]  # classes × quasi-identifiers

    def __len__(self) -> int:
        """Return the number of classes."""
        return len(self.sizes)


def group(columns: Sequence[npt.NDArray[np.integer]], rows: int, weights: Longs | None = None) -> Classes:
    """Return the classes of rows that agree in all columns; without a column there is one class.

    Keys are packed into 62 bits and numbered anew before they would overflow. Each row stands for as many as its
    weight says.
    """
    ids, reach = np.zeros(rows, dtype=np.int64), 1
    for codes in columns:
        width = int(codes.max(initial=0)) + 1
        if reach * width > _KEY:
            ids = np.unique(ids, return_inverse=True)[1].reshape(-1).astype(np.int64)
            reach = rows
        ids, reach = ids * width + codes, reach * width
    _, first, ids, sizes = np.unique(ids, return_index=True, return_inverse=True, return_counts=True)
    shared = np.array([codes[first] for codes in columns], dtype=np.int64).reshape(len(columns), len(sizes)).T
    if weights is not None:
        sizes = _summed(ids.reshape(-1), weights, len(sizes))
    return Classes(ids.reshape(-1).astype(np.int64), sizes.astype(np.int64), shared)


def _summed(places: npt.NDArray[np.integer], weights: Longs, many: int) -> Longs:
    """Return the sum of the weights at every place, in integers."""
    sums = np.zeros(many, dtype=np.int64)
    np.add.at(sums, places, weights)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How the values of one column fall into classes: sorted triples of class, value and count; and the whole."""

    name: str
    values: Texts
    of: Longs
    value: Longs
    count: Longs
    whole: Longs
    classes: int

    @property
    def different(self) -> Longs:
        """How many different values each class has."""
        return np.bincount(self.of, minlength=self.classes).astype(np.int64)

    def starts(self) -> Longs:
        """Return where each class begins in the triples, and the end."""
        return np.searchsorted(self.of, np.arange(self.classes + 1))

    def counts(self, which: int) -> list[int]:
        """Return the counts of one class."""
        low, high = np.searchsorted(self.of, [which, which + 1])
        return [int(count) for count in self.count[low:high]]

    def dense(self, low: int, high: int) -> Longs:
        """Return the counts of classes low to high, a row for each and a column for each value."""
        table = np.zeros((high - low, len(self.whole)), dtype=np.int64)
        a, b = np.searchsorted(self.of, [low, high])
        table[self.of[a:b] - low, self.value[a:b]] = self.count[a:b]
        return table

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Return ranges of classes that are small enough to be written out."""
        step = max(1, _CELLS // max(1, len(self.whole)))
        for low in range(0, self.classes, step):
            yield low, min(low + step, self.classes)


def spread(classes: Classes, column: Column, whole: Column | None = None, weights: Longs | None = None) -> Spread:
    """Return how a column falls into classes, beside the whole of another table's column where one is given.

    Each row of the column stands for as many as its weight says.

    Raises:
        InvalidError: the column has a value that the whole lacks.
    """
    texts, codes = column.texts, column.codes.astype(np.int64)
    base = column if whole is None else whole
    if whole is not None:
        place = {value: code for code, value in enumerate(whole.texts)}
        absent = [value for value in texts if value not in place]
        if absent:
            raise InvalidError(
                f"the reference's column {column.name}", f"none of {absent[0]!r}", "one with every value"
            )
        codes = np.array([place[value] for value in texts], dtype=np.int64)[codes] if texts else codes
        texts = whole.texts
    width = max(1, len(texts))
    keys, places, count = np.unique(classes.ids * width + codes, return_inverse=True, return_counts=True)
    total = np.bincount(base.codes, minlength=width).astype(np.int64)
    if weights is not None:
        count = _summed(places.reshape(-1), weights, len(keys))
        total = _summed(codes, weights, width) if whole is None else total
    return Spread(column.name, texts, keys // width, keys % width, count.astype(np.int64), total, len(classes))


def failing(model: Model, classes: Classes, spreads: Sequence[Spread], persons: Longs | None = None) -> Flags:
    """Return which classes fail a requirement, decided exactly.

    Args:
        model: the requirement.
        classes: the classes.
        spreads: the sensitive columns that the requirement speaks of.
        persons: how many there are in each class, where one may have several rows.
    """
    if isinstance(model, KAnonymity):
        return np.asarray((classes.sizes if persons is None else persons) < model.k)
    failed = np.zeros(len(classes), dtype=bool)
    for one in spreads:
        match model:
            case LDiversity(kind="distinct"):
                failed |= np.bincount(one.of, minlength=len(classes)) < model.l
            case LDiversity(kind="entropy"):
                failed |= _low_entropy(model, classes, one)
            case LDiversity():
                failed |= _skewed(model, one)
            case TCloseness():
                failed |= far(model, one)
            case NTCloseness():
                failed |= _far_from_supersets(model, classes, one)
    return failed


def _settle(slack: Floats, scale: Floats | float, exact: Callable[[int], bool]) -> Flags:
    """Return where slack < 0, asking the exact test where slack is within 1e-9 of the scale."""
    failed = np.asarray(slack < 0)
    for which in np.flatnonzero(np.abs(slack) <= _NEAR * scale):
        failed[which] = not exact(int(which))
    return failed


def entropies(one: Spread, sizes: Longs) -> Floats:
    """Return the entropy of every class, in nats."""
    sums = np.bincount(one.of, weights=one.count * np.log(one.count), minlength=one.classes)
    return np.asarray(np.log(sizes) - sums / sizes)


def _low_entropy(model: LDiversity, classes: Classes, one: Spread) -> Flags:
    slack = entropies(one, classes.sizes) - np.log(float(model.level))
    return _settle(slack, 1.0, lambda which: entropy_at_least(one.counts(which), model.level))


def tops_and_tails(one: Spread, places: int) -> tuple[Longs, Longs]:
    """Return r₁ and r_l + … + r_m of every class."""
    order = np.lexsort((-one.count, one.of))
    starts = one.starts()
    falling = one.count[order]
    sums = np.append(0, np.cumsum(falling))
    late = np.minimum(starts[:-1] + places - 1, starts[1:])
    return falling[starts[:-1]], sums[starts[1:]] - sums[late]


def _skewed(model: LDiversity, one: Spread) -> Flags:
    most, tail = tops_and_tails(one, int(model.l))
    slack = np.asarray(float(model.share) * tail - most, dtype=np.float64)
    scale = np.asarray(1.0 + most, dtype=np.float64)
    return _settle(slack, scale, lambda which: recursive_holds(one.counts(which), model.share, int(model.l)))


def far(model: TCloseness, one: Spread) -> Flags:
    """Return which classes are further than t from the whole."""
    measure = ground(model.distance, one.values, model.hierarchy, one.name)
    failed = []
    for low, high in one.blocks():
        table = one.dense(low, high)

        def exact(which: int, table: Longs = table) -> bool:
            return measure.emd(table[which], one.whole) <= model.bound

        failed.append(_settle(float(model.bound) - measure.emds(table, one.whole), 1.0, exact))
    return np.concatenate(failed) if failed else np.zeros(0, dtype=bool)


def _far_from_supersets(model: NTCloseness, classes: Classes, one: Spread) -> Flags:
    measure = ground(model.distance, one.values, model.hierarchy, one.name)
    table, failed = one.dense(0, len(classes)), np.ones(len(classes), dtype=bool)
    columns = np.arange(table.shape[1])
    small: list[set[int]] = []  # selections under which no class that is left has n rows: nor has it under more columns
    for kept in selections(_varying(classes)):
        left = np.flatnonzero(failed)
        if not left.size:
            break
        if any(one.issubset(kept) for one in small):
            continue
        wider = group([classes.shared[:, place] for place in kept], len(classes))
        enough = np.bincount(wider.ids, weights=classes.sizes) >= model.n
        left = left[enough[wider.ids[left]]]
        if not left.size:
            small.append(set(kept))
        else:
            cells = wider.ids[:, None] * len(columns) + columns
            sums = np.bincount(cells.reshape(-1), weights=table.reshape(-1), minlength=len(wider) * len(columns))
            whole = sums.astype(np.int64).reshape(len(wider), len(columns))  # exact: far below 2⁵³
            failed[left] = _far_from_own(model, measure, table[left], whole[wider.ids[left]])
    return failed


def _far_from_own(model: NTCloseness, measure: Ground, table: Longs, whole: Longs) -> Flags:
    slack = float(model.bound) - measure.emds(table, whole)
    return _settle(slack, 1.0, lambda which: measure.emd(table[which], whole[which]) <= model.bound)


def _varying(classes: Classes) -> tuple[int, ...]:
    """Return the quasi-identifiers in which classes differ: agreement in the others says nothing."""
    shared = classes.shared
    return tuple(int(column) for column in np.flatnonzero((shared != shared[:1]).any(axis=0)))


def selections(columns: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return the selections of quasi-identifiers whose agreement makes a natural superset, the smallest first.

    Of more than ten columns, only those that keep or drop at most two: fewer supersets are a stricter requirement.
    """
    for kept in range(len(columns) + 1):
        if len(columns) <= _WIDE or min(kept, len(columns) - kept) <= 2:  # noqa: PLR2004 - at most two
            yield from combinations(columns, kept)
