"""Classes of rows that share their quasi-identifiers, and which of them fail a requirement.

Floats decide a requirement if the result is far from a tie. Integers decide the others exactly, here and in
`distances`: a class that meets a requirement exactly meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations
from math import exp, gcd, log
from typing import assert_never

import numpy as np
import numpy.typing as npt

from tacit.anonymity.distances import GroundDistance, ground_distance
from tacit.anonymity.privacy_models import KAnonymity, LDiversity, Model, NTCloseness, TCloseness
from tacit.anonymity.tables import CodedColumn, Texts
from tacit.arrays import Bools, Floats, Ints
from tacit.errors import InvalidError

_DIGITS = 60
_SMALL = 20_000
_NEAR, _CELLS, _WIDE, _KEY = 1e-9, 4_000_000, 10, 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """For each row its class; for each class its size and the codes that its rows share."""

    ids: Ints
    sizes: Ints
    shared: Ints  # classes × quasi-identifiers

    def __len__(self) -> int:
        """Return the number of classes."""
        return len(self.sizes)


def group(columns: Sequence[npt.NDArray[np.integer]], rows: int, weights: Ints | None = None) -> Classes:
    """Return the classes of rows that agree in all columns; without columns there is one class.

    Keys are packed into 62 bits, and renumbered before they would overflow. A row counts as many times as its weight.
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
        sizes = _weight_sums(ids.reshape(-1), weights, len(sizes))
    return Classes(ids.reshape(-1).astype(np.int64), sizes.astype(np.int64), shared)


