"""Questions whose groups nobody listed, end to end: from SQL to an answer, its cost, its receipt and its refusals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import InvalidError
from tacit.guarantees.events import Neighbours

BUDGET = tc.ApproxDP(epsilon=10_000, delta=0.5)
SURE: dict[str, Any] = {"epsilon": 500, "delta": 1e-6}
"""So large an ε that groups of some units are shown for sure, and with hardly any noise."""

LARGE, SMALL = 60, 1


def people(seed: int = 0) -> pd.DataFrame:
    """Sixty people in each of three towns, one in a fourth, sixty who say nothing; two rows each, in any order."""
    rows = [
        {"person": f"{town}-{i}", "town": town, "income": 10.0 * (place + 1), "day": date(2024, 1, place + 1)}
        for place, town in enumerate(["north", "south", "é", None])
        for i in range(LARGE)
        for _ in range(2)
    ]
    rows += [{"person": "alone", "town": "hamlet", "income": 99.0, "day": None}] * 2
    Random(seed).shuffle(rows)  # noqa: S311 - the order of a test's rows
    return pd.DataFrame(rows)


def opened(
    data: pd.DataFrame | None = None, *, budget: object = BUDGET, neighbours: Neighbours = "add/remove", **more: object
) -> Database:
    settings: dict[str, object] = {"unit": "person", "max_groups": 1, "max_rows": 2}
    settings |= {"bounds": {"income": (0, 100)}, "types": {"day": "date"}}
    data = people() if data is None else data
    return tc.open(data, name="t", budget=budget, neighbours=neighbours, **(settings | more))  # type: ignore[arg-type]


def test_tables_that_an_interrupt_left_behind_are_replaced() -> None:
    db = opened()
    engine = db._session.engine("t")
    assert isinstance(engine, DuckDBEngine)
    for name in ("found", "shown"):
        engine._connection.execute(f"CREATE TEMP TABLE {name} AS SELECT 1 AS left_behind")
    answer = db.sql("SELECT town, count(DISTINCT person) AS n, median(income) AS m FROM t GROUP BY town", **SURE)
    assert len(answer) == 4


def test_groups_are_found_null_is_one_of_them_and_a_lonely_unit_is_not() -> None:
    answer = opened().sql("SELECT town, count(DISTINCT person) AS n, sum(income) AS s FROM t GROUP BY town", **SURE)
    assert [row[0] for row in answer.rows()] == ["north", "south", "é", None]
    for place, (_, n, s) in enumerate(answer.rows()):
        assert n == pytest.approx(LARGE, abs=2)
        assert s == pytest.approx(2 * LARGE * 10 * (place + 1), abs=20)


BIN = 100 / 2048
SURER: dict[str, Any] = {"epsilon": 5000, "delta": 1e-12}
"""The same for questions of several values: no integer has noise, and nobody alone is shown, but with 1e-11."""

SPREAD = (
    "SELECT town, median(income) AS half, quantile_cont(income, 0.9) AS most, min(income) AS least, "
    "max(income) AS top, count(DISTINCT income) AS kinds, count(DISTINCT person) AS n, avg(income) AS mean "
    "FROM t GROUP BY town"
)


def test_quantiles_and_different_values_are_answered_for_groups_that_are_found() -> None:
    rows = opened().sql(SPREAD, **SURER).rows()
    assert [row[0] for row in rows] == ["north", "south", "é", None]
    for place, (_, half, most, least, top, kinds, n, mean) in enumerate(rows):
        for value in (half, most, least, top, mean):
            assert value == pytest.approx(10 * (place + 1), abs=0.1)
        assert (kinds, n) == (1, LARGE)


def test_values_are_told_apart_by_each_unit_and_group() -> None:
    data = people()
    data["income"] = range(len(data))
    rows = (
        opened(data, max_rows=1)
        .sql("SELECT town, count(DISTINCT income) AS n, count(DISTINCT town) AS one FROM t GROUP BY town", **SURE)
        .rows()
    )
    assert rows == [
        (town, LARGE, 1 if town else 0) for town in ("north", "south", "é", None)
    ]  # one value for each unit


def test_they_are_answered_by_several_keys_dates_and_listed_keys_beside() -> None:
    question = "SELECT day, town, median(income) AS m FROM t GROUP BY day, town"
    expected = [
        (date(2024, 1, place), town, 10.0 * place) for place, town in enumerate(["north", "south", "é", None], 1)
    ]
    rows = opened().sql(question, **SURER).rows()
    assert [row[:2] for row in rows] == [row[:2] for row in expected]
    assert [row[2] for row in rows] == pytest.approx([row[2] for row in expected], abs=0.1)
    some = opened(keys={"town": ["north", None, "nowhere"]}).sql(question, **SURER).rows()
    assert [row[:2] for row in some] == [expected[0][:2], expected[3][:2]]


def test_where_each_row_is_a_unit_quantiles_are_of_rows() -> None:
    db = opened(unit=tc.ROW, max_groups=None, max_rows=None)
    rows = db.sql("SELECT town, median(income) AS m, count(DISTINCT income) AS k FROM t GROUP BY town", **SURER).rows()
    assert [row[1] for row in rows if row[0] != "hamlet"] == pytest.approx([10, 20, 30, 40], abs=0.1)
    assert {row[2] for row in rows} == {1}


def test_one_chunk_after_the_other_gives_each_group_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chunk holds one group here; its noise is fresh, and its integers are those of its keys."""
    monkeypatch.setattr("tacit.query.histograms.AT_ONCE", 1)
    rows = opened().sql(SPREAD, **SURER).rows()
    assert [row[0] for row in rows] == ["north", "south", "é", None]
    assert [row[1] for row in rows] == pytest.approx([10, 20, 30, 40], abs=0.1)
    assert {row[6] for row in rows} == {LARGE}


