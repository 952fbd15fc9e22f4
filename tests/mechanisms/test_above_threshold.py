"""Above threshold: the exact law of the first "yes", its privacy and error, and that there is never a second one."""

from __future__ import annotations

import copy
import os
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

import oracles_selection as oracle
from children import result_of_child
from evidence import FALSE_ALARM, draws, miss, p_value
from oracles_bad_input import (
    NOT_A_COUNT,
    NOT_A_FLAG,
    NOT_A_NUMBER,
    NOT_A_SHARE,
    NOT_POSITIVE,
    RAGGED,
    SECRET,
    refused,
    short,
    silence,
)
from oracles_selection import Floats, Vector
from tacit import AboveThreshold, PureDP, RefusedError
from tacit.guarantees.events import PureRelease
from tacit.guarantees.exact import Number
from tacit.mechanisms import above_threshold

ROUNDING = 1e-12
"""The relative error of a chance by the oracle, which adds positive floats."""


def scales(epsilon: float, steps: int, *, monotone: bool) -> tuple[float, float]:
    """Return the documented scales of the noise of the threshold and of the queries."""
    share = 0.5 if monotone else 0.387
    return steps / (share * epsilon), steps * (1 if monotone else 2) / ((1 - share) * epsilon)


@cache
def law(values: Vector, both: tuple[float, float]) -> Floats:
    return oracle.above_threshold(values, 0, both)


def worst(vectors: Sequence[Vector], steps: Sequence[Vector], both: tuple[float, float]) -> float:
    """Return the largest ratio of an outcome's chances between neighbours, in either direction."""
    factor = 1.0
    for vector, step in product(vectors, steps):
        here, there = law(vector, both), law(tuple(a + b for a, b in zip(vector, step, strict=True)), both)
        factor = max(factor, float((here / there).max()), float((there / here).max()))
    return factor


@pytest.mark.parametrize("monotone", [False, True])
def test_the_scales_are_the_documented_ones(*, monotone: bool) -> None:
    made = AboveThreshold(sensitivity=3, epsilon=0.1, threshold=7, monotone=monotone)
    assert tuple(map(float, made._scales)) == pytest.approx(scales(0.1, 3, monotone=monotone), rel=1e-14)
    assert made.guarantee == PureDP(epsilon=0.1)
    assert made.event == PureRelease(epsilon=Fraction(1, 10), neighbours="add/remove" if monotone else None)


@pytest.mark.parametrize("values", [(0,), (-3, 2), (1, 1, 1, -9)])
def test_the_oracle_adds_up_to_one(values: Vector) -> None:
    assert law(values, (2.5, 4.0)).sum() == pytest.approx(1, abs=1e-13)


# Privacy by exact sums over the noisy threshold.


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("questions", "spread", "width", "epsilon"), [(1, 9, 1, 1), (2, 4, 2, 0.5), (3, 2, 1, 2)])
def test_no_neighbours_differ_by_more_than_the_promise(
    questions: int, spread: int, width: int, epsilon: float, *, monotone: bool
) -> None:
    vectors = list(product(range(-spread, spread + 1), repeat=questions))
    steps = list(oracle.moves(width, questions, monotone=monotone))
    both = scales(epsilon, width, monotone=monotone)
    assert worst(vectors, steps, both) <= exp(epsilon) * (1 + ROUNDING)


@pytest.mark.parametrize("monotone", [False, True])
def test_many_questions_reach_the_promise_and_do_not_pass_it(*, monotone: bool) -> None:
    """Noes far above the threshold, and a yes far below: all in the exponential tails."""
    values, step = (*[60] * 5, 30), (*[1] * 5, 0 if monotone else -1)
    factor = worst([values], [step], scales(1, 1, monotone=monotone))
    assert exp(0.99) < factor <= exp(1) * (1 + ROUNDING)


def test_values_that_only_seem_monotone_break_the_promise() -> None:
    assert worst([(*[60] * 5, 30)], [(*[1] * 5, -1)], scales(1, 1, monotone=True)) > exp(1.4)


# Samples fit the law and no law of an ε that is a fifth off, or a tenth in a long run.


