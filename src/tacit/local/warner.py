"""Warner's randomised response: a yes or no that is truthful with probability p.

**Statement.** With 1/2 < p < 1 an answer is ε-DP in the truth, ε = ln(p/(1-p)) (Warner, J. Amer. Statist. Assoc. 60,
1965; the coin of 1965 is p = 3/4, ε = ln 3).
**Proof.** The ratio of an answer's probabilities under the two truths is p/(1-p) or its inverse.  ∎
The probability that is drawn is p rounded down to 64 binary digits; the stated ε is rounded up.
**Estimate.** Pure with p' = p, q' = 1 - p: the law of `GRR` with two values.
"""

from __future__ import annotations

from fractions import Fraction

from tacit.arrays import Bytes, Ints
from tacit.errors import bad_value
from tacit.guarantees.events import RandomizedBit
from tacit.guarantees.exact import Number, to_fraction
from tacit.keyword_only import keyword_only
from tacit.local.base import PureProtocol, total
from tacit.local.domain import Domain
from tacit.local.grr import respond
from tacit.local.reports import count, to_records
from tacit.local.response_law import LARGEST_EPSILON, ONE, Pure, inside, log_odds, read_epsilon, writable
from tacit.mechanisms.validation import one_of
from tacit.noise.bits import BitSource


@keyword_only
class Warner(PureProtocol):
    """Answer yes or no truthfully with probability p.

    >>> survey = Warner(p=0.75)
    >>> survey.domain, survey.guarantee                # ln 3
    ((False, True), PureDP(epsilon=1.0986122886681098))
    >>> survey.estimate(survey.randomize([True, False, True])).n
    3

    Args:
        p: the probability of the truth, between 1/2 and 1; or
        epsilon: the guarantee of each answer.
    """

    code = 1

    def __init__(self, *, p: Number | None = None, epsilon: Number | None = None) -> None:
        """Fix the law and the guarantee from one of the two."""
        self._p = writable(to_fraction(p, "p", _TRUTH), "p") if one_of(p=p, epsilon=epsilon) == "p" else None
        self._keep = inside(read_epsilon(epsilon), 1, 2) if self._p is None else _keep_chance(self._p)
        target = read_epsilon(epsilon) if self._p is None else log_odds(self._keep)
        super().__init__(Domain([False, True]), target)
        self.event = RandomizedBit(epsilon=target, neighbours="change one")
        self._law = Pure(Fraction(self._keep, ONE), Fraction(ONE - self._keep, ONE))
        self._finish(1, 2, p=p, epsilon=epsilon)

    def _constants(self) -> dict[str, object]:
        constants: dict[str, object] = {"keep": str(self._keep)}
        return constants if self._p is None else {**constants, "p": str(self._p)}

    def _draw(self, index: Ints, bits: BitSource) -> Bytes:
        return to_records(respond(index, 2, self._keep, bits), 2)

    def _chance(self, record: bytes, index: int) -> Fraction:
        return self._law.p if record[0] == index else self._law.q

    def _tally(self, records: Bytes) -> tuple[Ints, int]:
        return count(records, 2)

    def _possible(self, cells: Ints, n: int) -> bool:
        return super()._possible(cells, n) and total(cells) == n


_TRUTH = f"a number above 1/2, with ln(p/(1-p)) at most {LARGEST_EPSILON}"


def _keep_chance(p: Fraction) -> int:
    """Return p·2^64, rounded down."""
    keep = p.numerator * ONE // p.denominator if 0 < p < 1 else 0
    if 2 * keep <= ONE or log_odds(keep) > LARGEST_EPSILON:
        raise bad_value("p", float(p), _TRUTH)
    return keep
