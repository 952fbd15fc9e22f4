"""The charts of answers: the form that fits, the numbers in it, and its words."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit import plots
from tacit.database import Database
from tacit.errors import InvalidError, TacitError
from tacit.plots.answers import Caption
from tacit.plots.marks import NoisyColumn
from tacit.query.results.release import Release

CAPTION = Caption(title="SELECT 1", cost="ε = 1", confidence=0.95)
MONTHS = [f"2026-{month:02d}" for month in range(1, 13)]


@pytest.fixture(scope="module")
def db() -> Database:
    count = 4_800
    index = np.arange(count)
    table = pd.DataFrame(
        {
            "day": [date(2026, 1 + i % 12, 1) for i in index],
            "month": [MONTHS[i % 12] for i in index],
            "ward": [chr(65 + i % 6) for i in index],
            "town": [f"town {i % 5}" for i in index],
            "sex": ["f" if i % 2 else "m" for i in index],
            "visits": index % 8,
            "cost": (index % 100).astype(float),
        }
    )
    keys: dict[str, Any] = {
        "day": [date(2026, month, 1) for month in range(1, 13)],
        "month": MONTHS,
        "ward": list("ABCDEF"),
        "town": [f"town {i}" for i in range(5)],
        "sex": ["f", "m"],
        "visits": list(range(8)),
    }
    return tc.open(table, name="v", unit=tc.ROW, bounds={"cost": (0, 100)}, keys=keys, budget=tc.PureDP(epsilon=10_000))


def forms(answer: Release) -> str:
    """Return the form of a chart, from its marks and channels."""
    spec = answer.plot().to_dict()
    panels = spec.get("concat", [spec])
    layer = panels[0]["layer"]
    encoding = layer[0]["encoding"]
    if layer[0]["mark"]["type"] == "rect":
        return "heat map"
    if encoding["x"].get("type") == "temporal":
        return "over time"
    if "yOffset" in encoding:
        return "one axis" if encoding["yOffset"]["field"] == "column" else "side by side"
    return "upright" if encoding["x"]["type"] == "nominal" else "rows"


FORMS: dict[str, tuple[str, Callable[[Database], Release]]] = {
    "names": ("rows", lambda db: db.sql("SELECT ward, count(*) AS n FROM v GROUP BY ward", epsilon=1)),
    "no groups": ("rows", lambda db: db.count(epsilon=1)),
    "dates": ("over time", lambda db: db.sql("SELECT day, count(*) AS n FROM v GROUP BY day", epsilon=1)),
    "months as text": ("over time", lambda db: db.mean("cost", by="month", epsilon=1)),
    "dates and names": ("over time", lambda db: db.count(by=["day", "sex"], epsilon=1)),
    "bins": ("upright", lambda db: db.histogram("cost", bins=[0, 10, 50, 100], epsilon=1)),
    "whole numbers": ("upright", lambda db: db.count(by="visits", epsilon=1)),
    "few and many": ("side by side", lambda db: db.crosstab("sex", "ward", epsilon=1)),
    "many and many": ("heat map", lambda db: db.crosstab("town", "ward", epsilon=1)),
    "quantiles": ("one axis", lambda db: db.quantile("cost", [0.1, 0.5, 0.9], by="sex", epsilon=1)),
    "three keys": ("rows", lambda db: db.count(by=["ward", "town", "visits"], epsilon=1)),
}


def test_counts_and_their_differences_that_an_outer_query_computes_start_at_zero(db: Database) -> None:
    answer = db.sql(
        "WITH t AS (SELECT ward, count(*) AS n, avg(cost) AS c FROM v GROUP BY ward) "
        "SELECT ward, n, n - 10 AS m, n / sum(n) OVER () AS share, c FROM t",
        epsilon=10,
    )
    marks = [panel["layer"][0]["mark"]["type"] for panel in answer.plot().to_dict()["concat"]]
    assert marks == ["bar", "bar", "point", "point"]
    totals = db.sql("SELECT sex, count(*) AS n FROM v GROUP BY ROLLUP (sex)", epsilon=10)
    assert totals.plot().to_dict()["layer"][0]["mark"]["type"] == "bar"


@pytest.mark.parametrize(("count", "marks"), [(90, ["line", "point", "rule", "tick", "tick"]), (91, ["area", "line"])])
def test_many_times_have_a_band_in_place_of_whiskers(count: int, marks: list[str]) -> None:
    column = NoisyColumn(name="n", values=[3.0] * count, low=[1.0] * count, high=[5.0] * count, from_zero=True)
    times = [f"{1900 + i}-01-01" for i in range(count)]
    spec = plots.over_time(times, [""] * count, [column], CAPTION).to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == marks
    words = "The band is" if marks[0] == "area" else "Each whisker is"
    assert spec["title"]["subtitle"] == f"{words} a 95% interval of the value in the bounded data."


def test_the_title_of_a_verb_has_no_needless_quotes(db: Database) -> None:
    title = db.count(by="ward", where="town = '\"x\"'", epsilon=1).plot().to_dict()["title"]["text"]
    assert "".join(title).startswith("SELECT ward, COUNT(*) AS count FROM v WHERE town = '\"x\"' GROUP BY 1")


@pytest.mark.parametrize("case", FORMS)
def test_each_answer_has_the_form_that_fits(case: str, db: Database, tmp_path: Path) -> None:
    form, ask = FORMS[case]
    answer = ask(db)
    assert forms(answer) == form
    for theme in ("light", "dark"):
        answer.plot(theme=theme).save(tmp_path / "chart.svg")
        drawn = (tmp_path / "chart.svg").read_text()
        assert "NaN" not in drawn
        assert "aria-label" in drawn


@pytest.mark.parametrize("case", FORMS)
def test_a_chart_holds_the_values_and_the_intervals_of_the_answer(case: str, db: Database) -> None:
    answer = FORMS[case][1](db)
    spec = answer.plot().to_dict()
    drawn = {
        (row["column"], row["value"], row["low"], row["high"])
        for rows in spec["datasets"].values()
        for row in rows
        if "column" in row
    }
    expected = {
        (column.name, value, *ends)
        for column in answer.columns()
        if column.ends is not None
        for value, ends in zip(column.values, column.ends, strict=True)
        if ends is not None
    }
    assert drawn == expected


@pytest.mark.parametrize("case", ["names", "bins", "whole numbers", "few and many"])
def test_counts_start_at_zero_and_averages_do_not(case: str, db: Database) -> None:
    def zeros(answer: Release) -> set[bool]:
        layer = answer.plot().to_dict()["layer"][0]["encoding"]
        return {layer[channel]["scale"]["zero"] for channel in "xy" if "zero" in layer[channel].get("scale", {})}

    assert zeros(FORMS[case][1](db)) == {True}
    assert zeros(db.mean("cost", by="ward", epsilon=1)) == {False}


def test_the_title_is_the_query_and_its_cost(db: Database) -> None:
    title: Any = db.sql("SELECT ward, count(*) AS n FROM v GROUP BY ward", epsilon=0.25).plot().to_dict()["title"]
    assert title["text"] == "SELECT ward, COUNT(*) AS n FROM v GROUP BY ward · ε = 0.25"
    assert (
        db.crosstab("town", "ward", epsilon=0.5).plot().to_dict()["title"]["text"]
        == "Counts by town and ward · ε = 0.5"
    )
    conditions = " OR ".join(f"cost > {i}" for i in range(99))
    long = db.sql(f"SELECT count(*) AS n FROM v WHERE {conditions}", epsilon=1)  # noqa: S608 - the test's own text
    lines = long.plot().to_dict()["title"]["text"]
    assert len(lines) == 5
    assert lines[-1].endswith("… · ε = 1")


def test_the_description_reads_the_first_values(db: Database) -> None:
    answer = db.sql("SELECT ward, count(*) AS n FROM v GROUP BY ward", epsilon=1)
    text = str(answer.plot().to_dict()["description"])
    (_, n) = answer.columns()
    for (ward, value), ends in zip(answer.rows(), n.ends or (), strict=True):
        assert ends is not None
        assert f"{ward} {value} ({ends[0]:,.6g} to {ends[1]:,.6g})" in text
    long = plots.by_group(
        [str(i) for i in range(30)], [NoisyColumn(name="n", values=[1] * 30, low=[0] * 30, high=[2] * 30)], CAPTION
    )
    assert long.to_dict()["description"].endswith("11 1 (0 to 2), and 18 more.")


def test_a_dark_chart_has_the_same_numbers_and_other_ink(db: Database) -> None:
    answer = db.crosstab("sex", "ward", epsilon=1)
    light, dark = (answer.plot(theme=theme).to_dict() for theme in ("light", "dark"))
    assert list(dark["datasets"].values()) == list(light["datasets"].values())
    assert dark["background"] != light.get("background")
    assert "#222222" in json.dumps(light)
    assert "#222222" not in json.dumps(dark)
    with pytest.raises(InvalidError, match="theme must be 'light' or 'dark'"):
        answer.plot(theme="grey")


def test_infinite_intervals_and_missing_values_are_left_out() -> None:
    column = NoisyColumn(name="n", values=[1, 2, 3], low=[0, 1, 2], high=[2, float("inf"), 4])
    spec = plots.by_group(["a", "b", "c"], [column], CAPTION).to_dict()
    assert [row["group"] for row in next(iter(spec["datasets"].values()))] == ["a", "c"]


def test_wrong_lengths_and_reversed_intervals_are_refused() -> None:
    column = NoisyColumn(name="n", values=[1, 2], low=[0, 1], high=[2, 3])
    with pytest.raises(InvalidError, match="1 texts, but values has 2"):
        plots.by_group(["a"], [column], CAPTION)
    with pytest.raises(InvalidError, match="low ≤ high"):
        plots.by_group(["a"], [NoisyColumn(name="n", values=[1], low=[2], high=[0])], CAPTION)


def test_an_answer_without_a_finite_interval_has_no_chart(db: Database) -> None:
    with pytest.raises(TacitError, match="no chart"):
        db.sql("SELECT median(cost) AS m FROM v", epsilon=1, intervals=False).plot()


def test_a_simulation_shows_estimates_and_the_truth() -> None:
    columns = [NoisyColumn(name=name, values=[9, 4], low=[7, 2], high=[11, 6]) for name in ("OUE", "OLH")]
    spec = plots.simulated(["a", "b"], [10, 5], columns, title="A survey", subtitle="ε = 1").to_dict()
    tables = list(spec["datasets"].values())
    assert [row["count"] for rows in tables for row in rows if "count" in row] == [10, 5]
    assert {row["column"] for rows in tables for row in rows if "column" in row} == {"OUE", "OLH"}
