"""Rows 65 to 86: (ε, δ), Gaussian noise, the privacy loss and its moments."""

from __future__ import annotations

from math import erf, exp, log, sqrt, tanh

import numpy as np
import pytest

import tacit
from lecture_notes.figures import curves
from lecture_notes.rows import row, tc

FIRST, MECHANISMS, COMPOSITION = (
    "docs/tutorial/first-release.md",
    "docs/reference/mechanisms.md",
    "docs/reference/composition.md",
)
DEFINITIONS, MOMENTS, LAWS = (
    "docs/explanation/definitions.md",
    "docs/explanation/moments.md",
    "docs/explanation/laws.md",
)
CALIBRATE = "docs/how-to/calibrate-many-uses.md"
M, N, EPSILON, DELTA, BETA = 20, 1000, 0.5, 1e-6, 0.05


@row(65, "(ε, δ)-DP", DEFINITIONS)
def approximate() -> None:
    """Check the inequality for every tail of Gaussian noise, the worst sets of outputs."""
    loss = tc.Gaussian(sensitivity=1, sigma=2).loss
    weights = {k: exp(-k * k / 8) for k in range(-60, 61)}
    total = sum(weights.values())
    gaps = [
        sum(weights[k] for k in range(t, 60)) - exp(0.5) * sum(weights[k + 1] for k in range(t, 60))
        for t in range(-20, 30)
    ]
    assert max(gaps) / total == pytest.approx(loss.delta(epsilon=0.5).upper)


@row(66, "global sensitivity", MECHANISMS)
def global_sensitivity() -> None:
    found = tc.sensitivity.of(sorted, domain=[0, 3], n=3, neighbours="change one")
    assert (found.l1, found.l2_squared, found.linf) == (3, 9, 3)


@row(67, "the Laplace mechanism", MECHANISMS)
def laplace() -> None:
    """Check the law e^(-|z|ε/Δ), that neighbours' laws are within e^ε and reach it, and that releases have the law."""
    m, z = tc.Laplace(sensitivity=2, epsilon=0.5), np.arange(-60, 61)
    assert m.scale == 4
    np.testing.assert_allclose(m.pmf(z), tanh(1 / 8) * np.exp(-np.abs(z) / 4), rtol=1e-12)
    for neighbour in (-2, -1, 1, 2):
        ratios = m.ratio(z, value=0, neighbour=neighbour)
        assert np.max(ratios) == pytest.approx(exp(0.25 * abs(neighbour)))
    n = 20_000
    released = m.release(np.full(n, 10)) - 10
    for t in (-8, -2, 0, 3, 9):  # beyond 6.5 standard errors with probability 1e-10
        chance = m.cdf(t)
        assert abs(np.mean(released <= t) - chance) < 6.5 * sqrt(chance * (1 - chance) / n)


@row(68, "accuracy: (Δ/ε)·ln(1/β)", FIRST)
def accuracy() -> None:
    m = tc.Laplace(sensitivity=1.0, epsilon=0.1)
    for beta in (0.05, 0.1):
        assert m.error(confidence=1 - beta) == pytest.approx(10 * log(1 / beta), rel=1e-4)
    assert tc.Laplace.for_error(30, sensitivity=1.0).guarantee.epsilon == pytest.approx(log(20) / 30, rel=1e-4)


@row(69, "m counting queries: L1 sensitivity m", MECHANISMS)
def counts() -> None:
    assert tc.sensitivity.counts(M, neighbours="change one").l1 == M


@row(70, "the Laplace mechanism on vectors", MECHANISMS)
def vector() -> None:
    """Check the scale, that m losses add up to ε and no more, and the law of the noise of each output."""
    assert tc.Laplace(sensitivity=M / N, epsilon=EPSILON, outputs=M).scale == pytest.approx(0.2 / 5, rel=1e-5)
    m = tc.Laplace(sensitivity=M, epsilon=EPSILON, outputs=M)
    whole = tc.Laplace(sensitivity=1, scale=m.scale)
    assert M * whole.loss.at(0, on=0, against=1) == pytest.approx(EPSILON)
    n = 2000
    noise = m.release(np.zeros((n, M), dtype=int))
    chance = whole.cdf(-10)
    shares = (noise <= -10).mean(axis=0)
    assert np.max(np.abs(shares - chance)) < 8 * sqrt(chance * (1 - chance) / n)  # beyond with probability 3e-14


@row(71, "joint accuracy of m queries", DEFINITIONS)
def joint_accuracy() -> None:
    m = tc.Laplace(sensitivity=M / N, epsilon=EPSILON, outputs=M)
    error = m.error(confidence=1 - BETA)
    assert 0.2386 < error < M / (N * EPSILON) * log(M / BETA)
    assert 1 - (1 - exp(-error / m.scale)) ** M == pytest.approx(BETA, rel=1e-3)


@row(72, "L2 sensitivity √m", MECHANISMS)
def l2() -> None:
    assert tc.sensitivity.counts(M, neighbours="add/remove").l2 == pytest.approx(sqrt(M))


@row(73, "the Gaussian mechanism, σ² = 2·ln(1.25/δ)·Δ²/ε²", MECHANISMS)
def gaussian() -> None:
    m = tc.Gaussian(sensitivity=1.0, epsilon=EPSILON, delta=DELTA, method="classic")
    assert m.sigma == pytest.approx(sqrt(2 * log(1.25 / DELTA)) / EPSILON, rel=1e-4)
    assert tc.Gaussian(sensitivity=1, epsilon=EPSILON, delta=DELTA).sigma < m.sigma
    with pytest.raises(tacit.InvalidError):
        tc.Gaussian(sensitivity=1, epsilon=10, delta=DELTA, method="classic")


