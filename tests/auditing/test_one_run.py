"""`tc.audit_one_run`: the theorem by exact laws, the bound's coverage, and its power."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import tacit as tc
from tacit import InvalidError
from tacit.auditing.one_run import correct_guesses, guess_sizes, one_run_bound

PLACES = range(400)


def shout(epsilon: float, seed: int = 1) -> Any:  # noqa: ANN401 - a mechanism
    """Return a float Laplace mechanism with one count for each canary, which stands for a training."""
    draws = np.random.default_rng(seed)
    return lambda records: (
        np.bincount(records, minlength=len(PLACES)) + draws.laplace(scale=1 / epsilon, size=len(PLACES))
    )


def score(output: Any, canary: Any) -> float:  # noqa: ANN401 - of numpy
    return float(output[canary])


@pytest.mark.parametrize("error", [Fraction(1, 4), Fraction(1, 20)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (2.0, 0.0), (0.5, 0.004), (2.0, 0.004), (0.0, 0.02)])
@pytest.mark.parametrize("m", [4, 20])
def test_the_bound_is_wrong_as_rarely_as_stated(m: int, epsilon: float, delta: float, error: Fraction) -> None:
    """Each coin is shown with probability δ, and otherwise by randomized response: (ε, δ)-DP, and the best to guess."""
    chance = delta + (1 - delta) / (1 + exp(-epsilon))
    share = Fraction(repr(delta))
    wrong = sum(
        binom.pmf(v, m, chance) for v in range(m + 1) if one_run_bound(v, m, m, delta=share, error=error) > epsilon
    )
    assert wrong <= error
    if delta == 0 and m == 20 and error > 0.2:
        assert wrong > 0.02  # the bound is close to tight


def test_the_bound_with_delta_is_below_that_without() -> None:
    error = Fraction(1, 20)
    exact = one_run_bound(95, 100, 100, delta=Fraction(0), error=error)
    assert 0 < one_run_bound(95, 100, 100, delta=Fraction(1, 5000), error=error) < exact
    assert one_run_bound(100, 100, 100, delta=Fraction(1, 2), error=error) == 0


def test_guesses_are_the_highest_and_the_lowest_scores() -> None:
    scores, coins = np.array([0.0, 5, 1, 4]), np.array([False, True, True, False])
    assert correct_guesses(scores, coins, 2) == 2
    assert correct_guesses(scores, coins, 4) == 2
    assert guess_sizes(9) == (8, 4)


def test_a_mechanism_with_a_quarter_of_the_noise_is_found() -> None:
    report = tc.audit_one_run(shout(4), PLACES, score=score, epsilon=1, confidence=1 - 1e-9, seed=1)
    assert report.violates
    assert 1 < report.epsilon_lower < 4
    assert "violates ε = 1" in str(report)
    assert report._repr_html_()
    again = tc.audit_one_run(shout(4), PLACES, score=score, epsilon=1, confidence=1 - 1e-9, seed=1)
    assert again.correct == report.correct


def test_an_exact_mechanism_is_not_accused() -> None:
    noise = tc.Laplace(sensitivity=1, epsilon=1)

    def count(records: list[object]) -> Any:  # noqa: ANN401 - an array
        return noise.release(np.bincount(np.array(records, dtype=int), minlength=len(PLACES)))

    report = tc.audit_one_run(count, PLACES, score=score, data=[0, 1], epsilon=1, delta=1e-6, confidence=1 - 1e-12)
    assert report.verdict == "no violation found"
    assert tc.audit_one_run(count, PLACES, score=score).verdict == "no claim"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"canaries": 3}, "canaries must be a list"),
        ({"canaries": [1]}, "There are 1 canaries"),
        ({"canaries": "abcdef"}, "canaries must be a list"),
        ({"score": 3}, "score must be a function"),
        ({"score": lambda output, canary: "x"}, "score must be a function that returns a number"),  # noqa: ARG005
        ({"delta": 2}, "delta must be"),
        ({"confidence": 0.2}, "confidence must be"),
        ({"seed": "x"}, "seed must be"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, Any], message: str) -> None:
    given = {"canaries": list(range(10)), "score": score, "seed": 1, **change}
    with pytest.raises(InvalidError, match=message):
        tc.audit_one_run(lambda _: np.zeros(10), given.pop("canaries"), **given)
