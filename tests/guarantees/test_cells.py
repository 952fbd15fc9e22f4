"""Laws on a grid: from above, δ(ε) is at least that of the true table for every ε; from below, at most."""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.guarantees.events import BoundedRange
from tacit.guarantees.pld import delta_bounds, laws
from tacit.guarantees.pld.cells import Cells, contract_atoms, floor_atoms, spread_atoms, spread_cells, united

Floats = npt.NDArray[np.float64]
Table = tuple[Floats, Floats]

GRID = np.linspace(-6, 6, 97)
ROUNDING = 1e-12
STEPS = st.sampled_from([1e-3, 0.01, 0.07, 0.3, 1.0])
OFFSETS = st.floats(-1, 1)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Two laws on a few outcomes, each summing to 1: their losses and the first one's masses."""
    size = draw(st.integers(2, 12))
    weights = st.lists(st.floats(1e-4, 1), min_size=size, max_size=size)
    p, q = (np.array(draw(weights)) for _ in range(2))
    p, q = p / p.sum(), q / q.sum()
    return np.log(p / q), p


def delta(loss: Floats, mass: Floats, infinite: float = 0.0) -> Floats:
    """δ(ε) = Pr[L = ∞] + Σ p·(1 - e^(ε-L))₊ on the grid of ε, also negative ones, which composition needs."""
    gain = -np.expm1(np.minimum(GRID[:, None] - loss[None, :], 0.0))
    return np.asarray(gain @ mass + infinite)


def curve(cells: Cells) -> Floats:
    return delta(cells.losses + cells.offset, cells.mass, cells.infinite)


