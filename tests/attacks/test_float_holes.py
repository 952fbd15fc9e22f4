"""Low bits: outputs that floating-point noise reaches from one input and not from its neighbour.

**The game.** A fair coin chooses one of two neighbouring values. The attacker sees one release, and guesses the only
value from which the noise of the textbook reaches it, or a coin where it reaches both or none. Against an ε-DP release
a guess is right with probability at most e^ε/(1 + e^ε), so the number of right guesses is below a binomial quantile:
a false alarm of a test has probability at most 1e-12. The textbook's noise must lose the same game.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import tacit as tc
from attacks.references import BoxMuller, FloatLaplace

EPSILON = 0.01
SURE = 1 - 1e-12
Release = Callable[[Any], Any]
Reaches = Callable[[Any, Any], bool]


def right_guesses(release: Release, reaches: Reaches, values: tuple[Any, Any], games: int) -> int:
    """Play the game, and count the right guesses."""
    coins, right = Random(6), 0  # noqa: S311 - of the game
    for _ in range(games):
        truth = coins.randrange(2)
        output = release(values[truth])
        possible = [place for place in (0, 1) if reaches(output, values[place])]
        right += truth == (possible[0] if len(possible) == 1 else coins.randrange(2))
    return right


def most_right(games: int, epsilon: float, delta: float = 0.0) -> int:
    """Return how many guesses are right with probability at least 1 - 1e-12, against an (ε, δ)-DP release."""
    return int(binom.isf(1e-12, games, (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))))


PAIRS = [(0.0, 1.0), (0.0, 0.3), (-1 / 3, 2 / 3), (1.25, 2.25), (1e-300, 1.0)]


@pytest.mark.parametrize("values", PAIRS, ids=str)
def test_the_reachable_floats_of_laplace_noise_tell_the_value(values: tuple[float, float]) -> None:
    bad, games = FloatLaplace(1 / EPSILON), 1000
    assert right_guesses(bad.release, bad.reaches, values, games) > most_right(games, EPSILON)
    for m in (
        tc.Laplace(sensitivity=1.0, epsilon=EPSILON),
        tc.Laplace(sensitivity=1.0, epsilon=EPSILON, granularity=2.0**-40),
    ):
        assert right_guesses(m.release, bad.reaches, values, games) <= most_right(games, EPSILON)


def test_the_reachable_floats_of_gaussian_noise_tell_the_values() -> None:
    values, games = ((0.0, 0.0), (1.0, 0.0)), 150
    m = tc.Gaussian(sensitivity=1.0, epsilon=EPSILON, delta=1e-6, outputs=2)
    bad = BoxMuller(m.sigma)
    assert right_guesses(bad.release, bad.reaches, values, games) > most_right(games, EPSILON, 1e-6)
    right = right_guesses(lambda pair: tuple(np.asarray(m.release(pair)).tolist()), bad.reaches, values, games)
    assert right <= most_right(games, EPSILON, 1e-6)


MECHANISMS = {
    "Laplace": tc.Laplace(sensitivity=1.0, epsilon=1),
    "Laplace of the sensitivity 0.7": tc.Laplace(sensitivity=0.7, epsilon=1),
    "Gaussian": tc.Gaussian(sensitivity=1.0, epsilon=1, delta=1e-6),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_output_is_off_the_grid_whatever_the_value(name: str) -> None:
    """Every output is the float of an index times the step, so the sets of reachable outputs are the same."""
    m = MECHANISMS[name]
    step = m.granularity
    for value in (0.0, 0.3, -1 / 3, 1e-300, 5e-324, math.pi, 1e9 + 1 / 3):
        for _ in range(200):
            output = float(m.release(value))
            assert round(Fraction(output) / Fraction(step)) * step == output
    off = [FloatLaplace(1.0).release(1 / 3) for _ in range(200)]
    assert any(round(Fraction(output) / Fraction(step)) * step != output for output in off)


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_audit_of_low_bits_finds_nothing(name: str) -> None:
    m = MECHANISMS[name]
    report = tc.audit(
        m.release, 0.0, float(m.sensitivity), epsilon=1, delta=1e-6, samples=4000, confidence=SURE, seed=1
    )
    assert report.verdict == "no violation found"


def test_an_audit_of_low_bits_finds_those_of_the_textbook() -> None:
    """The output 0.1 from the value 0 has bits that 1 + noise has lost."""
    report = tc.audit(FloatLaplace(1.0).release, 0.0, 1.0, epsilon=1, samples=4000, confidence=SURE, seed=1)
    assert report.verdict == "violates"


def test_a_vector_has_no_holes_either() -> None:
    m = tc.Laplace(sensitivity=1.0, epsilon=1, outputs=80)  # more than 63 numbers are rounded in another way
    rows = np.array([m.release([1 / 3] * 80) for _ in range(50)])
    indices = rows / m.granularity
    assert (np.rint(indices) * m.granularity == rows).all()
