"""The laws of mechanisms: pmf, cdf, quantile, confidence and the rest, against mpmath, enumeration and releases."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, inf, isnan, nan, nextafter
from typing import Any

import numpy as np
import pytest
from mpmath import MPContext

import oracles_selection
from evidence import FALSE_ALARM, miss, p_value
from oracles_bad_input import NOT_A_COUNT, refused, short, silence
from tacit import (
    AboveThreshold,
    Exponential,
    Gaussian,
    InvalidError,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    ProposeTestRelease,
    RandomizedResponse,
    SmoothMedian,
)

MP = MPContext()
MP.dps = 60
Additive = Laplace | Gaussian

ADDITIVE: dict[str, Additive] = {
    "integers": Laplace(sensitivity=1, epsilon=0.1),
    "little noise": Laplace(sensitivity=1, epsilon=50),
    "much noise": Laplace(sensitivity=1, scale=2**56),
    "reals": Laplace(sensitivity=2.5, epsilon=0.1, outputs=2),
    "a coarse grid": Laplace(sensitivity=0.3, epsilon=0.5, granularity=0.1),
    "Gaussian": Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6),
    "Gaussian reals": Gaussian(sensitivity=0.7, rho=0.1, outputs=3),
    "narrow Gaussian": Gaussian(sensitivity=1, sigma=0.4),
}
every = pytest.mark.parametrize("m", ADDITIVE.values(), ids=ADDITIVE)


def mass(m: Additive, k: int) -> Any:  # noqa: ANN401 - mpmath is not typed
    """Return Pr[K = k] in grid steps; the Gaussian's normaliser by Poisson summation or directly."""
    if isinstance(m, Laplace):
        decay = MP.mpf(m.event.scale.denominator) / m.event.scale.numerator
        return MP.tanh(decay / 2) * MP.exp(-decay * abs(k))
    tau = MP.mpf(m.event.variance.numerator) / m.event.variance.denominator
    wide = m.event.variance > 50
    total = (
        MP.sqrt(2 * MP.pi * tau) if wide else MP.fsum(MP.exp(-(MP.mpf(j) ** 2) / (2 * tau)) for j in range(-99, 100))
    )
    return MP.exp(-(MP.mpf(k) ** 2) / (2 * tau)) / total


@every
def test_the_pmf_is_the_law_on_the_grid_and_0_elsewhere(m: Additive) -> None:
    wide = int(m.std / m.granularity)
    for k in {0, 1, -1, 2, wide, -3 * wide, 9 * wide}:
        expected = mass(m, k)
        if expected > 1e-300:
            assert abs(float(m.pmf(k * m.granularity)) / expected - 1) < 1e-12
    half = m.granularity / 2
    assert (m.pmf(half), m.pmf(-3 * half), m.pmf(inf), m.pmf(-inf)) == (0, 0, 0, 0)
    assert isnan(float(m.pmf(nan)))


@every
def test_the_distribution_function_steps_at_outputs(m: Additive) -> None:
    for k in (-3, -1, 0, 1, 7):
        x = k * m.granularity
        below, at = m.cdf(nextafter(x, -inf)), m.cdf(x)
        assert abs(float(at) - float(below) - float(m.pmf(x))) < 1e-15
        assert m.cdf(x + 0.4 * m.granularity) == at
        assert abs(float(at) + float(m.sf(x)) - 1) < 1e-15
    assert (m.cdf(-inf), m.cdf(inf), m.sf(-inf), m.sf(inf)) == (0, 1, 1, 0)
    assert isnan(float(m.cdf(nan)))
    assert isnan(float(m.sf(nan)))


@every
def test_quantiles_invert_the_distribution_function(m: Additive) -> None:
    for p in (1e-9, 0.2, 0.5, 0.8, 1 - 1e-9):
        x = float(m.quantile(p))
        if m.std / m.granularity > 1e9:  # steps are below the digits of the probabilities
            assert float(m.cdf(x)) == pytest.approx(p, rel=1e-8)
        else:
            assert float(m.cdf(x - 0.5 * m.granularity)) < p <= float(m.cdf(x))
    assert (m.quantile(0), m.quantile(1)) == (-inf, inf)
    assert np.asarray(m.quantile([0, 0.5, 1])).tolist() == [-inf, 0, inf]


