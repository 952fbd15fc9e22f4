"""Base-cut against exact enumeration: all absent values are cut at least 19 times in 20, however few the reports.

Nothing is drawn. The chance that one absent value is kept is computed; times d it bounds that any is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.signal import convolve2d
from scipy.special import ndtri
from scipy.stats import binom

from tacit.local import GRR, OLH, OUE, SUE, Estimate, Hadamard, SubsetSelection
from tacit.local.base import PureProtocol
from tacit.local.count_laws import Decoded, Signs, Supports

Bools = npt.NDArray[np.bool_]

MAKES = [GRR, OUE, SUE, OLH, SubsetSelection]
CASES = [
    (1000, 0.1, 100),
    (100, 0.5, 30),
    (1000, 0.3, 200),
    (1000, 5, 100),
    (1000, 8, 300),
    (2, 1, 7),
    (1000, 1, 10_000),
]


def kept(decoded: Decoded, d: int, n: int) -> Bools:
    """Return which counts are kept among d of them."""
    return np.asarray(Estimate(domain=range(d), n=n, decoded=decoded).consistent("base-cut").counts != 0)


def kept_supports(oracle: PureProtocol, n: int) -> Bools:
    """Return whether a value is kept, for each number of reports that support it."""
    d = oracle.domain_size
    every = [np.resize(np.arange(first, min(first + d, n + 1)), d) for first in range(0, n + 1, d)]
    return np.concatenate([kept(Supports(oracle._law, some, n), d, n) for some in every])[: n + 1]


def chance_of_any(oracle: PureProtocol, n: int, which: Bools) -> float:
    return float(binom.pmf(np.arange(n + 1), n, float(oracle._law.q))[which].sum()) * oracle.domain_size


@pytest.mark.sampled(4)
@pytest.mark.parametrize("make", MAKES, ids=lambda make: make.__name__)
@pytest.mark.parametrize(("d", "epsilon", "n"), CASES)
def test_absent_values_are_cut_nineteen_times_in_twenty(make: type, d: int, epsilon: float, n: int) -> None:
    oracle = make(domain=d, epsilon=epsilon)
    assert isinstance(oracle, PureProtocol)
    which = kept_supports(oracle, n)
    assert (np.diff(which.astype(int)) >= 0).all()
    assert chance_of_any(oracle, n, which) <= 0.05


def test_standard_errors_would_keep_absent_values_nearly_always() -> None:
    """Twenty absent values expected where one in twenty runs may have one."""
    oracle, n = GRR(domain=1000, epsilon=0.1), 100
    model = Supports(oracle._law, np.arange(n + 1), n)
    assert chance_of_any(oracle, n, model.counts > -ndtri(0.05 / 1000) * model.std()) > 1


def test_many_reports_are_not_cut_more_than_need_be() -> None:
    """With 10,000 reports one step less would be too little, and a value with five standard errors is kept."""
    for oracle in (OUE(domain=1000, epsilon=1), OLH(domain=1000, epsilon=2)):
        which = kept_supports(oracle, 10_000)
        assert chance_of_any(oracle, 10_000, np.append(which[1:], True)) > 0.05
        model = Supports(oracle._law, np.arange(10_001), 10_000)
        assert which[model.counts > 5 * model.std()].all()


@pytest.mark.parametrize(("d", "epsilon"), [(1000, 5), (10_000, 6), (64, 4), (16, 10)])
def test_absent_values_are_cut_whoever_is_in_their_block(d: int, epsilon: float) -> None:
    oracle, n = Hadamard(domain=d, epsilon=epsilon), 14
    keep, half = oracle._hit, oracle.order // 2
    stray = (1 - keep) * half / (oracle._outputs - half)
    plus, minus = (places.reshape(-1) for places in np.indices((n + 1, n + 1)))
    possible = np.flatnonzero(plus + minus <= n)
    which = np.zeros(plus.size, dtype=np.bool_)
    for some in np.array_split(possible, -(-possible.size // d)):
        places = np.resize(some, d)
        model = Signs(keep, stray, plus[places], minus[places], n, shared=oracle.order > 2)
        which[some] = kept(model, d, n)[: some.size]
    both, far = float(keep + stray) / 2, float(stray)
    for near in range(n + 1 if oracle.order > 2 else 1):
        law = np.ones((1, 1))
        for person in range(n):
            each = both if person < near else far
            law = convolve2d(law, np.array([[1 - 2 * each, each], [each, 0]]))
        assert law[which.reshape(law.shape)].sum() * d <= 0.05
    assert which.reshape(n + 1, n + 1)[n, 0]
