"""Binary local hashing: the value is hashed to one bit, which is randomised (Bassily and Smith, STOC 2015)."""

from __future__ import annotations

from tacit.guarantees.exact import Number
from tacit.local.base import begin
from tacit.local.hashing import Hashed


class BLH(Hashed):
    """Hash the value to one of two buckets and report that by randomised response.

    >>> oracle = BLH(domain=128, epsilon=1)
    >>> round(oracle.variance(n=1), 2), oracle.report_bytes
    (4.68, 9)

    Args:
        domain: the values that people may have, or their number.
        epsilon: the guarantee of each report.
    """

    code = 5

    def __init__(self, *, domain: object, epsilon: Number) -> None:
        """Fix the law and the guarantee."""
        values, target = begin(domain, epsilon)
        self._start(values, target, 2)
        self._finish(self._record.itemsize, values.size, domain=values.shown(), epsilon=epsilon)
