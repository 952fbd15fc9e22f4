"""Randomized response by a curator: each answer is kept with probability p = e^ε/(1+e^ε).

**Statement.** Each released bit is ε-DP in its true bit, so a list of bits is ε-DP for neighbours that change one
bit (Warner, J. Amer. Statist. Assoc. 60, 1965; Dwork and Roth 2014, claim 3.5).
**Proof.** The ratio of any output's probabilities under the two inputs is p/(1-p) = e^ε or its inverse.  ∎

**Estimate.** With share y of "yes" among n answers, (y - (1-p))/(2p-1) is unbiased for the true share.
**Accuracy.** With probability ≥ 1-β the estimate is within t/(2p-1) of the truth, where t bounds the deviation of the
share of "yes" answers from its mean, for any number of true bits. t comes from the exact tails (`flip_tails`). Where
they are too small for floats it is the smaller of Hoeffding's √(ln(2/β)/2n) and Bernstein's λ/3 + √(λ²/9 + 2λp(1-p))
with λ = ln(2/β)/n.

On real bits: `yes_no.TruthCoin`, which `tc.local.Warner` shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt, tanh
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bools, Floats
from tacit.errors import InvalidError
from tacit.guarantees.events import RandomizedBit
from tacit.guarantees.exact import Exact, Number, positive
from tacit.guarantees.values import PureDP
from tacit.keyword_only import keyword_only
from tacit.laws.finite import FiniteLaw
from tacit.mechanisms import flip_tails
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.inverse import confidence_search, read_error
from tacit.mechanisms.scale_search import least
from tacit.mechanisms.seeded import generator
from tacit.mechanisms.validation import count_of, failure, flag, one_of
from tacit.mechanisms.yes_no import Answers, TruthCoin, coin_of, read_answers, read_words, write_answers

if TYPE_CHECKING:
    import altair as alt

    from tacit.mechanisms.charts.common import LawChart, Theme


@keyword_only
class RandomizedResponse(Frozen):
    """Flip each answer with probability 1/(1+e^ε); undo the bias of the share afterwards.

    >>> m = RandomizedResponse(epsilon=1)
    >>> round(m.p, 4), m.guarantee
    (0.7311, PureDP(epsilon=1.0))
    >>> answers = m.release([True, False])
    >>> answers.dtype, answers.shape
    (dtype('bool'), (2,))
    >>> RandomizedResponse(p=0.75, words=("ja", "nein")).release("ja") in ("ja", "nein")
    True
    >>> round(m.pmf(1, bit=False), 4), round(m.std, 4), round(m.confidence(error=0.04, n=10_000), 4)
    (0.2689, 0.4434, 1.0)

    Args:
        epsilon: the guarantee for each answer; or
        p: the probability of the truth, between 1/2 and 1.
        words: the words for yes and no, if answers are not True and False.

    Attributes:
        event: the event of one answer, for an accountant to price.
    """

    event: RandomizedBit

    def __init__(
        self, *, epsilon: Number | None = None, p: Number | None = None, words: Sequence[str] | None = None
    ) -> None:
        """Fix the law and the guarantee from one of the two numbers."""
        from_p = one_of(epsilon=epsilon, p=p) == "p"
        self._coin = coin_of(p) if from_p else TruthCoin(positive(epsilon, "epsilon"))
        self.words = read_words(words)
        self.guarantee = PureDP(epsilon=Exact(self._coin.epsilon))
        self.event = RandomizedBit(epsilon=self._coin.epsilon, neighbours="change one")
        self.p = 1 / (1 + exp(-min(self.guarantee.epsilon, 700.0)))
        self._freeze(epsilon=epsilon, p=p, words=self.words)

    def release(self, bits: npt.ArrayLike) -> Answers:
        """Return each answer, kept with probability p: a bool or a word for one answer, an array for an array.

        Args:
            bits: the true answer, or a list or array of them.
        """
        flat, shape = read_answers(bits, "bits", self.words)
        return write_answers(self._coin.answers(flat), shape, self.words)

    def _loss_at(self, output: object, on: object, against: object) -> float:
        """Return the privacy loss at released bits: ε for a bit as in `on` alone, -ε for one as in `against` alone."""
        named = ((output, "output"), (on, "on"), (against, "against"))
        read = [read_answers(bits, name, self.words) for bits, name in named]
        (result, shape), (first, shape_on), (second, shape_against) = read
        if not shape == shape_on == shape_against:
            raise InvalidError("output, on and against must have one shape.", argument="output")
        if np.count_nonzero(first != second) > 1:
            message = "on and against differ in more than one bit, so they are not neighbours."
            raise InvalidError(message, argument="against")
        moved = np.count_nonzero(result == first) - np.count_nonzero(result == second)
        return int(moved) * float(self.guarantee.epsilon)

    def estimate(self, answers: npt.ArrayLike) -> float:
        """Return the unbiased estimate of the share of true bits, or of yes; it may be outside [0, 1].

        >>> m = RandomizedResponse(epsilon=1)
        >>> bool(abs(m.estimate(m.release([True] * 30_000 + [False] * 70_000)) - 0.3) < 0.1)
        True

        Args:
            answers: the released answers.
        """
        flat, _ = read_answers(answers, "answers", self.words)
        return (float(flat.mean()) - 0.5) / self._slope + 0.5

    @property
    def _slope(self) -> float:
        """2p - 1 = tanh(ε/2), which keeps its digits if p is close to 1/2."""
        return tanh(min(self.guarantee.epsilon, 700.0) / 2)

    def error(self, *, confidence: float = 0.95, n: int) -> float:
        """Return the largest error of the estimated share of n bits, with this confidence, however many are true."""
        beta, size, epsilon = float(failure(confidence)), count_of(n, "n"), min(self.guarantee.epsilon, 700.0)
        hoeffding = sqrt(log(2 / beta) / (2 * size))
        exact = flip_tails.deviation(size, epsilon, beta) / size
        return min(exact, hoeffding, flip_tails.bernstein(size, 1 - self.p, beta)) / self._slope

    def confidence(self, *, error: Number, n: int) -> float:
        """Return a confidence with which the estimated share of n bits is within an error: the inverse of `error`."""
        bound, size = float(read_error(error)), count_of(n, "n")
        return confidence_search(lambda chance: self.error(confidence=chance, n=size) <= bound)

    @property
    def variance(self) -> float:
        """p·(1-p), the variance of one answer as 0 or 1."""
        odds = exp(-min(self.guarantee.epsilon, 700.0))
        return odds / (1 + odds) ** 2

    @property
    def std(self) -> float:
        """The standard deviation of one answer as 0 or 1."""
        return sqrt(self.variance)

    def _answer(self, bit: object) -> FiniteLaw:
        """Return the law of the answer, as 0 or 1, for a true bit."""
        odds = exp(-min(self.guarantee.epsilon, 700.0))
        kept, flipped = 1 / (1 + odds), odds / (1 + odds)
        return FiniteLaw(np.array([0.0, 1.0]), np.array([flipped, kept] if flag(bit, "bit") else [kept, flipped]))

    def pmf(self, x: npt.ArrayLike, *, bit: bool = True) -> float | Floats:
        """Return the probability that the answer is x (0 or 1) if the true bit is `bit`; 0 for any other x."""
        return self._answer(bit).pmf(x)

    def cdf(self, x: npt.ArrayLike, *, bit: bool = True) -> float | Floats:
        """Return the probability that the answer, 0 or 1, is at most x if the true bit is `bit`."""
        return self._answer(bit).cdf(x)

    def sf(self, x: npt.ArrayLike, *, bit: bool = True) -> float | Floats:
        """Return the probability that the answer, 0 or 1, is above x if the true bit is `bit`."""
        return self._answer(bit).sf(x)

    def quantile(self, p: npt.ArrayLike, *, bit: bool = True) -> float | Floats:
        """Return the least answer, 0 or 1, whose `cdf` is at least p.

        Args:
            p: a probability.
            bit: the true answer.
        """
        return self._answer(bit).quantile(p)

    def sample(self, n: int, *, seed: int, bit: bool = True) -> Bools:
        """Return n simulated answers for one true bit, for study: this is not a release.

        They come from a seeded generator of NumPy. The seed reveals the randomness. Use `release` for bits
        that are private.
        """
        flips = generator(seed).random(count_of(n, "n")) < self.pmf(0)
        return flips ^ flag(bit, "bit")

    def plot(
        self,
        kind: LawChart = "law",
        *,
        n: int = 1000,
        share: float = 0.3,
        seed: int = 1,
        confidence: float = 0.95,
        theme: Theme = "light",
    ) -> alt.LayerChart:
        """Draw a chart, with the extra `tacit[plot]`.

        Args:
            kind: "law" for the answers to a true bit; "neighbours" for those of both bits with the band of e^ε;
                "releases" for estimates of simulated surveys; "error" for the error of a survey against ε.
            n: the number of bits of a survey.
            share: the true share of a simulated survey.
            seed: of the simulation.
            confidence: of the errors.
            theme: "light" or "dark".
        """
        from tacit.mechanisms.charts.bits import draw  # noqa: PLC0415 - it uses this class

        return draw(self, kind, n=n, share=share, seed=seed, confidence=confidence, theme=theme)

    @classmethod
    def for_error(cls, error: Number, *, confidence: float = 0.95, n: int) -> RandomizedResponse:
        """Return the most private mechanism whose estimated share of n bits is within `error`."""
        target = float(positive(error, "error"))
        floor = cls(epsilon=700).error(confidence=confidence, n=n)
        if floor > target:
            message = f"{n} bits have an error of {floor:.3g} or more at any epsilon."
            raise InvalidError(message, argument="error", hint="Ask for a larger error, or use more bits.")
        return cls(epsilon=least(lambda size: cls(epsilon=size).error(confidence=confidence, n=n) <= target, 1.0))