def _weight_sums(ids: npt.NDArray[np.integer], weights: Ints, many: int) -> Ints:
    """Return the sum of the weights of each id, in integers."""
    sums = np.zeros(many, dtype=np.int64)
    np.add.at(sums, ids, weights)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts:
    """Counts of the values of one column by class: sorted triples (class_of, value, count), and the whole column."""

    name: str
    values: Texts
    class_of: Ints
    value: Ints
    count: Ints
    whole: Ints
    classes: int

    @property
    def different(self) -> Ints:
        """The number of different values of each class."""
        return np.bincount(self.class_of, minlength=self.classes).astype(np.int64)

    def starts(self) -> Ints:
        """Return the index of the first triple of each class, and the number of triples."""
        return np.searchsorted(self.class_of, np.arange(self.classes + 1))

    def of_class(self, which: int) -> list[int]:
        """Return the counts of one class."""
        low, high = np.searchsorted(self.class_of, [which, which + 1])
        return [int(count) for count in self.count[low:high]]

    def dense(self, low: int, high: int) -> Ints:
        """Return the counts of classes low to high, a row for each and a column for each value."""
        table = np.zeros((high - low, len(self.whole)), dtype=np.int64)
        a, b = np.searchsorted(self.class_of, [low, high])
        table[self.class_of[a:b] - low, self.value[a:b]] = self.count[a:b]
        return table

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Return ranges of classes whose dense table fits into memory."""
        step = max(1, _CELLS // max(1, len(self.whole)))
        for low in range(0, self.classes, step):
            yield low, min(low + step, self.classes)


def count_values(
    classes: Classes, column: CodedColumn, whole: CodedColumn | None = None, weights: Ints | None = None
) -> ClassCounts:
    """Return the counts of a column by class, beside the whole of another table's column if one is given.

    A row of the column counts as many times as its weight.

    Raises:
        InvalidError: the column has a value that the whole lacks.
    """
    texts, codes = column.texts, column.codes.astype(np.int64)
    base = column if whole is None else whole
    if whole is not None:
        code_of = {value: code for code, value in enumerate(whole.texts)}
        absent = [value for value in texts if value not in code_of]
        if absent:
            raise InvalidError(
                f"Column {column.name!r} of the reference lacks the value {absent[0]!r}.",
                argument=f"the reference's column {column.name}",
                hint="Give a reference with every value of the column.",
            )
        codes = np.array([code_of[value] for value in texts], dtype=np.int64)[codes] if texts else codes
        texts = whole.texts
    width = max(1, len(texts))
    keys, ids, count = np.unique(classes.ids * width + codes, return_inverse=True, return_counts=True)
    total = np.bincount(base.codes, minlength=width).astype(np.int64)
    if weights is not None:
        count = _weight_sums(ids.reshape(-1), weights, len(keys))
        total = _weight_sums(codes, weights, width) if whole is None else total
    return ClassCounts(column.name, texts, keys // width, keys % width, count.astype(np.int64), total, len(classes))


def failing(model: Model, classes: Classes, columns: Sequence[ClassCounts], persons: Ints | None = None) -> Bools:
    """Return which classes fail a requirement, decided exactly.

    Args:
        model: the requirement.
        classes: the classes.
        columns: the sensitive columns of the requirement.
        persons: the number of persons in each class, if a person may have several rows.
    """
    if isinstance(model, KAnonymity):
        return np.asarray((classes.sizes if persons is None else persons) < model.k)
    failed = np.zeros(len(classes), dtype=bool)
    for counts in columns:
        match model:
            case LDiversity(kind="distinct"):
                failed |= counts.different < model.l
            case LDiversity(kind="entropy"):
                failed |= _low_entropy(model, classes, counts)
            case LDiversity():
                failed |= _not_recursive(model, counts)
            case TCloseness():
                failed |= _far(model, counts)
            case NTCloseness():
                failed |= _far_from_all_supersets(model, classes, counts)
            case _:
                assert_never(model)
    return failed


def _decide(slack: Floats, scale: Floats | float, exact: Callable[[int], bool]) -> Bools:
    """Return where slack < 0; the exact test decides where slack is within 1e-9 of the scale."""
    failed = np.asarray(slack < 0)
    for which in np.flatnonzero(np.abs(slack) <= _NEAR * scale):
        failed[which] = not exact(int(which))
    return failed


def entropies(counts: ClassCounts, sizes: Ints) -> Floats:
    """Return the entropy of every class, in nats."""
    sums = np.bincount(counts.class_of, weights=counts.count * np.log(counts.count), minlength=counts.classes)
    return np.asarray(np.log(sizes) - sums / sizes)


def _low_entropy(model: LDiversity, classes: Classes, counts: ClassCounts) -> Bools:
    slack = entropies(counts, classes.sizes) - np.log(float(model.level))
    return _decide(slack, 1.0, lambda which: entropy_at_least(counts.of_class(which), model.level))


def tops_and_tails(counts: ClassCounts, l: int) -> tuple[Ints, Ints]:  # noqa: E741 - the literature's letter
    """Return r₁ and r_l + … + r_m of every class."""
    order = np.lexsort((-counts.count, counts.class_of))
    starts = counts.starts()
    falling = counts.count[order]
    sums = np.append(0, np.cumsum(falling))
    late = np.minimum(starts[:-1] + l - 1, starts[1:])
    return falling[starts[:-1]], sums[starts[1:]] - sums[late]


def _not_recursive(model: LDiversity, counts: ClassCounts) -> Bools:
    most, tail = tops_and_tails(counts, int(model.l))
    slack = np.asarray(float(model.share) * tail - most, dtype=np.float64)
    scale = np.asarray(1.0 + most, dtype=np.float64)
    return _decide(slack, scale, lambda which: recursive_holds(counts.of_class(which), model.share, int(model.l)))


def _far(model: TCloseness, counts: ClassCounts) -> Bools:
    """Return which classes are further than t from the whole."""
    distance = ground_distance(model.distance, counts.values, model.hierarchy, counts.name)
    failed = []
    for low, high in counts.blocks():
        table = counts.dense(low, high)

        def exact(which: int, table: Ints = table) -> bool:
            return distance.emd(table[which], counts.whole) <= model.bound

        failed.append(_decide(float(model.bound) - distance.emds(table, counts.whole), 1.0, exact))
    return np.concatenate(failed) if failed else np.zeros(0, dtype=bool)


def _far_from_all_supersets(model: NTCloseness, classes: Classes, counts: ClassCounts) -> Bools:
    distance = ground_distance(model.distance, counts.values, model.hierarchy, counts.name)
    table, failed = counts.dense(0, len(classes)), np.ones(len(classes), dtype=bool)
    columns = np.arange(table.shape[1])
    small: list[
        set[int]
    ] = []  # selections with fewer than n rows for every class left; so have selections of more columns
    for kept in selections(_varying(classes)):
        left = np.flatnonzero(failed)
        if not left.size:
            break
        if any(selection.issubset(kept) for selection in small):
            continue
        wider = group([classes.shared[:, column] for column in kept], len(classes))
        enough = np.bincount(wider.ids, weights=classes.sizes) >= model.n
        left = left[enough[wider.ids[left]]]
        if not left.size:
            small.append(set(kept))
        else:
            cells = wider.ids[:, None] * len(columns) + columns
            sums = np.bincount(cells.reshape(-1), weights=table.reshape(-1), minlength=len(wider) * len(columns))
            whole = sums.astype(np.int64).reshape(len(wider), len(columns))  # exact: far below 2⁵³
            failed[left] = _far_from_superset(model, distance, table[left], whole[wider.ids[left]])
    return failed


def _far_from_superset(model: NTCloseness, distance: GroundDistance, table: Ints, whole: Ints) -> Bools:
    slack = float(model.bound) - distance.emds(table, whole)
    return _decide(slack, 1.0, lambda which: distance.emd(table[which], whole[which]) <= model.bound)


def _varying(classes: Classes) -> tuple[int, ...]:
    """Return the quasi-identifiers in which classes differ; all classes agree in the others."""
    shared = classes.shared
    return tuple(int(column) for column in np.flatnonzero((shared != shared[:1]).any(axis=0)))


def selections(columns: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return the selections of quasi-identifiers whose agreement makes a natural superset, the smallest first.

    Of more than ten columns, only selections that keep or drop at most two columns are used. Fewer supersets are a
    stricter requirement.
    """
    for kept in range(len(columns) + 1):
        if len(columns) <= _WIDE or min(kept, len(columns) - kept) <= 2:  # noqa: PLR2004 - at most two
            yield from combinations(columns, kept)


