"""Randomized response, in the curator's hands: each bit is kept with probability p = e^ε/(1+e^ε).

**Statement.** Each released bit is ε-DP in its true bit, so a list of bits of which neighbours change one is
ε-DP (Warner, J. Amer. Statist. Assoc. 60, 1965; Dwork and Roth 2014, claim 3.5).
**Proof.** The ratio of any output's probabilities under the two inputs is p/(1-p) = e^ε or its inverse.  ∎

**Estimate.** With share y of "yes" among n answers, (y - (1-p))/(2p-1) is unbiased for the true share.
**Accuracy.** Each answer has variance p(1-p) whatever its bit, and the answers are independent, so with
probability ≥ 1-β the estimate is within t/(2p-1) of the truth, where t is the smaller of Hoeffding's
√(ln(2/β)/2n) and Bernstein's λ/3 + √(λ²/9 + 2λp(1-p)) with λ = ln(2/β)/n.

On real bits: the coin compares with the exact expansion of 1/(1+e^ε); every coin costs the same.
"""

from __future__ import annotations

from math import exp, log, sqrt, tanh

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError, show
from tacit.guarantees.events import RandomizedBit
from tacit.guarantees.exact import Exact, Number, positive
from tacit.guarantees.values import PureDP
from tacit.mechanisms.frozen import Fixed
from tacit.mechanisms.numbers import describe, to_array
from tacit.mechanisms.validation import count_of, failure, least
from tacit.noise import bernoulli, logistic


class RandomizedResponse(Fixed):
    """Flip each bit with probability 1/(1+e^ε); undo the bias of the share afterwards.

    >>> m = RandomizedResponse(epsilon=1)
    >>> round(m.p, 4), m.guarantee
    (0.7311, PureDP(epsilon=1.0))
    >>> answers = m.release([True, False])
    >>> answers.dtype, answers.shape
    (dtype('bool'), (2,))

    Args:
        epsilon: the guarantee for each bit.
    """

    def __init__(self, *, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        target = positive(epsilon, "epsilon")
        self.guarantee = PureDP(epsilon=Exact(target))
        self.event = RandomizedBit(epsilon=target, neighbours="change one")
        self.p = 1 / (1 + exp(-min(self.guarantee.epsilon, 700.0)))
        self._fix(epsilon=epsilon)

    def release(self, bits: npt.ArrayLike) -> bool | npt.NDArray[np.bool_]:
        """Return each bit, kept with probability p: a bool for a bool, an array for an array."""
        flat, shape = _read_bits(bits, "bits")
        noisy = flat ^ bernoulli(logistic(self.event.epsilon), flat.size)
        return bool(noisy[0]) if shape is None else noisy.reshape(shape)

    def estimate(self, answers: npt.ArrayLike) -> float:
        """Return the unbiased estimate of the share of true bits; it may lie outside [0, 1].

        >>> m = RandomizedResponse(epsilon=1)
        >>> bool(abs(m.estimate(m.release([True] * 30_000 + [False] * 70_000)) - 0.3) < 0.1)
        True
        """
        flat, _ = _read_bits(answers, "answers")
        return (float(flat.mean()) - 0.5) / self._slope + 0.5

    @property
    def _slope(self) -> float:
        """2p - 1 = tanh(ε/2), which keeps its digits where p is close to 1/2."""
        return tanh(min(self.guarantee.epsilon, 700.0) / 2)

    def error(self, *, confidence: float = 0.95, n: int) -> float:
        """Return how far the estimated share of n bits is from the true one, at most, with this confidence."""
        rate = log(2 / failure(confidence)) / count_of(n, "n")
        variance = self.p * (1 - self.p)
        bernstein = rate / 3 + sqrt(rate * rate / 9 + 2 * rate * variance)
        return min(sqrt(rate / 2), bernstein) / self._slope

    @classmethod
    def for_error(cls, error: Number, *, confidence: float = 0.95, n: int) -> RandomizedResponse:
        """Return the most private one whose estimated share of n bits is within `error`."""
        wanted = float(positive(error, "error"))
        floor = cls(epsilon=700).error(confidence=confidence, n=n)
        if floor > wanted:
            raise InvalidError("error", show(error), f"at least {floor:.3g}, the bound for {n} bits at any epsilon")
        return cls(epsilon=least(lambda size: cls(epsilon=size).error(confidence=confidence, n=n) <= wanted, 1.0))


def _read_bits(value: npt.ArrayLike, argument: str) -> tuple[npt.NDArray[np.bool_], tuple[int, ...] | None]:
    """Return bits as a flat array, and the shape they had."""
    want = "True or False, or a non-empty array of them (0 and 1 will do)"
    array, plain = to_array(value, argument, want)
    if array.dtype.kind not in "biu":
        raise InvalidError(argument, describe(value, array), want)
    if not ((array == 0) | (array == 1)).all():
        raise InvalidError(argument, "other integers", want)
    return array.astype(np.bool_).reshape(-1), None if plain else array.shape
