"""Every error keeps its whole message and its parts where it is pickled or copied, so that it crosses processes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import tacit as tc
from tacit.engines.source import declared_at
from tacit.errors import (
    BudgetError,
    InvalidError,
    LedgerError,
    NoSourceError,
    RefusedError,
    SourceError,
    TacitError,
    TooMuchNoiseError,
)
from tacit.query.policy.mistakes import DeclaredValueError, Mistake, PolicyError

MADE: list[TacitError] = [
    TacitError("something"),
    InvalidError("epsilon", "-1", "a number > 0"),
    TooMuchNoiseError("scale", "1e300", "at most 2^56"),
    NoSourceError("'survy.csv', which does not exist", "a file"),
    RefusedError("It cannot be answered."),
    BudgetError("Too little is left."),
    SourceError("The engine failed."),
    LedgerError("The ledger is gone."),
    PolicyError("clinic.toml", [Mistake(3, "unit", "is required"), Mistake(None, "keys", "did you mean?")]),
    DeclaredValueError("bounds", "must be two finite numbers"),
]


def pickled(error: TacitError) -> TacitError:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert isinstance(again, TacitError)
    return again


def every(kind: type[TacitError]) -> set[type[TacitError]]:
    """Return a class of errors and all under it, as far as they are tacit's own."""
    under = {found for one in kind.__subclasses__() for found in every(one)}
    return {one for one in {kind, *under} if one.__module__.startswith("tacit.")}


def test_every_class_of_errors_is_tested_here() -> None:
    assert {type(error) for error in MADE} == every(TacitError)


@pytest.mark.parametrize("again", [pickled, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("made", MADE, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_after_it_was_pickled_or_copied(
    made: TacitError, again: Callable[[TacitError], TacitError]
) -> None:
    error = copy.copy(made)
    error.args = (f"tables.visits: {made}",)
    error.add_note("for people")
    twin = again(again(error))
    assert type(twin) is type(error)
    assert str(twin) == f"tables.visits: {made}"
    assert twin.args == error.args
    assert twin.__dict__ == error.__dict__
    assert str(made) == str(again(made))


OF_SOURCES = [error for error in MADE if isinstance(error, (InvalidError, SourceError))]


@pytest.mark.parametrize("made", OF_SOURCES, ids=lambda error: type(error).__name__)
def test_the_place_of_a_source_stays_before_the_message(made: TacitError) -> None:
    with pytest.raises(type(made)) as caught, declared_at("tables.visits"):
        raise copy.copy(made)
    assert str(pickled(caught.value)) == f"tables.visits: {made}"


POLICY = """
budget = { epsilon = 1.0 }

[tables.visits]
source = "gone.csv"
unit = "patient"
max_groups = 1
max_rows = 1
"""


def test_an_error_of_another_process_says_where_it_was(tmp_path: Path) -> None:
    policy = tmp_path / "clinic.toml"
    policy.write_text(POLICY, encoding="utf-8")
    with pytest.raises(NoSourceError) as here:
        tc.open(policy)
    assert str(here.value).startswith("tables.visits: ")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(NoSourceError) as there:
        pool.submit(tc.open, policy).result()
    assert str(there.value) == str(here.value)
    assert (there.value.argument, there.value.where) == (here.value.argument, here.value.where)
