from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import exp, inf, log10, nan
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from scipy.stats import binom, norm

from tacit import plots
from tacit.errors import InvalidError, MissingPackageError
from tacit.plots.frame import _ticks
from tacit.plots.lines import _rising

Spec = dict[str, Any]
Floats = npt.NDArray[np.float64]

EPSILONS = [0.0, 0.5, 1.0, 1.5]
LOWER = [0.1, 1e-3, 1e-5, 1e-8]
UPPER = [0.2, 2e-3, 2e-5, 2e-8]
COUNTS = [1, 10, 100, 1000]
BY_RULE = {"basic": [0.1, 1, 10, 100], "zcdp": [0.43, 1.4, 5.2, 20], "tight": [0.1, 0.9, 4.7, 19]}

CHARTS: dict[str, Callable[[], alt.LayerChart]] = {
    "curve": lambda: plots.privacy_curve(EPSILONS, LOWER, UPPER),
    "counts": lambda: plots.epsilon_by_count(COUNTS, BY_RULE, delta=1e-6),
    "law": lambda: plots.loss_law([-1, 1], [0.27, 0.73], 0.5, 0.29),
    "law, linear": lambda: plots.loss_law([-1, 1], [0.27, 0.73], 0.5, 0.29, scale="linear"),
    "moments": lambda: plots.moments([0, 1, 2], {"Laplace": [0, 0.5, 1], "Gaussian": [0, 1, 3]}),
}
every_chart = pytest.mark.parametrize("draw", CHARTS.values(), ids=CHARTS)


def rows(chart: alt.LayerChart) -> list[Spec]:
    spec = chart.to_dict()
    return list(spec["datasets"][spec["data"]["name"]])


def column(chart: alt.LayerChart, field: str) -> list[float | str]:
    return [row[field] for row in rows(chart)]


def scale(chart: alt.LayerChart, channel: str) -> Spec:
    found: Spec = chart.to_dict()["layer"][0]["encoding"][channel]["scale"]
    return found


def subtitle(chart: alt.LayerChart) -> str:
    return str(chart.to_dict()["title"].get("subtitle", ""))


def label_rows(chart: alt.LayerChart) -> list[Spec]:
    spec = chart.to_dict()
    return list(spec["datasets"][spec["layer"][-1]["data"]["name"]])


def tooltips(chart: alt.LayerChart, layer: int) -> list[str]:
    return [tip["field"] for tip in chart.to_dict()["layer"][layer]["encoding"]["tooltip"]]


def gaussian_law(mu: float, step: float) -> tuple[Floats, Floats]:
    """The loss of Gaussian noise is N(μ²/2, μ²): its masses on a grid."""
    losses = np.arange(-12 * mu / step, 12 * mu / step) * step
    edges = np.append(losses - step / 2, losses[-1] + step / 2)
    return losses, np.diff(norm.cdf(edges, mu * mu / 2, mu))


# All charts


@every_chart
def test_every_chart_is_drawn_without_a_network(draw: Callable[[], alt.LayerChart], tmp_path: Path) -> None:
    chart = draw()
    chart.save(tmp_path / "chart.svg")
    drawn = (tmp_path / "chart.svg").read_text()
    assert chart.to_dict()["title"]["text"] in drawn
    assert "NaN" not in drawn


@every_chart
def test_every_chart_has_one_size_and_a_title_on_each_axis(draw: Callable[[], alt.LayerChart]) -> None:
    spec = draw().to_dict()
    assert (spec["width"], spec["height"]) == (560, 320)
    assert all(spec["layer"][0]["encoding"][channel]["axis"]["title"] for channel in "xy")


def test_charts_stand_side_by_side() -> None:
    both = CHARTS["curve"]() | CHARTS["counts"]()
    assert len(both.to_dict()["hconcat"]) == 2