def test_a_quantile_of_integer_noise_is_an_integer() -> None:
    assert [type(ADDITIVE["integers"].quantile(p)) for p in (0.3, 0.5, 0.99)] == [int, int, int]
    assert isinstance(ADDITIVE["reals"].quantile(0.3), float)


@every
def test_the_variance_is_the_sum_of_squares(m: Additive) -> None:
    step = m.granularity
    if m.std / step < 100:
        k = np.arange(-6000.0, 6001.0)
        expected = float((k * k * np.asarray(m.pmf(k * step))).sum()) * step**2
        assert m.variance == pytest.approx(expected, rel=1e-12)
    assert m.std == pytest.approx(m.variance**0.5, rel=1e-12)


@every
def test_the_continuous_law_is_close_where_the_grid_is_fine(m: Additive) -> None:
    if m.std / m.granularity > 1000:
        x = np.round(np.array([0.0, 0.5, -2.0, 4.0]) * m.std / m.granularity) * m.granularity
        assert np.allclose(m.pmf(x), np.asarray(m.pdf(x)) * m.granularity, rtol=1e-5)
        assert np.allclose(m.cdf(x), m.continuous.cdf(x), rtol=1e-2)
    assert m.pdf(0) == m.continuous.pdf(0)


def test_the_textbook_figures() -> None:
    m = Laplace(sensitivity=1, epsilon=0.1)
    assert (m.continuous.variance, m.pdf(0)) == (200, 0.05)
    assert m.variance == pytest.approx(
        float(2 * MP.exp(-MP.mpf(1) / 10) / (1 - MP.exp(-MP.mpf(1) / 10)) ** 2), rel=1e-13
    )
    assert 2 * float(m.sf(29)) == pytest.approx(0.0523, abs=1e-4)  # Pr[|noise| ≥ 30]


def test_a_vector_has_the_product_of_the_laws() -> None:
    m = ADDITIVE["reals"]
    step = m.granularity
    x = np.array([[0, step], [3 * step, -step], [step / 2, 0]])
    for function in (m.pmf, m.pdf):
        each = np.asarray(function(x))
        assert each.shape == (3, 2)
        assert np.allclose(function(x, joint=True), each.prod(axis=1), rtol=1e-15)
        assert function(x[0], joint=True) == pytest.approx(each[0].prod(), rel=1e-15)
    assert np.asarray(m.pmf(x, joint=True))[2] == 0


def test_integers_of_any_size_and_shape_are_points() -> None:
    m = ADDITIVE["integers"]
    assert np.asarray(m.cdf([[10**400, -(10**400)], [0, 1]])).shape == (2, 2)
    assert (m.cdf(10**400), m.sf(-(10**400)), m.pmf(10**30)) == (1, 1, 0)
    assert m.pmf(np.int32(2)) == m.pmf(2.0) == m.pmf(2)


# The confidence of an error.


@every
@pytest.mark.parametrize("outputs", [1, 20])
def test_the_confidence_is_the_inverse_of_the_error(m: Additive, outputs: int) -> None:
    for confidence in (0.01, 0.5, 0.95, 1 - 1e-9):
        error = m.error(confidence=confidence, outputs=outputs)
        reached = m.confidence(error=error, outputs=outputs)
        assert reached >= confidence * (1 - 1e-8)
        assert m.error(confidence=reached, outputs=outputs) <= error
        if reached < 1 - 1e-7:
            assert m.error(confidence=reached + 1e-8, outputs=outputs) > error


@pytest.mark.parametrize("outputs", [1, 7])
def test_the_confidence_of_laplace_noise_has_twelve_digits(outputs: int) -> None:
    m = Laplace(sensitivity=1, epsilon=0.1)
    r = MP.exp(-MP.mpf(1) / 10)
    for t in (0, 1, 30, 31.9, 250):
        expected = (1 - 2 * r ** (int(t) + 1) / (1 + r)) ** outputs
        assert abs(m.confidence(error=t, outputs=outputs) / expected - 1) < 1e-12
        assert m.confidence(error=t, outputs=outputs) <= expected


def test_an_error_of_a_vector_is_joint_over_its_outputs() -> None:
    m = ADDITIVE["Gaussian reals"]
    assert m.confidence(error=2.0) == m.confidence(error=2.0, outputs=3) < m.confidence(error=2.0, outputs=1)


