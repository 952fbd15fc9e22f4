"""`db.synthesize`: charges, repeats, refusals, values, conditions, and what it reports."""

from __future__ import annotations

import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.synthetic.synthetic_rows import SyntheticRows

N = 4_000
DAYS = [date(2024, 1, 1), date(2024, 1, 2)]
BINS: dict[str, Any] = {"age": [0, 18, 40, 65, 100], "income": 4}
KEYS: dict[str, Any] = {"sex": ["F", "M"], "town": ["A", "B", "C"], "day": DAYS}
COST: dict[str, Any] = {"epsilon": 200, "delta": 1e-6}


def frame() -> pd.DataFrame:
    random = np.random.default_rng(2)
    age = random.integers(0, 100, N)
    sex = np.array(["F", "M"], dtype=object)[((age > 50) ^ (random.random(N) < 0.1)).astype(int)]
    town = np.where(age < 30, "A", random.choice(["A", "B", "elsewhere"], N))
    income = np.where(age < 18, 0.0, random.gamma(3, 10_000, N))
    data = pd.DataFrame({"person": np.arange(N) // 2, "age": age, "sex": sex, "town": town, "income": income})
    data["smokes"] = (age > 40) & (random.random(N) < 0.5)
    data["day"] = [DAYS[place] for place in random.integers(0, 2, N)]
    data.loc[::8, "sex"] = None
    data.loc[::20, "income"] = np.nan
    return data


def opened(**changes: Any) -> Database:  # noqa: ANN401 - arguments of tc.open
    given: dict[str, Any] = {
        "unit": tc.ROW,
        "keys": KEYS,
        "bounds": {"age": (0, 99), "income": (0, 100_000)},
        "budget": tc.ApproxDP(epsilon=10_000, delta=0.1),
        **changes,
    }
    return tc.open(frame(), **given)


def spent_epsilon(db: Database) -> float:
    spent = db.spent
    assert isinstance(spent, tc.ApproxDP)
    return float(spent.epsilon)


@pytest.fixture(scope="module")
def db() -> Database:
    return opened()


@pytest.fixture(scope="module")
def rows(db: Database) -> SyntheticRows:
    made: SyntheticRows = db.synthesize(bins=BINS, target="smokes", **COST)
    return made


def test_rows_have_the_tables_of_the_data(rows: SyntheticRows) -> None:
    """At ε = 200 noise is small, so pairs of the rows are near those of the data."""
    assert abs(len(rows) - N) < 20
    made, real = rows.to_pandas(), frame()
    known = real.assign(town=real["town"].replace("elsewhere", "(other)"))
    for first, second in (("sex", "town"), ("sex", "smokes"), ("town", "smokes")):
        tables = [pd.crosstab(each[first].fillna("?"), each[second], normalize=True) for each in (made, known)]
        assert (tables[0] - tables[1]).abs().to_numpy().sum() / 2 < 0.02
    ages = made["age"].groupby(made["sex"]).mean()
    assert ages["M"] > ages["F"] + 25


def test_values_have_the_types_of_the_source(rows: SyntheticRows) -> None:
    assert rows.table.kinds == ("integer", "text", "text", "real", "boolean", "date")
    assert set(rows["sex"]) == {"F", "M", None}
    assert set(rows["town"]) == {"A", "B", "C", "(other)", None} or set(rows["town"]) >= {"A", "B", "(other)"}
    assert set(rows["day"]) - {None} == set(DAYS)
    ages = [age for age in rows["age"] if age is not None]
    assert all(type(age) is int and 0 <= age <= 99 for age in ages)
    assert {0, 17, 18, 99} <= set(ages)
    assert all(0 <= income <= 100_000 for income in rows["income"] if income is not None)  # type: ignore[operator]
    assert 0.02 < rows["income"].count(None) / len(rows) < 0.08


def test_a_release_is_charged_once_and_samples_are_free(db: Database) -> None:
    before = spent_epsilon(db)
    rows = db.synthesize(50, bins=BINS, **COST)
    assert spent_epsilon(db) - before == 200
    spent = db.spent
    more = rows.sample(70)
    assert len(more) == 70
    assert more.rows()[:50] != rows.rows()
    assert db.spent == spent
    assert rows.receipt["question"] == "synthetic rows (fast) of data: age, sex, town, income, smokes, day"


def test_a_repeat_is_free_with_a_data_version_and_rows_are_new() -> None:
    db = opened(data_version="1")
    first = db.synthesize(40, bins=BINS, **COST)
    again = db.synthesize(60, given={"sex": "F"}, bins=BINS, **COST)
    assert again.repeated
    assert not first.repeated
    assert spent_epsilon(db) == 200
    assert set(again["sex"]) == {"F"}
    assert again.total == first.total
    assert db.synthesize(target="sex", bins=BINS, **COST).repeated is False
    named = opened()
    assert not named.synthesize(5, request="r", **COST).repeated
    assert named.synthesize(5, request="r", **COST).repeated


def test_given_values_are_in_every_row(rows: SyntheticRows) -> None:
    some = rows.sample(300, given={"sex": None, "age": 20, "town": "(other)"})
    assert set(some["sex"]) == {None}
    assert set(some["age"]) == {20}
    assert set(some["town"]) == {"(other)"}
    women = rows.sample(given={"sex": "F"})
    assert abs(len(women) - (frame()["sex"] == "F").sum()) < 120
    real = frame().query("sex == 'F'")["smokes"].mean()
    assert abs(np.mean(women["smokes"]) - real) < 0.1  # type: ignore[arg-type]  # booleans
    assert abs(frame()["smokes"].mean() - real) > 0.1


def test_no_single_row_is_drawn_for_most_given_rows(db: Database) -> None:
    for _ in range(4):
        made = db.synthesize(bins=BINS, target="smokes", **COST).sample(1_000, given={"sex": "F"})
        assert len(set(zip(made["age"], made["town"], made["day"], strict=True))) > 100


def test_constraints_hold_for_every_row(db: Database) -> None:
    rules = ["age >= 18 OR income = 0 OR income IS NULL", "sex IS NOT NULL"]
    rows = db.synthesize(400, bins={**BINS, "income": [0, 1, 30_000, 100_000]}, constraints=rules, **COST)
    assert len(rows) == 400
    assert not rows.warnings
    assert all(age >= 18 or not income for age, income in zip(rows["age"], rows["income"], strict=True))
    assert None not in rows["sex"]
    women = rows.sample(99, given={"sex": "F"})
    assert all(age >= 18 or not income for age, income in zip(women["age"], women["income"], strict=True))


def test_constraints_that_hardly_any_row_meets_give_fewer_rows_and_a_warning(db: Database) -> None:
    with pytest.warns(UserWarning, match=r"^(Only \d+ of 40 rows were|No row was) drawn, because few rows"):
        rows = db.synthesize(40, bins=BINS, constraints="income BETWEEN 50000.1 AND 50000.101", **COST)
    assert len(rows) < 40


def test_the_number_of_rows_is_estimated_or_public() -> None:
    changed = opened(neighbours="change one")
    assert len(changed.synthesize(epsilon=1)) == N
    assert changed.synthesize(7, epsilon=1).total == N
    assert "The number of rows is public: 4,000." in changed.synthesize(epsilon=1, plan=True).notes
    part = changed.synthesize(where="sex = 'F'", epsilon=100)
    assert abs(part.total - (frame()["sex"] == "F").sum()) < 50
    people = opened(unit="person", reach=1)
    assert abs(people.synthesize(epsilon=100, columns=["town"]).total - N / 2) < 20


def test_a_small_epsilon_gives_independent_columns_with_a_warning(db: Database) -> None:
    with pytest.warns(UserWarning, match="No dependence between columns exceeds the noise"):
        rows = db.synthesize(100, epsilon=1e-5)
    assert len(rows) == 100


@pytest.mark.parametrize("cost", [{"epsilon": 5}, {"epsilon": 5, "delta": 1e-6}])
def test_constant_missing_and_single_columns(cost: dict[str, Any]) -> None:
    data = pd.DataFrame({"one": ["x"] * 500, "none": pd.Series([None] * 500, dtype="string"), "cls": [True] * 500})
    keys = {"one": ["x"], "none": ["a", "b"]}
    db = tc.open(data, unit=tc.ROW, keys=keys, required=["one"], budget=tc.ApproxDP(epsilon=50, delta=1e-3))
    with pytest.warns(UserWarning, match="No dependence between columns"):
        rows = db.synthesize(200, target="cls", **cost)
    assert set(rows["one"]) == {"x"}
    assert rows["none"].count(None) > 190
    assert rows["cls"].count(True) > 190
    assert set(db.synthesize(5, columns=["one"], **cost)["one"]) == {"x"}


def test_measured_distances_contain_the_truth(db: Database) -> None:
    """The tables of the drawn probe are near those of the rows; at ε = 200 the interval is narrow."""
    rows = db.synthesize(bins=BINS, report=True, share=0.5, **COST)
    assert [each.ways for each in rows.report.measured] == [1, 2, 3]
    assert [each.tables for each in rows.report.measured] == [6, 15, 20]
    for each in rows.report.measured:
        assert each.low <= each.value <= each.high < 0.1
        assert each.high - each.low < 0.001
    assert rows.report.spent.endswith("50% for the model, 50% for measured distances; drawing rows costs nothing.")
    assert not db.synthesize(10, **COST).report.measured


def test_a_plan_spends_nothing(db: Database) -> None:
    before = db.spent
    plan = db.synthesize(plan=True, bins=BINS, **COST)
    assert db.spent == before
    assert set(plan.error) == {"a count of one column (σ)", "a count of two columns (σ)"}
    assert "6 columns with" in str(plan)
    db.check(plan)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"constraints": "age > 300"}, r"^No row of public values satisfies the constraints"),
        ({"constraints": "sex = 'X'"}, "No row of public values"),
        ({"constraints": "sex IS NULL", "given": {"sex": "F"}}, "No row of public values"),
        ({"constraints": "income > 3", "columns": ["sex"]}, "reads the column 'income'"),
        ({"constraints": "1 = 1"}, "reads no column"),
        ({"constraints": 3}, "constraints must be conditions in SQL"),
        ({"constraints": [3]}, "constraints must be conditions in SQL"),
        ({"given": {"age": 500}}, "Give a whole number from 0 to 99"),
        ({"given": {"age": 20.5}}, "Give a whole number"),
        ({"given": {"age": True}}, "Give a whole number"),
        ({"given": {"age": float("nan")}}, "Give a whole number"),
        ({"given": {"sex": "Q"}}, "Its values are 'F', 'M'"),
        ({"given": {"smokes": 1}}, "not a public value"),
        ({"given": {"person": 1}}, "have no column 'person'"),
        ({"mode": "slow"}, 'mode must be "fast" or "quality"'),
        ({"mode": "quality", "delta": None}, "no price in ε alone"),
        ({"target": "person"}, "not one of the synthetic columns"),
        ({"n": 0}, "whole number from 1"),
        ({"n": "3"}, "whole number from 1"),
        ({"n": 10**9}, "of memory for 1,000,000,000 rows"),
        ({"columns": ["person"]}, "has no public values"),
        ({"columns": ["sex", "sex"]}, "names 'sex' twice"),
        ({"columns": "sex"}, "must be a list of columns"),
        ({"columns": []}, "columns is empty"),
        ({"seconds": 5}, "no effect"),
        ({"constraints": "age >"}, "constraints must be one condition"),
        ({"share": 2, "report": True}, "strictly between 0 and 1"),
        ({"report": 1}, "report must be True or False"),
        ({"seconds": 0}, "a number of seconds above 0"),
        ({"confidence": 1}, "confidence"),
        ({"epsilon": 1e-40, "delta": None}, "does not fit into 64 bits"),
        ({"rho": 1}, "so rho cannot be used"),
        ({"bins": {"age": 60_000, "income": 60_000}}, "of memory for the counts of 15 sets of columns with"),
    ],
)
def test_everything_is_refused_before_the_charge(db: Database, change: dict[str, Any], text: str) -> None:
    before = db.spent
    with pytest.raises(tc.TacitError, match=text) as refused:
        db.synthesize(**{"bins": BINS, **COST, **change})
    assert str(refused.value).endswith("Nothing was spent.")
    assert db.spent == before


