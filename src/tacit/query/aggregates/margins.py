"""Tables of counts that are consistent with their margins, by least squares.

A table over keys 1, …, d with sizes nᵢ has a margin for every set A of keys: its counts added up over all other keys.
The measured margins (each a bundle, with independent noise) overlap. They are combined as follows:

**The fit.** Let P_S be the projection of tables onto their interactions of exactly the keys in S: the product over i ∈
S of (1 - mean over i) and over i ∉ S of the mean over i. These projections are orthogonal and add up to the identity. A
margin A with noise of variance v_A informs about P_S x for S ⊆ A only. Spread evenly over the other keys, it is an
estimate of P_S x with covariance (v_A/N_A)·P_S, where N_A is the number of the table's cells in one cell of the margin.
So the best linear unbiased estimate of P_S x weights the margins A ⊇ S by N_A/v_A. Its precision is their sum π_S, and
x̂ = Σ_S P_S x̂ is the least-squares fit (Gauss and Markov; because of the orthogonality each part can be fitted alone).

**The error.** Cov(x̂) = Σ_S P_S/π_S. A cell of the margin B has variance Σ_{S ⊆ B} (N_B/π_S)·Π_{i∈S}(1 -
1/nᵢ)·Π_{i∈B∖S} 1/nᵢ, the same for every cell. All cells of all margins together: Σ_S Π_{i∈S}(nᵢ - 1)·Σ_{B ⊇ S}
N_B/π_S. The budget is split so that this total is least. The noise of a cell is a sum of independent noises with known
weights, so its interval comes from `noise_tails`.

**Whole and never negative.** The fitted table is moved to the nearest table without negative counts and with the same
rounded total (a projection onto a simplex). Then it is rounded to whole numbers by largest remainders. Margins are the
sums of these cells, so everything adds up. This is post-processing: it costs nothing, and it is biased where counts are
near 0. Intervals are those of the fit before this step, cut off at 0.

**A public size** n (`pricing.public_size`). If every row is in a cell, the cells add up to n, and P_∅ x = n/cells is
known: its precision is infinite, the margin ∅ is not measured, and the fitted and the rounded table add up to n. If
rows can be in no listed cell, they are one more cell, the rest. It gets the noise of the table's cells, which costs
nothing more (`noise_law`), and n minus the rest is one more measurement of the total, the margin ∅. The fitted rest is
n minus the fitted total. If there are two cells with the rest, one noise X is added to the first and subtracted from
the second. They add up without a fit, and each has the error |X|. A count by SQL (`GroupCount`) adds up too, but its
counts may be negative, so that they are not biased: it is rounded only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, combinations
from math import inf, prod
from types import MappingProxyType

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.query.aggregates.count import Count
from tacit.query.aggregates.statistic import ConfidenceLevel, Interval, Released, miss_rate
from tacit.query.noise_law import Law, NoiseLaw, sensitivity
from tacit.query.noise_tails import gaussian_reach, laplace_reach
from tacit.query.plan import Ask, Bundle, Plan
from tacit.query.refusals import refused

KeySet = tuple[int, ...]
"""The indices of some of a plan's factors: keys, or keys whose combinations are listed."""

_MOST_KEYS = 6
_SHARES, _FAINT = 1000, 0.002


def subsets(keys: Sequence[int]) -> Iterator[KeySet]:
    """Yield all subsets of keys, the smallest first.

    >>> list(subsets((0, 1)))
    [(), (0,), (1,), (0, 1)]
    """
    return chain.from_iterable(combinations(keys, size) for size in range(len(keys) + 1))


def as_table_count(plan: Plan) -> Plan:
    """Return a plan of one count by listed keys as a plan of a consistent table, with the same bundle."""
    (aggregate,) = plan.aggregates
    ask = Ask(function="table_count", sizes=tuple(factor.size for factor in plan.factors))
    return replace(plan, aggregates=(replace(aggregate, ask=ask),))


