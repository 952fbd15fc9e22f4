"""Groups that are found in the data, privately: which to show, and how many units each has.

**Law.** A unit is in at most g groups and counts 1 in each, so a group has n units. For ε' > 0 and r = e^(-ε') let

    Pr[X_k = x] = r^|x|·(1-r)/(1+r-2r^(k+1))  for whole x from -k to k,   p_k = Pr[X_k = k].

For δ' in (0, 1) take the least k ≥ 1 with p_k ≤ δ', and λ with λ·p_{k-1} + (1-λ)·p_k ≤ δ'. Every group throws a coin
that has nothing to do with the data: with probability λ its limit is K = k - 1, else K = k. Then it draws X_K. It is
shown if n + X_K > K, with its coin and the number n + X_K; else nothing is said of it.

**One group is (ε', δ')-private.** Let n and n + 1 be its units in neighbouring tables, and its coin be known. A number
that both can give is at most e^ε' times likelier under one than under the other, since |x| changes by 1 and the factor
in front is the same. Only n - K can come from n alone and only n + 1 + K from n + 1 alone, each with probability p_K.
The coin has the same law for both, so what is beyond e^ε' has at most λ·p_{k-1} + (1-λ)·p_k ≤ δ'. To say nothing of
numbers up to K is post-processing.

**All groups.** A group without units would never be shown: 0 + X_K ≤ K. So only groups in the data need to be drawn
for, and it is as if every conceivable group was. One unit more or less changes at most m = g of these counts, by 1
each, and a changed unit at most m = 2g: it leaves g groups and enters g. Draws are independent, so by composition over
the counts that change the whole is (mε', mδ')-private. Values of shown groups get noise of their own; it is as if the
values of all groups got theirs and those of groups that are not shown were dropped. So (ε, δ) of both add up.

**Measured for shown groups alone.** Histograms and counts of different values are taken in a second look at the data,
for the groups that were shown. Let the key of the hash be given; it has nothing to do with the data. A unit keeps at
most g of the groups that its rows are in, the first by a hash of the unit and the group's keys: a set G that depends on
the unit's own rows and that key alone. For a set S of groups, any set, fixed in advance, let f(S) have the integers of
the groups in S. A unit adds to those of the groups in S ∩ G alone, at most g; and in each of these it is bounded as in
`plan`. So neighbouring tables move f(S) by no more than `price` says of g groups, and f(S) with its noise is private
for every S. S is what the first mechanism told, so adaptive composition adds (ε, δ) of both up. (Nor does it matter
that the second look happens later: f with noise for all conceivable groups at once, cut down to S, is the same.)
That both looks keep the same G is not needed for this; it is so, and therefore counts and quantiles are of the same
rows. Where each row is a unit, G is its one group.

**Best.** Desfontaines, Voss, Gipson and Mandayam (PETS 2022, arXiv:2006.03684): no (ε', δ')-private choice shows a
group of n units with more than π(n), where π(0) = 0, π(n+1) = min(e^ε'·π(n) + δ', 1 - e^(-ε')·(1 - π(n) - δ'), 1). Let
π_k(n) = Pr[n + X_k > k]. Adding up r^|x| gives π_k(n+1) = e^ε'·π_k(n) + p_k for n ≤ k, and for k ≤ n ≤ 2k
π_k(n+1) = 1 - e^(-ε')·(1 - π_k(n) - p_k). So for n < k both limits take the first form, for k ≤ n ≤ 2k - 2 both the
second, and so does what their coin makes of them, with δ' in place of p. Hence this choice reaches π(n) up to
n = 2k - 1, and beyond that it is within δ' of it.

**The same integer.** count(DISTINCT unit) is n. So is count(*) where each row is a unit; and where max_rows = 1, since
a unit's rows in a group then add rows·1/rows = 1. These need no other noise: n + X_K answers them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, floor, log, log1p
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError, TooMuchNoiseError, show
from tacit.guarantees.exact import Exact
from tacit.noise.reals import exp_neg
from tacit.query.expressions import Value
from tacit.query.histograms import Histograms
from tacit.query.plan import Ask, Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.truncated_laplace import Truncated

CHOICE = Fraction(3, 5)
"""Which part of ε the choice of groups gets if their values get noise of their own.

