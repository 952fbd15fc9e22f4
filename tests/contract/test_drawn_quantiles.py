"""Drawn quantiles: no neighbour changes penalties further than the law claims, and all engines count the same bins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject

from bounded import measured as counted
from contract.plans import NAME, A, X, cells, key, table
from contract.questions import BOX, KINDS, REACHED, Question, Trial, policy, trials
from contract.tables import KINDS as COLUMNS
from contract.tables import Opener, Row
from contract.test_found_groups import everything, opened
from contract.test_questions import BRIEF, LONG, SECRET, asked, engine_of, in_table, measured
from contract.test_reach import row
from contract.weighted import weighted
from tacit.arrays import Floats
from tacit.errors import InvalidError
from tacit.guarantees.events import Neighbours
from tacit.query.aggregates import STATISTICS
from tacit.query.expressions import Column, Value
from tacit.query.histograms import Histograms
from tacit.query.plan import Ask, Bundle, Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.quantile_method import DrawOptions, quantile_columns, with_draws
from tacit.query.rank_law import RankLaw, rank_law, rank_sensitivity
from tacit.query.rank_scores import rank_scores
from tacit.query.rank_target import Draw

QUANTILES = frozenset({"quantile", "quantile_disc", "min", "max"})
OPTIONS = DrawOptions(confidence=0.95, intervals=True, rho=False, flips=False)
_SLACK = 1e-9


def drawn_plan(trial: Trial) -> Plan:
    plan = asked(trial)
    return with_draws(plan, quantile_columns(plan), OPTIONS)


def penalties(law: RankLaw, counts: Sequence[int]) -> Floats:
    """Return the penalties in one group, in the integers of the measure."""
    scores = rank_scores(counts, law.target.parts, law.rank(sum(counts)), law.amount, law.margin)
    return scores.penalties() * float(law.amount)


def moves(law: RankLaw, before: Sequence[int], after: Sequence[int]) -> Iterator[float]:
    """Yield the largest change of a penalty in each group whose counts change."""
    for first in range(0, len(before), law.bins):
        one, other = (some[first : first + law.bins] for some in (before, after))
        if one != other:
            yield float(np.abs(penalties(law, one) - penalties(law, other)).max())


def oversteps(plan: Plan, one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> list[str]:
    """Return how draws change further than their law claims, in ε and in ρ."""
    found = []
    for bundle, before, after in zip(plan.bundles, one, other, strict=True):
        law = rank_law(plan, bundle, epsilon=Fraction(1))
        moved = list(moves(law, before, after))
        for name, size, claimed in (
            ("ε", sum(moved), law.change),
            ("ρ", sum(move**2 for move in moved), rank_sensitivity(plan, bundle, "gaussian")),
        ):
            if size > float(claimed) * (1 + _SLACK):
                found.append(f"{name}: {size} > {float(claimed)}")
    return found


@dataclass(frozen=True)
class Planted:
    """A planted error: the plan that is priced, and the plan that is measured."""

    claimed: Callable[[Plan], Plan] = lambda plan: plan
    measured: Callable[[Plan], Plan] = lambda plan: plan


def found_by(trial: Trial, error: Planted) -> list[str]:
    """Return how a trial's neighbours change draws further than claimed."""
    honest = drawn_plan(trial)
    plan, claimed = error.measured(honest), error.claimed(honest)
    try:
        engine_of(trial.unit).check(plan)
    except InvalidError:
        reject()
    before = measured(trial.unit, plan, trial.rows, SECRET)
    return [
        text
        for rows in trial.neighbours
        for text in oversteps(claimed, before, measured(trial.unit, plan, rows, SECRET))
    ]


@BRIEF
@given(trials(["integer", "text"], of=QUANTILES, most=1))
def test_a_unit_changes_a_draw_by_no_more_than_its_price_says(trial: Trial) -> None:
    assert found_by(trial, Planted()) == []


@BRIEF
@given(trials(["integer", "row"], of=QUANTILES, most=1, limits=REACHED | BOX))
def test_so_it_does_with_a_reach_or_as_a_row(trial: Trial) -> None:
    assert found_by(trial, Planted()) == []


@pytest.mark.long
@LONG
@given(trials(["integer", "text", "real", "row"], of=QUANTILES, limits=REACHED | BOX))
def test_so_it_does_in_a_long_search(trial: Trial) -> None:
    assert found_by(trial, Planted()) == []


def with_ranks(plan: Plan, share: Fraction) -> Plan:
    """Return a plan whose draws claim to be of another rank."""

    def changed(bundle: Bundle) -> Bundle:
        return bundle if bundle.rank is None else replace(bundle, rank=replace(bundle.rank, share=share, end=False))

    return replace(plan, bundles=tuple(map(changed, plan.bundles)))


def person(unit: int, n: int, g: str = "a") -> dict[str, Value]:
    return {"u": unit, **dict.fromkeys(KINDS), "g": g, "n": n}