def with_margins(plan: Plan, law: Law) -> Plan:
    """Return a plan of a consistent table that measures margins too, with the shares of least total error."""
    (count,) = plan.bundles
    every = tuple(range(len(plan.factors)))
    if len(every) > _MOST_KEYS:
        raise refused(f"A table with all its margins can have at most {_MOST_KEYS} keys", "Use fewer keys.")
    if plan.halves:
        return plan
    margins = [keys for keys in subsets(every) if keys or not plan.adds_up or plan.rest]
    bundles = {keys: replace(count, over=None if keys == every else keys) for keys in margins}
    sizes = [factor.size for factor in plan.factors]
    spans = tuple((keys, float(sensitivity(plan, bundle, law))) for keys, bundle in bundles.items())
    shares = best_shares(tuple(sizes), spans, law)
    kept = [replace(bundle, weight=shares[keys]) for keys, bundle in bundles.items() if keys in shares]
    (aggregate,) = plan.aggregates
    return replace(plan, bundles=tuple(kept), aggregates=(replace(aggregate, bundles=tuple(range(len(kept)))),))


@lru_cache(maxsize=64)
def best_shares(sizes: tuple[int, ...], spans: tuple[tuple[KeySet, float], ...], law: Law) -> Mapping[KeySet, Fraction]:
    """Return the margins to measure and their shares of the budget, for the least total squared error of all margins.

    Args:
        sizes: the number of values of each key.
        spans: the sensitivity of each margin: in L1 for Laplace noise, in L2 squared for Gaussian noise. Without the
            margin of no keys, the total is known.
        law: the noise.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to import, and seldom needed

    every = [keys for keys, _ in spans]
    inside = np.array([[float(set(small) <= set(large)) for large in every] for small in every])
    merged = np.array([float(prod(n for i, n in enumerate(sizes) if i not in keys)) for keys in every])
    ranks = np.array([float(prod(sizes[i] - 1 for i in keys)) for keys in every])
    span = np.array([size for _, size in spans])

    def total(logits: Floats) -> float:
        share = np.exp(logits - logits.max())
        share /= share.sum()
        precision = merged * (share**2 / (2 * span**2) if law == "laplace" else share / span)
        return float(np.log(np.sum(ranks * (inside @ merged) / (inside @ precision))))

    starts = [np.zeros(len(every))]
    starts += [np.where(np.arange(len(every)) == index, 4.0, 0.0) for index in range(len(every))]
    best = min((minimize(total, start, method="L-BFGS-B") for start in starts), key=lambda result: result.fun)
    share = np.exp(best.x - best.x.max())
    share /= share.sum()
    whole = {keys: round(float(part) * _SHARES) for keys, part in zip(every, share, strict=True) if part > _FAINT}
    whole[every[-1]] = max(whole.get(every[-1], 0), 1)
    return MappingProxyType({keys: Fraction(part, _SHARES) for keys, part in whole.items()})


@dataclass(frozen=True)
class Fit:
    """The least-squares combination of margins with known noise; the same for every answer to a plan."""

    sizes: tuple[int, ...]
    margins: tuple[tuple[KeySet, NoiseLaw], ...]
    row: int = 1
    """The integer of one row of weight 1."""
    size: int | None = None
    """The public number of rows, if the cells and the rest add up to it."""
    rest: bool = False
    """Whether the last integer of the last margin is the rest."""

    @classmethod
    def of(cls, ask: Ask, bundles: Sequence[Bundle], noise: Sequence[NoiseLaw]) -> Fit:
        """Return the fit of a table's bundles."""
        every = tuple(range(len(ask.sizes)))
        keys = [every if bundle.over is None else bundle.over for bundle in bundles]
        margins = [*zip(keys, noise, strict=True), *([((), noise[-1])] if ask.rest else [])]
        row = 1 << bundles[0].measures[0].fraction_bits
        return cls(ask.sizes, tuple(margins), row, ask.size, ask.rest)

    @property
    def _is_known(self) -> bool:
        """True if the listed cells add up to the public size."""
        return self.size is not None and not self.rest

    @property
    def _is_halved(self) -> bool:
        """True if one integer with noise determines both cells; see `Plan.halves`."""
        return self.size is not None and prod(self.sizes) + self.rest == 2  # noqa: PLR2004 - two cells

    @cached_property
    def _weights(self) -> dict[tuple[int, KeySet], float]:
        """The weight of each margin in the estimate of P_S x, by the margin's index and S."""
        precise = [self._merged(keys) / _variance(law) for keys, law in self.margins]
        sums: dict[KeySet, float] = {}
        for (keys, _), precision in zip(self.margins, precise, strict=True):
            for small in subsets(keys):
                sums[small] = sums.get(small, 0.0) + precision
        return {
            (index, small): precise[index] / sums[small] if small or not self._is_known else 0.0
            for index, (keys, _) in enumerate(self.margins)
            for small in subsets(keys)
        }

    def _merged(self, keys: KeySet) -> int:
        return prod(n for i, n in enumerate(self.sizes) if i not in keys)

    def table(self, integers: Sequence[Sequence[int]]) -> Floats:
        """Return the fitted table, in rows, from the noisy integers of each margin."""
        if self.size is not None and self.rest:
            *others, (*cells, rest) = integers
            integers = [*others, cells, [self.size * self.row - rest]]
        known = self.size * self.row / prod(self.sizes) if self.size is not None and not self.rest else 0.0
        fitted = np.full(self.sizes, known)
        for index, (keys, _) in enumerate(self.margins):
            shape = [n if i in keys else 1 for i, n in enumerate(self.sizes)]
            spread = np.array(integers[index], dtype=np.float64).reshape(shape) / self._merged(keys)
            for small in subsets(keys):
                part = spread
                for i in keys:
                    mean = part.mean(axis=i, keepdims=True)
                    part = part - mean if i in small else mean
                fitted = fitted + self._weights[index, small] * part
        return fitted if self.row == 1 else fitted / self.row

    def reach(self, margin: KeySet, beta: Fraction | float) -> float:
        """Return a bound, in rows, that the error of a cell of a fitted margin exceeds with probability at most β.

        It is the quantile of the continuous law plus half a step of the largest weight, because noise is whole; see
        `noise_tails`. The error of the rest is that of the margin of no keys.
        """
        if self._is_known and prod(self.sizes[i] for i in margin) == 1:
            return 0.0
        if self._is_halved:
            return self.margins[0][1].quantile(Fraction(beta)) / self.row
        weights, scales, counts = [], [], []
        for index, (keys, law) in enumerate(self.margins):
            for matching in subsets(keys):
                many = prod(self.sizes[i] - 1 for i in keys if i not in matching)
                if many:  # a key with one value has no other cells
                    weights.append(abs(self._weight(index, margin, matching)))
                    scales.append(weights[-1] * law.scale)
                    counts.append(float(many))
        if self.margins[0][1].law == "laplace":
            bound = laplace_reach(np.array(scales), np.array(counts), float(beta))
        else:
            bound = gaussian_reach(float(np.sum(np.array(counts) * np.array(scales) ** 2)), float(beta))
        return (bound + max(weights) / 2) / self.row

    def _weight(self, index: int, margin: KeySet, matching: KeySet) -> float:
        """Return the weight, in one cell of a fitted margin, of a measured cell with the same values of some keys."""
        keys, _ = self.margins[index]
        total = 0.0
        for small in subsets([i for i in keys if i in margin]):
            part = self._weights[index, small] * self._merged(margin) / self._merged(keys)
            for i in keys:
                part *= (float(i in matching) - 1 / self.sizes[i]) if i in small else 1 / self.sizes[i]
            total += part
        return total