def test_an_error_below_the_rounding_has_no_confidence() -> None:
    assert ADDITIVE["a coarse grid"].confidence(error=0.04) == 0
    assert ADDITIVE["a coarse grid"].confidence(error=0) == 0
    assert ADDITIVE["integers"].confidence(error=0) == pytest.approx(ADDITIVE["integers"].pmf(0), rel=1e-12)


@pytest.mark.parametrize(("error", "steps"), [(0.05, 0), (0.14, 0), (0.15, 1), (0.3, 2), (0.34, 2), (0.35, 3)])
def test_the_error_of_a_real_includes_half_a_step_of_rounding(error: float, steps: int) -> None:
    m = ADDITIVE["a coarse grid"]
    assert m.granularity == 0.1
    expected = MP.fsum(mass(m, k) for k in range(-steps, steps + 1))
    assert m.confidence(error=error) == pytest.approx(float(expected), rel=1e-12)


def test_a_confidence_is_below_1() -> None:
    assert ADDITIVE["integers"].confidence(error=10**9) == 1 - 2.0**-53


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip, NoisyMax])
@pytest.mark.parametrize("sensitivity", [1, 0.5])
def test_the_confidence_of_a_choice_is_the_inverse(kind: type[Exponential], sensitivity: float) -> None:
    m = kind(sensitivity=sensitivity, epsilon=1)
    for confidence in (0.1, 0.95, 0.999999):
        error = m.error(confidence=confidence, candidates=10)
        reached = m.confidence(error=error, candidates=10)
        assert reached == pytest.approx(confidence, rel=1e-12)
        assert m.error(confidence=reached, candidates=10) <= error
    assert m.confidence(error=0, candidates=10) == 0


@pytest.mark.parametrize("n", [20, 3000])
def test_the_confidence_of_randomized_response_is_the_inverse(n: int) -> None:
    m = RandomizedResponse(epsilon=1)
    error = m.error(confidence=0.9, n=n)
    reached = m.confidence(error=error, n=n)
    assert reached >= 0.9
    assert m.error(confidence=reached, n=n) <= error
    assert m.confidence(error=0, n=n) == 0


def test_the_confidence_of_other_mechanisms_is_the_inverse() -> None:
    alarm = AboveThreshold(sensitivity=1, epsilon=1, threshold=100)
    median = SmoothMedian(bounds=(0, 200_000), epsilon=1, delta=1e-6)
    tested = ProposeTestRelease(bound=1.0, epsilon=1, delta=1e-6)
    assert alarm.confidence(error=alarm.error(confidence=0.9, queries=5), queries=5) >= 0.9
    assert alarm.error(confidence=alarm.confidence(error=30)) <= 30
    assert median.confidence(error=median.error(confidence=0.9, smooth=10), smooth=10) == pytest.approx(0.9, abs=1e-3)
    assert tested.confidence(error=tested.error(confidence=0.9)) == pytest.approx(0.9, abs=1e-3)
    assert tested.noise.error() == tested.error()


@pytest.mark.parametrize("bad", [-1, nan, inf, "3", None, [3]], ids=short)
def test_an_error_must_be_a_number(bad: Any) -> None:  # noqa: ANN401
    refused("error", lambda: ADDITIVE["integers"].confidence(error=bad))
    refused("error", lambda: Exponential(sensitivity=1, epsilon=1).confidence(error=bad, candidates=3))
    refused("error", lambda: RandomizedResponse(epsilon=1).confidence(error=bad, n=3))


# The ratio of two neighbours.


@pytest.mark.parametrize("m", [ADDITIVE["integers"], ADDITIVE["Gaussian"]], ids=repr)
def test_the_ratio_is_the_quotient_of_the_probabilities(m: Additive) -> None:
    z = np.arange(-60, 60)
    expected = np.asarray(m.pmf(z - 5)) / np.asarray(m.pmf(z - 6))
    assert np.allclose(m.ratio(z, value=5, neighbour=6), expected, rtol=1e-12)


def test_the_ratio_of_laplace_noise_is_within_the_band_everywhere() -> None:
    m = Laplace(sensitivity=3, epsilon=0.7)
    z = np.array([-(10**9), -100, -1, 0, 1, 2, 3, 4, 100, 10**9])
    ratio = np.asarray(m.ratio(z, value=0, neighbour=3))
    assert ratio.max() == pytest.approx(exp(0.7), rel=1e-6)
    assert ratio.min() == pytest.approx(exp(-0.7), rel=1e-6)
    reals = Laplace(sensitivity=1.5, epsilon=1.0)
    assert reals.ratio(1.3, value=0.0, neighbour=1.5) == pytest.approx(exp((0.2 - 1.3) / 1.5), rel=1e-5)


