"""The tail of the total privacy loss of n releases with equal Laplace noise, in closed form.

**Theorem.** Let L₁, …, L_n be independent losses of continuous Laplace noise, each with ε = Δ/s. For -nε ≤ x < nε let
u_k = ((n - 2k)ε - x)/2. Then

    Pr[ΣL > x] = 1 - 2^(-n)·e^(-u₀)·( Σ_i T_i·u₀^i/i! - Σ_k C(n,k) Σ_i K_i(k-1)·u_k^i/i! ),

with i from 0 to n-1, k from 1 up while u_k > 0, T_i = Σ_{j>i} C(n,j), and K_i(k-1) the coefficient of zⁱ in
(1+z)^(n-k)·(1-z)^(k-1).

*Proof.* A loss is ε with probability ½, -ε with probability e^(-ε)/2, and has the density ¼e^((l-ε)/2) between. For
s = t + ½ > 0 its transform is

    E[e^(tL)] = ½e^(tε)·(1 + 1/(2s)) + ½e^(-(t+1)ε)·(1 - 1/(2s)).

The n-th power is Σ_k 2^(-n)·C(n,k)·e^(-kε)·e^(t(n-2k)ε)·Σ_j c_j·(2s)^(-j), where c_j is the coefficient of z^j in
(1+z)^(n-k)·(1-z)^k. And e^(ta)·s^(-j) is the transform of a - Y, where Y has the density y^(j-1)e^(-y/2)/(j-1)! on
y > 0 (for j = 0, the atom Y = 0). A finite signed measure is determined by its transform on an interval. So with the
regularized gamma function P(j,u) = 1 - e^(-u)·Σ_{i<j} u^i/i!,

    Pr[ΣL > x] = 2^(-n)·Σ_{k: u_k>0} C(n,k)·e^(-kε)·Σ_j c_j·P(j,u_k).

For k = 0, Σ_j c_j = 2^n, which gives 1 and T. For k > 0, Σ_j c_j = 0, and Σ_{j≤i} c_j is the coefficient of zⁱ after
division by 1 - z. The factor e^(-kε)·e^(-u_k) is e^(-u₀) for every k. ∎

**Noise on a grid.** tacit releases reals with discrete Laplace noise on a fine grid: of scale s, for a value that
moves by N, both in steps of the grid. With t = 1/s, r = e^(-t) and ε = N/s, its loss L' has for -ε ≤ x < ε the tail
1 - r^m/(1+r), m = ⌈(ε-x)s/2⌉, and that of L is 1 - e^(-(ε-x)/2)/2. Since r^m is between e^(-(ε-x)/2)·r and
e^(-(ε-x)/2),

    Pr[L > x + b] ≤ Pr[L' > x] ≤ Pr[L > x - a],   a = 2·ln((1+e^t)/2) ≤ t + t²/4,   b = 2·ln(2/(1+e^(-t))) ≤ t.

(ln((1+e^t)/2) = t/2 + ln cosh(t/2), and cosh(y) ≤ e^(y²/2).) For x outside of [-ε, ε) both sides are 0 or 1, or the
bounds are trivial. Stochastic order is kept by sums of independent variables, so for sums a and b count n times.

**On real bits.** ε and x are rationals and all coefficients are integers. The terms cancel, so they are added with many
digits. Each term is computed by at most 5n + 20 rounded operations, and at most n² terms are added. So with D digits
the error is below 10^(8-D) times the sum of the absolute values of all terms, for n ≤ 1,000. The number of digits is
doubled until that is below 10^-30 of the result.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from math import comb

from tacit.guarantees.conversions import as_decimal, working

MOST = 500
"""The largest number of releases: the work grows with the square, to about a second."""

_DIGITS = (60, 120, 240, 480, 960, 1920)
_SMALL, _SHARE = Decimal("1e-330"), Decimal("1e-30")


def sum_tail(epsilon: Fraction, count: int, x: Fraction) -> tuple[Decimal, Decimal] | None:
    """Return Pr[ΣL > x] of `count` losses, and a bound on the error; None if they cancel too many digits.

    >>> value, error = sum_tail(Fraction(1), 2, Fraction(1))
    >>> round(float(value), 6), error < 1e-30
    (0.469286, True)
    """
    if not -count * epsilon <= x < count * epsilon:
        return Decimal(int(x < 0)), Decimal(0)
    for digits in _DIGITS:
        with working(digits):
            value, terms = _tail(epsilon, count, x)
            error = terms.scaleb(8 - digits)
            if error <= _SHARE * value or (error < _SMALL and value < _SMALL):
                return value, max(error, _SHARE * value)
    return None


def grid_shift(scale: Fraction) -> Fraction:
    """Return the most by which noise of this scale, in steps of a grid, moves one loss up or down (see the module)."""
    return 1 / scale + 1 / (4 * scale**2)


def _tail(epsilon: Fraction, count: int, x: Fraction) -> tuple[Decimal, Decimal]:
    """Return the probability, and the sum of the absolute values of its terms."""
    first = (count * epsilon - x) / 2
    uppers = list(accumulate(comb(count, j) for j in range(count, 0, -1)))[::-1]
    total, size = _weighted(uppers, first)
    coefficients = [comb(count - 1, i) for i in range(count)]  # (1+z)^(n-1), for k = 1
    for k in range(1, count):
        at = first - k * epsilon
        if at <= 0:
            break
        part, its_size = _weighted(coefficients, at)
        total -= comb(count, k) * part
        size += comb(count, k) * its_size
        coefficients = _turned(coefficients)
    factor = (-as_decimal(first)).exp() / 2**count
    return 1 - factor * total, 1 + factor * size


def _weighted(coefficients: list[int], u: Fraction) -> tuple[Decimal, Decimal]:
    """Return Σ c_i·u^i/i!, and Σ |c_i|·u^i/i!."""
    at, power, total, size = as_decimal(u), Decimal(1), Decimal(0), Decimal(0)
    for i, coefficient in enumerate(coefficients):
        if i:
            power = power * at / i
        term = coefficient * power
        total, size = total + term, size + abs(term)
    return total, size


def _turned(coefficients: list[int]) -> list[int]:
    """Return a polynomial divided by 1 + z, which divides it, and multiplied by 1 - z."""
    divided, last = [], 0
    for coefficient in coefficients:
        last = coefficient - last
        divided.append(last)
    return [divided[0], *(b - a for a, b in pairwise(divided))]
