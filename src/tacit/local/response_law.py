"""The rational probabilities that are drawn, rounded to the private side, and the estimates that follow from them.

Every coin of this package shows heads with probability A/2^64 for an integer A that is fixed when a protocol is
made. Where a report is drawn from a set S of s outputs with probability A/2^64, and else from the other K - s,
uniformly each, two values see any output with probabilities whose ratio is at most

    r = (A/s) / ((2^64 - A)/(K - s)),

and r ≤ e^ε if and only if A ≤ 2^64·s·e^ε/(s·e^ε + K - s). `inside` returns the floor of a lower bound of the right
side, so the ratio that is drawn never exceeds e^ε; and it refuses an ε so small that S would not be
likelier than the rest, so 1/r < 1 ≤ e^ε as well.  ∎

Estimates use the same rationals, so they are unbiased for the law that is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import to_fraction
from tacit.noise.reals import context, exp_neg, logistic

ONE = 1 << 64
LARGEST_EPSILON = 50
LONGEST = 400
_GUARD = 192


def read_epsilon(value: object) -> Fraction:
    """Return ε, which must be in (0, 50]."""
    requirement = f"a number > 0 and at most {LARGEST_EPSILON}"
    epsilon = to_fraction(value, "epsilon", requirement)
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise bad_value("epsilon", value, requirement)
    return writable(epsilon, "epsilon")


def writable(number: Fraction, argument: str) -> Fraction:
    """Return the number if its text fits into public parameters; raise InvalidError otherwise."""
    huge = max(number.numerator.bit_length(), number.denominator.bit_length()) > 4 * LONGEST
    if huge or len(str(number)) > LONGEST:
        message = f"{argument} has more than {LONGEST} characters as a fraction; the public parameters are text."
        raise InvalidError(message, argument=argument, hint="Use a number with fewer digits.")
    return number


def too_small(epsilon: Fraction) -> InvalidError:
    """Return the error for an ε at which a coin of 64 bits cannot carry any information."""
    message = f"epsilon = {float(epsilon):.3g} is too small for a domain of this size and coins of 64 bits."
    return InvalidError(message, argument="epsilon", hint="Use a larger epsilon.")


def inside(epsilon: Fraction, s: int, outputs: int) -> int:
    """Return A: a report is in its set of s outputs with probability A/2^64 ≤ s·e^ε/(s·e^ε + K - s).

    >>> inside(Fraction(1), 1, 2) / 2**64          # e/(e+1)
    0.7310585786300049
    """
    _, high = exp_neg(epsilon)(_GUARD)
    chance = (s << 64 + _GUARD) // ((s << _GUARD) + (outputs - s) * high)
    if chance * (outputs - s) <= (ONE - chance) * s:
        raise too_small(epsilon)
    return chance


def raised(x: Fraction, epsilon: Fraction) -> int:
    """Return A with A/2^64 ≥ 1/(e^x + 1), the least that is certified; below 1/2."""
    chance = logistic(x)(64)[1]
    if 2 * chance >= ONE:
        raise too_small(epsilon)
    return chance


def log_odds(keep: int) -> Fraction:
    """Return an upper bound of ln(A/(2^64 - A)), A > 2^63, within 1e-30 of it: `decimal` rounds ln correctly."""
    up = context(60, ROUND_CEILING)
    return Fraction(up.next_plus(up.ln(up.divide(Decimal(keep), Decimal(ONE - keep)))))


@dataclass(frozen=True, slots=True)
class Pure:
    """A pure protocol: a report supports the person's own value with probability p', any other one with q'.

    With I_v reports that support v, c(v) = (I_v - n·q')/(p' - q') is unbiased, since E[I_v] = n_v·p' + (n - n_v)·q'.
    I_v is a sum of independent indicators, n_v of chance p' and n - n_v of chance q', so Var[c(v)] =
    n·q'(1-q')/(p'-q')² + n_v·(1-p'-q')/(p'-q') (Wang, Blocki, Li and Jha, USENIX Security 2017, equation 3).
    """

    p: Fraction
    q: Fraction

    def counts(self, support: npt.NDArray[np.int64], n: int) -> Floats:
        """Return c(v) for each v."""
        q, gap = float(self.q), float(self.p - self.q)
        return np.asarray((support - n * q) / gap)

    @property
    def base(self) -> float:
        """The variance that each report adds to the count of a value that nobody has."""
        return float(self.q * (1 - self.q) / (self.p - self.q) ** 2)

    @property
    def slope(self) -> float:
        """The variance that each person with the value adds to that."""
        return float((1 - self.p - self.q) / (self.p - self.q))

    @property
    def step(self) -> float:
        """The change of the estimate when one more report supports it."""
        return float(1 / (self.p - self.q))

    def variance(self, n: int, frequency: float) -> float:
        """Return the variance of the estimated count of a value that a share of n people has."""
        return n * (self.base + frequency * self.slope)
