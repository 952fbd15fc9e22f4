"""The rational probabilities that are drawn, rounded to the private side, and the estimates that follow from them.

Every coin of this package shows heads with probability A/2^64 for an integer A that is fixed when a protocol is
made. Where a report is drawn from a set S of s outputs with probability A/2^64, and else from the other K - s,
uniformly each, two values see any output with probabilities whose ratio is at most

    r = (A/s) / ((2^64 - A)/(K - s)),

and r ≤ e^ε if and only if A ≤ 2^64·s·e^ε/(s·e^ε + K - s). `inside` returns the floor of a lower bound of the right
side, so the ratio that is drawn never exceeds e^ε; and it refuses an ε so small that S would not be
likelier than the rest, so 1/r < 1 ≤ e^ε as well.  ∎

A survey may choose its own p' instead of ε: then A = ⌊p'·2^64⌋, and ε is ln r rounded up (`kept`).

Estimates use the same rationals, so they are unbiased for the law that is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import fraction_between, to_fraction
from tacit.mechanisms import yes_no
from tacit.mechanisms.validation import one_of
from tacit.noise.reals import exp_neg, log_above, logistic

ONE, LARGEST_EPSILON = yes_no.ONE, yes_no.LARGEST_EPSILON
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


def kept(epsilon: object, p: object, s: int, outputs: int) -> tuple[Fraction, int]:
    """Return ε and A of `inside`, from ε or from a survey's own p'.

    >>> epsilon, _ = kept(None, Fraction(3, 4), 1, 2)
    >>> float(epsilon)                              # ln 3
    1.0986122886681098
    """
    if one_of(epsilon=epsilon, p=p) == "epsilon":
        target = read_epsilon(epsilon)
        return target, inside(target, s, outputs)
    keep = rounded_down(read_chance(p, "p"))
    return stated(Fraction(keep * (outputs - s), (ONE - keep) * s), "p", p, f"above {s}/{outputs}"), keep


def read_chance(value: object, argument: str) -> Fraction:
    """Return a probability that a survey chose itself, strictly between 0 and 1, as a fraction that fits into text."""
    return writable(fraction_between(value, argument, 0, 1), argument)


def rounded_down(chance: Fraction) -> int:
    """Return ⌊p·2^64⌋."""
    return chance.numerator * ONE // chance.denominator


def rounded_up(chance: Fraction) -> int:
    """Return ⌈q·2^64⌉, below 2^64."""
    return min(-(-chance.numerator * ONE // chance.denominator), ONE - 1)


def stated(ratio: Fraction, argument: str, value: object, requirement: str) -> Fraction:
    """Return ε = ln r rounded up; raise InvalidError if r is not above 1, or ε is above 50."""
    if ratio <= 1:
        raise bad_value(argument, value, requirement)
    epsilon = log_above(ratio)
    if epsilon > LARGEST_EPSILON:
        raise bad_value(argument, value, f"one whose epsilon is at most {LARGEST_EPSILON}")
    return epsilon


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
