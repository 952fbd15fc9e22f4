"""The basic, the advanced and the optimal composition rule for ε- and (ε,δ)-DP.

A composition is a list of pairs (guarantee, number of uses). A pure guarantee is one with δ = 0. Every ε and δ is
rounded up; an empty composition costs nothing.

**Optimal.** Every (ε₀,δ₀)-DP mechanism post-processes one that reveals everything with probability δ₀ and is otherwise
randomized response with odds e^ε₀ (Kairouz, Oh and Viswanath, arXiv:1311.0776v4, the proof of theorem 3.3). So k of
them with one ε₀ cost at most, and in the worst case exactly,

    δ(ε) = 1 - Π(1-δᵢ)·(1 - d(ε)),     d(ε) = Σ_j C(k,j)·p^(k-j)·q^j·(1 - e^(ε-(k-2j)ε₀))₊,

p = e^ε₀/(1+e^ε₀), q = 1-p (ibid., theorem 3.3, at its breakpoints ε = (k-2i)ε₀). Between breakpoints d is linear in
e^ε, so it is inverted exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from fractions import Fraction
from math import ceil, factorial, inf
from typing import TypeAlias

from tacit.errors import InvalidError, bad_value, show
from tacit.guarantees.conversions import as_decimal, exactly, float_above, nonnegative, probability, working
from tacit.guarantees.exact import Exact, Number, round_up, whole
from tacit.guarantees.values import ApproxDP, PureDP

CountedGuarantees: TypeAlias = Sequence[tuple[PureDP | ApproxDP, int]]

_MOST = 10**9
_DIGITS = 60
_SLACK = Decimal("1e-35")
"""A relative bound on the terms that the sums leave out and on the rounding of terms that do not cancel."""
_NEGLIGIBLE = _SLACK / 10


@dataclass(frozen=True, slots=True)
class _Part:
    epsilon: Fraction
    delta: Fraction
    count: int


def basic(parts: CountedGuarantees) -> ApproxDP:
    """Return (Σεᵢ, Σδᵢ), exactly; δ at most 1 (Dwork and Roth 2014, theorem 3.16).

    >>> basic([(PureDP(epsilon=0.1), 10)])
    ApproxDP(epsilon=1.0, delta=0.0)
    """
    read = _read(parts)
    epsilon = sum((part.count * part.epsilon for part in read), Fraction(0))
    return ApproxDP(epsilon=Exact(epsilon), delta=Exact(min(Fraction(1), _sum_of_deltas(read))))


def advanced(parts: CountedGuarantees, delta: Number) -> float:
    """Return the ε of advanced composition at a total δ = δ' + Σδᵢ, rounded up.

    ε' = √(2·ln(1/δ')·Σεᵢ²) + Σεᵢ(e^εᵢ-1); k equal parts: ε√(2k·ln 1/δ') + kε(e^ε-1) (Dwork, Rothblum and Vadhan,
    FOCS 2010, theorem III.3; Dwork and Roth 2014, theorem 3.20). Different εᵢ: the loss of each is in [-εᵢ,εᵢ]
    and has mean at most εᵢ(e^εᵢ-1), given all earlier answers, so Azuma's inequality gives the same with Σεᵢ². It can
    exceed the basic sum, for few parts or large ε.

    >>> round(advanced([(PureDP(epsilon=0.1), 100)], 1e-6), 4)
    6.3082
    """
    read, total = _read(parts), probability(delta, "delta")
    slack = total - _sum_of_deltas(read)
    if all(part.epsilon == 0 for part in read) and slack >= 0:
        return 0.0
    if slack <= 0:
        least = round_up(min(Fraction(1), _sum_of_deltas(read)))
        hint = "Use a larger delta, or the basic rule, which needs no more than that."
        raise bad_value("delta", delta, f"above {least}, the sum of the parts' δ", hint=hint)
    with working(_DIGITS):
        squares = as_decimal(sum((part.count * part.epsilon**2 for part in read), Fraction(0)))
        spread = (2 * max(Decimal(0), -as_decimal(slack).ln() + _SLACK) * squares).sqrt()
        drift = sum((_drift(part) for part in read), Decimal(0))
        return float_above((spread + drift) * (1 + _SLACK))


def _drift(part: _Part) -> Decimal:
    """Return kε(e^ε-1), with e^ε moved up by more than its rounding."""
    e = as_decimal(part.epsilon)
    return part.count * e * (e.exp() * (1 + Decimal("1e-55")) - 1)


def optimal(parts: CountedGuarantees, delta: Number) -> float:
    """Return the least ε that k parts of one ε₀ guarantee at a total δ, rounded up; see the module.

    >>> round(optimal([(PureDP(epsilon=0.1), 100)], 1e-6), 6)
    4.774568
    >>> optimal([(PureDP(epsilon=0.1), 10)], 0)
    1.0
    """
    read, total = _read(parts), probability(delta, "delta")
    epsilon, count = _shared(read)
    if total == 1:
        return 0.0
    with working(_digits(read, total, epsilon)):
        share = _left_for_noise(read, total)
        if share is None:
            least = min(1.0, float_above(1 - _survival(read) + _SLACK))
            raise bad_value("delta", delta, f"at least {least}, the total of the parts' δ")
        return _inverse(epsilon, count, share)


def optimal_delta(parts: CountedGuarantees, epsilon: Number) -> float:
    """Return the least δ that k parts of one ε₀ guarantee at an ε, rounded up; the inverse of `optimal`.

    >>> round(optimal_delta([(PureDP(epsilon=1), 1)], 0), 6)
    0.462117
    """
    read, target = _read(parts), nonnegative(epsilon, "epsilon")
    size, count = _shared(read)
    with working(_digits(read, Fraction(1), size)):
        noise, spent = _curve(count, size, target), _sum_of_deltas(read)
        if spent == 0:
            return min(1.0, float_above(noise))
        survival = _survival(read)
        exact = float_above((1 - survival + survival * noise) * (1 + _SLACK) + _absolute())
        return min(1.0, exact, inf if noise else round_up(spent))


def _inverse(epsilon: Fraction, count: int, share: Decimal) -> float:
    """Return the least ε with d(ε) ≤ share.

    The breakpoint i with d ≤ share and its successor above share are found by bisection. The chord of two upper
    bounds of d, linear in e^ε as d is, bounds d from above, so where it meets the share is on the safe side.
    """
    if count == 0 or _curve(count, epsilon, Fraction(0)) <= share:
        return 0.0
    if share == 0:
        return round_up(count * epsilon)
    low, high = 0, (count + 1) // 2  # d(low) ≤ share < d(high), whose ε is 0, or -ε₀ in place of 0
    while high - low > 1:
        middle = (low + high) // 2
        below = _curve(count, epsilon, (count - 2 * middle) * epsilon) <= share
        low, high = (middle, high) if below else (low, middle)
    upper, lower = (count - 2 * low) * epsilon, max(Fraction(0), (count - 2 * high) * epsilon)
    at_upper, at_lower = _curve(count, epsilon, upper), _curve(count, epsilon, lower)
    position = (share - at_upper) / (at_lower - at_upper) * (1 - _SLACK)
    if position <= 0:
        return round_up(upper)
    fall = (1 - position * (1 - (-as_decimal(upper - lower)).exp())).ln()
    return min(round_up(upper), float_above((as_decimal(upper) + fall) + as_decimal(upper) * _SLACK))


def _curve(k: int, size: Fraction, epsilon: Fraction) -> Decimal:
    """Return d(ε) for k times ε₀ = size, rounded up.

    The terms are positive. From the largest probability with loss above ε, on both sides, each term is the one
    before times a ratio. The terms fall, so the rest is at most k times the last.
    """
    last = ceil((k - epsilon / size) / 2) - 1 if size else -1  # the last j of loss above ε
    if last < 0:
        return Decimal(0)
    odds = (-as_decimal(size)).exp()
    start = min(last, int((k + 1) * odds / (1 + odds)))
    mass = (_log_choose(k, start) - start * as_decimal(size) - k * (1 + odds).ln()).exp()
    shade = as_decimal(epsilon - (k - 2 * start) * size).exp()
    total, steps = _downward(k, odds, start, mass, shade)
    total, more = _upward(k, odds, range(start + 1, last + 1), mass, shade, total)
    return total * (1 + _SLACK) + mass * (steps + more) * Decimal(10) ** (15 - getcontext().prec)


def _downward(k: int, odds: Decimal, start: int, mass: Decimal, shade: Decimal) -> tuple[Decimal, int]:
    """Sum the terms j = start, start-1, …; return the sum and the number of terms."""
    total, square = Decimal(0), odds * odds
    for j in range(start, -1, -1):
        total += mass * (1 - shade)
        if mass * k < _NEGLIGIBLE * total:
            return total + mass * k, start - j + 1
        if j:
            mass = mass * j / ((k - j + 1) * odds)
            shade *= square
    return total, start + 1


def _upward(k: int, odds: Decimal, span: range, mass: Decimal, shade: Decimal, total: Decimal) -> tuple[Decimal, int]:
    """Add the terms of a span to a total; return it and the number of terms. Mass and shade are of the term before."""
    square = odds * odds
    for j in span:
        mass = mass * (k - j + 1) * odds / j
        if mass == 0:  # below 1e-(10^18)
            return total, j - span.start
        shade /= square
        total += mass * (1 - shade)
        if mass * k < _NEGLIGIBLE * total:
            return total + mass * k, j - span.start + 1
    return total, len(span)


def _log_choose(k: int, j: int) -> Decimal:
    return _log_factorial(k) - _log_factorial(j) - _log_factorial(k - j)


def _log_factorial(n: int) -> Decimal:
    """Return ln n!, from 1000 on by Stirling's series, whose error is below the first term left out, 1e-60."""
    if n < _STIRLING:
        return Decimal(factorial(n)).ln()
    x = Decimal(n)
    series = sum((as_decimal(c) / x ** (2 * m + 1) for m, c in enumerate(_COEFFICIENTS)), Decimal(0))
    return (x + Decimal("0.5")) * x.ln() - x + (2 * _PI).ln() / 2 + series


