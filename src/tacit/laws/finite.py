"""Laws on finitely many values."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.laws.points import at_points, plain, read_probabilities
from tacit.notebook import rows_html


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Values in increasing order, and their probabilities. Every function takes a number or an array.

    >>> law = FiniteLaw.of([0.0, 3.0, 3.0], [0.5, 0.25, 0.25])
    >>> law.values.tolist(), law.cdf(1), law.sf(0), law.mean, law.variance
    ([0.0, 3.0], 0.5, 0.5, 1.5, 2.25)

    Attributes:
        values: the values that are possible, in increasing order.
        probabilities: the probability of each.
    """

    values: Floats
    probabilities: Floats

    @classmethod
    def of(cls, values: npt.ArrayLike, probabilities: npt.ArrayLike) -> FiniteLaw:
        """Return the law of values that may be equal and in any order.

        Args:
            values: the values.
            probabilities: the probability of each.
        """
        distinct, index = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
        return cls(
            distinct, np.bincount(index, np.asarray(probabilities, dtype=np.float64), distinct.size).astype(np.float64)
        )

    @property
    def mean(self) -> float:
        """The expected value."""
        values, chances = self._likely
        return float(values @ chances)

    @property
    def variance(self) -> float:
        """The expected squared distance from the mean."""
        squares, exponent = self._squares
        with np.errstate(all="ignore"):
            return float(np.ldexp(squares, 2 * exponent))

    @property
    def std(self) -> float:
        """The standard deviation; not from the variance, which may be too large or too small for a float."""
        squares, exponent = self._squares
        with np.errstate(all="ignore"):
            return float(np.ldexp(sqrt(squares), exponent))

    @property
    def _likely(self) -> tuple[Floats, Floats]:
        """The values of a probability above 0: moments have no other terms, and a value may be infinite."""
        kept = self.probabilities > 0
        return self.values[kept], self.probabilities[kept]

    @property
    def _squares(self) -> tuple[float, int]:
        """The variance as x and e for x·4^e. Values are divided by a power of two, so that nothing overflows."""
        values, chances = self._likely
        exponent = int(np.frexp(np.abs(values).max())[1])
        if not np.isfinite(values).all():
            return inf, 0
        with np.errstate(under="ignore"):
            small = np.ldexp(values, -exponent)
            return float((small - small @ chances) ** 2 @ chances), exponent

    def pmf(self, x: npt.ArrayLike) -> float | Floats:
        """Return Pr[X = x]; 0 for an x that is not a value."""

        def mass(points: Floats) -> Floats:
            place = np.minimum(np.searchsorted(self.values, points), self.values.size - 1)
            return np.where(self.values[place] == points, self.probabilities[place], 0.0)

        return at_points(x, mass)

    def cdf(self, x: npt.ArrayLike) -> float | Floats:
        """Return Pr[X ≤ x]."""
        upto = np.append(0.0, np.cumsum(self.probabilities))
        upto[-1] = 1.0
        return at_points(x, lambda points: upto[np.searchsorted(self.values, points, side="right")])

    def sf(self, x: npt.ArrayLike) -> float | Floats:
        """Return Pr[X > x]."""
        beyond = np.append(np.cumsum(self.probabilities[::-1])[::-1], 0.0)
        beyond[0] = 1.0
        return at_points(x, lambda points: beyond[np.searchsorted(self.values, points, side="right")])

    def quantile(self, p: npt.ArrayLike) -> float | Floats:
        """Return the least value x with Pr[X ≤ x] ≥ p; the last value for p = 1."""
        chances = read_probabilities(p)
        place = np.searchsorted(np.cumsum(self.probabilities), chances)
        last = self.values.size - 1
        return plain(self.values[np.where(chances == 1, last, np.minimum(place, last))])

    def _repr_html_(self) -> str:
        """Return the values and their probabilities as HTML, for notebooks."""
        return rows_html(("value", "probability"), zip(self.values, self.probabilities, strict=True))