@dataclass(frozen=True, slots=True)
class Fitted(Released):
    """One cell of a fitted table: its whole number, and the fit, which is the center of its interval.

    It is the `rest` if it has the rows in no listed cell.
    """

    center: float
    rest: bool = False


class TableCount(Count):
    """A count that is consistent with the margins of its table."""

    def estimate(self, ask: Ask, released: Sequence[Released]) -> int:
        """Return the whole number of this cell in the fitted table."""
        del ask
        return released[-1].integers[0]

    def interval(self, ask: Ask, released: Sequence[Released], confidence: ConfidenceLevel) -> Interval:
        """Return the fit plus or minus the quantile of its noise, cut off at 0, since a count is not negative."""
        fit = Fit.of(ask, [bundle.bundle for bundle in released], [bundle.noise for bundle in released])
        last = released[-1]
        if not isinstance(last, Fitted):
            raise TypeError("the table was not fitted")
        margin = () if last.rest else tuple(range(len(ask.sizes)))
        return margin_interval(last.center, fit, margin, confidence)

    def error(
        self,
        ask: Ask,
        bundles: Sequence[Bundle],
        noise: Sequence[NoiseLaw],
        confidence: ConfidenceLevel,
        assume: int | None,
    ) -> float:
        """Return the largest error of the fit in one cell."""
        del assume
        every = tuple(range(len(ask.sizes)))
        return margin_error(Fit.of(ask, bundles, noise), every, confidence)


