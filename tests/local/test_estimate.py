"""Estimates end to end: closeness to the truth, coverage of intervals, consistency steps.

The exact laws are in test_exact_laws; the draws are compared with them here, and the errors with their closed
forms. A mean of N squared errors, relative to its expectation, is outside 1 ± r with probability at most
2·e^(-M·(r - ln(1+r))/2) where it is a chi-square mean of M degrees of freedom; M is taken as half of N for the little
that the estimates of one run depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from typing import get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from evidence import FALSE_ALARM, count_p_value, miss, p_value
from local_protocols import HASHED, Make, every_oracle, law
from tacit import InvalidError
from tacit.local import GRR, OLH, OUE, Estimate, Hadamard, Protocol
from tacit.local.consistency import METHODS, Method
from tacit.local.parameters import ORACLES

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def zipf(d: int, n: int) -> Ints:
    """Return a population in which value k is about 1/(k+1) as frequent as value 0."""
    weights = 1 / np.arange(1, d + 1)
    counts = np.floor(n * weights / weights.sum()).astype(np.int64)
    counts[0] += n - counts.sum()
    return np.repeat(np.arange(d), counts)


def tail(size: int, r: float) -> float:
    return 2 * exp(-size / 4 * (r - log(1 + r)))


def errors(oracle: Protocol, values: Ints, runs: int) -> Floats:
    truth = np.bincount(values, minlength=oracle.domain_size)
    return np.array([oracle.estimate(oracle.randomize(values)).counts - truth for _ in range(runs)])


def predicted(oracle: Protocol, values: Ints) -> Floats:
    """Return the closed-form variances; Hadamard's for the blocks as they are."""
    truth = np.bincount(values, minlength=oracle.domain_size)
    if not isinstance(oracle, Hadamard):
        return np.array([oracle.variance(n=values.size, frequency=count / values.size) for count in truth])
    b, half, outputs = oracle.order, oracle.order // 2, oracle._outputs
    hit, rest = float(oracle._hit), 1 - float(oracle._hit)
    block = np.arange(truth.size) % oracle.blocks
    same = np.bincount(block, truth, oracle.blocks)[block]
    slope = hit - rest * half / (outputs - half)
    within = same * (hit + rest * half / (outputs - half)) + (values.size - same) * rest * b / (outputs - half)
    return np.asarray(within / slope**2 - truth)


@every_oracle
@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_errors_are_those_of_the_closed_form(make: Make, epsilon: float) -> None:
    """False alarm below 1e-11 each; an error twice as large as stated would be far outside."""
    oracle, values, runs = make(domain=128, epsilon=epsilon), zipf(128, 20_000), 12
    found = errors(oracle, values, runs)
    ratio = float((found**2 / predicted(oracle, values)).mean())
    assert tail(128 * runs, 0.5) < 1e-11
    assert abs(ratio - 1) < 0.5
    assert np.abs(found.mean(axis=0) / np.sqrt(predicted(oracle, values) / runs)).max() < 8


@pytest.mark.long
@every_oracle
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_mean_squared_errors_are_within_5_percent(
    make: Make, epsilon: float, record_property: Callable[[str, object], None]
) -> None:
    """n = 100,000, d = 128; false alarm below 1e-10 each. The ratios go into `--junitxml`."""
    oracle, values, runs = make(domain=128, epsilon=epsilon), zipf(128, 100_000), 700
    assert tail(128 * runs, 0.05) < 1e-10
    found = errors(oracle, values, runs)
    ratio = float((found**2).mean() / predicted(oracle, values).mean())
    even = float((found**2 / predicted(oracle, values)).mean())
    record_property("mean squared error to its closed form", f"{ratio:.4f}, of equal weights {even:.4f}")
    assert abs(ratio - 1) < 0.05
    assert abs(even - 1) < 0.05
    assert np.abs(found.mean(axis=0) / np.sqrt(predicted(oracle, values) / runs)).max() < 7.5  # 128 normals: 1e-11


