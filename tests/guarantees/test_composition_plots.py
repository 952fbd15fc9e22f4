"""The charts of a composition, compared with the accountants that compute their numbers."""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, inf
from typing import Any, get_args

import altair as alt
import pytest

import tacit as tc
from tacit.errors import InvalidError
from tacit.guarantees.composition_plots import PlotKind, first_parts, part_counts
from tacit.guarantees.events import LaplaceNoise, PoissonSampled, PureRelease
from tacit.guarantees.profile import PrivacyProfile

Row = dict[str, Any]

RESPONSES = tc.compose([(tc.PureDP(epsilon=0.5), 4)])
"""Four randomized responses: losses -2, -1, 0, 1 and 2, of binomial masses."""


def rows(chart: alt.LayerChart) -> list[Row]:
    spec = chart.to_dict()
    return list(spec["datasets"][spec["data"]["name"]])


def subtitle(chart: alt.LayerChart) -> str:
    return str(chart.to_dict()["title"].get("subtitle", ""))


def lines(chart: alt.LayerChart, by: str, x: str, y: str) -> dict[str, dict[float, float]]:
    found: dict[str, dict[float, float]] = {}
    for row in rows(chart):
        found.setdefault(row[by], {})[row[x]] = row[y]
    return found


def binomial(j: int) -> float:
    """Pr[L = 2 - j] of the four responses."""
    kept = 1 / (1 + exp(-0.5))
    return [1, 4, 6, 4, 1][j] * kept ** (4 - j) * (1 - kept) ** j


def true_delta(epsilon: float) -> float:
    return sum(binomial(j) * max(0.0, -expm1(epsilon - (2 - j))) for j in range(5))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", get_args(PlotKind))
@pytest.mark.parametrize(
    "item",
    [
        tc.PureDP(epsilon=0.5),
        LaplaceNoise(scale=Fraction(2), l1=Fraction(1)),
        tc.Laplace(sensitivity=1, epsilon=0.5),
        tc.Gaussian(sensitivity=1, sigma=3),
        tc.GaussianDP(mu=1),
        PoissonSampled(rate=Fraction(1, 10), of=PureRelease(epsilon=Fraction(1))),
    ],
    ids=lambda item: type(item).__name__,
)
def test_every_kind_draws_every_mechanism(kind: PlotKind, item: Any) -> None:  # noqa: ANN401
    chart = tc.compose([item]).plot(kind, delta=1e-4)
    assert chart.to_dict()["layer"]
    assert rows(chart)
    numbers = [value for row in rows(chart) for value in row.values() if not isinstance(value, str)]
    assert all(abs(value) < inf for value in numbers)


def test_the_curve_holds_the_truth_between_its_bounds() -> None:
    drawn = rows(RESPONSES.plot("delta"))
    assert len(drawn) >= 40
    assert min(row["epsilon"] for row in drawn) == 0
    for row in drawn:
        truth = true_delta(row["epsilon"])
        assert row["lower"] <= truth * (1 + 1e-9) + 1e-15
        assert truth <= row["upper"] * (1 + 1e-9)
        assert row["upper"] == pytest.approx(truth, rel=0.05, abs=1e-9)


def test_the_curve_is_the_default_and_is_what_curve_returns() -> None:
    drawn, found = rows(RESPONSES.plot()), RESPONSES.curve()
    seen = [(x, bounds.lower, bounds.upper) for x, bounds in found if bounds.upper > 1e-300]
    assert [(row["epsilon"], row["lower"], row["upper"]) for row in drawn] == seen


def test_each_rule_draws_its_own_epsilon() -> None:
    one = tc.compose([tc.PureDP(epsilon=0.1)])
    drawn = lines(one.plot("rules", delta=1e-5), "rule", "parts", "epsilon")
    assert {"tight", "basic", "advanced", "optimal", "zcdp", "renyi"} == set(drawn)
    assert drawn["basic"] == pytest.approx({k: k * 0.1 for k in (1, 2, 5, 10, 22, 46, 100)})
    for rule in ("advanced", "optimal", "zcdp", "renyi"):
        for k in (1.0, 22.0, 100.0):
            truth = tc.compose([(tc.PureDP(epsilon=0.1), int(k))]).epsilon(delta=1e-5, rule=rule).upper
            assert drawn[rule][k] == pytest.approx(truth, rel=1e-9)
    assert drawn["tight"][100.0] == pytest.approx(drawn["optimal"][100.0], rel=0.01)
    assert "1e-5" in subtitle(one.plot("rules", delta=1e-5))


def test_a_rule_that_does_not_know_a_part_is_left_out() -> None:
    drawn = lines(tc.compose([tc.GaussianDP(mu=0.5)]).plot("rules"), "rule", "parts", "epsilon")
    assert set(drawn) == {"tight", "gdp", "zcdp", "renyi"}
    assert drawn["tight"] == pytest.approx(drawn["gdp"], rel=0.01)
    only = lines(tc.compose([tc.ZCDP(rho=0.1)]).plot("rules"), "rule", "parts", "epsilon")
    assert set(only) == {"tight", "zcdp", "renyi"}


