"""Compute the expected error of Tumult Analytics with limits from its `get_bounds`, without Spark.

The steps are those of tmlt.core 0.19 (`create_bounds_measurement`, `SparseVectorPrefixSums`). Values are counted by
their power of two. The bound is the first power whose noisy prefix sum reaches a noisy threshold, 95 % of all values.
The noise is two-sided geometric, of scale 4/ε for a prefix sum and 2/ε for the threshold. The worker `tumult_limits`
runs the library itself, which takes minutes for each query on a busy machine.
"""

from __future__ import annotations

import numpy as np
from limits_model import Model, Reals
from limits_serve import SHARE

DRAWS = 1000
_FRACTION = 0.95
_SEED = 18


def expected(model: Model, epsilon: float) -> float:
    """Return the expected error, averaged over groups and over draws of the bound."""
    rest = (1 - SHARE) * epsilon
    by_sum = model.statistic == "sum" and model.groups == 1
    totals = np.bincount(model.unit, model.amount).astype(float)
    bounds = _bounds(totals if by_sum else model.size, SHARE * epsilon, lowest=-100 if by_sum else 0)
    errors = {
        bound: _clipped(totals, bound, rest) if by_sum else model.error(int(bound), rest) for bound in set(bounds)
    }
    return float(np.mean([errors[bound] for bound in bounds]))


def _bounds(values: Reals, epsilon: float, *, lowest: int) -> list[float]:
    """Return draws of the upper bound of the values."""
    generator = np.random.default_rng(_SEED)
    highest = 100 if lowest < 0 else 62
    with np.errstate(divide="ignore"):
        ranks = np.clip(np.ceil(np.log2(np.abs(values))), lowest, highest).astype(int) - lowest
    sums = np.cumsum(np.bincount(ranks, minlength=highest - lowest + 1))
    noisy = sums + _geometric(generator, 4 / epsilon, (DRAWS, len(sums)))
    thresholds = int(_FRACTION * len(values)) + _geometric(generator, 2 / epsilon, (DRAWS, 1))
    reached = noisy >= thresholds
    reached[:, -1] = True
    return [float(2.0 ** (rank + lowest)) for rank in reached.argmax(axis=1)]


def _geometric(generator: np.random.Generator, scale: float, shape: tuple[int, int]) -> Reals:
    """Return two-sided geometric noise: the difference of two geometric variables."""
    chance = -np.expm1(-1 / scale)
    difference: Reals = generator.geometric(chance, shape).astype(float) - generator.geometric(chance, shape)
    return difference


def _clipped(totals: Reals, bound: float, epsilon: float) -> float:
    """Return the expected error of the sum of all units' sums, each clipped to a bound."""
    cut, scale = float(np.maximum(0.0, totals - bound).sum()), bound / epsilon
    return cut + scale * float(np.exp(-cut / scale))