@pytest.mark.parametrize(
    "make", [make for make in ORACLES.values() if make not in HASHED], ids=lambda make: make.__name__
)
@pytest.mark.parametrize("n", [2_000, 100_000])
def test_what_is_drawn_has_the_law_that_is_proved(make: Make, n: int) -> None:
    """Counts of all outputs; false alarm 1e-13; a law with a fifth more ε is missed less than 1e-10 often."""
    oracle = make(domain=5, epsilon=2)
    for value in (0, 4):
        chances = law(oracle, value)
        names = {record: place for place, record in enumerate(chances)}
        drawn = oracle.randomize(np.full(n, value)).records
        kinds, counts = np.unique(drawn, axis=0, return_counts=True)
        seen = np.zeros(len(names))
        seen[[names[row.tobytes()] for row in kinds]] = counts
        expected = [float(p) for p in chances.values()]
        assert p_value(seen, expected) > FALSE_ALARM
        if n == 100_000:
            wrong = [float(p) for p in law(make(domain=5, epsilon=2.4), value).values()]
            assert len(wrong) != len(expected) or miss(expected, wrong, n) < 1e-10


@pytest.mark.parametrize("make", HASHED, ids=lambda make: make.__name__)
@pytest.mark.parametrize("n", [2_000, 100_000])
def test_hashed_reports_support_their_value_as_often_as_stated(make: Make, n: int) -> None:
    """False alarm 1e-13 each; the functions themselves are checked by the support of other values."""
    oracle = make(domain=5, epsilon=2)
    cells, accepted = oracle._tally(oracle.randomize(np.full(n, 3)).records)
    assert accepted == n
    own, stray = oracle._law.p, oracle._law.q  # type: ignore[attr-defined]
    assert count_p_value(int(cells[3]), n, float(own)) > FALSE_ALARM
    for other in (0, 1, 2, 4):
        assert count_p_value(int(cells[other]), n, float(stray)) > FALSE_ALARM


# Intervals


@every_oracle
def test_intervals_cover_end_to_end(make: Make) -> None:
    """128 intervals in each of 6 runs; fewer than 85 % would come by chance less than 1e-10 often."""
    oracle, values = make(domain=128, epsilon=1), zipf(128, 20_000)
    truth = np.bincount(values, minlength=128)
    held, all_held = 0, 0
    for _ in range(6):
        e = oracle.estimate(oracle.randomize(values))
        low, high = e.interval(confidence=0.95)
        held += int(np.count_nonzero((low <= truth) & (truth <= high)))
        low, high = e.interval(confidence=0.999999999, simultaneous=True)
        all_held += bool(((low <= truth) & (truth <= high)).all())
        assert (e.std > 0).all()
        np.testing.assert_allclose((e.std**2).mean(), predicted(oracle, values).mean(), rtol=0.2)
    assert held >= 0.85 * 768
    assert binom.cdf(0.85 * 768, 768, 0.945) < 1e-10
    assert all_held == 6


def test_simultaneous_intervals_are_bonferronis() -> None:
    oracle = OUE(domain=100, epsilon=1)
    e = oracle.estimate(oracle.randomize(zipf(100, 5000)))
    one, all_ = e.interval(confidence=0.9995), e.interval(confidence=0.95, simultaneous=True)
    np.testing.assert_allclose(one.low, all_.low)
    np.testing.assert_allclose(one.high, all_.high)
    for wrong in (0, 1, 1.5, float("nan"), "0.95"):
        with pytest.raises(InvalidError):
            e.interval(confidence=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidError):
        e.interval(simultaneous=1)  # type: ignore[arg-type]


# Consistency


@dataclass
class Made:
    """Counts that were made up, each with a standard error of 3."""

    counts: Floats

    def std(self) -> Floats:
        """Return threes."""
        return np.full(self.counts.size, 3.0)

    def ends(self, beta: float) -> tuple[Floats, Floats]:
        """Return two standard errors on each side."""
        assert 0 < beta < 1
        return self.counts - 6, self.counts + 6


def of_counts(counts: Floats, n: int, dropped: int = 0) -> Estimate:
    return Estimate(domain=range(counts.size), n=n, decoded=Made(counts), dropped=dropped)


def test_intervals_are_within_zero_and_n_and_hold_every_count_that_they_held() -> None:
    """Ends are clipped to what a count can be: by brute force over counts and truths, with intervals of ± 6."""
    n = 9
    e = of_counts(np.arange(-20.0, 30.0), n)
    low, high = e.interval()
    first, last = e.counts - 6, e.counts + 6
    assert ((low >= 0) & (low <= high) & (high <= n)).all()
    for truth in range(n + 1):
        held, holds = (first <= truth) & (truth <= last), (low <= truth) & (truth <= high)
        assert (holds | ~held).all()
        assert (holds == held).all() or truth in (0, n)
    assert (low[e.counts < -6] == 0).all()
    assert (high[e.counts < -6] == 0).all()


numbers = st.lists(st.floats(-1000, 1000), min_size=2, max_size=30).map(np.array)


