"""`tacit local simulate`: a made-up population reports by every protocol, and the estimates are held against it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import sqrt

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.cli import charts, outputs
from tacit.cli.local_choose import errors_chart, make
from tacit.cli.local_runs import consistent, require_step
from tacit.cli.show import SCHEMA, counting, paper, say, table
from tacit.errors import InvalidError, show
from tacit.local import Estimate, Protocol
from tacit.local.parameters import ORACLES
from tacit.mechanisms.validation import count_of
from tacit.safe_text import as_json

SHARES: dict[str, Callable[[Floats], Floats]] = {
    "zipf": lambda rank: 1 / rank,
    "geometric": lambda rank: np.exp2(-np.minimum(rank, 1000.0)),
    "uniform": np.ones_like,
}
_CONFIDENCE = 0.95
_MOST_PEOPLE = 10**8
_PART, _PART_BYTES = 1 << 16, 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeUp:
    """Who reports, by which protocols."""

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
            raise InvalidError("population", show(self.population), f"one of {', '.join(SHARES)}")
        share = SHARES[self.population](np.arange(1.0, self.domain_size + 1))
        upto = np.floor(np.cumsum(share) / share.sum() * self.people + 0.5).astype(np.int64)
        return np.asarray(np.diff(upto, prepend=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one protocol gave: errors are of counts, the root of their mean square over all values and runs."""

    protocol: str
    report_bytes: int
    predicted: float
    found: float
    covered: float
    consistent: float | None


def run(made_up: MadeUp, *, chart: str | None, force: bool, json: bool) -> None:
    """Have everybody report, and print how far off the estimates are."""
    charts.check(chart)
    outputs.check({"chart": chart}, (), force=force)
    if count_of(made_up.people, "people") > _MOST_PEOPLE:
        raise InvalidError("people", show(made_up.people), f"at most {_MOST_PEOPLE:,}")
    count_of(made_up.runs, "runs")
    require_step(made_up.consistent)
    oracles = [make(name, made_up.domain_size, made_up.epsilon) for name in made_up.protocols or ORACLES]
    truth = made_up.truth()
    with counting("Reporting", len(oracles) * made_up.runs) as step:
        results = [_simulate(oracle, truth, made_up, step) for oracle in oracles]
    rows = [row for row, _ in results]
    if json:
        told = {key: value for key, value in asdict(made_up).items() if key not in ("protocols", "consistent")}
        step_ = {"consistency": made_up.consistent, "confidence": _CONFIDENCE}
        print(as_json({"schema": SCHEMA, **told, **step_, "rows": [asdict(row) for row in rows]}), flush=True)
    else:
        _show(made_up, rows)
    if chart is not None:
        one = results[0][1] if len(results) == 1 else None
        say(charts.save(lambda: one.plot() if one else errors_chart("epsilon", truth.size, made_up.epsilon), chart))


def _simulate(oracle: Protocol, truth: Ints, made_up: MadeUp, step: Callable[[int], None]) -> tuple[Row, Estimate]:
    people = np.repeat(np.arange(truth.size), truth)
    squares, covered, made = [], [], []
    for _ in range(made_up.runs):
        estimate = _estimate(oracle, people)
        squares.append(np.mean((estimate.counts - truth) ** 2))
        low, high = estimate.interval(confidence=_CONFIDENCE)
        covered.append(np.mean((low <= truth) & (truth <= high)))
        made.append(np.mean((consistent(estimate, made_up.consistent).counts - truth) ** 2))
        step(1)
    counts, times = np.unique(truth, return_counts=True)
    theory = [oracle.variance(n=made_up.people, frequency=count / made_up.people) for count in counts.tolist()]
    row = Row(
        protocol=type(oracle).__name__,
        report_bytes=oracle.report_bytes,
        predicted=sqrt(np.average(theory, weights=times)),
        found=sqrt(np.mean(squares)),
        covered=float(np.mean(covered)),
        consistent=None if made_up.consistent is None else sqrt(np.mean(made)),
    )
    return row, estimate


def _estimate(oracle: Protocol, people: Ints) -> Estimate:
    """Have everybody report and be counted, in parts, so that memory does not grow with reports."""
    total, part = oracle.aggregator(), max(1, min(_PART, _PART_BYTES // oracle.report_bytes))
    for start in range(0, people.size, part):
        total.add(oracle.randomize(people[start : start + part]))
    return total.estimate()


def _show(made_up: MadeUp, rows: list[Row]) -> None:
    after = [] if made_up.consistent is None else [f"after {made_up.consistent}"]
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
    who = f"{made_up.people:,} made-up people, {made_up.population} over {made_up.domain_size:,} values"
    times = f"{made_up.runs} time{'s' * (made_up.runs > 1)}"
    say(f"{who}, ε = {made_up.epsilon:g}, {times}. Errors are of counts, the root of their mean square.")
    paper().print(table(headings, cells))
    sys.stdout.flush()
