"""`tacit local choose` and `tacit local simulate`: compare protocols by theory and by simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.cli import local_files, output_files
from tacit.cli.local_reports import check_method, make_consistent
from tacit.cli.output import Advance, counting, put_json, say
from tacit.cli.output_tables import make_table, put_table
from tacit.errors import InvalidError, UnusedOptionError, bad_value
from tacit.local import Choice, Estimate, Protocol, Warner, plot_errors
from tacit.local import choose as choose_protocol
from tacit.local.domain import Domain
from tacit.local.parameters import ORACLES
from tacit.mechanisms.validation import count_of

if TYPE_CHECKING:
    import altair as alt

SHARES: dict[str, Callable[[Floats], Floats]] = {
    "zipf": lambda rank: 1 / rank,
    "geometric": lambda rank: np.exp2(-np.minimum(rank, 1000.0)),
    "uniform": np.ones_like,
}
_EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)
_SIZES = tuple(2**k for k in range(2, 17, 2))
_CONFIDENCE = 0.95
_MOST_PEOPLE = 10**8
_LEAST_SHOWN, _MOST_MARKS = 5, 60
_CHUNK, _CHUNK_BYTES = 1 << 16, 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseOptions:
    """The domain, the people and the requirements for which a protocol is chosen."""

    epsilon: float
    domain: str | None
    domain_size: int | None
    people: int
    max_report_bytes: int | None
    protocol: str | None

    def values(self) -> object:
        """Return the values of the domain from its file, or its size."""
        if (self.domain is None) == (self.domain_size is None):
            problem = "No domain is given." if self.domain is None else "The domain is given twice."
            raise InvalidError(problem, argument="--domain", hint="Give one of --domain and --domain-size.")
        return self.domain_size if self.domain is None else local_files.read_domain(self.domain)


def choose(
    options: ChooseOptions, *, save: str | None, against: str | None, chart: str | None, force: bool, json: bool
) -> None:
    """Print every protocol's error and the choice; write its parameters and a chart on request."""
    output_files.check_chart(chart)
    output_files.check({"save": save, "chart": chart}, (options.domain,), force=force)
    if against not in (None, "epsilon", "d"):
        raise bad_value("--against", against, "epsilon or d")
    if against is not None and chart is None:
        raise UnusedOptionError("--against", "without --chart", hint="Remove it, or add --chart.")
    values = options.values()
    d = Domain(values).size
    choice = choose_protocol(
        domain_size=d, epsilon=options.epsilon, n=options.people, max_report_bytes=options.max_report_bytes
    )
    protocol = _chosen_protocol(options, values, choice)
    if save is not None:
        output_files.write_text(save, protocol.parameters())
    if json:
        put_json(_choice_json(choice, protocol, options, save))
    else:
        _print_choice(choice, protocol, options, save)
    if chart is not None:
        say(output_files.save_chart(lambda: _errors_chart(against or "epsilon", d, options.epsilon), chart))


def _make_protocol(name: str, values: object, epsilon: float) -> Protocol:
    """Return the protocol of this name, in upper or lower case, for a domain."""
    for known, kind in ORACLES.items():
        if known.lower() == name.lower():
            return kind(domain=values, epsilon=epsilon)
    raise bad_value("--protocol", name, f"one of {', '.join(ORACLES)}")


def _errors_chart(against: str, d: int, epsilon: float) -> alt.LayerChart:
    """Draw the variance of every protocol against ε at one d, or against d at one ε."""
    if against == "epsilon":
        return plot_errors(epsilons=sorted({*_EPSILONS, epsilon}), domain_size=d)
    return plot_errors(domain_sizes=sorted({*_SIZES, d}), epsilon=epsilon)


def _chosen_protocol(options: ChooseOptions, values: object, choice: Choice) -> Protocol:
    name = options.protocol or choice.protocol
    protocol = _warner(options, values) if name.lower() == "warner" else _make_protocol(name, values, options.epsilon)
    limit = options.max_report_bytes
    if limit is not None and protocol.report_bytes > limit:
        raise InvalidError(
            f"Reports of {type(protocol).__name__} have {protocol.report_bytes:,} bytes, but --max-report-bytes is "
            f"{limit:,}.",
            argument="--protocol",
            hint="Name a protocol with smaller reports, or leave out --protocol.",
        )
    return protocol


def _warner(options: ChooseOptions, values: object) -> Protocol:
    if values not in (2, [False, True]):
        raise InvalidError(
            "Warner's protocol asks yes or no, so it does not fit this domain.",
            argument="--protocol",
            hint="Name another protocol.",
        )
    return Warner(epsilon=options.epsilon)


def _choice_json(choice: Choice, protocol: Protocol, options: ChooseOptions, save: str | None) -> dict[str, object]:
    rows = [
        {"protocol": row.protocol, "std": row.std, "report_bytes": row.report_bytes, "server": row.server}
        for row in choice.table
    ]
    return {
        "protocol": type(protocol).__name__,
        "best": choice.protocol,
        "why": choice.why,
        "epsilon": options.epsilon,
        "domain_size": protocol.domain_size,
        "people": options.people,
        "table": rows,
        "digest": protocol.digest,
        "parameters": save,
    }


