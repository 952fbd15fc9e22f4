"""Agreement with dp-accounting, whose results `bench/accounting_golden.py` recorded.

Only for δ ≥ 1e-9: below that, the rounding of its transforms is not small compared with δ.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest

import tacit as tc
from tacit.guarantees.events import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    LossEvent,
    PoissonSampled,
    from_json,
)

WIDTH = 1e-3
PLANT = Fraction(98, 100)


@dataclass(frozen=True)
class Case:
    events: list[tuple[LossEvent, int]]
    delta: float
    optimistic: float
    pessimistic: float

    def __str__(self) -> str:
        return " + ".join(f"{count} {type(event).__name__}" for event, count in self.events) + f" at {self.delta:g}"

    def agrees(self, found: tc.Bounds) -> bool:
        return found.lower <= self.pessimistic * (1 + 1e-9) and found.upper >= self.optimistic * (1 - 1e-9)


def read() -> list[Case]:
    golden = json.loads((Path(__file__).parent / "dp_accounting.golden.json").read_text())
    return [
        Case(
            [(from_json(line), count) for line, count in case["parts"]],  # type: ignore[misc]  # all have a law
            case["delta"],
            case["optimistic"],
            case["pessimistic"],
        )
        for case in golden["cases"]
    ]


CASES = read()


def less_noise(event: LossEvent) -> LossEvent:
    """Return the event with all its noise scaled down by 2 %."""
    match event:
        case PoissonSampled(rate=rate, of=of):
            return PoissonSampled(rate=rate, of=less_noise(of))  # type: ignore[arg-type]  # not sampled, as `of` is not
        case GaussianNoise(sigma=sigma):
            return replace(event, sigma=sigma * PLANT)
        case DiscreteGaussianNoise(variance=variance):
            return replace(event, variance=variance * PLANT**2)
        case LaplaceNoise(scale=scale) | DiscreteLaplaceNoise(scale=scale):
            return replace(event, scale=scale * PLANT)
        case _:
            return replace(event, epsilon=event.epsilon / PLANT)


def test_the_cases_are_many_and_in_the_range_where_both_are_right() -> None:
    assert len(CASES) >= 30
    assert all(case.delta >= 1e-9 for case in CASES)
    assert len({type(event) for case in CASES for event, _ in case.events}) >= 8


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_brackets_overlap_and_ours_is_no_wider(case: Case) -> None:
    found = tc.compose(case.events).epsilon(delta=case.delta, width=WIDTH)
    assert case.agrees(found)
    assert found.upper - found.lower <= case.pessimistic - case.optimistic + WIDTH * found.upper


@pytest.mark.parametrize("case", CASES, ids=str)
def test_two_percent_less_noise_does_not_agree(case: Case) -> None:
    planted = tc.compose([(less_noise(event), count) for event, count in case.events])
    assert not case.agrees(planted.epsilon(delta=case.delta, width=WIDTH))
