"""Columns of sums as arrays of exact integers.

A measure is Σ factor·column over some columns of a statement. It is computed in 64 bits if Σ |factor|·max(1, |column|)
is at most 2^62 for the largest values, so that no factor and no partial sum wraps. Otherwise it is computed with
Python's integers, which have no limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np

from tacit.arrays import WideInts
from tacit.query.aggregates.released_columns import largest, wide_integers

_FITS = 2**62


def integer_column(values: Sequence[int | Decimal | None]) -> WideInts:
    """Return the integers of a column; NULL is 0.

    Every value takes the same steps, so the time does not tell whether one is NULL, as in an empty group.

    >>> integer_column([1, None, Decimal(2)]), integer_column([2**64]).dtype
    (array([1, 0, 2]), dtype('O'))
    """
    return wide_integers([0 if value is None else int(value) for value in values])


def weighted_sum(columns: Sequence[WideInts], shares: Iterable[tuple[int, int]], size: int) -> WideInts:
    """Return the integers of a measure in `size` rows, from its (column, factor) pairs.

    >>> weighted_sum([np.array([1, 2]), np.array([10, 20])], [(0, 3), (1, -1)], 2)
    array([ -7, -14])
    """
    terms = [(columns[index], factor) for index, factor in shares]
    fits = sum(max(1, largest(column)) * abs(factor) for column, factor in terms) <= _FITS
    total: WideInts = np.zeros(size, dtype=np.int64 if fits else object)
    for column, factor in terms:
        total = total + (column if fits else column.astype(object)) * factor
    return total