@every_chart
def test_without_altair_the_message_says_what_to_install(
    draw: Callable[[], alt.LayerChart], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'tacit\[plot\]'") as caught:
        draw()
    assert (caught.value.package, caught.value.extra) == ("altair", "plot")


@pytest.mark.parametrize("statement", ["import tacit", "import tacit.plots"])
def test_altair_is_loaded_by_the_first_chart_and_not_before(statement: str) -> None:
    loaded = "print('altair' in sys.modules, 'tacit.plots' in sys.modules)"
    done = subprocess.run(  # noqa: S603 - our own line
        [sys.executable, "-c", f"import sys; {statement}; {loaded}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", str(statement == "import tacit.plots")]


@pytest.mark.parametrize("kind", [np.array, pd.Series, pl.Series, tuple, lambda values: [Fraction(v) for v in values]])
def test_arrays_of_any_kind_are_read(kind: Callable[[list[float]], list[float]]) -> None:
    assert rows(plots.privacy_curve(kind(EPSILONS), kind(LOWER), kind(UPPER))) == rows(CHARTS["curve"]())


# Bad inputs


READERS: list[Callable[[list[float]], alt.LayerChart]] = [
    lambda bad: plots.privacy_curve(bad, LOWER, UPPER),
    lambda bad: plots.privacy_curve(EPSILONS, bad, UPPER),
    lambda bad: plots.privacy_curve(EPSILONS, LOWER, bad),
    lambda bad: plots.epsilon_by_count(bad, BY_RULE),
    lambda bad: plots.epsilon_by_count(COUNTS, {"basic": bad}),
    lambda bad: plots.moments(bad, {"Laplace": [0, 1, 2, 3]}),
    lambda bad: plots.moments(COUNTS, {"Laplace": bad}),
    lambda bad: plots.loss_law(bad, [0.25] * 4, 1, 0.1),
    lambda bad: plots.loss_law(EPSILONS, bad, 1, 0.1),
]


@pytest.mark.parametrize("bad", [[], [1.0, nan, 2.0, 3.0], [1.0, 2.0], "text", ["1"] * 4, [[1.0] * 4], None, 3, {}])
def test_invalid_sequences_are_refused(bad: list[float]) -> None:
    for read in READERS:
        with pytest.raises(InvalidError):
            read(bad)


@pytest.mark.parametrize("by_name", [{}, [1.0], None])
def test_lines_need_names(by_name: dict[str, list[float]]) -> None:
    with pytest.raises(InvalidError, match="by_rule"):
        plots.epsilon_by_count([1], by_name)
    with pytest.raises(InvalidError, match="by_name"):
        plots.moments([1], by_name)


@pytest.mark.parametrize(
    ("epsilons", "lower", "upper"),
    [([-1], [0], [1]), ([inf], [0], [1]), ([1], [0.2], [0.1]), ([1], [-0.1], [1]), ([1], [0], [1.1])],
)
def test_a_privacy_curve_has_finite_epsilons_and_deltas_in_order(
    epsilons: list[float], lower: list[float], upper: list[float]
) -> None:
    with pytest.raises(InvalidError):
        plots.privacy_curve(epsilons, lower, upper)


@pytest.mark.parametrize("delta", [-0.1, 1.1, nan, "1e-6"])
def test_a_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(InvalidError, match="delta"):
        plots.epsilon_by_count(COUNTS, BY_RULE, delta=delta)
    with pytest.raises(InvalidError, match="delta"):
        plots.loss_law([0], [1], 1, delta)


@pytest.mark.parametrize(
    ("loss", "mass", "epsilon"), [(-inf, 1, 1), (0, -1, 1), (0, inf, 1), (0, 1, inf), (0, 1, -1), (0, 1, nan)]
)
def test_a_law_has_masses_at_losses_and_a_finite_epsilon(loss: float, mass: float, epsilon: float) -> None:
    with pytest.raises(InvalidError):
        plots.loss_law([loss], [mass], epsilon, 0.1)


def test_a_scale_is_one_of_two() -> None:
    with pytest.raises(InvalidError, match="scale"):
        plots.loss_law([0], [1], 1, 0.1, scale="square")  # type: ignore[arg-type]


def test_lines_with_nothing_to_draw_are_refused() -> None:
    with pytest.raises(InvalidError, match="finite and above 0"):
        plots.epsilon_by_count([1, 2], {"basic": [inf, 0]})
    with pytest.raises(InvalidError, match="finite"):
        plots.moments([1, 2], {"none": [inf, inf]})


# The privacy curve


def test_a_privacy_curve_holds_the_arrays() -> None:
    chart = plots.privacy_curve(EPSILONS, LOWER, UPPER)
    assert [column(chart, field) for field in ("epsilon", "lower", "upper")] == [EPSILONS, LOWER, UPPER]
    assert tooltips(chart, 2) == ["epsilon", "lower", "upper"]
    assert scale(chart, "y")["type"] == "log"
    assert scale(chart, "x")["domain"] == [0.0, 1.5]
    axes = chart.to_dict()["layer"][0]["encoding"]
    assert [axes[channel]["axis"]["title"] for channel in "xy"] == ["ε", "δ"]


def test_a_privacy_curve_may_come_in_any_order() -> None:
    assert rows(plots.privacy_curve(EPSILONS[::-1], LOWER[::-1], UPPER[::-1])) == rows(CHARTS["curve"]())


def test_a_delta_of_zero_is_left_out_and_named() -> None:
    chart = plots.privacy_curve([0, 1, 2, 3], [1e-3, 1e-5, 0, 0], [1e-3, 1e-5, 0, 0])
    assert column(chart, "epsilon") == [0.0, 1.0]
    assert scale(chart, "x")["domain"] == [0.0, 3.0]
    assert "δ < 1e-5 from ε = 2 on" in subtitle(chart)


def test_a_curve_of_nothing_but_zero_is_an_empty_frame(tmp_path: Path) -> None:
    chart = plots.privacy_curve([0, 1], [0, 0], [0, 0])
    assert rows(chart) == []
    assert "from ε = 0 on" in subtitle(chart)
    chart.save(tmp_path / "chart.svg")


def test_the_band_reaches_the_foot_where_the_lower_bound_is_zero() -> None:
    chart = plots.privacy_curve([0, 1], [0, 0], [0.1, 1e-4])
    assert scale(chart, "y")["domain"] == [1e-4, 0.1]
    assert chart.to_dict()["layer"][0]["transform"][0]["calculate"] == "min(datum.upper, max(datum.lower, 0.0001))"
    assert column(chart, "lower") == [0.0, 0.0]


def test_loose_bounds_far_under_the_curve_do_not_stretch_the_axis() -> None:
    chart = plots.privacy_curve([0, 1, 2], [0.1, 1e-6, 0], [0.1, 1e-6, 1e-40])
    assert scale(chart, "y")["domain"] == [1e-6, 0.1]
    assert "δ < 1e-6 from ε = 2 on" in subtitle(chart)


@given(size=st.integers(5_001, 30_000))
@settings(max_examples=4, deadline=None)
def test_a_long_curve_is_thinned_to_even_picks_with_both_ends(size: int) -> None:
    x = np.linspace(0, 10, size)
    delta = np.exp(-x)
    chart = plots.privacy_curve(x, delta / 2, delta)
    kept = rows(chart)
    picked = np.searchsorted(x, [row["epsilon"] for row in kept])
    assert len(picked) == 5_000
    assert (picked[0], picked[-1]) == (0, size - 1)
    assert np.ptp(np.diff(picked)) <= 1
    assert [row["upper"] for row in kept] == delta[picked].tolist()


# Rules by the number of parts


def test_lines_hold_the_arrays() -> None:
    chart = plots.epsilon_by_count(COUNTS, BY_RULE)
    for rule, epsilons in BY_RULE.items():
        line = [(row["parts"], row["epsilon"]) for row in rows(chart) if row["rule"] == rule]
        assert line == list(zip(COUNTS, epsilons, strict=True))
    assert scale(chart, "x")["type"] == scale(chart, "y")["type"] == "log"
    assert tooltips(chart, 2) == ["rule", "parts", "epsilon"]
    assert subtitle(chart) == ""


def test_the_tight_rule_is_broad_and_hides_no_other() -> None:
    spec = CHARTS["counts"]().to_dict()
    broad, others = spec["layer"][:2]
    assert 'datum.rule === "tight"' in broad["transform"][0]["filter"].replace("['rule']", ".rule").replace("'", '"')
    assert broad["mark"]["strokeWidth"] > 2 * others["mark"]["strokeWidth"]
    assert rows(CHARTS["counts"]())[0]["rule"] == "tight"  # the first line is drawn first, at the back


def test_infinite_and_zero_are_left_out_and_a_rule_without_a_value_is_named() -> None:
    chart = plots.epsilon_by_count([1, 2, 3], {"basic": [0, 1, inf], "gdp": [inf] * 3, "tight": [1, 2, 3]}, delta=1e-9)
    assert [row["epsilon"] for row in rows(chart) if row["rule"] == "basic"] == [1.0]
    assert "gdp" not in {row["rule"] for row in rows(chart)}
    assert subtitle(chart) == "All at δ = 1e-9. Nothing finite to draw for gdp."


def test_numbers_beyond_an_axis_count_as_infinite_or_zero(tmp_path: Path) -> None:
    chart = plots.epsilon_by_count([1, 2, 3, 4, 5], {"wide": [1e-305, 1e-290, 1, 1e290, 1e305]})
    assert column(chart, "parts") == [2, 3, 4]
    chart.save(tmp_path / "chart.svg")
    assert "NaN" not in (tmp_path / "chart.svg").read_text()
    assert column(plots.moments([1, 2], {"wide": [1e290, 1.7e308]}), "order") == [1]


def test_many_long_lines_stay_under_the_limit_together() -> None:
    counts = np.arange(1, 4_001)
    chart = plots.epsilon_by_count(counts, {str(i): counts * (i + 1.0) for i in range(7)})
    kept = rows(chart)
    assert 4_000 < len(kept) <= 5_000
    for i in range(7):
        line = [row for row in kept if row["rule"] == str(i)]
        assert [(row["parts"], row["epsilon"]) for row in (line[0], line[-1])] == [(1, i + 1), (4_000, 4_000 * (i + 1))]


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=10))
@settings(max_examples=25, deadline=None)
def test_names_stand_apart_and_in_the_order_of_their_lines(ends: list[float]) -> None:
    chart = plots.epsilon_by_count([1, 2], {f"rule {i}": [1.0, end] for i, end in enumerate(ends)})
    low, high = (log10(end) for end in scale(chart, "y")["domain"])
    labels = label_rows(chart)
    pixels = [320 * (log10(row["epsilon"]) - low) / (high - low) for row in labels]
    assert all(above - below > 14.9 for below, above in pairwise(pixels))
    assert sorted(ends) == [ends[int(row["rule"].split()[1])] for row in labels]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=12))
