"""Groups that are found in the data: exact numbers of units and integers, and no neighbour moves them too far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import inf, nan
from random import Random

import numpy as np
import pytest
from hypothesis import find, given, reject, settings
from hypothesis import strategies as st

from bounded import contributions, different
from contract.examples import drawn, examples
from contract.plans import (
    NAME,
    PRESENT,
    SEVENTHS,
    WHERES,
    A,
    D,
    X,
    call,
    key,
    measures,
    plan,
    table,
)
from contract.questions import SPELLINGS, Trial, trials
from contract.tables import KINDS, Opener, Row, rows
from contract.test_questions import BRIEF, SEARCH, SECRET, arrow, asked, engine_of, in_table
from row_evaluator import evaluate
from tacit.arrays import Ints
from tacit.engines.sql.statement import SOURCE
from tacit.errors import InvalidError
from tacit.query.expressions import Expression, Value
from tacit.query.histograms import Counts, Histograms, in_blocks
from tacit.query.noise_law import sensitivity
from tacit.query.plan import Key, Measure, Plan
from tacit.query.pricing.partition_selection import DiscoveredGroups, GroupIndices, selection_law

MANY = 10**6
COUNT, HERE = Measure(value=None), Measure(value=None, per="unit")
DELTA = Fraction(1, 10**9)

Group = tuple[Value, ...]


def opened(expression: Expression) -> Key:
    return Key(name="key", expression=expression, values=None)


def everything(units: Ints) -> GroupIndices:
    """Choose all groups."""
    return np.arange(units.size)


class Chosen:
    """Chooses all groups, and remembers their numbers of units."""

    def __init__(self) -> None:
        self.units: list[int] = []

    def __call__(self, counts: Ints) -> GroupIndices:
        self.units = counts.tolist()
        return everything(counts)

    def of(self, found: DiscoveredGroups) -> dict[Group, int]:
        return {group: self.units[place] for group, place in zip(found.keys, found.places, strict=True)}


Integers = list[Counts]
"""For each measure its integers in one group: one, or one for each bin."""


def by_group(found: DiscoveredGroups) -> dict[Group, Integers]:
    return {
        group: [own.of(i, i + 1) if isinstance(own, Histograms) else np.array([own[i]]) for own in found.integers]
        for i, group in enumerate(found.keys)
    }


def listed(found: Mapping[Group, Integers]) -> dict[Group, list[int]]:
    """The integers of each group, one after the other."""
    return {group: [int(x) for own in integers for x in own] for group, integers in found.items()}


def answer(engine: Opener, question: Plan, data: Sequence[Row]) -> tuple[dict[Group, int], dict[Group, list[int]]]:
    """The units and the integers of every group."""
    chosen = Chosen()
    with engine(KINDS, data) as source:
        found = source.find(question, chosen)
    assert len(set(found.keys)) == len(found.keys)
    return chosen.of(found), listed(by_group(found))


def located(question: Plan, data: Sequence[Row]) -> dict[Value, dict[Group, list[Row]]]:
    """The rows that count, by unit and group."""
    found: dict[Value, dict[Group, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for place, row in enumerate(data):
        unit = place if question.table.unit is None else row[question.table.unit]
        group = tuple(plain(evaluate(one.expression, row)) for one in question.keys)
        listed = all(one.values is None or own in one.values for one, own in zip(question.keys, group, strict=True))
        met = question.where is None or evaluate(question.where, row) is True
        if unit is not None and listed and met:
            found[unit][group].append(row)
    return found


def plain(value: Value) -> Value:
    return value + 0.0 if isinstance(value, float) else value


def added_up(question: Plan, kept: Mapping[Value, Mapping[Group, Sequence[Row]]]) -> dict[Group, list[int]]:
    """The integers of each group, one after the other; units must be allowed to bring all their values."""
    asks = [measure for bundle in question.bundles for measure in bundle.measures]
    per_group: dict[Group, list[Sequence[Row]]] = defaultdict(list)
    for groups in kept.values():
        for group, own in groups.items():
            per_group[group].append(own)
    return {
        group: [x for measure in asks for x in total(measure, units, question.table.max_rows or 1)]
        for group, units in per_group.items()
    }


def total(measure: Measure, units: Sequence[Sequence[Row]], max_rows: int) -> list[int]:
    """The integers of a measure in one group, from the rows of each unit."""
    if measure.per == "value":
        return [len(set().union(*(different(measure, own) for own in units)))]
    return [sum(own) for own in zip(*(contributions(measure, own, max_rows) for own in units), strict=True)]


KEYS: list[Key] = [
    opened(NAME),
    opened(A),
    opened(X),
    opened(D),
    opened(SEVENTHS),
    opened(call("abs", "real", X)),
    opened(call("is_null", "boolean", X)),
    key(NAME, "a", "é", None),
    key(SEVENTHS, 0, 1, 2),
]


@st.composite
def plans(draw: st.DrawFn, *, unit: str | None = "u", groups: int = 10**9) -> Plan:
    first = draw(st.sampled_from([one for one in KEYS if one.values is None]))
    more = draw(st.lists(st.sampled_from(KEYS), max_size=1))
    max_rows = draw(st.integers(1, 3) | st.just(MANY))
    counted = draw(st.lists(st.sampled_from(PRESENT).map(different_values), max_size=2)) if max_rows == MANY else []
    asked = draw(st.permutations([*draw(st.lists(measures(MANY), max_size=3)), *counted]))
    limits = table(unit=unit, groups=groups, rows=max_rows)
    return plan(limits, *asked, keys=[*more, first], where=draw(st.sampled_from(WHERES)))


def different_values(value: Expression) -> Measure:
    return Measure(value=value, per="value")


# --- exact integers -------------------------------------------------------------------------------------------------


@examples(60, plans(), rows())
def test_units_and_integers_are_those_of_brute_force(engine: Opener, question: Plan, data: list[Row]) -> None:
    units, integers = answer(engine, question, data)
    kept = located(question, data)
    assert integers == added_up(question, kept)
    assert units == {group: sum(group in own for own in kept.values()) for group in integers}


@examples(30, plans(unit=None), rows())
def test_so_they_are_where_each_row_is_a_unit(engine: Opener, question: Plan, data: list[Row]) -> None:
    units, integers = answer(engine, question, data)
    kept = located(question, data)
    assert integers == added_up(question, kept)
    assert units == {group: sum(group in own for own in kept.values()) for group in integers}


@examples(40, st.integers(1, 3), rows(40))
def test_each_unit_keeps_as_many_groups_as_it_may(engine: Opener, groups: int, data: list[Row]) -> None:
    question = plan(table(groups=groups), COUNT, HERE, keys=[opened(NAME), opened(SEVENTHS)])
    units, integers = answer(engine, question, data)
    per_unit = located(question, data)
    assert sum(units.values()) == sum(min(groups, len(own)) for own in per_unit.values())
    assert {group: [n, n] for group, n in units.items()} == integers


def test_null_is_a_group_and_nan_is_null(engine: Opener) -> None:
    data = [{**dict.fromkeys(KINDS), "u": u, "x": x} for u, x in enumerate([None, nan, 1.0, inf, -inf])]
    units, _ = answer(engine, plan(table(), keys=[opened(X)]), data)
    assert units == {(None,): 2, (1.0,): 1, (inf,): 1, (-inf,): 1}


@pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0], [-0.0]])
def test_which_zero_came_first_does_not_show(engine: Opener, zeros: list[float]) -> None:
    data = [{**dict.fromkeys(KINDS), "u": u, "x": x} for u, x in enumerate(zeros)]
    with engine(KINDS, data) as source:
        found = source.find(plan(table(), keys=[opened(X)]), everything)
    assert [repr(group) for group in found.keys] == ["(0.0,)"]


def test_an_empty_table_has_no_groups(engine: Opener) -> None:
    assert answer(engine, plan(table(), COUNT, keys=[opened(NAME)]), []) == ({}, {})
    assert answer(engine, plan(table(unit=None), COUNT, keys=[opened(NAME)]), []) == ({}, {})


def test_listed_keys_narrow_the_groups_down(engine: Opener) -> None:
    data = [{**dict.fromkeys(KINDS), "u": 1, "name": name, "a": a} for name in (None, "a", "b") for a in (0, 1)]
    many = table(groups=9)
    assert set(answer(engine, plan(many, keys=[opened(A), key(NAME, "a", "c")]), data)[0]) == {(0, "a"), (1, "a")}
    assert set(answer(engine, plan(many, keys=[key(NAME, None), opened(A)]), data)[0]) == {(None, 0), (None, 1)}


@examples(30, rows(), st.randoms(use_true_random=False))
def test_the_order_of_groups_is_that_of_their_keys_not_of_rows(engine: Opener, data: list[Row], random: Random) -> None:
    question = plan(table(groups=10**9), keys=[opened(NAME), opened(D)])
    shuffled = random.sample(data, len(data))
    found = []
    for some in (data, shuffled):
        with engine(KINDS, some) as source:
            found.append(list(source.find(question, everything).keys))
    assert found[0] == found[1]
    assert found[0] == sorted(found[0], key=lambda group: [(one is None, one or "") for one in group])


def test_only_chosen_groups_are_handed_on_each_with_its_own_integers(engine: Opener) -> None:
    data = [{**dict.fromkeys(KINDS), "u": u, "a": a} for a in range(50) for u in range(a + 1)]
    question = plan(table(groups=50), COUNT, Measure(value=A, low=0, high=100), keys=[opened(A)])
    with engine(KINDS, data) as source:
        seen = Chosen()
        source.find(question, seen)
        found = source.find(question, lambda units: np.flatnonzero(units % 7 == 3))
        empty = source.find(question, lambda units: np.flatnonzero(units < 0))
    assert sorted(seen.units) == list(range(1, 51))
    assert found.keys == [(n - 1,) for n in range(3, 51, 7)]
    assert [list(own) for own in found.integers] == [[*range(3, 51, 7)], [n * (n - 1) for n in range(3, 51, 7)]]  # type: ignore[arg-type]  # sums
    assert (empty.keys, list(empty.places), [len(own) for own in empty.integers]) == ([], [], [0, 0])


# --- neighbours -----------------------------------------------------------------------------------------------------


Measured = tuple[dict[Group, int], dict[Group, Integers]]


def measured(trial: Trial, question: Plan, data: Sequence[Row]) -> Measured:
    engine, chosen = engine_of(trial.unit), Chosen()
    engine._connection.register(SOURCE, arrow(trial.unit, data))
    found = engine.find_with(question, chosen, SECRET)
    return chosen.of(found), by_group(found)


def oversteps(question: Plan, one: Measured, other: Measured) -> list[str]:
    """Return how units and integers move further than a plan's noise is made for."""
    groups = {*one[1], *other[1]}
    moves = [abs(one[0].get(group, 0) - other[0].get(group, 0)) for group in groups]
    most = selection_law(question, Fraction(1), DELTA).moving
    found = [f"units: {moves}"] if max(moves, default=0) > 1 or sum(moves) > most else []
    place = 0
    for bundle in question.bundles:
        own = dict(enumerate(bundle.measures, place))
        place += len(bundle.measures)
        moved = [
            move
            for group in groups
            for i, measure in own.items()
            for move in moved_by(measure, bundle.block, i, one[1].get(group), other[1].get(group))
        ]
        for law, size in (("laplace", sum(moved)), ("gaussian", sum(move**2 for move in moved))):
            claimed = sensitivity(question, bundle, law)  # type: ignore[arg-type]
            if size > claimed:
                found.append(f"{law}: {size} > {claimed}")
    return found


