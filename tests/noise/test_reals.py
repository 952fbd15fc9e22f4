from __future__ import annotations

from decimal import Inexact, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from scripted import THIRD, TWO_THIRDS, Scripted, endless, seeded
from tacit.noise import Real, exp_neg, logistic, rational
from tacit.noise.reals import below, ceil_div

LN2 = Fraction(0.6931471805599453)
MORE = 192  # bits of the oracle beyond the enclosure's

whole = st.one_of(st.integers(1, 100), st.integers(1, 10**12), st.integers(1, 10**60))
positive = st.builds(Fraction, whole, whole)
moderate = st.builds(Fraction, st.integers(1, 10**20), st.integers(10**18, 10**20))
bit_counts = st.one_of(st.integers(0, 200), st.integers(0, 2000), st.sampled_from(range(0, 2049, 64)))

GAMMAS = [
    Fraction(1, 3),
    Fraction(2, 7),
    Fraction(355, 113),
    Fraction(1, 10**15),
    Fraction(1, 10**400),
    Fraction(10**9 + 7, 10**9),
    Fraction(40),
    Fraction(10**6),
    Fraction(10**300, 3),
]


def encloses(real: Real, n: int, truth: int) -> bool:
    """Compare an enclosure at n bits with an oracle at n + MORE."""
    lo, hi = real(n)
    return lo << MORE <= truth + oracles.SLACK and truth - oracles.SLACK <= hi << MORE and hi - lo <= 2


@settings(deadline=None, max_examples=400)
@given(gamma=st.one_of(positive, moderate), n=bit_counts)
def test_the_exponential_is_enclosed_within_two_units(gamma: Fraction, n: int) -> None:
    assert encloses(exp_neg(gamma), n, oracles.exp_neg(gamma, n + MORE))


@settings(deadline=None, max_examples=400)
@given(x=st.one_of(positive, moderate), n=bit_counts)
def test_the_logistic_is_enclosed_within_two_units(x: Fraction, n: int) -> None:
    assert encloses(logistic(x), n, oracles.logistic(x, n + MORE))


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("n", [1, 20, 63, 64, 65, 72, 84, 93, 94, 100, 128, 192, 256, 640, 2000])
def test_the_enclosures_hold_at_the_precisions_that_are_used(gamma: Fraction, n: int) -> None:
    assert encloses(exp_neg(gamma), n, oracles.exp_neg(gamma, n + MORE))
    assert encloses(logistic(gamma), n, oracles.logistic(gamma, n + MORE))


@pytest.mark.parametrize("n", [0, 1, 7, 64, 128, 2000])
@pytest.mark.parametrize("nudge", [Fraction(-1), Fraction(-1, 10**12), Fraction(0), Fraction(1, 10**12), Fraction(1)])
def test_the_enclosure_holds_where_the_exponential_drops_below_one_unit(n: int, nudge: Fraction) -> None:
    for units in (n, n + 1):
        gamma = max(units * LN2 + nudge, Fraction(1, 10**9))
        assert encloses(exp_neg(gamma), n, oracles.exp_neg(gamma, n + MORE))


@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_callers_decimal_context_changes_nothing(gamma: Fraction) -> None:
    before = [exp_neg(gamma)(n) for n in (20, 64, 128, 640)]
    with localcontext(prec=3):
        assert [exp_neg(gamma)(n) for n in (20, 64, 128, 640)] == before
    with localcontext(prec=3) as context:
        context.traps[Inexact] = True
        assert [exp_neg(gamma)(n) for n in (20, 64, 128, 640)] == before


def test_zero_has_an_exact_exponential() -> None:
    assert exp_neg(Fraction(0))(64) == (1 << 64, 1 << 64)
    assert logistic(Fraction(0))(64) == (1 << 63, 1 << 63)


@given(gamma=positive, n=st.integers(0, 300))
def test_an_enclosure_stays_within_zero_and_one(gamma: Fraction, n: int) -> None:
    for real in (exp_neg(gamma), logistic(gamma)):
        lo, hi = real(n)
        assert 0 <= lo <= hi <= 1 << n


@given(p=st.fractions(0, 1), n=st.integers(0, 300))
def test_a_rational_is_enclosed_by_its_two_neighbours(p: Fraction, n: int) -> None:
    lo, hi = rational(p)(n)
    assert lo <= p * 2**n <= hi
    assert hi - lo == ((p * 2**n).denominator > 1)


@given(a=st.integers(-50, 50), b=st.integers(1, 20))
def test_division_rounds_up(a: int, b: int) -> None:
    assert b * (ceil_div(a, b) - 1) < a <= b * ceil_div(a, b)


@settings(deadline=None)
@given(gamma=moderate, seed=st.integers(0, 10**6))
def test_a_uniform_near_the_border_falls_on_its_true_side(gamma: Fraction, seed: int) -> None:
    """U agrees with p on 300 bits and differs, or not, in the last of them."""
    truth = oracles.exp_neg(gamma, 1024)
    for last in (-1, 0, 1):
        u = ((truth >> 724) + last) << 724 | int.from_bytes(seeded(seed)(90), "big")
        script = Scripted((u % 2**1024).to_bytes(128, "big"))
        assert abs(u - truth) > oracles.SLACK
        assert below(exp_neg(gamma), script) == (u < truth)


@pytest.mark.parametrize("byte", [0x00, THIRD, TWO_THIRDS, 0xFF])
def test_known_bits_are_not_drawn_again(byte: int) -> None:
    real = rational(Fraction(3, 7))
    low = real(64)[0]
    for prefix, outcome, drawn in ((0, True, 0), (low - 1, True, 0), (low + 1, False, 0), (low, None, 8)):
        source = Scripted(rest=endless(byte))
        result = below(real, source, prefix, 64)
        u = Fraction(prefix) + Fraction(byte, 255)
        assert result == (u < Fraction(3, 7) * 2**64)
        assert outcome in (None, result)
        assert source.taken == drawn


def test_certain_outcomes_take_one_word() -> None:
    for byte in (0x00, 0xFF):
        assert below(rational(Fraction(1)), Scripted(rest=endless(byte)))
        assert not below(rational(Fraction(0)), Scripted(rest=endless(byte)))


def test_a_tie_is_carried_on_for_as_long_as_it_lasts() -> None:
    third = rational(Fraction(1, 3))
    for byte, outcome in ((0x00, True), (0xFF, False)):
        source = Scripted(bytes([THIRD]) * 80, endless(byte))
        assert below(third, source) is outcome
        assert source.taken == 88
