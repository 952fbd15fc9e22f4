"""Row expressions in PostgreSQL's SQL: nested guards stay short, and constants do not fail when the server plans."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from engines.expressions import KINDS
from postgres_server import database
from row_values import differences, random_rows, with_places
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.postgres.engine import PostgresEngine, open_postgres
from tacit.engines.sql.layers import Layers
from tacit.errors import InvalidError
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression

DATA = random_rows(nul=False)
X, I, S, B = Column("x", "real"), Column("i", "integer"), Column("s", "text"), Column("b", "boolean")  # noqa: E741 - an integer column


@pytest.fixture(scope="module")
def source() -> Iterator[PostgresEngine]:
    with database() as created:
        created.fill("t", {**KINDS, "place": "integer"}, with_places(DATA))
        opened = open_postgres(created.reader)
        yield opened
        opened.close()


def layers(source: str, rows: Layers) -> str:
    return ", ".join(f"{name} AS ({select})" for name, select in rows.selects(source))


def test_nested_guards_grow_with_their_depth_and_not_exponentially(source: PostgresEngine) -> None:
    nested: Expression = X
    lengths = []
    for _ in range(20):
        nested = Call("ln", (Call("divide", (Constant(1.0, "real"), nested), "real"),), "real")
        rows = Layers(POSTGRES, {"x": "float8"}, [nested])
        rows.value(nested)
        lengths.append(len(layers("t", rows)))
    assert lengths[19] < 3 * lengths[9]
    assert not differences(source, DATA, [nested], slack=1e-9)


EXTREME = [5e-324, -5e-324, 1e308, -1e308, 1e19, 0.0, 1.0, math.inf, -math.inf, 2.0**-1022, 1e-310]


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "modulo", "power"])
def test_constants_that_the_server_computes_in_advance_do_not_raise(source: PostgresEngine, name: str) -> None:
    constants = [Constant(one, "real") for one in EXTREME]
    calls = [Call(name, arguments, "real") for one in constants for arguments in ((X, one), (one, X))]
    assert not differences(source, DATA, calls, slack=1e-14 if name == "power" else 0.0)


def test_constants_that_cannot_be_cast_do_not_raise(source: PostgresEngine) -> None:
    too_large = Cast(Constant("99999999999999999999", "text"), "integer")
    no_day = Cast(Call("lower", (Constant("2023-02-30", "text"),), "text"), "date")
    assert not differences(source, DATA, [Case(((B, too_large),), I, "integer")])
    assert not differences(source, DATA, [Case(((B, no_day),), Column("d", "date"), "date")])


def test_a_text_that_postgresql_cannot_hold_is_refused() -> None:
    rows = Layers(POSTGRES, {"s": "text"}, [])
    rows.value(Call("equal", (S, Constant("a\0", "text")), "boolean"))
    with pytest.raises(InvalidError, match="NUL"):
        rows.selects("t")
