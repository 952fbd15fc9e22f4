"""A question for frequent itemsets, checked before any data are read, and the answer with its noise laws."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, isqrt

from tacit.errors import InvalidError, RefusedError, bad_value
from tacit.synthetic.baskets import Itemset, Neighbours
from tacit.synthetic.cost import rho_of
from tacit.synthetic.itemset_noise import WIDEST, Noise, Purse

MOST_SETS = 10_000
MOST_ITEMS_OF_A_BASKET = 10_000
LEAST_SHARE = Fraction(1, 10_000)
"""At most the part of the cost that any draw gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsetQuestion:
    """A question: the k largest supports, or all supports of at least a part of the baskets.

    The cost is ε with δ, or ρ. Items that are not public are found in the data, which needs a δ.
    """

    k: int | None = None
    min_support: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    neighbours: Neighbours = "add/remove"
    public_items: bool = True

    def __post_init__(self) -> None:
        """Check what can be checked before any data are read."""
        if (self.k is None) == (self.min_support is None):
            raise InvalidError("Give either k or min_support.", argument="k", hint="For example k=100.")
        if self.k is not None and (type(self.k) is not int or not 1 <= self.k <= MOST_SETS):
            raise bad_value("k", self.k, f"a whole number from 1 to {MOST_SETS:,}")
        if self.min_support is not None and not 0 < self.min_support <= 1:
            raise bad_value(
                "min_support",
                float(self.min_support),
                "a part of the baskets, above 0 and at most 1",
                hint="Divide a count by the number of baskets.",
            )
        amount = self.epsilon if self.rho is None else self.rho
        if amount is None or amount <= 0:
            raise bad_value("epsilon", None if amount is None else float(amount), "a number above 0")
        if not self.public_items and self.delta <= 0:
            raise RefusedError(
                "The items are not public, and finding them in the data needs a delta.",
                hint="List the items with keys=, or give epsilon and delta.",
            )

    @property
    def units(self) -> int:
        """How many units differ between neighbouring tables."""
        return 2 if self.neighbours == "change one" else 1

    @property
    def concentrated_delta(self) -> Fraction:
        """The δ of concentrated draws: half of δ if the other half pays for items that are found."""
        return self.delta if self.public_items else self.delta / 2

    def purse(self) -> Purse:
        """Return a purse with the whole cost."""
        return Purse(self.epsilon or Fraction(0), True) if self.rho is None else Purse(self.rho, False)

    def check_noise(self, most: int, reach: int, step: int) -> None:
        """Raise RefusedError if the cost is so small that noise would leave 64 bits; from public numbers alone."""
        sets = self.units * reach * step * comb(max(2, most), 2) + reach * step
        if self.rho is None:
            epsilon = self.epsilon or Fraction(0)
            too_wide = sets > WIDEST * epsilon * LEAST_SHARE
            rho = rho_of(epsilon * LEAST_SHARE * 100, self.concentrated_delta) if self.delta else Fraction(1)
        else:
            too_wide, rho = False, self.rho
        if too_wide or rho <= 0 or isqrt(sets**2) ** 2 > 2 * WIDEST**2 * rho * LEAST_SHARE:
            raise RefusedError(
                "The cost is too small: the noise would be wider than any number of baskets.",
                hint="Use a larger epsilon, a smaller reach, or a smaller most.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSet:
    """An itemset with its noisy support in steps, and the law of that noise."""

    itemset: Itemset
    steps: int
    law: Noise

    @property
    def count(self) -> float:
        """The noisy support in baskets."""
        return self.steps / self.law.step


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsetAnswer:
    """Released itemsets, the largest support first, with the noisy number of baskets and how they were found.

    `measured` has every set that got a noisy support, and `sets` those of them that were asked for.
    """

    baskets: MeasuredSet
    total: MeasuredSet
    """The weighted number of baskets, of which the supports are parts."""
    sets: tuple[MeasuredSet, ...]
    measured: tuple[MeasuredSet, ...]
    level: float
    """The noisy support to reach."""
    items: Itemset
    method: str
    most: int
    """The number of items up to which a basket counts in full."""
