"""Row expressions in DuckDB's SQL: shared values are computed once, text nests little, bad names are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract.homes import arrow
from engines.expressions import KINDS
from row_values import computed, random_rows, with_places
from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.duckdb.engine import DuckDBEngine, open_duckdb
from tacit.engines.sql.layers import Layers
from tacit.engines.sql.statement import SOURCE
from tacit.errors import ColumnNotFoundError, InvalidError
from tacit.query.expressions import Call, Cast, Column, Constant, Expression

DATA = random_rows(nul=True)
X, Y, S, B = Column("x", "real"), Column("y", "real"), Column("s", "text"), Column("b", "boolean")


@pytest.fixture(scope="module")
def source() -> Iterator[DuckDBEngine]:
    opened = open_duckdb(arrow({**KINDS, "place": "integer"}, with_places(DATA)), threads=1)
    yield opened
    opened.close()


def layers(rows: Layers) -> str:
    return ", ".join(f"{name} AS ({select})" for name, select in rows.selects(SOURCE))


def test_a_part_that_is_used_twice_is_computed_once() -> None:
    shared = Call("multiply", (X, Y), "real")
    both = Call("and", tuple(Call("less", (shared, one), "boolean") for one in (X, Y)), "boolean")
    rows = Layers(DUCKDB, {"x": "DOUBLE", "y": "DOUBLE"}, [both])
    rows.value(both)
    assert layers(rows).count("*") == 1 + len(rows.selects(SOURCE)) - 1  # SELECT * in every layer but the first


def test_nested_guards_grow_with_their_depth_and_not_exponentially() -> None:
    nested: Expression = X
    lengths = []
    for _ in range(20):
        nested = Call("ln", (Call("divide", (Constant(1.0, "real"), nested), "real"),), "real")
        rows = Layers(DUCKDB, {"x": "DOUBLE"}, [nested])
        rows.value(nested)
        lengths.append(len(layers(rows)))
    assert lengths[19] < 3 * lengths[9]


def test_no_text_nests_deeper_than_parsers_like(source: DuckDBEngine) -> None:
    deep: Expression = Cast(B, "integer")
    for _ in range(60):
        deep = Call("negate", (deep,), "integer")
    assert computed(source, [deep]) == [(None if row["b"] is None else int(bool(row["b"])),) for row in DATA]
    rows = Layers(DUCKDB, source._types, [deep])
    rows.value(deep)
    assert layers(rows).count("(((((((((((((((") == 0


def test_a_column_that_the_source_does_not_have_is_refused() -> None:
    rows = Layers(DUCKDB, {"x": "DOUBLE"}, [S])
    with pytest.raises(ColumnNotFoundError, match="'s'"):
        rows.value(S)


def test_text_that_is_no_unicode_is_refused() -> None:
    rows = Layers(DUCKDB, {"s": "VARCHAR"}, [])
    with pytest.raises(InvalidError, match="Unicode"):
        rows.value(Call("equal", (S, Constant("\ud800", "text")), "boolean"))
