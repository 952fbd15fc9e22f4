"""Intervals at confidences far above 95 %, which groups need that share the chance of a miss.

Every test here is exact: it takes noise that the proofs allow and asks that the interval holds, or adds up a law.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from bounded import REAL, Row, bounds, measured, plan_of, policy
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.moment_intervals import noisy_sums
from tacit.query.aggregates.quantile_trees import Tree, shape
from tacit.query.aggregates.ranks import Ranks, TreeNoise
from tacit.query.aggregates.statistic import Released, miss_rate
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.noise_tails import laplace_bounds, laplace_reach
from tacit.query.plan import Ask
from tacit.query.pricing.partition_selection import TruncatedLaplace
from tacit.query.pricing.price import Cost, price

ROW = policy(unit=None)
BETAS = [0.04, 1 / 8000, 1e-7, 1e-12]


def one(law: Law, scale: float) -> NoiseLaw:
    amount = Fraction(scale) if law == "laplace" else Fraction(scale) ** 2
    return NoiseLaw(law=law, amount=amount, sensitivity=1, moving=1)


def test_a_confidence_keeps_the_digits_of_what_it_leaves() -> None:
    assert miss_rate(0.95) == Fraction(1, 20)
    assert miss_rate(1 - Fraction(1, 10**30)) == Fraction(1, 10**30)


# --- variances ----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spend", [("laplace", 0.2), ("gaussian", 0.02)])
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("function", ["var_pop", "var_samp"])
def test_a_variance_is_held_if_its_mean_and_its_contrast_are_within_their_quantiles(
    function: str, beta: float, spend: tuple[Law, float]
) -> None:
    """Noise of any size, for rows at a bound, near it and apart: where both tests keep the truth, so does the interval.

    The test of second order alone does not: see the last assertion.
    """
    law, size = spend
    ask = Ask(function=function, values=(REAL,), bounds=(bounds(0, 10),))
    plan, random = plan_of(ROW, ask), np.random.default_rng(7)
    noise = (price(plan, Cost(epsilon=size)) if law == "laplace" else price(plan, Cost(rho=size))).noise[0]
    statistic, narrow = STATISTICS[function], 0
    for values in ([0.0] * 50, [0.0] * 40 + [1.0] * 10, [0.0, 10.0] * 25):
        rows: list[Row] = [{"x": x} for x in values]
        exact = [column[0] for column in measured(plan, rows)]
        truth = float(np.var(values, ddof=int(function == "var_samp")))
        for drawn in random.laplace(size=(150, 3)) * noise.scale * random.choice([1, 3, 8], size=(150, 1)):
            released = Released(plan.bundles[0], tuple(int(x + k) for x, k in zip(exact, drawn, strict=True)), noise)
            if not allowed(released, exact, float(np.mean(values)) / 10, truth / 100, beta):
                continue
            low, high = statistic.interval(ask, [released], 1 - Fraction(repr(beta)))
            assert low - 1e-6 <= truth <= high + 1e-6
            test = statistic._contrast(released)  # type: ignore[attr-defined]
            narrow += test is not None and test.chance(truth / 100) <= beta
    assert narrow > 0 or beta in (0.04, 1e-12)


def allowed(released: Released, exact: list[int], mean: float, theta: float, beta: float) -> bool:
    """Return whether the noise of Σ(t-m) and of Σ(t-m)² - θ·n at the truth is within its quantile at β/2 each."""
    unit = released.bundle.measures[2].high << released.bundle.measures[2].fraction_bits
    z = noisy_sums(released, (unit,) * 3)
    drawn = z.sums - np.array(exact) / unit
    of_mean = np.array([-mean, 1 / 2 - mean, 1 - mean])
    of_square = np.array([mean**2, -mean * (1 - mean), (1 - mean) ** 2]) - theta
    return all(z.beyond(weights, abs(float(weights @ drawn))) > beta / 2 for weights in (of_mean, of_square))


# --- averages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.2, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("beta", [1e-3, 1e-5, 1e-8])
def test_the_tail_of_two_draws_is_bounded_far_out(law: Law, scale: float, beta: float) -> None:
    """All pairs of draws that together have probability 1 - 1e-14; added up from the smallest."""
    noise, reach = one(law, scale), ceil(scale * (35 if law == "laplace" else 9)) + 3
    k = np.arange(-reach, reach + 1.0)
    p = np.exp(-np.abs(k) / scale) if law == "laplace" else np.exp(-k * k / (2 * scale**2))
    p /= p.sum()
    chances, tail = np.outer(p, p), noise.mixture()
    for share in (0.0, 0.02, 1 / 3, 0.5, 0.9):
        sizes = np.abs((1 - share) * k[:, None] - share * k[None, :])
        low, high = 0.0, 100.0 * (scale + 1)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if tail(1 - share, share, middle) > beta else (low, middle)
        assert float(np.sort(chances[sizes > high]).sum()) <= beta


# --- quantiles ----------------------------------------------------------------------------------------------------


def tree_noise(bins: int, law: Law) -> TreeNoise:
    form = shape(bins)
    scale = float(form.levels)
    return TreeNoise(
        Tree(form, ((2 if law == "laplace" else 1) * scale**2,) * form.levels), law, (scale,) * form.levels
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("bins", [5, 121, 700])
@pytest.mark.parametrize("q", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("beta", [0.04, 1 / 8000, 1e-6])
def test_every_edge_that_noise_allows_is_in_the_interval(law: Law, bins: int, q: float, beta: float) -> None:
    """An edge at which |D| is within its reach may be the quantile; the interval must hold it."""
    noise, random = tree_noise(bins, law), np.random.default_rng(3)
    size = noise.tree.shape.bins
    edges = np.linspace(0, size, min(size, 40) + 1).astype(np.int64)
    reaches = {int(edge): noise.reach((min(int(edge), size - 1), float(edge == size)), q, beta) for edge in edges}
    for rows in (2, 30, 400):
        counts = rows + random.laplace(size=(4, size)) * np.array([[1.0], [2.0], [4.0], [8.0]])
        for fitted in counts:
            ranks = Ranks(np.concatenate(([0.0], np.cumsum(fitted))), noise)
            rank = 3 * float(noise.deviations(q).max()) if q == 0 else 0.0
            (first, low), (last, high) = ranks.ends(q, rank, beta)
            excess = ranks.before - q * ranks.rows - rank
            kept = [edge for edge, reach in reaches.items() if abs(excess[edge]) <= reach]
            assert all(first + low - 1e-9 <= edge <= last + high + 1e-9 for edge in kept)


@pytest.mark.parametrize("q", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("beta", [0.04, 1e-4, 1e-6])
def test_the_reach_of_a_rank_is_convex_within_a_bin_and_below_its_bound(q: float, beta: float) -> None:
    for bins in (5, 121, 700):
        noise = tree_noise(bins, "laplace")
        bound, size = noise.bounds(q, beta), noise.tree.shape.bins
        for number in {0, 1, 2, size // 3, size // 2, size - 1}:
            places = [(number, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
            z = np.array([noise.reach(place, q, beta) for place in places])
            assert np.diff(z, 2).min() > -1e-4 * z.max()
            assert z[0] <= bound[number] * (1 + 1e-3)


@pytest.mark.parametrize("beta", [0.04, 1e-4, 1e-6, 1e-15])
def test_many_bounds_are_those_of_each_sum(beta: float) -> None:
    scales, counts = np.array([[1.0, 3.0, 0.0], [0.5, 2.0, 0.0]]), np.array([[1.0, 4.0, 2.0], [30.0, 0.0, 1.0]])
    found = laplace_bounds(scales, counts, beta)
    for place in range(2):
        exact = laplace_reach(scales[:, place], counts[:, place], beta)
        assert exact * (1 - 1e-3) <= found[place] <= 1.7 * exact
    assert found[2] == 0


# --- groups that are found ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**14), Fraction(1, 10**18)])
@pytest.mark.parametrize(("scale", "most"), [(Fraction(1), 14), (Fraction(3), 40), (Fraction(1), 60)])
def test_a_found_groups_units_are_held_by_the_law_of_what_is_shown(beta: Fraction, scale: Fraction, most: int) -> None:
    """For each number of units, all noise that shows the group is added up with 50 digits."""
    law = TruncatedLaplace(
        law="laplace",
        amount=scale,
        sensitivity=1,
        moving=1,
        most=most,
        coin=Fraction(0),
        epsilon=Fraction(1),
        delta=beta,
    )
    with localcontext() as exact:
        exact.prec = 50
        r = (-1 / (Decimal(scale.numerator) / Decimal(scale.denominator))).exp()
        chances = {x: r ** abs(x) for x in range(-most, most + 1)}
        for units in (1, 2, most // 2, most, 2 * most, 3 * most):
            shown = {units + x: chance for x, chance in chances.items() if units + x > most}
            wrong = [
                chance
                for number, chance in shown.items()
                for low, high in [law.around(number, beta)]
                if not low <= units <= high
            ]
            assert Fraction(sum(wrong, Decimal(0)) / sum(shown.values())) <= beta * (1 + Fraction(1, 10**9))
