"""The charts of laws hold the numbers of the laws, and draw on light and dark pages."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, sqrt
from typing import Any

import altair as alt
import numpy as np
import pytest
import vl_convert

from oracles_bad_input import refused, silence
from tacit import (
    Exponential,
    Gaussian,
    InvalidError,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomizedResponse,
    compare_noise,
    figures,
)

SCORES = {"Chinese": 12, "Indian": 9, "American": 11}
INTEGERS = Laplace(sensitivity=1, epsilon=0.1)
REALS = Laplace(sensitivity=2.5, epsilon=0.1, outputs=2)
BITS = RandomizedResponse(epsilon=1)
CHOICE = Exponential(sensitivity=1, epsilon=1)

ADDITIVE = [INTEGERS, REALS, Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6), Gaussian(sensitivity=1.0, rho=0.1)]
KINDS = ["law", "neighbours", "releases", "error"]

CHARTS: dict[str, Callable[..., alt.LayerChart]] = {
    **{f"{m!r} {kind}": (lambda m=m, kind=kind, **theme: m.plot(kind, **theme)) for m in ADDITIVE for kind in KINDS},
    **{f"Laplace {kind}": (lambda kind=kind, **theme: INTEGERS.plot(kind, **theme)) for kind in ("cdf", "quantile")},
    **{f"bits {kind}": (lambda kind=kind, **theme: BITS.plot(kind, n=500, **theme)) for kind in KINDS},
    **{
        f"{cls.__name__} {kind}": (
            lambda cls=cls, kind=kind, **theme: cls(sensitivity=1, epsilon=1).plot(kind, scores=SCORES, **theme)
        )
        for cls in (Exponential, PermuteAndFlip, NoisyMax)
        for kind in KINDS
    },
    "densities": figures.laplace_densities,
    "Laplace and normal": figures.laplace_and_normal,
    "exponential density": figures.exponential,
    "exponential survivor": lambda **theme: figures.exponential("survivor", **theme),
    "exponential memory": lambda **theme: figures.exponential("memory", **theme),
    "e^ε": figures.exp_epsilon,
    "queries": lambda **theme: figures.laplace_and_gaussian(epsilon=1, delta=1e-6, queries=[4, 6], **theme),
    "people": lambda **theme: figures.laplace_and_randomized_response(epsilon=1, people=[10, 1000], **theme),
}


def layer_rows(chart: alt.LayerChart, layer: int) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    data = spec["layer"][layer].get("data", spec["data"])
    return list(spec["datasets"][data["name"]])


def column(rows: list[dict[str, Any]], field: str, **where: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([row[field] for row in rows if all(row[name] == value for name, value in where.items())])


@pytest.mark.parametrize("draw", CHARTS.values(), ids=CHARTS)
def test_every_chart_has_a_description_and_a_dark_form_and_draws_no_bits(draw: Callable[..., alt.LayerChart]) -> None:
    with silence():
        light, dark = draw().to_dict(), draw(theme="dark").to_dict()
    assert len(light["description"]) > 20
    assert light["description"] == dark["description"]
    assert light["title"]["text"] == dark["title"]["text"]
    assert dark["background"] != light.get("background")


@pytest.mark.parametrize("name", ["Laplace cdf", "bits law", "Exponential law", "e^ε"])
def test_an_unknown_theme_is_refused(name: str) -> None:
    with pytest.raises(InvalidError, match="theme"):
        CHARTS[name](theme="blue")


@pytest.mark.parametrize("name", ["Laplace cdf", "bits neighbours", "Exponential law", f"{INTEGERS!r} neighbours"])
def test_charts_can_be_drawn(name: str) -> None:
    assert "<svg" in vl_convert.vegalite_to_svg(CHARTS[name](theme="dark").to_json())


def test_bars_are_the_law_and_the_line_is_the_density() -> None:
    chart = INTEGERS.plot()
    bars, line = layer_rows(chart, 0), layer_rows(chart, 1)
    middle = np.rint((column(bars, "left") + column(bars, "right")) / 2)
    assert (np.diff(middle) == 1).all()
    assert np.allclose(column(bars, "height"), INTEGERS.pmf(middle), rtol=1e-12)
    assert np.allclose(column(line, "height"), INTEGERS.pdf(column(line, "left")), rtol=1e-12)
    assert column(bars, "height").sum() > 0.998


def test_bars_of_a_fine_grid_are_means_of_the_law() -> None:
    bars = layer_rows(REALS.plot(), 0)
    left, right, height = (column(bars, field) for field in ("left", "right", "height"))
    half = REALS.granularity / 2
    masses = np.asarray(REALS.cdf(right - half)) - np.asarray(REALS.cdf(left - half))
    assert np.allclose(height * (right - left), masses, rtol=1e-9)
    assert left[0] == -right[-1]


def test_a_value_moves_the_law() -> None:
    moved, plain = (column(layer_rows(INTEGERS.plot("law", value=value), 0), "left") for value in (337, 0))
    assert np.allclose(moved - 337, plain)


def test_neighbours_are_in_the_band_and_the_ratio_is_stated() -> None:
    m = Laplace(sensitivity=1, epsilon=1)
    chart = m.plot("neighbours", value=5, at=9)
    band, curves, mark = layer_rows(chart, 0), layer_rows(chart, 1), layer_rows(chart, 2)
    first, second = (column(curves, "height", part=name) for name in ("x = 5", "x′ = 6"))
    x = column(curves, "x", part="x = 5")
    assert np.allclose(first, m.pmf(x - 5), rtol=1e-12)
    assert np.allclose(second, m.pmf(x - 6), rtol=1e-12)
    low, high = column(band, "height"), column(band, "most")
    assert np.allclose(low, second / exp(1), rtol=1e-12)
    assert (low <= first * (1 + 1e-12)).all()
    assert (first <= high * (1 + 1e-12)).all()
    assert mark[0]["label"] == f"ratio at z = 9: {exp(-1):.4g}"


def test_a_concentrated_guarantee_has_no_band() -> None:
    chart = Gaussian(sensitivity=1, rho=0.1).plot("neighbours").to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["line", "rule", "text"]


def test_releases_are_the_sample_and_the_line_is_the_law() -> None:
    chart = INTEGERS.plot("releases", n=500, seed=3, value=100)
    bars = layer_rows(chart, 0)
    edges = np.append(column(bars, "left"), column(bars, "right")[-1])
    expected, _ = np.histogram(INTEGERS.sample(500, seed=3) + 100.0, edges)
    assert np.allclose(column(bars, "height") * np.diff(edges) * 500, expected)


@pytest.mark.parametrize("seed", range(8))
def test_releases_outside_the_frame_are_counted_if_there_are_any(seed: int) -> None:
    chart = INTEGERS.plot("releases", n=500, seed=seed)
    bars = layer_rows(chart, 0)
    edges = np.append(column(bars, "left"), column(bars, "right")[-1])
    beyond = 500 - np.histogram(INTEGERS.sample(500, seed=seed), edges)[0].sum()
    verb = "is" if beyond == 1 else "are"
    note = f"{beyond} {verb} outside the frame. " if beyond else ""
    assert chart.to_dict()["title"]["subtitle"][1] == f"{note}A simulation with a seed, not a release."


@pytest.mark.parametrize("m", ADDITIVE[:3], ids=repr)
def test_the_error_chart_passes_through_the_mechanism_itself(m: Laplace | Gaussian) -> None:
    rows = layer_rows(m.plot("error"), 0)
    at, errors = column(rows, "at", line="95 % error"), column(rows, "value", line="95 % error")
    assert np.isclose(np.interp(0.0, np.log(at / m.guarantee.epsilon), errors), m.error(), rtol=1e-9)  # type: ignore[operator]
    assert np.isclose(column(rows, "value", line="standard deviation")[8], m.std, rtol=1e-6)


def test_an_error_that_is_always_0_has_no_chart() -> None:
    refused("kind", lambda: Laplace(sensitivity=1, epsilon=1_000_000).plot("error"))


def test_the_chances_of_a_choice_and_of_its_neighbour() -> None:
    chart = CHOICE.plot("neighbours", scores=SCORES)
    rows, ranges = layer_rows(chart, 0), layer_rows(chart, 1)
    law, other = CHOICE.probabilities(SCORES), CHOICE.probabilities(SCORES | {"Chinese": 11})
    assert column(rows, "chance", part="the scores").tolist() == list(law.values())
    assert column(rows, "chance", part="a neighbour's scores").tolist() == list(other.values())
    assert np.allclose(column(ranges, "high"), np.minimum(1, np.array(list(other.values())) * exp(1)))
    assert (column(ranges, "low") <= np.array(list(law.values()))).all()
    refused("neighbour", lambda: CHOICE.plot("neighbours", scores=SCORES, neighbour={"x": 1}))


def test_a_chart_of_many_candidates_shows_the_likeliest() -> None:
    rows = layer_rows(CHOICE.plot(scores=list(range(100))), 0)
    assert [row["group"] for row in rows] == [str(i) for i in range(60, 100)]


def test_the_estimates_of_surveys_follow_their_law() -> None:
    bars, line = (layer_rows(BITS.plot("releases", n=400, share=0.25, seed=5), layer) for layer in (0, 1))
    assert column(line, "height").sum() == pytest.approx(1, abs=0.01)
    middle = (column(bars, "left") + column(bars, "right")) / 2
    law = column(line, "height")
    mean = float(middle @ law) / float(law.sum())
    assert mean == pytest.approx(0.25, abs=0.003)
    spread = sqrt(float((middle - mean) ** 2 @ law) / float(law.sum()))
    assert spread == pytest.approx(BITS.std / (2 * BITS.p - 1) / sqrt(400), rel=0.03)
    for share in (-0.1, 1.1, "half", None):
        refused("share", lambda share=share: BITS.plot("releases", share=share))  # type: ignore[misc]
    for share in (0, 1):
        assert len(layer_rows(BITS.plot("releases", n=50, share=share), 0)) > 3


def test_an_unknown_kind_is_refused() -> None:
    refused("kind", lambda: INTEGERS.plot("pie"))  # type: ignore[arg-type]
    refused("kind", lambda: BITS.plot("cdf"))  # type: ignore[arg-type]
    refused("kind", lambda: CHOICE.plot("cdf", scores=SCORES))  # type: ignore[arg-type]
    refused("kind", lambda: figures.exponential("pie"))  # type: ignore[arg-type]


# Figures.


def test_laplace_and_normal_have_one_variance() -> None:
    rows = layer_rows(figures.laplace_and_normal(variance=4), 0)
    for name in ("Laplace", "normal"):
        x, density = column(rows, "at", line=name), column(rows, "value", line=name)
        assert float(np.trapezoid(density * x * x, x)) == pytest.approx(4, rel=0.1)
        assert float(np.trapezoid(density, x)) == pytest.approx(1, rel=0.01)


def test_the_law_after_a_time_is_the_law_moved() -> None:
    rows = layer_rows(figures.exponential("memory", rates=[0.5], after=2.0), 0)
    x = column(rows, "at", line="λ = 0.5, given X > 2")
    given = column(rows, "value", line="λ = 0.5, given X > 2")
    assert np.allclose(given, np.exp(-0.5 * np.maximum(x - 2, 0)), rtol=1e-12)
    refused("after", lambda: figures.exponential("memory", rates=[100.0], after=50.0))
    refused("rates", lambda: figures.exponential(rates=[]))


def test_e_to_the_epsilon_is_drawn() -> None:
    rows = layer_rows(figures.exp_epsilon(most=1), 0)
    assert column(rows, "value", line="e^ε")[-1] == pytest.approx(exp(1))
    assert column(rows, "value", line="1 + ε")[-1] == 2
    refused("most", lambda: figures.exp_epsilon(most=1000))


def test_the_crossing_of_both_noises_is_marked() -> None:
    chart = figures.laplace_and_gaussian(epsilon=1, delta=1e-6, queries=[1, 5, 6])
    rows = layer_rows(chart, 0)
    compared = compare_noise(l1=5.0, l2=sqrt(5), outputs=5, epsilon=1, delta=1e-6)
    assert column(rows, "value", line="Laplace")[1] == pytest.approx(compared.laplace_error, rel=1e-6)
    assert column(rows, "value", line="Gaussian")[1] == pytest.approx(compared.gaussian_error, rel=1e-6)
    assert layer_rows(chart, len(chart.to_dict()["layer"]) - 1)[0]["label"] == "m = 6"
    alone = figures.laplace_and_gaussian(epsilon=1, delta=1e-6, queries=[1, 2]).to_dict()
    assert "for all m" in alone["title"]["subtitle"]
    refused("queries", lambda: figures.laplace_and_gaussian(epsilon=1, delta=1e-6, queries=[0]))


def test_randomized_response_is_drawn_beside_laplace() -> None:
    rows = layer_rows(figures.laplace_and_randomized_response(epsilon=1, people=[100, 10_000]), 0)
    assert column(rows, "value", line="Laplace").tolist() == [3, 3]
    expected = [n * BITS.error(n=n) for n in (100, 10_000)]
    assert np.allclose(column(rows, "value", line="randomized response"), expected)


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip, NoisyMax])
@pytest.mark.parametrize("sensitivity", [1, 1.0, 0.25])
def test_the_error_chart_of_a_choice_passes_through_the_mechanism(kind: type[Exponential], sensitivity: float) -> None:
    m = kind(sensitivity=sensitivity, epsilon=1, monotone=True)
    rows = layer_rows(m.plot("error", scores=[1, 2, 3]), 0)
    assert column(rows, "value")[8] == pytest.approx(m.error(candidates=3), rel=1e-12)
    assert column(rows, "at")[8] == pytest.approx(1, rel=1e-12)