def first_yes(make: Callable[[], AboveThreshold], values: Sequence[float], size: int) -> list[int]:
    """Count the position of the first "yes", or that there was no "yes"."""
    found: Counter[int] = Counter()
    for _ in range(size):
        alarm = make()
        found[next((i for i, value in enumerate(values) if alarm.query(value)), len(values))] += 1
    return [found[i] for i in range(len(values) + 1)]


def judge(counts: list[int], chances: Floats, mutants: list[Floats]) -> None:
    """Accept the law and reject its mutants; wrong with probability at most 1e-13 each, and 1e-13 a mutant."""
    assert p_value(counts, chances.tolist()) > FALSE_ALARM
    for mutant in mutants:
        assert miss(mutant.tolist(), chances.tolist(), sum(counts)) < 1e-13
        assert p_value(counts, mutant.tolist()) < FALSE_ALARM


@draws(7_500, 27_000)
def test_answers_about_integers_fit_the_law(size: int, off: Fraction) -> None:
    values = (-16, -16, -16, 16)
    laws = [law(values, scales(float(factor), 2, monotone=False)) for factor in (1, 1 + off, 1 - off)]
    counts = first_yes(lambda: AboveThreshold(sensitivity=2, epsilon=1, threshold=100), [100 + v for v in values], size)
    judge(counts, laws[0], laws[1:])


def test_answers_about_reals_of_a_monotone_query_fit_the_law() -> None:
    """The oracle's grid has 2^10 steps a sensitivity, the mechanism's 2^20: a chance is off by less than 1e-3.

    Mutants are a fifth off.
    """
    values = (-6, -6, 4)
    steps = tuple(v * 1024 for v in values)
    laws = [oracle.above_threshold(steps, 0, scales(factor, 1024, monotone=True)) for factor in (1, 1.2, 0.8)]
    counts = first_yes(
        lambda: AboveThreshold(sensitivity=0.5, epsilon=1, threshold=0.25, monotone=True),
        [0.25 + 0.5 * v for v in values],
        9_000,
    )
    judge(counts, laws[0], laws[1:])


# The error bound holds, and for_error is its inverse.


def worst_cases(error: int, queries: int) -> list[tuple[Vector, list[int]]]:
    """Queries just beyond the error, and the outcomes that are within it."""
    low, high = -error - 1, error + 1
    return [
        ((low,) * queries, [queries]),
        ((high,) * queries, [0]),
        ((*[low] * (queries - 1), high), [queries - 1]),
    ]


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
@pytest.mark.parametrize(("confidence", "queries"), [(0.5, 1), (0.95, 1), (0.95, 6), (0.999, 3)])
def test_the_error_holds_for_values_just_beyond_it(
    epsilon: float, confidence: float, queries: int, *, monotone: bool
) -> None:
    made = AboveThreshold(sensitivity=1, epsilon=epsilon, threshold=0, monotone=monotone)
    error = made.error(confidence=confidence, queries=queries)
    assert isinstance(error, int)
    for values, right in worst_cases(error, queries):
        kept = law(values, scales(epsilon, 1, monotone=monotone))[right].sum()
        assert 1 - kept <= 1 - confidence + 1e-12


def quantile(scale: float, beta: float, draws: int) -> int:
    """Return the least t with Pr[|K| ≤ t] ≥ (1-β)^(1/draws), by counting up."""
    t = 0
    while 1 - 2 * oracle.laplace_from(np.array([t + 1]), scale)[0] < (1 - beta) ** (1 / draws):
        t += 1
    return t


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("confidence", "queries"), [(0.95, 1), (0.5, 3), (0.999, 100)])
def test_the_error_gives_half_of_beta_to_each_noise(confidence: float, queries: int, *, monotone: bool) -> None:
    made = AboveThreshold(sensitivity=3, epsilon=0.7, threshold=0, monotone=monotone)
    first, second = scales(0.7, 3, monotone=monotone)
    half = (1 - confidence) / 2
    expected = quantile(first, half, 1) + quantile(second, half, queries)
    assert made.error(confidence=confidence, queries=queries) == expected


