"""Warner's randomised response: a yes or no that is truthful with probability p.

**Statement.** With 1/2 < p < 1 an answer is ε-DP in the truth, ε = ln(p/(1-p)): `mechanisms.yes_no` has the proof and
the coin, which `tc.RandomizedResponse` shares. The probability that is drawn is rounded down to 64 binary digits, also
if ε was given: the public parameters state it, and every client draws the same law.
**Estimate.** Pure with p' = p, q' = 1 - p: the law of `GRR` with two values.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.arrays import Bytes, Ints
from tacit.guarantees.events import RandomizedBit
from tacit.guarantees.exact import Number, to_fraction
from tacit.keyword_only import keyword_only
from tacit.local.base import PureProtocol, total
from tacit.local.domain import Domain
from tacit.local.reports import count
from tacit.local.response_law import ONE, Pure, inside, read_epsilon, writable
from tacit.mechanisms.validation import one_of
from tacit.mechanisms.yes_no import TruthCoin, coin_of, read_words
from tacit.noise.bits import BitSource


@keyword_only
class Warner(PureProtocol):
    """Answer yes or no truthfully with probability p.

    >>> survey = Warner(p=0.75)
    >>> survey.domain, survey.guarantee                # ln 3
    ((False, True), PureDP(epsilon=1.0986122886681098))
    >>> survey.estimate(survey.randomize([True, False, True])).n
    3
    >>> Warner(p=0.75, words=("yes", "no")).domain
    ('yes', 'no')

    Args:
        p: the probability of the truth, between 1/2 and 1; or
        epsilon: the guarantee of each answer.
        words: the words for yes and no, if answers are not True and False; estimates have the same order.
    """

    code = 1

    def __init__(
        self, *, p: Number | None = None, epsilon: Number | None = None, words: Sequence[str] | None = None
    ) -> None:
        """Fix the law and the guarantee from one of the two numbers."""
        self._coin, self._p = _coin(p, epsilon)
        self.words = read_words(words)
        super().__init__(Domain([False, True] if self.words is None else list(self.words)), self._coin.epsilon)
        self.event = RandomizedBit(epsilon=self._coin.epsilon, neighbours="change one")
        keep = Fraction(self._keep, ONE)
        self._law = Pure(keep, 1 - keep)
        self._finish(1, 2, p=p, epsilon=epsilon, words=self.words)

    @property
    def _keep(self) -> int:
        """p·2^64."""
        return self._coin.keep or 0

    def _constants(self) -> dict[str, object]:
        constants: dict[str, object] = {"keep": str(self._keep)}
        return constants if self._p is None else {**constants, "p": str(self._p)}

    def _draw(self, index: Ints, bits: BitSource) -> Bytes:
        answers = self._coin.answers(index.astype(np.bool_), bits)
        return answers.astype(np.uint8).reshape(-1, 1)

    def _chance(self, record: bytes, index: int) -> Fraction:
        return self._law.p if record[0] == index else self._law.q

    def _tally(self, records: Bytes) -> tuple[Ints, int]:
        return count(records, 2)

    def _possible(self, cells: Ints, n: int) -> bool:
        return super()._possible(cells, n) and total(cells) == n


def _coin(p: Number | None, epsilon: Number | None) -> tuple[TruthCoin, Fraction | None]:
    """Return the coin, with all its digits in 64 bits, and p if it was given."""
    if one_of(p=p, epsilon=epsilon) == "p":
        coin = coin_of(p)
        return coin, writable(to_fraction(p, "p"), "p")
    target = read_epsilon(epsilon)
    return TruthCoin(target, inside(target, 1, 2)), None
