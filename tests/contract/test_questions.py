"""Neighbouring tables change the exact integers of any query by no more than the sensitivity that was priced.

A text goes through the parser and the real engine, once for each of two neighbours, under the same key of the hash
that chooses cells. The test compares the change with the sensitivity of the noise. Planted errors must be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, find, given, reject, settings
from hypothesis import strategies as st

from contract.examples import drawn
from contract.homes import ARROW
from contract.questions import (
    KINDS,
    NO_ROW,
    SPELLINGS,
    Question,
    Trial,
    UnitKind,
    filled,
    is_nobody,
    kinds_of,
    policy,
    trials,
)
from contract.tables import Row
from tacit.engines.duckdb.engine import DuckDBEngine, open_duckdb
from tacit.engines.sql.statement import SOURCE
from tacit.engines.sql.statement_runs import Secret
from tacit.errors import InvalidError
from tacit.query.aggregates import STATISTICS
from tacit.query.plan import Bundle, Plan
from tacit.query.pricing.price import Cost, price
from tacit.query.results.resolution import coarse
from tacit.query.sql.parse import parse

SECRET, OTHER_SECRET = (7, 11), (8, 12)
HUGE = 10**12
"""An ε and a ρ so large that all noise fits: only the sensitivities that it is made for matter here."""

Integers = Sequence[Sequence[int]]


def asked(trial: Trial) -> Plan:
    return parse(trial.question.sql, {"t": trial.table}, keys=trial.question.keys)


def arrow(unit: UnitKind, rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in kinds_of(unit).items()})


@cache
def engine_of(unit: UnitKind) -> DuckDBEngine:
    """An engine for tables of one schema; opening one for each table would take as long again as measuring it."""
    return open_duckdb(arrow(unit, []), threads=1)


def measured(unit: UnitKind, plan: Plan, rows: Sequence[Row], secret: Secret) -> Integers:
    engine = engine_of(unit)
    engine._connection.register(SOURCE, arrow(unit, rows))
    return engine.measure_with(plan, secret)


def by_bundle(plan: Plan, integers: Integers) -> Iterator[list[int]]:
    """Yield the vector of each bundle to which noise would be added."""
    rest = iter(integers)
    for bundle in plan.bundles:
        yield [x for measure in bundle.measures for x in coarse(plan, bundle, measure, next(rest))]


def oversteps(plan: Plan, one: Integers, other: Integers) -> list[str]:
    """Return how the bundles move further than a plan's noise is made for."""
    laws = zip(price(plan, Cost(epsilon=HUGE)).noise, price(plan, Cost(rho=HUGE**2)).noise, strict=True)
    found = []
    for (laplace, gaussian), before, after in zip(laws, by_bundle(plan, one), by_bundle(plan, other), strict=True):
        moves = [abs(a - b) for a, b in zip(before, after, strict=True) if a != b]
        for name, moved, claimed in (
            ("L1", sum(moves), laplace.sensitivity),
            ("L2 squared", sum(move**2 for move in moves), gaussian.sensitivity),
            ("integers", len(moves), min(laplace.moving, gaussian.moving)),
        ):
            if moved > claimed:
                found.append(f"{name}: {moved} > {claimed}")
    return found


def differ_by_nobody(trial: Trial, rows: Sequence[Row]) -> bool:
    """Return whether a table and its neighbour have the same rows of units; by their texts, since NaN is not NaN."""
    one, other = ([row for row in some if not is_nobody(row["u"])] for some in (trial.rows, rows))
    return trial.unit != "row" and repr(one) == repr(other)


# --- the guarantee --------------------------------------------------------------------------------------------------


def check(trial: Trial) -> None:
    """Assert that no neighbour moves a bundle further than claimed, and rows without a unit move nothing."""
    plan, engine = asked(trial), engine_of(trial.unit)
    try:
        engine.check(plan)
    except InvalidError:
        reject()  # 2^62 grid steps and more are refused
    before = measured(trial.unit, plan, trial.rows, SECRET)
    for rows in trial.neighbours:
        after = measured(trial.unit, plan, rows, SECRET)
        assert oversteps(plan, before, after) == []
        assert before == after or not differ_by_nobody(trial, rows)


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
BRIEF = settings(deadline=None, max_examples=drawn(32), suppress_health_check=SLOW)
LONG = settings(deadline=None, max_examples=5000, suppress_health_check=SLOW)
EVERY_UNIT: list[UnitKind] = ["integer", "text", "real", "row"]


@BRIEF
@given(trials(["integer"]))
def test_a_unit_moves_any_answer_by_no_more_than_its_price_says(trial: Trial) -> None:
    check(trial)


@BRIEF
@given(trials(["text", "real"]))
def test_so_does_a_unit_that_is_named_by_text_or_by_a_real(trial: Trial) -> None:
    check(trial)


@BRIEF
@given(trials(["row"]))
def test_so_does_a_row_that_is_its_own_unit(trial: Trial) -> None:
    check(trial)


@pytest.mark.long
@LONG
@given(trials(EVERY_UNIT, most=4))
def test_so_it_is_in_a_long_search(trial: Trial) -> None:
    check(trial)


# --- nothing is left out --------------------------------------------------------------------------------------------


def test_every_aggregate_is_asked() -> None:
    alone = {"table_count", "table_sum", "bounds"}  # see test_margins, test_table_sum and test_value_bounds
    drawn = {f"drawn_{name}" for name in ("quantile", "quantile_disc", "min", "max")}  # see test_drawn_quantiles
    sized = {name for name in STATISTICS if name.startswith("sized_")}  # see test_public_size and test_sized_moments
    assert set(SPELLINGS) == set(STATISTICS) - alone - drawn - sized
    assert set(STATISTICS) >= NO_ROW