@pytest.mark.parametrize(
    ("z", "value", "neighbour"),
    [
        (10**15, 0, 1),
        (-(10**15), 0, 1),
        (2**60, 2**60 + 1, 2**60),
        (2**60 + 1, 2**60 + 1, 2**60),
        (2**62, -(2**62), 1 - 2**62),
        (10**400, 1, 0),
    ],
)
def test_the_ratio_of_large_integers_is_exact(z: int, value: int, neighbour: int) -> None:
    laplace, gaussian = Laplace(sensitivity=1, epsilon=0.1), Gaussian(sensitivity=1, sigma=10**8)
    expected = exp((abs(z - neighbour) - abs(z - value)) / 10)
    assert laplace.ratio(z, value=value, neighbour=neighbour) == pytest.approx(expected, rel=1e-15)
    moved = Fraction((z - neighbour) ** 2 - (z - value) ** 2, 2 * 10**16)
    expected = float(MP.exp(MP.mpf(moved.numerator) / moved.denominator))
    assert gaussian.ratio(z, value=value, neighbour=neighbour) == pytest.approx(expected, rel=1e-12)


def test_the_ratio_of_mixed_points_keeps_their_shape() -> None:
    m = Laplace(sensitivity=1, epsilon=0.1)
    up, down = exp(0.1), exp(-0.1)
    assert np.allclose(m.ratio([[1e15, -1e15], [2**60 + 1, 0.5]], value=0, neighbour=1), [[down, up], [down, up]])
    assert np.isnan(m.ratio([nan, inf, -inf], value=0, neighbour=1)).all()
    assert np.asarray(m.ratio([], value=0, neighbour=1)).shape == (0,)
    reals = Laplace(sensitivity=1.0, epsilon=0.1)
    assert reals.ratio(1e12, value=0.0, neighbour=1.0) == pytest.approx(down, rel=1e-5)
    with pytest.raises(InvalidError):
        m.ratio("1", value=0, neighbour=1)


# Simulation.


def test_a_sample_is_repeated_by_its_seed_and_draws_no_bits_of_a_release() -> None:
    scores = {"a": 3, "b": 2}
    with silence():
        for m in ADDITIVE.values():
            first, again, other = (m.sample(50, seed=seed) for seed in (1, 1, 2))
            assert (first == again).all()
            assert (first != other).any() or m.std < 1
        choice = Exponential(sensitivity=1, epsilon=1)
        assert (
            choice.sample(50, scores, seed=1) == choice.sample(50, scores, seed=1) != choice.sample(50, scores, seed=2)
        )
        bits = RandomizedResponse(epsilon=1)
        assert (bits.sample(50, seed=1) == bits.sample(50, seed=1)).all()
        assert (bits.sample(50, seed=1) == ~bits.sample(50, seed=1, bit=False)).all()


def test_a_sample_has_the_shape_and_the_grid_of_releases() -> None:
    assert ADDITIVE["integers"].sample(5, seed=0).dtype == np.int64
    drawn = ADDITIVE["Gaussian reals"].sample(5, seed=0)
    assert drawn.shape == (5, 3)
    assert (np.asarray(ADDITIVE["Gaussian reals"].pmf(drawn)) > 0).all()


@pytest.mark.parametrize("m", [ADDITIVE["integers"], ADDITIVE["Gaussian"], ADDITIVE["narrow Gaussian"]], ids=repr)
@pytest.mark.parametrize("source", ["sample", "release"])
def test_samples_and_releases_have_the_law(m: Additive, source: str) -> None:
    """False alarm 1e-13. A law with 1.3 times the spread passes with probability below 1e-6."""
    size = 20_000
    drawn = m.sample(size, seed=7) if source == "sample" else np.asarray(m.release(np.zeros(size, dtype=np.int64)))
    reach = int(2 * m.std) + 1
    edges = np.arange(-reach, reach + 1)

    def chances(law: Additive) -> list[float]:
        inner = np.asarray(law.pmf(edges)).tolist()
        return [float(law.cdf(-reach - 1)), *inner, float(law.sf(reach))]

    tally = np.bincount(np.clip(drawn, -reach - 1, reach + 1) + reach + 1, minlength=edges.size + 2)
    assert p_value(tally, chances(m)) > FALSE_ALARM
    wider = Laplace(sensitivity=1, scale=13) if isinstance(m, Laplace) else Gaussian(sensitivity=1, sigma=1.3 * m.sigma)
    assert miss(chances(m), chances(wider), size) < 1e-6


