"""The Earth Mover's Distance between the sensitive values of a class and those of the whole, exactly.

With p = c/m the shares of the class, q = Q/n those of the whole, and e = n·c - m·Q the excess in units of 1/(m·n):

| ground distance | between two values | EMD·m·n |
|---|---|---|
| equal | 1 | Σ abs(eᵢ) / 2 |
| ordered | steps between them / (v - 1) | Σ abs(e₁ + … + eᵢ) / (v - 1) |
| hierarchical | level of their lowest common group / H | Σ abs(e of a group) / 2H, over all levels under the top |

The third is the sum of Li, Li and Venkatasubramanian (ICDE 2007, section 4.2): the flow of a group to its parent is
the excess that does not cancel inside the group. All three are Σ abs(a sum of e) over a fixed family of sets of values,
divided by one integer, so one routine computes all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from tacit.anonymity.cell_values import parse_number, to_text
from tacit.anonymity.hierarchies import Hierarchy, HierarchyRule, hierarchy
from tacit.anonymity.tables import Texts
from tacit.arrays import Codes, Floats, Ints
from tacit.errors import ColumnValueError, InvalidError, bad_value


@dataclass(frozen=True, slots=True, eq=False)
class GroundDistance:
    """A ground distance over v values: for each family the part that holds a value; prefixes if ordered."""

    families: tuple[Codes, ...]
    ordered: bool
    divisor: int

    def emd(self, counts: Ints, whole: Ints) -> Fraction:
        """Return the distance between two lists of counts, exactly.

        >>> equal_distance(2).emd(np.array([1, 1]), np.array([1, 99]))
        Fraction(49, 100)
        """
        m, n = int(counts.sum()), int(whole.sum())
        excess = [n * int(c) - m * int(q) for c, q in zip(counts, whole, strict=True)]
        return Fraction(self._moved(excess), self.divisor * m * n) if m and n else Fraction(0)

    def _moved(self, excess: list[int]) -> int:
        moved = 0
        for family in self.families:
            parts = [0] * (int(family.max()) + 1)
            for part, amount in zip(family.tolist(), excess, strict=True):
                parts[part] += amount
            moved += sum(map(abs, _prefixes(parts) if self.ordered else parts))
        return moved

    def emds(self, counts: Ints, whole: Ints) -> Floats:
        """Return the distance of every row of counts to the whole, or to its row of the whole; error below 1e-9."""
        shares = counts / counts.sum(axis=1, keepdims=True) - whole / whole.sum(axis=-1, keepdims=True)
        moved = np.zeros(len(counts))
        for family in self.families:
            parts = _family_sums(shares, family)
            moved += np.abs(np.cumsum(parts, axis=1) if self.ordered else parts).sum(axis=1)
        return np.asarray(moved / self.divisor)


def _family_sums(shares: Floats, family: Codes) -> Floats:
    """Return the sums of the columns over each part of a family."""
    if np.array_equal(family, np.arange(len(family))):
        return shares
    used, first = np.unique(np.sort(family), return_index=True)
    parts = np.zeros((len(shares), int(family.max()) + 1))
    parts[:, used] = np.add.reduceat(shares[:, np.argsort(family, kind="stable")], first, axis=1)
    return parts


def _prefixes(parts: list[int]) -> list[int]:
    sums, so_far = [], 0
    for part in parts:
        so_far += part
        sums.append(so_far)
    return sums


def equal_distance(values: int) -> GroundDistance:
    """Return the distance that is 1 between any two values."""
    return GroundDistance((np.arange(values, dtype=np.int32),), ordered=False, divisor=2)


def ordered_distance(values: Texts, order: HierarchyRule | Sequence[object] | None, column: str) -> GroundDistance:
    """Return the distance by steps in an order: the given one, or the order of the numbers; missing is last.

    Raises:
        InvalidError: the values have no order, or the order lacks a value.
    """
    line = _line(values, order, column)
    if len(set(line)) < len(line):
        raise InvalidError(f"The order of column {column!r} has a value twice.", argument=f"the order of {column}")
    steps = {value: step for step, value in enumerate(line)}
    absent = [value for value in values if value not in steps]
    if absent:
        raise InvalidError(
            f"The order of column {column!r} lacks the value {absent[0]!r}.",
            argument=f"the order of {column}",
            hint="Give all values of the column, from low to high.",
        )
    step_of = np.array([steps[value] for value in values], dtype=np.int32)
    return GroundDistance((step_of,), ordered=True, divisor=max(1, len(line) - 1))


def hierarchical_distance(tree: Hierarchy, values: Texts) -> GroundDistance:
    """Return the distance by the lowest common group of a hierarchy over these values."""
    row_of = {value: row for row, value in enumerate(tree.values)}
    rows = [row_of[value] for value in values]
    families = tuple(tree.groups(level)[rows] for level in range(tree.height - 1))
    return GroundDistance(families, ordered=False, divisor=2 * (tree.height - 1))


def _line(values: Texts, order: HierarchyRule | Sequence[object] | None, column: str) -> list[str | None]:
    line: list[str | None]
    if order is None:
        numbers = {value: parse_number(value) for value in values if value is not None}
        if None in numbers.values():
            raise ColumnValueError(
                column,
                "has values that are not numbers, so the ordered distance needs their order.",
                hint="Give hierarchy=[its values from low to high].",
            )
        line = [value for value, _ in sorted(numbers.items(), key=lambda pair: pair[1] or 0)]
    elif isinstance(order, str) or not (hasattr(order, "over") or isinstance(order, Iterable)):
        raise bad_value(f"the order of {column}", order, "a list of its values from low to high")
    else:
        line = list(order.over(values, column).values) if hasattr(order, "over") else list(map(to_text, order))
    return [value for value in line if value is not None] + [None] * (None in values)


def ground_distance(
    distance: str, values: Texts, tree: HierarchyRule | Sequence[object] | None, column: str
) -> GroundDistance:
    """Return the ground distance that a requirement names, over the values of a column."""
    if distance == "equal":
        return equal_distance(len(values))
    if distance == "ordered":
        return ordered_distance(values, tree, column)
    shape: HierarchyRule = (
        tree if tree is not None and hasattr(tree, "over") else hierarchy(cast("Sequence[Sequence[object]]", tree))
    )
    return hierarchical_distance(shape.over(values, column), values)
