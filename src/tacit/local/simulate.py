"""Simulate a survey: a population of known values reports, and the estimates are compared with the truth.

A simulation is for study. It returns estimates and the truth, and never a report: with a seed, whoever knows the seed
knows the randomness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import whole
from tacit.local.base import Protocol
from tacit.local.domain import Domain
from tacit.local.estimate import Estimate
from tacit.mechanisms.seeded import generator
from tacit.mechanisms.validation import count_of, failure
from tacit.noise.bits import SYSTEM, BitSource
from tacit.notebook import ShownAsLines

if TYPE_CHECKING:
    import altair as alt

    from tacit import plots

_CHUNK, _CHUNK_BYTES = 1 << 16, 1 << 26
_MOST_PEOPLE = 10**8
_SHOWN = 30
_POPULATION = "the people's values, or a mapping from each value to its number of people"

Advance = Callable[[int], object]


class SeededBits:
    """Reproducible bytes of NumPy's generator, for simulations only."""

    def __init__(self, seed: object) -> None:
        """Start the generator."""
        self._generator = generator(seed)

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        return self._generator.bytes(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation(ShownAsLines):
    """The result of a simulated survey. Errors are root mean squares of counts, over all values and runs.

    Attributes:
        protocol: the protocol by which everybody reported.
        truth: the number of people with each value, in the order of the domain.
        estimate: the estimate of the last run.
        predicted: the error by theory.
        found: the error of the estimates.
        covered: the share of intervals that contain the true count.
        confidence: of these intervals.
        runs: the number of times that everybody reported.
        seed: of the random numbers; None for those of the operating system.
    """

    protocol: Protocol
    truth: Ints
    estimate: Estimate
    predicted: float
    found: float
    covered: float
    confidence: float
    runs: int
    seed: int | None

    def __str__(self) -> str:
        """Return the errors and the last estimate in lines."""
        times = "once" if self.runs == 1 else f"{self.runs:,} times"
        return (
            f"{int(self.truth.sum()):,} people, {self.protocol!r}, simulated {times}.\n"
            f"Root mean squared error of a count: {self.found:,.1f}; by theory {self.predicted:,.1f}.\n"
            f"{100 * self.covered:.1f} % of the {100 * self.confidence:g} % intervals contain the true count."
        )

    def __repr__(self) -> str:
        """Return the protocol and the errors."""
        return f"<Simulation of {self.protocol!r}: error {self.found:,.1f}, by theory {self.predicted:,.1f}>"

    def plot(self, *, top: int = _SHOWN) -> alt.LayerChart:
        """Draw the true counts, the estimates of the last run and their intervals, for the most frequent values.

        Args:
            top: how many values.
        """
        return plot_simulations([self], top=top)


def simulate(
    protocol: Protocol, population: object, *, seed: int | None = None, runs: int = 1, confidence: float = 0.95
) -> Simulation:
    """Simulate a survey of a population whose values are known, and compare the estimates with the truth.

    >>> import tacit as tc
    >>> survey = tc.local.Warner(p=0.75, words=("yes", "no"))
    >>> s = tc.local.simulate(survey, {"yes": 3000, "no": 7000}, seed=1)
    >>> s.truth.tolist(), s.estimate.n, round(s.predicted)
    ([3000, 7000], 10000, 87)

    Args:
        protocol: the protocol by which everybody reports.
        population: the people's values, as `randomize` takes them; or a mapping from a value to its number of people.
        seed: makes the result reproducible; without it the operating system's randomness is used.
        runs: how many times everybody reports.
        confidence: of the intervals.
    """
    if not isinstance(protocol, Protocol):
        raise bad_value("protocol", protocol, "a protocol, such as tc.local.OLH(domain=…, epsilon=…)")
    times, risk = count_of(runs, "runs"), float(failure(confidence))
    truth, bits = read_population(protocol, population), read_seed(seed)
    return run_simulation(protocol, truth, bits, runs=times, confidence=1 - risk, seed=seed)


def run_simulation(
    protocol: Protocol,
    truth: Ints,
    bits: BitSource,
    *,
    runs: int,
    confidence: float,
    seed: int | None,
    advance: Advance = lambda _: None,
    measure: Callable[[Estimate], object] = lambda _: None,
) -> Simulation:
    """Simulate reports of a checked population; call `advance` and `measure` after each run."""
    people = np.repeat(np.arange(truth.size), truth)
    squares, covered = [], []
    for _ in range(runs):
        estimate = _estimate(protocol, people, bits)
        low, high = estimate.interval(confidence=confidence)
        squares.append(np.mean((estimate.counts - truth) ** 2))
        covered.append(np.mean((low <= truth) & (truth <= high)))
        measure(estimate)
        advance(1)
    return Simulation(
        protocol=protocol,
        truth=truth,
        estimate=estimate,
        predicted=_predicted(protocol, truth),
        found=sqrt(np.mean(squares)),
        covered=float(np.mean(covered)),
        confidence=confidence,
        runs=runs,
        seed=seed,
    )


def read_population(protocol: Protocol, population: object) -> Ints:
    """Return the number of people with each value of the domain."""
    domain = Domain(protocol.domain)
    if isinstance(population, Mapping):
        counts = [whole(count) for count in population.values()]
        if any(count is None or count < 0 for count in counts):
            raise InvalidError("population has a count that is not a whole number ≥ 0.", argument="population")
        truth = np.zeros(domain.size, dtype=np.int64)
        sizes = [min(count or 0, _MOST_PEOPLE + 1) for count in counts]
        np.add.at(truth, domain.positions(list(population.keys())), sizes)
    else:
        truth = np.bincount(domain.positions(population), minlength=domain.size).astype(np.int64)
    if not 0 < int(truth.sum()) <= _MOST_PEOPLE:
        message = f"population has {'nobody' if not truth.any() else f'more than {_MOST_PEOPLE:,} people'}."
        raise InvalidError(message, argument="population", hint=f"Pass {_POPULATION}.")
    return truth


def read_seed(seed: object) -> BitSource:
    """Return seeded bits, or those of the operating system for None."""
    return SYSTEM if seed is None else SeededBits(seed)


def _estimate(protocol: Protocol, people: Ints, bits: BitSource) -> Estimate:
    """Draw and count everybody's reports, in chunks, so that memory does not grow with the number of reports."""
    total, size = protocol.aggregator(), max(1, min(_CHUNK, _CHUNK_BYTES // protocol.report_bytes))
    for start in range(0, people.size, size):
        total.add(protocol._randomize(people[start : start + size], bits))  # noqa: SLF001 - with simulated bits
    return total.estimate()


def _predicted(protocol: Protocol, truth: Ints) -> float:
    """Return the root of the mean variance over all values."""
    n = int(truth.sum())
    counts, times = np.unique(truth, return_counts=True)
    theory = [protocol.variance(n=n, frequency=min(1.0, count / n)) for count in counts.tolist()]
    return sqrt(np.average(theory, weights=times))


def plot_simulations(simulations: list[Simulation], *, top: int = _SHOWN, title: str | None = None) -> alt.LayerChart:
    """Draw the last runs of several protocols over one population."""
    from tacit import plots  # noqa: PLC0415 - only for charts

    first = simulations[0]
    truth = first.truth
    shown = np.argsort(-truth, kind="stable")[: count_of(top, "top")]
    columns = [_column(simulation, shown) for simulation in simulations]
    labels = [str(first.protocol.domain[position]) for position in shown.tolist()]
    more = f" The {shown.size} most frequent of {truth.size:,} values." if shown.size < truth.size else ""
    ends = f"Whiskers are {100 * first.confidence:g} % intervals of one run."
    return plots.simulated(
        labels,
        truth[shown],
        columns,
        title=title or f"{int(truth.sum()):,} simulated people · ε = {first.protocol.epsilon:g}",
        subtitle=f"Upright strokes are the true counts. {ends}{more}",
    )


def _column(simulation: Simulation, shown: Ints) -> plots.NoisyColumn:
    from tacit import plots  # noqa: PLC0415 - only for charts

    ends = simulation.estimate.interval(confidence=simulation.confidence)
    low, high = (end[shown] for end in ends)
    counts: Floats = simulation.estimate.counts[shown]
    return plots.NoisyColumn(name=type(simulation.protocol).__name__, values=counts, low=low, high=high)
