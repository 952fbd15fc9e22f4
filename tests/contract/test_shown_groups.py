"""The second pass over released groups, for bins and distinct values: it reads the same rows as the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from bounded import different
from contract.examples import drawn, examples
from contract.plans import NAME, PRESENT, REMAINDER, SEVENTHS, A, bins, is_unit, plan, table
from contract.questions import KINDS as COLUMNS
from contract.questions import Question, Trial, policy, trials
from contract.tables import KINDS, UNITS, Opener, Row, rows
from contract.test_found_groups import (
    LATER,
    added_up,
    answer,
    by_group,
    check,
    different_values,
    everything,
    fits,
    listed,
    located,
    measured,
    opened,
    oversteps,
)
from contract.test_questions import BRIEF, SEARCH, asked, in_table
from tacit.arrays import Ints
from tacit.engines.sql import contribution_bounding, discovered_groups
from tacit.engines.sql.dialect import Dialect
from tacit.errors import SourceError
from tacit.query.expressions import Expression
from tacit.query.histograms import Histograms
from tacit.query.plan import Measure, Plan
from tacit.query.pricing.partition_selection import GroupIndices

BINS, COUNTED = Measure(value=REMAINDER, bins=7, fraction_bits=3), Measure(value=NAME, per="value")


@examples(40, st.integers(1, 3), st.integers(1, 3), st.lists(bins(5), max_size=2), rows(40))
def test_the_second_look_keeps_the_groups_of_the_first(
    engine: Opener, groups: int, most: int, more: list[Measure], data: list[Row]
) -> None:
    """Plain sums tell which unit is in which group; the bins must be those of these units' rows."""
    named = [unit for unit in UNITS if unit is not None]
    asked = [*map(is_unit, named), BINS, *more]
    question = plan(table(groups=groups, rows=most), *asked, keys=[opened(NAME), opened(SEVENTHS)])
    _, integers = answer(engine, question, data)
    told = {group: {unit for unit, there in zip(named, own, strict=False) if there} for group, own in integers.items()}
    kept = {
        unit: {group: own for group, own in all_of_it.items() if unit in told.get(group, ())}
        for unit, all_of_it in located(question, data).items()
    }
    assert integers == added_up(question, kept)


@examples(40, st.integers(1, 3), st.integers(1, 3), st.sampled_from(PRESENT), rows(40))
def test_a_unit_brings_as_many_values_as_it_may_to_the_groups_that_it_keeps(
    engine: Opener, groups: int, most: int, value: Expression, data: list[Row]
) -> None:
    alone = [{**row, "u": 3} for row in data]
    counted = different_values(value)
    question = plan(table(groups=groups, rows=most), counted, keys=[opened(NAME), opened(SEVENTHS)])
    units, integers = answer(engine, question, alone)
    own = located(question, alone).get(3, {})
    assert integers == {group: [min(most, len(different(counted, own[group])))] for group in units}


@examples(30, st.integers(0, 2**6 - 1), st.sampled_from(PRESENT), rows(30))
def test_what_is_measured_of_a_group_does_not_depend_on_which_others_are_shown(
    engine: Opener, some: int, value: Expression, data: list[Row]
) -> None:
    """Check groups if units keep all: then only the key, which is drawn for each query, decides their values."""
    question = plan(table(groups=10**9, rows=10**6), BINS, different_values(value), keys=[opened(NAME), opened(A)])
    with engine(KINDS, data) as source:
        every = listed(by_group(source.find(question, everything)))
        found = source.find(question, lambda units: np.flatnonzero([some >> i % 6 & 1 for i in range(units.size)]))
    assert listed(by_group(found)) == {group: own for group, own in every.items() if group in set(found.keys)}


def test_totals_beyond_64_bits_are_exact(engine: Opener) -> None:
    data = [{**dict.fromkeys(KINDS), "u": u, "name": name, "a": u % 3} for u in range(40) for name in ("a", None)] * 2
    asked_ = plan(table(groups=2, rows=2), Measure(value=REMAINDER, bins=7, fraction_bits=61), keys=[opened(NAME)])
    _, integers = answer(engine, asked_, data)
    assert integers == added_up(asked_, located(asked_, data))
    assert max(integers["a",]) > 2**64


def test_equal_measures_are_looked_at_once(engine: Opener) -> None:
    with engine(KINDS, []) as source:
        found = source.find(plan(table(), BINS, COUNTED, BINS, COUNTED, keys=[opened(NAME)]), everything)
    one, two, three, four = found.integers
    assert one is three
    assert two is four
    assert isinstance(one, Histograms)