def test_the_nearest_rising_sequence_agrees_with_scipy(values: list[float]) -> None:
    found = _rising(np.array(values))
    assert np.allclose(found, isotonic_regression(values).x, atol=1e-12)


@given(low=st.floats(-299, 290), decades=st.floats(0.5, 500))
def test_a_log_axis_has_few_round_ticks(low: float, decades: float) -> None:
    first, last = 10.0**low, 10.0 ** min(low + decades, 299)
    ticks = _ticks(first, last)
    assert len(ticks) <= 10
    assert all(first <= tick <= last and f"{tick:e}"[0] in "125" for tick in ticks)


# Moments


def test_moments_hold_the_arrays_and_leave_out_what_is_infinite() -> None:
    chart = plots.moments([0, 1, 2], {"Gaussian": [0, 1, 3], "heavy": [0, 2, inf], "endless": [inf] * 3})
    assert [(row["order"], row["log_moment"]) for row in rows(chart) if row["mechanism"] == "Gaussian"] == [
        (0, 0),
        (1, 1),
        (2, 3),
    ]
    assert [row["log_moment"] for row in rows(chart) if row["mechanism"] == "heavy"] == [0, 2]
    assert scale(chart, "x")["type"] == scale(chart, "y")["type"] == "linear"
    assert subtitle(chart) == "Lower is more private. Nothing finite to draw for endless."