def test_a_source_that_fails_after_the_charge_gives_a_constant_text() -> None:
    changed = opened()
    engine = changed._session.engine("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(engine), "read_codes", lambda *_: (_ for _ in ()).throw(ValueError("a value of the data")))
        with pytest.raises(tc.SourceError, match="charge stands") as failed:
            changed.synthesize(**COST)
    assert "a value" not in str(failed.value)
    assert spent_epsilon(changed) == 200


def test_rows_are_written_and_shown(rows: SyntheticRows, tmp_path: Path) -> None:
    few = rows.sample(30)
    few.to_csv(tmp_path / "x.csv")
    few.to_parquet(tmp_path / "x.parquet")
    assert len(pd.read_csv(tmp_path / "x.csv")) == len(pd.read_parquet(tmp_path / "x.parquet")) == 30
    assert few.to_polars().shape == (30, 6)
    assert few.to_arrow().num_rows == 30
    assert next(iter(few)) == few.rows()[0]
    assert "30 synthetic rows of 6 columns at ε = 200, δ = 1e-06." in str(few)
    assert repr(few) == "<SyntheticRows: 30 synthetic rows of 6 columns at ε = 200, δ = 1e-06>"
    assert few._repr_html_().startswith("<table")
    assert few.plot().to_dict()["layer"][0]["mark"]["type"] == "rect"
    assert few.about()["rows"] == 30
    assert few.report.table.names == ("columns", "expected distance")


def test_a_budget_in_rho_and_the_laws() -> None:
    """Without δ, or where it has less variance, the noise is Laplace noise."""
    rho = opened(budget=tc.ZCDP(rho=10)).synthesize(20, rho=1)
    assert "Counted with Gaussian noise" in str(rho.report)
    assert rho.cost == tc.ZCDP(rho=1)
    db = opened()
    assert "Laplace" in str(db.synthesize(20, epsilon=1).report)
    assert "Laplace" in str(db.synthesize(20, epsilon=1, delta=1e-9, columns=["sex", "town"]).report)
    wide = {f"c{place}": ["a", "b"] * 50 for place in range(40)}
    keys = {name: ["a", "b"] for name in wide}
    many = tc.open(pd.DataFrame(wide), unit=tc.ROW, keys=keys, budget=tc.ApproxDP(epsilon=9, delta=1e-3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "Gaussian" in str(many.synthesize(20, epsilon=1, delta=1e-6).report)