def test_an_empty_table_has_no_quantiles() -> None:
    empty = people().iloc[:0].astype({"person": "str", "town": "str"})
    answer = opened(empty).sql(SPREAD, **SURE)
    assert answer.rows() == []
    assert len(answer.intervals()) == 0


def test_intervals_of_quantiles_hold_and_answers_are_kept_as_they_were(tmp_path: Path) -> None:
    db = opened(ledger=str(tmp_path / "ledger.db"), data_version="1")
    answer = db.sql(SPREAD, epsilon=5, delta=1e-12)
    for row in answer.intervals(1 - 1e-12).dicts():
        value = 10.0 * (1 + ["north", "south", "é", None].index(row["town"]))  # type: ignore[arg-type]
        assert row["half_low"] - BIN <= value <= row["half_high"] + BIN  # type: ignore[operator]
    again = db.sql(SPREAD, epsilon=5, delta=1e-12)
    assert again.rows() == answer.rows()
    assert again.cells == answer.cells


def test_joins_are_looked_at_twice_as_well() -> None:
    regions = pd.DataFrame({"place": ["north", "south"], "half": ["N", "S"]})
    sql = "SELECT town, half, median(income) AS m FROM t JOIN regions ON town = place GROUP BY town, half"
    rows = opened(public={"regions": regions}).sql(sql, **SURER).rows()
    assert [row[:2] for row in rows] == [("north", "N"), ("south", "S")]
    assert [row[2] for row in rows] == pytest.approx([10, 20], abs=0.1)


def test_the_order_does_not_depend_on_the_rows() -> None:
    questions = ["SELECT town FROM t GROUP BY town", "SELECT day, town FROM t GROUP BY town, day"]
    for question in questions:
        found = {tuple(opened(people(seed)).sql(question, **SURE).rows()) for seed in range(3)}
        assert len(found) == 1


def test_groups_alone_may_be_asked_for() -> None:
    assert len(opened().sql("SELECT town FROM t GROUP BY town", **SURE).rows()) == 4


def test_keys_may_be_computed_and_of_several_kinds() -> None:
    db = opened()
    shouted = db.sql("SELECT upper(town) || '!' AS loud, count(*) AS n FROM t GROUP BY 1", **SURE)
    assert [row[0] for row in shouted.rows()] == ["NORTH!", "SOUTH!", "É!", None]
    both = db.sql("SELECT day, income FROM t GROUP BY day, income", **SURE).rows()
    assert both == [(date(2024, 1, place), 10.0 * place) for place in range(1, 5)]
    month = db.sql("SELECT date_trunc('month', day) AS m, count(DISTINCT person) AS n FROM t GROUP BY m", **SURE).rows()
    assert [row[0] for row in month] in ([date(2024, 1, 1)], [datetime(2024, 1, 1)])  # noqa: DTZ001


