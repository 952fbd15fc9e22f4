"""Optimised local hashing: the value is hashed to g = round(e^ε) + 1 buckets, which minimises the variance.

See `hashing` for the family, the proof and the law; g is at most 65,536, beyond which direct encoding serves better
for any domain that hashing could shrink (Wang, Blocki, Li and Jha, USENIX Security 2017, section 4.4).
"""

from __future__ import annotations

from math import exp

from tacit.guarantees.exact import Number
from tacit.local.base import begin
from tacit.local.hashing import Hashed

_MOST = 1 << 16


class OLH(Hashed):
    """Hash the value to round(e^ε) + 1 buckets and report that by randomised response.

    >>> oracle = OLH(domain=128, epsilon=1)
    >>> oracle.buckets, round(oracle.variance(n=1), 2), oracle.report_bytes
    (4, 3.69, 9)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
    """

    code = 6

    def __init__(self, *, domain: object, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        values, target = begin(domain, epsilon)
        self._start(values, target, min(round(exp(target)) + 1, _MOST))
        self._finish(self._record.itemsize, values.size, domain=values.shown(), epsilon=epsilon)