def entropy_at_least(counts: Iterable[int], level: Fraction) -> bool:
    """Return whether the entropy of counts is at least ln(level), decided exactly.

    With m = Σcᵢ: H = ln m - Σcᵢ·ln(cᵢ)/m ≥ ln(a/b) if and only if bᵐ·mᵐ ≥ aᵐ·Πcᵢ^cᵢ. Counts may be divided by their
    greatest common divisor first, since H depends on shares alone. Floats decide if the result is far from a tie;
    otherwise 60 digits decide, and then the integers.

    >>> entropy_at_least([5, 5, 5], Fraction(3)), entropy_at_least([4, 1, 1, 1, 1], Fraction(4))
    (True, True)
    >>> entropy_at_least([5, 5, 4], Fraction(3))
    False
    """
    positive = [count for count in counts if count]
    if not positive:
        return False
    shared = gcd(*positive)
    positive = [count // shared for count in positive]
    total = sum(positive)
    spare = total * log(total) - sum(c * log(c) for c in positive) - total * log(level)
    if abs(spare) > 1e-9 * total * (1 + log(total)):
        return spare > 0
    if total > _SMALL:
        wide = Context(prec=_DIGITS)
        far = wide.subtract(_xlogx(total, wide), sum((_xlogx(c, wide) for c in positive), Decimal(0)))
        far -= total * (Decimal(level.numerator).ln(wide) - Decimal(level.denominator).ln(wide))
        if abs(far) > Decimal(10) ** -(_DIGITS // 2):
            return far > 0
    product = level.numerator**total
    for count in positive:
        product *= count**count
    return bool((level.denominator * total) ** total >= product)


def _xlogx(x: int, wide: Context) -> Decimal:
    return wide.multiply(Decimal(x), Decimal(x).ln(wide))


def entropy_level(counts: Iterable[int]) -> float:
    """Return e^H: the number of equally likely values with the same entropy; an integer if it is exactly one.

    >>> entropy_level([7, 7, 7]), round(entropy_level([2, 1]), 4)
    (3.0, 1.8899)
    """
    positive = [count for count in counts if count]
    if not positive:
        return 0.0
    total = sum(positive)
    level = exp(log(total) - sum(c * log(c) for c in positive) / total)
    near = Fraction(round(level))
    tied = abs(level - near) < 1e-9  # noqa: PLR2004 - far above the error of floats, far under any gap that matters
    return float(near) if tied and entropy_at_least(positive, near) and not _exceeds(positive, near) else level


def _exceeds(counts: list[int], level: Fraction) -> bool:
    """Return whether the entropy is strictly more than ln(level): at least, and not equal."""
    shared = gcd(*counts)
    positive = [count // shared for count in counts]
    total = sum(positive)
    if total > _SMALL:
        return False
    product = level.numerator**total
    for count in positive:
        product *= count**count
    return bool((level.denominator * total) ** total > product)


def recursive_holds(counts: Iterable[int], c: Fraction, l: int) -> bool:  # noqa: E741 - the literature's letter
    """Return whether r₁ < c·(r_l + … + r_m), the counts r in falling order.

    >>> recursive_holds([2, 2, 1], Fraction(2), 2), recursive_holds([3, 1, 1], Fraction(3, 2), 2)
    (True, False)
    """
    falling = sorted((count for count in counts if count), reverse=True)
    return bool(falling) and falling[0] < c * sum(falling[l - 1 :])