def test_listed_keys_beside_narrow_down() -> None:
    question = "SELECT town, day, count(*) AS n FROM t GROUP BY town, day"
    rows = opened(keys={"town": ["north", None, "nowhere"]}).sql(question, **SURE).rows()
    assert [row[:2] for row in rows] == [("north", date(2024, 1, 1)), (None, date(2024, 1, 4))]


def test_having_order_and_limit_see_released_values() -> None:
    db = opened()
    question = "SELECT town, sum(income) AS s FROM t GROUP BY town HAVING sum(income) > 2000 ORDER BY s DESC LIMIT 2"
    assert [row[0] for row in db.sql(question, **SURE).rows()] == [None, "é"]
    assert db.sql("SELECT town FROM t GROUP BY town LIMIT 2 OFFSET 1", **SURE).rows() == [("south",), ("é",)]


def test_an_empty_table_has_an_empty_answer() -> None:
    answer = opened(people().iloc[:0].astype({"person": "str", "town": "str"})).sql(
        "SELECT town, count(*) AS n, avg(income) AS m FROM t GROUP BY town", **SURE
    )
    assert answer.rows() == []
    assert len(answer.intervals()) == 0
    assert answer.to_polars().columns == ["town", "n", "m"]


def test_a_group_of_nobody_is_never_shown() -> None:
    db = opened()
    for _ in range(20):
        shown = {row[0] for row in db.sql("SELECT town FROM t WHERE town <> 'south' GROUP BY town", **SURE).rows()}
        assert shown <= {"north", "é", "hamlet"}


def test_where_each_row_is_a_unit_rows_are_the_units() -> None:
    db = opened(unit=tc.ROW, max_groups=None, max_rows=None)
    plan = db.plan("SELECT town, count(*) AS n FROM t GROUP BY town", epsilon=1, delta=1e-6)
    assert plan.price.choice is not None
    assert plan.price.choice.epsilon == 1
    rows = db.sql("SELECT town, count(*) AS n FROM t GROUP BY town", **SURE).rows()
    assert [row[1] for row in rows if row[0] != "hamlet"] == pytest.approx([120] * 4, abs=2)


# --- what it costs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "shared", "max_rows"),
    [
        ("SELECT town FROM t GROUP BY town", False, 2),
        ("SELECT town, count(DISTINCT person) AS n FROM t GROUP BY town", False, 2),
        ("SELECT town, count(*) AS n FROM t GROUP BY town", False, 1),
        ("SELECT town, count(*) AS n FROM t GROUP BY town", True, 2),
        ("SELECT town, count(*) AS n, avg(income) AS m FROM t GROUP BY town", True, 1),
        ("SELECT town, count(income) AS n FROM t GROUP BY town", True, 1),
    ],
)
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_epsilon_and_delta_add_up_to_what_was_said(sql: str, shared: bool, max_rows: int, delta: float) -> None:  # noqa: FBT001
    db = opened(max_rows=max_rows)
    plan = db.plan(sql, epsilon=1, delta=delta)
    choice = plan.price.choice
    assert choice is not None
    assert float(choice.epsilon) == (0.6 if shared else 1)
    assert plan.cost == tc.ApproxDP(epsilon=1, delta=delta)
    db.sql(sql, epsilon=1, delta=delta)
    left = db.left
    assert isinstance(left, tc.ApproxDP)
    assert left.epsilon == 9999
    assert left.delta == pytest.approx(0.5 - delta)


def test_many_values_get_gaussian_noise_and_half_of_delta() -> None:
    many = ", ".join(f"sum(clamp(income, 0, {high})) AS s{high}" for high in range(1, 40))
    plan = opened(max_groups=20).plan(f"SELECT town, {many} FROM t GROUP BY town", epsilon=1, delta=1e-3)  # noqa: S608
    assert plan.price.choice is not None
    assert {law.law for law in plan.price.noise} == {"gaussian"}
    assert plan.price.choice.delta == pytest.approx(5e-4)
    assert [type(event).__name__ for event in plan.price.events] == ["ApproxRelease", "ApproxRelease"]
    assert plan.cost == tc.ApproxDP(epsilon=1, delta=1e-3)


