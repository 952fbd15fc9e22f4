"""Exponentials, roots and normal tails between two rationals, rounded outwards to 256 bits."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

Bounds = tuple[Fraction, Fraction]
_BITS, _FIXED, _TERMS, _DEPTH, MOST = 256, 320, 40, 200, 8192
_PI = Fraction("3.14159265358979323846264338327950288419716939937510")


def cut(x: Fraction, *, up: bool) -> Fraction:
    """Return a number to 256 bits, not below it (`up`) or not above it."""
    unit = Fraction(2) ** (x.numerator.bit_length() - x.denominator.bit_length() - _BITS)
    return -(-x // unit) * unit if up else x // unit * unit


@lru_cache(maxsize=4096)
def exp(x: Fraction) -> Bounds:
    """Return e^x, from Taylor's sum at y = x/2^n ≤ 2^-8 and n squarings; 0 below -8192, OverflowError above 8192."""
    if x < 0:
        low, high = exp(min(-x, Fraction(MOST)))
        return (1 / high if x >= -MOST else Fraction(0)), 1 / low
    if x > MOST:
        raise OverflowError
    halvings = int(x).bit_length() + 8
    y = (x.numerator << _FIXED - halvings) // x.denominator
    term = total = 1 << _FIXED
    for k in range(1, _TERMS):
        term = term * y // (k << _FIXED)
        total += term
    low, high = Fraction(total, 1 << _FIXED), Fraction(total + 2 * _TERMS, 1 << _FIXED)
    for _ in range(halvings):
        low, high = cut(low * low, up=False), cut(high * high, up=True)
    return low, high


def root(x: Fraction) -> Bounds:
    """Return √x."""
    bits = _BITS + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    whole = isqrt((x.numerator << 2 * bits) // x.denominator)
    return Fraction(whole, 1 << bits), Fraction(whole + 1, 1 << bits)


def normal_tail(x: Fraction) -> Bounds:
    """Return Q(x) = Pr[N(0, 1) > x].

    From 2 on Q/φ = 1/t₀ with t_k = x + (k+1)/t_(k+1) and x ≤ t_k ≤ x + (k+1)/x (Laplace's continued fraction). Below,
    ½ - Q = φ·Σ x^(2k+1)/(1·3·…·(2k+1)), whose terms from some k on add up to less than twice the first of them.
    """
    if x < 0:
        low, high = normal_tail(-x)
        return 1 - high, 1 - low
    bell = exp(-x * x / 2)
    density = bell[0] / root(2 * _PI + Fraction(1, 10**48))[1], bell[1] / root(2 * _PI)[0]
    if x >= 2:  # noqa: PLR2004 - where both need few terms
        t = x, x + Fraction(_DEPTH + 1) / x
        for k in range(_DEPTH, 0, -1):
            t = cut(x + k / t[1], up=False), cut(x + k / t[0], up=True)
        return cut(density[0] / t[1], up=False), cut(density[1] / t[0], up=True)
    term = total = x
    for k in range(1, 2 * _TERMS):
        term = cut(term * x * x / (2 * k + 1), up=True)
        total += term
    below = total * (1 - Fraction(1, 2 ** (_BITS - 2))) ** (2 * _TERMS)
    return Fraction(1, 2) - density[1] * (total + 2 * term), Fraction(1, 2) - density[0] * below


def gaussian_delta(square: Fraction, epsilon: Fraction) -> Fraction:
    """Return a number above Q(ε/μ - μ/2) - e^ε·Q(ε/μ + μ/2), which grows with μ: δ(ε) of N(0, 1) moved by μ = √square.

    Balle and Wang, arXiv:1805.06530v2, theorem 8.
    """
    mu = cut(root(square)[1], up=True)
    near = normal_tail(cut(epsilon / mu - mu / 2, up=False))[1]
    return near - exp(min(epsilon, Fraction(MOST)))[0] * normal_tail(cut(epsilon / mu + mu / 2, up=True))[0]