@settings(deadline=None, max_examples=drawn(10))
@given(st.data())
@pytest.mark.parametrize(("function", "word"), [(name, word) for name, words in SPELLINGS.items() for word in words])
def test_every_spelling_means_its_aggregate(function: str, word: str, data: st.DataObject) -> None:
    sql = data.draw(st.composite(lambda draw: filled(draw, word, {}))())
    plan = parse(f"SELECT {sql} AS a FROM t", {"t": policy("integer", "add/remove", 1, 1)})  # noqa: S608 - a question
    assert [one.ask.function for one in plan.aggregates] == [function]


# --- planted errors -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Error:
    """A planted error: the plan that is priced, the plan that is measured, and the neighbour's key of the hash."""

    claimed: Callable[[Plan], Plan] = lambda plan: plan
    measured: Callable[[Plan], Plan] = lambda plan: plan
    secret: Secret = SECRET


def in_table(plan: Plan, **changes: object) -> Plan:
    return replace(plan, table=replace(plan.table, **changes))  # type: ignore[arg-type]


def in_bundles(plan: Plan, change: Callable[[Bundle], Bundle]) -> Plan:
    return replace(plan, bundles=tuple(map(change, plan.bundles)))


def contribution_times(share: Callable[[int], int], plan: Plan) -> Plan:
    return in_bundles(plan, lambda bundle: replace(bundle, contribution=share(bundle.contribution)))


def a_row_fewer(plan: Plan) -> Plan:
    """Return a plan with the sensitivity of max_rows - 1."""
    rows = plan.table.rows
    return contribution_times(lambda size: size if size == 1 else size * (rows - 1) // rows, plan) if rows > 1 else plan


ERRORS: dict[str, Error] = {
    "a row fewer is claimed": Error(claimed=a_row_fewer),
    "a row more is measured": Error(measured=lambda plan: in_table(plan, max_rows=plan.table.rows + 1)),
    "a group fewer is claimed": Error(
        claimed=lambda plan: in_table(plan, max_groups=max(1, plan.table.groups_of(()) - 1))
    ),
    "twice the groups are measured": Error(
        measured=lambda plan: in_table(plan, max_groups=2 * plan.table.groups_of(()))
    ),
    "a contribution smaller by one is claimed": Error(
        claimed=partial(contribution_times, lambda size: max(1, size - 1))
    ),
    "a change is claimed to be a removal": Error(claimed=lambda plan: in_table(plan, neighbours="add/remove")),
    "the choice of cells changes with the table": Error(secret=OTHER_SECRET),
    "rows are measured where units are asked": Error(measured=lambda plan: in_table(plan, unit=None)),
    "units are measured by another column": Error(measured=lambda plan: in_table(plan, unit="note")),
}


def is_found(error: Error, trial: Trial) -> bool:
    """Return whether the error shows in a trial."""
    honest = asked(trial)
    plan, claimed = error.measured(honest), error.claimed(honest)
    try:
        engine_of(trial.unit).check(plan)
    except InvalidError:
        return False
    before = measured(trial.unit, plan, trial.rows, SECRET)
    return any(oversteps(claimed, before, measured(trial.unit, plan, rows, error.secret)) for rows in trial.neighbours)


def nobody_moves(measured_as: Callable[[Plan], Plan], trial: Trial) -> bool:
    """Return whether rows without a unit show, if a plan is measured as another."""
    plan = measured_as(asked(trial))
    return any(
        measured(trial.unit, plan, trial.rows, SECRET) != measured(trial.unit, plan, rows, SECRET)
        for rows in trial.neighbours
        if differ_by_nobody(trial, rows)
    )


SEARCH = settings(
    deadline=None,
    max_examples=400,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=SLOW,
)


PLAIN = frozenset({"avg", "count", "count_units", "sum"})
"""Aggregates that attain their sensitivity often, so that a search is short; below, each is searched for itself."""


@pytest.mark.parametrize("name", ERRORS)
def test_a_planted_error_is_found(name: str) -> None:
    """Errors of groups show where units have rows in more groups than count, so few groups make the search short."""
    drawn_trials = trials(["integer"], of=PLAIN)
    if "group" in name:
        drawn_trials = trials(["integer"], of=PLAIN, most=6, limits=st.just((2, 1, None)))
    find(drawn_trials, partial(is_found, ERRORS[name]), settings=SEARCH)


def test_a_sum_that_is_wrongly_claimed_to_be_of_one_sign_is_found() -> None:
    error = Error(claimed=lambda plan: in_bundles(plan, lambda bundle: replace(bundle, nonnegative=True)))
    least, most = ([{"u": 1, **dict.fromkeys(KINDS), "n": n}] for n in (-4, 4))
    table, question = policy("integer", "change one", 1, 1), Question("SELECT sum(n) AS a FROM t")
    assert is_found(error, Trial("integer", table, question, least, [most]))
    assert not is_found(Error(), Trial("integer", table, question, least, [most]))


TWICE = Error(
    measured=lambda plan: in_table(plan, max_groups=2 * plan.table.groups_of(()), max_rows=2 * plan.table.rows)
)


@pytest.mark.parametrize("function", SPELLINGS)
def test_a_planted_error_is_found_in_each_aggregate(function: str) -> None:
    """Small limits, which rows exceed often, and many neighbours make the search short."""
    drawn_trials = trials(["text"], of={function}, most=6, limits=st.just((1, 1, None)))
    find(drawn_trials, partial(is_found, TWICE), settings=SEARCH)


def test_what_rows_without_a_unit_move_would_be_found() -> None:
    find(trials(["real"]), partial(nobody_moves, partial(in_table, unit=None)), settings=SEARCH)
