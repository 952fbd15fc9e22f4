"""Sums and bins from one statement: the same integers as from separate statements, and as by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.examples import drawn
from contract.homes import on_duckdb
from contract.plans import NAME, A, U, X, added_up, bins, call, cells, key, measures, plan, plans, table
from contract.tables import KINDS, VALUES, Row, rows
from tacit.engines.duckdb.dialect import DuckDBDialect
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.histogram import split
from tacit.engines.sql.joint_statement import JointStatement, joined_parts
from tacit.query import histograms
from tacit.query.expressions import Constant, Value
from tacit.query.histograms import Counts
from tacit.query.plan import Measure, Plan
from tacit.query.policy import TablePolicy

SECRET = (3, 2**64 - 5)
STEPS = call("steps", "integer", X, *(Constant(part, "integer") for part in (0, 0, 9)))
BINS = Measure(value=STEPS, bins=10, fraction_bits=4)
COUNT, UNITS = Measure(value=None), Measure(value=None, per="unit")
SUM = Measure(value=X, low=0, high=9, fraction_bits=3)
ROW: dict[str, Value] = {name: values[0] for name, values in VALUES.items()} | {"u": 1}


class Separate(DuckDBDialect):
    """DuckDB, choosing cells as Spark does."""

    most_bits: ClassVar[int] = 0


class Joint(Separate):
    """The same, with sums and bins from one statement."""

    materialized: ClassVar[str] = ""
    computes_again: ClassVar[bool] = True
    joins_bins: ClassVar[bool] = True


SEPARATE, JOINT = Separate(), Joint()


def measured(asked: Plan, data: Sequence[Row], dialect: Dialect) -> list[list[int]]:
    with on_duckdb(KINDS, data) as engine:
        engine.dialect = dialect
        return engine.measure_with(asked, SECRET)


def with_bins(strategy: st.SearchStrategy[Plan]) -> st.SearchStrategy[Plan]:
    """Plans with at least one more measure of rows and one of bins, in any order."""

    def add(asked: Plan, more: tuple[Measure, Measure], *, last: bool) -> Plan:
        found = asked.bundles[0].measures
        both = (*found, *more) if last else (*more, *found)
        return plan(asked.table, *both, keys=asked.keys, where=asked.where)

    return st.builds(add, strategy, st.tuples(measures(10**9), bins(3)), last=st.booleans())


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=drawn(40))
@given(with_bins(plans(groups=10**9)), rows())
def test_the_integers_are_those_of_brute_force(asked: Plan, data: list[Row]) -> None:
    assert measured(asked, data, JOINT) == added_up(asked, cells(asked, data))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=drawn(60))
@given(with_bins(plans() | plans(reach=True) | plans(reach=True, groups=10**9) | plans(unit=None)), rows(40))
def test_the_integers_are_those_of_separate_statements(asked: Plan, data: list[Row]) -> None:
    assert measured(asked, data, JOINT) == measured(asked, data, SEPARATE)


@pytest.mark.parametrize(
    "policy",
    [
        table(groups=1, rows=2),
        table(groups=2, rows=2),
        table(groups=2, rows=2, reach=2),
        table(groups=2, rows=None, reach=2),
    ],
)
def test_all_units_of_up_to_three_rows(policy: TablePolicy) -> None:
    """Rows in two cells: in two bins, beyond the bounds, or without a value. Each unit is alone in its table."""
    kinds = [(name, x) for name in ("a", "b") for x in (1.0, 2.0, 50.0, None)]
    units = [rows_ for count in range(1, 4) for rows_ in combinations_with_replacement(kinds, count)]
    data = [ROW | {"u": unit, "name": name, "x": x} for unit, rows_ in enumerate(units) for name, x in rows_]
    keys = [key(U, *range(len(units))), key(NAME, "a", "b")]
    asked = plan(policy, COUNT, SUM, UNITS, BINS, keys=keys)
    found = measured(asked, data, JOINT)
    assert found == measured(asked, data, SEPARATE)
    for unit in range(len(units)):
        of_unit = [
            integers[2 * unit * size : 2 * (unit + 1) * size]
            for integers, size in zip(found, (1, 1, 1, 10), strict=True)
        ]
        bound = policy.reach or policy.rows * asked.groups
        assert sum(of_unit[0]) <= bound
        assert sum(of_unit[1]) <= bound * 9 << 3
        assert sum(of_unit[3]) <= bound << 4
        assert max(of_unit[0]) <= policy.rows
        assert sum(of_unit[2]) <= asked.groups


def test_one_statement_reads_sums_and_bins_and_equal_bins_share_a_result() -> None:
    asked = plan(table(rows=2), BINS, COUNT, BINS, SUM)
    parts = joined_parts(split(asked), JOINT)
    assert [indices for indices, _ in parts] == [(1, 3, 0, 2)]
    data = [ROW | {"u": unit, "x": float(unit % 4)} for unit in range(9)]
    found = measured(asked, data, JOINT)
    assert found[0] == found[2] == [48, 32, 32, 32, *[0] * 6]
    assert found[1] == [9]


def test_bins_are_passed_on_in_blocks_while_sums_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "AT_ONCE", 20)  # two cells of ten bins
    data = [ROW | {"u": place % 7, "name": "abcde"[place % 5], "x": float(place % 4)} for place in range(40)]
    asked = plan(table(groups=3, rows=2), COUNT, BINS, SUM, BINS, keys=[key(NAME, *"abcde")])
    taken = {}

    def absorb(indices: tuple[int, ...], blocks: Iterator[Counts]) -> None:
        taken[indices] = [block.tolist() for block in blocks]

    with on_duckdb(KINDS, data) as engine:
        engine.dialect = JOINT
        count, bins_, sum_, _ = engine.measure_with(asked, SECRET)
        assert engine.measure_with(asked, SECRET, absorb) == [count, [], sum_, []]
    assert taken == {(1, 3): [bins_[:20], bins_[20:40], bins_[40:]]}


def test_other_measures_keep_their_statements() -> None:
    other = Measure(value=STEPS, bins=10, fraction_bits=5)
    values = Measure(value=A, per="value")
    asked = plan(table(rows=2), values, COUNT, BINS, other)
    assert [indices for indices, _ in joined_parts(split(asked), JOINT)] == [(1, 2), (0,), (3,)]
    assert joined_parts(split(asked), SEPARATE) == split(asked)
    by_reach = plan(table(groups=None, rows=None, reach=3), UNITS, COUNT, BINS)
    assert [indices for indices, _ in joined_parts(split(by_reach), JOINT)] == [(1, 2), (0,)]


def test_sums_in_several_bins_of_a_cell_are_added() -> None:
    statement = JointStatement("", {}, (((3, 2), (4, -1)),), cells=2, bins=2, factor=4, draws=False)
    rows_ = [(1, 0, 5, 7, 1), (1, 1, None, 1, None), (1, None, 9, 10, 3)]
    assert statement.read(rows_) == [[0, 7 * 2 - 1 + 2 + 10 * 2 - 3], [0, 0, 20, 0]]


def test_rows_of_no_listed_cell_count_for_no_cell() -> None:
    built = JointStatement("", {}, (((3, 1),),), cells=2, bins=2, factor=1, draws=False)
    rows = [(0, 1, 5, 7), (None, 0, 9, 9), (None, None, 9, 9), (1, None, 0, 3)]
    assert built.read(rows) == [[7, 3], [0, 5, 0, 0]]
