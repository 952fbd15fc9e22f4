from __future__ import annotations

import json
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit.errors import InvalidError
from tacit.guarantees import events
from tacit.guarantees.events import ApproxRelease, DiscreteGaussianNoise, DiscreteLaplaceNoise, Event, PureRelease
from tacit.guarantees.filters import admit, start

GOLDEN = (Path(__file__).parent / "events.golden.jsonl").read_text().splitlines()

amounts = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9).filter(lambda x: x > 0)
every_event = st.one_of(
    st.builds(DiscreteLaplaceNoise, scale=amounts, l1=amounts, coordinates=st.integers(1, 99)),
    st.builds(
        DiscreteGaussianNoise, variance=amounts, l2_squared=st.integers(1, 2**90), coordinates=st.integers(1, 99)
    ),
    *(st.builds(kind, epsilon=amounts) for kind in (events.BoundedRange, PureRelease, events.RandomizedBit)),
    st.builds(
        ApproxRelease,
        epsilon=amounts,
        delta=st.just(Fraction(1, 10**6)),
        neighbours=st.sampled_from([None, "add/remove", "change one"]),
    ),
    st.builds(
        events.PoissonSampled,
        rate=st.fractions(min_value=Fraction(1, 10**9), max_value=1).filter(lambda x: x > 0),
        of=st.builds(events.GaussianNoise, sigma=amounts, l2=amounts),
    ),
)


@pytest.mark.parametrize("line", GOLDEN)
def test_golden_events_can_still_be_read(line: str) -> None:
    assert events.to_json(events.from_json(line)) == line


def test_the_golden_file_holds_every_event() -> None:
    assert {json.loads(line)["event"] for line in GOLDEN} == {kind.__name__ for kind in get_args(Event)}


@given(every_event)
def test_an_event_survives_its_journey(event: Event) -> None:
    assert events.from_json(events.to_json(event)) == event


@pytest.mark.parametrize(
    "mechanism",
    [
        tc.Laplace(sensitivity=1, epsilon=0.1),
        tc.Laplace(sensitivity=2.5, epsilon=0.1, outputs=3),
        tc.Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6),
        tc.Exponential(sensitivity=1, epsilon=1),
        tc.PermuteAndFlip(sensitivity=1, epsilon=1),
        tc.NoisyMax(sensitivity=1, epsilon=1),
        tc.AboveThreshold(sensitivity=1, epsilon=1, threshold=3),
        tc.RandomizedResponse(epsilon=1),
        tc.SmoothMedian(bounds=(0, 1), epsilon=1, delta=1e-6),
        tc.ProposeTestRelease(bound=1, epsilon=1, delta=1e-6),
    ],
    ids=lambda m: type(m).__name__,
)
def test_every_mechanisms_event_can_be_written_and_read(mechanism: Any) -> None:  # noqa: ANN401
    assert events.from_json(events.to_json(mechanism.event)) == mechanism.event


