"""Private bounds of a value: the ends of the outermost bins that hold enough values, in a noisy histogram.

**Sensitivity.** The rows of one unit weigh 1 together: a row of a unit with n rows that have a value weighs 1/n, as an
integer ⌊2^bits/n⌋ (the machinery of a reach of 1; see `plan`). A row is in one bin. So the integers of a unit add up to
at most 2^bits over all bins, however many rows and values it has. If it comes or goes, the histogram moves by at most
2^bits in L1 and in L2; under "change one" by at most twice that in L1, and by √2 times that in L2, because all integers
are ≥ 0. If each row is a unit, it is 1 in place of 2^bits. A unit with more than 2^bits rows has weight 0, which only
affects accuracy. `noise_law.sensitivity` computes these numbers from the bundle.

**The choice.** A bin shows if its noisy integer is above the threshold t, the least with Pr[noise > t] ≤ 1 %/bins. The
noise of the bins is independent of the data and symmetric, so t is the quantile of |noise| at 2·1 %/bins. By the union
bound, with probability at least 99 % no empty bin shows. The bounds are the outer ends of the first and the last bin
that show. They are post-processing of the noisy histogram, and always ends of the fixed bins (`value_bins`).

**Values beyond the bounds.** Let S_m be the sum of the noisy integers of the first m bins, and Z_m the sum of their
noise. m is chosen by the noise, so a bound on |Z_m| for one m is not enough. Lévy's inequality for sums of independent
symmetric variables states Pr[max over i ≤ m of |Z_i| > r] ≤ 2·Pr[|Z_m| > r]. Let K be the number of powers of two
below twice the number of bins. For each power of two p let r_p bound |Z_p| except with probability β/2K. By Lévy's
inequality and the union bound, with probability at least 1 - β we have |Z_m| ≤ r_p for all p and all m ≤ p. So the
weight of the first m bins is within S_m ± r_p, where p is the least power of two that is at least m. It is at least 0,
so the interval is cut off there. The same holds for the last m bins. r_p comes from `noise_tails`, plus half a step
because the noise is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from tacit.query.aggregates.grid import unit_bundle, weight_bits
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.aggregates.value_bins import value_bins
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.noise_tails import gaussian_reach, laplace_reach
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy

FALSE_ALARM = Fraction(1, 100)
"""The largest probability that any empty bin shows: such a bin can move a bound far, at any ε."""

MISSED = Fraction(1, 20)
"""The largest probability that a bin of `needed_weight` does not show."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """The number of values beyond a bound, in units, and its interval."""

    estimate: float
    low: float
    high: float


class ValueBounds:
    """The bounds of a value. A query in SQL cannot ask for them; see `sql.bounds_plan`."""

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return one histogram; a unit adds at most a weight of 1 to it if the table has a reach of 1."""
        bins, bits = value_bins(ask.values[0].kind), weight_bits(table)
        measure = Measure(value=bins.number(ask.values[0]), bins=bins.count, fraction_bits=bits)
        return (unit_bundle((measure,), 1 << bits, table, nonnegative=True),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of the value."""
        return ask.values[0].kind

    def estimate(self, ask: Ask, released: Sequence[Released]) -> None:
        """Return nothing: bounds are two values, which `results.private_bounds` computes."""
        del ask, released

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return an interval without information, because the bounds are two values."""
        del ask, released, confidence
        return float("-inf"), float("inf")

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the largest error of the number of values in one bin, in units."""
        del ask, assume
        return noise[0].quantile(miss_rate(confidence)) / unit_weight(bundles[0])

    def note(self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw]) -> str | None:
        """Return how many units a bin must hold to be found."""
        del ask
        count = ceil(Fraction(needed_weight(noise[0], bundles[0].width), unit_weight(bundles[0])))
        nouns = "rows" if bundles[0].total is None else "units"
        return (
            f"bounds are ends of {bundles[0].width:,} fixed bins; a bin is found with 95% confidence if it holds all "
            f"values of at least {count:,} {nouns}, and smaller bins may be missed"
        )


def unit_weight(bundle: Bundle) -> int:
    """Return the integer of a unit all of whose values are in one bin."""
    return 1 << bundle.measures[0].fraction_bits


def threshold(law: NoiseLaw, bins: int) -> int:
    """Return t: with probability at least 99 % the noise of no bin is above it."""
    return law.quantile(2 * FALSE_ALARM / bins)


def needed_weight(law: NoiseLaw, bins: int) -> int:
    """Return the least integer of a bin that is above the threshold with probability at least 95 %, with its noise."""
    return threshold(law, bins) + law.quantile(2 * MISSED) + 1


def outermost(noisy: Sequence[int], law: NoiseLaw) -> tuple[int, int] | None:
    """Return the first and the last bin that show; None if no bin does.

    >>> outermost([0, 3, 90, 0, 85, -2], NoiseLaw(law="laplace", amount=Fraction(10), sensitivity=1, moving=1))
    (2, 4)
    """
    most = threshold(law, len(noisy))
    shown = [index for index, integer in enumerate(noisy) if integer > most]
    return (shown[0], shown[-1]) if shown else None


def beyond(outside: Sequence[int], bins: int, law: NoiseLaw, unit: int, confidence: ConfidenceLevel) -> Beyond:
    """Return the number of values in the bins beyond one bound, in units, with an interval (see the module).

    Args:
        outside: the noisy integers of these bins, which start at one end of the histogram.
        bins: the number of all bins.
        law: the noise.
        unit: the integer of one unit.
        confidence: the probability that the interval holds.
    """
    if not outside:
        return Beyond(0.0, 0.0, 0.0)
    middle, radius = sum(outside), noise_radius(len(outside), bins, law, confidence)
    estimate, low, high = (max(end / unit, 0.0) for end in (middle, middle - radius, middle + radius))
    return Beyond(estimate, low, high)


def noise_radius(count: int, bins: int, law: NoiseLaw, confidence: ConfidenceLevel) -> float:
    """Return r_p: a bound on the noise of the first `count` bins that holds for all counts at once."""
    powers = (bins - 1).bit_length() + 1
    together, beta = 1 << (count - 1).bit_length(), float(miss_rate(confidence)) / (2 * powers)
    if law.law == "laplace":
        return laplace_reach(np.array([law.scale]), np.array([float(together)]), beta) + 0.5
    return gaussian_reach(together * law.scale**2, beta) + 0.5