CROWD = [person(unit, n, g) for unit, n in enumerate([-3, 0, 0, 3]) for g in "ab"]
LOW, HIGH = ([*CROWD, person(99, n), person(99, n, "b")] for n in (-4, 4))
BY_GROUP = Question("SELECT g, median(n) AS a FROM t GROUP BY g")
MORE = {f"more {count}": [*CROWD, *[person(99, 4)] * count] for count in (1, 2, 3)}


@pytest.mark.parametrize(
    ("error", "relation", "limits", "neighbour"),
    [
        (Planted(claimed=lambda plan: in_table(plan, neighbours="add/remove")), "change one", (2, 1), HIGH),
        (Planted(claimed=lambda plan: in_table(plan, max_groups=1)), "change one", (2, 1), HIGH),
        (Planted(claimed=lambda plan: in_table(plan, max_groups=1)), "add/remove", (2, 1), CROWD),
        (Planted(measured=lambda plan: in_table(plan, max_rows=3)), "add/remove", (2, 2), MORE["more 3"]),
        (Planted(measured=lambda plan: in_table(plan, unit=None)), "add/remove", (2, 1), MORE["more 2"]),
    ],
    ids=["a change is claimed to be a removal", "one group", "one group, removed", "a row more", "rows for units"],
)
def test_a_planted_error_is_found(
    error: Planted, relation: Neighbours, limits: tuple[int, int], neighbour: list[Row]
) -> None:
    rows = LOW if neighbour in (HIGH, CROWD) else CROWD
    trial = Trial("integer", policy("integer", relation, *limits), BY_GROUP, rows, [neighbour])
    assert found_by(trial, Planted()) == []
    assert found_by(trial, error) != []


def test_a_sensitivity_without_its_weight_is_found() -> None:
    """The 0.9 quantile priced as a median: a row that comes moves it by 0.9 rows, not by a half."""
    table_policy, question = policy("integer", "add/remove", 1, 1), Question("SELECT quantile_cont(n, 0.9) AS a FROM t")
    rows: list[Row] = [{"u": unit, **dict.fromkeys(KINDS), "n": 0} for unit in range(20)]
    trial = Trial("integer", table_policy, question, rows, [[*rows, {"u": 99, **dict.fromkeys(KINDS), "n": 4}]])
    assert found_by(trial, Planted()) == []
    honest, claimed = drawn_plan(trial), with_ranks(drawn_plan(trial), Fraction(1, 2))
    change = [rank_law(plan, plan.bundles[0], epsilon=Fraction(1)).change for plan in (honest, claimed)]
    assert change[0] == Fraction(9, 5) * change[1]
    (before,), (after,) = (measured("integer", honest, some, SECRET) for some in (rows, trial.neighbours[0]))
    (moved,) = moves(rank_law(honest, honest.bundles[0], epsilon=Fraction(1)), before, after)
    assert float(change[1]) * 1.7 < moved <= float(change[0]) * (1 + _SLACK)


# --- every engine -----------------------------------------------------------------------------------------------------

DATA: list[Row] = [
    *(row(u=unit, name=name, x=x, a=a) for unit in (1, 1, 2, 3) for name, x, a in (("a", 0.5, 3), ("b", -1.0, 120))),
    *(row(u=4, name="a", x=x, a=None) for x in (None, 0.25, 99.0, -99.0)),
    *(row(u=5, name="b", x=0.1, a=a) for a in (7, 7, 8, 500)),
    row(u=None, name="a", x=0.5, a=3),
]


def drawn_bundles(policy: TablePolicy) -> tuple[Bundle, ...]:
    draw = Draw(weight=Fraction(1, 2), miss=Fraction(1, 20))
    ends = {X: (Fraction(-1), Fraction(1)), A: (Fraction(0), Fraction(120))}

    def bundle(value: Column, function: str) -> Bundle:
        ask = Ask(function=function, values=(value,), bounds=(ends[value],), draw=draw)
        (found,) = STATISTICS[function].bundles(ask, policy)
        return found

    return bundle(X, "drawn_quantile"), bundle(A, "drawn_max")


def plan_for(policy: TablePolicy, *, listed: bool) -> Plan:
    keys = (key(NAME, "a", "b"),) if listed else (opened(NAME),)
    return Plan(sql="", table=policy, where=None, keys=keys, bundles=drawn_bundles(policy), aggregates=(), outputs=())


def test_every_engine_counts_the_rows_of_the_bins(engine: Opener) -> None:
    box, reached = table(groups=2, rows=2), table(groups=None, rows=None, reach=3)
    with engine(COLUMNS, DATA) as source:
        found = [[list(own) for own in source.measure(plan_for(each, listed=True))] for each in (box, reached)]
        groups = source.find(plan_for(box, listed=False), everything)
    assert found[0] == counted(plan_for(box, listed=True), DATA)
    plan = plan_for(reached, listed=True)
    assert found[1] == weighted(plan, cells(plan, DATA))
    assert groups.keys == [("a",), ("b",)]
    for listed, own in zip(found[0], groups.integers, strict=True):
        assert isinstance(own, Histograms)
        assert [int(x) for x in own.of(0, 2)] == listed
