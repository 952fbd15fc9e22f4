"""Optimised unary encoding: the 1 of the one-hot string is kept by a fair coin, a 0 becomes 1 as seldom as ε allows.

**Statement.** With p = 1/2 and q ≥ 1/(e^ε + 1), a report is ε-DP (Wang, Blocki, Li and Jha, USENIX Security 2017).
**Proof.** p(1-q)/(q(1-p)) = (1-q)/q ≤ e^ε; see `unary`. q is rounded up.  ∎
"""

from __future__ import annotations

from tacit.guarantees.exact import Number
from tacit.local.base import begin
from tacit.local.response_law import ONE, raised
from tacit.local.unary import Unary, row_bytes


class OUE(Unary):
    """One bit a value: the person's own is 1 with probability 1/2, any other with 1/(e^ε + 1).

    >>> oracle = OUE(domain=128, epsilon=1)
    >>> round(oracle.variance(n=1), 2), oracle.report_bytes
    (3.68, 16)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
    """

    code = 4

    def __init__(self, *, domain: object, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        values, target = begin(domain, epsilon)
        self._start(values, target, ONE // 2, raised(target, target))
        self._finish(row_bytes(values.size), values.size, domain=values.shown(), epsilon=epsilon)
