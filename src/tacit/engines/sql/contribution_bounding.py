"""Contribution bounding: each unit keeps at most max_groups cells, chosen by a keyed hash and never by the values.

Every cell of a unit has a hash. A unit keeps the cells with the largest hashes; ties are broken by the cell's number.
So it keeps exactly min(max_groups, cells it is in), and its choice does not depend on other units.

**Up to 63 cells** a unit's cells are the bits of one word, on DuckDB. On other engines that is not faster, and
`Dialect.most_bits` is 0. The words are computed from the rows, the choice is made on words, and only rows of kept cells
are grouped by (unit, cell). The hashes are bit-sliced: digit j of all cells' hashes is one word, so one round compares
one digit of all cells. Candidates with a 1 come before candidates with a 0. If they fit, they are kept, and the others
compete for the rest; if not, they compete alone. After the digits of the hash come those of the cell's number, by which
any two cells differ. So at most one candidate is left at the end.

**Beyond 63 cells** rows are grouped by (unit, cell), and `row_number` over the hash keeps the first cells. DuckDB would
rewrite that into an aggregate of lists, which takes three times longer, and some versions of it are wrong. So that
optimiser is disabled (`duckdb.sources`).

Alternatives, timed with 10 million rows, a million units and 50 cells, as multiples of the plain grouping (words: 1.1
to 1.4): `row_number` for all (1.8 to 2.2), lists of the least hashes (5), a permutation of the cells drawn for each
unit and applied to each row (0.1 more), outer joins with only those units that have too many cells, units renamed to
integers (no faster). Several words for more cells were slower than `row_number` from 100 cells on.
"""
# ruff: noqa: S608 - these texts are built here

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tacit.engines.sql.builder import CommonTables
from tacit.engines.sql.dialect import Dialect

MOST_BITS = Dialect.most_bits
"""The number of cells that fit one word without its sign."""

_HASHED = 16


def words(max_groups: int, cells: int, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yield the common tables that turn `located` (u, cell, …) into `kept` (unit, bits), the cells a unit keeps."""
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
    all_cells = f"CASE WHEN BIT_COUNT(sure | rest) <= {max_groups} THEN sure | rest ELSE sure END"
    yield "kept", f"SELECT u AS unit, {all_cells} AS bits FROM round{last}"


def _digits(cells: int) -> Iterator[str]:
    """Yield a word for each digit, first of all cells' hashes, then of all cells' numbers."""
    for _ in range(_HASHED):
        yield "CAST(h >> 1 AS BIGINT)"
    for digit in reversed(range((cells - 1).bit_length())):
        yield str(sum(1 << cell for cell in range(cells) if cell >> digit & 1))


KEPT = "located JOIN kept ON u = unit WHERE (bits >> CAST(cell AS BIGINT)) & 1 = 1"
"""The rows whose cell is among the bits of their unit."""


def numbered(
    max_groups: int,
    dialect: Dialect,
    by: Sequence[str] = ("cell",),
    *,
    rank: str = "ROW_NUMBER",
    source: str = "pairs",
) -> str:
    """Return a SELECT of the kept rows of `source` (u, cell, …). A cell may consist of several columns.

    If a cell has several rows, `rank` must be DENSE_RANK, which numbers cells instead of rows.
    """
    order = f"{dialect.hashed(['u', *by])} DESC, {', '.join(by)}"
    return _first(max_groups, source, f"{rank}() OVER (PARTITION BY u ORDER BY {order})")


def ranked_rows(max_groups: int, dialect: Dialect) -> CommonTables:
    """Return the common tables that turn `located` (u, cell, …) into `chosen`, the rows of the cells that a unit keeps.

    The choice is that of `numbered`. The order is ascending, by the complement h of the hash, so that rows sorted for
    the choice are sorted for windows over (u, h, cell) too.
    """
    hashed = f"SELECT *, ~{dialect.hashed(['u', 'cell'])} AS h FROM located"
    rank = "DENSE_RANK() OVER (PARTITION BY u ORDER BY h, cell)"
    return [("hashed", "", hashed), ("chosen", "", _first(max_groups, "hashed", rank))]


def _first(most: int, source: str, rank: str, place: str = "place_of_it") -> str:
    return f"SELECT * FROM (SELECT *, {rank} AS {place} FROM {source}) AS ranked WHERE {place} <= {most}"


def values(max_rows: int | None, reach: int | None, source: str, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Yield the common tables that turn rows (u, cell, v) into `brought`, the distinct values of each unit in a cell.

    A unit keeps the values with the largest hashes; ties are broken by the value. So it keeps exactly
    min(max_rows, its distinct values) in a cell. Of the pairs (cell, value) that are left it keeps the `reach` with the
    largest hashes, and ties are broken by the cell and the value.
    """
    yield "there", f"SELECT u, cell, v FROM (SELECT u, cell, v FROM {source}) AS every WHERE v IS NOT NULL"
    yield "different", "SELECT DISTINCT u, cell, v FROM there"
    order, left = _by_value(["cell"], "v", dialect), "different"
    if max_rows is not None:
        left = "brought" if reach is None else "in_cells"
        yield left, _first(max_rows, "different", f"ROW_NUMBER() OVER (PARTITION BY u, cell ORDER BY {order})")
    if reach is not None:
        yield "brought", reached_values(reach, left, ["cell"], "v", dialect)


def reached_values(reach: int, source: str, by: Sequence[str], value: str, dialect: Dialect) -> str:
    """Return a SELECT of at most `reach` different pairs (cell, value) of each unit; columns name the cell."""
    order = f"{dialect.hashed(['u', *by, value])} DESC, {', '.join([*by, value])}"
    return _first(reach, source, f"ROW_NUMBER() OVER (PARTITION BY u ORDER BY {order})", "place_in_unit")


def group_values(max_rows: int, source: str, by: Sequence[str], value: str, dialect: Dialect) -> str:
    """Return a SELECT of at most max_rows different values of each unit in each cell; columns name the cell."""
    rank = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(['u', *by])} ORDER BY {_by_value(by, value, dialect)})"
    return _first(max_rows, source, rank, "place_in_group")


def best_values(max_rows: int, by: Sequence[str], dialect: Dialect) -> str:
    """Return the same choice among the distinct values x of `there` (u, place, keys …, x); keys name the cell."""
    order = _by_value(by, "x", dialect)
    return _first(max_rows, "there", f"ROW_NUMBER() OVER (PARTITION BY u, place ORDER BY {order})")


def _by_value(by: Sequence[str], value: str, dialect: Dialect) -> str:
    return f"{dialect.hashed(['u', *by, value])} DESC, {value}"
