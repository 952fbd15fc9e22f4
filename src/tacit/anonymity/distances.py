"""The Earth Mover's Distance between the sensitive values of a class and those of the whole, exactly.

With p = c/m the shares of the class, q = Q/n those of the whole, and e = n·c - m·Q the excess in units of 1/(m·n):

| ground distance | between two values | EMD·m·n |
|---|---|---|
| equal | 1 | Σ abs(eᵢ) / 2 |
| ordered | steps between them / (v - 1) | Σ abs(e₁ + … + eᵢ) / (v - 1) |
| hierarchical | level of their lowest common group / H | Σ abs(e of a group) / 2H, over all levels under the top |

The third is the sum of Li, Li and Venkatasubramanian (ICDE 2007, section 4.2): a group's flow to its parent is the
excess that it cannot settle inside. All three are Σ abs(a sum of e) over a fixed family of sets of values, divided by
one integer, so one routine serves all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from tacit.anonymity.cell_values import text
from tacit.anonymity.hierarchies import Hierarchy, Rule, hierarchy
from tacit.anonymity.numerals import number
from tacit.anonymity.tables import Longs, Texts
from tacit.arrays import Codes, Floats
from tacit.errors import InvalidError, show


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A ground distance over v values: for each family the part that a value falls into; prefixes if ordered."""

    families: tuple[Codes, ...]
    ordered: bool
    divisor: int

    def emd(self, counts: Longs, whole: Longs) -> Fraction:
        """Return the distance between two lists of counts, exactly.

        >>> equal_ground(2).emd(np.array([1, 1]), np.array([1, 99]))
        Fraction(49, 100)
        """
        m, n = int(counts.sum()), int(whole.sum())
        excess = [n * int(c) - m * int(q) for c, q in zip(counts, whole, strict=True)]
        return Fraction(self._moved(excess), self.divisor * m * n) if m and n else Fraction(0)

    def _moved(self, excess: list[int]) -> int:
        moved = 0
        for family in self.families:
            parts = [0] * (int(family.max()) + 1)
            for part, one in zip(family.tolist(), excess, strict=True):
                parts[part] += one
            moved += sum(map(abs, _prefixes(parts) if self.ordered else parts))
        return moved

    def emds(self, counts: Longs, whole: Longs) -> Floats:
        """Return the distance of every row of counts to the whole, or to its own: floats that err by less than 1e-9."""
        shares = counts / counts.sum(axis=1, keepdims=True) - whole / whole.sum(axis=-1, keepdims=True)
        moved = np.zeros(len(counts))
        for family in self.families:
            parts = _summed(shares, family)
            moved += np.abs(np.cumsum(parts, axis=1) if self.ordered else parts).sum(axis=1)
        return np.asarray(moved / self.divisor)


def _summed(shares: Floats, family: Codes) -> Floats:
    """Return the sums of columns over the parts of a family."""
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


def equal_ground(values: int) -> Ground:
    """Return the distance that is 1 between any two values."""
    return Ground((np.arange(values, dtype=np.int32),), ordered=False, divisor=2)


def ordered_ground(values: Texts, order: Rule | Sequence[object] | None, column: str) -> Ground:
    """Return the distance by steps in an order: the given one, or that of the numbers; missing comes last.

    Raises:
        InvalidError: there is no order, or it lacks a value.
    """
    line = _line(values, order, column)
    if len(set(line)) < len(line):
        raise InvalidError(f"the order of {column}", "a value twice", "an order that names every value once")
    place = {value: step for step, value in enumerate(line)}
    absent = [value for value in values if value not in place]
    if absent:
        raise InvalidError(f"the order of {column}", f"none of {absent[0]!r}", "an order of all its values")
    steps = np.array([place[value] for value in values], dtype=np.int32)
    return Ground((steps,), ordered=True, divisor=max(1, len(line) - 1))


def hierarchical_ground(tree: Hierarchy, values: Texts) -> Ground:
    """Return the distance by the lowest common group of a hierarchy over these values."""
    place = {value: row for row, value in enumerate(tree.values)}
    rows = [place[value] for value in values]
    families = tuple(tree.groups(level)[rows] for level in range(tree.height - 1))
    return Ground(families, ordered=False, divisor=2 * (tree.height - 1))


def _line(values: Texts, order: Rule | Sequence[object] | None, column: str) -> list[str | None]:
    line: list[str | None]
    if order is None:
        try:
            numbers = {value: number(value, column) for value in values if value is not None}
        except InvalidError:
            want = "given hierarchy=[its values from low to high]"
            raise InvalidError(f"the ordered distance over {column}", "values that are no numbers", want) from None
        line = [value for value, _ in sorted(numbers.items(), key=lambda pair: pair[1])]
    else:
        if not hasattr(order, "over") and (isinstance(order, str) or not isinstance(order, Iterable)):
            raise InvalidError(f"the order of {column}", show(order), "a list of its values from low to high")
        line = list(order.over(values, column).values) if hasattr(order, "over") else [text(value) for value in order]
    return [value for value in line if value is not None] + [None] * (None in values)


def ground(distance: str, values: Texts, tree: Rule | Sequence[object] | None, column: str) -> Ground:
    """Return the ground distance that a requirement names, over the values of a column."""
    if distance == "equal":
        return equal_ground(len(values))
    if distance == "ordered":
        return ordered_ground(values, tree, column)
    shape: Rule = (
        tree if tree is not None and hasattr(tree, "over") else hierarchy(cast("Sequence[Sequence[object]]", tree))
    )
    return hierarchical_ground(shape.over(values, column), values)
