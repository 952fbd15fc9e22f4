"""The unit of a recorded policy: no column's name can be mistaken for tc.ROW, and ledgers of 0.1.0 still open."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.errors import RefusedError
from tacit.guarantees.filters import Budget
from tacit.ledger import Ledger
from tacit.ledger.backup import export, load
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.open_ledger import open_ledger, read_ledger
from tacit.ledger.replay import verify
from tacit.ledger.sql_ledger import SqlLedger
from tacit.query.policy import _Row

FIXTURES = Path(__file__).parent / "fixtures"
COUNT = "SELECT count(*) AS n FROM t"
ROW_TEXT = "each row"
HEADS = {
    "row": "06cd2bd2a6aac1928065275de98a31b9dddbdef9114e47ce0385747f9b0a049c",
    "person": "46259c41b9017daee321545c791b063528d532e6a6c0fcd7f812503f7781ab8b",
    "column": "db6d490c2fd60a6b956532f55810d2a71b182c99f629465779832d4eb5c813de",
}
"""The links of the last records of the fixtures, as 0.1.0 wrote them."""

Opening = Callable[..., Database]


def opening(place: Path, column: str) -> Opening:
    """Return a function that opens a table with one column beside `x` under a unit and a ledger."""
    rows = pd.DataFrame({column: [1] * 5 + [2], "x": [1.0] * 6})

    def opened(unit: str | _Row, **more: bool) -> Database:
        limits = {} if isinstance(unit, _Row) else {"max_groups": 1, "max_rows": 1}
        terms = {"name": "t", "bounds": {"x": (0, 2)}, "budget": tc.PureDP(epsilon=10), "data_version": "v1"}
        return tc.open(rows, unit=unit, ledger=place, **limits, **terms, **more)  # type: ignore[arg-type]

    return opened


def restored(folder: Path, name: str) -> Path:
    """Write a ledger of 0.1.0 as a file, and return its path."""
    place = folder / f"{name}.ledger"
    connection = sqlite3.connect(place)
    connection.executescript((FIXTURES / f"0.1.0-{name}.sql").read_text(encoding="utf-8"))
    connection.close()
    return place


def units(place: Path) -> list[object]:
    """Return the unit of `t` in each record of a policy."""
    ledger = read_ledger(place)
    bodies = [json.loads(one.body) for one in ledger.records() if one.kind == "policy"]
    ledger.close()
    return [body["tables"]["t"]["unit"] for body in bodies]


# --- what is written now ----------------------------------------------------------------------------------------

NAMES = [ROW_TEXT, "row", "true", "tacit.ROW", "tc.ROW", "None", "null", '{"row":true}', "column", "unit", "none"]


@pytest.mark.parametrize("column", NAMES)
@pytest.mark.parametrize("accept", [False, True])
def test_no_name_of_a_column_stands_for_each_row(folder: Path, column: str, *, accept: bool) -> None:
    for first, then in ((column, tc.ROW), (tc.ROW, column)):
        place = folder / f"{isinstance(first, str)}.ledger"
        opened = opening(place, column)
        opened(first).sql(COUNT, epsilon=1)
        with pytest.raises(RefusedError, match="can never change"):
            opened(then, accept=accept)
        assert opened(first).left == tc.PureDP(epsilon=9)
        assert len(units(place)) == 1


def test_a_unit_is_recorded_with_its_kind(folder: Path) -> None:
    for unit, tagged in ((tc.ROW, {"row": True}), (ROW_TEXT, {"column": ROW_TEXT})):
        place = folder / f"{isinstance(unit, str)}.ledger"
        opening(place, ROW_TEXT)(unit)
        assert units(place) == [tagged]


# --- what 0.1.0 wrote -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HEADS)
def test_a_ledger_of_0_1_0_verifies_and_keeps_its_links(folder: Path, name: str) -> None:
    ledger = read_ledger(restored(folder, name))
    assert ledger.head == (11, HEADS[name])
    assert verify(ledger).holds
    assert load(list(export(ledger)), folder / "copy.ledger").holds
    ledger.close()


@pytest.mark.parametrize(
    ("name", "column", "unit", "accept"),
    [("row", "person", tc.ROW, False), ("person", "person", "person", False), ("column", ROW_TEXT, ROW_TEXT, True)],
)
def test_a_ledger_of_0_1_0_opens_and_charges(
    folder: Path, name: str, column: str, unit: str | _Row, *, accept: bool
) -> None:
    place = restored(folder, name)
    opened = opening(place, column)
    db = opened(unit, accept=accept)
    assert db.left == tc.PureDP(epsilon=8.25)
    db.sql(COUNT, epsilon=1)
    assert opened(unit).left == tc.PureDP(epsilon=7.25)  # from now on without accept
    assert isinstance(db.ledger, SqlLedger)
    assert verify(db.ledger).holds
    assert units(place)[:2] == [unit if isinstance(unit, str) else ROW_TEXT] * 2
    assert units(place)[2:] == [{"column": unit} if isinstance(unit, str) else {"row": True}]


@pytest.mark.parametrize(
    ("name", "column", "unit"),
    [("row", "person", "person"), ("person", "person", tc.ROW), ("column", "person", "person")],
)
@pytest.mark.parametrize("accept", [False, True])
def test_a_ledger_of_0_1_0_keeps_its_unit(
    folder: Path, name: str, column: str, unit: str | _Row, *, accept: bool
) -> None:
    place = restored(folder, name)
    with pytest.raises(RefusedError, match="can never change"):
        opening(place, column)(unit, accept=accept)
    assert len(units(place)) == 2


@pytest.mark.parametrize("name", ["row", "column"])
@pytest.mark.parametrize(("unit", "other"), [(tc.ROW, ROW_TEXT), (ROW_TEXT, tc.ROW)])
def test_a_unit_that_0_1_0_left_open_is_stated_once_by_the_steward(
    folder: Path, name: str, unit: str | _Row, other: str | _Row
) -> None:
    place = restored(folder, name)
    opened = opening(place, ROW_TEXT)
    for either in (unit, other):
        with pytest.raises(RefusedError, match=r"recorded by tacit 0\.1\.0 as 'each row'.*Nothing was spent"):
            opened(either)
    assert len(units(place)) == 2
    opened(unit, accept=True)
    for accept in (False, True):
        with pytest.raises(RefusedError, match="can never change"):
            opened(other, accept=accept)
    assert opened(unit).left == tc.PureDP(epsilon=8.25)


def test_a_changed_bound_beside_a_unit_that_0_1_0_left_open_is_named_too(folder: Path) -> None:
    place = restored(folder, "column")
    rows = pd.DataFrame({ROW_TEXT: [1], "x": [1.0]})
    with pytest.raises(RefusedError, match=r"0\.1\.0.*bounds\.x of t: 0 to 2 became 0 to 3"):
        tc.open(rows, name="t", unit=tc.ROW, bounds={"x": (0, 3)}, budget=tc.PureDP(epsilon=10), ledger=place)


# --- limits of analysts -----------------------------------------------------------------------------------------

ONE, TWO, HALF = tc.PureDP(epsilon=1), tc.PureDP(epsilon=2), tc.PureDP(epsilon=0.5)


@pytest.mark.parametrize("other", [TWO, HALF])
def test_opening_changes_no_limit_of_an_analyst_unless_it_is_accepted(folder: Path, other: tc.PureDP) -> None:
    place = folder / "limits.ledger"

    def opened(limit: tc.PureDP, *, accept: bool = False) -> SqlLedger:
        return open_ledger(place, TWO, "add/remove", analysts={"ann": limit}, accept=accept)

    opened(ONE).close()
    changed = rf"limits analyst 'ann' to ε = 1, but the policy says ε = {other.epsilon:g}\..*accept=True"
    with pytest.raises(RefusedError, match=changed):
        opened(other)
    ledger = opened(ONE)
    assert ledger.limit_of("ann") == ONE
    assert [one.kind for one in ledger.records()] == ["begin", "analyst"]
    ledger = opened(other, accept=True)
    assert ledger.limit_of("ann") == other
    assert verify(ledger).holds


def test_a_first_limit_is_recorded_at_once_unless_the_analyst_has_spent(folder: Path) -> None:
    rows = pd.DataFrame({"person": [1, 2]})

    def opened(*, accept: bool = False, **limits: tc.PureDP) -> Database:
        terms = {"name": "t", "unit": tc.ROW, "budget": TWO, "ledger": folder / "first.ledger", "analyst": "ann"}
        return tc.open(rows, analysts=limits, accept=accept, **terms)  # type: ignore[arg-type]

    opened().sql(COUNT, epsilon=0.25)
    assert opened(bob=ONE).ledger.limit_of("bob") == ONE
    first = r"Analyst 'ann' has spent without a limit; the policy now sets ε = 1\. Remove"
    with pytest.raises(RefusedError, match=first):
        opened(ann=ONE)
    assert opened(ann=ONE, accept=True).ledger.limit_of("ann") == ONE
    assert opened().ledger.limit_of("ann") == ONE  # a policy without limits changes no limit


WITH_DELTA = tc.ApproxDP(epsilon=0.5, delta=1e-6)


@pytest.mark.parametrize("in_file", [True, False])
def test_a_limit_has_no_delta_under_a_budget_without_one(folder: Path, *, in_file: bool) -> None:
    place = folder / "delta.ledger"

    def opened(**limits: Budget) -> Ledger:
        if in_file:
            return open_ledger(place, TWO, "add/remove", analysts=limits)
        return MemoryLedger(TWO, "add/remove", limits)

    with pytest.raises(RefusedError, match=r"limit of analyst 'ann' is ε = 0\.5, δ = 1e-06.* has no δ\. Remove δ"):
        opened(ann=WITH_DELTA)
    assert opened(ann=tc.ApproxDP(epsilon=0.5, delta=0)).limit_of("ann") is not None


def test_a_recorded_limit_with_delta_still_opens_under_a_budget_that_lost_its_own(folder: Path) -> None:
    place, limits = folder / "old.ledger", {"ann": WITH_DELTA}
    open_ledger(place, tc.ApproxDP(epsilon=2, delta=1e-6), "add/remove", analysts=limits).close()
    open_ledger(place, TWO, "add/remove", analysts=limits, accept=True).close()
    ledger = open_ledger(place, TWO, "add/remove", analysts=limits)
    assert ledger.limit_of("ann") == WITH_DELTA
    with pytest.raises(RefusedError, match="has no δ"):
        ledger.set_limit("bob", WITH_DELTA)
    assert verify(ledger).holds


@pytest.mark.parametrize("name", ["T", " t", "t "])
def test_another_spelling_of_a_table_is_the_same_table(tmp_path: Path, name: str) -> None:
    rows = pd.DataFrame({"person": [1, 1, 2]})
    file, budget = tmp_path / "a.ledger", tc.PureDP(epsilon=1)
    with tc.open(rows, name="t", unit="person", max_groups=1, max_rows=1, budget=budget, ledger=file) as db:
        db.count(epsilon=0.1)
    with pytest.raises(tc.RefusedError, match="never change"):
        tc.open(rows, name=name, unit=tc.ROW, budget=budget, ledger=file)
