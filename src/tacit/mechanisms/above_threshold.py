"""Above threshold (the sparse vector technique): many queries for the price of the first "yes".

**Algorithm.** Draw one discrete Laplace ρ of scale s₁ and keep T̂ = T + ρ. For each query draw a fresh ν of scale s₂ and
answer whether q + ν ≥ T̂; stop after the first "yes". All numbers are in steps of a grid, and Δ is N steps.

**Statement.** With s₁ = N/ε₁ and s₂ = 2N/ε₂ the whole sequence of answers is (ε₁+ε₂)-DP, for any number of answers, and
even if queries depend on earlier answers. If every query moves in the same direction between add/remove neighbours
(monotone), s₂ = N/ε₂ is enough.
**Proof** (Lyu, Su and Li, PVLDB 10(6), 2017, section 4, on integers). The probability of "no" k-1 times, then
"yes", is Σ_z Pr[T̂ = z]·Π_{i<k} Pr[qᵢ + ν < z]·Pr[q_k + ν ≥ z]. Replace D by D' and z by z + N: the first
factor loses at most e^(N/s₁); each of the middle ones does not fall, as q'ᵢ ≤ qᵢ + N; in the last, q'_k - N ≥
q_k - 2N, which loses at most e^(2N/s₂). Sum over all z. A sequence without a "yes" has the first two factors
only. Monotone: if q' ≥ q throughout, the last factor is shifted by N only; if q' ≤ q, keep z: the middle does
not fall and the last loses e^(N/s₂).  ∎
ε₁ : ε₂ is 1 : 2^(2/3), rounded to 0.387 : 0.613, which minimises the variance of ν - ρ (ibid., section 4.2),
and 1 : 1 if monotone.

**Accuracy.** With probability ≥ 1-β over k queries, every "yes" has q ≥ T - a and every "no" q ≤ T + a: the
bound holds for |ρ| with β/2 and for k times |ν| with β/2; a is the sum of the two exact quantiles (and a step
for rounding).

On real bits: T̂ never leaves the object: not through its representation, a copy, a pickle or a forked process, since
each copy could answer "yes" once more. A query with an invalid value draws nothing.
"""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from typing import NoReturn

import numpy as np

from tacit.errors import RefusedError, bad_value
from tacit.guarantees.events import PureRelease
from tacit.guarantees.exact import Exact, Number, positive, to_fraction
from tacit.guarantees.laplace_law import two_sided_quantile
from tacit.guarantees.values import PureDP
from tacit.keyword_only import keyword_only
from tacit.laws.lattice import DiscreteLaplace, sum_tail
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.grid import check_scale, make_grid, nearest
from tacit.mechanisms.inverse import confidence_search, read_error
from tacit.mechanisms.scale_search import least, ratio
from tacit.mechanisms.validation import LIMIT, count_of, failure, flag
from tacit.noise import discrete_laplace

_SHARE = Fraction(387, 1000)
_PATIENCE = 10.0


class _State:
    """The mutable state: the noisy threshold, whether it has fired, and its process."""

    __slots__ = ("fired", "lock", "process", "threshold")

    def __init__(self, threshold: int) -> None:
        self.threshold, self.fired = threshold, False
        self.process, self.lock = os.getpid(), threading.Lock()


