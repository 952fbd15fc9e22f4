from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, inf, nan, sqrt
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidError
from tacit.guarantees import ZCDP, ApproxDP, PureDP
from tacit.guarantees.composition_rules import advanced, basic, optimal, optimal_delta
from tacit.guarantees.conversions import delta_of_pure, exactly
from tacit.guarantees.exact import Exact

RULES = [advanced, optimal]
TIGHT = 1e-14
DELTA = 1e-6

sizes = st.floats(1e-3, 3).map(lambda x: round(x, 4))
counts = st.integers(0, 40)
deltas = st.floats(1e-10, 0.3)


def pure(epsilon: float, count: int) -> list[tuple[PureDP | ApproxDP, int]]:
    return [(PureDP(epsilon=epsilon), count)]


def above(bound: float, truth: Any) -> bool:  # noqa: ANN401 - mpmath has no types
    """Return whether a float prints as at least the truth, and is close to it."""
    return bool(truth <= mpmath.mpf(repr(float(bound))) <= truth * (1 + TIGHT))


def convolved(odds: Fraction, leaks: Sequence[Fraction], power: Fraction) -> Fraction:
    """δ where e^ε₀ = odds and e^ε = power, by convolving the pairs of laws outcome by outcome, in rationals."""
    laws = {(Fraction(1), Fraction(1)): 1}
    leaked = Fraction(0)
    for leak in leaks:
        keep, flip = (1 - leak) * odds / (1 + odds), (1 - leak) / (1 + odds)
        leaked += (1 - leaked) * leak
        after: dict[tuple[Fraction, Fraction], int] = {}
        for (left, right), ways in laws.items():
            for pair in ((left * keep, right * flip), (left * flip, right * keep)):
                after[pair] = after.get(pair, 0) + ways
        laws = after
    return leaked + sum(ways * max(Fraction(0), left - power * right) for (left, right), ways in laws.items())


def log_above(value: Fraction) -> Fraction:
    """Return a rational within 1e-60 above ln x."""
    with mpmath.workdps(80):
        return Fraction(str(mpmath.nstr(mpmath.log(mpmath.mpf(value.numerator) / value.denominator), 65)))


@pytest.mark.parametrize("odds", [Fraction(11, 10), Fraction(2), Fraction(50)])
@pytest.mark.parametrize("leaks", [[0], [0] * 2, [0] * 7, [0] * 12, [Fraction(1, 1000)] * 5, [Fraction(1, 9), 0, 0]])
@pytest.mark.parametrize("place", [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(9, 10)])
def test_the_optimal_curve_is_the_exact_convolution(odds: Fraction, leaks: list[Fraction], place: Fraction) -> None:
    power = 1 + (odds ** len(leaks) - 1) * place
    truth = convolved(odds, [Fraction(leak) for leak in leaks], power)
    size, at = Exact(log_above(odds)), log_above(power)
    parts = [(ApproxDP(epsilon=size, delta=Exact(leak)), 1) for leak in leaks]
    bound = optimal_delta(parts, at)
    assert float(truth) * (1 - 1e-15) <= bound <= float(truth) * (1 + TIGHT)
    if power > 1:
        assert optimal(parts, Exact(truth * (1 + Fraction(1, 10**20)))) == pytest.approx(float(at), rel=1e-12)


def theorem_3_3(k: int, size: Any, i: int) -> Any:  # noqa: ANN401
    """δ_i of Kairouz, Oh and Viswanath, theorem 3.3, as printed there."""
    terms = (comb(k, m) * (mpmath.exp((k - m) * size) - mpmath.exp((k - 2 * i + m) * size)) for m in range(i))
    return mpmath.fsum(terms) / (1 + mpmath.exp(size)) ** k


