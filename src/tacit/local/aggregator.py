"""The server's side: a tally of reports that grows, merges, is saved and loaded; a fixed number of integers.

Adding is exact integer addition, so the order of reports, the split into parts and the order of merges do not change
the tally or the estimate. A record with a field out of range is counted in `dropped` and skipped, and so are records
of other parameters in a stream. This happens on the server only and does not affect anybody's privacy.

A saved tally is a NumPy .npz file with a JSON text and the cells, written whole or not at all, and validated on
reading.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from errno import EINVAL
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.errors import InvalidError, UnreadableFileError, bad_value, show_name
from tacit.guarantees.exact import whole
from tacit.local.base import Protocol
from tacit.local.estimate import Estimate
from tacit.local.reports import Reports, each_line, read_line
from tacit.notebook import ShownAsLines

if TYPE_CHECKING:
    import duckdb


Content = TypeVar("Content")

_HINT = "Pass a file that `Aggregator.save` wrote."
_LONGEST, _HEAD = 1 << 31, 4096


def _write_tally(path: str | os.PathLike[str], about: str, cells: Ints) -> None:
    """Write a temporary file beside the target, then rename it to the target; a link stays a link."""
    try:
        target = Path(path)
    except TypeError:
        raise bad_value("path", path, "the path of a file") from None
    temporary = target
    try:
        resolved = Path(os.path.realpath(target)) if target.name else target
        _refuse_device(resolved)
        temporary = resolved.with_name(f".{resolved.name}.{os.getpid()}.tmp") if target.name else target
        with temporary.open("wb") as file:
            np.savez_compressed(file, about=np.frombuffer(about.encode(), dtype=np.uint8), cells=cells)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(resolved)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            if temporary != target:
                temporary.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or "not a possible name"
        message = f"Cannot write {show_name(str(target))}: {reason}."
        hint = "Name a file in an existing folder. The tally is still in memory."
        raise InvalidError(message, argument="path", hint=hint) from None


def _read_tally(path: str | os.PathLike[str]) -> tuple[dict[str, object], Callable[[int], Ints]]:
    """Return the description in a saved tally, and a function that reads a number of its cells."""
    try:
        is_device = _is_device(Path(path))
        data = io.BytesIO(b"" if is_device else Path(path).read_bytes())
    except FileNotFoundError:
        raise _unreadable(path, "there is no such file.") from None
    except (OSError, ValueError, TypeError):
        raise _unreadable(path, "it cannot be opened.") from None
    if is_device:
        raise _unreadable(path, "it is not a regular file.")
    about = _read_array(path, data, "about", _LONGEST, lambda array: json.loads(array.tobytes()))
    if not isinstance(about, dict) or about.get("format") != _SAVED or about.get("version") != _VERSION:
        raise _unreadable(path, "it is not a tally, or has an unsupported version.")
    return about, lambda size: _read_array(path, data, "cells", 8 * size + _HEAD, _int64)


def _is_device(path: Path) -> bool:
    """Return whether the path is a device or a pipe: it may never end and cannot be replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _refuse_device(path: Path) -> None:
    if _is_device(path):
        raise OSError(EINVAL, "not a regular file")


def _unreadable(path: object, problem: str) -> UnreadableFileError:
    return UnreadableFileError(path, problem, argument="path", hint=_HINT)


def _contradiction(path: object) -> UnreadableFileError:
    """Return the error for a file with numbers that no tally can have."""
    return _unreadable(path, "its numbers contradict each other.")


def _read_array(
    path: object, data: io.BytesIO, name: str, most: int, convert: Callable[[npt.NDArray[Any]], Content]
) -> Content:
    """Read an array of at most `most` bytes: a small file can claim to hold gigabytes."""
    try:
        with zipfile.ZipFile(data) as parts, parts.open(f"{name}.npy") as file:
            text = file.read(most + 1)
        with warnings.catch_warnings(action="ignore"):
            array = np.lib.format.read_array(io.BytesIO(text[:most]), allow_pickle=False)
        return convert(array)
    except Exception:  # noqa: BLE001 - zipfile, zlib and NumPy raise many kinds of errors for a damaged file
        raise _unreadable(path, "it is not a tally, or is damaged.") from None


