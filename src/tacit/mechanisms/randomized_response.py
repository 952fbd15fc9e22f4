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

import numpy.typing as npt

from tacit.errors import InvalidError
from tacit.guarantees.events import RandomizedBit
from tacit.guarantees.exact import Exact, Number, positive
from tacit.guarantees.values import PureDP
from tacit.keyword_only import keyword_only
from tacit.mechanisms import flip_tails
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.scale_search import least
from tacit.mechanisms.validation import count_of, failure, one_of
from tacit.mechanisms.yes_no import Answers, TruthCoin, coin_of, read_answers, read_words, write_answers


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

    Args:
        epsilon: the guarantee for each answer; or
        p: the probability of the truth, between 1/2 and 1.
        words: the words for yes and no, if answers are not True and False.
    """

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
        """Return each answer, kept with probability p: a bool or a word for one answer, an array for an array."""
        flat, shape = read_answers(bits, "bits", self.words)
        return write_answers(self._coin.answers(flat), shape, self.words)

    def estimate(self, answers: npt.ArrayLike) -> float:
        """Return the unbiased estimate of the share of true bits, or of yes; it may be outside [0, 1].

        >>> m = RandomizedResponse(epsilon=1)
        >>> bool(abs(m.estimate(m.release([True] * 30_000 + [False] * 70_000)) - 0.3) < 0.1)
        True
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

    @classmethod
    def for_error(cls, error: Number, *, confidence: float = 0.95, n: int) -> RandomizedResponse:
        """Return the most private mechanism whose estimated share of n bits is within `error`."""
        target = float(positive(error, "error"))
        floor = cls(epsilon=700).error(confidence=confidence, n=n)
        if floor > target:
            message = f"{n} bits have an error of {floor:.3g} or more at any epsilon."
            raise InvalidError(message, argument="error", hint="Ask for a larger error, or use more bits.")
        return cls(epsilon=least(lambda size: cls(epsilon=size).error(confidence=confidence, n=n) <= target, 1.0))
