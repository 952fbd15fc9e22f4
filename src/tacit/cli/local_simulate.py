"""`tacit local simulate`: compare the errors of protocols over a made-up population with theory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import sqrt

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.cli import output_files
from tacit.cli.local_protocols import ProtocolOptions, read_words
from tacit.cli.local_reports import check_method, make_consistent
from tacit.cli.output import Advance, counting, put_json, say
from tacit.cli.output_tables import make_table, put_table
from tacit.errors import InvalidError, bad_value
from tacit.local import Estimate, Protocol, Simulation
from tacit.local.parameters import ORACLES
from tacit.local.simulate import plot_simulations, read_seed, run_simulation
from tacit.mechanisms.validation import count_of

SHARES: dict[str, Callable[[Floats], Floats]] = {
    "zipf": lambda rank: 1 / rank,
    "geometric": lambda rank: np.exp2(-np.minimum(rank, 1000.0)),
    "uniform": np.ones_like,
}
_CONFIDENCE = 0.95
_MOST_PEOPLE = 10**8
_LEAST_SHOWN, _MOST_MARKS = 5, 60
_SIZE = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateOptions:
    """A made-up population and the protocols by which it reports."""

    numbers: ProtocolOptions
    domain_size: int | None
    words: str | None
    people: int
    population: str
    protocols: tuple[str, ...]
    runs: int
    seed: int | None
    consistent: str | None

    def names(self) -> tuple[str, ...]:
        """Return the protocols: those that are named, the one that a constant implies, or all that take a domain."""
        if self.protocols:
            return self.protocols
        return tuple(ORACLES) if self.numbers.implied is None else (self.numbers.implied,)

    def values(self) -> object:
        """Return the words of the domain, or its size: 128, or 2 if Warner's is the only protocol."""
        if self.words is not None:
            if self.domain_size is not None:
                hint = "Give one of --words and --domain-size."
                raise InvalidError("The domain is given twice.", argument="--words", hint=hint)
            return read_words(self.words)
        if self.domain_size is not None:
            return self.domain_size
        return 2 if {name.lower() for name in self.names()} == {"warner"} else _SIZE

    def truth(self, d: int) -> Ints:
        """Return how many people have each value: whole numbers in the proportion of the shares, largest first."""
        if self.population not in SHARES:
            raise bad_value("--population", self.population, f"one of {', '.join(SHARES)}")
        share = SHARES[self.population](np.arange(1.0, d + 1))
        cumulative = np.floor(np.cumsum(share) / share.sum() * self.people + 0.5).astype(np.int64)
        return np.asarray(np.diff(cumulative, prepend=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRow:
    """The result of one protocol. Errors are root mean squares over all values and runs, of counts."""

    protocol: str
    report_bytes: int
    predicted: float
    found: float
    covered: float
    consistent: float | None


def simulate(options: SimulateOptions, *, chart: str | None, force: bool, json: bool) -> None:
    """Simulate everybody's reports, and print the errors of the estimates."""
    output_files.check_chart(chart)
    output_files.check({"chart": chart}, (), force=force)
    if count_of(options.people, "people") > _MOST_PEOPLE:
        raise bad_value("--people", options.people, f"at most {_MOST_PEOPLE:,}")
    count_of(options.runs, "runs")
    check_method(options.consistent)
    read_seed(options.seed)
    values = options.values()
    protocols = options.numbers.make_all(options.names(), values)
    truth = options.truth(protocols[0].domain_size)
    with counting("Reporting", len(protocols) * options.runs) as advance:
        results = [_simulate(protocol, truth, options, advance) for protocol in protocols]
    rows = [row for row, _ in results]
    if json:
        put_json(_simulation_json(options, protocols[0], rows))
    else:
        _print_simulation(options, protocols[0], rows)
    if chart is not None:
        simulations = [simulation for _, simulation in results]
        top = min(truth.size, max(_LEAST_SHOWN, _MOST_MARKS // len(simulations)))
        title = f"{_population(options, protocols[0])} · {options.numbers}"
        say(output_files.save_chart(lambda: plot_simulations(simulations, top=top, title=title), chart))


def _simulate(
    protocol: Protocol, truth: Ints, options: SimulateOptions, advance: Advance
) -> tuple[SimulationRow, Simulation]:
    squares: list[float] = []

    def measure(estimate: Estimate) -> None:
        squares.append(float(np.mean((make_consistent(estimate, options.consistent).counts - truth) ** 2)))

    simulation = run_simulation(
        protocol,
        truth,
        read_seed(options.seed),
        runs=options.runs,
        confidence=_CONFIDENCE,
        seed=options.seed,
        advance=advance,
        measure=measure,
    )
    row = SimulationRow(
        protocol=type(protocol).__name__,
        report_bytes=protocol.report_bytes,
        predicted=simulation.predicted,
        found=simulation.found,
        covered=simulation.covered,
        consistent=None if options.consistent is None else sqrt(np.mean(squares)),
    )
    return row, simulation


def _population(options: SimulateOptions, protocol: Protocol) -> str:
    return f"{options.people:,} made-up people, {options.population} over {protocol.domain_size:,} values"


def _simulation_json(options: SimulateOptions, protocol: Protocol, rows: list[SimulationRow]) -> dict[str, object]:
    return {
        "epsilon": options.numbers.epsilon,
        "p": options.numbers.p,
        "q": options.numbers.q,
        "buckets": options.numbers.buckets,
        "size": options.numbers.size,
        "domain_size": protocol.domain_size,
        "people": options.people,
        "population": options.population,
        "runs": options.runs,
        "seed": options.seed,
        "consistency": options.consistent,
        "confidence": _CONFIDENCE,
        "rows": [asdict(row) for row in rows],
    }


def _print_simulation(options: SimulateOptions, protocol: Protocol, rows: list[SimulationRow]) -> None:
    after = [] if options.consistent is None else [f"after {options.consistent}"]
    cells = [
        [
            row.protocol,
            f"{row.report_bytes:,}",
            f"{row.predicted:,.1f}",
            f"{row.found:,.1f}",
            *([] if row.consistent is None else [f"{row.consistent:,.1f}"]),
            f"{100 * row.covered:.1f} %",
        ]
        for row in rows
    ]
    headings = ["protocol", "bytes", "error by theory", "found", *after, "95 % intervals hold"]
    times = f"{options.runs} time{'s' * (options.runs > 1)}"
    people = _population(options, protocol)
    say(f"{people}, {options.numbers}, {times}. Errors are root mean squared errors of counts.")
    put_table(make_table(headings, cells))