def test_nothing_stays_behind(engine: Opener) -> None:
    question = plan(table(), BINS, COUNTED, keys=[opened(NAME)])
    data = [{**dict.fromkeys(KINDS), "u": 1, "a": 1}]

    def fail(units: Ints) -> GroupIndices:
        raise ValueError(units)

    with engine(KINDS, data) as source:
        for _ in range(2):
            assert len(source.find(question, everything).keys) == 1
            with pytest.raises(SourceError):
                source.find(question, fail)


# --- neighbours -----------------------------------------------------------------------------------------------------


FEWER = settings(BRIEF, max_examples=drawn(12))


@FEWER
@given(trials(["integer", "real"], of=LATER, found=True))
def test_so_do_units_whose_bins_and_values_are_looked_at_later(trial: Trial) -> None:
    check(trial)


@FEWER
@given(trials(["text", "row"], of=[*LATER, "sum"], found=True))
def test_so_do_units_named_by_text_and_rows_whose_bins_and_values_are_looked_at_later(trial: Trial) -> None:
    check(trial)


def twice(question: Plan) -> Plan:
    return in_table(question, max_groups=2 * question.table.groups_of(()), max_rows=2 * question.table.rows)


@pytest.mark.parametrize("function", [name for name in LATER if name != "count_distinct"])
def test_a_planted_error_is_found_in_each_aggregate_that_is_looked_at_later(function: str) -> None:
    find(trials(["text"], of={function}, found=True), partial(moves_values, twice), settings=SEARCH)


def moves_values(error: Callable[[Plan], Plan], trial: Trial) -> bool:
    """Return whether the values move too far; numbers of units may, too, and do not count here."""
    question = asked(trial)
    if not fits(trial, question):
        return False
    one, *others = (measured(trial, error(question), data)[1] for data in (trial.rows, *trial.neighbours))
    return any(oversteps(question, ({}, one), ({}, other)) for other in others)


def crowd(word: str, notes: str) -> Trial:
    """Nine units with four values in each of three groups, and a unit with another value, which the neighbour lacks."""
    row: Row = dict.fromkeys(COLUMNS)
    some = [{**row, "u": u, "note": n, "p": p % 7} for u in range(2, 11) for n in "bcd" for p in range(u, u + 4)]
    own = [{**row, "u": 1, "note": note, "p": 50} for note in notes]
    question = Question(f"SELECT note, {word} AS a FROM t GROUP BY note")  # noqa: S608 - a question
    return Trial("integer", policy("integer", "add/remove", 1, 1), question, [*some, *own], [some])


WORDS = ["median(p)", "max(p)", "count(DISTINCT p)"]


def honestly(question: Plan) -> Plan:
    return question


@pytest.mark.parametrize("word", WORDS)
def test_twice_what_a_unit_may_is_found(word: str) -> None:
    assert moves_values(twice, crowd(word, "bcd"))


@pytest.mark.parametrize("word", WORDS)
def test_a_second_look_that_keeps_all_groups_is_found(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def numbered(max_groups: int, dialect: Dialect, by: Sequence[str], *, rank: str = "ROW_NUMBER") -> str:
        kept = max_groups if rank == "ROW_NUMBER" else 10**9  # the first pass stays honest
        return contribution_bounding.numbered(kept, dialect, by, rank=rank)

    assert not moves_values(honestly, crowd(word, "bcd"))
    patched = SimpleNamespace(numbered=numbered, best_values=contribution_bounding.best_values)
    monkeypatch.setattr(discovered_groups, "contribution_bounding", patched)
    assert moves_values(honestly, crowd(word, "bcd"))


def test_values_that_are_hashed_by_the_place_of_a_group_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that brings a group moves the places behind it, and with them what all others bring there."""

    def best_values(max_rows: int, by: Sequence[str], dialect: Dialect) -> str:
        del by
        return contribution_bounding.best_values(max_rows, ["place"], dialect)

    assert not moves_values(honestly, crowd("count(DISTINCT p)", "a"))
    patched = SimpleNamespace(numbered=contribution_bounding.numbered, best_values=best_values)
    monkeypatch.setattr(discovered_groups, "contribution_bounding", patched)
    assert moves_values(honestly, crowd("count(DISTINCT p)", "a"))
