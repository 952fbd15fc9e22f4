"""Propose-test-release: the exact law of the test and the value, end to end on all small data sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles_order
from evidence import FALSE_ALARM, draws, miss, p_value
from oracles_bad_input import NOT_A_COLUMN, NOT_A_COUNT, NOT_A_SHARE, NOT_POSITIVE, RAGGED, SECRET, refused, short
from oracles_divergence import MP, Shifted, hockey_stick, real
from tacit import ApproxDP, ProposeTestRelease
from tacit.guarantees.events import ApproxRelease
from tacit.mechanisms import laplace, propose_test_release
from tacit.mechanisms.order import STEPS
from tacit.noise import SYSTEM

WIDTH = 2 * STEPS
"""With bounds (0, 2^25) a half step is 1, so that outputs are the indices themselves."""

BOUNDS = (0, WIDTH)


def above(k: int, scale: float | Fraction) -> Any:  # noqa: ANN401 - a number of mpmath
    """Pr[K > k]."""
    return 1 - Shifted(0, real(scale)).upto(MP.mpf(k))


def made(epsilon: float = 1, delta: float = 1e-6, bound: float = 8) -> ProposeTestRelease:
    return ProposeTestRelease(bound=bound, epsilon=epsilon, delta=delta)


# The test's threshold and reach, from the exact tail.


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 7, 40])
@pytest.mark.parametrize("delta", [0.4, 0.05, 1e-3, 1e-6, 1e-15])
def test_the_threshold_is_the_least_that_delta_allows(epsilon: float, delta: float) -> None:
    one, scale = made(epsilon, delta), 2 / Fraction(repr(epsilon))
    assert above(one.threshold, scale) <= real(Fraction(repr(delta)))
    assert one.threshold == 0 or above(one.threshold - 1, scale) > real(Fraction(repr(delta)))


@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_from_the_needed_distance_on_a_value_is_released(epsilon: float, confidence: float) -> None:
    one = made(epsilon)
    distance, scale = one.needed_distance(confidence=confidence), 2 / Fraction(repr(epsilon))
    assert above(one.threshold - distance, scale) >= confidence
    assert above(one.threshold - distance + 1, scale) < confidence or distance == one.threshold + 1


# End to end: the parameters that a release passes to the two samplers.


@dataclass(frozen=True)
class Law:
    """None with probability 1 - passing, else a centre plus noise."""

    passing: Any
    value: Shifted

    def divergence(self, other: Law, epsilon: float) -> Any:  # noqa: ANN401 - a number of mpmath
        """Return the least δ for which this is ≤ e^ε·other + δ on every set of outcomes."""
        none = (1 - self.passing) - MP.exp(epsilon) * (1 - other.passing)
        shifted = real(epsilon) + MP.log(other.passing / self.passing)
        return max(MP.mpf(0), none) + self.passing * hockey_stick(self.value, other.value, shifted)


class Watched:
    """A mechanism whose two noises are chosen here; releases of the median."""

    def __init__(self, one: ProposeTestRelease, bounds: tuple[int, int] = BOUNDS) -> None:
        self.one, self.bounds = one, bounds
        self.scales: list[Fraction] = []

    def release(self, column: npt.ArrayLike, test_noise: int) -> float | None:
        def note(scale: Fraction, size: int) -> npt.NDArray[np.int64]:
            self.scales.append(scale)
            return np.zeros(size, dtype=np.int64)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(laplace, "discrete_laplace", note)
            patch.setattr(propose_test_release, "discrete_laplace", lambda _scale, size: np.full(size, test_noise))
            return self.one.release_median(column, bounds=self.bounds)

    def distance(self, column: npt.ArrayLike) -> int:
        """Return the distance that the test uses: the first it does not exceed."""
        far = 0
        while self.release(column, self.one.threshold - far) is not None:
            far += 1
        return far

    def law(self, column: npt.ArrayLike) -> Law:
        centre = self.release(column, 10**9)
        assert centre is not None
        test = 2 / self.one.event.epsilon
        passing = above(self.one.threshold - self.distance(column), test)
        return Law(passing, Shifted(int(centre), real(self.scales[-1])))


POINTS = [0, 2, 6, 10, 4096, WIDTH]


@cache
def law(one: ProposeTestRelease, column: tuple[int, ...]) -> Law:
    return Watched(one).law(column)


def neighbours(n: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield all pairs of n rows out of six values that differ in one."""
    for column in combinations_with_replacement(POINTS, n):
        for other in set(oracles_order.neighbours(column, POINTS)):
            yield column, other


