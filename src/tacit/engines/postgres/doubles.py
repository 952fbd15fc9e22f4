"""Arithmetic of doubles by IEEE 754 in PostgreSQL, which fails on overflow and on underflow to zero.

PostgreSQL computes with the machine's doubles and then fails if finite operands gave ±inf, or if operands that are not
zero gave zero. So each operation is a CASE that decides beforehand, exactly, whether it would fail. NULL passes
through, because no test of NULL is true. NaN and ±inf as operands never fail. The sign of a zero is not preserved: no
supported function distinguishes 0.0 from -0.0. Below, RN is rounding to the nearest double, and scaling by a power of
two is exact if it neither overflows nor leaves the normal range.

If an operand is a constant of the query, the server computes parts of a CASE when it plans. It omits a branch whose
condition is false by constants alone. So each branch that could fail has a condition on every single operand.

**a + b.** If neither is larger than 8e307, the sum is below 1.6e308. If one is smaller than 1 and the other larger than
8e307, the sum is rounded to the larger one. Otherwise both can be halved exactly, and a/2 + b/2 is RN(a + b)/2 with an
unbounded exponent: the sum overflows exactly if that is ≥ 2^1023 in absolute value.

**a·b.** The product cannot fail if both absolute values are from 2^-511 to 2^511, or if one is at least 1 and the other
less: then it is between the two. If both are ≥ 1, (a·2^-512)·(b·2^-512) is RN(a·b)·2^-1024, and the product overflows
exactly if that is ≥ 1 in absolute value. If both are < 1, the product becomes zero exactly if |a·b| ≤ 2^-1075, half of
the least double (a tie is rounded to the even one, zero). Let A = |a|·2^537 and B = |b|·2^538, which are exact; the
condition is A·B ≤ 1. If RN(A·B) is not 1, it decides. If it is 1, the sign of the rounding error decides, which
Dekker's product gives exactly: A = A₁ + A₂ in halves of 26 bits, and
A·B - 1 = ((A₁·B₁ - 1) + A₁·B₂ + A₂·B₁) + A₂·B₂ without any rounding.

**a/b.** The quotient cannot fail if both absolute values are from 2^-511 to 2^511. The quotient of two doubles A < B is
at most 1 - 2^-53, so RN(A/B) ≥ 1 exactly if A ≥ B: a/b overflows exactly if |a|·2^-512 ≥ |b|·2^512. That requires
|b| < 1 and |a| ≥ 2^-51 (the least b is 2^-1074), and then both sides are exact. The quotient becomes zero exactly if
|a/b| ≤ 2^-1075, which is |a|·2^538 ≤ |b|·2^-537. That requires |a| < 1 ≤ |b|, and then both sides are exact.

**fmod(a, b).** If |a| ≥ |b|, the remainder is computed with integers: |a| = m·2^i and |b| = n·2^j with m, n < 2^62,
where i and j are slightly below the numbers' binary exponents, and i ≥ j. The remainder of m·2^(i-j) by n, as NUMERICs,
times 2^j is the result, which is a double. If rounded logarithms give i < j, i is set to j.
"""

from __future__ import annotations

from functools import cache

from sqlglot import exp, parse_one

from tacit.engines.sql.builder import SQL, real

_CONSTANTS = {
    "infinite": float("inf"),
    "zero": 0.0,
    "half": 0.5,
    "unity": 1.0,
    "large": 8e307,
    "half_of_overflow": 2.0**1023,
    "two": 2.0,
    "least_safe": 2.0**-511,
    "most_safe": 2.0**511,
    "down_512": 2.0**-512,
    "up_512": 2.0**512,
    "up_537": 2.0**537,
    "up_538": 2.0**538,
    "down_537": 2.0**-537,
    "down_51": 2.0**-51,
    "splitter": 2.0**27 + 1,
    "whole_enough": 2.0**53,
    "last_exp": 709.782712893384,
    "first_exp": -745.1332191019411,
    "far": 1e300,
    "near": 1e-30,
    "up_700": 700.0,
    "up_710": 710.0,
    "down_746": -746.0,
    "down_1": -1.0,
}