@settings(max_examples=200, deadline=None)
@given(numbers, st.integers(1, 2000))
def test_consistent_counts_are_what_a_population_can_have(counts: Floats, n: int) -> None:
    e = of_counts(counts, n)
    for method in ("norm-sub", "simplex", "norm-mul", "isotonic"):
        made = e.consistent(method)
        assert made.counts.min() >= -1e-9
        assert made.counts.sum() == pytest.approx(n, rel=1e-9, abs=1e-6)
    np.testing.assert_allclose(e.consistent("norm-sub").counts, e.consistent("simplex").counts, atol=1e-6)
    cut = e.consistent("base-cut").counts
    assert set(cut[cut != 0]) <= set(counts[counts > 0])


@settings(max_examples=50, deadline=None)
@given(numbers, st.integers(1, 2000), st.integers(0, 100))
def test_the_simplex_point_is_nearest(counts: Floats, n: int, seed: int) -> None:
    nearest = of_counts(counts, n).consistent("simplex").counts
    other = np.random.default_rng(seed).dirichlet(np.ones(counts.size)) * n
    assert ((nearest - counts) ** 2).sum() <= ((other - counts) ** 2).sum() * (1 + 1e-9) + 1e-6


def test_isotonic_counts_have_the_nearest_rising_sums() -> None:
    counts = np.array([5.0, -2.0, 4.0, 3.0])
    made = of_counts(counts, 10).consistent("isotonic").counts
    np.testing.assert_allclose(np.cumsum(made), [4.0, 4.0, 7.0, 10.0])


def test_a_consistent_estimate_says_that_it_is_biased_and_has_no_interval() -> None:
    oracle = OUE(domain=50, epsilon=1)
    e = oracle.estimate(oracle.randomize(zipf(50, 5000)))
    assert not e.biased
    for method in METHODS:
        made = e.consistent(method)  # type: ignore[arg-type]
        assert made.biased
        assert method in made.note
        assert made.unbiased is e
        with pytest.raises(InvalidError, match="unbiased"):
            made.interval()
        with pytest.raises(InvalidError, match="unbiased"):
            made.std  # noqa: B018 - it is computed
        np.testing.assert_array_equal(made.consistent("norm-sub").counts, e.consistent("norm-sub").counts)
    with pytest.raises(InvalidError, match="norm-sub"):
        e.consistent("norm")  # type: ignore[arg-type]


def test_norm_sub_cuts_the_error_of_a_zipf_population_at_least_fivefold() -> None:
    oracle, values = OUE(domain=1024, epsilon=1), zipf(1024, 100_000)
    truth = np.bincount(values, minlength=1024)
    e = oracle.estimate(oracle.randomize(values))
    raw, made = (float(((each.counts - truth) ** 2).mean()) for each in (e, e.consistent("norm-sub")))
    assert made * 5 <= raw


@settings(max_examples=100, deadline=None)
@given(numbers, st.integers(1, 2000), st.sampled_from([1e12, 1e16, 1e18, 1e30]))
def test_huge_counts_of_a_tiny_epsilon_still_sum_to_n(counts: Floats, n: int, scale: float) -> None:
    e = of_counts(counts * scale, n)
    for method in ("norm-sub", "simplex", "norm-mul", "isotonic"):
        made = e.consistent(method).counts
        assert made.min() >= 0
        assert made.sum() == pytest.approx(n, rel=1e-9)
    np.testing.assert_allclose(e.consistent("norm-sub").counts, e.consistent("simplex").counts, atol=1e-6)


@pytest.mark.parametrize("epsilon", [1e-17, 1e-9, 50])
@pytest.mark.parametrize("make", [GRR, OUE, OLH, Hadamard], ids=lambda make: make.__name__)
def test_estimates_at_the_ends_of_epsilon_are_sane(make: Make, epsilon: float) -> None:
    oracle = make(domain=2, epsilon=epsilon)
    e = oracle.estimate(oracle.randomize([0] * 9 + [1]))
    low, high = e.interval(confidence=0.999)
    assert np.isfinite([*e.counts, *e.std, *low, *high]).all()
    nearest = np.clip(e.counts, 0, 10)
    assert ((low <= nearest) & (nearest <= high)).all()
    assert (e.std > 0).all() or epsilon == 50
    for method in ("norm-sub", "simplex", "norm-mul", "isotonic"):
        made = e.consistent(method).counts
        assert made.sum() == pytest.approx(10, rel=1e-9)
        assert made.min() >= 0
    if epsilon == 50 and make is GRR:  # one of ten answers is false less than 1e-20 often
        np.testing.assert_allclose(e.counts, [9, 1], atol=1e-6)