@pytest.mark.parametrize(("k", "size"), [(1, "1"), (2, "0.5"), (9, "0.3"), (100, "0.1"), (1501, "0.01"), (1200, "1")])
@pytest.mark.parametrize("share", [0.3, 0.6, 1])
def test_the_breakpoints_are_those_of_the_theorem(k: int, size: str, share: float) -> None:
    i = int(k // 2 * share)
    at = Exact((k - 2 * i) * Fraction(size))
    with mpmath.workdps(250):
        truth = theorem_3_3(k, mpmath.mpf(size), i)
        bound = optimal_delta([(PureDP(epsilon=Exact(Fraction(size))), k)], at)
        assert bound == 0 if truth == 0 else (truth < 1e-320 or above(bound, truth))


@pytest.mark.parametrize(("k", "epsilon"), [(10, 3.162039), (100, 4.774568), (10**4, 4.885516)])
def test_optimal_golden(k: int, epsilon: float) -> None:
    assert optimal(pure(1 / sqrt(k), k), DELTA) == pytest.approx(epsilon, abs=5.1e-7)


def test_a_million_small_ones_approach_a_gaussian() -> None:
    assert optimal(pure(1e-3, 10**6), DELTA) == pytest.approx(4.886544, abs=1e-6)


@pytest.mark.parametrize(
    ("size", "k"),
    [(1e-300, 1), (1e-300, 10**3), (1e-6, 1), (1e-6, 10**6), (1, 10**6), (700, 10**3), (1e300, 1), (1e300, 10**6)],
)
def test_sizes_from_tiny_to_huge_stay_between_zero_and_basic(size: float, k: int) -> None:
    parts = pure(size, k)
    for delta in (1e-300, 1e-6):
        epsilon = optimal(parts, delta)
        assert 0 <= epsilon <= basic(parts).epsilon
        assert optimal_delta(parts, epsilon) <= delta * (1 + 1e-9 + 3e-16 * epsilon * k)


@settings(deadline=None)
@given(size=sizes, k=counts, delta=deltas)
def test_optimal_is_least_and_advanced_holds(size: float, k: int, delta: float) -> None:
    parts = pure(size, k)
    best = optimal(parts, delta)
    assert best <= basic(parts).epsilon
    assert best <= advanced(parts, delta)
    assert optimal_delta(parts, best) <= delta * (1 + 1e-12)
    if best > 0:
        assert optimal_delta(parts, best * (1 - 1e-9)) > delta


@settings(deadline=None)
@given(size=sizes, k=counts, leak=st.floats(1e-9, 1e-4), delta=st.floats(5e-3, 0.3))
def test_optimal_with_deltas_inverts_and_beats_basic(size: float, k: int, leak: float, delta: float) -> None:
    parts = [(ApproxDP(epsilon=size, delta=leak), k)]
    best, total = optimal(parts, delta), basic(parts)
    assert best <= advanced(parts, delta)
    assert optimal_delta(parts, best) <= delta * (1 + 1e-12)
    assert optimal(parts, total.delta) <= total.epsilon
    assert optimal_delta(parts, total.epsilon) <= total.delta


@settings(deadline=None)
@given(size=sizes, k=counts, more=st.integers(1, 5), delta=deltas)
def test_one_more_release_never_costs_less(size: float, k: int, more: int, delta: float) -> None:
    for rule in RULES:
        assert rule(pure(size, k), delta) <= rule(pure(size, k + more), delta) * (1 + 1e-14)


@settings(deadline=None)
@given(st.lists(st.tuples(sizes, st.integers(0, 20)), max_size=4), deltas)
def test_order_and_grouping_do_not_matter(pairs: list[tuple[float, int]], delta: float) -> None:
    parts = [(PureDP(epsilon=size), k) for size, k in pairs]
    apart = [(PureDP(epsilon=size), 1) for size, k in reversed(pairs) for _ in range(k)]
    assert basic(parts) == basic(apart)
    assert advanced(parts, delta) == pytest.approx(advanced(apart, delta), rel=1e-14)


@pytest.mark.parametrize(("size", "k", "leak"), [("0.1", 100, "0"), ("0.01", 10**6, "1e-14"), ("2", 3, "1e-9")])
def test_advanced_is_the_formula_of_drv10_rounded_up(size: str, k: int, leak: str) -> None:
    parts = [(ApproxDP(epsilon=Exact(Fraction(size)), delta=Exact(Fraction(leak))), k)]
    with mpmath.workdps(50):
        e, slack = mpmath.mpf(size), mpmath.mpf("1e-6") - k * mpmath.mpf(leak)
        truth = e * mpmath.sqrt(2 * k * mpmath.log(1 / slack)) + k * e * mpmath.expm1(e)
        assert above(advanced(parts, DELTA), truth)


def test_advanced_of_different_sizes_is_its_formula_rounded_up() -> None:
    parts: list[tuple[PureDP | ApproxDP, int]]
    parts = [(PureDP(epsilon=0.1), 10), (ApproxDP(epsilon=0.2, delta=1e-8), 5), (PureDP(epsilon=0), 3)]
    with mpmath.workdps(50):
        sizes = [mpmath.mpf("0.1")] * 10 + [mpmath.mpf("0.2")] * 5
        size = mpmath.log(1 / (mpmath.mpf("1e-6") - 5 * mpmath.mpf("1e-8")))
        truth = mpmath.sqrt(2 * size * sum(e * e for e in sizes)) + sum(e * mpmath.expm1(e) for e in sizes)
        assert above(advanced(parts, DELTA), truth)


def test_basic_sums_are_exact() -> None:
    assert basic(pure(0.1, 10)) == ApproxDP(epsilon=1, delta=0)
    assert basic([(PureDP(epsilon=0.1), 1)] * 10).epsilon == 1
    thirds = basic([(ApproxDP(epsilon=Exact(Fraction(1, 3)), delta=Exact(Fraction(1, 30))), 3)])
    assert exactly(thirds.epsilon) == 1
    assert exactly(thirds.delta) == Fraction(1, 10)
    assert basic([(ApproxDP(epsilon=1, delta=0.5), 3)]).delta == 1


def test_nothing_costs_nothing() -> None:
    for nothing in ([], pure(1, 0), pure(0, 10**6)):
        assert basic(nothing) == ApproxDP(epsilon=0, delta=0)
        for delta in (0, DELTA, 1):
            assert advanced(nothing, delta) == optimal(nothing, delta) == 0
        assert optimal_delta(nothing, 0) == 0


def test_exact_limits_of_the_optimal_rule() -> None:
    assert optimal(pure(0.1, 1), 0) == 0.1
    assert optimal(pure(0.1, 10), 0) == 1
    assert optimal(pure(0.001, 10**6), 0) == 1000
    assert optimal(pure(5, 10**6), 1) == 0
    assert optimal([(ApproxDP(epsilon=0.1, delta=DELTA), 1)], DELTA) == 0.1
    assert optimal([(ApproxDP(epsilon=0, delta=DELTA), 1)], DELTA) == 0
    assert optimal_delta(pure(1, 10), 10) == optimal_delta(pure(1, 10), 11) == 0
    assert optimal_delta([(ApproxDP(epsilon=1, delta=DELTA), 1)], 1) == DELTA
    assert optimal_delta([(ApproxDP(epsilon=1, delta=1), 1)], 1) == 1
    for at in (0, 0.5, 0.99):
        assert optimal_delta(pure(1, 1), at) == pytest.approx(delta_of_pure(1, at), rel=1e-14)


def test_parts_of_one_epsilon_may_stand_in_several_pairs() -> None:
    apart: list[tuple[PureDP | ApproxDP, int]]
    apart = [(PureDP(epsilon=0.1), 60), (ApproxDP(epsilon=0.1, delta=0), 40), (PureDP(epsilon=0), 9)]
    assert optimal(apart, DELTA) == optimal(pure(0.1, 100), DELTA)


def test_different_epsilons_have_no_optimal_rule_here() -> None:
    with pytest.raises(InvalidError, match="optimal rule needs parts of one ε"):
        optimal([*pure(0.1, 1), *pure(0.2, 1)], DELTA)


def test_a_delta_that_the_parts_exceed_is_refused_with_the_least() -> None:
    parts = [(ApproxDP(epsilon=0.1, delta=1e-3), 10)]
    for rule in RULES:
        with pytest.raises(InvalidError, match=r"0\.00995|0\.01") as caught:
            rule(parts, 1e-3)
        assert caught.value.argument == "delta"
    with pytest.raises(InvalidError, match="at least 1"):
        optimal([(ApproxDP(epsilon=1, delta=1), 1)], 0.5)
    with pytest.raises(InvalidError, match="the basic rule"):
        advanced(pure(1, 2), 0)


@pytest.mark.parametrize("bad", [-1, nan, inf, "1", True, None, [1], 1.5])
def test_delta_and_epsilon_are_checked(bad: Any) -> None:  # noqa: ANN401
    for rule in RULES:
        with pytest.raises(InvalidError) as caught:
            rule(pure(1, 2), bad)
        assert caught.value.argument == "delta"
    if bad != 1.5:
        with pytest.raises(InvalidError) as caught:
            optimal_delta(pure(1, 2), bad)
        assert caught.value.argument == "epsilon"


@pytest.mark.parametrize("bad", [-1, 1.0, 2.5, nan, inf, "3", True, None, 10**9 + 1])
def test_a_count_is_a_whole_number(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        basic(pure(1, bad))
    assert caught.value.argument == "count"


@pytest.mark.parametrize("bad", [None, 1, "parts", [PureDP(epsilon=1)], [(ZCDP(rho=1), 1)], [(1, 1)], [(1,)], [[]]])
def test_parts_are_pairs(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        basic(bad)
    assert caught.value.argument == "parts"


def test_too_many_in_all_are_refused() -> None:
    with pytest.raises(InvalidError, match="in total"):
        optimal(pure(1, 10**9) * 2, DELTA)