def test_moments_of_no_loss_lie_flat(tmp_path: Path) -> None:
    chart = plots.moments([0, 1], {"nothing": [0, 0]})
    assert scale(chart, "y")["domain"] == [-0.5, 0.5]
    chart.save(tmp_path / "chart.svg")


# The law of the loss


def test_a_law_of_few_losses_holds_the_arrays() -> None:
    chart = plots.loss_law([-1, 0, 1, inf], [0.2, 0.3, 0.4, 0.1], epsilon=0.5, delta=0.25)
    middles = [(row["left"] + row["right"]) / 2 for row in rows(chart)]
    assert np.allclose(middles, [-1, 0, 1])
    assert column(chart, "mass") == [0.2, 0.3, 0.4]
    assert column(chart, "part") == ["up to ε", "up to ε", "beyond ε"]
    assert subtitle(chart) == "δ(0.5) = 0.25, Pr[L > 0.5] = 0.5, Pr[L = ∞] = 0.1"
    assert scale(chart, "y")["type"] == "log"
    assert label_rows(chart) == [{"left": 0.5, "label": "ε = 0.5"}]


def test_a_tiny_infinite_loss_is_not_in_the_subtitle() -> None:
    assert "∞" not in subtitle(plots.loss_law([-1, 1, inf], [0.3, 0.7, 1e-99], 0.5, 0.25))
    assert "Pr[L = ∞] = 1e-9" in subtitle(plots.loss_law([-1, 1, inf], [0.3, 0.7, 1e-9], 1, 1e-9))


