"""`tacit local randomize` and `tacit local aggregate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from tacit.cli import charts, local_files, locks, outputs
from tacit.cli.local_reading import Reading, Step
from tacit.cli.show import SCHEMA, counting, paper, say, table
from tacit.errors import InvalidError, show
from tacit.local import Aggregator, Estimate, Protocol, Reports
from tacit.local.consistency import METHODS, Method
from tacit.query.formatting import percent
from tacit.query.results.intervals import read_confidence
from tacit.safe_text import as_json

_CHUNK = 1 << 16


def randomize(parameters: str, values: str, *, out: str | None, force: bool, json: bool) -> None:
    """Draw a report for each line and write them; nothing is drawn unless every line is a value of the domain."""
    out = None if out == "-" else out
    if out is not None:
        outputs.check({"out": out}, (parameters, values), force=force)
        local_files.require_parquet(out)
    oracle = local_files.parameters(parameters)
    people = local_files.values(values, oracle)
    if not people:
        raise InvalidError("values", "no line", "at least one line with a value of the domain")
    with counting("Randomising", len(people)) as step:
        drawn = _drawn(oracle, people, step)
        if out is None:
            for some in drawn:
                sys.stdout.write(some.to_json_lines())
            sys.stdout.flush()
            return
        local_files.write(drawn, out)
    name = type(oracle).__name__
    if json:
        told = {"schema": SCHEMA, "protocol": name, "epsilon": oracle.epsilon, "reports": len(people), "out": out}
        print(as_json({**told, "digest": oracle.digest}))
    else:
        say(f"{len(people):,} {name} reports are in {out}; each cost its person ε = {oracle.epsilon:g}.")


def _drawn(oracle: Protocol, people: Sequence[object], step: Step) -> Iterator[Reports]:
    for start in range(0, len(people), _CHUNK):
        some = people[start : start + _CHUNK]
        yield oracle.randomize(some)
        step(len(some))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How estimates are shown."""

    confidence: float
    simultaneous: bool
    consistent: str | None
    top: int

    def __post_init__(self) -> None:
        """Refuse what cannot be shown before anything is read or saved."""
        read_confidence(self.confidence)
        if self.top < 1:
            raise InvalidError("top", str(self.top), "a whole number ≥ 1")


def consistent(estimate: Estimate, method: str | None) -> Estimate:
    """Take a consistency step by its name, if there is one."""
    require_step(method)
    return estimate if method is None else estimate.consistent(cast("Method", method))


def require_step(method: str | None) -> None:
    """Raise unless a consistency step has this name."""
    if method is not None and method not in METHODS:
        raise InvalidError("consistent", show(method), f"one of {', '.join(METHODS)}")


def aggregate(
    parameters: str,
    reports: Sequence[str],
    *,
    tally: str | None,
    shown: Shown,
    chart: str | None,
    force: bool,
    json: bool,
) -> None:
    """Add all files to the tally, save it if some reports count, and print what it says."""
    charts.check(chart)
    outputs.check({"tally": tally, "chart": chart}, (parameters, *reports), force=force, goes_on=["tally"])
    oracle = local_files.parameters(parameters)
    require_step(shown.consistent)
    outputs.require_different(reports)
    if not reports and tally is None:
        raise InvalidError("reports", "none", "files of reports, or - for JSON lines on standard input, or --tally")
    total = _added(oracle, reports, tally, quiet=json and not sys.stderr.isatty())
    unbiased = total.estimate()
    estimate = consistent(unbiased, shown.consistent)
    is_cut = not json and estimate.counts.size > shown.top  # a choice of the largest needs intervals for all at once
    shown = replace(shown, simultaneous=shown.simultaneous or is_cut)
    rows = list(_rows(estimate, unbiased, shown))
    if json:
        print(as_json(_estimate_json(total, shown, estimate, rows)), flush=True)
    else:
        _show_estimate(total, shown, estimate, rows)
    if chart is not None:
        say(charts.save(lambda: estimate.plot(top=shown.top, confidence=shown.confidence), chart))


def _added(oracle: Protocol, reports: Sequence[str], tally: str | None, *, quiet: bool) -> Aggregator:
    """Return the tally with all files added; saved, if some reports count, while no other run is at it."""
    if tally is None or not reports:
        return _read(local_files.tally(tally, oracle), reports)
    with locks.alone(tally, quiet=quiet):
        total = _read(local_files.tally(tally, oracle), reports)
        local_files.save(total, tally)
    return total


def _read(total: Aggregator, reports: Sequence[str]) -> Aggregator:
    with counting("Adding reports") as step:
        reading = Reading(total, step)
        for path in reports:
            reading.add(path)
    reading.require_some()
    return total


def _rows(estimate: Estimate, unbiased: Estimate, shown: Shown) -> Iterator[dict[str, object]]:
    low, high = unbiased.interval(confidence=shown.confidence, simultaneous=shown.simultaneous)
    std = unbiased.std
    for place in np.argsort(-estimate.counts, kind="stable"):
        yield {
            "value": estimate.domain[place],
            "count": float(estimate.counts[place]),
            "std": float(std[place]),
            "low": float(low[place]),
            "high": float(high[place]),
        }


def _estimate_json(
    total: Aggregator, shown: Shown, estimate: Estimate, rows: list[dict[str, object]]
) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "protocol": type(total.protocol).__name__,
        "epsilon": total.protocol.epsilon,
        "reports": total.n,
        "dropped": total.dropped,
        "confidence": shown.confidence,
        "simultaneous": shown.simultaneous,
        "consistent": shown.consistent,
        "biased": estimate.biased,
        "rows": rows,
    }


def _show_estimate(total: Aggregator, shown: Shown, estimate: Estimate, rows: list[dict[str, object]]) -> None:
    cells = [
        [str(row["value"]), f"{row['count']:,.0f}", f"{row['low']:,.0f} to {row['high']:,.0f}"]
        for row in rows[: shown.top]
    ]
    at_once = ", all at once" if shown.simultaneous else ""
    paper().print(table(["value", "people", f"{percent(shown.confidence)} interval{at_once}"], cells))
    sys.stdout.flush()
    rest = f" The other {len(rows) - len(cells):,} values are below; --json has all." if len(rows) > len(cells) else ""
    dropped = f", {total.dropped:,} dropped as malformed or made for other parameters" if total.dropped else ""
    name, epsilon = type(total.protocol).__name__, total.protocol.epsilon
    say(f"{total.n:,} {name} reports of ε = {epsilon:g}{dropped}. {estimate.note}{rest}")
