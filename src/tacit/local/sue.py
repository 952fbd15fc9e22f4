"""Symmetric unary encoding, the heart of RAPPOR: every bit of the one-hot string is flipped with the same probability.

**Statement.** With q ≥ 1/(e^(ε/2) + 1) and p = 1 - q, a report is ε-DP (Erlingsson, Pihur and Korolova, CCS 2014).
**Proof.** p(1-q)/(q(1-p)) = ((1-q)/q)² ≤ (e^(ε/2))²; see `unary`. q is rounded up.  ∎
"""

from __future__ import annotations

from tacit.guarantees.exact import Number
from tacit.local.base import begin
from tacit.local.response_law import ONE, raised
from tacit.local.unary import Unary, row_bytes


class SUE(Unary):
    """One bit a value, each flipped with probability 1/(e^(ε/2) + 1): basic RAPPOR.

    >>> oracle = SUE(domain=128, epsilon=1)
    >>> round(oracle.variance(n=1), 2), oracle.report_bytes
    (3.92, 16)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
    """

    code = 3

    def __init__(self, *, domain: object, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        values, target = begin(domain, epsilon)
        flip = raised(target / 2, target)
        self._start(values, target, ONE - flip, flip)
        self._finish(row_bytes(values.size), values.size, domain=values.shown(), epsilon=epsilon)
