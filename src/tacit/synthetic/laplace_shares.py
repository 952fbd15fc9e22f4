"""Split a cost in ε over the counts of sets of columns, for a small weighted sum of variances.

With the share s_B the noise of B has a variance proportional to 1/s_B², so part A has a variance proportional to
1/(N_A·q_A), q_A the sum over B ⊇ A of s_B²/N_B (`laplace_marginals`). With c_A as in `marginal_release`, the weighted
sum of all variances is f = Σ (c_A/N_A)/q_A. It is not convex; a search by gradients from two or more starts takes the
best end. The cost is right for any end of the search, because the shares are rounded to whole numbers and divided by
their sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from tacit.arrays import Floats
from tacit.synthetic.joint_counts import largest_sets
from tacit.synthetic.marginal_release import Columns, subsets

_WHOLE, _FAINT, _MANY, _STEPS = 10**6, 0.02, 24, 300


def best_shares(requested: Mapping[Columns, float], sizes: Sequence[int]) -> Mapping[Columns, Fraction]:
    """Return the sets of columns to count and their shares of ε, which add up to 1.

    Args:
        requested: the weight of each marginal; a marginal is a tuple of rising columns.
        sizes: the number of codes of each column; columns with one code are left out.
    """
    useful: dict[Columns, float] = {}
    for columns, weight in requested.items():
        kept = tuple(column for column in columns if sizes[column] > 1)
        useful[kept] = useful.get(kept, 0.0) + weight / prod(sizes[c] for c in kept)
    return _best_shares(tuple(sorted(useful.items())), tuple(sizes))


@lru_cache(maxsize=16)
def _best_shares(requested: tuple[tuple[Columns, float], ...], sizes: Columns) -> Mapping[Columns, Fraction]:
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to import
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import

    sets = sorted({subset for columns, _ in requested for subset in subsets(columns, sizes)})
    place = {columns: index for index, columns in enumerate(sets)}
    costs = np.zeros(len(sets))
    for columns, weight in requested:
        for subset in subsets(columns, sizes):
            costs[place[subset]] += weight * prod(sizes[c] - 1 for c in subset)
    pairs = [(place[subset], place[columns]) for columns in sets for subset in subsets(columns, sizes)]
    rows, across = np.array(pairs).T
    inside = csr_array((np.ones(len(pairs)), (rows, across)), shape=(len(sets),) * 2)
    cells = np.array([float(prod(sizes[c] for c in columns)) for columns in sets])
    largest = np.isin(np.arange(len(sets)), [place[columns] for columns in largest_sets(sets)])

    def total(logits: Floats) -> tuple[float, Floats]:
        share = np.exp(logits - logits.max())
        share /= share.sum()
        precision = inside @ (share**2 / cells)
        value = float(np.sum(costs / precision))
        slope = -2 * share / cells * (inside.T @ (costs / precision**2))
        return float(np.log(value)), np.asarray(share * (slope - np.sum(share * slope)) / value)

    ends = [
        minimize(total, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        for start in _starts(len(sets), largest)
    ]
    best = min(ends, key=lambda each: float(each.fun)).x
    share = np.exp(best - best.max())
    share /= share.sum()
    share = np.where((share > _FAINT / len(sets)) | largest, np.maximum(share, 2.0 / _WHOLE), 0.0)
    whole = {columns: round(float(part) * _WHOLE) for columns, part in zip(sets, share, strict=True) if part > 0}
    amount = sum(whole.values())
    return {columns: Fraction(part, amount) for columns, part in whole.items()}


def _starts(number: int, largest: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[Floats]:
    """Yield the starts of the search: all sets alike, mostly the largest, and, if there are few, mostly each set."""
    yield np.zeros(number)
    yield np.where(largest, 4.0, 0.0)
    if number <= _MANY:
        for index in range(number):
            yield np.where(np.arange(number) == index, 4.0, 0.0)