@pytest.mark.parametrize(
    "mechanism",
    [
        tc.RandomizedResponse(epsilon=1),
        tc.local.Warner(p=0.75),
        tc.local.GRR(domain=4, epsilon=1),
        tc.SmoothMedian(bounds=(0, 1), epsilon=1, delta=1e-6),
        tc.ProposeTestRelease(bound=1, epsilon=1, delta=1e-6),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_guarantee_for_a_public_number_of_rows_is_not_charged_where_rows_are_added_or_removed(
    mechanism: Any,  # noqa: ANN401
) -> None:
    budget = tc.ApproxDP(epsilon=10, delta=1e-5)
    assert admit(start(budget, "change one"), budget, mechanism.event).loss > 0
    with pytest.raises(InvalidError, match="neighbours"):
        admit(start(budget, "add/remove"), budget, mechanism.event)
    with pytest.raises(InvalidError):
        tc.compose([mechanism, tc.Exponential(sensitivity=1, epsilon=1, monotone=True)])


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ('{"event":"PureRelease","version":2,"epsilon":"1"}', "version"),
        ('{"event":"PureRelease","version":true,"epsilon":"1"}', "version"),
        ('{"event":"PureRelease","epsilon":"1"}', "version"),
        ('{"event":"Magic","version":1,"epsilon":"1"}', "event"),
        ('{"event":["PureRelease"],"version":1}', "event"),
        ('{"event":"PureRelease","version":1}', "PureRelease"),
        ('{"event":"PureRelease","version":1,"epsilon":"1","more":1}', "PureRelease"),
        ('{"event":"PureRelease","version":1,"epsilon":"1/0"}', "epsilon"),
        ('{"event":"PureRelease","version":1,"epsilon":"-1"}', "epsilon"),
        ('{"event":"PureRelease","version":1,"epsilon":"x"}', "epsilon"),
        ('{"event":"PureRelease","version":1,"epsilon":NaN}', "epsilon"),
        ('{"event":"PureRelease","version":1,"epsilon":null}', "epsilon"),
        ("[1]", "event"),
        ("nonsense", "event"),
        ("[" * 100_000, "event"),
    ],
)
def test_invalid_json_is_refused_by_name(text: str, argument: str) -> None:
    with pytest.raises(InvalidError) as caught:
        events.from_json(text)
    assert caught.value.argument == argument


@pytest.mark.parametrize("bad", [0, -1, nan, inf, "1", True, None])
def test_an_amount_is_a_number_above_zero(bad: Any) -> None:  # noqa: ANN401
    for kind, name in ((events.BoundedRange, "epsilon"), (PureRelease, "epsilon"), (ApproxRelease, "delta")):
        with pytest.raises(InvalidError) as caught:
            kind(**{**({"epsilon": 1} if kind is ApproxRelease else {}), name: bad})
        assert caught.value.argument == name


@pytest.mark.parametrize("bad", [-1, nan, inf, "1", True, None])
def test_only_a_give_away_may_have_no_epsilon(bad: Any) -> None:  # noqa: ANN401
    assert ApproxRelease(epsilon=Fraction(0), delta=Fraction(1, 10)).epsilon == 0
    with pytest.raises(InvalidError, match="epsilon"):
        ApproxRelease(epsilon=bad, delta=Fraction(1, 10))


def test_a_sample_has_a_rate_and_an_event_under_add_remove() -> None:
    noise = events.GaussianNoise(sigma=Fraction(1), l2=Fraction(1))
    once = events.PoissonSampled(rate=Fraction(1, 10), of=noise)
    assert once.neighbours == "add/remove"
    for bad in (0, -1, nan, 2, "1", True, None):
        with pytest.raises(InvalidError, match="rate"):
            events.PoissonSampled(rate=bad, of=noise)  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="Multiply the two sampling rates"):
        events.PoissonSampled(rate=Fraction(1, 10), of=once)  # type: ignore[arg-type]
    changed = ApproxRelease(epsilon=Fraction(1), delta=Fraction(1, 10), neighbours="change one")
    with pytest.raises(InvalidError, match="Poisson"):
        events.PoissonSampled(rate=Fraction(1, 10), of=changed)
    with pytest.raises(InvalidError, match="neighbour relation"):
        tc.compose([once, changed])


def test_a_float_amount_means_its_decimal_here_too() -> None:
    assert PureRelease(epsilon=0.1) == PureRelease(epsilon=Fraction(1, 10))  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, 1.5, "1", True])
def test_counts_are_whole(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        DiscreteGaussianNoise(variance=Fraction(1), l2_squared=1, coordinates=bad)
    assert caught.value.argument == "coordinates"


def test_the_relation_is_one_of_two() -> None:
    with pytest.raises(InvalidError) as caught:
        ApproxRelease(epsilon=Fraction(1), delta=Fraction(1, 2), neighbours="both")  # type: ignore[arg-type]
    assert caught.value.argument == "neighbours"