def test_the_error_of_reals_covers_the_rounding_of_both_numbers() -> None:
    whole = AboveThreshold(sensitivity=2**20, epsilon=1, threshold=0)
    real = AboveThreshold(sensitivity=1.0, epsilon=1, threshold=0)
    assert real._grid.step == Fraction(1, 2**20)
    assert real.error(queries=5) == (whole.error(queries=5) + 1) / 2**20


@pytest.mark.parametrize("sensitivity", [1, 0.5])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("error", "confidence", "queries"), [(30, 0.95, 1), (7, 0.5, 100)])
def test_for_error_meets_the_error_and_a_little_less_does_not(
    sensitivity: float, error: float, confidence: float, queries: int, *, monotone: bool
) -> None:
    made = AboveThreshold.for_error(
        error, confidence=confidence, queries=queries, sensitivity=sensitivity, threshold=3, monotone=monotone
    )
    epsilon = made.guarantee.epsilon * (1 - 1e-6)
    less = AboveThreshold(sensitivity=sensitivity, epsilon=epsilon, threshold=3, monotone=monotone)
    assert made.error(confidence=confidence, queries=queries) <= error
    assert less.error(confidence=confidence, queries=queries) > error


# One "yes" and no more answers.


def alarm() -> AboveThreshold:
    return AboveThreshold(sensitivity=1, epsilon=1, threshold=0)


def test_it_answers_until_it_has_fired() -> None:
    one = alarm()
    assert [(one.query(-(10**9)), one.fired) for _ in range(50)] == [(False, False)] * 50
    assert (one.query(10**9), one.fired) == (True, True)
    with silence(), pytest.raises(RefusedError, match="has fired"):
        one.query(10**9)


def test_many_threads_get_one_yes() -> None:
    def ask(one: AboveThreshold) -> int:
        try:
            return one.query(10**9)
        except RefusedError:
            return 0

    for _ in range(20):
        one = alarm()
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(ask, [one] * 64)) == 1


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps, lambda one: one.__reduce_ex__(2)])
def test_copies_are_refused(clone: Callable[[AboveThreshold], object]) -> None:
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        clone(alarm())


def in_a_child(action: Callable[[], object]) -> str:
    """Fork, and return the name of the error that the action raises in the child."""

    def name() -> bytes:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - its name is the result
            return type(error).__name__.encode()
        return b"nothing"

    return result_of_child(name).decode()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_refused_and_the_parent_is_not() -> None:
    one = alarm()
    assert in_a_child(lambda: one.query(0)) == "RefusedError"
    assert in_a_child(lambda: alarm().query(0)) == "nothing"
    assert one.query(10**9)


def test_a_fired_mechanism_cannot_be_reset() -> None:
    one = alarm()
    assert one.query(10**9)
    with pytest.raises(AttributeError):
        one.fired = False  # type: ignore[misc]


def test_nothing_in_public_shows_the_noisy_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(above_threshold, "discrete_laplace", lambda _scale, size: np.full(size, SECRET))
    one = AboveThreshold(sensitivity=1, epsilon=1, threshold=0)
    public = [name for name in dir(one) if not name.startswith("_")]
    assert public == ["confidence", "error", "event", "fired", "for_error", "guarantee", "loss", "probability", "query"]
    assert one._state.threshold == SECRET
    shown = [repr(one), str(one), f"{one}", *(repr(getattr(one, name)) for name in public)]
    assert not any(str(SECRET) in text for text in shown)
    assert repr(one) == "AboveThreshold(sensitivity=1, epsilon=1, threshold=0)"
    other = AboveThreshold(sensitivity=1, epsilon=1, threshold=0)
    object.__setattr__(other, "_state", None)  # its law does not read the noisy threshold
    assert one.probability(3) == other.probability(3)
    assert one.confidence(error=9) == other.confidence(error=9)


def test_the_representation_is_the_call_that_makes_it() -> None:
    one = AboveThreshold(sensitivity=1, epsilon=1, threshold=0, monotone=True)
    assert repr(one) == "AboveThreshold(sensitivity=1, epsilon=1, threshold=0, monotone=True)"


# Invalid input.