SHARP = [(10, 0.01), (1, 0.3), (0.5, 1e-6), (4, 0.02)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("epsilon", "delta"), SHARP)
@pytest.mark.parametrize("bound", [2, 8.0, 5000])
def test_the_releases_of_neighbours_are_as_close_as_promised(epsilon: float, delta: float, bound: float) -> None:
    one = made(epsilon, delta, bound)
    for column, other in (pair for n in (1, 2, 3, 4) for pair in neighbours(n)):
        assert law(one, column).divergence(law(one, other), epsilon) <= delta * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), SHARP[1:])
def test_a_threshold_that_is_one_less_would_break_the_promise(epsilon: float, delta: float) -> None:
    one = made(epsilon, delta)
    laws = [law(one, column) for column in ((0, 0, WIDTH), (0, WIDTH, WIDTH))]
    eager = [Law(above(one.threshold - 1, 2 / Fraction(repr(epsilon))), each.value) for each in laws]
    assert [each.passing for each in laws] == [above(one.threshold, 2 / Fraction(repr(epsilon)))] * 2
    assert eager[0].divergence(eager[1], epsilon) > delta


@pytest.mark.parametrize("bound", [2, 8.0, 5000])
def test_the_distance_keeps_the_premises_of_the_proof(bound: float) -> None:
    """It moves by at most one between neighbours, and if it is positive the median moves by at most the bound."""
    one = Watched(made(1, 1e-6, bound))
    for column, other in neighbours(4):
        near = one.distance(column), one.distance(other)
        centres = one.release(column, 10**9), one.release(other, 10**9)
        assert None not in centres
        assert abs(near[0] - near[1]) <= 1
        assert max(near) == 0 or abs(float(centres[0] or 0) - float(centres[1] or 0)) <= bound


@pytest.mark.parametrize("epsilon", [0.5, 3])
@pytest.mark.parametrize("bound", [2, 7, 8.0, 5000])
def test_the_value_has_noise_for_the_bound_at_half_of_epsilon(epsilon: float, bound: float) -> None:
    """In half steps the median moves by twice the whole steps of 2 that fit the bound."""
    one = Watched(made(epsilon, 1e-6, bound))
    one.release([4, 10, 16], 10**9)
    assert one.scales == [2 * int(bound / 2) / (Fraction(repr(epsilon)) / 2)]


# Samples fit the law and no law of an ε that is a tenth off.

CUTS = [0.3, 0.7, 1.2, 2.0, 3.2]


def chances(epsilon: Fraction, distance: int, scale: Fraction, threshold: int, cuts: list[int]) -> list[float]:
    """The chances of None, and of |noise| between the cuts."""
    passing = above(threshold - distance, 2 / epsilon)
    noise = Shifted(0, real(scale))
    inside = [noise.mass(MP.mpf(-cut), MP.mpf(cut)) for cut in cuts]
    parts = [b - a for a, b in zip([MP.mpf(0), *inside], [*inside, MP.mpf(1)], strict=True)]
    return [float(1 - passing), *(float(passing * part) for part in parts)]


def tally(values: list[float | None], centre: float, cuts: list[int]) -> list[int]:
    noise = np.array([abs(value - centre) for value in values if value is not None])
    counts = np.bincount(np.searchsorted(cuts, noise), minlength=len(cuts) + 1)
    return [len(values) - noise.size, *(int(count) for count in counts)]


