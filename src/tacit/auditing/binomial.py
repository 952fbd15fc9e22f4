"""Certified bounds of binomial probabilities, and the lower bound on ε that follows from two of them.

**Clopper and Pearson** (Biometrika 26(4), 1934). Let K be Bin(n, θ). For a count k and an error a let p be a number
with Pr[Bin(n, p) ≥ k] ≤ a. Pr[Bin(n, x) ≥ k] increases with x. So let L(k) be any such p that is at most k/n and let
k* be the least k with L(k) > θ. Then Pr[Bin(n, θ) ≥ k*] ≤ Pr[Bin(n, L(k*)) ≥ k*] ≤ a. L increases with k if it is the
largest such p; a smaller value only shrinks the event {L(K) > θ} ⊆ {K ≥ k*}, k* defined by the largest. So Pr[L(K) >
θ] ≤ a. An upper bound of θ is one minus the lower bound of 1 - θ, from n - k.

**Rounding.** A quantile of scipy is only a guess here. `tail_above` bounds Pr[Bin(n, p) ≥ k] from above for a
rational p, and a guess is moved outward until that bound is at most a. So no property of scipy's quantiles matters
for the proof.

* ln n! is exact below n = 256 (up to the logarithm). Otherwise it is Stirling's series to n^-7, whose error is less
  than the next term, 1/(1188·n^9) < 2e-25 (DLMF, section 5.11(ii), for real n). `decimal` rounds logarithms and
  exponentials correctly, at 50 digits. So Pr[Bin(n, p) = k] has a relative error below 1e-20; it is raised by
  `_SLACK`.
* The next probabilities are products with r_j = (n - j)·p/((j + 1)·(1 - p)), which decreases in j. At most 4,096 of
  them are products of doubles, with a relative error of 5·4096·2^-53 < 3e-12 at most; a product that underflows is
  below 1e-290, beside a sum of at least 1. The rest is at most the last product times r/(1 - r), r in exact
  arithmetic. All of it is raised by `_SLACK`.

**Runs whose law drifts.** The runs must be independent. They need not have the same law: let θ be the mean of their
probabilities. Hoeffding (Annals of Mathematical Statistics 27(3), 1956, theorem 4) shows that the tail Pr[K ≥ c] is
then at most the binomial one if c ≥ nθ + 1. If k* < nθ + 1, then k* ≤ ⌈nθ⌉, and Pr[Bin(n, θ) ≥ nθ] > 1/4 if θ > 1/n
(Greenberg and Mohri, Statistics & Probability Letters 86, 2014, theorem 1), which contradicts Pr[Bin(n, θ) ≥ k*] ≤ a
for a ≤ 1/4; and if θ ≤ 1/n, then k* ≤ 1. For k = 1 the bound here is a/n, less than Clopper and Pearson's, and Pr[K ≥
1] ≤ nθ < a by Markov where a/n > θ. So the bounds hold for a ≤ 1/4, and machines that warm up or slow down do not
break them.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from math import factorial, floor, inf, nextafter

import numpy as np
from scipy import special

_SLACK = 1 + Fraction(1, 10**9)
_TERMS = 4096
_EXACT_FACTORIALS = 256
_DECIMALS = Context(prec=50, Emin=-(10**15), Emax=10**15)
_TWO_PI = Decimal("6.2831853071795864769252867665590057683943387987502")
_MARGINS = tuple(Fraction(1, 2**bits) for bits in (40, 33, 26, 20, 14, 9, 5, 2, 1))
MOST_RUNS = 10**9


def lower_probability(hits: int, runs: int, error: Fraction) -> Fraction:
    """Return p such that the true probability is below p with probability at most `error`, which is at most 1/4.

    >>> float(lower_probability(50, 100, Fraction(1, 40))) # Clopper and Pearson: 0.39832…
    0.398321129...
    """
    if hits == 0:
        return Fraction(0)
    if hits == 1:
        return error / runs
    guess = float(special.betaincinv(hits, runs - hits + 1, float(error)))
    for margin in _MARGINS if 0 < guess <= 1 else ():
        p = Fraction(guess) * (1 - margin)
        if p * runs <= hits and tail_above(runs, hits, p) <= error:
            return p
    return Fraction(0)


def upper_probability(hits: int, runs: int, error: Fraction) -> Fraction:
    """Return q such that the true probability is above q with probability at most `error`, which is at most 1/4.

    >>> float(upper_probability(0, 1000, Fraction(1, 40))) # 1 - (1/40)^(1/1000)
    0.0036820...
    """
    misses = runs - hits
    if misses == 0:
        return Fraction(1)
    if misses == 1:
        return 1 - error / runs
    guess = float(special.betainccinv(hits + 1, misses, float(error)))
    for margin in _MARGINS if 0 < guess < 1 else ():
        q = Fraction(guess) * (1 + margin)
        if q < 1 and (1 - q) * runs <= misses and tail_above(runs, misses, 1 - q) <= error:
            return q
    return Fraction(1)


def tail_above(runs: int, hits: int, p: Fraction) -> Fraction:
    """Return an upper bound of Pr[Bin(runs, p) ≥ hits], close to it, for hits ≥ runs·p.

    >>> float(tail_above(3, 3, Fraction(1, 2)))
    0.125...
    """
    if hits <= 0 or p >= 1:
        return Fraction(1)
    if p <= 0 or hits > runs:
        return Fraction(0)
    if hits < runs * p:
        return Fraction(1)
    rest = runs - hits
    logarithm = (
        log_factorial(runs)
        - log_factorial(hits)
        - log_factorial(rest)
        + _times(hits, _log(p))
        + _times(rest, _log(1 - p))
    )
    first = Fraction(_DECIMALS.exp(logarithm)) * _SLACK
    places = hits + np.arange(min(_TERMS, rest), dtype=np.float64)
    products = np.cumprod((runs - places) / (places + 1) * float(p / (1 - p)))
    total = 1 + Fraction(float(products.sum()))
    if rest > _TERMS:
        last = hits + _TERMS
        ratio = (runs - last) * p / ((last + 1) * (1 - p))
        total += Fraction(float(products[-1])) * ratio / (1 - ratio)
    return min(Fraction(1), first * total * _SLACK)


@cache
def log_factorial(n: int) -> Decimal:
    """Return ln n! with an absolute error below 1e-24."""
    if n < _EXACT_FACTORIALS:
        return _DECIMALS.ln(Decimal(factorial(n)))
    c, x = _DECIMALS, Decimal(n)
    series = sum(
        (c.divide(Decimal(sign), c.multiply(Decimal(d), c.power(x, e))) for sign, d, e in _STIRLING), start=Decimal(0)
    )
    half = c.divide(c.ln(c.multiply(_TWO_PI, x)), Decimal(2))
    return c.add(c.add(c.subtract(c.multiply(x, c.ln(x)), x), half), series)


_STIRLING = ((1, 12, 1), (-1, 360, 3), (1, 1260, 5), (-1, 1680, 7))


def _times(count: int, logarithm: Decimal) -> Decimal:
    return _DECIMALS.multiply(Decimal(count), logarithm)


def _log(x: Fraction) -> Decimal:
    return _DECIMALS.ln(_DECIMALS.divide(Decimal(x.numerator), Decimal(x.denominator)))


def log_down(x: Fraction) -> float:
    """Return a double that is at most ln x, for x > 0.

    `decimal` divides and takes the logarithm with relative errors of 1e-49, so the absolute error is below
    1e-40 for all x between 1e-1000 and 1e1000; it is subtracted.

    >>> log_down(Fraction(1)) < 0 < log_down(Fraction(1)) + 1e-15
    True
    """
    exact = _DECIMALS.subtract(_log(x), Decimal("1e-40"))
    near = float(exact)
    return nextafter(near, -inf) if Decimal(near) > exact else near


def epsilon_lower(likely: tuple[int, int], unlikely: tuple[int, int], *, delta: Fraction, error: Fraction) -> float:
    """Return a lower bound on ε from the counts of an event on two inputs, wrong with probability at most `error`.

    If P(E) ≤ e^ε·Q(E) + δ, then ε ≥ ln((P(E) - δ)/Q(E)), where P(E) > δ. Here P(E) ≥ p and Q(E) ≤ q, each wrong with
    probability at most error/2.

    Args:
        likely: the hits and the runs on the input where the event is more likely.
        unlikely: those on the other input.
        delta: the δ of the guarantee.
        error: the probability of a wrong bound, at most 1/2.
    """
    p = lower_probability(*likely, error / 2)
    q = upper_probability(*unlikely, error / 2)
    return ratio_bound(p, q, delta)


def ratio_bound(p: Fraction, q: Fraction, delta: Fraction) -> float:
    """Return max(0, ln((p - δ)/q)), rounded down.

    >>> ratio_bound(Fraction(1, 2), Fraction(1, 4), Fraction(0)) # ln 2
    0.69314718055994...
    """
    return max(0.0, log_down((p - delta) / q)) if p - delta > q else 0.0


def rounded_down(number: float, digits: int = 4) -> str:
    """Return a number ≥ 0 as text, rounded down.

    >>> rounded_down(1.99999), rounded_down(0.0)
    ('1.9999', '0')
    """
    scaled = floor(Fraction(number) * 10**digits)
    return f"{Decimal(scaled).scaleb(-digits).normalize():f}" if scaled else "0"
