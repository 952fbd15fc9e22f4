"""Tables that add up: a table of counts and its margins, measured together and fitted by least squares.

A table over keys 1, …, d with sizes nᵢ has a margin for every set A of keys: its counts added up over all others. The
margins that are measured (each a bundle, with its own noise) say the same thing several times; this is put together:

**The fit.** Let P_S be the projection of tables onto their interactions of just the keys in S: the product over i ∈ S
of (1 - mean over i) and over i ∉ S of the mean over i. These projections are orthogonal and add up to the identity. A
margin A with noise of variance v_A tells of P_S x for S ⊆ A alone: spread evenly over the other keys it is an
estimate of P_S x with covariance (v_A/N_A)·P_S, N_A being how many cells of the table go into one of the margin's. So
the best linear unbiased estimate of P_S x weighs the margins A ⊇ S by N_A/v_A, its precision is their sum π_S, and x̂
= Σ_S P_S x̂ is the least-squares fit (Gauss and Markov; that each part can be fitted alone is what the orthogonality
gives).

**Its error.** Cov(x̂) = Σ_S P_S/π_S. A cell of the margin B has variance Σ_{S ⊆ B} (N_B/π_S)·Π_{i∈S}(1 -
1/nᵢ)·Π_{i∈B∖S} 1/nᵢ, the same for every cell. All cells of all margins together: Σ_S Π_{i∈S}(nᵢ - 1)·Σ_{B ⊇ S}
N_B/π_S. The shares of the budget are those that make this total least. The noise of a cell is a sum of independent
noises whose weights are known, so its interval is that of `tails`.

**Whole and never negative.** The fitted table is moved to the nearest table without negative counts and with the same
total, rounded (a projection onto a simplex), then rounded to whole numbers by largest remainders. Margins are the
sums of these cells, so everything adds up. This is post-processing: free, and biased where counts are near 0.
Intervals are those of the fit before this step, cut off at 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, combinations
from math import prod
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.noise_tails import gaussian_reach, laplace_reach
from tacit.query.plan import Ask, Bundle, Plan
from tacit.query.pricing.price import sensitivity
from tacit.query.refusals import refused

Keys = tuple[int, ...]

MOST_KEYS = 6
_SHARES, _FAINT = 1000, 0.002


def subsets(keys: Sequence[int]) -> Iterator[Keys]:
    """Yield all sets of keys, the smallest first.

    >>> list(subsets((0, 1)))
    [(), (0,), (1,), (0, 1)]
    """
    return chain.from_iterable(combinations(keys, size) for size in range(len(keys) + 1))


def tabulated(plan: Plan) -> Plan:
    """Return a plan of one count by listed keys as one of a table that adds up, measured as it is."""
    (one,) = plan.aggregates
    ask = Ask(function="table_count", sizes=tuple(len(key.listed) for key in plan.keys))
    return replace(plan, aggregates=(replace(one, ask=ask),))


def with_margins(plan: Plan, law: Law) -> Plan:
    """Return a plan of such a table that measures margins too, with the shares of least total error."""
    (count,) = plan.bundles
    every = tuple(range(len(plan.keys)))
    if len(every) > MOST_KEYS:
        raise refused(f"A table with all its margins may have up to {MOST_KEYS} keys", "Ask for fewer at once.")
    bundles = [replace(count, over=None if keys == every else keys) for keys in subsets(every)]
    sizes = [len(key.listed) for key in plan.keys]
    spans = {keys: sensitivity(plan, bundle, law) for keys, bundle in zip(subsets(every), bundles, strict=True)}
    shares = best_shares(tuple(sizes), tuple((keys, float(span)) for keys, span in spans.items()), law)
    kept = [replace(b, weight=shares[keys]) for keys, b in zip(subsets(every), bundles, strict=True) if keys in shares]
    (one,) = plan.aggregates
    return replace(plan, bundles=tuple(kept), aggregates=(replace(one, bundles=tuple(range(len(kept)))),))


@lru_cache(maxsize=64)
def best_shares(sizes: tuple[int, ...], spans: tuple[tuple[Keys, float], ...], law: Law) -> Mapping[Keys, Fraction]:
    """Return the margins to measure and their shares of the budget, for the least total squared error of all margins.

    Args:
        sizes: how many values each key has.
        spans: of each margin, how far one unit moves it: in L1 for Laplace noise, in L2 squared for Gaussian.
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
    starts += [np.where(np.arange(len(every)) == place, 4.0, 0.0) for place in range(len(every))]
    best = min((minimize(total, start, method="L-BFGS-B") for start in starts), key=lambda found: found.fun)
    share = np.exp(best.x - best.x.max())
    share /= share.sum()
    whole = {keys: round(float(part) * _SHARES) for keys, part in zip(every, share, strict=True) if part > _FAINT}
    whole[every[-1]] = max(whole.get(every[-1], 0), 1)
    return MappingProxyType({keys: Fraction(part, _SHARES) for keys, part in whole.items()})


