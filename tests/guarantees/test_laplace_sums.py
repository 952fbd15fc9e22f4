"""The tail of a sum of Laplace losses: convolution, exact laws on a grid, and the bracket of the accountant."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest

import tacit as tc
from laws import MP, mpf
from tacit.arrays import Floats
from tacit.guarantees.conversions import working
from tacit.guarantees.laplace_sums import MOST, _tail, grid_shift, sum_tail
from tacit.guarantees.loss_laws import LaplaceLaw

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5, 2)]


def tail_of(epsilon: Fraction, count: int, x: Fraction) -> Decimal:
    found = sum_tail(epsilon, count, x)
    assert found is not None
    return found[0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_loss_has_the_tail_of_its_law(epsilon: Fraction) -> None:
    for share in (-1, Fraction(-1, 3), 0, Fraction(1, 7), Fraction(99, 100), 1, 2):
        with working():
            assert abs(tail_of(epsilon, 1, share * epsilon) - LaplaceLaw(epsilon).tails(share * epsilon)[0]) < 1e-40


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_one_more_loss_is_a_convolution(epsilon: Fraction, count: int) -> None:
    """Check F_{n+1}(x) = ½F_n(x-ε) + ½e^(-ε)F_n(x+ε) + ∫ ¼e^((l-ε)/2)·F_n(x-l) dl, piece by piece between the steps."""
    e = mpf(epsilon)

    def inner(x: Fraction, at: mpmath.mpf) -> mpmath.mpf:
        below = tail_of(epsilon, count, x - Fraction(mpmath.nstr(at, 30)))
        return MP.exp((at - e) / 2) / 4 * MP.mpf(str(below))

    for share in (Fraction(-2, 5), Fraction(0), Fraction(3, 7), Fraction(count)):
        x = share * epsilon
        jumps = [x - (count - 2 * k) * epsilon for k in range(count + 1)]
        ends = [-e, *sorted(mpf(jump) for jump in jumps if -epsilon < jump < epsilon), e]
        smooth = sum(MP.quad(partial(inner, x), ends[i : i + 2]) for i in range(len(ends) - 1))
        atoms = mpf_of(tail_of(epsilon, count, x - epsilon)) / 2
        atoms += MP.exp(-e) * mpf_of(tail_of(epsilon, count, x + epsilon)) / 2
        assert abs(mpf_of(tail_of(epsilon, count + 1, x)) - atoms - smooth) < 1e-12


def mpf_of(value: Decimal) -> mpmath.mpf:
    return MP.mpf(str(value))


def grid_law(scale: int, move: int, count: int) -> tuple[list[Fraction], Floats]:
    """Return the losses (N-2J)/s of noise on a grid, and their law, by convolution."""
    r = np.exp(-1 / scale)
    steps = np.arange(-60 * scale, 60 * scale + move + 1)
    noise = (1 - r) / (1 + r) * r ** np.abs(steps)
    loss = np.abs(steps - move) - np.abs(steps)  # in steps, from -N to N
    one = np.bincount((move - loss) // 2, noise, minlength=move + 1).astype(np.float64)
    total = one
    for _ in range(count - 1):
        total = np.convolve(total, one)
    return [Fraction(count * move - 2 * j, scale) for j in range(total.size)], total


@pytest.mark.parametrize(("scale", "move", "count"), [(40, 10, 3), (100, 100, 2), (30, 60, 4), (5, 3, 3)])
def test_noise_on_a_grid_is_between_the_shifted_tails_and_a_tenth_would_not_do(
    scale: int, move: int, count: int
) -> None:
    losses, masses = grid_law(scale, move, count)
    epsilon, shift = Fraction(move, scale), count * grid_shift(Fraction(scale))
    above, wrong = np.cumsum(masses) - masses, 0
    for loss, mass, tail in list(zip(losses, masses, above, strict=True))[:: max(1, len(losses) // 60)]:
        for x, truth in ((loss, tail), (loss - Fraction(1, 10**9), tail + mass)):
            low, high = (float(tail_of(epsilon, count, x + side * shift)) for side in (1, -1))
            assert low - 1e-10 <= truth <= high + 1e-10
            near = [float(tail_of(epsilon, count, x + side * shift / 10)) for side in (1, -1)]
            wrong += not near[0] - 1e-10 <= truth <= near[1] + 1e-10
    assert wrong > 0


@pytest.mark.parametrize(("epsilon", "count"), [(Fraction(1, 10), 100), (Fraction(1, 3), 40), (Fraction(3), 150)])
def test_the_error_is_bounded(epsilon: Fraction, count: int) -> None:
    for share in (0, Fraction(1, 4), Fraction(9, 10), Fraction(999, 1000)):
        found = sum_tail(epsilon, count, share * count * epsilon)
        assert found is not None
        with working(1500):
            truth, _ = _tail(epsilon, count, share * count * epsilon)
            assert abs(found[0] - truth) <= found[1] <= Decimal("1e-29") * truth


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 100), (0.5, 20), (2, 30), (0.003, MOST)])
def test_the_bracket_of_real_releases_is_narrow_and_within_that_of_chords(epsilon: float, count: int) -> None:
    loss = tc.compose([(tc.Laplace(sensitivity=1.0, epsilon=epsilon), count)]).loss
    for at in (0, 1, 2, 4):
        size = min(max(0.0, loss.mean + at * loss.std), 0.87 * count * epsilon)
        found, chords = loss.exceeds(epsilon=size), loss._by_chords(Fraction(size))
        assert 0 < found.lower <= found.upper < found.lower * (1 + 1e-3)
        assert chords.lower <= found.upper
        assert found.lower <= chords.upper
        assert found.upper - found.lower < 0.05 * (chords.upper - chords.lower)


def test_others_are_still_enclosed_by_chords() -> None:
    m = tc.Laplace(sensitivity=1.0, epsilon=0.1)
    more = tc.compose([(m, MOST + 1)]).loss
    assert more._of_equal_laplace(Fraction(1)) is None
    coarse = tc.compose([(tc.Laplace(sensitivity=1, epsilon=0.1), 100)]).loss
    assert coarse._of_equal_laplace(Fraction(1)) is None
    mixed = tc.compose([(m, 50), (tc.Laplace(sensitivity=1.0, epsilon=0.2), 5)]).loss
    assert mixed._of_equal_laplace(Fraction(1)) is None
    for loss in (more, mixed):
        found = loss.exceeds(epsilon=loss.mean + loss.std)
        assert 0.1 < found.lower < found.upper < 0.2