def test_a_loss_of_exactly_epsilon_is_not_beyond_it() -> None:
    assert column(plots.loss_law([-1, 1], [0.27, 0.73], 1, 0), "part") == ["up to ε"] * 2


def test_equal_losses_are_one_bar() -> None:
    assert column(plots.loss_law([1, -1, 1], [0.5, 0.25, 0.25], 0, 0.5), "mass") == [0.25, 0.75]


@given(
    mu=st.floats(0.1, 5),
    step=st.floats(1e-3, 0.02),
    place=st.floats(0, 4),
    scaling=st.sampled_from(["log", "linear"]),
)
@settings(max_examples=20, deadline=None)
def test_a_long_law_is_summed_without_loss(mu: float, step: float, place: float, scaling: str) -> None:
    losses, masses = gaussian_law(mu, step * mu)
    epsilon = max(0.0, mu * mu / 2 + place * mu)
    chart = plots.loss_law(losses, masses, epsilon, 0.1, scale=scaling)  # type: ignore[arg-type]
    bars = rows(chart)
    assert len(bars) <= 160
    assert sum(bar["mass"] for bar in bars) == pytest.approx(masses.sum(), rel=1e-12)
    beyond = sum(bar["mass"] for bar in bars if bar["part"] == "beyond ε")
    assert beyond == pytest.approx(masses[losses > epsilon + 1e-9].sum(), rel=1e-6)
    assert all(bar["left"] >= epsilon - 1e-9 or bar["right"] <= epsilon + 1e-9 for bar in bars)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.1, 2.345])
@pytest.mark.parametrize("step", [0.0037, 0.001])  # with the second, losses are at the edges of bars, up to rounding
def test_the_bars_of_a_smooth_law_are_smooth(epsilon: float, step: float) -> None:
    losses, masses = gaussian_law(1.0, step)
    masses[1::2] = 0.0  # symmetric noise leaves every second point of the grid empty, up to rounding
    masses[1::2] += 1e-19
    chart = plots.loss_law(losses, masses, epsilon, 0.1)
    inner = [row["mass"] for row in rows(chart) if abs((row["left"] + row["right"]) / 2 - 0.5) < 2.5]
    second = np.diff(np.log(inner), 2)  # of ln φ it is -width²: all alike
    assert len(inner) > 50
    assert np.all(second < 0)
    assert np.ptp(second) < 1e-3


def test_the_tail_beyond_epsilon_is_in_the_frame_however_unlikely() -> None:
    losses, masses = gaussian_law(1.0, 0.01)
    chart = plots.loss_law(losses, masses, 6.0, 1e-8)
    low, high = scale(chart, "x")["domain"]
    least = scale(chart, "y")["domain"][0]
    tail = [row["mass"] for row in rows(chart) if row["part"] == "beyond ε" and low < row["left"] < high]
    assert len(tail) > 5
    assert max(tail) > 100 * least


def test_far_losses_stay_in_the_data_but_outside_the_frame() -> None:
    losses, masses = gaussian_law(1.0, 0.01)
    chart = plots.loss_law(np.append(losses, 1e6), np.append(masses * (1 - 1e-12), 1e-12), 1.0, 0.12)
    high = scale(chart, "x")["domain"][1]
    assert 3 < high < 8
    assert rows(chart)[-1]["left"] >= high - 1e-9
    assert sum(row["mass"] for row in rows(chart)) == pytest.approx(masses.sum(), rel=1e-12)


def test_the_loss_of_randomised_response_composed_shows_its_own_steps() -> None:
    k, step = 100, 0.1
    heads = np.arange(k + 1)
    masses = binom.pmf(heads, k, 1 / (1 + exp(-step)))
    chart = plots.loss_law((2 * heads - k) * step, masses, 3.0, 1e-3)
    assert column(chart, "mass") == masses.tolist()


@pytest.mark.parametrize(
    ("losses", "masses"), [([inf], [1.0]), ([0.0], [0.0]), ([0.0], [1.0]), ([3.0, 3.0], [0.5, 0.5])]
)
def test_laws_of_nearly_nothing_are_drawn(losses: list[float], masses: list[float], tmp_path: Path) -> None:
    for chart in (
        plots.loss_law(losses, masses, 0.0, 1.0),
        plots.loss_law(losses, masses, 0.0, 1.0, scale="linear"),
    ):
        chart.save(tmp_path / "chart.svg")
        assert "NaN" not in (tmp_path / "chart.svg").read_text()