@pytest.mark.parametrize("bad", [-1, 1.5, None, "1", True], ids=short)
def test_a_seed_must_be_a_whole_number(bad: Any) -> None:  # noqa: ANN401
    refused("seed", lambda: ADDITIVE["integers"].sample(3, seed=bad))
    refused("seed", lambda: RandomizedResponse(epsilon=1).sample(3, seed=bad))
    refused("seed", lambda: Exponential(sensitivity=1, epsilon=1).sample(3, [1, 2], seed=bad))


@pytest.mark.parametrize("bad", NOT_A_COUNT, ids=short)
def test_a_number_of_draws_must_be_a_count(bad: Any) -> None:  # noqa: ANN401
    refused("n", lambda: ADDITIVE["integers"].sample(bad, seed=1))


# Choices.


@pytest.mark.parametrize("monotone", [False, True])
def test_probabilities_are_those_of_enumeration(*, monotone: bool) -> None:
    rate = Fraction(7, 10) if monotone else Fraction(7, 20)
    for scores in product((0, 1, 4), repeat=3):
        weights = oracles_selection.real_weights([Fraction(score) for score in scores], rate)
        flips = oracles_selection.permute_and_flip(weights)
        for kind, law in (
            (Exponential, oracles_selection.exponential(weights)),
            (PermuteAndFlip, flips),
            (NoisyMax, flips),
        ):
            got = kind(sensitivity=1, epsilon=0.7, monotone=monotone).probabilities(scores)
            assert list(got) == [0, 1, 2]
            assert np.allclose(list(got.values()), [float(chance) for chance in law], rtol=1e-12, atol=0)


def test_noisy_max_of_reals_has_the_law_of_its_rounded_scores() -> None:
    m = NoisyMax(sensitivity=0.5, epsilon=1)
    got = m.probabilities([0.1, 0.30000001, 0.2])
    near = PermuteAndFlip(sensitivity=0.5, epsilon=1).probabilities([0.1, 0.30000001, 0.2])
    assert np.allclose(list(got.values()), list(near.values()), rtol=1e-5)
    with pytest.raises(InvalidError, match="floats"):
        NoisyMax(sensitivity=1, epsilon=1).probabilities([0.5, 1.0])


def test_choices_have_their_probabilities() -> None:
    """False alarm 1e-13 for each mechanism; the exponential mechanism's law is rejected for the others."""
    scores, size = {"x": 5, "y": 3, "z": 3}, 20_000
    other = list(Exponential(sensitivity=1, epsilon=1).probabilities(scores).values())
    for kind in (Exponential, PermuteAndFlip, NoisyMax):
        m = kind(sensitivity=1, epsilon=1)
        law = m.probabilities(scores)
        for drawn in (m.sample(size, scores, seed=3), [m.choose(scores) for _ in range(2000)]):
            tally = [drawn.count(name) for name in scores]
            assert p_value(tally, list(law.values())) > FALSE_ALARM
        if kind is not Exponential:
            assert miss(other, list(law.values()), size) < 1e-6


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
@pytest.mark.parametrize("size", [1e200, 1e308])
def test_scores_at_the_ends_of_the_floats_have_a_shortfall(
    kind: type[Exponential | PermuteAndFlip], size: float
) -> None:
    law = kind(sensitivity=1, epsilon=1).shortfall([size, -size])
    assert (law.mean, law.variance, law.std, law.quantile(0.99)) == (0, 0, 0, 0)
    assert law.cdf(0) == pytest.approx(1, rel=1e-15)


def test_the_shortfall_is_the_law_of_the_distance_from_the_best() -> None:
    m = Exponential(sensitivity=1, epsilon=1)
    law = m.shortfall({"a": 12, "b": 9, "c": 11, "d": 9})
    chances = m.probabilities({"a": 12, "b": 9, "c": 11, "d": 9})
    assert law.values.tolist() == [0, 1, 3]
    assert np.allclose(law.probabilities, [chances["a"], chances["c"], chances["b"] + chances["d"]], rtol=1e-15)
    assert float(law.sf(1)) <= 1 - m.confidence(error=1, candidates=4)


