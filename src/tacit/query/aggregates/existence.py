"""`bool_or(c)` and `bool_and(c)`: whether the condition is true in some row, or in all rows.

SQL's answer depends on a single row, so it has no private form. tacit counts units and adds noise:

* `bool_or(c)` is true if the noisy number of units with a row in which c is true is above ½.
* `bool_and(c)` is true if the noisy number of units with a row in which c is false is at most ½.

A row where c is NULL counts for neither, as in SQL. SQL returns NULL for a group without values. tacit cannot know
that a group is empty: it most likely returns false for `bool_or` and true for `bool_and`.

**Sensitivity.** The integer of a unit in a cell is 1 if it has such a row there, however many it has, else 0: that of
`count(DISTINCT unit)` over the rows that count (`count`). With a reach R a unit in k > R cells has the weight R/k, as
there. If each row is a unit, rows are counted. Comparing a noisy integer with ½ is post-processing.

**Error.** Let k be the true number (k weighs units if a reach is below their groups), and N the noise, whose law is
symmetric. The answer is wrong for k = 0 with probability Pr[N > ½] = Pr[N ≥ 1], and for k ≥ 1 with probability
Pr[k + N ≤ ½] = Pr[N ≥ k]. Both are below one half, and the second falls with k: at ε = 1 and one group, N ≥ 1 has the
probability 1/(1 + e) = 27 %, N ≥ 3 has 3.6 %. `needed` is the least k for which it is at most β, and `false_alarm` is
the probability for k = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, floor
from typing import ClassVar

from tacit.errors import InternalError
from tacit.guarantees import gaussian_law
from tacit.query.aggregates.count import CountUnits
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.expressions import Call, Case, Constant, Expression, Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bundle, Measure
from tacit.query.policy import TablePolicy

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Existence:
    """The truth of a condition in some row; or, with `every`, in all rows."""

    error_name: ClassVar[str] = "units_that_are_seen"
    every: bool = False

    def bundles(self, ask: Ask, table: TablePolicy) -> tuple[Bundle, ...]:
        """Return one measure: the units with a row in which the condition is true, or false for `every`."""
        value = _counted(ask.values[0], every=self.every)
        if table.unit is None:
            return (Bundle(measures=(Measure(value=value),), contribution=1, nonnegative=True),)
        (bundle,) = CountUnits().bundles(ask, table)
        (measure,) = bundle.measures
        counted = Measure(value=value, per="unit", fraction_bits=measure.fraction_bits)
        return (Bundle(measures=(counted,), contribution=bundle.contribution, nonnegative=True, total=bundle.total),)

    def kind(self, ask: Ask) -> Kind:
        """Return the kind of a condition."""
        del ask
        return "boolean"

    def estimate(self, ask: Ask, released: Sequence[Released]) -> bool:
        """Return whether the noisy number is above ½, or for `every`, whether it is not."""
        del ask
        exists = 2 * released[0].integers[0] > _unit(released[0].bundle)
        return exists is not self.every

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Raise InternalError: a truth value has no interval."""
        del ask, released, confidence
        raise InternalError("a truth value has no interval.")

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the least number of units from which the answer is right, with this confidence."""
        del ask, assume
        return float(needed(bundles[0], noise[0], miss_rate(confidence)))

    def error_text(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel, extent: str
    ) -> str:
        """Return the error in words: the probability of a wrong answer if there are no units, and how many are seen."""
        del ask
        return f"{self._seen(bundles, noise, confidence)}{extent}; {self._alarm(bundles, noise)}"

    def note_text(
        self, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel, name: str
    ) -> str:
        """Return the same as the end of a sentence about a column."""
        del ask
        seen = self._seen(bundles, noise, confidence)
        return f"{name} is {seen}; it is {self._alarm(bundles, noise)}. It is a truth value, so it has no interval."

    def _seen(self, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw], confidence: ConfidenceLevel) -> str:
        units, which = needed(bundles[0], noise[0], miss_rate(confidence)), "false" if self.every else "true"
        thing = "row" if bundles[0].measures[0].per == "row" else "unit"
        return f"{which} if {units:,} or more {thing}s have a {which} value"

    def _alarm(self, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw]) -> str:
        return f"wrong with probability {100 * false_alarm(bundles[0], noise[0]):.2g}% if none has"


def needed(bundle: Bundle, law: NoiseLaw, beta: Fraction) -> int:
    """Return the least k ≥ 1 such that k units go unseen with probability at most β.

    Let u be the integer of a unit. They go unseen if k·u + N ≤ u/2. The noise is whole and symmetric, so for the least
    q with Pr[|N| > q] ≤ 2β this has a probability of at most β exactly if (k - ½)·u > q.
    """
    quantile = law.quantile(2 * beta) if 2 * beta < 1 else 0
    return max(1, floor(Fraction(quantile, _unit(bundle)) + _HALF) + 1)


def false_alarm(bundle: Bundle, law: NoiseLaw) -> float:
    """Return the probability of a wrong answer if no unit counts: Pr[N > u/2], for the integer u of a unit.

    The noise is symmetric, so this is half of Pr[|N| > ⌊u/2⌋].
    """
    return beyond(law, _unit(bundle) // 2) / 2


def beyond(law: NoiseLaw, size: int) -> float:
    """Return Pr[|N| > t] of whole noise: 2r^(t+1)/(1 + r) with r = e^(-1/b) for the Laplace law."""
    if law.law == "gaussian":
        return gaussian_law.outside(float(law.amount), size)
    return 2 * exp(-(size + 1) / law.scale) / (1 + exp(-1 / law.scale))


def _unit(bundle: Bundle) -> int:
    """Return the integer of one unit of weight 1."""
    return 1 << bundle.measures[0].fraction_bits


def _counted(condition: Expression, *, every: bool) -> Expression:
    """Return 1 if a condition is true, or false for `every`, else NULL."""
    tested = Call("not", (condition,), "boolean") if every else condition
    return Case(((tested, Constant(1, "integer")),), None, "integer")
