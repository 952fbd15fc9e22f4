"""Which cells a unit keeps: at most max_groups, chosen by a keyed hash and never by the values.

Every cell of a unit has a hash; those with the largest hashes are kept, and ties are broken by the cell's number. So
exactly min(max_groups, cells the unit is in) are kept, and each unit's choice is its own.

**Up to 63 cells** a unit's cells are the bits of one word, on DuckDB; elsewhere that does not pay, and
`Dialect.most_bits` is 0. The words are computed from the rows, the choice is made on words, and only rows of kept cells
are grouped by (unit, cell). The hashes are bit-sliced: digit j of all cells' hashes is one word, so a round compares a
digit of all cells at once. Candidates with a 1 go before candidates with a 0; if they fit they are in, and the others
go on for the places that are left; if not, they go on alone. After the digits of the hash come those of the cell's
number, by which any two cells differ, so at the end at most one candidate is left.

**Beyond that** rows are grouped by (unit, cell), and `row_number` over the hash keeps the first. DuckDB's rewrite of
that into an aggregate of lists is switched off (see `duckdb_sources`): it takes three times longer, and some versions
of it are wrong.

Tried at 10 million rows, a million units and 50 cells, in units of the plain grouping (words: 1.1 to 1.4): `row_number`
for all (1.8 to 2.2), lists of the least hashes (5), a permutation of the cells drawn for each unit and applied to each
row (0.1 more), outer joins with those units alone that have too many cells, units renamed to integers (no faster).
Several words for more cells were slower than `row_number` from 100 cells on.
"""
# ruff: noqa: S608 - every part of these texts is our own

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tacit.engines.sql.dialect import Dialect

MOST_BITS = Dialect.most_bits
"""How many cells fit one word, whose sign is left alone."""

_HASHED = 16


def words(max_groups: int, cells: int, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yield the parts, by name, that turn `located` (u, cell, …) into `kept` (unit, bits), the cells a unit keeps."""
    bits = "BIT_OR(CAST(1 AS BIGINT) << CAST(cell AS BIGINT))"
    hashed = dialect.hashed(["u"])
    yield "round0", f"SELECT u, {hashed} AS h, CAST(0 AS BIGINT) AS sure, {bits} AS rest FROM located GROUP BY u"
    last = 0
    for last, digits in enumerate(_digits(cells), 1):
        yield f"digits{last}", f"SELECT u, h, sure, rest, (rest & {digits}) AS ones FROM round{last - 1}"
        fit = f"BIT_COUNT(sure | ones) <= {max_groups}"
        sure = f"CASE WHEN {fit} THEN sure | ones ELSE sure END"
        rest = f"CASE WHEN {fit} THEN rest - ones ELSE ones END"
        yield f"round{last}", f"SELECT u, HASH(h) AS h, {sure} AS sure, {rest} AS rest FROM digits{last}"
    all_of_them = f"CASE WHEN BIT_COUNT(sure | rest) <= {max_groups} THEN sure | rest ELSE sure END"
    yield "kept", f"SELECT u AS unit, {all_of_them} AS bits FROM round{last}"


def _digits(cells: int) -> Iterator[str]:
    """Yield a word for each digit: of all cells' hashes, then of all cells' numbers."""
    for _ in range(_HASHED):
        yield "CAST(h >> 1 AS BIGINT)"
    for digit in reversed(range((cells - 1).bit_length())):
        yield str(sum(1 << cell for cell in range(cells) if cell >> digit & 1))


KEPT = "located JOIN kept ON u = unit WHERE (bits >> CAST(cell AS BIGINT)) & 1 = 1"
"""The rows whose cell is among the bits of their unit."""


def numbered(max_groups: int, dialect: Dialect, by: Sequence[str] = ("cell",), *, rank: str = "ROW_NUMBER") -> str:
    """Return the pairs of `pairs` (u, cell, …) that are kept; a cell may be several columns.

    Where a cell has several rows, `rank` is DENSE_RANK: cells are numbered then, and not rows.
    """
    order = f"{dialect.hashed(['u', *by])} DESC, {', '.join(by)}"
    return _first(max_groups, "pairs", f"{rank}() OVER (PARTITION BY u ORDER BY {order})")


def _first(most: int, source: str, rank: str) -> str:
    return f"SELECT * FROM (SELECT *, {rank} AS place_of_it FROM {source}) AS ranked WHERE place_of_it <= {most}"


def values(max_rows: int, source: str, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yield the parts that turn rows (u, cell, v) into `brought`, the different values that each unit brings to a cell.

    Those with the largest hashes are kept, and ties are broken by the value: exactly min(max_rows, different values).
    """
    yield "there", f"SELECT u, cell, v FROM (SELECT u, cell, v FROM {source}) AS every WHERE v IS NOT NULL"
    yield "different", "SELECT DISTINCT u, cell, v FROM there"
    order = _by_value(["cell"], "v", dialect)
    yield "brought", _first(max_rows, "different", f"ROW_NUMBER() OVER (PARTITION BY u, cell ORDER BY {order})")


def best_values(max_rows: int, by: Sequence[str], dialect: Dialect) -> str:
    """Return the same choice among the different values x of `there` (u, place, keys …, x), a cell being some keys."""
    order = _by_value(by, "x", dialect)
    return _first(max_rows, "there", f"ROW_NUMBER() OVER (PARTITION BY u, place ORDER BY {order})")


def _by_value(by: Sequence[str], value: str, dialect: Dialect) -> str:
    return f"{dialect.hashed(['u', *by, value])} DESC, {value}"