def test_estimates_are_shown_with_their_errors_and_drawn() -> None:
    e = of_counts(np.array([3.0, 900.0, -2.0]), 901, dropped=7)
    assert repr(e) == (
        "<Estimate from 901 reports, 7 dropped; 95% intervals; 1: 900 (894 to 901), 0: 3 (0 to 9), 2: -2 (0 to 4)>"
    )
    assert str(e).splitlines() == [
        "value  count  std  95% interval",
        "    1    900    3    894 to 901",
        "    0      3    3        0 to 9",
        "    2     -2    3        0 to 4",
        "901 reports, 7 dropped. Unbiased.",
    ]
    made = e.consistent("norm-mul")
    assert made.dropped == 7
    assert repr(made).startswith(
        "<Consistent estimate from 901 reports, 7 dropped; 95% intervals of the unbiased counts"
    )
    assert "1: 898 (894 to 901)" in repr(made)
    assert "Biased" in str(made)
    assert "other 20 values" in str(of_counts(np.arange(30.0), 400))
    spec = e.plot(top=2).to_dict()
    assert "confidence 0.95" in spec["title"]["subtitle"]
    assert "7 dropped" in spec["title"]["subtitle"]
    assert [row["value"] for row in next(iter(spec["datasets"].values()))] == ["1", "0"]
    drawn = made.plot(top=1).to_dict()
    assert "Biased" in drawn["title"]["subtitle"]
    assert [(row["low"], row["high"]) for row in next(iter(drawn["datasets"].values()))] == [(894.0, 901.0)]
    for array in (e.counts, e.std, e.frequencies, e.interval().low):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_estimates_are_tables_with_their_errors() -> None:
    oracle = GRR(domain=["tea", 7, "mate"], epsilon=2)
    total = oracle.aggregator()
    total.add(oracle.randomize(["tea"] * 70 + [7] * 30))
    total.add_bytes([b"rubbish"])
    e = total.estimate()
    assert e.dropped == 1
    low, high = e.interval(confidence=0.99, simultaneous=True)
    frame = e.to_pandas(confidence=0.99, simultaneous=True)
    assert list(frame.columns) == ["value", "count", "std", "low", "high"]
    assert list(frame["value"]) == ["tea", "7", "mate"]
    np.testing.assert_array_equal(frame[["count", "std", "low", "high"]], np.stack([e.counts, e.std, low, high], 1))
    made = e.consistent().to_polars()
    assert made.columns == ["value", "count", "unbiased", "std", "low", "high"]
    assert made["unbiased"].to_list() == list(e.counts)
    numbers_ = GRR(domain=3, epsilon=2)
    assert numbers_.estimate(numbers_.randomize([0, 1])).to_arrow().column("value").to_pylist() == [0, 1, 2]


def test_methods_are_those_of_the_type() -> None:
    assert set(METHODS) == set(get_args(Method))


def test_a_cut_list_of_the_largest_counts_has_intervals_for_all_values_at_once() -> None:
    """Only one of 400 values occurs, so the next largest counts are pure noise, chosen for being large."""
    oracle = OUE(domain=400, epsilon=1)
    e = oracle.estimate(oracle.randomize([7] * 2000))
    low, high = e.interval(simultaneous=True)
    order = np.argsort(-e.counts, kind="stable")
    shown = [f"{low[place]:,.0f} to {high[place]:,.0f}" for place in order[:10]]
    head, *rows = str(e).splitlines()
    assert head.endswith("95% interval, all at once")
    assert [row.endswith(ends) for row, ends in zip(rows, shown, strict=False)] == [True] * 10
    assert "95% intervals, all at once" in repr(e)
    drawn = str(e.plot(top=3).to_dict())
    assert "hold for all 400 values at once" in drawn
    assert "at once" not in str(e.plot(top=400).to_dict())


def test_one_by_one_intervals_of_the_largest_counts_would_miss() -> None:
    """Some of 399 absent values miss in nearly every run; fewer than 5 of 10 runs have a chance below 1e-20."""
    oracle = OUE(domain=400, epsilon=1)
    misses = 0
    for _ in range(10):
        e = oracle.estimate(oracle.randomize([7] * 2000))
        top = np.argsort(-e.counts, kind="stable")[1:10]
        misses += bool((e.interval().low[top] > 0).any())
    assert misses >= 5
