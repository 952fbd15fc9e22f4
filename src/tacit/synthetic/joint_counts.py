"""Exact counts of many sets of columns from few passes over the rows.

Sets of columns are gathered into groups whose joint table is small. The rows are counted once for each group, and the
counts of a set are sums of the counts of a group that has all its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import prod

from tacit.synthetic.coded_rows import CodedRows, Counts

Columns = tuple[int, ...]
_MOST_CELLS = 2**16


def largest_sets(sets: Iterable[Columns]) -> list[Columns]:
    """Return the sets that no other set contains, the largest first; a set is a tuple of rising columns.

    >>> largest_sets([(), (0,), (0, 2), (1,)])
    [(0, 2), (1,)]
    """
    inside: set[Columns] = set()
    kept = []
    for columns in sorted(set(sets), key=lambda each: (-len(each), each)):
        if columns in inside:
            continue
        kept.append(columns)
        inside.update(each for size in range(len(columns) + 1) for each in combinations(columns, size))
    return kept


def joint_groups(sets: Iterable[Columns], sizes: Sequence[int], most: int = _MOST_CELLS) -> list[Columns]:
    """Return groups of columns so that each set is in one; a group of several sets has at most `most` cells.

    >>> joint_groups([(0, 1), (1, 2), (0, 2)], [4, 4, 4]), joint_groups([(0, 1), (1, 2)], [4, 4, 4], most=32)
    ([(0, 1, 2)], [(0, 1), (1, 2)])
    """
    groups: list[set[int]] = []
    for columns in largest_sets(sets):
        place = next((group for group in groups if group.issuperset(columns)), None)
        if place is None:
            fits = (group for group in groups if prod(sizes[column] for column in group.union(columns)) <= most)
            place = next(fits, None)
        if place is None:
            groups.append(set(columns))
        else:
            place.update(columns)
    return largest_sets(tuple(sorted(group)) for group in groups)


def joint_counts(rows: CodedRows, sets: Sequence[Columns]) -> Iterator[tuple[Columns, Counts]]:
    """Yield each set with its counts of weighted rows; the sets of one group follow each other.

    Sums of 64-bit integers do not overflow where the number of rows times the weight of a row is below 2^63.
    """
    left = set(sets)
    for group in joint_groups(sets, rows.sizes):
        table = rows.counts(group)
        for columns in sorted(each for each in left if set(each) <= set(group)):
            left.discard(columns)
            others = tuple(place for place, column in enumerate(group) if column not in columns)
            yield columns, table.sum(axis=others) if others else table
