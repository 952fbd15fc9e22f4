"""Calls of guarantees, mechanisms and protocols without the names of their arguments."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from inspect import signature

import pytest

import tacit as tc
from tacit import InvalidError

SECRET = [31_415.0, 27_182.0, 16_180.0]

WRONG_CALLS: list[tuple[Callable[..., object], tuple[object, ...], str]] = [
    (tc.PureDP, (1,), "Write PureDP(epsilon=1)."),
    (tc.ApproxDP, (1, 1e-6), "Write ApproxDP(epsilon=1, delta=1e-06)."),
    (tc.ZCDP, (0.1,), "Write ZCDP(rho=0.1)."),
    (tc.ApproxZCDP, (0.1, 1e-6), "Write ApproxZCDP(rho=0.1, delta=1e-06)."),
    (tc.RenyiDP, (8, 0.5), "Write RenyiDP(alpha=8, epsilon=0.5)."),
    (tc.GaussianDP, (1,), "Write GaussianDP(mu=1)."),
    (tc.Laplace, (1, 0.1), "Write Laplace(sensitivity=1, epsilon=0.1)."),
    (tc.Gaussian, (1, 0.5, 1e-6), "Write Gaussian(sensitivity=1, epsilon=0.5, delta=1e-06)."),
    (tc.Exponential, (1, 1), "Write Exponential(sensitivity=1, epsilon=1)."),
    (tc.PermuteAndFlip, (1, 1), "Write PermuteAndFlip(sensitivity=1, epsilon=1)."),
    (tc.NoisyMax, (1, 1), "Write NoisyMax(sensitivity=1, epsilon=1)."),
    (tc.AboveThreshold, (1, 1, 100), "Write AboveThreshold(sensitivity=1, epsilon=1, threshold=100)."),
    (tc.RandomizedResponse, (1,), "Write RandomizedResponse(epsilon=1)."),
    (tc.SmoothMedian, ((0, 1), 1, 1e-6), "Write SmoothMedian(bounds=(0, 1), epsilon=1, delta=1e-06)."),
    (tc.ProposeTestRelease, (1, 1, 1e-6), "Write ProposeTestRelease(bound=1, epsilon=1, delta=1e-06)."),
    (tc.local.GRR, (["a", "b"], 1), "Write GRR(domain=…, epsilon=1)."),
    (tc.local.Warner, (0.75,), "Write Warner(p=0.75)."),
    (tc.Laplace, (1, 2, 3, 4, 5, 6), "They are sensitivity, epsilon, scale, outputs, granularity."),
]


@pytest.mark.parametrize(("kind", "values", "hint"), WRONG_CALLS)
def test_values_without_names_are_refused_with_the_call_to_write(
    kind: Callable[..., object], values: tuple[object, ...], hint: str
) -> None:
    with pytest.raises(InvalidError, match="have names") as caught:
        kind(*values)
    assert caught.value.hint == hint
    assert caught.value.argument in signature(kind).parameters


def test_missing_and_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidError, match=r"PureDP needs the argument epsilon\. Write PureDP\(epsilon=…\)\."):
        tc.PureDP()  # type: ignore[call-arg]
    with pytest.raises(InvalidError, match=r"has no argument 'epsilom'\. Did you mean 'epsilon'\?"):
        tc.Laplace(sensitivity=1, epsilom=1)  # type: ignore[call-arg]
    with pytest.raises(InvalidError, match=r"has no argument 'x'\. Its arguments are rho\."):
        tc.ZCDP(x=1)  # type: ignore[call-arg]


def test_a_column_that_is_passed_by_mistake_is_not_shown() -> None:
    for wrong in (SECRET, "31415", tuple(SECRET)):
        with pytest.raises(InvalidError) as caught:
            tc.Laplace(wrong, 1)  # type: ignore[call-arg, arg-type]
        assert "31" not in str(caught.value)


def test_the_signature_and_copies_stay() -> None:
    assert list(signature(tc.ApproxDP).parameters) == ["epsilon", "delta"]
    assert list(signature(tc.Exponential).parameters) == ["sensitivity", "epsilon", "monotone"]
    guarantee = tc.ApproxDP(epsilon=1, delta=1e-6)
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee  # noqa: S301 - our own bytes