@draws(10_500, 60_000)
def test_releases_fit_the_law(size: int, off: Fraction) -> None:
    one, distance = made(1, 1e-3, 5), 14
    cuts = [int(cut * 10) for cut in CUTS]
    laws = [
        chances(Fraction(1) * factor, distance, 10 / factor, 12, cuts) for factor in (Fraction(1), 1 + off, 1 - off)
    ]
    assert one.threshold == 12
    counts = tally([_number(one.release(337, distance=distance)) for _ in range(size)], 337, cuts)
    assert p_value(counts, laws[0]) > FALSE_ALARM
    for mutant in laws[1:]:
        assert miss(mutant, laws[0], size) < 1e-13
        assert p_value(counts, mutant) < FALSE_ALARM


def _number(value: Any) -> float | None:  # noqa: ANN401 - whatever a release gives
    assert value is None or isinstance(value, int)
    return value


def test_releases_of_the_median_fit_the_law() -> None:
    """Fewer draws, so mutants a quarter off."""
    one, column = made(2, 1e-2, 1000), [2**24 + 20 * k for k in range(15)]
    watched = Watched(one)
    distance, scale = watched.distance(column), Fraction(1000)
    assert distance == 7
    cuts = [int(cut * scale) for cut in CUTS]
    laws = [
        chances(2 * factor, distance, scale / factor, one.threshold, cuts)
        for factor in (Fraction(1), Fraction(5, 4), Fraction(3, 4))
    ]
    counts = tally([one.release_median(column, bounds=BOUNDS) for _ in range(9_000)], 2**24 + 140, cuts)
    assert p_value(counts, laws[0]) > FALSE_ALARM
    for mutant in laws[1:]:
        assert miss(mutant, laws[0], 9_000) < 1e-13
        assert p_value(counts, mutant) < FALSE_ALARM


# The error bound holds, and for_error is its inverse.


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("epsilon", [0.1, 3, 20])
def test_the_error_is_the_least_that_keeps_the_confidence(confidence: float, epsilon: float) -> None:
    error, scale = made(epsilon, 1e-6, 8).error(confidence=confidence), 16 / Fraction(repr(epsilon))
    beta = real(1 - Fraction(repr(confidence)))
    assert 2 * above(int(error), scale) <= beta
    assert error == 0 or 2 * above(int(error) - 1, scale) > beta


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("epsilon", [0.1, 20])
def test_the_error_of_the_median_is_that_of_the_fine_grid(confidence: float, epsilon: float) -> None:
    """An int bound means integers for `release` only; a row is rounded by up to one half step."""
    one = made(epsilon, 1e-3, 1)
    watched = Watched(one, (0, 1000))
    watched.release([4], 10**9)
    reach = round(one.error(confidence=confidence, bounds=(0, 1000)) * WIDTH / 1000) - 1
    beta = real(1 - Fraction(repr(confidence)))
    assert 2 * above(reach, watched.scales[0]) <= beta < 2 * above(reach - 1, watched.scales[0])


@pytest.mark.parametrize(("bound", "outputs", "error"), [(1, 1, 30), (2.5, 1, 7.5), (0.5, 3, 4)])
def test_for_error_meets_the_error_and_a_little_less_does_not(bound: float, outputs: int, error: float) -> None:
    one = ProposeTestRelease.for_error(error, confidence=0.9, bound=bound, delta=1e-6, outputs=outputs)
    epsilon = one.guarantee.epsilon * (1 - 1e-6)
    less = ProposeTestRelease(bound=bound, epsilon=epsilon, delta=1e-6, outputs=outputs)
    assert one.error(confidence=0.9, outputs=outputs) <= error
    assert less.error(confidence=0.9, outputs=outputs) > error


# The set of outputs does not depend on the data, and neither does the work.


@settings(deadline=None, max_examples=150)
@given(
    values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=8),
    bounds=st.tuples(st.floats(-1e6, 1e6), st.floats(1, 1e6)).map(lambda ends: (ends[0], ends[0] + ends[1])),
)
def test_a_released_median_is_a_point_of_the_grid(values: list[float], bounds: tuple[float, float]) -> None:
    one, step = made(10, 0.9, 0.5), (Fraction(repr(bounds[1])) - Fraction(repr(bounds[0]))) / WIDTH
    out = one.release_median(values, bounds=bounds)
    if out is not None:
        near = round((out - bounds[0]) / float(step))
        indices = [index for index in range(near - 2, near + 3) if 0 <= index <= WIDTH]
        assert out in {min(bounds[0] + index * float(step), bounds[1]) for index in indices}


