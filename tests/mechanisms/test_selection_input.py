"""Invalid input of the selection mechanisms, and their messages."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from oracles_bad_input import NOT_A_COUNT, NOT_A_FLAG, NOT_A_SHARE, NOT_POSITIVE, RAGGED, SECRET, refused, short
from tacit import Exponential, NoisyMax, PermuteAndFlip
from tacit.mechanisms.selection import read_ballot

Kind = type[Exponential | PermuteAndFlip | NoisyMax]

every_kind = pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip, NoisyMax])

NO_SCORES: list[Any] = [
    {},
    [],
    (),
    {}.items(),
    np.array([]),
    None,
    SECRET,
    np.array(SECRET),
    np.array([[SECRET, 1], [2, 3]]),
    [[SECRET, 1], [2, 3]],
    RAGGED,
    str(SECRET),
    b"123",
    {"a": float("nan"), "b": SECRET},
    {"a": float("inf"), "b": SECRET},
    [-np.inf, SECRET],
    [np.nan],
    {"a": str(SECRET)},
    {"a": None, "b": SECRET},
    {"a": True},
    [SECRET + 1j],
    np.array([SECRET], dtype=np.longdouble),
    {"a": [SECRET, 2]},
    {"a": (SECRET, 2)},
    [("a", SECRET), ("a", 2)],
    [(1, SECRET), (True, 2)],
    [("a", SECRET), 2],
    [SECRET, ("a", 2)],
    [("a", SECRET, 3)],
    [("a",)],
    [("a", SECRET), ["b", 2]],
    np.array(["2024-01-01"], dtype="datetime64[D]"),
]


@every_kind
@pytest.mark.parametrize("scores", NO_SCORES, ids=repr)
@pytest.mark.parametrize("sensitivity", [1, 1.0])
def test_values_other_than_scores_are_refused(kind: Kind, sensitivity: float, scores: Any) -> None:  # noqa: ANN401
    refused("scores", lambda: kind(sensitivity=sensitivity, epsilon=1).choose(scores))


def test_noisy_max_of_an_int_sensitivity_takes_no_reals() -> None:
    refused("scores", lambda: NoisyMax(sensitivity=1, epsilon=1).choose([1.0, 2.0]))
    refused("scores", lambda: NoisyMax(sensitivity=np.int64(1), epsilon=1).choose([SECRET + 0.5, 2]))
    assert NoisyMax(sensitivity=1.0, epsilon=1000).choose([1, 5]) == 1


TOO_LARGE: list[Any] = [[2**63], [-(2**62) - 1, 0], [10**400, 1], {"a": 2**70 + SECRET, "b": 1}]


@every_kind
@pytest.mark.parametrize("scores", TOO_LARGE, ids=lambda scores: f"{len(scores)} of {type(scores).__name__}")
def test_integers_beyond_64_bits_are_refused(kind: Kind, scores: Any) -> None:  # noqa: ANN401
    refused("scores", lambda: kind(sensitivity=1, epsilon=1).choose(scores))


def test_reals_beyond_the_grid_are_refused() -> None:
    refused("scores", lambda: NoisyMax(sensitivity=1.0, epsilon=1).choose([1e300, 1]))


@every_kind
def test_a_candidate_that_is_no_key_is_refused(kind: Kind) -> None:
    refused("scores", lambda: kind(sensitivity=1, epsilon=1).choose([([SECRET], 1), ([2], 1)]))


@every_kind
def test_they_are_refused_in_the_company_of_others_too(kind: Kind) -> None:
    refused("scores", lambda: kind(sensitivity=1, epsilon=1).choose([2**63, 1]))


@every_kind
def test_integers_that_a_float_cannot_hold_are_refused_beside_one(kind: Kind) -> None:
    refused("scores", lambda: kind(sensitivity=1.0, epsilon=1).choose([0.5, 2**53 + SECRET, 2**53]))
    ballot = read_ballot([2**62, 2**53 + 1, 2**53])
    assert ballot.exponent(Fraction(1), 1) - ballot.exponent(Fraction(1), 2) == 1


@every_kind
@pytest.mark.parametrize("argument", ["sensitivity", "epsilon"])
@pytest.mark.parametrize("bad", NOT_POSITIVE, ids=short)
def test_sensitivity_and_epsilon_are_positive_numbers(kind: Kind, argument: str, bad: Any) -> None:  # noqa: ANN401
    refused(argument, lambda: kind(**{"sensitivity": 1, "epsilon": 1, argument: bad}))


@every_kind
@pytest.mark.parametrize("bad", NOT_A_FLAG, ids=repr)
def test_monotone_is_true_or_false(kind: Kind, bad: Any) -> None:  # noqa: ANN401
    refused("monotone", lambda: kind(sensitivity=1, epsilon=1, monotone=bad))


@every_kind
@pytest.mark.parametrize("bad", NOT_A_SHARE, ids=short)
def test_confidence_is_strictly_between_0_and_1(kind: Kind, bad: Any) -> None:  # noqa: ANN401
    made = kind(sensitivity=1, epsilon=1)
    refused("confidence", lambda: made.error(confidence=bad, candidates=3))
    refused("confidence", lambda: kind.for_error(1, confidence=bad, candidates=3, sensitivity=1))


@every_kind
@pytest.mark.parametrize("bad", NOT_A_COUNT, ids=repr)
def test_candidates_are_counted_in_whole_numbers(kind: Kind, bad: Any) -> None:  # noqa: ANN401
    made = kind(sensitivity=1, epsilon=1)
    refused("candidates", lambda: made.error(candidates=bad))
    refused("candidates", lambda: kind.for_error(1, candidates=bad, sensitivity=1))


@every_kind
@pytest.mark.parametrize("bad", NOT_POSITIVE, ids=short)
def test_a_wanted_error_and_its_sensitivity_are_positive(kind: Kind, bad: Any) -> None:  # noqa: ANN401
    refused("error", lambda: kind.for_error(bad, candidates=3, sensitivity=1))
    refused("sensitivity", lambda: kind.for_error(1, candidates=3, sensitivity=bad))


@pytest.mark.parametrize("kind", [PermuteAndFlip, NoisyMax])
def test_a_choice_of_one_needs_no_epsilon(kind: Kind) -> None:
    refused("candidates", lambda: kind.for_error(1, candidates=1, sensitivity=1))


def test_an_error_that_any_noise_keeps_gets_as_much_noise_as_fits() -> None:
    most = NoisyMax.for_error(1e30, candidates=3, sensitivity=1)
    assert most.error(candidates=3) <= 1e30
    refused("epsilon", lambda: NoisyMax(sensitivity=1, epsilon=most.guarantee.epsilon * (1 - 1e-6)))


@every_kind
def test_the_errors_of_extreme_epsilons_are_floats(kind: Kind) -> None:
    assert 0 <= kind(sensitivity=1, epsilon=8e307).error(candidates=3) < 1e-300
    assert Exponential(sensitivity=1, epsilon=1e-300).error(candidates=3) > 1e300


@every_kind
@pytest.mark.parametrize("argument", ["sensitivity", "epsilon"])
def test_a_mechanism_is_fixed_once_made(kind: Kind, argument: str) -> None:
    made = kind(sensitivity=1, epsilon=1)
    with pytest.raises(AttributeError):
        setattr(made, argument, 2)
    with pytest.raises(AttributeError):
        made.guarantee = made.guarantee
    with pytest.raises(AttributeError):
        del made.event


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1e-200, 1e200), (1e200, 1e-200)])
def test_the_errors_of_extreme_rates_are_rounded_up(kind: Kind, sensitivity: float, epsilon: float) -> None:
    error = kind(sensitivity=sensitivity, epsilon=epsilon).error(candidates=3)
    assert error == float("inf") if epsilon < 1 else 0 < error < 1e-300