With a share s of ε, groups of about ln(1/δ')/(s·ε') units are shown. Of groups whose sizes fall as 1/rank, as those
of words, names and goods do, a number is shown that is proportional to s; and the values' errors are to 1/(1-s). The
number of groups over their error, s·(1-s), is largest at one half and nearly as large at three fifths (24/25 of it).
There as many groups are shown as by a threshold on the noisy count of rows that has all of ε (OpenDP's way): of words
with sizes as 1/rank at ε = 1, δ = 10^-6, three groups of five rows, 134 against 118; at one half it would be 111.
"""

_LARGEST = 2**56
_PRECISION = 128
_COIN = 64
_REDRAWN = 1 / 4


Units = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]
Choose: TypeAlias = Callable[[Units], Places]
"""From the units of each group, in any order, the places of the groups to show."""


@dataclass(frozen=True, slots=True)
class Found:
    """The groups that are shown, of those in the data, in the order of their keys, NULLs last.

    `places` are where they stood among all groups; `integers` are exact, for every measure one a group, or histograms.
    """

    keys: Sequence[tuple[Value, ...]]
    places: Sequence[int]
    integers: Sequence[Sequence[int] | Histograms]


Find: TypeAlias = Callable[[Plan, Choose], Found]
"""How an engine reads a plan whose groups are not listed."""


def select(plan: Plan, epsilon: Fraction, delta: Fraction) -> Truncated:
    """Return the law of the counts by which groups are chosen, for (ε, δ) of the choice as a whole."""
    moving = plan.groups * (2 if plan.table.neighbours == "change one" else 1)
    each, slack = epsilon / moving, delta / moving
    if _first_guess(each, slack) > _LARGEST or 1 / each > _LARGEST:
        raise TooMuchNoiseError("epsilon", "one that needs noise of more than 2^56 units", "larger")
    most, coin = limit(each, slack)
    if exp(-float(each) * (most + 1)) > _REDRAWN:
        # here p_k ≤ δ' says that δ' is an eighth of 1 - e^(-ε') or more; noise would be drawn again more often than not
        raise InvalidError("delta", show(Exact(delta)), "far smaller than epsilon, where groups are found privately")
    return Truncated(
        law="laplace",
        amount=1 / each,
        sensitivity=moving,
        moving=moving,
        most=most,
        coin=coin,
        epsilon=epsilon,
        delta=delta,
    )


def limit(epsilon: Fraction, delta: Fraction) -> tuple[int, Fraction]:
    """Return k and λ for (ε', δ'): k is least, and λ is as large as a multiple of 2^-64 may be.

    They are found from bounds of p that are proved in integers, so λ·p_{k-1} + (1-λ)·p_k ≤ δ' holds without rounding.

    >>> limit(Fraction(1), Fraction(1, 100_000))[0]
    11
    """
    near = _first_guess(epsilon, delta)
    low, high = max(0, floor(near * (1 - 1e-12)) - 2), ceil(near * (1 + 1e-12)) + 2
    while chance_above(high, epsilon, delta) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_above(middle, epsilon, delta) <= delta else (middle, high)
    less, more = chance_above(high, epsilon, delta), chance_above(high - 1, epsilon, delta)
    return high, Fraction(floor((delta - less) / (more - less) * 2**_COIN), 2**_COIN)


def _first_guess(epsilon: Fraction, delta: Fraction) -> float:
    """Return about where p_k = δ', that is r^k·(1-r+2rδ') = δ'·(1+r); at least 0."""
    e, d = float(epsilon), float(delta)
    return max(0.0, (log(-expm1(-e) + 2 * exp(-e) * d) - _log(delta) - log1p(exp(-e))) / e)


def _log(delta: Fraction) -> float:
    return log(delta.numerator) - log(delta.denominator)


def chance_above(k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a bound of p_k from above, tight to far below δ'."""
    n = _PRECISION + max(0, ceil(-_log(delta) / log(2))) + epsilon.denominator.bit_length()
    low, _ = exp_neg(epsilon)(n)
    first, rest = exp_neg(k * epsilon)(n)[1], exp_neg((k + 1) * epsilon)(n)[1]
    one = 1 << n
    return min(Fraction(1), Fraction(first * (one - low), one * (one + low - 2 * rest))) if k else Fraction(1)


def is_told(ask: Ask, table: TablePolicy) -> bool:
    """Whether an aggregate is the number of a group's units, which choosing the group already tells."""
    rows = ask.function == "count" and not ask.values and (table.unit is None or table.max_rows == 1)
    return rows or ask.function == "count_units"


def answered(plan: Plan) -> frozenset[int]:
    """Return the places of the bundles that need no other noise, since all that they are for is told already."""
    others = {place for one in plan.aggregates if not is_told(one.ask, plan.table) for place in one.bundles}
    return frozenset(place for one in plan.aggregates for place in one.bundles) - others


def said(law: Truncated) -> str:
    """Return what a person should know of the choice."""
    half = law.most + (law.probability(law.most) < 1 / 2)
    return (
        f"Groups are found in the data, privately: one of {half:,} units is shown as often as not, "
        f"one of {2 * law.most + 1:,} always."
    )
