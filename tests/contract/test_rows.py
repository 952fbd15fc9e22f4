"""Expressions have the same values in SQL as in Python, on DuckDB and PostgreSQL.

`engines/spark/test_rows` checks the same on Spark, with many expressions in one statement, because each takes a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.examples import drawn, varied
from contract.tables import Opener, Row
from engines.expressions import KINDS, LIBRARY, VALUES, calls_of, expressions, kinds_of
from row_values import Difference, differences, has_nul, random_rows, with_places
from tacit.engines.sql.engine import StatementEngine
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Kind
from tacit.query.expressions.casts import CASTS
from tacit.query.expressions.functions import FUNCTIONS

X, Y, I = Column("x", "real"), Column("y", "real"), Column("i", "integer")  # noqa: E741 - an integer column


@dataclass(frozen=True)
class Source:
    """An engine on a table of random rows, and the rows."""

    engine: StatementEngine
    rows: list[Row]

    def differences(self, *expressions: Expression, slack: float = 0.0) -> list[Difference]:
        """Return where the engine differs from Python, except for expressions that it refuses for their NUL."""
        refuses = self.engine.dialect.name == "postgres"
        accepted = [expression for expression in expressions if not (refuses and has_nul(expression))]
        return differences(self.engine, self.rows, accepted, slack) if accepted else []


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def source(request: pytest.FixtureRequest, every_engine: dict[str, Opener]) -> Iterator[Source]:
    rows = random_rows(nul=request.param == "duckdb")
    with every_engine[request.param]({**KINDS, "place": "integer"}, with_places(rows)) as opened:
        yield Source(opened, list(rows))


@pytest.mark.parametrize("kind", list(VALUES))
def test_expressions_mean_in_sql_what_they_mean_in_python(source: Source, kind: Kind) -> None:
    @settings(deadline=None, max_examples=drawn(6))
    @given(st.lists(expressions(kind, 3), min_size=1, max_size=8))
    def check(several: list[Expression]) -> None:
        assert not source.differences(*several)

    check()


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in sorted(set(FUNCTIONS) - LIBRARY) for kind in kinds_of(name)]
)
def test_a_function_means_in_sql_what_it_means_in_python(source: Source, name: str, kind: Kind) -> None:
    @settings(deadline=None, max_examples=drawn(1))
    @given(varied(st.lists(st.tuples(calls_of(name, kind, 0), st.booleans()), min_size=6, max_size=6)))
    def check(several: list[tuple[Expression, bool]]) -> None:
        assert not source.differences(
            *(Call("is_null", (call,), "boolean") if tests_null else call for call, tests_null in several)
        )

    check()


@pytest.mark.parametrize(("before", "after"), list(CASTS))
def test_a_cast_means_in_sql_what_it_means_in_python(source: Source, before: Kind, after: Kind) -> None:
    for column in (Column(name, kind) for name, kind in KINDS.items() if kind == before):
        assert not source.differences(Cast(column, after))


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_logarithms_and_powers_agree_but_for_their_last_bits(source: Source, name: str) -> None:
    arguments = (X, Y)[: len(FUNCTIONS[name].takes)]
    assert not source.differences(Call(name, arguments, "real"), slack=1e-14)


def test_every_listed_function_can_be_written(source: Source) -> None:
    assert set(source.engine.dialect.forms) == set(FUNCTIONS)


def test_nan_is_null_wherever_it_comes_from(source: Source) -> None:
    undefined = Call("subtract", (Call("divide", (X, Y), "real"), Call("multiply", (X, Y), "real")), "real")
    for expression in (
        Call("is_null", (undefined,), "boolean"),
        Call("less", (undefined, Constant(0.0, "real")), "boolean"),
        Call("coalesce", (undefined, Constant(1.0, "real")), "real"),
        Call("greatest", (undefined, X), "real"),
        Case(((Call("equal", (undefined, undefined), "boolean"), I),), None, "integer"),
        Cast(undefined, "integer"),
        undefined,
    ):
        assert not source.differences(expression)