@pytest.mark.parametrize("scores", [[1.0, nan], [1.0, inf], [-inf, 0.0], [], ["a"], {"a": None}], ids=short)
def test_scores_without_a_law_are_refused(scores: Any) -> None:  # noqa: ANN401
    for kind in (Exponential, PermuteAndFlip, NoisyMax):
        m = kind(sensitivity=0.5, epsilon=1)
        refused("scores", lambda m=m: m.probabilities(scores))  # type: ignore[misc]
        refused("scores", lambda m=m: m.shortfall(scores))  # type: ignore[misc]
        refused("scores", lambda m=m: m.sample(3, scores, seed=1))  # type: ignore[misc]


def test_one_candidate_and_extreme_scores_have_a_law() -> None:
    for kind in (Exponential, PermuteAndFlip, NoisyMax):
        m = kind(sensitivity=1, epsilon=1)
        assert m.probabilities({"only": 7})["only"] == pytest.approx(1, rel=1e-14)
        assert m.probabilities([2**62, -(2**62)])[0] == pytest.approx(1, rel=1e-14)


# Bits, thresholds and tests.


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 30.0, 5000.0])
def test_the_law_of_an_answer(epsilon: float) -> None:
    m = RandomizedResponse(epsilon=epsilon)
    odds = MP.exp(-MP.mpf(min(epsilon, 700)))
    kept, flipped = 1 / (1 + odds), odds / (1 + odds)
    for bit, (zero, one) in ((True, (flipped, kept)), (False, (kept, flipped))):
        assert np.allclose(m.pmf([0, 1], bit=bit), [float(zero), float(one)], rtol=1e-12, atol=0)
        assert (m.pmf(0.5, bit=bit), m.pmf(2, bit=bit), m.cdf(-0.1, bit=bit), m.cdf(1, bit=bit)) == (0, 0, 0, 1)
        assert m.cdf(0.5, bit=bit) == pytest.approx(float(zero), rel=1e-12)
        assert m.sf(0, bit=bit) == pytest.approx(float(one), rel=1e-12)
        assert (m.quantile(0, bit=bit), m.quantile(1, bit=bit)) == (0, 1)
    assert m.variance == pytest.approx(float(kept * flipped), rel=1e-12)
    assert m.std == m.variance**0.5
    assert isnan(float(m.pmf(nan)))
    refused("bit", lambda: m.pmf(0, bit=1))  # type: ignore[arg-type]


@pytest.mark.parametrize("monotone", [False, True])
def test_the_probability_of_a_first_yes(*, monotone: bool) -> None:
    m = AboveThreshold(sensitivity=2, epsilon=1, threshold=50, monotone=monotone)
    scales = (float(m._scales[0]), float(m._scales[1]))
    for value in (-20, 49, 50, 51, 90):
        expected = oracles_selection.above_threshold([value], 50, scales)[0]
        assert m.probability(value) == pytest.approx(float(expected), rel=1e-11)
    assert not m.fired
    assert (m.probability(-(10**9)), m.probability(10**9)) == (0, 1)


def test_the_probability_of_a_release() -> None:
    m = ProposeTestRelease(bound=1, epsilon=1, delta=1e-6)
    assert m.probability(distance=0) <= 1e-6 < m.probability(distance=1)
    assert m.probability(distance=m.needed_distance(confidence=0.9)) >= 0.9
    assert m.probability(distance=m.needed_distance(confidence=0.9) - 1) < 0.9
    refused("distance", lambda: m.probability(distance=-1))


@pytest.mark.parametrize("bad", ["1", None, [True, False], [[1], [2, 3]]], ids=short)
def test_a_point_must_be_a_number(bad: Any) -> None:  # noqa: ANN401
    m = ADDITIVE["integers"]
    for function in (m.pmf, m.pdf, m.cdf, m.sf):
        refused("x", lambda function=function: function(bad))  # type: ignore[misc]
    refused("p", lambda: m.quantile(bad))
    refused("p", lambda: m.quantile([0.5, 1.5]))


def test_a_notebook_shows_the_spread() -> None:
    assert "std" in ADDITIVE["integers"]._repr_html_()
    assert "sensitivity" in Exponential(sensitivity=1, epsilon=1)._repr_html_()
