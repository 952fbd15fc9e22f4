"""Neighbouring tables at which queries are at their worst; `copies` says what a row is."""

from __future__ import annotations

from math import inf, nan

from auditing.copies import Input, Pair, Row
from tacit.guarantees.events import Neighbours

MANY = 8
"""The rows of a unit that exceeds every limit of these audits."""


def rows(unit: int, cell: int, kind: str, count: int = MANY) -> list[Row]:
    """Return the rows of a unit in a cell: at the lower bounds, at the upper ones, beyond them, missing, or odd."""
    values: dict[str, list[tuple[float | None, int | None, int | None, str | None]]] = {
        "low": [(-8.0, -3, 0, "low")],
        "high": [(4.0, 5, 1, "high")],
        "middle": [(-2.0, 1, 2, "middle")],
        "beyond": [(-1e300, -(10**15), 9, "far")],
        "missing": [(None, None, None, None)],
        "odd": [(nan, 5, 1, ""), (inf, -3, None, "a"), (-inf, None, 0, None), (5e-324, 0, 3, "A")],
    }
    of_kind = values[kind]
    return [(unit, cell, *of_kind[place % len(of_kind)]) for place in range(count)]


OTHERS: Input = [*rows(5, 0, "low", 1), *rows(6, 0, "high", 1), *rows(7, 1, "middle", 1)]
"""Rows of other units, with ties among the values of c."""

LOW, HIGH = rows(1, 0, "low"), rows(1, 0, "high")
BOTH_LOW, BOTH_HIGH = [*LOW, *rows(1, 1, "low")], [*HIGH, *rows(1, 1, "high")]
ODD = [*rows(1, 0, "odd"), *rows(1, 1, "beyond")]

PAIRS: dict[Neighbours, list[Pair]] = {
    "add/remove": [
        ([], LOW),
        ([], HIGH),
        ([], BOTH_LOW),
        (OTHERS, [*OTHERS, *ODD]),
        ([*OTHERS, *rows(2, 0, "low")], [*OTHERS, *rows(2, 0, "low"), *HIGH]),
    ],
    "change one": [
        (LOW, HIGH),
        (LOW, rows(1, 1, "low")),
        (BOTH_LOW, BOTH_HIGH),
        ([*OTHERS, *LOW], [*OTHERS, *ODD]),
        ([*OTHERS, *HIGH], [*OTHERS, *rows(1, 1, "missing")]),
    ],
}
"""Pairs that differ in unit 1: a heavy unit against none, at each bound, in several groups, with odd values beside
others; and a unit that goes from one bound to the other, that moves between groups, and that loses its values."""
