"""The statement of a plan: its text, its neighbours, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.homes import ARROW
from contract.plans import NAME, A, B, X, call, key, plan, plans, present, table
from contract.tables import KINDS, Row, rows
from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.duckdb.engine import open_duckdb
from tacit.engines.sql.statement import Statement, statement
from tacit.errors import ColumnNotFoundError, InvalidError
from tacit.query.expressions import Case, Column, Constant
from tacit.query.plan import Measure, Plan

TYPES = {"u": "BIGINT", "name": "VARCHAR", "a": "BIGINT", "x": "DOUBLE", "b": "BOOLEAN", "d": "DATE", "m": "TIMESTAMP"}
COUNT = Measure(value=None)
LOW = Measure(value=X, low=0, high=4)
GOLDEN = Path(__file__).parent.parent


def test_the_text_of_a_statement_is_as_it_was() -> None:
    bounded = plan(table(groups=3, rows=5), COUNT, LOW, Measure(value=present(X)), keys=[key(NAME, "a", "b", None)])
    by_row = plan(
        table(unit=None),
        COUNT,
        LOW,
        keys=[key(NAME, "a", "b"), key(B, *(True, False))],
        where=call("not", "boolean", B),
    )
    written = "\n\n".join(statement(one, TYPES, DUCKDB).sql + ";" for one in (bounded, by_row)) + "\n"
    assert written == (GOLDEN / "statements.golden.sql").read_text()


@settings(deadline=None, max_examples=24)
@given(plans(), rows(30), st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)))
def test_a_unit_moves_the_integers_by_no_more_than_its_reach_whatever_the_others_have(
    asked: Plan, data: list[Row], secret: tuple[int, int]
) -> None:
    bound = asked.bundles[0].contribution * asked.groups
    whole, without = measured(asked, data, secret), measured(asked, [one for one in data if one["u"] != 1], secret)
    changed = measured(asked, [{**one, "name": "a", "x": 1.5} if one["u"] == 1 else one for one in data], secret)
    assert distance(whole, without) <= bound
    assert distance(changed, without) <= bound
    assert distance(changed, whole) <= 2 * bound


def measured(asked: Plan, data: list[Row], secret: tuple[int, int]) -> list[list[int]]:
    columns = {name: pa.array([one[name] for one in data], ARROW[kind]) for name, kind in KINDS.items()}
    opened = open_duckdb(pa.table(columns), threads=1)
    try:
        return opened.measure_with(asked, secret)
    finally:
        opened.close()


def distance(one: list[list[int]], other: list[list[int]]) -> int:
    return sum(abs(a - b) for left, right in zip(one, other, strict=True) for a, b in zip(left, right, strict=True))


def test_nothing_is_chosen_where_a_unit_may_keep_all_cells() -> None:
    keys = [key(NAME, *"abc")]
    assert statement(plan(table(groups=2), COUNT, keys=keys), TYPES, DUCKDB).draws
    for asked in (
        plan(table(groups=3), COUNT, keys=keys),
        plan(table(groups=1), COUNT, keys=[key(NAME, "a")]),
        plan(table(groups=1), COUNT),
        plan(table(unit=None), COUNT, keys=keys),
    ):
        assert not statement(asked, TYPES, DUCKDB).draws


def test_counts_that_agree_are_asked_for_once() -> None:
    asked = plan(table(), LOW, Measure(value=present(X)), Measure(value=X, per="unit"), Measure(value=X, low=1, high=4))
    sql = statement(asked, TYPES, DUCKDB).sql
    assert sql.count("COUNT(") == 1
    assert sql.count('SUM("d') == 2
    assert statement(plan(table(), LOW, COUNT), TYPES, DUCKDB).sql.count("COUNT(") == 2


def test_columns_that_are_not_asked_for_are_not_read() -> None:
    sql = statement(plan(table(), LOW), TYPES, DUCKDB).sql
    assert '"x"' in sql
    assert not any(f'"{name}"' in sql for name in ("name", "a", "b", "d", "m"))


def test_answers_are_read_by_cell_and_what_is_absent_is_zero() -> None:
    made = Statement("", {}, (((1, 2), (2, -1)), ((2, 1),)), 3, draws=False)
    assert made.read([[(2, 10, 3)], [(0, None, 4)]]) == [[-4, 0, 17], [4, 0, 3]]


def test_a_key_listed_twice_is_refused() -> None:
    for values in (("a", "b", "a"), (None, None)):
        with pytest.raises(InvalidError, match="different values"):
            statement(plan(table(), COUNT, keys=[key(NAME, *values)]), TYPES, DUCKDB)
    with pytest.raises(InvalidError, match="different values"):
        statement(plan(table(), COUNT, keys=[key(X, 0.0, -0.0)]), TYPES, DUCKDB)


def test_a_unit_or_a_column_that_is_not_there_is_refused() -> None:
    without: Mapping[str, str] = {name: one for name, one in TYPES.items() if name not in ("u", "a")}
    for asked in (plan(table(), COUNT), plan(table(unit=None), Measure(value=A, low=0, high=1))):
        with pytest.raises(ColumnNotFoundError, match="Unknown column"):
            statement(asked, without, DUCKDB)


def test_a_sum_of_rows_without_max_rows_is_refused() -> None:
    with pytest.raises(InvalidError, match="max_rows"):
        statement(plan(table(rows=None), COUNT), TYPES, DUCKDB)


def test_a_thousand_measures_are_one_statement() -> None:
    asked = [
        Measure(
            value=Case(((call("less", "boolean", A, Constant(place, "integer")), A),), None, "integer"), low=0, high=9
        )
        for place in range(1000)
    ]
    data: list[Row] = [{**dict.fromkeys(KINDS), "u": 1, "a": 5}]
    assert measured(plan(table(), *asked), data, (1, 2)) == [[5 if place > 5 else 0] for place in range(1000)]


def test_a_column_may_be_named_like_our_own() -> None:
    names = {"u": "BIGINT", "cell": "VARCHAR", "v0": "DOUBLE", "data": "BIGINT", "k0": "BIGINT", "located": "BOOLEAN"}
    columns = {
        "u": [1, 2],
        "cell": ["a", "b"],
        "v0": [1.0, 2.0],
        "data": [3, 4],
        "k0": [1, 1],
        "located": [True, False],
    }
    opened = open_duckdb(pa.table(columns), threads=1)
    policy = table(kinds={"u": "integer"})
    asked = plan(
        policy,
        *(
            Measure(value=Column(name, "real" if name == "v0" else "integer"), low=0, high=9)
            for name in ("v0", "data", "k0")
        ),
        keys=[key(Column("cell", "text"), "b", "a"), key(Column("located", "boolean"), *(True, False))],
    )
    assert opened._types == names
    assert opened.measure(asked) == [[0, 2, 1, 0], [0, 4, 3, 0], [0, 1, 1, 0]]
    opened.close()