_STIRLING = 1000
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
_BERNOULLI = ("1/6", "-1/30", "1/42", "-1/30", "5/66", "-691/2730", "7/6", "-3617/510", "43867/798", "-174611/330")
_COEFFICIENTS = [Fraction(b) / ((2 * m + 2) * (2 * m + 1)) for m, b in enumerate(_BERNOULLI)]


def _read(parts: CountedGuarantees) -> list[_Part]:
    """Return the exact numbers of each pair, without those of count 0."""
    requirement = "a list of pairs (PureDP or ApproxDP, number of uses)"
    if not isinstance(parts, (list, tuple)):
        raise bad_value("parts", parts, requirement)
    read = []
    for pair in parts:
        if not isinstance(pair, tuple) or len(pair) != _PAIR or not isinstance(pair[0], (PureDP, ApproxDP)):
            raise InvalidError(f"parts must be {requirement}, not a list with {show(pair)}.", argument="parts")
        guarantee, count = pair[0], whole(pair[1])
        if count is None or not 0 <= count <= _MOST:
            raise bad_value("count", pair[1], f"a whole number from 0 to {_MOST}")
        delta = exactly(guarantee.delta) if isinstance(guarantee, ApproxDP) else Fraction(0)
        read.append(_Part(exactly(guarantee.epsilon), delta, count))
    return [part for part in read if part.count]