def _print_choice(choice: Choice, protocol: Protocol, options: ChooseOptions, save: str | None) -> None:
    rows = [
        [
            row.protocol,
            f"{row.std:,.0f}",
            f"{100 * row.std / options.people:.3g} %",
            f"{row.report_bytes:,}",
            row.server,
        ]
        for row in choice.table
    ]
    reports = f"{options.people:,} reports of ε = {options.epsilon:g}"
    say(f"Errors for a value that nobody has, with {reports} over {protocol.domain_size:,} values:")
    put_table(make_table(["protocol", "standard error", "of all", "bytes a report", "the server"], rows))
    say(choice.why)
    if save is not None:
        name = type(protocol).__name__
        say(f"Wrote the public parameters of {name} to {save}. Next: tacit local randomize {save} FILE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """A made-up population and the protocols by which it reports."""

    epsilon: float
    domain_size: int
    people: int
    population: str
    protocols: tuple[str, ...]
    runs: int
    consistent: str | None

    def truth(self) -> Ints:
        """Return how many people have each value: whole numbers in the proportion of the shares, largest first."""
        if self.population not in SHARES:
            raise bad_value("--population", self.population, f"one of {', '.join(SHARES)}")
        share = SHARES[self.population](np.arange(1.0, self.domain_size + 1))
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


def simulate(simulation: Simulation, *, chart: str | None, force: bool, json: bool) -> None:
    """Simulate everybody's reports, and print the errors of the estimates."""
    output_files.check_chart(chart)
    output_files.check({"chart": chart}, (), force=force)
    if count_of(simulation.people, "people") > _MOST_PEOPLE:
        raise bad_value("--people", simulation.people, f"at most {_MOST_PEOPLE:,}")
    count_of(simulation.runs, "runs")
    check_method(simulation.consistent)
    names = simulation.protocols or ORACLES
    protocols = [_make_protocol(name, simulation.domain_size, simulation.epsilon) for name in names]
    truth = simulation.truth()
    with counting("Reporting", len(protocols) * simulation.runs) as advance:
        results = [_simulate(protocol, truth, simulation, advance) for protocol in protocols]
    rows = [row for row, _ in results]
    if json:
        about = {key: value for key, value in asdict(simulation).items() if key not in ("protocols", "consistent")}
        method = {"consistency": simulation.consistent, "confidence": _CONFIDENCE}
        put_json({**about, **method, "rows": [asdict(row) for row in rows]})
    else:
        _print_simulation(simulation, rows)
    if chart is not None:
        estimates = {row.protocol: estimate for row, estimate in results}
        say(output_files.save_chart(lambda: _simulation_chart(simulation, truth, estimates), chart))


def _simulation_chart(simulation: Simulation, truth: Ints, estimates: Mapping[str, Estimate]) -> alt.LayerChart:
    """Draw the last run: the estimates of the most frequent values by each protocol, and their true counts."""
    from tacit import plots  # noqa: PLC0415 - only for charts

    shown = np.arange(min(truth.size, max(_LEAST_SHOWN, _MOST_MARKS // len(estimates))))
    columns = []
    for name, estimate in estimates.items():
        low, high = (end[shown] for end in estimate.interval(confidence=_CONFIDENCE))
        columns.append(plots.NoisyColumn(name=name, values=estimate.counts[shown], low=low, high=high))
    people = f"{simulation.people:,} made-up people, {simulation.population} over {simulation.domain_size:,} values"
    more = f" The {shown.size} most frequent of {truth.size:,} values." if shown.size < truth.size else ""
    return plots.simulated(
        [str(value) for value in shown.tolist()],
        truth[shown],
        columns,
        title=f"{people} · ε = {simulation.epsilon:g}",
        subtitle=f"Black strokes are the true counts. Whiskers are {_CONFIDENCE:.0%} intervals of one run.{more}",
    )


def _simulate(
    protocol: Protocol, truth: Ints, simulation: Simulation, advance: Advance
) -> tuple[SimulationRow, Estimate]:
    people = np.repeat(np.arange(truth.size), truth)
    squares, covered, consistent_squares = [], [], []
    for _ in range(simulation.runs):
        estimate = _estimate(protocol, people)
        squares.append(np.mean((estimate.counts - truth) ** 2))
        low, high = estimate.interval(confidence=_CONFIDENCE)
        covered.append(np.mean((low <= truth) & (truth <= high)))
        consistent = make_consistent(estimate, simulation.consistent)
        consistent_squares.append(np.mean((consistent.counts - truth) ** 2))
        advance(1)
    counts, times = np.unique(truth, return_counts=True)
    theory = [protocol.variance(n=simulation.people, frequency=count / simulation.people) for count in counts.tolist()]
    row = SimulationRow(
        protocol=type(protocol).__name__,
        report_bytes=protocol.report_bytes,
        predicted=sqrt(np.average(theory, weights=times)),
        found=sqrt(np.mean(squares)),
        covered=float(np.mean(covered)),
        consistent=None if simulation.consistent is None else sqrt(np.mean(consistent_squares)),
    )
    return row, estimate


def _estimate(protocol: Protocol, people: Ints) -> Estimate:
    """Draw and count everybody's reports, in chunks, so that memory does not grow with the number of reports."""
    total, size = protocol.aggregator(), max(1, min(_CHUNK, _CHUNK_BYTES // protocol.report_bytes))
    for start in range(0, people.size, size):
        total.add(protocol.randomize(people[start : start + size]))
    return total.estimate()


def _print_simulation(simulation: Simulation, rows: list[SimulationRow]) -> None:
    after = [] if simulation.consistent is None else [f"after {simulation.consistent}"]
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
    people = f"{simulation.people:,} made-up people, {simulation.population} over {simulation.domain_size:,} values"
    times = f"{simulation.runs} time{'s' * (simulation.runs > 1)}"
    say(f"{people}, ε = {simulation.epsilon:g}, {times}. Errors are root mean squared errors of counts.")
    put_table(make_table(headings, cells))