def test_the_law_of_the_loss_has_the_binomial_masses() -> None:
    """Bars have an edge at ε, so masses are compared on both sides of it and in total."""
    chart = RESPONSES.plot("loss", delta=1e-2)
    epsilon = RESPONSES.epsilon(delta=1e-2).upper
    drawn = rows(chart)
    names = next(name for name in ("mass", "probability") if name in drawn[0])
    assert sum(row[names] for row in drawn) == pytest.approx(1, rel=1e-3)
    beyond = sum(binomial(j) for j in range(5) if 2 - j > epsilon)
    assert f"Pr[L > {epsilon:.3g}] = {beyond:.3g}" in subtitle(chart)
    assert f"δ({epsilon:.3g}) = 0.01" in subtitle(chart)


def test_the_moments_are_those_of_the_loss() -> None:
    drawn = lines(RESPONSES.plot("moments"), "mechanism", "order", "log_moment")
    moments = next(line for name, line in drawn.items() if "moments" in name)
    for order in (0.25, 1.0, 7.5, 32.0):
        kept = 1 / (1 + exp(-0.5))
        truth = kept * exp(0.5 * order) + (1 - kept) * exp(-0.5 * order)
        assert exp(moments[order] / 4) == pytest.approx(truth, rel=1e-9)
    for name, line in drawn.items():
        assert all(line[order] >= moments[order] * (1 - 1e-12) for order in line), name
    assert {name.split(":")[0] for name in drawn} == {"the moments", "zcdp", "basic"}


def test_moments_are_not_claimed_beyond_the_order_that_is_known() -> None:
    """(2, 0.1)-Rényi DP bounds E[e^L] but not E[e^(5L)], which may be infinite."""
    known = tc.compose([tc.RenyiDP(alpha=2, epsilon=0.1)])
    assert known.log_moments([0.5, 1]) == pytest.approx([0.05, 0.1])
    try:
        beyond = known.log_moments([5])
    except InvalidError:
        return
    assert beyond == [inf]


@pytest.mark.parametrize("kind", ["Delta", "", None, 1, "curve", ["delta"]])
def test_unknown_kinds_are_refused(kind: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        RESPONSES.plot(kind)
    assert caught.value.argument == "kind"
    assert "'moments'" in str(caught.value)


@pytest.mark.parametrize("kind", get_args(PlotKind))
def test_an_empty_composition_is_refused(kind: PlotKind) -> None:
    for empty in (tc.compose([]), tc.compose([(tc.PureDP(epsilon=1), 0)]), tc.compose([tc.PureDP(epsilon=0)])):
        with pytest.raises(InvalidError, match=r"empty|costs nothing"):
            empty.plot(kind)


@pytest.mark.parametrize("bad", [-1, 2, float("nan"), inf, "1", None, True])
@pytest.mark.parametrize("kind", ["rules", "loss"])
def test_delta_is_a_probability_in_a_chart_too(kind: PlotKind, bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError):
        RESPONSES.plot(kind, delta=bad)


def test_a_guarantee_without_a_law_has_no_chart_of_it() -> None:
    for guarantee in (tc.ZCDP(rho=0.1), tc.RenyiDP(alpha=8, epsilon=0.5)):
        with pytest.raises(InvalidError, match="no law of the privacy loss"):
            tc.compose([guarantee]).plot("loss")
        assert tc.compose([guarantee]).plot("delta").to_dict()["layer"]
    with pytest.raises(InvalidError, match="'tight' or 'pld'"):
        tc.compose([PrivacyProfile([(0, 0.1), (1, 0)])]).plot("moments")
    with pytest.raises(InvalidError, match="finite ε"):
        tc.compose([tc.ApproxDP(epsilon=1, delta=0.1)]).plot("loss", delta=1e-6)


@pytest.mark.parametrize("delta", [1e-6, 0.3, 0.6, 0.999])
def test_an_approximate_guarantee_has_a_curve_for_every_delta(delta: float) -> None:
    found = tc.compose([tc.ApproxDP(epsilon=1, delta=delta)]).curve(9)
    assert all(0 <= x < inf for x, _ in found)
    assert all(bounds.lower <= delta + (1 - delta) * 0.4622 for _, bounds in found)
    assert all(delta <= bounds.upper * (1 + 1e-9) for _, bounds in found)
    assert found[-1][1].upper <= 2.1 * delta


def test_the_first_parts_follow_the_order_and_start_again_after_the_last() -> None:
    mixed = tc.compose([PureRelease(epsilon=Fraction(1, 3)), (tc.GaussianDP(mu=0.2), 2)])
    assert first_parts(mixed, 2) == tc.compose([PureRelease(epsilon=Fraction(1, 3)), tc.GaussianDP(mu=0.2)])
    assert first_parts(mixed, 3) == mixed
    assert first_parts(mixed, 4) == tc.compose([(PureRelease(epsilon=Fraction(1, 3)), 2), (tc.GaussianDP(mu=0.2), 2)])


def test_rules_are_compared_from_one_part_to_all_of_them() -> None:
    assert part_counts(tc.compose([tc.PureDP(epsilon=1)] * 4)) == [1, 2, 3, 4]
    assert part_counts(tc.compose([(tc.PureDP(epsilon=1), 1000)]))[-1] == 1000
    assert part_counts(tc.compose([tc.PureDP(epsilon=1)]))[-1] == 100
