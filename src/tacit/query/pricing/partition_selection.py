"""Partition selection: which groups of the data to release, privately, with the number of units in each.

**Law.** A unit is in at most g groups and counts 1 in each, so a group has n units. For ε' > 0 and r = e^(-ε') let

    Pr[X_k = x] = r^|x|·(1-r)/(1+r-2r^(k+1))  for whole x from -k to k,   p_k = Pr[X_k = k].

For δ' in (0, 1) take the least k ≥ 1 with p_k ≤ δ', and λ with λ·p_{k-1} + (1-λ)·p_k ≤ δ'. Every group has a coin that
is independent of the data: with probability λ its limit is K = k - 1, else K = k. Then it draws X_K. If n + X_K > K,
the group is released with its coin and the number n + X_K; otherwise nothing is released about it.

**One group is (ε', δ')-private.** Let n and n + 1 be its units in neighbouring tables, and let its coin be known. A
number that both can give is at most e^ε' times likelier under one than under the other, since |x| changes by 1 and the
factor in front is the same. Only n - K can come from n alone and only n + 1 + K from n + 1 alone, each with probability
p_K. The coin has the same law for both, so the mass beyond e^ε' is at most λ·p_{k-1} + (1-λ)·p_k ≤ δ'. Suppressing
numbers up to K is post-processing.

**All groups.** A group without units is never released: 0 + X_K ≤ K. So noise is drawn for groups in the data only, and
the result is the same as if it were drawn for every possible group. Adding or removing one unit changes at most m = g
of these counts, by 1 each. Changing a unit changes at most m = 2g: it leaves g groups and enters g. Draws are
independent, so by composition over the counts that change the whole is (mε', mδ')-private. Values of released groups
get separate noise. That is the same as adding noise to the values of all groups and dropping those of the other groups.
So (ε, δ) of both add up.

**Measured for released groups only.** Histograms and counts of distinct values are measured in a second pass over the
data, for the released groups. Let the key of the hash be fixed; it is independent of the data. Of the groups that a
unit's rows are in, at most g are kept, the first by a hash of the unit and the group's keys: a set G that depends on
the unit's rows and that key alone. For any set S of groups that is fixed in advance, let f(S) have the integers of the
groups in S. A unit contributes to the groups in S ∩ G only, at most g, and in each of these it is bounded as in `plan`.
So neighbouring tables move f(S) by no more than `noise_law` states for g groups, and f(S) with its noise is private
for every S. S is the output of the first mechanism, so adaptive composition adds (ε, δ) of both. (The order in time
does not matter either: f with noise for all possible groups at once, restricted to S, is the same.) The proof does not
need that both passes keep the same G. They do, and therefore counts and quantiles are of the same rows. If each row is
a unit, G is its one group.

**Optimality.** Desfontaines, Voss, Gipson and Mandayam (PETS 2022, arXiv:2006.03684): no (ε', δ')-private selection
releases a group of n units with probability above π(n), where π(0) = 0, π(n+1) = min(e^ε'·π(n) + δ', 1 - e^(-ε')·(1 -
π(n) - δ'), 1). Let π_k(n) = Pr[n + X_k > k]. Adding up r^|x| gives π_k(n+1) = e^ε'·π_k(n) + p_k for n ≤ k, and for
k ≤ n ≤ 2k π_k(n+1) = 1 - e^(-ε')·(1 - π_k(n) - p_k). So for n < k both limits have the first form, for k ≤ n ≤ 2k - 2
both have the second, and so does their mixture by the coin, with δ' in place of p. Hence this selection reaches π(n) up
to n = 2k - 1, and beyond that it is within δ' of it.

**Sampling and tails.** X_K is discrete Laplace noise of scale 1/ε', drawn again while it is beyond ±K, which has
exactly this law. The number of draws depends on K and ε' alone. Adding up r^|x|: Pr[X_K ≥ t] =
r^t·(1-r^(K+1-t))/((1-r^(K+1)) + r·(1-r^K)) for 1 ≤ t ≤ K, and 1 - Pr[X_K ≥ 1-t] for t ≤ 0.

**Counts of units.** If an aggregate is the number of units (`count.is_unit_count`), n + X_K is its value, and it needs
no other noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, floor, log, log1p
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bools, Ints, Objects, WideInts, as_objects
from tacit.errors import RefusedError, TooMuchNoiseError, bad_value
from tacit.guarantees.events import ApproxRelease
from tacit.guarantees.exact import Exact
from tacit.noise.bernoulli import bernoulli
from tacit.noise.bits import SYSTEM, BitSource
from tacit.noise.laplace import discrete_laplace
from tacit.noise.reals import exp_neg, rational
from tacit.query.aggregates.count import is_unit_count
from tacit.query.expressions import Value
from tacit.query.histograms import Histograms
from tacit.query.key_tuples import KeyColumns
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Plan
from tacit.query.refusals import refused
from tacit.query.sql.key_values import domain

SELECTION_SHARE = Fraction(3, 5)
"""The part of ε for partition selection if the values of groups get separate noise.