@keyword_only
class AboveThreshold(Frozen):
    """Answer for each value whether it is above a threshold, until one is.

    >>> alarm = AboveThreshold(sensitivity=1, epsilon=1, threshold=100)
    >>> alarm.query(-10**6), alarm.query(10**6)
    (False, True)
    >>> alarm.query(3)
    Traceback (most recent call last):
    tacit.errors.RefusedError: This AboveThreshold has fired, ...

    Args:
        sensitivity: Δ, the largest move of a queried value between neighbours; an int for integers.
        epsilon: the guarantee for the whole sequence of answers.
        threshold: a public number.
        monotone: whether a unit moves all queried values in one direction; add/remove neighbours only.

    Attributes:
        guarantee: the guarantee for all answers together, as `PureDP`.
        event: the event for an accountant to price.
    """

    def __init__(self, *, sensitivity: Number, epsilon: Number, threshold: Number, monotone: bool = False) -> None:
        """Fix the laws and draw the noisy threshold."""
        target, size = positive(epsilon, "epsilon"), positive(sensitivity, "sensitivity")
        share = Fraction(1, 2) if flag(monotone, "monotone") else _SHARE
        self._grid = make_grid(sensitivity, size, 1, None, 1 / target)
        steps = self._grid.l1_steps(size)
        self._scales = steps / (share * target), steps * (1 if monotone else 2) / ((1 - share) * target)
        check_scale(max(self._scales), "epsilon", epsilon)
        self.guarantee = PureDP(epsilon=Exact(target))
        self.event = PureRelease(epsilon=target, neighbours="add/remove" if monotone else None)
        self._threshold = self._threshold_index(threshold)
        self._state = _State(self._threshold + int(discrete_laplace(self._scales[0], 1)[0]))
        self._freeze(sensitivity=sensitivity, epsilon=epsilon, threshold=threshold, monotone=monotone or None)

    @property
    def fired(self) -> bool:
        """True if the one "yes" has been given."""
        return self._state.fired

    def query(self, value: Number) -> bool:
        """Return whether the value is above the threshold, up to noise on both."""
        index, state = self._grid.read_one(value, "value"), self._state
        if state.process != os.getpid():
            raise RefusedError(
                "This AboveThreshold belongs to another process.", hint="Construct a new one in this process."
            )
        if not state.lock.acquire(
            timeout=_PATIENCE
        ):  # held, for example, by the call that a signal handler interrupted
            raise RefusedError("This AboveThreshold is busy with another query.", hint="Query again.")
        try:
            if state.fired:
                raise RefusedError(
                    "This AboveThreshold has fired, and its guarantee is spent.",
                    hint="Construct a new one, which costs its epsilon again.",
                )
            state.fired = index + int(discrete_laplace(self._scales[1], 1)[0]) >= state.threshold
            return state.fired
        finally:
            state.lock.release()

    def _threshold_index(self, threshold: object) -> int:
        """Return the threshold's grid index. It is a parameter, so it may be any rational number."""
        index = nearest(to_fraction(threshold, "threshold"), self._grid.step)
        if abs(index) > LIMIT:
            raise bad_value("threshold", threshold, "within 2^62 grid steps of 0")
        return index

    def error(self, *, confidence: float = 0.95, queries: int = 1) -> int | float:
        """Return a such that every "yes" is above T - a and every "no" below T + a, over `queries` queries.

        Args:
            confidence: the probability with which all answers keep to it.
            queries: the number of queries.
        """
        half = failure(confidence) / 2
        steps = two_sided_quantile(self._scales[0], half)
        steps += two_sided_quantile(self._scales[1], half, count_of(queries, "queries"))
        return steps if self._grid.integral else float((steps + 1) * self._grid.step)

    def confidence(self, *, error: Number, queries: int = 1) -> float:
        """Return a confidence with which all answers are within an error of the threshold: the inverse of `error`."""
        bound = read_error(error)
        return confidence_search(lambda chance: self.error(confidence=chance, queries=queries) <= bound)

    def probability(self, value: Number) -> float:
        """Return the probability of "yes" to a first query with this value, over both noises, for study.

        It is Pr[ν - ρ ≥ T - q], from the law of a sum of two discrete Laplace variables. It does not read the noisy
        threshold that this object has drawn.

        >>> round(AboveThreshold(sensitivity=1, epsilon=1, threshold=100).probability(100), 3)
        0.544
        """
        gap = np.array(float(self._threshold - self._grid.read_one(value, "value")))
        with np.errstate(under="ignore", over="ignore"):
            first, second = (DiscreteLaplace(scale) for scale in self._scales)
            return float(sum_tail(first, second, gap))

    @classmethod
    def for_error(
        cls,
        error: Number,
        *,
        confidence: float = 0.95,
        queries: int = 1,
        sensitivity: Number,
        threshold: Number,
        monotone: bool = False,
    ) -> AboveThreshold:
        """Return the most private mechanism that is within `error` over `queries` queries."""
        target = positive(error, "error")

        def make(epsilon: float) -> AboveThreshold:
            return cls(sensitivity=sensitivity, epsilon=epsilon, threshold=threshold, monotone=monotone)

        def accurate(epsilon: float) -> bool:
            return make(epsilon).error(confidence=confidence, queries=queries) <= target

        return make(least(accurate, ratio(positive(sensitivity, "sensitivity"), target)))

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: each copy could fire once more."""
        raise TypeError("An AboveThreshold cannot be copied or pickled: each copy could fire once more.")
