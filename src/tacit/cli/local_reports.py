"""`tacit local randomize` and `tacit local aggregate`: from values to reports, and from reports to estimates."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from tacit.arrays import Bytes
from tacit.cli import local_files, output_files
from tacit.cli.output import Advance, counting, put_json, say
from tacit.cli.output_tables import make_table, put_table
from tacit.errors import InvalidError, SourceError, bad_value
from tacit.local import Aggregator, Estimate, Protocol, Reports
from tacit.local.consistency import METHODS, Method
from tacit.local.report_tables import parquet
from tacit.local.reports import NAMES, read_line
from tacit.query.formatting import percent
from tacit.query.results.intervals import read_confidence

_CHUNK = 1 << 16
_BATCH_BYTES, _BATCH_MESSAGES = 1 << 22, 1 << 16


def randomize(parameters: str, values: str, *, out: str | None, force: bool, json: bool) -> None:
    """Draw a report for each line and write the reports. If any line is not a value of the domain, draw none."""
    out = None if out == "-" else out
    if out is not None:
        output_files.check({"out": out}, (parameters, values), force=force)
        local_files.check_parquet(out)
    protocol = local_files.read_parameters(parameters)
    people = local_files.read_values(values, protocol)
    if not people:
        raise InvalidError(
            "There is no line with a value.", argument="values", hint="Write one value of the domain on each line."
        )
    with counting("Randomising", len(people)) as advance:
        batches = _draw(protocol, people, advance)
        if out is None:
            for batch in batches:
                sys.stdout.write(batch.to_json_lines())
            sys.stdout.flush()
            return
        local_files.write_reports(batches, out)
    name = type(protocol).__name__
    if json:
        summary = {"protocol": name, "epsilon": protocol.epsilon, "reports": len(people), "out": out}
        put_json({**summary, "digest": protocol.digest})
    else:
        say(f"Wrote {len(people):,} {name} reports to {out}; each cost its person ε = {protocol.epsilon:g}.")


def _draw(protocol: Protocol, people: Sequence[object], advance: Advance) -> Iterator[Reports]:
    for start in range(0, len(people), _CHUNK):
        chunk = people[start : start + _CHUNK]
        yield protocol.randomize(chunk)
        advance(len(chunk))


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """The intervals, the consistency method and the number of rows of printed estimates."""

    confidence: float
    simultaneous: bool
    consistent: str | None
    top: int

    def __post_init__(self) -> None:
        """Check the numbers before any file is read or saved."""
        read_confidence(self.confidence)
        if self.top < 1:
            raise bad_value("--top", self.top, "a whole number ≥ 1")


def make_consistent(estimate: Estimate, method: str | None) -> Estimate:
    """Apply a consistency method by its name; None changes nothing."""
    check_method(method)
    return estimate if method is None else estimate.consistent(cast("Method", method))


def check_method(method: str | None) -> None:
    """Check the name of a consistency method."""
    if method is not None and method not in METHODS:
        raise bad_value("--consistent", method, f"one of {', '.join(METHODS)}")


def aggregate(
    parameters: str,
    reports: Sequence[str],
    *,
    tally: str | None,
    view: EstimateOptions,
    chart: str | None,
    force: bool,
    json: bool,
) -> None:
    """Add all files to the tally, save it if any report counts, and print its estimates."""
    output_files.check_chart(chart)
    files = {"tally": tally, "chart": chart}
    output_files.check(files, (parameters, *reports), force=force, extends=["tally"])
    protocol = local_files.read_parameters(parameters)
    check_method(view.consistent)
    output_files.check_different(reports)
    if not reports and tally is None:
        raise InvalidError(
            "There are no reports to count.",
            argument="reports",
            hint="Name files of reports, - for JSON lines on standard input, or a --tally.",
        )
    total = _add_reports(protocol, reports, tally, quiet=json and not sys.stderr.isatty())
    unbiased = total.estimate()
    estimate = make_consistent(unbiased, view.consistent)
    is_cut = not json and estimate.counts.size > view.top  # selecting the largest needs simultaneous intervals
    view = replace(view, simultaneous=view.simultaneous or is_cut)
    rows = list(_rows(estimate, unbiased, view))
    if json:
        put_json(_estimate_json(total, view, estimate, rows))
    else:
        _print_estimate(total, view, estimate, rows)
    if chart is not None:
        say(output_files.save_chart(lambda: estimate.plot(top=view.top, confidence=view.confidence), chart))


def _add_reports(protocol: Protocol, reports: Sequence[str], tally: str | None, *, quiet: bool) -> Aggregator:
    """Return the tally with all files added. With a tally file, save it under a lock against other runs."""
    if tally is None or not reports:
        return _read_reports(local_files.open_tally(tally, protocol), reports)
    with output_files.locked(tally, quiet=quiet):
        total = _read_reports(local_files.open_tally(tally, protocol), reports)
        local_files.save_tally(total, tally)
    return total


def _read_reports(total: Aggregator, reports: Sequence[str]) -> Aggregator:
    with counting("Adding reports") as advance:
        reader = ReportReader(total, advance)
        for path in reports:
            reader.add(path)
    reader.check_counted()
    return total


@dataclass(slots=True)
class _ForeignReports:
    """The number of well-formed reports for other parameters, and the parameters of the first."""

    reports: int = 0
    first: str = ""

    def add(self, reports: int, name: str, digest: bytes) -> None:
        """Count more reports."""
        self.reports += reports
        self.first = self.first or f"{name}{', ' if name else ''}digest {digest.hex()}"


class ReportReader:
    """Add files of reports to a tally. Reports that are malformed or for other parameters are counted and dropped."""

    def __init__(self, total: Aggregator, advance: Advance) -> None:
        """Start with the reports that the tally already has."""
        self.total, self.advance = total, advance
        self.foreign = _ForeignReports()
        self._n, self._dropped = total.n, total.dropped
        self._kind = total.protocol.code, bytes.fromhex(total.protocol.digest)
        self._width = total.protocol.report_bytes

    def add(self, path: str) -> None:
        """Add a file of reports, or a tally of another machine."""
        if path.lower().endswith(".npz"):
            self.total.merge(local_files.read_tally(path, self.total.protocol))
        elif path.lower().endswith(".parquet"):
            self._add_parquet(path)
        elif local_files.is_lines(path):
            with local_files.open_lines(path) as file:
                self.total.add_json_lines(self._inspected(file))
        else:
            for batch in self._batches(path):
                self.advance(self.total.add(batch))

    def check_counted(self) -> None:
        """Check that at least one report counts.

        Raises:
            InvalidError: no report counts; the error says how many there were and for which parameters.
        """
        dropped = self.total.dropped - self._dropped
        if self.total.n > self._n or (not dropped and self.total.n):
            return
        raise InvalidError(
            f"None of the reports counts: {self._describe_dropped(dropped)}. No tally was saved.",
            argument="reports",
            hint=f"Use reports for these parameters ({local_files.describe(self.total.protocol)}).",
        )

    def _describe_dropped(self, dropped: int) -> str:
        foreign, count = self.foreign.reports, f"{dropped:,} report{'s' * (dropped != 1)}"
        other = f"made for other parameters (the first: {self.foreign.first})"
        if not dropped:
            return "the files hold no report"
        if not foreign:
            return f"{count}, all malformed"
        if foreign == dropped:
            return f"{count}, all {other}"
        return f"{count}, {foreign:,} {other} and {dropped - foreign:,} malformed"

    def _add_parquet(self, path: str) -> None:
        accepted = self.total.add_parquet(path)
        self.advance(accepted)
        if not accepted:
            for rows, digest in _digests(path):
                if digest.hex() != self.total.protocol.digest:
                    self.foreign.add(rows, "", digest)

    def _inspected(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines; count those for other parameters on the way."""
        for line in lines:
            self.advance(1)
            if self.total.protocol.digest not in line:
                self._inspect(line)
            yield line

    def _inspect(self, line: str) -> None:
        try:
            code, digest, _ = read_line(line)
        except InvalidError:
            return
        self.foreign.add(1, NAMES[code], digest)

    def _batches(self, path: str) -> Iterator[Reports]:
        """Yield the reports of a file of messages in large batches; count those that are dropped."""
        pending: list[Bytes] = []
        size = 0
        for message in local_files.read_messages(path):
            records = self._records(message)
            pending.append(records)
            size += records.nbytes
            if size >= _BATCH_BYTES or len(pending) >= _BATCH_MESSAGES:
                yield from self._joined(pending)
                pending, size = [], 0
        yield from self._joined(pending)

    def _records(self, message: memoryview) -> Bytes:
        """Return the records of a message. If it is malformed or for other parameters, count it and return none."""
        empty = np.empty((0, self._width), dtype=np.uint8)
        try:
            reports = Reports.from_bytes(message)
        except InvalidError:
            self.total.dropped += 1
            return empty
        matches = (reports.code, reports.digest) == self._kind
        if matches and reports.width == self._width:
            return reports.records
        if not matches:
            self.foreign.add(len(reports), reports.protocol, reports.digest)
        self.total.dropped += len(reports)
        return empty

    def _joined(self, pending: list[Bytes]) -> Iterator[Reports]:
        code, digest = self._kind
        if not pending:
            return
        records = pending[0] if len(pending) == 1 else np.concatenate(pending)
        size = max(1, _BATCH_BYTES // self._width)
        for start in range(0, len(records), size):
            yield Reports(protocol=code, digest=digest, records=records[start : start + size])


def _digests(path: str) -> list[tuple[int, bytes]]:
    """Return the number of rows in a Parquet file for each set of parameters."""
    import duckdb  # noqa: PLC0415 - heavy

    connection, source = parquet(path)
    try:
        with connection:
            groups = connection.execute(
                f"SELECT count(*), parameters FROM {source} WHERE octet_length(parameters) = 16 GROUP BY parameters"  # noqa: S608 - its path is quoted
            ).fetchall()
    except duckdb.Error:
        raise SourceError("The file of reports could not be read. Nothing was added.", hint="Check the file.") from None
    return [(int(rows), bytes(digest)) for rows, digest in groups]


def _rows(estimate: Estimate, unbiased: Estimate, view: EstimateOptions) -> Iterator[dict[str, object]]:
    low, high = unbiased.interval(confidence=view.confidence, simultaneous=view.simultaneous)
    std = unbiased.std
    for i in np.argsort(-estimate.counts, kind="stable"):
        yield {
            "value": estimate.domain[i],
            "count": float(estimate.counts[i]),
            "std": float(std[i]),
            "low": float(low[i]),
            "high": float(high[i]),
        }


def _estimate_json(
    total: Aggregator, view: EstimateOptions, estimate: Estimate, rows: list[dict[str, object]]
) -> dict[str, object]:
    return {
        "protocol": type(total.protocol).__name__,
        "epsilon": total.protocol.epsilon,
        "reports": total.n,
        "dropped": total.dropped,
        "confidence": view.confidence,
        "simultaneous": view.simultaneous,
        "consistent": view.consistent,
        "biased": estimate.biased,
        "rows": rows,
    }


def _print_estimate(
    total: Aggregator, view: EstimateOptions, estimate: Estimate, rows: list[dict[str, object]]
) -> None:
    cells = [
        [str(row["value"]), f"{row['count']:z,.0f}", f"{row['low']:z,.0f} to {row['high']:z,.0f}"]
        for row in rows[: view.top]
    ]
    at_once = ", all at once" if view.simultaneous else ""
    put_table(make_table(["value", "people", f"{percent(view.confidence)} interval{at_once}"], cells))
    others = len(rows) - len(cells)
    rest = f" The other {others:,} values have smaller counts; --json prints all." if others else ""
    dropped = f", {total.dropped:,} dropped as malformed or made for other parameters" if total.dropped else ""
    name, epsilon = type(total.protocol).__name__, total.protocol.epsilon
    say(f"{total.n:,} {name} reports of ε = {epsilon:g}{dropped}. {estimate.note}{rest}")