@dataclass(frozen=True)
class Fit:
    """How margins with known noise are put together; the same for every answer to a plan."""

    sizes: tuple[int, ...]
    margins: tuple[tuple[Keys, NoiseLaw], ...]

    @classmethod
    def of(cls, sizes: tuple[int, ...], bundles: Sequence[Bundle], noise: Sequence[NoiseLaw]) -> Fit:
        """Return the fit of a table's bundles."""
        every = tuple(range(len(sizes)))
        keys = [every if bundle.over is None else bundle.over for bundle in bundles]
        return cls(sizes, tuple(zip(keys, noise, strict=True)))

    @cached_property
    def _weights(self) -> dict[tuple[int, Keys], float]:
        """For each margin's place and each S within it, its share in the estimate of P_S x."""
        precise = [self._merged(keys) / _variance(law) for keys, law in self.margins]
        sums: dict[Keys, float] = {}
        for (keys, _), precision in zip(self.margins, precise, strict=True):
            for small in subsets(keys):
                sums[small] = sums.get(small, 0.0) + precision
        return {
            (place, small): precise[place] / sums[small]
            for place, (keys, _) in enumerate(self.margins)
            for small in subsets(keys)
        }

    def _merged(self, keys: Keys) -> int:
        return prod(n for i, n in enumerate(self.sizes) if i not in keys)

    def table(self, integers: Sequence[Sequence[int]]) -> Floats:
        """Return the fitted table from the noisy integers of each margin."""
        fitted = np.zeros(self.sizes)
        for place, (keys, _) in enumerate(self.margins):
            shape = [n if i in keys else 1 for i, n in enumerate(self.sizes)]
            spread = np.array(integers[place], dtype=np.float64).reshape(shape) / self._merged(keys)
            for small in subsets(keys):
                part = spread
                for i in keys:
                    mean = part.mean(axis=i, keepdims=True)
                    part = part - mean if i in small else mean
                fitted = fitted + self._weights[place, small] * part
        return fitted

    def reach(self, margin: Keys, beta: float) -> float:
        """Return how far a cell of a fitted margin may be off, but with probability β.

        That is the reach of the continuous law and half a step of the largest weight, as noise is whole; see `tails`.
        """
        weights, scales, counts = [], [], []
        for place, (keys, law) in enumerate(self.margins):
            for matching in subsets(keys):
                many = prod(self.sizes[i] - 1 for i in keys if i not in matching)
                if many:  # of a key with one value no other cell differs in it
                    weights.append(abs(self._weight(place, margin, matching)))
                    scales.append(weights[-1] * law.scale)
                    counts.append(float(many))
        if self.margins[0][1].law == "laplace":
            found = laplace_reach(np.array(scales), np.array(counts), beta)
        else:
            found = gaussian_reach(float(np.sum(np.array(counts) * np.array(scales) ** 2)), beta)
        return found + max(weights) / 2

    def _weight(self, place: int, margin: Keys, matching: Keys) -> float:
        """Return the weight, in one cell of a fitted margin, of a measured cell that agrees with it in some keys."""
        keys, _ = self.margins[place]
        total = 0.0
        for small in subsets([i for i in keys if i in margin]):
            part = self._weights[place, small] * self._merged(margin) / self._merged(keys)
            for i in keys:
                part *= (float(i in matching) - 1 / self.sizes[i]) if i in small else 1 / self.sizes[i]
            total += part
        return total


def _variance(law: NoiseLaw) -> float:
    return 2 * law.scale**2 if law.law == "laplace" else law.scale**2


def whole_table(fitted: Floats) -> npt.NDArray[np.int64]:
    """Return the nearest table without negative counts and with the rounded total, in whole numbers.

    >>> whole_table(np.array([[3.4, -1.2], [2.3, 5.0]])).tolist()
    [[3, 0], [2, 5]]
    """
    flat = fitted.ravel()
    total = max(round(float(flat.sum())), 0)
    down = np.sort(flat)[::-1]
    gaps = (np.cumsum(down) - total) / np.arange(1, len(down) + 1)
    level = gaps[np.nonzero(down > gaps)[0][-1]] if total else np.inf
    near = np.maximum(flat - level, 0.0)
    floors = np.floor(near)
    missing = total - int(floors.sum())
    order = np.lexsort((np.arange(len(flat)), floors - near))
    floors[order[: max(missing, 0)]] += 1
    return floors.astype(np.int64).reshape(fitted.shape)