_PAIR = 2


def _sum_of_deltas(read: list[_Part]) -> Fraction:
    return sum((part.count * part.delta for part in read), Fraction(0))


def _shared(read: list[_Part]) -> tuple[Fraction, int]:
    """Return the common ε₀ > 0 of all parts and their number; parts of ε = 0 cost their δ only."""
    sizes = {part.epsilon for part in read if part.epsilon}
    if len(sizes) > 1:
        message = f"The optimal rule needs parts of one ε, but there are {len(sizes)} different ones."
        raise InvalidError(message, argument="parts", hint="Use another rule.")
    count = sum(part.count for part in read if part.epsilon)
    if count > _MOST:
        raise bad_value("count", count, f"at most {_MOST} in total")
    return (sizes.pop(), count) if sizes else (Fraction(0), 0)


def _digits(read: list[_Part], delta: Fraction, epsilon: Fraction) -> int:
    """Return the number of digits that leaves 60 for differences as small as the smallest parameter."""
    leaks = [part.delta for part in read if part.delta]
    small = [value for value in (epsilon, *leaks, *([delta] if leaks else [])) if value]
    bits = max((value.denominator.bit_length() - value.numerator.bit_length() for value in small), default=0)
    return _DIGITS + min(1000, max(0, bits) // 3)


def _absolute() -> Decimal:
    """Return more than the rounding of up to 10^9 numbers near 1, at the current precision."""
    return Decimal(10) ** (20 - getcontext().prec)


def _survival(read: list[_Part]) -> Decimal:
    """Return Π(1-δᵢ)."""
    if any(part.delta == 1 for part in read):
        return Decimal(0)
    return sum((part.count * as_decimal(1 - part.delta).ln() for part in read), Decimal(0)).exp()


def _left_for_noise(read: list[_Part], total: Fraction) -> Decimal | None:
    """Return 1 - (1-δ)/Π(1-δᵢ), the d(ε) that a total δ leaves, rounded down; None if δ is too small.

    A δ of Σδᵢ ≥ 1 - Π(1-δᵢ) always leaves at least 0.
    """
    spent, survival = _sum_of_deltas(read), _survival(read)
    if spent == 0:
        return as_decimal(total) * (1 - _SLACK)
    if survival == 0:
        return None
    share = 1 - as_decimal(1 - total) / survival - _absolute() / survival
    if share < 0:
        return Decimal(0) if total >= spent else None
    return share