def filled(template: str, **parts: SQL) -> SQL:
    """Return SQL from a template: the names of parts and of constants are replaced, other names stay.

    >>> filled("a > zero", a=exp.column("x")).sql("postgres")
    "(x > CAST('0.0' AS DOUBLE PRECISION))"
    """
    holder = exp.Paren(this=_parsed(template).copy())
    for column in list(holder.find_all(exp.Column)):
        if column.name in parts:
            column.replace(parts[column.name].copy())
        elif column.name in _CONSTANTS:
            column.replace(real(_CONSTANTS[column.name]))
    tree = holder.this
    tree.pop()
    return tree if isinstance(tree, (exp.Case, exp.Cast, exp.Func)) else exp.Paren(this=tree)


@cache
def _parsed(template: str) -> SQL:
    return parse_one(template, dialect="postgres")


def added(a: SQL, b: SQL) -> SQL:
    """Return a + b. Here and below, operands are written several times."""
    return filled(
        """CASE
        WHEN ABS(a) <= large AND ABS(b) <= large THEN a + b
        WHEN ABS(a) < unity OR ABS(b) < unity OR ABS(a) >= infinite OR ABS(b) >= infinite THEN a + b
        WHEN a * half + b * half >= half_of_overflow THEN infinite
        WHEN a * half + b * half <= -half_of_overflow THEN -infinite
        ELSE a + b END""",
        a=a,
        b=b,
    )


def multiplied(a: SQL, b: SQL) -> SQL:
    """Return a·b."""
    return filled(
        """CASE
        WHEN (ABS(a) BETWEEN least_safe AND most_safe) AND (ABS(b) BETWEEN least_safe AND most_safe) THEN a * b
        WHEN a = zero OR b = zero OR ABS(a) >= infinite OR ABS(b) >= infinite THEN a * b
        WHEN ABS(a) >= unity AND ABS(b) >= unity THEN CASE
            WHEN (ABS(a) * down_512) * (ABS(b) * down_512) < unity THEN a * b
            WHEN (a > zero) = (b > zero) THEN infinite ELSE -infinite END
        WHEN ABS(a) < unity AND ABS(b) < unity THEN CASE
            WHEN (ABS(a) * up_537) * (ABS(b) * up_538) < unity THEN zero
            WHEN (ABS(a) * up_537) * (ABS(b) * up_538) > unity THEN a * b
            WHEN rounding_error <= zero THEN zero ELSE a * b END
        ELSE a * b END""",
        a=a,
        b=b,
        rounding_error=_error(filled("ABS(a) * up_537", a=a), filled("ABS(b) * up_538", b=b)),
    )


def _error(left: SQL, right: SQL) -> SQL:
    """Return A·B - 1 exactly, if RN(A·B) is 1."""
    halves = {}
    for name, value in (("a", left), ("b", right)):
        halves[f"{name}1"] = filled("x * splitter - (x * splitter - x)", x=value)
        halves[f"{name}2"] = filled("x - first", x=value, first=halves[f"{name}1"])
    return filled("((a1 * b1 - unity) + a1 * b2 + a2 * b1) + a2 * b2", **halves)


def divided(a: SQL, b: SQL) -> SQL:
    """Return a/b; NULL if b is 0."""
    return filled(
        """CASE
        WHEN b = zero THEN NULL
        WHEN (ABS(a) BETWEEN least_safe AND most_safe) AND (ABS(b) BETWEEN least_safe AND most_safe) THEN a / b
        WHEN a = zero OR ABS(a) >= infinite OR ABS(b) >= infinite THEN a / b
        WHEN ABS(b) < unity AND ABS(a) >= down_51 THEN CASE
            WHEN ABS(a) * down_512 < ABS(b) * up_512 THEN a / b
            WHEN (a > zero) = (b > zero) THEN infinite ELSE -infinite END
        WHEN ABS(a) < unity AND ABS(b) >= unity THEN CASE
            WHEN ABS(a) * up_538 <= ABS(b) * down_537 THEN zero ELSE a / b END
        ELSE a / b END""",
        a=a,
        b=b,
    )