NO_VALUES: list[Any] = [*NOT_A_NUMBER, [SECRET], np.array([SECRET, 2]), np.array(SECRET), [], RAGGED, 2**62 + SECRET]


@pytest.mark.parametrize("sensitivity", [1, 1.0])
@pytest.mark.parametrize("bad", NO_VALUES, ids=repr)
def test_a_bad_value_draws_nothing_and_leaves_the_rest_as_it_was(sensitivity: float, bad: Any) -> None:  # noqa: ANN401
    one = AboveThreshold(sensitivity=sensitivity, epsilon=1, threshold=0)
    before = {name: value for name, value in vars(one).items() if name != "_lock"}
    refused("value", lambda: one.query(bad))
    assert {name: value for name, value in vars(one).items() if name != "_lock"} == before
    assert one.query(10**9)


@pytest.mark.parametrize("bad", [0.5, SECRET + 0.5, np.float32(1)])
def test_an_int_sensitivity_takes_no_reals(bad: float) -> None:
    one = alarm()
    refused("value", lambda: one.query(bad))


@pytest.mark.parametrize("sensitivity", [1, 1.0])
@pytest.mark.parametrize("bad", [*NOT_A_NUMBER, [1], np.array([1, 2]), 10**30], ids=repr)
def test_the_threshold_is_one_finite_number(sensitivity: float, bad: Any) -> None:  # noqa: ANN401
    refused("threshold", lambda: AboveThreshold(sensitivity=sensitivity, epsilon=1, threshold=bad))


@pytest.mark.parametrize(
    ("sensitivity", "threshold", "index"),
    [(0.5, Fraction(3, 2), 3 * 2**20), (1, 2.5, 3), (1, 0.1, 0), (1.0, Decimal("-0.5"), -(2**19)), (3, np.int8(7), 7)],
)
def test_the_threshold_is_a_parameter_on_the_nearest_grid_point(
    monkeypatch: pytest.MonkeyPatch, sensitivity: float, threshold: Number, index: int
) -> None:
    monkeypatch.setattr(above_threshold, "discrete_laplace", lambda _scale, size: np.zeros(size, dtype=np.int64))
    assert AboveThreshold(sensitivity=sensitivity, epsilon=1, threshold=threshold)._state.threshold == index


@pytest.mark.parametrize("argument", ["sensitivity", "epsilon"])
@pytest.mark.parametrize("bad", NOT_POSITIVE, ids=short)
def test_sensitivity_and_epsilon_are_positive_numbers(argument: str, bad: Any) -> None:  # noqa: ANN401
    refused(argument, lambda: AboveThreshold(**{"sensitivity": 1, "epsilon": 1, "threshold": 0, argument: bad}))


@pytest.mark.parametrize("bad", NOT_A_FLAG, ids=repr)
def test_monotone_is_true_or_false(bad: Any) -> None:  # noqa: ANN401
    refused("monotone", lambda: AboveThreshold(sensitivity=1, epsilon=1, threshold=0, monotone=bad))


@pytest.mark.parametrize("bad", NOT_A_SHARE, ids=short)
def test_confidence_is_strictly_between_0_and_1(bad: Any) -> None:  # noqa: ANN401
    one = alarm()
    refused("confidence", lambda: one.error(confidence=bad))


@pytest.mark.parametrize("bad", NOT_A_COUNT, ids=repr)
def test_questions_are_counted_in_whole_numbers(bad: Any) -> None:  # noqa: ANN401
    one = alarm()
    refused("queries", lambda: one.error(queries=bad))


@pytest.mark.parametrize("bad", NOT_POSITIVE, ids=short)
def test_a_wanted_error_is_positive(bad: Any) -> None:  # noqa: ANN401
    refused("error", lambda: AboveThreshold.for_error(bad, sensitivity=1, threshold=0))


def test_an_error_that_any_noise_keeps_gets_as_much_noise_as_fits() -> None:
    most = AboveThreshold.for_error(1e30, sensitivity=1, threshold=0)
    assert most.error() <= 1e30
    less = most.guarantee.epsilon * (1 - 1e-6)
    refused("epsilon", lambda: AboveThreshold(sensitivity=1, epsilon=less, threshold=0))