def _int64(cells: npt.NDArray[Any]) -> Ints:
    return cells.copy() if cells.dtype == np.int64 else np.empty(0, dtype=np.int64)


_SAVED = "tacit.local.tally"
_VERSION = 1
_BATCH = 1 << 16
_REPORTS = "Make them with Reports.from_bytes, from_json_lines or from_arrow. Add a tally to another with merge()."
_MOST = 1 << 53  # reports; estimates are floats


class Aggregator(ShownAsLines):
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
        protocol: the protocol of the reports.
        n: the number of reports added.
        dropped: the number of malformed reports that were skipped.
    """

    def __init__(self, protocol: Protocol) -> None:
        """Start empty."""
        if not isinstance(protocol, Protocol):
            raise bad_value("protocol", protocol, "a protocol such as tc.local.OLH(...)", hint="See tc.local.protocol.")
        self.protocol = protocol
        self.n = 0
        self.dropped = 0
        self._cells: Ints = np.zeros(protocol._cells, dtype=np.int64)  # noqa: SLF001 - protocol and tally belong together

    def __repr__(self) -> str:
        """Return the protocol and the number of reports."""
        return f"<Aggregator of {type(self.protocol).__name__}: {self.n:,} reports, {self.dropped:,} dropped>"

    def add(self, reports: Reports) -> int:
        """Add reports and return the number of well-formed ones. Raise InvalidError if they have other parameters.

        Args:
            reports: from `randomize` or one of the readers of `Reports`.
        """
        if not isinstance(reports, Reports):
            raise bad_value("reports", reports, "Reports", hint=_REPORTS)
        if (reports.code, reports.digest, reports.width) != self._kind:
            message = f"These {reports.protocol} reports were made with other parameters than {self.protocol!r}."
            raise InvalidError(message, argument="reports", hint="Give clients and server the same parameters().")
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
        """Add messages as they were received; count malformed ones in `dropped`.

        Args:
            messages: bytes as `Reports.to_bytes` writes them, of one or many reports each.
        """
        if isinstance(messages, (bytes, bytearray, memoryview, str)) or not isinstance(messages, Iterable):
            raise bad_value("messages", messages, "a list of messages", hint="For one message use Reports.from_bytes.")
        return self._all_or_nothing(_record_of_message(message, self._kind) for message in messages)

    def add_json_lines(self, lines: str | bytes | Iterable[str | bytes]) -> int:
        """Add JSON lines; count those that are malformed or for other parameters in `dropped`.

        Args:
            lines: a text, its bytes in UTF-8, or an iterable of lines such as an open file.
        """
        return self._all_or_nothing(_record_of_line(line, self._kind) for line in each_line(lines, "lines"))

    def _all_or_nothing(self, parts: Iterable[bytes | None]) -> int:
        fresh = Aggregator(self.protocol)  # if the source fails half-way, this tally stays as it was
        fresh._in_batches(parts)
        self.merge(fresh)
        return fresh.n

    def _in_batches(self, parts: Iterable[bytes | None]) -> int:
        accepted, batch, size = 0, [], 0
        for record in parts:
            if record is None:
                self.dropped += 1
                continue
            batch.append(record)
            size += len(record)
            if size >= _BATCH * 16:
                accepted += self._add_joined(batch)
                batch, size = [], 0
        return accepted + self._add_joined(batch)

    def _add_joined(self, batch: list[bytes]) -> int:
        return self._add(np.frombuffer(b"".join(batch), dtype=np.uint8).reshape(-1, self.protocol.report_bytes))

    def add_parquet(
        self, path: str | os.PathLike[str], *, column: str = "report", parameters: str = "parameters"
    ) -> int:
        """Add a Parquet file of reports, or a glob of such files, read by DuckDB; count malformed rows in `dropped`.

        Args:
            path: the files.
            column: the column of records.
            parameters: the column of digests, as `Reports.to_arrow` writes it.
        """
        from tacit.local.report_tables import parquet  # noqa: PLC0415 - imports DuckDB

        return self._add_table(*parquet(path), column, parameters)

    def add_table(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: str | None = None,
        *,
        column: str = "report",
        parameters: str = "parameters",
    ) -> int:
        """Add a DuckDB table of reports; count malformed rows in `dropped`.

        Args:
            connection: the connection to the table. This ends a result that it still holds. To add a frame, first
                call `connection.register("reports", frame)`.
            table: its name.
            column: the column of records.
            parameters: the column of digests, as `Reports.to_arrow` writes it.
        """
        from tacit.local.report_tables import quoted, require_connection  # noqa: PLC0415 - imports DuckDB

        require_connection(connection)
        return self._add_table(connection, quoted(table), column, parameters)

    def add_spark(self, frame: object, *, column: str = "report", parameters: str = "parameters") -> int:
        """Add a Spark DataFrame of reports, tallied by Spark's workers; count malformed rows in `dropped`.

        Args:
            frame: the DataFrame, classic or Connect; the workers need tacit installed.
            column: the column of records.
            parameters: the column of digests, as `Reports.to_arrow` writes it.
        """
        from tacit.local.report_tables import tallies  # noqa: PLC0415 - imports DuckDB

        fresh = Aggregator(self.protocol)  # if the source fails half-way, this tally stays as it was
        for partition in tallies(frame, (column, parameters), self.protocol):
            fresh.merge(partition)
        self.merge(fresh)
        return fresh.n

    def _add_table(self, connection: duckdb.DuckDBPyConnection, source: str, column: str, parameters: str) -> int:
        from tacit.local.report_tables import read  # noqa: PLC0415 - imports DuckDB

        _, digest, width = self._kind
        fresh = Aggregator(self.protocol)  # if the source fails half-way, this tally stays as it was
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
            raise bad_value("other", other, "an Aggregator")
        if other._kind != self._kind:
            message = f"Cannot merge a tally of {other.protocol!r} into one of {self.protocol!r}."
            raise InvalidError(message, argument="other", hint="Merge tallies of equal parameters.")
        self._cells += other._cells
        self.n += other.n
        self.dropped += other.dropped

    def estimate(self) -> Estimate:
        """Return unbiased counts of every value with their errors."""
        if self.n == 0:
            raise self._empty()
        decoded = self.protocol._decode(self._cells, self.n)  # noqa: SLF001 - as above
        values = self.protocol._domain.values  # noqa: SLF001 - as above
        return Estimate(domain=values, n=self.n, decoded=decoded, dropped=self.dropped)

    def _empty(self) -> InvalidError:
        """Return the error for a tally without reports."""
        if not self.dropped:
            return InvalidError("The tally has no reports.", argument="reports", hint="Add reports first.")
        message = (
            f"The tally has no valid reports: {self.dropped:,} were dropped, because they were malformed or made for "
            f"other parameters than those with digest {self.protocol.digest}."
        )
        return InvalidError(message, argument="reports", hint="Check that clients use the same parameters().")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally to a file, with the parameters; whole or not at all.

        Args:
            path: the file; an existing one is replaced.
        """
        about = {"format": _SAVED, "version": _VERSION, "n": self.n, "dropped": self.dropped}
        text = json.dumps({**about, "parameters": self.protocol.parameters()})
        _write_tally(path, text, self._cells)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Aggregator:
        """Read a tally that `save` wrote.

        Args:
            path: the file.
        """
        from tacit.local.parameters import protocol  # noqa: PLC0415 - it knows all protocols

        about, open_cells = _read_tally(path)
        loaded = cls(protocol(about.get("parameters")))
        n, dropped = whole(about.get("n")), whole(about.get("dropped"))
        if n is None or dropped is None or not (0 <= n <= _MOST and 0 <= dropped <= _MOST):
            raise _contradiction(path)
        cells = open_cells(loaded._cells.size)
        if not loaded.protocol._possible(cells, n):  # noqa: SLF001 - as above
            raise _contradiction(path)
        loaded._cells, loaded.n, loaded.dropped = cells, n, dropped
        return loaded


def _record_of_message(message: object, kind: tuple[int, bytes, int]) -> bytes | None:
    """Return the records of a message, or None if it is malformed or for other parameters."""
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