@given(value=st.floats(-1e6, 1e6))
def test_a_released_real_is_a_multiple_of_the_granularity(value: float) -> None:
    one = ProposeTestRelease(bound=0.5, epsilon=1, delta=1e-6, granularity=0.01)
    out = one.release(value, distance=1000)
    assert isinstance(out, float)
    assert out == round(out / 0.01) * 0.01


def test_values_outside_the_bounds_are_clamped_and_never_an_error() -> None:
    one = made(10**6, 1e-6, 0.5)
    ends = [one.release_median([end] * 99, bounds=(0, 1)) for end in (-np.inf, np.inf, 1e308, -(2**62))]
    assert ends == pytest.approx([0, 1, 1, 0], abs=1e-4)
    assert all(end is not None and 0 <= end <= 1 for end in ends)


def test_integers_reals_and_vectors_keep_their_kind() -> None:
    far = 10_000
    assert isinstance(made(1).release(3, distance=far), int)
    assert isinstance(made(1, bound=1.0).release(3, distance=far), float)
    vector = ProposeTestRelease(bound=1.0, epsilon=1, delta=1e-6, outputs=2).release([1.5, 2], distance=far)
    assert isinstance(vector, np.ndarray)
    assert vector.shape == (2,)


def bytes_of(one: ProposeTestRelease, distance: int) -> tuple[int, object]:
    """Return the number of random bytes that a release draws, and the release."""
    drawn: list[int] = []
    take = SYSTEM.take

    def count(size: int) -> bytes:
        drawn.append(size)
        return take(size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SYSTEM, "take", count)
        released = one.release(3, distance=distance)
    return sum(drawn), released


def test_a_refusal_draws_as_much_as_a_release() -> None:
    one = made(1, 1e-15)
    near, far = bytes_of(one, 0), bytes_of(one, 10_000)
    assert near[1] is None
    assert far[1] is not None
    assert near[0] == far[0] > 0


def test_a_release_leaves_no_trace_in_the_mechanism() -> None:
    one = made(1, 1e-6, 1000)
    before = dict(vars(one))
    one.release(SECRET, distance=SECRET)
    one.release_median([SECRET] * 9, bounds=(0, 10**9))
    assert vars(one) == before
    assert repr(one) == "ProposeTestRelease(bound=1000, epsilon=1, delta=1e-06)"


def test_the_representation_is_the_call_that_makes_it() -> None:
    one = ProposeTestRelease(bound=0.5, epsilon=1, delta=1e-6, granularity=0.01)
    assert repr(one) == "ProposeTestRelease(bound=0.5, epsilon=1, delta=1e-06, granularity=0.01)"


# Guarantees and invalid input.


def test_the_promise_is_recorded() -> None:
    one = made(0.1, 1e-6)
    assert one.guarantee == ApproxDP(epsilon=0.1, delta=1e-6)
    assert one.event == ApproxRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6), neighbours="change one")


def test_the_event_names_the_relation_and_a_median_needs_change_one() -> None:
    other = ProposeTestRelease(bound=1, epsilon=1, delta=1e-6, neighbours="add/remove")
    assert other.event.neighbours == "add/remove"
    assert repr(other) == "ProposeTestRelease(bound=1, epsilon=1, delta=1e-06, neighbours='add/remove')"
    assert isinstance(other.release(337, distance=10_000), int)
    refused("neighbours", lambda: other.release_median([1, 2, 3], bounds=(0, 10)))
    made = ProposeTestRelease.for_error(10, bound=1, delta=1e-6, neighbours="add/remove")
    assert made.event.neighbours == "add/remove"
    for bad in (None, "", "each row", 1):
        refused("neighbours", lambda bad=bad: ProposeTestRelease(bound=1, epsilon=1, delta=1e-6, neighbours=bad))  # type: ignore[misc]