@row(74, "it is (ε, δ)-DP", MECHANISMS)
def gaussian_guarantee() -> None:
    m = tc.Gaussian(sensitivity=1, epsilon=EPSILON, delta=DELTA, method="classic")
    assert tc.compose([m]).delta(epsilon=EPSILON).upper < 2e-9


@row(75, "joint accuracy of Gaussian noise", MECHANISMS)
def gaussian_accuracy() -> None:
    m = tc.Gaussian(sensitivity=sqrt(M) / N, epsilon=EPSILON, delta=DELTA, outputs=M)
    bound = 2 * sqrt(M) / (N * EPSILON) * sqrt(log(1.25 / DELTA) * log(M / BETA))
    error = m.error(confidence=1 - BETA)
    assert error <= bound
    assert erf(error / m.sigma / sqrt(2)) ** M == pytest.approx(1 - BETA, rel=1e-3)


@row(76, "Laplace against Gaussian", LAWS)
def crossing() -> None:
    found = [tc.compare_noise(l1=float(m), l2=sqrt(m), outputs=m, epsilon=1, delta=DELTA).better for m in (5, 6)]
    assert found == ["laplace", "gaussian"]
    lines = curves(tc.figures.laplace_and_gaussian(epsilon=1, delta=DELTA))
    for m in (1, 10, 100):
        both = tc.compare_noise(l1=float(m), l2=sqrt(m), outputs=m, epsilon=1, delta=DELTA)
        assert lines["Laplace"][m] == pytest.approx(both.laplace_error)
        assert lines["Gaussian"][m] == pytest.approx(both.gaussian_error)


@row(77, "the privacy loss: at most ε for ε-DP", MOMENTS)
def loss() -> None:
    found = tc.Laplace(sensitivity=3, epsilon=1).loss
    assert max(abs(found.at(z, on=0, against=3)) for z in range(-9, 9)) == 1
    assert found.exceeds(epsilon=1).upper == 0


@row(78, 'Pr[abs(L) ≤ ε] ≥ 1 - δ: "not exactly"', DEFINITIONS)
def not_exactly() -> None:
    found = tc.compose([(tc.Laplace(sensitivity=1.0, epsilon=0.1), 100)]).loss
    tail, delta = found.exceeds(epsilon=4.6927), found.delta(epsilon=4.6927)
    assert 6.1e-6 < tail.lower <= tail.upper < 6.2e-6
    assert tail.lower > 5 * delta.upper


@row(79, "standard composition: Σε and Σδ", COMPOSITION)
def standard() -> None:
    total = tc.compose([(tc.ApproxDP(epsilon=0.1, delta=1e-6), 3)])
    assert total.epsilon(delta=3e-6, rule="basic").upper == 0.3


@row(80, "n queries under (ε, δ): error O(√n/ε)", CALIBRATE)
def many_queries() -> None:
    budget = tc.ApproxDP(epsilon=1, delta=1e-6)
    scales = [tc.calibrate(tc.Laplace, uses=n, budget=budget, sensitivity=1).mechanism.scale for n in (100, 10_000)]
    assert scales == [pytest.approx(41.7, rel=0.01), pytest.approx(422.5, rel=0.01)]


@row(81, "advanced composition: kδ + δ'", COMPOSITION)
def advanced() -> None:
    total = tc.compose([(tc.ApproxDP(epsilon=0.01, delta=1e-9), 100)])
    assert total.epsilon(delta=1e-6 + 1e-7, rule="advanced").upper == pytest.approx(0.535702, abs=1e-6)


@row(82, "the three roles of δ", DEFINITIONS)
def roles() -> None:
    failure = tc.compose([tc.ApproxDP(epsilon=1, delta=1e-6)])
    noise = tc.compose([tc.Gaussian(sensitivity=1, epsilon=1, delta=1e-6)])
    assert failure.delta(epsilon=2).upper == 1e-6
    assert noise.delta(epsilon=2).upper < 1e-17


@row(83, "moments of the privacy loss", MOMENTS)
def moments() -> None:
    found = tc.compose([tc.GaussianDP(mu=1)]).loss
    assert [found.moment(n) for n in (1, 2, 3)] == [0.5, 1.25, 1.625]
    assert [found.moment(n, central=True) for n in (1, 2, 3, 4)] == [0, 1, 0, 3]


@row(84, "the moment generating function", MOMENTS)
def generating() -> None:
    total = tc.compose([tc.Gaussian(sensitivity=1, sigma=2)])
    assert total.log_moments([1, 2, 3]) == pytest.approx([0.25, 0.75, 1.5])


@row(85, "other privacy definitions", COMPOSITION)
def other() -> None:
    for guarantee in (tc.ZCDP(rho=0.1), tc.RenyiDP(alpha=8, epsilon=0.5), tc.GaussianDP(mu=1)):
        assert 0 < guarantee.epsilon(delta=1e-6) < 5


@row(86, "beyond global sensitivity", MECHANISMS)
def smooth() -> None:
    values = np.linspace(0, 200_000, 5001)
    found = tc.SmoothMedian(bounds=(0, 200_000), epsilon=1, delta=1e-6).release(values)
    assert abs(found - 100_000) < 60_000
    size = tc.sensitivity.of(lambda rows: sorted(rows)[2], domain=range(5), n=5, neighbours="change one")
    assert size.local([1, 2, 2, 2, 4]).l1 == 0
    assert 0 < size.smooth([1, 2, 2, 2, 4], epsilon=1, delta=1e-6) <= size.l1 == 4