With a share s of ε, groups of about ln(1/δ')/(s·ε') units or more are released. If the sizes of groups fall as 1/rank,
like those of words, names and goods, the number of released groups is proportional to s; the errors of values are
proportional to 1/(1-s). The number of groups over their error, s·(1-s), is largest at one half and nearly as large at
three fifths (24/25 of it). At three fifths about as many groups are released as by a threshold on the noisy count of
rows that has all of ε (OpenDP's method): for words with sizes as 1/rank at ε = 1, δ = 10^-6, three groups of five rows,
134 against 118. At one half it would be 111.
"""

_LARGEST = 2**56
_PRECISION = 128
_COIN = 64
_REDRAWN = 1 / 4
_AT_ONCE = 2**17

GroupIndices: TypeAlias = npt.NDArray[np.intp]
Choose: TypeAlias = Callable[[Ints], GroupIndices]
"""From the number of units of each of some groups, in any order, to the indices of the groups to release.

An engine may pass all groups at once, or some at a time: every group is passed once. The noise of each group is
independent of all others, so the parts do not change the law of the selection.
"""


@dataclass(frozen=True, slots=True)
class DiscoveredGroups:
    """The released groups of the data, in the order of their keys, NULLs last.

    `places` are their indices among all groups, in the order in which these were passed to `Choose`. `integers` are
    exact: for every measure one integer a group, or histograms.
    """

    keys: Sequence[tuple[Value, ...]]
    places: Sequence[int] | Ints
    integers: Sequence[Sequence[int] | WideInts | Histograms]

    def key_columns(self, count: int) -> tuple[Objects, ...]:
        """Return the keys as one array for each of `count` keys."""
        if isinstance(self.keys, KeyColumns):
            return self.keys.columns
        columns = zip(*self.keys, strict=True) if self.keys else ((),) * count
        return tuple(as_objects(column) for column in columns)


Find: TypeAlias = Callable[[Plan, Choose], DiscoveredGroups]
"""The method by which an engine reads a plan whose groups are not listed."""


@dataclass(frozen=True, slots=True)
class SelectedGroups:
    """The groups to release: their indices, their noisy numbers of units, and which of them had the lower limit."""

    places: GroupIndices
    noisy: Ints
    lower: Bools


def joined_selections(parts: Sequence[tuple[int, SelectedGroups]]) -> SelectedGroups:
    """Return the selection among all groups from those among some; each has the index of its first group."""
    parts = [(first, part) for first, part in parts if part.places.size] or parts[:1]
    if len(parts) == 1 and parts[0][0] == 0:
        return parts[0][1]
    return SelectedGroups(
        np.concatenate([part.places + first for first, part in parts]),
        np.concatenate([part.noisy for _, part in parts]),
        np.concatenate([part.lower for _, part in parts]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedLaplace(NoiseLaw):
    """The law of partition selection: `amount` is 1/ε', `most` is k, `coin` is λ; ε and δ are those of all groups.

    Noise beyond ±k does not occur. See the module for the law.
    """

    most: int
    coin: Fraction
    epsilon: Fraction
    delta: Fraction

    @property
    def event(self) -> ApproxRelease:
        """The event of selecting all groups."""
        return ApproxRelease(epsilon=self.epsilon, delta=self.delta)

    @property
    def lower(self) -> TruncatedLaplace:
        """The law of a group whose coin gave the limit k - 1."""
        return replace(self, most=self.most - 1)

    def select(self, units: Ints, bits: BitSource = SYSTEM) -> SelectedGroups:
        """Select groups by the number of units of each, some at a time, so that the noise needs little memory."""
        starts = range(0, max(1, units.size), _AT_ONCE)
        return joined_selections([(start, self._select(units[start : start + _AT_ONCE], bits)) for start in starts])

    def _select(self, units: Ints, bits: BitSource) -> SelectedGroups:
        """Select groups, all at once."""
        lower = bernoulli(rational(self.coin), units.size, bits)
        limits = self.most - lower
        noisy = units + self._draw(limits, bits)
        places = np.flatnonzero(noisy > limits)
        return SelectedGroups(places, noisy[places], lower[places])

    def draw_array(self, size: int, bits: BitSource = SYSTEM) -> Ints:
        """Draw fresh noise of the higher limit."""
        return self._draw(np.full(size, self.most), bits)

    def _draw(self, limits: Ints, bits: BitSource) -> Ints:
        noise = np.empty(limits.size, dtype=np.int64)
        missing = np.arange(limits.size)
        while missing.size:
            drawn, ends = discrete_laplace(self.amount, missing.size, bits), limits[missing]
            inside = np.asarray((drawn >= -ends) & (drawn <= ends), dtype=np.bool_)
            noise[missing[inside]] = drawn[inside]
            missing = missing[~inside]
        return noise

    def beyond(self, least: int) -> float:
        """Return Pr[X ≥ t] of the higher limit."""
        if least <= 0:
            return 1.0 if least <= -self.most else 1.0 - self.beyond(1 - least)
        if least > self.most:
            return 0.0
        e, k = 1 / float(self.amount), self.most
        return exp(-e * least) * expm1(-e * (k + 1 - least)) / (expm1(-e * (k + 1)) + exp(-e) * expm1(-e * k))

    def probability(self, units: int) -> float:
        """Return the probability that a group with this number of units is released."""
        higher, lower = self.beyond(self.most + 1 - units), self.lower.beyond(self.most - units)
        return higher + float(self.coin) * (lower - higher)

    def quantile(self, beta: Fraction) -> int:
        """Return the least t with Pr[|noise| > t] ≤ β for both limits."""
        return _quantile(self, float(beta))

    def around(self, noisy: int, beta: Fraction) -> tuple[int, int]:
        """Return ends that hold the units of a *released* group, whose limit is `most`, with probability ≥ 1-β.

        A group is released only if its noise was not low. So n is tested by the law of n + X given n + X > k, with β/2
        for each side. That law increases with n, because its likelihood ratios do, so each side is found by bisection.
        The interval always contains the noisy number itself.
        """
        return _around(self, noisy, float(beta))

    def around_all(self, noisy: WideInts, beta: Fraction) -> tuple[WideInts, WideInts]:
        """Return the ends of `around` for many numbers; each distinct number is computed once."""
        numbers, inverse = np.unique(noisy, return_inverse=True)
        ends = np.array([self.around(int(number), beta) for number in numbers], dtype=np.int64).reshape(-1, 2)
        return ends[inverse, 0], ends[inverse, 1]


@lru_cache(maxsize=1024)
def _quantile(law: TruncatedLaplace, beta: float) -> int:
    low, high = -1, law.most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if 2 * law.beyond(middle + 1) <= beta else (middle, high)
    return high


@lru_cache(maxsize=65536)
def _around(law: TruncatedLaplace, noisy: int, beta: float) -> tuple[int, int]:
    """Return `TruncatedLaplace.around`; cached, because groups with the same noisy number have the same interval."""
    k = law.most
    low, high = max(1, noisy - k) - 1, noisy  # fewer units than the first end cannot give this number
    while high - low > 1:
        n = (low + high) // 2
        low, high = (n, high) if law.beyond(noisy - n) <= beta / 2 * law.beyond(k + 1 - n) else (low, n)
    first, low, high = high, noisy, noisy + k + 1
    while high - low > 1:
        n = (low + high) // 2
        no_more = law.beyond(n - noisy) - law.beyond(n - k)  # by symmetry Pr[k - n < X ≤ noisy - n], small and exact
        low, high = (low, n) if no_more <= beta / 2 * law.beyond(k + 1 - n) else (n, high)
    return first, low


def selection_law(plan: Plan, epsilon: Fraction, delta: Fraction) -> TruncatedLaplace:
    """Return the law by which groups are selected, for (ε, δ) of the selection of all groups."""
    moving = plan.groups * (2 if plan.table.neighbours == "change one" else 1)
    each, slack = epsilon / moving, delta / moving
    if _first_guess(each, slack) > _LARGEST or 1 / each > _LARGEST:
        raise TooMuchNoiseError(
            "Selecting groups with this epsilon needs noise of more than 2^56 units.",
            argument="epsilon",
            hint="Use a larger epsilon.",
        )
    most, coin = truncation(each, slack)
    if exp(-float(each) * (most + 1)) > _REDRAWN:
        # here p_k ≤ δ' implies that δ' ≥ (1 - e^(-ε'))/8; more than a quarter of the noise would have to be redrawn
        raise bad_value(
            "delta",
            Exact(delta),
            "far smaller than epsilon if groups are found in the data",
            hint="Use a smaller delta.",
        )
    return TruncatedLaplace(
        law="laplace",
        amount=1 / each,
        sensitivity=moving,
        moving=moving,
        most=most,
        coin=coin,
        epsilon=epsilon,
        delta=delta,
    )


def truncation(epsilon: Fraction, delta: Fraction) -> tuple[int, Fraction]:
    """Return k and λ for (ε', δ'): the least k, and the largest multiple of 2^-64 that λ can be.

    Bounds of p that are proved in integers give them, so λ·p_{k-1} + (1-λ)·p_k ≤ δ' holds without rounding.

    >>> truncation(Fraction(1), Fraction(1, 100_000))[0]
    11
    """
    near = _first_guess(epsilon, delta)
    low, high = max(0, floor(near * (1 - 1e-12)) - 2), ceil(near * (1 + 1e-12)) + 2
    while end_probability(high, epsilon, delta) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if end_probability(middle, epsilon, delta) <= delta else (middle, high)
    less, more = end_probability(high, epsilon, delta), end_probability(high - 1, epsilon, delta)
    return high, Fraction(floor((delta - less) / (more - less) * 2**_COIN), 2**_COIN)


def _first_guess(epsilon: Fraction, delta: Fraction) -> float:
    """Return the approximate k with p_k = δ', that is r^k·(1-r+2rδ') = δ'·(1+r); at least 0."""
    e, d = float(epsilon), float(delta)
    return max(0.0, (log(-expm1(-e) + 2 * exp(-e) * d) - _log(delta) - log1p(exp(-e))) / e)


