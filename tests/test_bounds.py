"""Private bounds and bounds of one query as users meet them: in Python, on the command line, in receipts."""

from __future__ import annotations

import json
from datetime import date, datetime
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from cli_runs import run as tacit
from policies import CLINIC
from tacit.charging import SOURCE_FAILED
from tacit.cli.bounds import read_bounds
from tacit.database import Database
from tacit.errors import BudgetError, ColumnNotFoundError, InvalidError, RefusedError, SourceError
from tacit.query.noise_law import NoiseLaw
from tacit.query.policy.limits import Limits
from tacit.query.results.private_bounds import PrivateBounds

PERSONS = 400
LARGE = 1000
"""An ε at which one unit in a bin shows."""

VISITS = pd.DataFrame(
    {
        "person": [person for person in range(PERSONS) for _ in range(person % 3 + 1)],
        "cost": [float(person % 100) + 0.5 for person in range(PERSONS) for _ in range(person % 3 + 1)],
        "age": [person % 90 for person in range(PERSONS) for _ in range(person % 3 + 1)],
        "day": [date(2026, 1 + person % 5, 15) for person in range(PERSONS) for _ in range(person % 3 + 1)],
        "time": [datetime(2026, 1 + person % 5, 15, 8) for person in range(PERSONS) for _ in range(person % 3 + 1)],  # noqa: DTZ001 - no zone
        "name": ["x" for person in range(PERSONS) for _ in range(person % 3 + 1)],
    }
)
TERMS: dict[str, Any] = {"name": "visits", "unit": "person", "budget": tc.PureDP(epsilon=10**6)}


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no noise: at any ε, noise moves a bound far with the probability that the threshold leaves."""
    monkeypatch.setattr(NoiseLaw, "draw_array", lambda _law, size, *_: np.zeros(size, dtype=np.int64))


def visits(**more: object) -> Database:
    return tc.open(pa.Table.from_pandas(VISITS), **{**TERMS, **more})


def column(values: list[Any], **more: object) -> Database:
    """A table of one person a row with these values, repeated."""
    data = pd.DataFrame({"person": range(len(values)), "x": pd.Series(values)})
    return tc.open(data, **{**TERMS, "name": "t", **more})


def mechanism(found: PrivateBounds) -> dict[str, Any]:
    """The only mechanism of a receipt."""
    receipt: Any = found.receipt
    (only,) = receipt["mechanisms"]
    return dict(only)


def test_the_bounds_unpack_and_are_ends_of_bins() -> None:
    with visits() as db:
        low, high, *beyond = db.bounds("cost", epsilon=LARGE)
        assert (low, high) == (0.5, 112.0)
        assert len(beyond) == 2
        assert db.bounds("age", epsilon=LARGE).low == 0
        assert db.bounds("age", epsilon=LARGE).high == 95
        assert tuple(db.bounds("day", epsilon=LARGE))[:2] == (date(2026, 1, 1), date(2026, 5, 31))
        last = datetime(2026, 5, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - no zone
        assert db.bounds("time", epsilon=LARGE).high == last


def test_conditions_and_expressions_are_sql() -> None:
    with visits() as db:
        assert tuple(db.bounds("cost", epsilon=LARGE, where="age < 10 AND person < 50"))[:2] == (0.5, 10.0)
        assert tuple(db.bounds("2 * age + 1000", epsilon=LARGE))[:2] == (896.0, 1280.0)
        assert db.bounds("2 * age", epsilon=LARGE).suggest is None
        assert tuple(db.bounds("CAST(time AS DATE)", epsilon=LARGE, table="visits"))[1] == date(2026, 5, 31)


def test_the_bounds_of_the_policy_clip_nothing() -> None:
    with visits(bounds={"cost": (0, 1)}, max_groups=1, max_rows=1) as db:
        assert db.bounds("cost", epsilon=LARGE).high == 112


def test_values_beyond_are_counted_with_an_interval() -> None:
    rows = [5.0] * 3000 + [1000.0 * 1.3**place for place in range(50)]
    with column(rows) as db:
        found = db.bounds("x", epsilon=1)
    assert (found.low, found.high) == (5.0, 6.0)
    assert found.above is not None
    assert found.above.estimate == 50
    assert found.above.low <= 50 <= found.above.high < 400
    assert "All values that show are in one bin, so they may be equal." in str(found)
    assert "Values above 6: about 50 " in str(found)
    assert " units (95% interval " in str(found)


@pytest.mark.parametrize(
    ("values", "low", "high", "says"),
    [
        ([None] * 300, None, None, "ε was too small to find bounds"),
        ([nan] * 300, None, None, "or the column is NULL or NaN"),
        ([], None, None, "no bounds found"),
        ([7.0] * 300, 7.0, 8.0, "may be equal"),
        ([0.0, -0.0] * 150, 0.0, 2.0**-64, "may be equal"),
        ([inf, -inf] * 150, -1.7976931348623157e308, 1.7976931348623157e308, "perhaps infinite ones"),
        ([inf] * 300 + [nan] * 9, 2.0**512, 1.7976931348623157e308, "none, because the type has no such values"),
    ],
)
def test_unusual_columns_work_and_say_what_happened(
    values: list[Any], low: float | None, high: float | None, says: str
) -> None:
    with column([None if value is None else float(value) for value in values], types={"x": "real"}) as db:
        found = db.bounds("x", epsilon=100)
        assert (found.low, found.high) == (low, high)
        assert says in str(found)
        assert says.split(maxsplit=1)[0] in found._repr_html_()
        assert json.dumps(found.to_dict())
        assert db.spent == tc.PureDP(epsilon=100)


def test_equal_whole_numbers_have_a_policy_with_two_numbers() -> None:
    with column([3] * 300) as db:
        found = db.bounds("x", epsilon=100)
    assert (found.low, found.high, found.suggest) == (3, 3, "x = { bounds = [3, 4] }")


def test_the_answer_shows_the_line_of_the_policy_and_warns() -> None:
    with visits() as db:
        found = db.bounds("cost", epsilon=LARGE)
        assert found.suggest == "cost = { bounds = [0.5, 112] }"
        assert db.bounds("time", epsilon=LARGE).suggest == "time = { bounds = [2026-01-01, 2026-05-31] }"
    assert "write cost = { bounds = [0.5, 112] }" in str(found)
    assert "Everybody who sees the policy then knows the bounds." in str(found)
    assert repr(found) == "<PrivateBounds: cost: 0.5 … 112; cost ε = 1000>"


def test_a_person_counts_once_however_many_rows_there_are() -> None:
    data = pd.DataFrame({"person": [0] * 5000 + list(range(1, 301)), "x": [900.0] * 5000 + [3.0] * 300})
    with tc.open(data, **{**TERMS, "name": "t"}) as db:
        found = db.bounds("x", epsilon=1)
        assert (found.low, found.high) == (3.0, 3.5)
    with tc.open(data, **{**TERMS, "name": "t", "unit": tc.ROW}) as db:
        found = db.bounds("x", epsilon=1)
        assert (found.low, found.high) == (3.0, 1024.0)
        assert "units' worth" not in str(found)
        assert found.to_dict()["counted"] == "rows"


def test_the_charge_the_ledger_and_the_receipt_are_those_of_a_query() -> None:
    with visits(budget=tc.PureDP(epsilon=1)) as db:
        found = db.bounds("cost", epsilon=0.25)
        (entry,) = db.ledger.entries()
        assert entry.question == 'SELECT BOUNDS("cost") AS "cost" FROM "visits"'
        assert db.spent == found.cost == tc.PureDP(epsilon=0.25)
        assert mechanism(found)["for"] == ["bounds(cost)"]
        assert (mechanism(found)["sensitivity_l1"], mechanism(found)["scale"]) == (2**20, str(2**22))
        with pytest.raises(BudgetError, match="Nothing was spent"):
            db.bounds("cost", epsilon=1)
        assert len(db.ledger.entries()) == 1


def test_a_changed_unit_doubles_the_noise() -> None:
    with visits(neighbours="change one") as db:
        assert mechanism(db.bounds("cost", epsilon=1))["sensitivity_l1"] == 2**21


def test_zcdp_uses_gaussian_noise() -> None:
    with visits(budget=tc.ZCDP(rho=10**6)) as db:
        found = db.bounds("cost", rho=LARGE)
        assert (found.low, found.high, found.cost) == (0.5, 112.0, tc.ZCDP(rho=LARGE))
        only = mechanism(found)
        assert (only["law"], only["sensitivity_l2_squared"]) == ("discrete gaussian", 2**40)
        assert "ρ was too small" in str(db.bounds("cost", rho=1e-6))


def test_a_repeated_query_is_free_with_a_version_of_the_data() -> None:
    with visits(data_version="1") as db:
        first, again = (db.bounds("cost", epsilon=1) for _ in range(2))
        assert (first.repeated, again.repeated) == (False, True)
        assert tuple(first) == tuple(again)
        assert db.bounds("cost", epsilon=1, confidence=0.5).above.high <= first.above.high  # type: ignore[union-attr]
        assert not db.bounds("age", epsilon=1).repeated
        assert not db.bounds("cost", epsilon=1, where="age > 3").repeated
        assert db.spent == tc.PureDP(epsilon=3)


def test_a_failure_after_the_charge_has_a_constant_text(monkeypatch: pytest.MonkeyPatch) -> None:
    with visits() as db:
        engine = db._tables["visits"][1]

        def fail(*_: object) -> None:
            raise ValueError("person 7")

        monkeypatch.setattr(engine, "measure", fail)
        with pytest.raises(SourceError) as caught:
            db.bounds("cost", epsilon=1)
        assert SOURCE_FAILED in str(caught.value)
        assert "7" not in str(caught.value)
        assert db.spent == tc.PureDP(epsilon=1)


def test_the_plan_says_how_many_units_a_bin_needs() -> None:
    with visits() as db:
        plan = db.plan_bounds("cost", epsilon=0.1)
        assert "a bin is found with 95% confidence if it holds all values of at least 132 units" in str(plan)
        assert "All values of a unit (column 'person') weigh 1 together, whatever their number." in str(plan)
        assert repr(plan) == "<Quote: costs ε = 0.1>"
        assert "at least 13,157,730,522 units" in str(db.plan_bounds("cost", epsilon=1e-9))
        assert not db.ledger.entries()
        with pytest.raises(InvalidError):
            tc.declare([plan])
    with visits(unit=tc.ROW) as db:
        assert "rows, and smaller bins may be missed" in str(db.plan_bounds("cost", epsilon=1))


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("person", RefusedError, "unit column"),
        ("person + 1", RefusedError, "unit column"),
        ("name", RefusedError, "Bounds are for numbers, dates and timestamps, not text"),
        ("cost > 1", RefusedError, "not boolean"),
        ("cots", ColumnNotFoundError, "Did you mean 'cost'"),
        ("sum(cost)", RefusedError, "aggregate"),
        ("", InvalidError, "column must be"),
        (" + ".join(["cost"] * 60), RefusedError, "the limit for bounds is 50"),
    ],
)
def test_other_values_are_refused_before_the_charge(name: str, error: type[Exception], says: str) -> None:
    with visits() as db:
        with pytest.raises(error, match=says) as caught:
            db.bounds(name, epsilon=1)
        assert str(caught.value).endswith("Nothing was spent.")
        assert not db.ledger.entries()


@pytest.mark.parametrize("cost", [{}, {"epsilon": 0}, {"epsilon": nan}, {"rho": 1}, {"epsilon": 1, "confidence": 1}])
def test_a_wrong_cost_is_refused(cost: dict[str, Any]) -> None:
    with visits() as db, pytest.raises(InvalidError, match="Nothing was spent"):
        db.bounds("cost", **cost)


@pytest.mark.parametrize(
    ("terms", "line"),
    [
        (
            {},
            (
                "To use these bounds in every query, add bounds = [1, 4] to the line of x under [tables.t.columns] of "
                "the policy; if it has no such line, write x = { bounds = [1, 4] }"
            ),
        ),
        (
            {"bounds": {"x": (0, 0.5)}},
            (
                "To use these bounds in every query, change bounds = [0, 0.5] to bounds = [1, 4] in the line of x "
                "under [tables.t.columns] of the policy."
            ),
        ),
        ({"bounds": {"x": (1, 4)}}, "The policy has these bounds already."),
    ],
)
def test_the_line_of_the_policy_to_change_is_named(terms: dict[str, Any], line: str) -> None:
    rows = pd.DataFrame({"u": range(400), "x": [1, 2, 3, 4] * 100})
    with tc.open(rows, name="t", unit="u", budget=tc.PureDP(epsilon=10**6), **terms) as db:
        found = db.bounds("x", epsilon=LARGE)
        assert (found.policy_line, found.to_dict()["policy"]) == (line, line)
        assert line in str(found)
        assert db.bounds("x + 1", epsilon=LARGE).policy_line is None


def test_the_days_of_the_policy_are_named() -> None:
    rows = pd.DataFrame({"u": range(400), "day": [date(2026, 1, 5)] * 400})
    days = {"day": (date(2025, 1, 1), date(2025, 2, 1))}
    with tc.open(rows, name="t", unit="u", bounds=days, budget=tc.PureDP(epsilon=10**6)) as db:
        line = str(db.bounds("day", epsilon=LARGE).policy_line)
        assert "change bounds = [2025-01-01, 2025-02-01] to bounds = [2026-01-01, 2026-01-31] in the line" in line


# --- bounds of one query ----------------------------------------------------------------------------------------------

TOTAL = "SELECT sum(cost) AS s FROM visits"


def test_a_query_replaces_the_bounds_of_the_policy() -> None:
    truth = VISITS["cost"].clip(0, 50).sum()
    with visits(bounds={"cost": (0, 10)}, reach=3) as db:
        assert db.sql(TOTAL, epsilon=LARGE, bounds={"cost": (0, 50)}).rows()[0][0] == pytest.approx(truth, abs=5)
        assert db.sum("cost", epsilon=LARGE, bounds={"cost": (0, 50)}).rows()[0][0] == pytest.approx(truth, abs=5)
        clipped = VISITS["cost"].clip(0, 10).sum()
        assert db.sql(TOTAL, epsilon=LARGE).rows()[0][0] == pytest.approx(clipped, abs=5)
        narrow, wide = (db.plan(TOTAL, epsilon=1, bounds={"cost": (0, high)}).error["s"] for high in (1, 100))
        assert wide == pytest.approx(100 * narrow, rel=0.01)


def test_a_query_can_have_bounds_where_the_policy_has_none() -> None:
    with visits(reach=3) as db:
        with pytest.raises(RefusedError, match="sum needs bounds"):
            db.plan(TOTAL, epsilon=1)
        assert db.plan(TOTAL, epsilon=1, bounds={"cost": (0, 100)}).error["s"] > 0
        months = db.sql(
            "SELECT date_trunc('month', day) AS m, count(*) AS n FROM visits GROUP BY 1",
            epsilon=LARGE,
            bounds={"day": (date(2026, 1, 1), date(2026, 3, 31))},
        )
        assert [m for m, _ in months.rows()] == [date(2026, month, 1) for month in (1, 2, 3)]
        assert len(db.histogram("cost", 4, epsilon=LARGE, bounds={"cost": (0, 100)}).rows()) == 4
    with visits(unit=tc.ROW) as db:
        assert db.plan(TOTAL, epsilon=1, bounds={"cost": (0, np.float64(0.5))}).error["s"] < 3


def test_the_bounds_are_in_the_receipt_and_in_the_digest() -> None:
    with visits(bounds={"cost": (0, 10)}, reach=3, data_version="1") as db:
        first = db.sql(TOTAL, epsilon=1, bounds={"cost": (0, Fraction(1, 2))})
        assert first.receipt["bounds_of_this_query"] == {"cost": ["0", "1/2"]}
        assert "bounds_of_this_query" not in db.sql(TOTAL, epsilon=1).receipt
        assert db.sql(TOTAL, epsilon=1, bounds={"cost": (0, 0.5)}).repeated
        assert not db.sql(TOTAL, epsilon=1, bounds={"cost": (0, 5)}).repeated
        assert db.spent == tc.PureDP(epsilon=3)


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"cots": (0, 1)}, "Unknown column 'cots'. Did you mean 'cost'?"),
        ({"name": (0, 1)}, r"bounds\['name'\] are for numbers and dates, but the column is of kind text"),
        ({"cost": (1, 0)}, r"bounds\['cost'\] must be two finite numbers, the lower one first"),
        ({"cost": (1, 1)}, "and not equal"),
        ({"cost": (0, nan)}, "two finite numbers"),
        ({"cost": (0, inf)}, "two finite numbers"),
        ({"cost": (0, 1, 2)}, "two finite numbers"),
        ({"cost": "0:1"}, "two finite numbers"),
        ({"cost": None}, "two finite numbers"),
        ({"cost": (date(2026, 1, 1), date(2026, 1, 2))}, "not dates"),
        ({"day": (0, 1)}, "two dates, the earlier one first"),
        ({"day": (date(2026, 1, 2), date(2026, 1, 1))}, "two dates"),
        ({3: (0, 1)}, "bounds must be a mapping from columns"),
        ([("cost", (0, 1))], "bounds must be a mapping from columns"),
        ("auto", "bounds must be a mapping from columns"),
    ],
)
def test_wrong_bounds_are_refused_before_the_charge(bounds: Any, says: str) -> None:  # noqa: ANN401 - wrong on purpose
    with visits(reach=3) as db:
        with pytest.raises(InvalidError, match=says) as caught:
            db.sql(TOTAL, epsilon=1, bounds=bounds)
        assert (caught.value.argument or "").startswith("bounds")
        assert str(caught.value).endswith("Nothing was spent.")
        assert not db.ledger.entries()


def test_a_hidden_column_has_no_bounds() -> None:
    with visits(reach=3, hidden=["cost"]) as db, pytest.raises(ColumnNotFoundError, match="Unknown column 'cost'"):
        db.sql("SELECT count(*) AS n FROM visits", epsilon=1, bounds={"cost": (0, 1)})


def test_auto_is_kept_for_the_function_that_chooses() -> None:
    limits = Limits(bounds={"cost": "auto", "age": (0, 1)})
    assert limits.column_bounds["cost"] == "auto"
    assert limits.record() == {"age": ["0", "1"]}


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    data = pd.DataFrame({"patient_id": range(600), "cost": [float(n % 300) for n in range(600)], "ward": ["A"] * 600})
    data.assign(name="x").to_parquet(tmp_path / "visits.parquet")
    (tmp_path / "clinic.toml").write_text(CLINIC.replace("epsilon = 3.0", "epsilon = 3e5"), encoding="utf-8")
    return tmp_path


def test_tacit_bounds_prints_the_bounds_and_the_policy(clinic: Path) -> None:
    done = tacit(clinic, "bounds", "clinic.toml", "cost", "--epsilon", "1000", "--where", "cost >= 16", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("cost: 16 … 320\n")
    assert "to bounds = [16, 320] in the line of cost under [tables.visits.columns] of the policy." in done.stdout
    assert "Spent ε = 1000" in done.stderr


def test_tacit_bounds_prints_json(clinic: Path) -> None:
    done = tacit(clinic, "bounds", "clinic.toml", "cost", "--epsilon", "1000", "--table", "visits", "--json")
    found = json.loads(done.stdout)
    assert (found["low"], found["high"], found["counted"], found["repeated"]) == (0.0, 320.0, "units", False)
    assert found["above"]["low"] == 0
    assert found["receipt"]["privacy"]["reach"] == 1
    refused = tacit(clinic, "bounds", "clinic.toml", "ward", "--epsilon", "1", "--json")
    assert refused.returncode == 3
    assert "not text" in refused.stderr


def test_bounds_of_a_query_on_the_command_line(clinic: Path) -> None:
    sql = "SELECT sum(cost) AS s FROM visits"
    done = tacit(clinic, "plan", "clinic.toml", sql, "--epsilon", "1", "--bounds", "cost=0:100", "--json")
    assert json.loads(done.stdout)["bounds"] == {"cost": ["0", "100"]}
    done = tacit(clinic, "query", "clinic.toml", sql, "--epsilon", "9000", "--bounds", "cost=0:1", "--json", "--yes")
    (row,) = json.loads(done.stdout)["rows"]
    assert row["s"] == pytest.approx(598, abs=1)
    done = tacit(clinic, "query", "clinic.toml", sql, "--epsilon", "1", "--bounds", "cost=0", "--yes")
    assert done.returncode == 2
    assert "--bounds must be COLUMN=LOW:HIGH" in done.stderr


def test_the_option_reads_numbers_dates_and_auto() -> None:
    assert read_bounds(["a=b=-1:2.5", "day=2026-01-01:2026-12-31", "age=auto"]) == {
        "a=b": (-1, 2.5),
        "day": (date(2026, 1, 1), date(2026, 12, 31)),
        "age": "auto",
    }
    for wrong in (["cost"], ["=0:1"], ["cost=0"], ["cost=a:b"], ["cost=0:1", "cost=0:2"], ["cost="]):
        with pytest.raises(InvalidError, match="--bounds"):
            read_bounds(wrong)


_SPECS = st.sampled_from(["auto", "minutes", "seconds", "microseconds"])
_ENDS = st.one_of(st.dates(), st.datetimes(), st.datetimes(timezones=st.timezones()))


@given(low=_ENDS, high=_ENDS, spec=_SPECS)
def test_the_option_reads_any_two_dates_and_times_as_python_does(low: date, high: date, spec: str) -> None:
    texts = [end.isoformat(timespec=spec) if isinstance(end, datetime) else end.isoformat() for end in (low, high)]
    want = [datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text) for text in texts]
    assert read_bounds([f"at={':'.join(texts)}"]) == {"at": tuple(want)}


def test_bounds_of_a_moment_on_the_command_line(clinic: Path) -> None:
    sql = "SELECT max(at) AS m FROM visits"
    at = [datetime(2026, 1, 1, n % 24) for n in range(600)]  # noqa: DTZ001 - no zone
    data = pd.DataFrame({"patient_id": range(600), "cost": [1.0] * 600, "ward": ["A"] * 600, "name": "x", "at": at})
    data.to_parquet(clinic / "visits.parquet")
    for low in ("2026-01-01T08:00", "2026-01-01"):
        options = ("--epsilon", "9000", "--bounds", f"at={low}:2026-01-01T09:30", "--json", "--yes")
        done = tacit(clinic, "query", "clinic.toml", sql, *options)
        (row,) = json.loads(done.stdout)["rows"]
        assert "2026-01-01T09:29:50" < row["m"].replace(" ", "T") <= "2026-01-01T09:30:00"
    done = tacit(clinic, "query", "clinic.toml", sql, "--epsilon", "1", "--bounds", "at=8:00:9:30")
    assert done.returncode == 2
    assert "at=2026-01-01T08:00:2026-01-31T18:30" in done.stderr


def test_the_result_is_a_class_of_its_own() -> None:
    with visits() as db:
        assert isinstance(db.bounds("cost", epsilon=1), PrivateBounds)
