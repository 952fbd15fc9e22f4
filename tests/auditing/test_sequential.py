"""The bound over several looks is wrong with at most the stated probability, by dynamic programming over all counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.signal import convolve2d
from scipy.stats import binom

from tacit.auditing.audit import look_sizes
from tacit.auditing.binomial import epsilon_lower

Floats = npt.NDArray[np.float64]
Bound = Callable[[int, int, int], float]
SIZES = (6, 12, 24)
"""The sizes of the bounding half at three looks."""


def wrong(p: float, q: float, choices: Sequence[tuple[bool, bool]], bound: Bound, truth: float) -> float:
    """Return the exact probability that the bound of some look is above the truth.

    At each look the search has chosen an answer (yes or no) and a direction. It is independent of the bounding half, so
    the largest of these probabilities bounds that of every rule of choice.
    """
    alive: Floats = np.ones((1, 1))
    size = 0
    for choice, end in zip(choices, SIZES, strict=True):
        grown = range(end - size + 1)
        step = np.outer(binom.pmf(grown, end - size, p), binom.pmf(grown, end - size, q))
        alive = convolve2d(alive, step) * ~above(choice, end, bound, truth)
        size = end
    return 1 - float(alive.sum())


@cache
def above(choice: tuple[bool, bool], n: int, bound: Bound, truth: float) -> npt.NDArray[np.bool_]:
    """Return for which counts on the two inputs the bound is above the truth."""
    event, on_first = choice
    found = np.zeros((n + 1, n + 1), dtype=bool)
    for a, b in product(range(n + 1), repeat=2):
        hits = (a, b) if event else (n - a, n - b)
        likely, unlikely = hits if on_first else hits[::-1]
        found[a, b] = bound(likely, unlikely, n) > truth
    return found


@cache
def certified(error: Fraction) -> Bound:
    @cache
    def bound(likely: int, unlikely: int, n: int) -> float:
        return epsilon_lower((likely, n), (unlikely, n), delta=Fraction(0), error=error)

    return bound


def plain(likely: int, unlikely: int, n: int) -> float:
    """The planted fault: frequencies in place of bounds."""
    return float(np.log((likely + 1e-9) / (unlikely + 1e-9))) if n else 0.0


CHOICES = list(product([(True, True), (False, True), (True, False), (False, False)], repeat=3))


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(1, 10)])
@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.6, 0.4), (0.9, 0.1), (0.3, 0.05), (0.02, 0.01)])
def test_no_choice_of_events_makes_a_wrong_bound_likelier_than_stated(p: float, q: float, alpha: Fraction) -> None:
    truth = float(max(abs(np.log(p / q)), abs(np.log((1 - p) / (1 - q)))))
    bound = certified(alpha / len(SIZES))
    assert max(wrong(p, q, choices, bound, truth) for choices in CHOICES) <= alpha + 1e-9


def test_frequencies_alone_would_be_wrong_far_more_often() -> None:
    truth = float(np.log(0.6 / 0.4))
    assert max(wrong(0.6, 0.4, choices, plain, truth) for choices in CHOICES) > 0.6


def test_the_looks_are_fixed_beforehand_and_end_at_the_samples() -> None:
    assert look_sizes(100_000, sequential=True) == (781, 1562, 3125, 6250, 12500, 25000, 50000, 100000)
    assert look_sizes(999, sequential=True) == look_sizes(999, sequential=False) == (999,)
