"""`db.marginals`: tables that agree, their intervals and sums, refusals before the charge, and free repeats."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.errors import BudgetError, ColumnNotFoundError, InvalidError, RefusedError, TacitError, UnusedOptionError
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.formatting import amounts
from tacit.query.results.table import Table
from tacit.synthetic.marginals import Marginals

TOWNS = ["A", "B", "C"]
BINS = {"age": [0, 18, 65, 120]}
HUGE: dict[str, Any] = {"epsilon": 10**7}
FRAME = pd.DataFrame(
    {
        "age": [n % 100 for n in range(600)],
        "sex": ["F" if n % 3 else "M" for n in range(600)],
        "town": [TOWNS[n % 4] if n % 4 < 3 else ("x" if n % 8 == 3 else None) for n in range(600)],
        "urban": [n % 5 == 0 for n in range(600)],
        "land": ["CH"] * 600,
        "person": [n // 2 for n in range(600)],
    }
)


def opened(budget: object = None, **more: object) -> Database:
    options: dict[str, Any] = {
        "unit": tc.ROW,
        "keys": {"sex": ["F", "M"], "town": TOWNS, "land": ["CH"]},
        "required": ["sex", "land", "urban"],
        "bounds": {"age": (0, 120)},
        "budget": budget or ApproxDP(epsilon=10**9, delta=0.01),
    }
    return tc.open(FRAME, name="people", **{**options, **more})


@pytest.fixture
def db() -> Iterator[Database]:
    with opened() as database:
        yield database


def counted(*names: str) -> dict[tuple[object, ...], int]:
    """Return the counts of a marginal from the frame; unlisted towns are "(other)"."""
    shown = FRAME.assign(
        age=pd.cut(FRAME["age"], [0, 18, 65, 121], right=False, labels=["[0, 18)", "[18, 65)", "[65, 120]"]).astype(
            str
        ),
        town=[None if pd.isna(town) else town if town in TOWNS else "(other)" for town in FRAME["town"]],
    )
    found: dict[tuple[object, ...], int] = {}
    for row in shown[list(names)].itertuples(index=False, name=None):
        key = tuple(None if isinstance(value, float) else value for value in row)
        found[key] = found.get(key, 0) + 1
    return found


def numbers(table: Table) -> list[tuple[float, float]]:
    """Return the ends of the intervals of a table."""
    return [(float(row[-2]), float(row[-1])) for row in table.rows()]  # type: ignore[arg-type]  # numbers


def assert_exact(m: Marginals, *names: str) -> None:
    counts = {row[:-3]: row[-3] for row in m[names].rows()}
    expected = counted(*names)
    for key, count in counts.items():
        assert count == pytest.approx(expected.get(key, 0), abs=0.01)
    assert set(expected) <= set(counts)


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_without_noise_every_marginal_has_the_exact_counts(db: Database, ways: int) -> None:
    m = db.marginals(ways=ways, columns=["age", "sex", "town", "urban", "land"], bins=BINS, **HUGE)
    assert len(m) == sum(1 for size in range(1, ways + 1) for _ in combinations(range(5), size))
    for names in m:
        assert_exact(m, *names)
        assert_exact(m, *reversed(names))


def test_where_reach_and_several_rows_of_a_unit() -> None:
    with opened(unit="person", reach=1) as db:
        m = db.marginals([("sex", "urban")], **HUGE)
        assert float(m["sex", "urban"].total()) == pytest.approx(300, abs=0.01)  # two rows of each person weigh half
        m = db.marginals([("sex", "urban")], where="age < 18", reach=2, **HUGE)
        assert float(m["sex"].total(sex="F")) == pytest.approx(counted("age", "sex")["[0, 18)", "F"], abs=0.01)


@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
@pytest.mark.parametrize(
    ("budget", "cost", "law"),
    [
        (PureDP(epsilon=5), {"epsilon": 1}, "laplace"),
        (ZCDP(rho=5), {"rho": 0.5}, "gaussian"),
        (ApproxDP(epsilon=5, delta=1e-6), {"epsilon": 1, "delta": 1e-9}, "laplace"),
    ],
)
def test_each_currency_has_its_noise_and_is_charged_what_the_plan_says(
    budget: object, cost: dict[str, Any], law: str, neighbours: str
) -> None:
    """One pair costs less as Laplace noise under (ε, δ) too; then no δ is spent."""
    with opened(budget, neighbours=neighbours) as db:
        plan = db.marginals([("sex", "town")], plan=True, **cost)
        assert plan.memory > 0
        m = db.marginals([("sex", "town")], **cost)
        assert m.cost == plan.cost
        assert dict(plan.error) == m.error
        assert m.receipt["noise"]["law"] == law
        assert amounts(db.spent) == {**amounts(m.cost), **({"delta": 0} if isinstance(budget, ApproxDP) else {})}


def test_many_marginals_have_gaussian_noise_under_epsilon_and_delta(db: Database) -> None:
    m = db.marginals(ways=3, bins={"age": 40}, epsilon=1, delta=1e-3)
    assert m.receipt["noise"]["law"] == "gaussian"  # type: ignore[index]
    assert m.cost == ApproxDP(epsilon=1, delta=1e-3)


def test_marginals_agree_and_a_sum_of_cells_is_the_sum(db: Database) -> None:
    m = db.marginals([("age", "sex"), ("sex", "town")], bins=BINS, epsilon=0.5)
    by_sex = m["sex"].counts
    np.testing.assert_allclose(m["age", "sex"].counts.sum(axis=0), by_sex, atol=1e-6)
    np.testing.assert_allclose(m["town", "sex"].counts.sum(axis=0), by_sex, atol=1e-6)
    table = m["age", "sex"]
    total = table.total(age=["[0, 18)", (18, 65)], sex="F")
    assert float(total) == pytest.approx(float(table.counts[:2, 0].sum()))
    assert total.interval[0] <= float(total) <= total.interval[1] or float(total) < 0
    assert table.total({"sex": ["F", "M"]}).variance == pytest.approx(table.total().variance)
    assert table.total(sex="F").variance == pytest.approx(m["sex"].variance)
    assert table.total(sex="F", confidence=0.5).interval[1] < table.total(sex="F").interval[1]
    town = m["town"]
    assert float(town.total(town=[None, "(other)"])) == pytest.approx(float(town.counts[3:].sum()))


def test_a_table_converts_as_other_answers_do(db: Database) -> None:
    table = db.marginals([("urban", "town")], epsilon=1)["urban", "town"]
    assert table.table.names == ("urban", "town", "count", "low", "high")
    assert table.table.kinds == ("boolean", "text", "real", "real", "real")
    assert len(table) == 10
    for frame in (table.to_pandas(), table.to_polars(), table.to_arrow()):
        assert frame.shape == (10, 5)
    assert table.to_dict()["low"] == table["low"]
    assert str(table.to_csv()).splitlines()[0] == "urban,town,count,low,high"
    assert all(0 <= low <= high for low, high in numbers(table.table))
    narrow, wide = (table.intervals(confidence=level) for level in (0.5, 0.99))
    assert all(a[1] <= b[1] for a, b in zip(numbers(narrow), numbers(wide), strict=True))
    for text in (str(table), table._repr_html_()):
        assert "(other)" in text
        assert "95% interval of count" in text
    assert "10 cells" in repr(table)


def test_all_marginals_are_one_table_and_one_json(db: Database) -> None:
    m = db.marginals([("urban", "town"), "sex"], epsilon=1)
    frame = m.to_pandas()
    assert list(frame.columns) == ["urban", "town", "sex", "count", "low", "high"]
    assert frame[frame["sex"] != "*"]["count"].tolist() == m["sex"]["count"]
    assert json.loads(json.dumps(m.to_dict()))["marginals"][1]["columns"] == ["sex"]
    for text in (str(m), m._repr_html_()):
        assert "urban, town: each count ±" in text
    assert repr(m) == "<Marginals: 2; cost ε = 1>"
    assert list(m) == [("urban", "town"), ("sex",)]


def test_the_fit_has_no_negative_counts_agrees_and_says_that_it_is_biased(db: Database) -> None:
    m = db.marginals(ways=2, bins=BINS, epsilon=0.1)
    fit = m.nonnegative()
    for names in m:
        table = fit[names]
        assert fit.counts(names).min() >= 0
        assert "biased" in str(table)
        assert fit.counts(names).sum() == pytest.approx(max(0.0, float(m["sex"].total())), abs=1e-3)
    np.testing.assert_allclose(fit.counts(("age", "sex")).sum(axis=0), fit.counts("sex"), atol=1e-3)
    np.testing.assert_allclose(fit.counts(("sex", "age")).sum(axis=1), fit.counts("sex"), atol=1e-3)
    assert m.nonnegative() is fit
    assert "biased" in repr(fit)


def test_weights_move_the_error(db: Database) -> None:
    sets: list[Any] = [("age", "sex"), ("sex", "town")]
    even = db.marginals(sets, bins=BINS, epsilon=1, plan=True).error
    for weights in ({("town", "sex"): 100}, [1, 100]):
        moved = db.marginals(sets, bins=BINS, epsilon=1, weights=weights, plan=True).error
        assert moved["sex, town"] < even["sex, town"]
        assert moved["age, sex"] > even["age, sex"]


def test_repeats_are_free_with_a_name_or_a_version_of_the_data() -> None:
    with opened() as db:
        first = db.marginals(ways=2, bins=BINS, epsilon=1, request="one")
        spent = db.spent
        again = db.marginals(ways=2, bins=BINS, epsilon=1, request="one")
        assert again.repeated
        assert not first.repeated
        assert db.spent == spent
        assert again["age", "sex"].rows() == first["age", "sex"].rows()
        other = db.marginals(ways=2, bins=BINS, epsilon=1)
        assert not other.repeated
    with opened(data_version="1") as db:
        first = db.marginals(["sex"], epsilon=1)
        assert db.marginals(["sex"], epsilon=1).repeated
        assert not db.marginals(["sex"], epsilon=2).repeated
        assert not db.marginals(["sex"], epsilon=1, where="urban").repeated


def ask_with_both(db: Any) -> object:  # noqa: ANN401 - calls what the types forbid
    return db.marginals(["sex"], epsilon=1, plan=True, request="x")


REFUSED: dict[str, tuple[type[TacitError], str, Callable[[Database], object]]] = {
    "nothing": (InvalidError, "either a list of marginals or ways", lambda db: db.marginals(epsilon=1)),
    "both": (InvalidError, "either a list", lambda db: db.marginals(["sex"], ways=2, epsilon=1)),
    "columns": (UnusedOptionError, "columns", lambda db: db.marginals(["sex"], columns=["sex"], epsilon=1)),
    "no values": (InvalidError, "has no public values", lambda db: db.marginals(["age"], epsilon=1)),
    "unknown": (ColumnNotFoundError, "Unknown column 'sax'", lambda db: db.marginals(["sax"], epsilon=1)),
    "bins": (ColumnNotFoundError, "age", lambda db: db.marginals(["sex"], bins=BINS, epsilon=1)),
    "twice": (InvalidError, "names a column twice", lambda db: db.marginals([("sex", "sex")], epsilon=1)),
    "listed twice": (
        InvalidError,
        "listed twice",
        lambda db: db.marginals([("sex", "town"), ("town", "sex")], epsilon=1),
    ),
    "empty": (InvalidError, "a list of marginals", lambda db: db.marginals([], epsilon=1)),
    "no column": (InvalidError, "a list of marginals", lambda db: db.marginals([()], epsilon=1)),
    "no ways": (InvalidError, "ways must be", lambda db: db.marginals(ways=0, epsilon=1)),
    "many ways": (InvalidError, "ways must be", lambda db: db.marginals(ways=9, epsilon=1)),
    "no cost": (TacitError, "", lambda db: db.marginals(ways=1)),
    "zero": (TacitError, "epsilon", lambda db: db.marginals(ways=1, epsilon=0)),
    "tiny": (RefusedError, "larger than tacit can draw", lambda db: db.marginals(ways=1, epsilon=1e-30)),
    "currency": (TacitError, "", lambda db: db.marginals(ways=1, rho=1)),
    "confidence": (InvalidError, "confidence", lambda db: db.marginals(ways=1, epsilon=1, confidence=2)),
    "weights": (InvalidError, "weights must be", lambda db: db.marginals(["sex"], weights=[1, 2], epsilon=1)),
    "weight": (InvalidError, "weights must be", lambda db: db.marginals(["sex"], weights=[-1], epsilon=1)),
    "other weight": (
        InvalidError,
        "not asked for",
        lambda db: db.marginals(["sex", "land"], weights={("sex", "land"): 1}, epsilon=1),
    ),
    "two weights": (
        InvalidError,
        "has two weights",
        lambda db: db.marginals([("sex", "town")], weights={("sex", "town"): 1, ("town", "sex"): 2}, epsilon=1),
    ),
    "where": (TacitError, "", lambda db: db.marginals(["sex"], where="nope = 1", epsilon=1)),
    "request": (UnusedOptionError, "request", ask_with_both),
    "budget": (BudgetError, "", lambda db: db.marginals(["sex"], epsilon=10**10)),
    "memory": (
        RefusedError,
        "390,012 cells",
        lambda db: db.marginals([("age", "town")], bins={"age": 65_000}, epsilon=1),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_released_is_refused_before_the_charge(case: str) -> None:
    kind, text, ask = REFUSED[case]
    more = {"memory": "100MB"} if case == "memory" else {}
    with opened(**more) as db:
        with pytest.raises(kind) as caught:
            ask(db)
        assert text in str(caught.value)
        assert "Nothing was spent." in str(caught.value)
        assert db.spent == ApproxDP(epsilon=0, delta=0)


def test_a_table_of_too_many_cells_is_refused_with_its_size() -> None:
    with opened(memory="100MB") as db, pytest.raises(RefusedError, match="3,510,108 cells") as caught:
        db.marginals([("age", "town", "sex", "urban")], bins={"age": 65_000}, epsilon=1)
    assert "larger limit with memory=" in str(caught.value)


def test_marginals_that_were_not_asked_for_and_values_that_are_not_public(db: Database) -> None:
    m = db.marginals([("age", "sex")], bins=BINS, epsilon=1)
    with pytest.raises(ColumnNotFoundError):
        m["town"]
    m = db.marginals([("age", "sex"), "town"], bins=BINS, epsilon=1)
    with pytest.raises(InvalidError, match="no marginal of sex, town"):
        m["sex", "town"]
    with pytest.raises(InvalidError, match="not a public value"):
        m["town"].total(town="Z")
    with pytest.raises(ColumnNotFoundError):
        m["town"].total(sex="F")
    with pytest.raises(InvalidError, match="named twice"):
        m["town"].total(town=["A", "A"])
    with pytest.raises(InvalidError, match="at least one"):
        m["town"].total(town=[])


def test_an_empty_table_and_a_column_of_one_value() -> None:
    with opened() as db:
        m = db.marginals([("land", "sex")], where="age > 1000", epsilon=5)
        assert m["land", "sex"].counts.shape == (1, 2)
        assert abs(float(m["land"].total())) < 50
        assert m.nonnegative().counts(("land", "sex")).min() >= 0


def test_intervals_of_released_cells_cover_their_counts() -> None:
    """300 releases: the number of covering intervals has a standard deviation of 3.8, and 261 is 6.3 of them below 285.

    Intervals of half the length would cover 67 %, 201 releases. `tests/synthetic/test_marginal_noise.py` has the rate.
    """
    true = counted("sex", "urban")["F", False]
    with opened(ZCDP(rho=10**6)) as db:
        rows = [db.marginals([("sex", "urban")], rho=0.05)["sex", "urban"].dicts()[0] for _ in range(300)]
    assert sum(float(row["low"]) <= true <= float(row["high"]) for row in rows) > 261  # type: ignore[arg-type]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("names", "mark"), [(("town",), "bar"), (("age", "town"), "rect"), (("age", "town", "sex"), "bar")]
)
def test_charts_show_the_released_counts_and_their_error(
    db: Database, theme: str, names: tuple[str, ...], mark: str
) -> None:
    m = db.marginals([("age", "town", "sex")], bins=BINS, epsilon=1)
    spec = m.plot(*names, theme=theme).to_dict()
    assert spec["layer"][0]["mark"]["type"] == mark
    assert any("within" in line for line in spec["title"]["subtitle"])
    drawn = [row["value"] for rows in spec["datasets"].values() for row in rows if "low" in row]
    assert drawn[: m[names].counts.size] == m[names].counts.ravel().tolist()


def test_the_noise_covers_the_reach_and_the_relation() -> None:
    """The expected scale by hand: one pair has all of ε, so its scale is the reach over ε, twice under "change one"."""
    for neighbours, moved in (("add/remove", 1), ("change one", 2)):
        with opened(unit="person", reach=3, neighbours=neighbours) as db:
            m = db.marginals([("sex", "urban")], epsilon=0.5)
            noise = m.receipt["noise"]
            assert isinstance(noise, dict)
            scales = [float(Fraction(scale)) for scale in noise["scale_of_count"].values()]
            assert sum(moved * 3 * 2**16 / scale for scale in scales) == pytest.approx(0.5)
            assert noise["steps_of_one_row"] == 2**16
        with opened(ZCDP(rho=9), unit="person", reach=3, neighbours=neighbours) as db:
            m = db.marginals(["sex"], rho=0.5)
            noise = m.receipt["noise"]
            assert isinstance(noise, dict)
            total, sex = (float(noise["variance_of_residual"][name]) for name in ("", "sex"))
            one = (3 * 2**16) ** 2
            added = one / (2 * total) + 2 * one / (2 * sex)  # K e_a has the squared norm 2(2 - 1)
            changed = 8 * one / (2 * sex)
            cost = added if neighbours == "add/remove" else max(added, changed)
            assert cost == pytest.approx(0.5, rel=1e-6)
