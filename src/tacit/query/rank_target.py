"""The target of a drawn quantile: its rank, its candidates, and the confidence of its interval."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """The terms of one draw.

    `weight` is its part of the cost of the column's quantiles. `miss` is the largest probability that its interval
    misses the quantile; None if no interval is drawn. With `flips` permute-and-flip draws it, and otherwise the
    exponential mechanism.
    """

    weight: Fraction
    miss: Fraction | None
    flips: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTarget:
    """The rank that a draw aims at, among the rows of a bundle's bins.

    `share` is q of the rank q·N. With `end` the rank is near the lowest row (a share of 0) or near the highest one (a
    share of 1), see `rank_law`. Each bin is divided into `parts` candidates. `miss` and `flips` are those of `Draw`.
    """

    share: Fraction
    end: bool
    parts: int
    miss: Fraction | None
    flips: bool

    @property
    def integers(self) -> int:
        """The number of integers that a draw releases: the candidate, and the width of its interval if there is one."""
        return 1 if self.miss is None else 2

    @property
    def weight(self) -> Fraction:
        """The largest move of a score by one row: max(q, 1 - q); 1 at an end."""
        return max(self.share, 1 - self.share)
