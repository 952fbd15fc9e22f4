"""Write the results of dp-accounting to tests/guarantees/dp_accounting.golden.json, for a test that runs without it.

Run it once for each version of dp-accounting: `.venv/bin/python bench/accounting_golden.py`. Each law is rounded up and
rounded down on a fine interval, so that the two bounds are within about a thousandth of each other. The bounds include
an allowance for the rounding errors of the library's transforms.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from fractions import Fraction
from typing import cast

from accounting import DP_ACCOUNTING
from accounting_cases import Case
from accounting_serve import Answer
from peers import HERE, Contestant, start

from tacit import compose
from tacit.guarantees.events import (
    ApproxRelease,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedBit,
)

GOLDEN = HERE.parent / "tests" / "guarantees" / "dp_accounting.golden.json"
SHARE, COARSEST, FINEST = 1e-3, 1e-3, 2e-6
CAP = 600.0


def laplace(scale: str, l1: str = "1") -> Event:
    """Return continuous Laplace noise."""
    return LaplaceNoise(scale=Fraction(scale), l1=Fraction(l1))


def gaussian(sigma: str, l2: str = "1") -> Event:
    """Return continuous Gaussian noise."""
    return GaussianNoise(sigma=Fraction(sigma), l2=Fraction(l2))


def grid_laplace(scale: str, l1: int = 1) -> Event:
    """Return discrete Laplace noise on one integer."""
    return DiscreteLaplaceNoise(scale=Fraction(scale), l1=Fraction(l1), coordinates=1)


def grid_gaussian(variance: str, shift: int = 1) -> Event:
    """Return discrete Gaussian noise on one integer."""
    return DiscreteGaussianNoise(variance=Fraction(variance), l2_squared=shift * shift, coordinates=1)


def bit(epsilon: str) -> Event:
    """Return randomized response."""
    return RandomizedBit(epsilon=Fraction(epsilon))


def promise(epsilon: str, delta: str) -> Event:
    """Return an event that is only known to be (ε, δ)-DP."""
    return ApproxRelease(epsilon=Fraction(epsilon), delta=Fraction(delta))


def sampled(rate: str, event: Event) -> Event:
    """Return an event on a Poisson sample."""
    return PoissonSampled(rate=Fraction(rate), of=event)  # type: ignore[arg-type]  # no case samples twice


ALONE: list[tuple[Event, int, float]] = [
    (laplace("1"), 1, 1e-2),
    (laplace("3"), 10, 1e-5),
    (laplace("5", "5/2"), 7, 1e-4),
    (laplace("10"), 100, 1e-6),
    (laplace("30"), 1000, 1e-9),
    (grid_laplace("1"), 1, 1e-2),
    (grid_laplace("2", 3), 5, 1e-5),
    (grid_laplace("10"), 100, 1e-6),
    (grid_laplace("20", 7), 40, 1e-8),
    (grid_laplace("150/7", 2), 300, 1e-9),
    (gaussian("1"), 1, 1e-2),
    (gaussian("1"), 1, 1e-9),
    (gaussian("4", "3"), 3, 1e-6),
    (gaussian("10"), 100, 1e-5),
    (gaussian("30"), 1000, 1e-7),
    (grid_gaussian("1"), 1, 1e-3),
    (grid_gaussian("4"), 10, 1e-5),
    (grid_gaussian("9", 2), 3, 1e-9),
    (grid_gaussian("314/3"), 100, 1e-6),
    (bit("1"), 1, 1e-2),
    (bit("2"), 4, 1e-3),
    (bit("1/10"), 100, 1e-6),
    (bit("3/100"), 1000, 1e-9),
    (PureRelease(epsilon=Fraction(1, 5)), 30, 1e-6),
    (promise("1", "1e-5"), 1, 1e-3),
    (promise("1/10", "1e-8"), 50, 1e-5),
    (promise("1/2", "1e-11"), 10, 1e-9),
    (sampled("1/100", gaussian("1")), 1000, 1e-6),
    (sampled("1/10", gaussian("2")), 100, 1e-5),
    (sampled("1/20", laplace("1")), 100, 1e-6),
    (sampled("1/4", grid_laplace("5", 2)), 20, 1e-5),
    (sampled("1/5", grid_gaussian("4")), 50, 1e-6),
]

MIXED: list[tuple[list[tuple[Event, int]], float]] = [
    ([(laplace("10"), 20), (gaussian("10"), 20), (bit("1/10"), 20)], 1e-6),
    ([(grid_laplace("7", 2), 10), (grid_gaussian("25", 2), 10)], 1e-9),
    ([(promise("1/4", "1e-7"), 5), (gaussian("3"), 2), (laplace("4"), 3)], 1e-5),
    ([(sampled("1/50", gaussian("1")), 200), (gaussian("5"), 4), (grid_laplace("6"), 3)], 1e-7),
]

CASES = [
    *(Case(f"{count} {type(event).__name__}", [(event, count)], delta) for event, count, delta in ALONE),
    *(Case("mixed", events, delta) for events, delta in MIXED),
]


def interval(case: Case) -> float:
    """Return an interval so fine that rounding down, by up to one interval per use, changes ε only slightly."""
    count = sum(times for _, times in case.events)
    epsilon = compose(case.events).epsilon(delta=case.delta, width=0.01).upper
    return float(f"{min(max(SHARE * epsilon / count, FINEST), COARSEST):.1g}")


def ask(worker: Contestant, case: Case) -> dict[str, object]:
    """Return a case with the lower and the upper bound of dp-accounting."""
    step = interval(case)
    ends = cast("Answer", worker.ask("epsilon", **case.request(), cap=CAP, manner={"interval": step, "both": True}))
    print(f"{case.name}, δ = {case.delta:g}: {ends['lower']:.6f} – {ends['upper']:.6f} on {step:g}", flush=True)
    return case.request() | {"interval": step, "optimistic": ends["lower"], "pessimistic": ends["upper"]}


def main() -> None:
    """Compute every case, and write the file with one case per line."""
    with ExitStack() as stack:
        worker = start(DP_ACCOUNTING, "google_accounting", stack)
        version = worker.ask("about")["versions"]["dp-accounting"]
        lines = ",\n".join(json.dumps(ask(worker, case)) for case in CASES)
    GOLDEN.write_text(f'{{"dp-accounting": "{version}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
