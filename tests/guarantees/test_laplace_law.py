from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.guarantees.laplace_law import one_sided_quantile, two_sided_quantile

scales = st.one_of(
    st.fractions(min_value=Fraction(1, 100), max_value=1000),
    st.sampled_from([Fraction(1, 10**6), Fraction(10**6), Fraction(10**15), Fraction(2**56)]),
)
betas = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(99, 100)).filter(lambda b: 0 < b < 1)


def tail(scale: Fraction, t: int) -> mpmath.mpf:
    """Pr[K ≥ t] for t ≥ 1, in 60 digits."""
    r = mpmath.exp(-1 / mpmath.mpf(scale.numerator) * scale.denominator)
    return r**t / (1 + r)


def test_the_tail_formula_is_the_sum_of_the_mass_function() -> None:
    with mpmath.workdps(60):
        for scale in (Fraction(1, 3), Fraction(2), Fraction(17, 2)):
            s = mpmath.mpf(scale.numerator) / scale.denominator
            mass = mpmath.nsum(lambda k, s=s: mpmath.tanh(1 / (2 * s)) * mpmath.exp(-k / s), [4, mpmath.inf])
            assert mpmath.almosteq(mass, tail(scale, 4), 1e-30)


@settings(max_examples=200)
@given(scales, betas, st.integers(1, 1000))
def test_the_two_sided_quantile_is_the_least_that_keeps_its_confidence(
    scale: Fraction, beta: Fraction, outputs: int
) -> None:
    with mpmath.workdps(60):
        t = two_sided_quantile(scale, beta, outputs)
        confidence = 1 - mpmath.mpf(beta.numerator) / beta.denominator
        assert (1 - 2 * tail(scale, t + 1)) ** outputs >= confidence - mpmath.mpf(10) ** -35
        assert t == 0 or (1 - 2 * tail(scale, t)) ** outputs < confidence + mpmath.mpf(10) ** -35


@settings(max_examples=200)
@given(scales, betas)
def test_the_one_sided_quantile_is_the_least_that_keeps_its_confidence(scale: Fraction, beta: Fraction) -> None:
    with mpmath.workdps(60):
        t = one_sided_quantile(scale, beta)
        wanted = mpmath.mpf(beta.numerator) / beta.denominator
        assert tail(scale, t + 1) <= wanted + mpmath.mpf(10) ** -35
        assert t == 0 or tail(scale, t) > wanted - mpmath.mpf(10) ** -35


@pytest.mark.parametrize(("epsilon", "expected"), [(Fraction(1, 10), 30), (Fraction(1), 3)])
def test_the_notes_example_has_the_expected_error(epsilon: Fraction, expected: int) -> None:
    assert two_sided_quantile(1 / epsilon, Fraction(1, 20)) == expected
