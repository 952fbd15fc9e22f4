"""With a reach, alone and with any other limits, no unit moves an answer further than the noise is made for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import find, given

from contract.questions import KINDS, REACHED, SPELLINGS, Question, Trial, policy, trials
from contract.test_found_groups import check as check_found
from contract.test_questions import (
    BRIEF,
    LONG,
    PLAIN,
    SEARCH,
    Error,
    check,
    in_bundles,
    in_table,
    is_found,
)
from tacit.query.plan import Plan


@BRIEF
@given(trials(["integer"], limits=REACHED))
def test_a_unit_moves_any_answer_by_no_more_than_its_price_says(trial: Trial) -> None:
    check(trial)


@BRIEF
@given(trials(["text", "real"], limits=REACHED))
def test_so_does_a_unit_that_is_named_by_text_or_by_a_real(trial: Trial) -> None:
    check(trial)


@BRIEF
@given(trials(["integer", "text"], limits=REACHED.filter(lambda limits: limits[0] is not None), found=True))
def test_so_it_is_if_groups_are_found_in_the_data(trial: Trial) -> None:
    check_found(trial)


@pytest.mark.long
@LONG
@given(trials(["integer", "text", "real"], most=4, limits=REACHED))
def test_so_it_is_in_a_long_search(trial: Trial) -> None:
    check(trial)


def claimed_reach(plan: Plan) -> int:
    assert plan.table.reach is not None
    return plan.table.reach


def a_row_fewer(plan: Plan) -> Plan:
    """Return a plan whose bundles claim the total of a reach that is smaller by one."""
    reach = claimed_reach(plan)
    return in_bundles(plan, lambda bundle: replace(bundle, total=max(1, (bundle.total or 1) * (reach - 1) // reach)))


ALONE = REACHED.map(lambda limits: (None, None, limits[2]))
WITH_ROWS = REACHED.map(lambda limits: (None, limits[1] or 2, limits[2]))
ERRORS: dict[str, Error] = {
    "a reach smaller by one is claimed": Error(claimed=a_row_fewer),
    "a reach larger by one is measured": Error(measured=lambda plan: in_table(plan, reach=claimed_reach(plan) + 1)),
    "no reach is measured": Error(measured=lambda plan: in_table(plan, reach=10**9)),
    "a change is claimed to be a removal": Error(claimed=lambda plan: in_table(plan, neighbours="add/remove")),
    "rows are measured where units are asked": Error(measured=lambda plan: in_table(plan, unit=None, reach=None)),
    "units are measured by another column": Error(measured=lambda plan: in_table(plan, unit="note")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_planted_error_is_found(name: str) -> None:
    find(trials(["integer"], of=PLAIN, limits=ALONE), partial(is_found, ERRORS[name]), settings=SEARCH)


def test_limits_that_are_not_applied_together_are_found() -> None:
    no_rows = Error(measured=lambda plan: in_table(plan, max_rows=10**9, reach=10**9))
    find(trials(["integer"], of=PLAIN, limits=WITH_ROWS), partial(is_found, no_rows), settings=SEARCH)


@pytest.mark.parametrize("function", SPELLINGS)
def test_a_planted_error_is_found_in_each_aggregate(function: str) -> None:
    error = Error(measured=lambda plan: in_table(plan, reach=2 * claimed_reach(plan)))
    find(trials(["text"], of={function}, limits=ALONE), partial(is_found, error), settings=SEARCH)


def test_a_sum_that_is_wrongly_claimed_to_be_of_one_sign_is_found() -> None:
    error = Error(claimed=lambda plan: in_bundles(plan, lambda bundle: replace(bundle, nonnegative=True)))
    least, most = ([{"u": 1, **dict.fromkeys(KINDS), "n": n}] * 3 for n in (-4, 4))
    table, question = policy("integer", "change one", None, None, 2), Question("SELECT sum(n) AS a FROM t")
    assert is_found(error, Trial("integer", table, question, least, [most]))
    assert not is_found(Error(), Trial("integer", table, question, least, [most]))