def test_the_receipt_says_how_groups_were_found() -> None:
    db = opened(neighbours="change one")
    receipt = db.sql("SELECT town, count(*) AS n, count(DISTINCT person) AS u FROM t GROUP BY town", **SURE).receipt
    privacy = receipt["privacy"]
    assert isinstance(privacy, Mapping)
    groups = privacy["groups"]
    assert groups["counts_a_unit_can_move"] == 2
    assert (groups["epsilon"], groups["epsilon_of_values"]) == (300, 200)
    assert groups["delta"] + groups["delta_of_values"] == pytest.approx(1e-6)
    assert groups["scale"] == "1/150"
    assert groups["limit"] == 1
    mechanisms = receipt["mechanisms"]
    assert isinstance(mechanisms, list)
    assert [one["law"] for one in mechanisms] == ["discrete laplace", "released by the selection of groups"]
    assert "north" not in str(receipt)


def test_a_plan_says_how_large_groups_must_be() -> None:
    plan = opened().plan("SELECT town, avg(income) AS m FROM t GROUP BY town", epsilon=1, delta=1e-6)
    assert "found in the data, privately" in plan.why
    assert "units is released with probability about one half" in str(plan)


def test_intervals_are_of_groups_that_are_shown() -> None:
    question = "SELECT town, count(DISTINCT person) AS n FROM t GROUP BY town"
    table = opened().sql(question, epsilon=2, delta=1e-12).intervals(1 - 1e-12)  # missed with 4e-12, and δ
    for row in table.dicts():
        low, high = row["n_low"], row["n_high"]
        assert isinstance(low, float)
        assert isinstance(high, float)
        assert 1 <= low <= LARGE <= high or not math.isfinite(low)


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "spend", "said"),
    [
        ("SELECT town FROM t GROUP BY town", {"epsilon": 1}, "Or give delta"),
        ("SELECT town FROM t GROUP BY town", {"epsilon": 1, "delta": 0}, "no public keys"),
        ("SELECT town FROM t GROUP BY town", {"epsilon": 1, "delta": 1}, "below 1"),
        ("SELECT town FROM t GROUP BY town", {"epsilon": 1e-9, "delta": 1e-3}, "far smaller than epsilon"),
        ("SELECT town FROM t GROUP BY town", {"epsilon": 1e-30, "delta": 1e-300}, "2\\^56"),
        ("SELECT person FROM t GROUP BY person", SURE, "would show single units"),
        ("SELECT lower(person) AS p, count(*) AS n FROM t GROUP BY p", SURE, "would show single units"),
        ("SELECT town, median(day) AS m FROM t GROUP BY town", SURE, "day"),
    ],
)
def test_what_cannot_be_found_is_refused_and_nothing_is_spent(sql: str, spend: dict[str, Any], said: str) -> None:
    db = opened()
    with pytest.raises(tc.TacitError, match=said):
        db.sql(sql, **spend)
    assert db.spent == tc.ApproxDP(epsilon=0, delta=0)


def test_without_max_groups_it_is_refused() -> None:
    with pytest.raises(tc.InvalidError, match="max_groups"):
        opened(max_groups=None).sql("SELECT town FROM t GROUP BY town", **SURE)


def test_budgets_without_delta_cannot_pay() -> None:
    db = opened(budget=tc.PureDP(epsilon=10))
    with pytest.raises(tc.TacitError, match="delta"):
        db.sql("SELECT town FROM t GROUP BY town", epsilon=1, delta=1e-6)
    zcdp = opened(budget=tc.ZCDP(rho=10))
    with pytest.raises(tc.RefusedError, match="rho does not have"):
        zcdp.sql("SELECT town FROM t GROUP BY town", rho=1)


def test_no_text_of_a_refusal_or_a_plan_tells_of_the_data() -> None:
    db = opened()
    with pytest.raises(tc.RefusedError) as refusal:
        db.sql("SELECT town FROM t GROUP BY town", epsilon=1)
    plan = db.plan("SELECT town FROM t GROUP BY town", epsilon=1, delta=1e-6)
    assert not any(name in f"{refusal.value} {plan}" for name in ("north", "south", "hamlet"))


def test_an_answer_without_groups_says_why() -> None:
    few = pd.DataFrame({"person": [1, 2], "word": ["a", "b"]})
    with tc.open(few, name="t", unit="person", reach=1, budget=tc.ApproxDP(epsilon=2, delta=1e-6)) as db:
        sql = "SELECT word, count(*) AS n FROM t GROUP BY word"
        answer = db.sql(sql, epsilon=1, delta=1e-9, max_groups=1)
        assert answer.notes[0].startswith("No group is shown, because none has enough units.")
        with pytest.raises(InvalidError, match=r"The values of 'word' are not public.*needs max_groups.*delta="):
            db.plan(sql, epsilon=1)