@pytest.mark.parametrize("argument", ["bound", "epsilon"])
@pytest.mark.parametrize("bad", NOT_POSITIVE, ids=short)
def test_bound_and_epsilon_are_positive_numbers(argument: str, bad: Any) -> None:  # noqa: ANN401
    refused(argument, lambda: ProposeTestRelease(**{"bound": 1, "epsilon": 1, "delta": 1e-6, argument: bad}))


@pytest.mark.parametrize("bad", NOT_A_SHARE, ids=short)
def test_delta_and_confidence_are_strictly_between_0_and_1(bad: Any) -> None:  # noqa: ANN401
    refused("delta", lambda: made(1, bad))
    refused("confidence", lambda: made().error(confidence=bad))
    refused("confidence", lambda: made().needed_distance(confidence=bad))
    refused("confidence", lambda: ProposeTestRelease.for_error(1, confidence=bad, bound=1, delta=1e-6))


@pytest.mark.parametrize("bad", NOT_A_COUNT, ids=repr)
def test_outputs_are_counted_in_whole_numbers(bad: Any) -> None:  # noqa: ANN401
    refused("outputs", lambda: ProposeTestRelease(bound=1.0, epsilon=1, delta=1e-6, outputs=bad))
    if bad is not None:
        refused("outputs", lambda: made().error(outputs=bad))


@pytest.mark.parametrize("bad", [bad for bad in NOT_POSITIVE if bad is not None], ids=short)
def test_granularity_is_a_positive_number_and_for_reals(bad: Any) -> None:  # noqa: ANN401
    refused("granularity", lambda: ProposeTestRelease(bound=1.0, epsilon=1, delta=1e-6, granularity=bad))
    refused("granularity", lambda: ProposeTestRelease(bound=1, epsilon=1, delta=1e-6, granularity=1))


@pytest.mark.parametrize("bad", [-1, 1.5, 2.0, float("nan"), True, None, str(SECRET), [SECRET], -SECRET], ids=repr)
def test_the_distance_is_a_whole_number(bad: Any) -> None:  # noqa: ANN401
    one = made()
    refused("distance", lambda: one.release(3, distance=bad))


NO_VALUES: list[Any] = [None, str(SECRET), True, float("nan"), [], RAGGED, np.array(3), SECRET + 0.5, 2**62 + SECRET]


@pytest.mark.parametrize("bad", NO_VALUES, ids=repr)
def test_a_value_is_a_number_of_the_right_kind(bad: Any) -> None:  # noqa: ANN401
    one = made()
    refused("value", lambda: one.release(bad, distance=100))


@pytest.mark.parametrize("bad", [*NOT_A_COLUMN, [np.nan, SECRET]], ids=repr)
def test_values_other_than_columns_of_numbers_are_refused(bad: Any) -> None:  # noqa: ANN401
    one = made()
    refused("values", lambda: one.release_median(bad, bounds=BOUNDS))


@pytest.mark.parametrize("bad", [(1, 0), (0, 0), (0, float("nan")), ("0", 1), (0, True), None, (0, 1, 2)], ids=repr)
def test_bounds_are_two_numbers_in_order(bad: Any) -> None:  # noqa: ANN401
    one = made()
    refused("bounds", lambda: one.release_median([1, 2], bounds=bad))


@pytest.mark.parametrize("bound", [1e-9, 10**9])
def test_a_bound_below_a_step_or_beyond_the_range_is_refused(bound: float) -> None:
    one = made(1, 1e-6, bound)
    refused("bound", lambda: one.release_median([1, 2], bounds=(0, 100)))


def test_a_bound_that_leaves_the_floats_is_refused_by_its_own_name() -> None:
    refused("bound", lambda: made(1, 1e-6, 1e-300))


def test_an_error_that_any_noise_keeps_gets_as_much_noise_as_fits() -> None:
    most = ProposeTestRelease.for_error(1e30, bound=1, delta=1e-6)
    assert most.error() <= 1e30
    refused("epsilon", lambda: made(most.guarantee.epsilon * (1 - 1e-6), bound=1))