def _log(delta: Fraction) -> float:
    return log(delta.numerator) - log(delta.denominator)


def end_probability(k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return an upper bound of p_k, tight to far below δ'."""
    n = _PRECISION + max(0, ceil(-_log(delta) / log(2))) + epsilon.denominator.bit_length()
    low, _ = exp_neg(epsilon)(n)
    first, rest = exp_neg(k * epsilon)(n)[1], exp_neg((k + 1) * epsilon)(n)[1]
    unit = 1 << n
    return min(Fraction(1), Fraction(first * (unit - low), unit * (unit + low - 2 * rest))) if k else Fraction(1)


def bundles_of_selection(plan: Plan) -> frozenset[int]:
    """Return the indices of the bundles whose values partition selection already releases."""
    others = {
        index
        for aggregate in plan.aggregates
        if not is_unit_count(aggregate.ask, plan.table)
        for index in aggregate.bundles
    }
    return frozenset(index for aggregate in plan.aggregates for index in aggregate.bundles) - others


def describe(law: TruncatedLaplace) -> str:
    """Return a sentence on the sizes of groups that are released."""
    half = law.most + (law.probability(law.most) < 1 / 2)
    return (
        f"Groups are found in the data, privately: a group of {half:,} units is released with probability about one "
        f"half, a group of {2 * law.most + 1:,} units always."
    )


def check_discovery(plan: Plan, delta: Fraction) -> None:
    """Raise RefusedError if a query whose groups are not listed cannot be answered with this δ."""
    if delta == 0:
        raise _not_public(plan, "Or give delta; then tacit finds the groups in the data, privately.")
    if any(bundle.over is not None for bundle in plan.bundles):
        raise refused(
            "Tables with margins are supported for listed groups only", "List the keys in the policy, or with keys=."
        )


def check_zcdp(plan: Plan) -> None:
    """Raise RefusedError if groups must be found in the data but the cost is given as ρ."""
    if plan.open:
        raise _not_public(
            plan,
            "Finding groups in the data needs a delta, which rho does not have. Give both epsilon and delta, under a "
            "budget that has them.",
        )


def _not_public(plan: Plan, instead: str) -> RefusedError:
    """Return the error that names the values that are not public, with one more hint."""
    for key in plan.keys:
        if key.values is None:
            try:
                domain(key.expression, key.name, plan.table)
            except RefusedError as error:
                return RefusedError(error.message, hint=" ".join(filter(None, (error.hint, instead))))
    return refused("The groups are not public", instead)