def left_over(a: SQL, b: SQL) -> SQL:
    """Return fmod(a, b); NULL if b is 0 or a is infinite."""
    return filled(
        """CASE
        WHEN a IS NULL OR b IS NULL OR b = zero OR ABS(a) >= infinite THEN NULL
        WHEN ABS(a) < ABS(b) OR ABS(b) >= infinite THEN CASE WHEN ABS(b) <= infinite THEN a END
        WHEN a = zero THEN zero
        WHEN ABS(a) <= whole_enough AND ABS(b) <= whole_enough AND a = FLOOR(a) AND b = FLOOR(b)
            THEN CAST(CAST(a AS BIGINT) % CAST(b AS BIGINT) AS DOUBLE PRECISION)
        WHEN a < zero THEN -remainder ELSE remainder END""",
        a=a,
        b=b,
        remainder=_remainder(a, b),
    )


_EXPONENT = "FLOOR(LN(ABS(x)) / LN(two)) - 54"


def _remainder(a: SQL, b: SQL) -> SQL:
    """Return the remainder of |a| by |b|; both are finite, and |a| ≥ |b|."""
    below = filled(_EXPONENT, x=b)
    above = filled("GREATEST(first, other)", first=filled(_EXPONENT, x=a), other=below)
    left = filled(
        "CAST((CAST(m AS NUMERIC) * POWER(CAST(2 AS NUMERIC), CAST(i - j AS NUMERIC))) % CAST(n AS NUMERIC) AS BIGINT)",
        m=_mantissa(a, above),
        n=_mantissa(b, below),
        i=above,
        j=below,
    )
    return _scaled(filled("CAST(x AS DOUBLE PRECISION)", x=left), below)


def _mantissa(x: SQL, exponent: SQL) -> SQL:
    return filled("CAST(x AS BIGINT)", x=_scaled(filled("ABS(x)", x=x), filled("-e", e=exponent)))


def _scaled(x: SQL, exponent: SQL) -> SQL:
    """Return x·2^exponent in two exact steps, because a single power might not be a double."""
    return filled("x * POWER(two, FLOOR(e * half)) * POWER(two, e - FLOOR(e * half))", x=x, e=exponent)


def exponential(a: SQL) -> SQL:
    """Return e^a."""
    return filled(
        "CASE WHEN a BETWEEN first_exp AND last_exp THEN EXP(a) WHEN a < first_exp THEN zero ELSE a + infinite END", a=a
    )


def powered(a: SQL, b: SQL) -> SQL:
    """Return a^b; NULL unless it is a finite number. Neither operand is NaN.

    Let e = b·ln|a|, which cannot fail for |b| from 1e-30 (below that, a^b is rounded to 1) to 1e300. If |e| ≤ 700, the
    server computes a^b. Above 710 it is infinite, below -746 zero, and between it is the square of |a|^(b/2).
    """
    e = filled("LEAST(GREATEST(b, -far), far) * LN(ABS(a))", a=a, b=b)
    return filled(
        """CASE
        WHEN a IS NULL OR b IS NULL THEN NULL
        WHEN b = zero OR a = unity THEN unity
        WHEN a = zero THEN CASE WHEN b > zero THEN zero END
        WHEN ABS(a) = infinite THEN CASE WHEN b < zero THEN zero END
        WHEN ABS(b) = infinite THEN CASE WHEN ABS(a) = unity THEN unity WHEN (ABS(a) < unity) = (b > zero) THEN zero END
        WHEN a < zero AND b <> FLOOR(b) THEN NULL
        WHEN ABS(b) < near THEN unity
        WHEN ABS(a) = unity THEN CASE WHEN b * half = FLOOR(b * half) THEN unity ELSE down_1 END
        WHEN e BETWEEN -up_700 AND up_700 THEN POWER(a, b)
        WHEN e < down_746 THEN zero
        WHEN e <= up_710 THEN CASE
            WHEN a < zero AND b * half <> FLOOR(b * half) THEN -squared ELSE squared END
        END""",
        a=a,
        b=b,
        e=e,
        squared=_squared(filled("POWER(ABS(a), b * half)", a=a, b=b)),
    )


def _squared(t: SQL) -> SQL:
    """Return t² of a number > 0; NULL if it overflows."""
    return filled(
        """CASE
        WHEN t >= unity THEN CASE WHEN (t * down_512) * (t * down_512) < unity THEN t * t END
        WHEN (t * up_537) * (t * up_538) <= unity THEN zero ELSE t * t END""",
        t=t,
    )