class GroupCount(TableCount):
    """A count by groups that add up to the public size; unlike a table's, it may be negative."""


FITTED = frozenset({"table_count", "table_sum", "sized_group_count"})
"""The aggregates whose cells are fitted together."""


def margin_interval(center: float, fit: Fit, margin: KeySet, confidence: ConfidenceLevel) -> Interval:
    """Return the interval of a cell of a fitted margin."""
    error = margin_error(fit, margin, confidence)
    most = inf if fit.size is None else float(fit.size)
    low, high = (min(max(center + side * error, 0.0), most) for side in (-1, 1))
    return low, high


@lru_cache(maxsize=256)
def margin_error(fit: Fit, margin: KeySet, confidence: ConfidenceLevel) -> float:
    """Return the largest error of a cell of a fitted margin; cached, because it is the same for all its cells."""
    return fit.reach(margin, miss_rate(confidence))


def _variance(law: NoiseLaw) -> float:
    return 2 * law.scale**2 if law.law == "laplace" else law.scale**2


def whole_table(fitted: Floats, total: int | None = None) -> Ints:
    """Return the nearest table of whole numbers ≥ 0 with a given total, or with the rounded one.

    >>> whole_table(np.array([[3.4, -1.2], [2.3, 5.0]])).tolist()
    [[3, 0], [2, 5]]
    """
    flat = fitted.ravel()
    total = max(round(float(flat.sum())), 0) if total is None else total
    down = np.sort(flat)[::-1]
    gaps = (np.cumsum(down) - total) / np.arange(1, len(down) + 1)
    level = gaps[np.nonzero(down > gaps)[0][-1]] if total else np.inf
    return _rounded(np.maximum(flat - level, 0.0), total).reshape(fitted.shape)


def whole_counts(fitted: Floats, total: int) -> Ints:
    """Return the counts of a table as whole numbers with a given total, which may be negative.

    >>> whole_counts(np.array([3.4, -1.2, 4.8]), 7).tolist()
    [3, -1, 5]
    """
    return _rounded(fitted.ravel(), total).reshape(fitted.shape)


def _rounded(near: Floats, total: int) -> Ints:
    """Round numbers to whole numbers with a given total, by largest remainders."""
    floors = np.floor(near)
    missing = total - int(floors.sum())
    order = np.lexsort((np.arange(len(near)), floors - near))
    floors[order[: max(missing, 0)]] += 1
    return floors.astype(np.int64)