def moved_by(measure: Measure, block: int, place: int, one: Integers | None, other: Integers | None) -> list[int]:
    """Return how far the integers of a bundle move in one group, where they do; a group that is absent has zeros."""
    ends = [np.zeros(measure.bins, dtype=np.int64) if some is None else some[place] for some in (one, other)]
    before, after = (in_blocks(own.astype(object), measure.bins, block) for own in ends)
    return [abs(int(move)) for move in before - after if move]


def fits(trial: Trial, question: Plan) -> bool:
    """Return whether groups are found, since a subquery may make their values public, and the integers fit."""
    if not question.open:
        return False
    try:
        engine_of(trial.unit).check(question)
    except InvalidError:
        return False
    return True


FEW = settings(BRIEF, max_examples=drawn(20))
LATER = ("count_distinct", "max", "min", "quantile", "quantile_disc")
"""Aggregates that the second pass measures, only for released groups; see `test_shown_groups`."""

PLAIN = frozenset(SPELLINGS) - frozenset(LATER)


def check(trial: Trial) -> None:
    question = asked(trial)
    if not fits(trial, question):
        reject()
    before = measured(trial, question, trial.rows)
    for data in trial.neighbours:
        assert oversteps(question, before, measured(trial, question, data)) == []


@FEW
@given(trials(["integer", "real"], of=PLAIN, found=True))
def test_a_unit_moves_few_groups_by_one_and_values_by_no_more_than_their_price_says(trial: Trial) -> None:
    check(trial)


@FEW
@given(trials(["text", "row"], of=PLAIN, found=True))
def test_so_does_a_unit_named_by_text_and_a_row_that_is_its_own(trial: Trial) -> None:
    check(trial)


ERRORS: dict[str, Callable[[Plan], Plan]] = {
    "a group more": lambda question: in_table(question, max_groups=question.table.groups_of(()) + 1),
    "rows in place of units": lambda question: in_table(question, unit=None),
    "units by another column": lambda question: in_table(question, unit="g"),
}


def is_found(error: Callable[[Plan], Plan], trial: Trial) -> bool:
    question = asked(trial)
    if not fits(trial, question):
        return False
    before = measured(trial, error(question), trial.rows)
    return any(oversteps(question, before, measured(trial, error(question), data)) for data in trial.neighbours)


@pytest.mark.parametrize("name", ERRORS)
def test_a_planted_error_is_found(name: str) -> None:
    find(trials(["integer"], of=PLAIN, found=True), partial(is_found, ERRORS[name]), settings=SEARCH)
