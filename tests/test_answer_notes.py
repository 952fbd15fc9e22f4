"""Sentences under plans and answers: on groups, missing values, exact numbers, time zones and errors."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.errors import InvalidError, RefusedError
from tacit.query.results.intervals import without_intervals
from tacit.query.results.limits_note import not_counted

TOWNS = ["Bern", "Basel", "Chur"]
BY_TOWN = "SELECT town, count(*) AS n, avg(pay) AS m FROM t GROUP BY town"


def people() -> pd.DataFrame:
    """600 rows: a third without a town, a sixth in a town that is not listed, ten without pay."""
    rows = np.arange(600)
    towns = np.array([*TOWNS, "Lyon", None, None], dtype=object)
    pay = np.where(rows < 10, nan, 100.0 * (rows % 100))
    return pd.DataFrame({"town": towns[rows % 6], "pay": pay, "age": rows % 90, "urban": rows % 3 > 0})


def opened(data: pd.DataFrame | None = None, **more: Any) -> Database:  # noqa: ANN401 - arguments of tc.open
    policy: dict[str, Any] = {
        "name": "t",
        "unit": tc.ROW,
        "neighbours": "change one",
        "bounds": {"pay": (300, 10_000), "age": (0, 120)},
        "keys": {"town": TOWNS},
        "required": ["town", "pay"],
        "budget": tc.PureDP(epsilon=10**7),
    }
    return tc.open(people() if data is None else data, **(policy | more))


@pytest.mark.parametrize("neighbours", ["change one", "add/remove"])
def test_rows_without_a_required_key_count_under_its_first_value(neighbours: str) -> None:
    db = opened(neighbours=neighbours)
    answer = db.sql(BY_TOWN, epsilon=10**4)
    assert [row[1] for row in answer.rows()] == [300, 100, 100]  # 100 in Bern, and 200 without a town
    note = "Rows without town count as Bern; rows with another town are not counted."
    assert not_counted(answer.plan)[0].startswith(note)
    assert note in str(db.plan(BY_TOWN, epsilon=1))
    assert "is NULL" not in str(answer)


def test_an_answer_says_why_a_lone_count_differs() -> None:
    db, alone = opened(), "SELECT town, count(*) AS n FROM t GROUP BY town"
    lone = db.sql(alone, epsilon=10**4)
    assert [n for _, n in lone.rows()] == [400, 100, 100]
    assert lone.notes == ["Rows with another town, or without one, count as Bern."]
    more = "If count(*) is the only aggregate, these rows count as Bern, so that counts add up to n."
    assert more in str(db.sql(BY_TOWN, epsilon=1))
    assert "only aggregate" not in str(opened(neighbours="add/remove").sql(alone, epsilon=1))
    assert "only aggregate" not in str(opened(required=["pay"]).sql(BY_TOWN, epsilon=1))


def test_keys_that_leave_the_stand_in_out_lose_rows_without_a_value() -> None:
    answer = opened().sql(BY_TOWN, epsilon=10**4, keys={"town": TOWNS[1:]})
    assert [row[1] for row in answer.rows()] == [100, 100]
    assert not_counted(answer.plan)[0] == "Rows with another town, and rows where town is NULL, are not counted."
    assert not_counted(answer.plan)[1].startswith("The column pay is clipped to ")


def test_a_condition_has_no_other_value() -> None:
    text = str(opened().plan("SELECT age > 40 AS old, avg(pay) AS m FROM t GROUP BY old", epsilon=1))
    assert "Groups: 2 values of old. Rows where old is NULL are not counted." in text


def test_missing_values_of_required_columns_are_stated() -> None:
    db = opened()
    answer = db.sql("SELECT avg(pay) AS m FROM t", epsilon=10**4)
    note = "Missing values of pay, if any, count as 300."
    assert note in answer.notes
    assert note in answer._repr_html_()
    assert answer.receipt["missing_values"] == note
    assert note in str(db.plan("SELECT count(*) AS n FROM t WHERE pay > 500", epsilon=1))
    exact = people().pay.clip(300, 10_000).fillna(300).mean()
    assert answer.rows()[0][0] == pytest.approx(exact, abs=0.1)
    assert "Missing" not in str(db.sql("SELECT median(age) AS m FROM t", epsilon=1))


def test_the_last_row_of_a_table_says_what_it_holds() -> None:
    db = opened(required=["pay"])
    last = "The last row (NULL) counts all remaining rows: "
    assert f"{last}missing values and values that are not listed." in db.crosstab("town", epsilon=1).notes
    assert f"{last}missing values." in db.crosstab("urban", epsilon=1).notes
    assert f"{last}missing values and values outside the bins." in db.histogram("age", [0, 9], epsilon=1).notes
    assert f"{last}values outside the bins." in db.histogram("pay", [0, 900], epsilon=1).notes


def test_min_and_max_say_under_the_answer_that_they_are_ranks() -> None:
    answer = opened().sql("SELECT max(pay) AS hi FROM t", epsilon=1)
    assert answer.notes[0].startswith("hi is the private quantile at rank about ")
    assert answer.notes[0] in str(answer)
    assert answer.notes[0] in answer._repr_html_()


def test_an_exact_count_says_so() -> None:
    answer = opened().sql("SELECT count(*) AS n, avg(pay) AS m FROM t", epsilon=1)
    assert "n is exact: the number of rows is public." in answer.notes
    assert "exact" not in str(opened(neighbours="add/remove").sql("SELECT count(*) AS n FROM t", epsilon=1))


def test_a_public_size_bounds_the_error_of_a_ratio() -> None:
    db = opened()
    share = db.plan("SELECT count(*) FILTER (WHERE urban) / count(*) AS r FROM t", epsilon=0.1)
    count = db.plan("SELECT count(*) AS n FROM t WHERE urban", epsilon=0.1)
    assert share.error["r"] == pytest.approx(count.error["n"] / 600)
    assert "FILTER (WHERE urban)" in str(share)
    ratio = db.plan("SELECT sum(pay) / count(*) AS r FROM t", epsilon=0.1)
    assert ratio.error["r"] == pytest.approx(db.plan("SELECT avg(pay) AS m FROM t", epsilon=0.1).error["m"], rel=1e-6)
    product = db.plan("SELECT count(*) FILTER (WHERE urban) * avg(pay) AS r FROM t", epsilon=10**4)
    assert 0 < product.error["r"] < 10**4  # with 600 rows, of 300 to 10,000 each
    solved = db.plan("SELECT count(*) FILTER (WHERE urban) / count(*) AS r FROM t", error=share.error["r"])
    assert float(solved.cost.epsilon) == pytest.approx(0.1, rel=0.02)  # type: ignore[arg-type]  # ε


def test_the_error_of_a_quantile_is_in_rows_or_uses_a_public_size() -> None:
    private = str(opened(neighbours="add/remove").plan("SELECT median(pay) AS m FROM t", epsilon=1))
    assert "m: within 4 rows of the median with 95% confidence, where values are dense" in private
    public = opened().plan("SELECT median(pay) AS m FROM t", epsilon=1)
    assert "if 600 rows are spread evenly over the bounds" in str(public)
    assert public.error == opened().plan("SELECT median(pay) AS m FROM t", epsilon=1, assume=600).error
    assert opened().plan("SELECT median(pay) AS m FROM t", error=200).error["m"] <= 200
    part = opened().plan("SELECT median(pay) AS m FROM t WHERE urban", epsilon=1)
    assert part.assume is None
    grouped = "SELECT median(age) AS a, quantile_cont(age, 0.9) AS b, quantile_cont(age, 0.1) AS c FROM t"
    assert "b and c: each within " in str(opened().plan(grouped, epsilon=1))


def test_the_worst_case_of_a_standard_deviation_is_stated() -> None:
    text = str(opened().plan("SELECT stddev_pop(pay) AS s, var_pop(pay) AS v FROM t", epsilon=1))
    assert text.count("(the worst case, of values that hardly differ)") == 1


def test_an_error_that_needs_required_columns_says_so() -> None:
    with pytest.raises(RefusedError, match=r"number of rows that have age") as caught:
        opened().plan("SELECT avg(age) AS m FROM t", error=1)
    assert "declare required=['age'] (policy: required = true)" in str(caught.value)
    with pytest.raises(RefusedError, match="because its denominator may be 0"):
        opened().plan("SELECT sum(pay) / sum(age) AS r FROM t", error=1)


def test_bounds_do_not_claim_that_rows_are_left_out() -> None:
    frame = people().assign(person=np.arange(600) // 3)
    with opened(frame, unit="person", neighbours="add/remove", required=[]) as db:
        assert "not_counted" not in db.bounds("pay", epsilon=10).receipt


def test_edges_of_even_bins_are_short_and_agree_with_their_labels() -> None:
    frame = pd.DataFrame({"x": [0.0, 133_333.2, 133_333.0, 266_667.0, 400_000.0]})
    with tc.open(frame, name="t", unit=tc.ROW, bounds={"x": (0, 400_000)}, budget=tc.PureDP(epsilon=1e6)) as db:
        answer = db.histogram("x", bins=3, epsilon=10**5)
    assert answer.rows() == [("[0, 133333)", 1), ("[133333, 266667)", 2), ("[266667, 400000]", 2)]


def test_tables_of_intervals_say_their_confidence() -> None:
    db = opened()
    margin = db.crosstab("town", "urban", epsilon=1).margin("urban", confidence=0.9)
    assert str(margin).endswith("count_low and count_high are the ends of the 90% interval of count.")
    drawn = db.median("pay", epsilon=1)
    assert "ask again with confidence=0.99" in str(drawn.intervals(confidence=0.99))
    assert "ask again" not in str(drawn.intervals(confidence=0.9))


def test_times_are_read_in_the_zone_of_the_policy() -> None:
    frame = pd.DataFrame({"at": pd.date_range("2026-03-28", periods=50, freq="h", tz="UTC")})
    query = "SELECT count(*) AS n FROM v WHERE at >= '2026-03-29 02:30'"
    with tc.open(frame, name="v", unit=tc.ROW, timezone="Europe/Zurich", budget=tc.PureDP(epsilon=10)) as db:
        answer = db.sql(query, epsilon=1)
        assert "at: local times in Europe/Zurich." in answer.notes
        assert "at: local times in Europe/Zurich." in str(db.plan(query, epsilon=1))
        assert answer.receipt["timezones"] == {"at": "Europe/Zurich"}
        with pytest.raises(InvalidError, match="write it without an offset"):
            db.plan(query.replace("02:30", "00:00+00:00"), epsilon=1)
        with pytest.raises(RefusedError, match="AT TIME ZONE is not supported"):
            db.plan("SELECT count(*) AS n FROM v WHERE at AT TIME ZONE 'UTC' >= '2026-03-29'", epsilon=1)


def test_a_plan_prints_the_query_and_not_its_parts() -> None:
    plan = opened().sql(BY_TOWN, epsilon=1).plan
    assert str(plan).splitlines()[1:] == [
        "Table t; unit: row; neighbours: change one",
        "Groups: town (3 values)",
        "Aggregates: count(*), avg(pay)",
    ]
    assert repr(plan).startswith("Plan(sql=")


def test_a_mode_has_whole_rows_and_no_intervals() -> None:
    db = opened()
    query = "SELECT urban, mode(town) AS x FROM t GROUP BY urban HAVING mode(town) <> 'Lyon'"
    notes = db.sql(query, epsilon=1).notes
    assert notes[0] == "HAVING chose these groups by noisy values."
    assert "It is a category, so it has no interval." in notes[1]
    shortfall = db.plan("SELECT mode(town) AS x FROM t", epsilon=0.01).shortfall["x"]
    assert isinstance(shortfall, int)
    assert f"{shortfall:,} rows fewer" in str(db.plan("SELECT mode(town) AS x FROM t", epsilon=0.01))


def test_a_csv_file_without_a_cost_says_why_its_count_is_not_free(tmp_path: Path) -> None:
    people()[["age"]].to_csv(tmp_path / "t.csv", index=False)
    policy: dict[str, Any] = {"unit": tc.ROW, "neighbours": "change one", "budget": tc.PureDP(epsilon=1)}
    with tc.open(tmp_path / "t.csv", name="t", **policy) as db:
        with pytest.raises(InvalidError, match="The query has no cost") as caught:
            db.sql("SELECT count(*) AS n FROM t")
        assert "tacit skips bad lines of a CSV file" in str(caught.value)
        with pytest.raises(InvalidError) as other:
            db.sql("SELECT count(*) AS n FROM t WHERE age = '3'")
        assert "CSV" not in str(other.value)


def test_json_names_the_columns_without_intervals() -> None:
    db = opened()
    drawn = db.plan("SELECT median(pay) AS m, avg(pay) AS a FROM t", epsilon=1, intervals=False).plan
    assert without_intervals(drawn, {"hold": "each"}) == {"hold": "each", "without": ["m"]}
    alone = db.sql("SELECT median(pay) AS m FROM t", epsilon=1, intervals=False)
    accuracy: Any = alone.receipt["accuracy"]
    assert accuracy["intervals"] == {"hold": None, "without": ["m"]}
    assert without_intervals(db.plan("SELECT avg(pay) AS a FROM t", epsilon=1).plan, {"hold": "each"}) == {
        "hold": "each"
    }


def test_several_clipped_columns_have_a_sentence_with_thousands_separators() -> None:
    bounds = {"pay": (300, 10_000), "age": (0, 120)}
    units = people().assign(person=range(600))
    db = tc.open(units, name="t", unit="person", reach=2, bounds=bounds, budget=tc.PureDP(epsilon=10**7))
    left_out = "ows and amounts beyond that are not in these numbers, and the intervals do not include them."
    one = db.sql("SELECT sum(pay) AS s FROM t", epsilon=10**4)
    assert one.notes == [f"Each person counts as at most 2 rows, and pay is clipped to 300 … 10,000; r{left_out}"]
    both = db.sql("SELECT sum(pay) AS s, sum(age) AS a FROM t", epsilon=10**4)
    clipped = "Values are clipped: age to 0 … 120, pay to 300 … 10,000."
    assert both.notes == [f"Each person counts as at most 2 rows. {clipped} R{left_out}"]
