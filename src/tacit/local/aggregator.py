"""The server's side: a tally of reports that grows, merges, is saved and resumed; a fixed number of integers.

Adding is exact integer addition, so any order, any split into parts and any merging gives the same tally, and the
same estimate. A record whose fields are out of range is counted in `dropped` and left out; a stream of other records,
in bytes or lines, the same. That is a decision on the server alone: it makes nobody's report less private.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.errors import InvalidError, show
from tacit.guarantees.exact import whole
from tacit.local import tally_files
from tacit.local.base import Protocol
from tacit.local.estimate import Estimate
from tacit.local.reports import Reports, each_line, read_line

if TYPE_CHECKING:
    import duckdb


_SAVED = "tacit.local.tally"
_VERSION = 1
_BATCH = 1 << 16
_REPORTS = (
    "Reports; see Reports.from_bytes, from_json_lines, from_arrow (an Aggregator is estimated by its own estimate(), "
    "and added to another by merge())"
)
_MOST = 1 << 53  # reports; estimates are floats


class Aggregator:
    """A tally of one protocol's reports.

    >>> import tacit as tc
    >>> oracle = tc.local.OUE(domain=["tea", "coffee"], epsilon=1)
    >>> total, other = oracle.aggregator(), oracle.aggregator()
    >>> total.add(oracle.randomize(["tea"] * 10))
    10
    >>> other.add(oracle.randomize(["coffee"] * 5))
    5
    >>> total.merge(other)
    >>> total
    <Aggregator of OUE: 15 reports, 0 dropped>

    Attributes:
        protocol: whose reports they are.
        n: how many were added.
        dropped: how many were malformed and left out.
    """

    def __init__(self, protocol: Protocol) -> None:
        """Start empty."""
        if not isinstance(protocol, Protocol):
            raise InvalidError(
                "protocol", show(protocol), "a protocol such as tc.local.OLH(...); see tc.local.protocol"
            )
        self.protocol = protocol
        self.n = 0
        self.dropped = 0
        self._cells: Ints = np.zeros(protocol._cells, dtype=np.int64)  # noqa: SLF001 - the two are one subject

    def __repr__(self) -> str:
        """Say how many reports of what it holds."""
        return f"<Aggregator of {type(self.protocol).__name__}: {self.n:,} reports, {self.dropped:,} dropped>"

    def add(self, reports: Reports) -> int:
        """Add reports; return how many were well-formed. Reports for other parameters are refused as a whole.

        Args:
            reports: from `randomize` or one of the readers of `Reports`.
        """
        if not isinstance(reports, Reports):
            raise InvalidError("reports", show(reports), _REPORTS)
        if (reports.code, reports.digest, reports.width) != self._kind:
            raise InvalidError("reports", f"{reports.protocol} reports for other parameters", "made for this protocol")
        return self._add(reports.records)

    @property
    def _kind(self) -> tuple[int, bytes, int]:
        protocol = self.protocol
        return protocol.code, bytes.fromhex(protocol.digest), protocol.report_bytes

    def _add(self, records: npt.NDArray[np.uint8]) -> int:
        if not len(records):
            return 0
        cells, accepted = self.protocol._tally(records)  # noqa: SLF001 - as above
        self._cells += cells
        self.n += accepted
        self.dropped += len(records) - accepted
        return accepted

    def add_bytes(self, messages: Iterable[bytes | bytearray | memoryview]) -> int:
        """Add what came over the wire, each message with an envelope of its own; drop and count what is malformed.

        Args:
            messages: bytes as `Reports.to_bytes` writes them, of one or many reports each.
        """
        if isinstance(messages, (bytes, bytearray, memoryview, str)) or not isinstance(messages, Iterable):
            raise InvalidError("messages", show(messages), "a list of them; see Reports.from_bytes for one")
        return self._all_or_nothing(_record_of_message(message, self._kind) for message in messages)

    def add_json_lines(self, lines: str | bytes | Iterable[str | bytes]) -> int:
        """Add JSON lines; drop and count those that are malformed or for other parameters.

        Args:
            lines: a text, its bytes in UTF-8, or lines one by one, such as an open file.
        """
        return self._all_or_nothing(_record_of_line(line, self._kind) for line in each_line(lines, "lines"))

    def _all_or_nothing(self, parts: Iterable[bytes | None]) -> int:
        fresh = Aggregator(self.protocol)  # a source that fails half-way leaves this tally as it was
        fresh._in_batches(parts)
        self.merge(fresh)
        return fresh.n

    def _in_batches(self, parts: Iterable[bytes | None]) -> int:
        accepted, held, size = 0, [], 0
        for part in parts:
            if part is None:
                self.dropped += 1
                continue
            held.append(part)
            size += len(part)
            if size >= _BATCH * 16:
                accepted += self._add_joined(held)
                held, size = [], 0
        return accepted + self._add_joined(held)

    def _add_joined(self, held: list[bytes]) -> int:
        return self._add(np.frombuffer(b"".join(held), dtype=np.uint8).reshape(-1, self.protocol.report_bytes))

    def add_parquet(
        self, path: str | os.PathLike[str], *, column: str = "report", parameters: str = "parameters"
    ) -> int:
        """Add a Parquet file of reports, or a glob of such files, read by DuckDB; drop and count what is malformed.

        Args:
            path: the files.
            column: the column of records.
            parameters: the column of digests, as `Reports.to_arrow` writes it.
        """
        from tacit.local.duckdb_reports import parquet  # noqa: PLC0415 - needs DuckDB

        return self._add_table(*parquet(path), column, parameters)

    def add_table(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: str | None = None,
        *,
        column: str = "report",
        parameters: str = "parameters",
    ) -> int:
        """Add a DuckDB table of reports; drop and count what is malformed.

        Args:
            connection: where the table is; a result that it still holds is ended. A frame becomes a table of it by
                `connection.register("reports", frame)`.
            table: its name.
            column: the column of records.
            parameters: the column of digests, as `Reports.to_arrow` writes it.
        """
        from tacit.local.duckdb_reports import quoted, require_connection  # noqa: PLC0415 - needs DuckDB

        require_connection(connection)
        return self._add_table(connection, quoted(table), column, parameters)

    def add_spark(self, frame: object, *, column: str = "report", parameters: str = "parameters") -> int:
        """Add a Spark DataFrame of reports, tallied by Spark's workers; drop and count what is malformed.

        Args:
            frame: the DataFrame, classic or Connect; the workers need tacit installed.
            column: the column of records.
            parameters: the column of digests, as `Reports.to_arrow` writes it.
        """
        from tacit.local.spark_reports import tallies  # noqa: PLC0415 - needs Arrow

        fresh = Aggregator(self.protocol)  # a source that fails half-way leaves this tally as it was
        for part in tallies(frame, (column, parameters), self.protocol):
            fresh.merge(part)
        self.merge(fresh)
        return fresh.n

    def _add_table(self, connection: duckdb.DuckDBPyConnection, source: str, column: str, parameters: str) -> int:
        from tacit.local.duckdb_reports import read  # noqa: PLC0415 - needs DuckDB

        _, digest, width = self._kind
        fresh = Aggregator(self.protocol)  # a source that fails half-way leaves this tally as it was
        for records, strangers in read(connection, source, (column, parameters), digest, width):
            fresh._add(records)
            fresh.dropped += strangers
        self.merge(fresh)
        return fresh.n

    def merge(self, other: Aggregator) -> None:
        """Add another tally of the same protocol and parameters to this one; the other stays as it is.

        Args:
            other: from another machine, thread or day.
        """
        if not isinstance(other, Aggregator):
            raise InvalidError("other", show(other), "an Aggregator")
        if other._kind != self._kind:
            raise InvalidError(
                "other", f"one of {other.protocol!r}", f"a tally of the same parameters: {self.protocol!r}"
            )
        self._cells += other._cells
        self.n += other.n
        self.dropped += other.dropped

    def estimate(self) -> Estimate:
        """Return unbiased counts of every value, with what is needed for their errors."""
        if self.n == 0:
            raise InvalidError("reports", self._none(), "at least one that counts, before anything can be estimated")
        decoded = self.protocol._decode(self._cells, self.n)  # noqa: SLF001 - as above
        values = self.protocol._domain.values  # noqa: SLF001 - as above
        return Estimate(domain=values, n=self.n, decoded=decoded, dropped=self.dropped)

    def _none(self) -> str:
        """Say that no report counts, and why."""
        if not self.dropped:
            return "none"
        why = f"malformed, or made for other parameters than those of digest {self.protocol.digest}"
        return f"none that does ({self.dropped:,} dropped: {why}; see that clients have the same parameters())"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally to a file, with the parameters; whole or not at all.

        Args:
            path: where; an existing file is replaced.
        """
        about = {"format": _SAVED, "version": _VERSION, "n": self.n, "dropped": self.dropped}
        text = json.dumps({**about, "parameters": self.protocol.parameters()})
        tally_files.write(path, text, self._cells)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Aggregator:
        """Read a tally that `save` wrote, to go on with it.

        Args:
            path: where it is.
        """
        from tacit.local.parameters import protocol  # noqa: PLC0415 - it knows all protocols

        about, open_cells = tally_files.read(path, _SAVED, _VERSION)
        loaded = cls(protocol(about.get("parameters")))
        n, dropped = whole(about.get("n")), whole(about.get("dropped"))
        if n is None or dropped is None or not (0 <= n <= _MOST and 0 <= dropped <= _MOST):
            raise tally_files.contradiction()
        cells = open_cells(loaded._cells.size)
        if not loaded.protocol._possible(cells, n):  # noqa: SLF001 - as above
            raise tally_files.contradiction()
        loaded._cells, loaded.n, loaded.dropped = cells, n, dropped
        return loaded


def _record_of_message(message: object, kind: tuple[int, bytes, int]) -> bytes | None:
    """Return the records of a message, or None if it is not one for this protocol."""
    try:
        reports = Reports.from_bytes(message)  # type: ignore[arg-type]  # anything else is refused there
    except InvalidError:
        return None
    return reports.records.tobytes() if (reports.code, reports.digest, reports.width) == kind else None


def _record_of_line(line: object, kind: tuple[int, bytes, int]) -> bytes | None:
    try:
        code, digest, record = read_line(line)
    except InvalidError:
        return None
    return record if (code, digest, len(record)) == kind else None
