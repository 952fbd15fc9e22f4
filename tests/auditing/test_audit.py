"""`tc.audit`: planted faults are found, exact mechanisms are not accused, and the report says what was done.

Releases that stand for other libraries draw from generators with fixed seeds. Those of tacit draw from the operating
system, and their audits are wrong with probability at most 1e-12 each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tacit as tc
from tacit import InvalidError
from tacit.auditing.arguments import MISSING, read_pairs
from tacit.auditing.features import describe

SURE = 1 - 1e-12


def laplace(scale: float, seed: int = 1) -> Callable[[float], float]:
    """Return the float Laplace mechanism of a textbook."""
    draws = np.random.default_rng(seed)
    return lambda value: value + draws.laplace(scale=scale)


def rounded(scale: float, seed: int = 1) -> Callable[[float], float]:
    """Return a Laplace mechanism whose outputs are multiples of 1/8, which hides its bits."""
    noise = laplace(scale, seed)
    return lambda value: round(noise(value) * 8) / 8


# Power: planted faults.


def test_half_of_the_noise_is_found() -> None:
    report = tc.audit(rounded(0.5), 0, 1, epsilon=1, confidence=SURE, seed=1)
    assert report.violates
    assert 1 < report.epsilon_lower <= 2
    assert report.samples < 100_000  # it stopped early


def test_no_union_of_rare_values_hides_a_violation() -> None:
    draws = np.random.default_rng(1)

    def release(value: int, runs: int) -> list[list[float]]:
        """Return a likelihood ratio, whose ends occur often, and two numbers that occur once."""
        noisy = draws.laplace([2 * value, 2 * (1 - value)], 2, (runs, 2))
        ratio = (np.abs(noisy - [2, 0]) - np.abs(noisy - [0, 2])).sum(axis=1) / 2
        return list(np.column_stack([ratio, noisy]).round(9).tolist())

    report = tc.audit(release, 0, 1, samples=2400, confidence=SURE, batched=True, seed=1)
    assert report.epsilon_lower > 0.7  # it was 0 with a union of 195 values


def test_numbers_that_are_mostly_absent_are_searched() -> None:
    draws = np.random.default_rng(1)

    def release(_: int, runs: int) -> list[list[float]]:
        return [[float(draws.integers(10**9))] if run > runs - 20 else [] for run in range(runs)]

    assert not tc.audit(release, 0, 1, epsilon=1, samples=999, confidence=SURE, batched=True, seed=1).violates


def test_a_sensitivity_that_is_half_of_the_truth_is_found() -> None:
    noise = rounded(1)
    report = tc.audit(lambda rows: noise(2 * len(rows)), [1], [1, 1], epsilon=1, confidence=SURE, seed=1)
    assert report.violates


def test_the_holes_of_floats_are_found_by_low_bits() -> None:
    report = tc.audit(laplace(1), 0.0, 1.0, epsilon=1, confidence=SURE, seed=1)
    assert report.violates
    assert report.event.feature == "lowest bit"
    assert "lowest bit" in str(report)


def oracle(value: int) -> int:
    """Raise an exception for a secret row."""
    if value == 1:
        raise ZeroDivisionError
    return 0


def test_an_exception_is_an_output() -> None:
    report = tc.audit(oracle, 0, 1, epsilon=3, samples=4000, confidence=SURE, seed=1)
    assert report.violates
    assert report.event.feature == "exception"


def test_the_message_of_an_exception_is_an_output_on_request() -> None:
    coin = np.random.default_rng(1)

    def talk(value: int) -> None:
        if coin.random() < 0.5:
            raise ValueError(f"the row is {value}")

    assert not tc.audit(talk, 0, 1, epsilon=1, samples=2000, confidence=SURE, seed=1).violates
    report = tc.audit(talk, 0, 1, epsilon=1, samples=2000, confidence=SURE, messages=True, seed=1)
    assert report.violates
    assert report.event.feature == "message"


def test_time_is_an_output_on_request() -> None:
    def slow(value: int) -> int:
        end = perf_counter() + (0.001 if value else 0)
        while perf_counter() < end:
            pass
        return 3

    assert not tc.audit(slow, 0, 1, epsilon=0.1, samples=100, confidence=SURE, seed=1).violates
    report = tc.audit(slow, 0, 1, epsilon=0.1, samples=200, confidence=0.9, time=True, seed=1)
    assert report.violates
    assert report.event.feature == "seconds"


def test_many_small_differences_are_found_by_a_projection() -> None:
    draws = np.random.default_rng(1)

    def noisy(value: float) -> Any:  # noqa: ANN401 - an array
        return np.round(value + draws.normal(size=24), 3)

    report = tc.audit(noisy, 0.0, 0.7, epsilon=1, samples=2000, confidence=SURE, seed=1)
    assert report.violates
    assert "[0]" in str(report.event) or report.event.feature in ("sum", "projection")


@dataclass
class Result:
    """The result object of some library."""

    value: float
    rows: int


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: {"n": x},
        lambda x: [1, [x]],
        lambda x: "a" if x else "bb",
        lambda x: (x, None),
        lambda x: None if x else 0,
        lambda x: Result(float(x), 3),
        lambda x: SimpleNamespace(value=x),
        lambda x: SimpleNamespace(rows=lambda: [(x, "a")]),
        lambda x: np.array([[1.5, x]]),
        np.float32,
        lambda x: Fraction(x, 7),
        lambda x: {1, 2} if x else {1},
        lambda x: 10**400 if x else 5,
        lambda x: float("nan") if x else 1.0,
        lambda x: -0.0 if x else 0.0,
        lambda x: b"x" if x else b"y",
        lambda x: x > 0 or 2,
        lambda x: 1 + 2j if x else 1j,
    ],
)
def test_outputs_of_any_kind_are_read(wrap: Callable[[int], object]) -> None:
    coin = np.random.default_rng(1)

    def release(value: int) -> object:
        return wrap(value if coin.random() < 0.9 else 1 - value)

    report = tc.audit(release, 0, 1, samples=2000, seed=1)
    if isinstance(wrap(1), complex):
        assert report.epsilon_lower == 0  # only its type is read: pass features=
        report = tc.audit(release, 0, 1, samples=2000, seed=1, features=lambda z: {"real": complex(str(z)).real})
    assert 1 < report.epsilon_lower < log(9)
    assert report.event.contains(wrap(0)) != report.event.contains(wrap(1))


# Exact mechanisms are not accused; the bound is close to the truth.

EXACT: list[tuple[str, Callable[[Any, int], Any], object, object, float]] = [
    ("laplace", lambda x, n: tc.Laplace(sensitivity=1, epsilon=1).release(np.full(n, x)), 0, 1, 1.0),
    ("reals", lambda x, n: tc.Laplace(sensitivity=1.0, epsilon=0.5, outputs=n).release(np.full(n, x)), 0.0, 0.0, 0.5),
    ("response", lambda x, n: tc.RandomizedResponse(epsilon=2).release(np.full(n, x)), False, True, 2.0),
]


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case[0])
def test_exact_mechanisms_are_not_accused(case: tuple[str, Callable[[Any, int], Any], object, object, float]) -> None:
    _, release, on, against, epsilon = case
    report = tc.audit(release, on, against, epsilon=epsilon, samples=60_000, confidence=SURE, batched=True)
    assert not report.violates
    assert report.verdict == "no violation found"
    assert report.samples == 60_000
    assert "No violation" in str(report)
    if on != against:
        assert report.epsilon_lower > 0.8 * epsilon
        assert report.detectable < 1.3 * epsilon


def test_gaussian_noise_keeps_its_delta() -> None:
    noise = tc.Gaussian(sensitivity=1, epsilon=0.5, delta=1e-2)
    release = lambda x, n: noise.release(np.full(n, x))  # noqa: E731 - one line
    assert not tc.audit(release, 0, 1, epsilon=0.5, delta=1e-2, samples=60_000, confidence=SURE, batched=True).violates
    assert tc.audit(release, 0, 1, epsilon=0.2, delta=1e-3, samples=60_000, confidence=1 - 1e-4, batched=True).violates


def test_thresholds_by_dkw() -> None:
    assert tc.audit(rounded(0.3), 0, 1, epsilon=1, method="dkw", confidence=SURE, seed=1).violates
    report = tc.audit(rounded(1), 0, 1, samples=20_000, method="dkw", confidence=SURE, seed=1)
    assert 0.5 < report.epsilon_lower < 1
    with pytest.raises(InvalidError, match="No output has a number"):
        tc.audit(lambda _: None, 0, 1, samples=100, method="dkw")


# Several pairs, and the division of the error.


def test_a_generator_of_pairs_is_searched() -> None:
    noise = rounded(1)

    def neighbours() -> Iterator[tuple[float, float]]:
        for change in (0.1, 0.5, 1.0, 3.0, 9.0):
            yield 0.0, change

    report = tc.audit(noise, pairs=neighbours(), epsilon=1, samples=4000, confidence=SURE, seed=1)
    assert report.violates
    assert (report.pair, report.pairs) == (3, 4)
    assert "pair 4 of 4" in str(report)


def test_the_shares_of_the_error_add_up_to_it() -> None:
    alpha = Fraction(1, 1000)
    pairs = [(0, 1)] * 7
    assert sum(share for _, share in read_pairs(MISSING, MISSING, pairs, alpha)) == alpha
    assert sum(share for _, share in read_pairs(MISSING, MISSING, iter(pairs), alpha)) == alpha * Fraction(7, 8)


# The report.


def test_the_event_can_be_counted_again() -> None:
    report = tc.audit(rounded(0.5), 0, 1, samples=20_000, seed=1)
    noise = rounded(0.5, seed=2)
    value = {"on": 0, "against": 1}[report.likelier]
    again = sum(report.event.contains(noise(value)) for _ in range(10_000))
    assert abs(again - report.counts[0]) < 6 * 100
    assert report.counts[0] > report.counts[1]


def test_the_order_of_runs_follows_the_seed() -> None:
    def order(seed: int | None) -> tuple[list[int], int]:
        seen: list[int] = []
        report = tc.audit(lambda x: seen.append(x), 0, 1, samples=40, seed=seed)  # noqa: PLW0108 - it returns None
        return seen, report.seed

    first, seed = order(None)
    assert order(seed)[0] == first
    assert order(seed + 1)[0] != first
    assert f"seed={seed}" in tc.audit(oracle, 0, 1, samples=40, seed=seed).reproduce


def test_a_report_is_text_json_and_html() -> None:
    report = tc.audit(rounded(1), 0, 1, epsilon=1, samples=2000, seed=3)
    assert report.to_dict()["verdict"] == report.verdict
    assert "with confidence 99.9%" in str(report)
    assert "tc.audit(" in report.reproduce
    assert report._repr_html_()
    short = tc.audit(rounded(1), 0, 1, epsilon=5, samples=20, seed=3)
    assert short.detectable == inf
    assert "too few to see one" in str(short)
    assert short.to_dict()["detectable"] is None


def test_a_time_limit_ends_the_looks() -> None:
    report = tc.audit(rounded(1), 0, 1, samples=10_000, seconds=1e-9, seed=1)
    assert report.samples == 625


def test_progress_is_reported() -> None:
    done: list[int] = []
    tc.audit(oracle, 0, 1, samples=20_000, progress=done.append, seed=1)
    assert sum(done) == 20_000


# Bad input.

BAD: list[tuple[dict[str, Any], str]] = [
    ({"release": 3}, "release must be a function"),
    ({"samples": 3}, "samples must be a whole number from 8"),
    ({"samples": 100.5}, "samples must be"),
    ({"epsilon": -1}, "epsilon must be a number ≥ 0"),
    ({"epsilon": float("nan")}, "epsilon must be a number ≥ 0"),
    ({"delta": 1}, "delta must be a number from 0 to below 1"),
    ({"confidence": 0.4}, "confidence must be a number from 0.5"),
    ({"confidence": 1}, "confidence must be"),
    ({"method": "magic"}, "method must be one of clopper-pearson, dkw"),
    ({"seconds": 0}, "seconds must be a number > 0"),
    ({"seed": -1}, "seed must be a whole number"),
    ({"features": 3}, "features must be a function"),
    ({"time": 1}, "time must be True or False"),
    ({"time": True, "batched": True}, "exclude each other"),
    ({"pairs": [(0, 1)]}, "exclude each other"),
    ({"against": ...}, "needs the input against"),
    ({"on": ..., "against": ..., "pairs": "ab"}, "pairs must be a list or a generator"),
    ({"on": ..., "against": ..., "pairs": [(1, 2, 3)]}, "pair 1 must be a pair"),
    ({"on": ..., "against": ..., "pairs": []}, "pairs is empty"),
    ({"features": lambda _: [1]}, "features returned a list"),
    ({"release": lambda _: 1 / 0}, "Every run raised an exception; the first was ZeroDivisionError"),
    ({"release": lambda _, n: [1] * (n + 1), "batched": True}, "did not return 100 outputs"),
    ({"release": lambda _: 1, "batched": True}, "raised TypeError"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_arguments_are_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"release": oracle, "on": 0, "against": 1, "samples": 100, **change}
    given = {name: value for name, value in given.items() if value is not ...}
    with pytest.raises(InvalidError, match=message):
        tc.audit(given.pop("release"), **given)


def test_the_features_of_numbers() -> None:
    assert describe(0.75)["lowest bit"] == -2
    assert describe(12.0)["lowest bit"] == 2
    assert describe(5e-324)["lowest bit"] == -1074
    assert describe(1 + 2**-52)["last digits"] == 1
    assert describe(float("inf"))["kind"] == "inf"
    assert "value" not in describe(float("nan"))
    assert "lowest bit" not in describe(3)