@settings(max_examples=100, deadline=None)
@given(tables(), STEPS, OFFSETS)
def test_atoms_put_down_never_have_a_larger_delta(table: Table, step: float, offset: float) -> None:
    found = floor_atoms(*table, step, offset)
    assert (curve(found) <= delta(*table) + ROUNDING).all()
    assert found.mass.sum() == pytest.approx(1, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(tables(), STEPS)
def test_atoms_drawn_together_never_have_a_larger_delta(table: Table, step: float) -> None:
    found = contract_atoms(*table, step)
    assert found.mass.min() >= 0
    assert (curve(found) <= delta(*table) + ROUNDING).all()
    assert found.mass.sum() == pytest.approx(1, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(tables(), STEPS)
def test_atoms_spread_out_never_have_a_smaller_delta_and_keep_both_masses(table: Table, step: float) -> None:
    found = spread_atoms(*table, step)
    assert (curve(found) >= delta(*table) - ROUNDING).all()
    assert found.mass.sum() == pytest.approx(1, abs=1e-12)
    assert (found.mass * np.exp(-found.losses - found.offset)).sum() == pytest.approx(1, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(tables(), STEPS, st.floats(0, 0.2))
def test_cells_spread_out_never_have_a_smaller_delta(table: Table, step: float, infinite: float) -> None:
    """Check cells with two known masses and unknown outcomes."""
    loss, mass = table
    place = np.ceil(loss / step).astype(int) - 1  # in (ih, (i+1)h]
    first = int(place.min())
    p, q = (np.bincount(place - first, weight).astype(np.float64) for weight in (mass, mass * np.exp(-loss)))
    found = spread_cells(first, p, q, step, infinite)
    assert (curve(found) >= delta(loss, mass, infinite) - ROUNDING).all()
    assert found.mass.sum() == pytest.approx(1, abs=1e-12)


def test_a_law_drawn_together_stays_a_pair_and_one_that_fell_does_not() -> None:
    """E_P[e^(-L)] = 1, here for a fine Gaussian of μ = 1: this keeps errors small when many laws are composed."""
    k = np.arange(-800, 801) / 100
    mass = np.exp(-k * k / 2) / np.exp(-k * k / 2).sum()
    drawn, fallen = (put(k + 0.5, mass, 0.05) for put in (contract_atoms, floor_atoms))
    totals = [(cells.mass * np.exp(-cells.losses - cells.offset)).sum() for cells in (drawn, fallen)]
    assert totals[0] == pytest.approx(1, rel=1e-9)
    assert totals[1] > 1.01


def test_losses_on_the_grid_stay_where_they_are() -> None:
    loss, mass = np.array([0.3, -0.3]), np.array([1, exp(-0.3)]) / (1 + exp(-0.3))
    for put in (floor_atoms, contract_atoms, spread_atoms):
        found = put(loss, mass, 0.1)
        kept = found.mass > 1e-12
        assert found.losses[kept] + found.offset == pytest.approx(loss[::-1], abs=1e-9)
        assert found.mass[kept] == pytest.approx(mass[::-1], rel=1e-9)


def test_a_planted_error_of_a_thousandth_of_a_step_would_be_seen() -> None:
    rng = np.random.default_rng(3)
    p, q = (weights / weights.sum() for weights in rng.uniform(0.1, 1, (2, 9)))
    loss = np.log(p / q)
    low, high = floor_atoms(loss, p, 0.01), spread_atoms(loss, p, 0.01)
    assert (delta(low.losses + low.offset + 0.01, low.mass) > delta(loss, p) + ROUNDING).any()
    assert (delta(high.losses + high.offset - 1e-5, high.mass) < delta(loss, p) - ROUNDING).any()


def test_two_parts_of_a_law_are_put_together() -> None:
    one, two = Cells(0.1, -3, np.array([0.1, 0.2]), 0.05), Cells(0.1, 1, np.array([0.3, 0.35]), 0.0, 1e-9, 2.0**-40)
    both = united(one, two)
    assert both.mass.tolist() == [0.1, 0.2, 0.0, 0.0, 0.3, 0.35]
    assert (both.start, both.infinite, both.offset, both.slack) == (-3, 0.05, 1e-9, 2.0**-40)


def range_delta(epsilon: float, x: float) -> float:
    """(e^(ε/2) - e^(x/2))²/(e^ε - 1), for x from -ε to ε."""
    return (exp(epsilon / 2) - exp(x / 2)) ** 2 / expm1(epsilon)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_bounded_range_meets_its_closed_form(epsilon: float) -> None:
    found = laws.range_upper(epsilon, epsilon / 2000)
    for x in np.linspace(-0.999 * epsilon, 0.999 * epsilon, 31):
        gain = -np.expm1(np.minimum(x - found.losses - found.offset, 0.0))
        truth = range_delta(epsilon, float(x))
        assert float((found.mass * gain).sum()) >= truth * (1 - 1e-9)
        assert float((found.mass * gain).sum()) == pytest.approx(truth, rel=1e-3, abs=1e-7)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.05, 5), st.floats(0.001, 0.999), st.floats(-1, 1))
def test_no_law_on_two_points_of_bounded_range_is_worse(epsilon: float, share: float, at: float) -> None:
    """Losses t and t - ε with P-masses (e^ε - e^t)/(e^ε - 1) and the rest, for any t."""
    t, x = share * epsilon, at * epsilon
    p = (exp(epsilon) - exp(t)) / expm1(epsilon)
    truth = sum(mass * max(0.0, -expm1(x - loss)) for mass, loss in ((p, t), (1 - p, t - epsilon)))
    found = laws.range_upper(epsilon, epsilon / 100)
    gain = -np.expm1(np.minimum(x - found.losses - found.offset, 0.0))
    assert truth <= range_delta(epsilon, x) + ROUNDING
    assert truth <= float((found.mass * gain).sum()) + ROUNDING


def test_the_worst_of_all_points_is_the_closed_form_and_three_uses_cover_any_three() -> None:
    """The supremum at one ε; then every choice of three t on a grid, composed by brute force."""
    best = max(
        float((mpmath.e - mpmath.exp(t)) / (mpmath.e - 1) * -mpmath.expm1(0.3 - t)) for t in np.linspace(0.3, 1, 2001)
    )
    assert best == pytest.approx(range_delta(1.0, 0.3), rel=1e-6)
    upper = delta_bounds([(BoundedRange(epsilon=Fraction(1)), 3)], 0.8, 1e-4).upper
    points = [(t, (exp(1) - exp(t)) / expm1(1)) for t in np.linspace(0.05, 0.95, 10)]
    for one, two, three in ((a, b, c) for a in points for b in points for c in points if a <= b <= c):
        total = 0.0
        for signs in np.ndindex(2, 2, 2):
            chosen = [(t - 1, 1 - p) if low else (t, p) for (t, p), low in zip((one, two, three), signs, strict=True)]
            mass = np.prod([p for _, p in chosen])
            total += float(mass) * max(0.0, -expm1(0.8 - sum(t for t, _ in chosen)))
        assert total <= upper * (1 + 1e-9)
