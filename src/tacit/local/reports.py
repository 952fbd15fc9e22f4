"""Reports: what leaves the person's device. Compact, versioned, self-describing; the layouts are in the reference.

Bytes: an envelope of 32 bytes, then records of one width, one after another. JSON lines: one object a line, each a
whole report. Arrow: a column `report` of fixed width and a column `parameters` with the digest, so that rows of
different surveys can lie in one table. Reading checks the envelope and refuses what it does not know; whether the
fields of each record are in range is for the protocol to say, when reports are added to its tally.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError, show

if TYPE_CHECKING:
    import pyarrow as pa

Records = npt.NDArray[np.uint8]

MAGIC, VERSION = b"TL", 1
NAMES = {
    1: "Warner",
    2: "GRR",
    3: "SUE",
    4: "OUE",
    5: "BLH",
    6: "OLH",
    7: "Hadamard",
    8: "SubsetSelection",
    9: "ProjectiveGeometry",
}
_CODES = {name: code for code, name in NAMES.items()}
_HEADER = struct.Struct("<2sBBIQ16s")
_FIELDS = {"digest", "protocol", "report", "version"}
_DIGEST = 16


class Header(NamedTuple):
    """What an envelope says."""

    magic: bytes
    version: int
    code: int
    width: int
    reports: int
    digest: bytes


class Reports:
    """Randomised reports of one protocol, ready to be sent; nothing in them needs protection any more.

    >>> import tacit as tc
    >>> reports = tc.local.GRR(domain=["tea", "coffee"], epsilon=1).randomize(["tea", "tea"])
    >>> reports
    <2 GRR reports of 1 byte>
    >>> len(reports.to_bytes()), Reports.from_bytes(reports.to_bytes()) == reports
    (34, True)
    """

    __slots__ = ("code", "digest", "records")
    __hash__ = None  # type: ignore[assignment]  # equal by content, which is an array

    def __init__(self, *, protocol: int, digest: bytes, records: Records) -> None:
        """Hold records, a row for each; made by `randomize` and the readers."""
        self.code, self.digest = protocol, digest
        self.records = records.view()
        self.records.flags.writeable = False

    @property
    def protocol(self) -> str:
        """The name of the protocol that made them."""
        return NAMES[self.code]

    @property
    def width(self) -> int:
        """The bytes of one record."""
        return int(self.records.shape[1])

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.records)

    def __eq__(self, other: object) -> bool:
        """Tell whether both are the same reports in the same order."""
        if not isinstance(other, Reports):
            return NotImplemented
        same = (self.code, self.digest) == (other.code, other.digest)
        return same and np.array_equal(self.records, other.records)

    def __repr__(self) -> str:
        """Say how many of what; never what they say."""
        one = "report" if len(self) == 1 else "reports"
        return f"<{len(self):,} {self.protocol} {one} of {self.width} byte{'s' * (self.width > 1)}>"

    def to_bytes(self) -> bytes:
        """Return the envelope and the records."""
        head = _HEADER.pack(MAGIC, VERSION, self.code, self.width, len(self), self.digest)
        return head + self.records.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Reports:
        """Read what `to_bytes` wrote; refuse anything else.

        Args:
            data: one envelope with its records, neither more nor less.
        """
        data = whole_bytes(data)
        head = read_header(data)
        records = np.frombuffer(data, dtype=np.uint8, offset=_HEADER.size).reshape(head.reports, head.width)
        return cls(protocol=head.code, digest=head.digest, records=records)

    def to_json_lines(self) -> str:
        """Return one JSON object a line, each a report by itself."""
        head = f'{{"digest":"{self.digest.hex()}","protocol":"{self.protocol}","report":"'
        tail = f'","version":{VERSION}}}\n'
        rows = self.records.tobytes()
        width = self.width
        return "".join(
            head + base64.b64encode(rows[at : at + width]).decode() + tail for at in range(0, len(rows), width)
        )

    @classmethod
    def from_json_lines(cls, text: str | bytes | Iterable[str | bytes]) -> Reports:
        """Read what `to_json_lines` wrote: lines of one protocol, at least one.

        Args:
            text: the lines, as one text (or its bytes in UTF-8) or one by one.
        """
        lines = list(each_line(text, "text"))
        if not lines:
            raise InvalidError("text", "no line", "at least one line with a report")
        first = read_line(lines[0])
        rows = [read_line(line) for line in lines]
        if any(row[:2] != first[:2] or len(row[2]) != len(first[2]) for row in rows):
            raise InvalidError(
                "text", "lines of several protocols", "reports of one protocol with one set of parameters"
            )
        records = np.frombuffer(b"".join(record for _, _, record in rows), dtype=np.uint8)
        return cls(protocol=first[0], digest=first[1], records=records.reshape(len(rows), -1))

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with a column `report` and a column `parameters`; needs pyarrow."""
        import pyarrow as pa  # noqa: PLC0415 - not a dependency

        column = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(self.width), len(self), [None, pa.py_buffer(np.ascontiguousarray(self.records))]
        )
        places = pa.array(np.zeros(len(self), dtype=np.int8))
        digest = pa.DictionaryArray.from_arrays(places, pa.array([self.digest], type=pa.binary()))
        about = json.dumps({"protocol": self.protocol, "version": VERSION, "digest": self.digest.hex()}, sort_keys=True)
        table = pa.table({"report": column, "parameters": digest})
        return table.replace_schema_metadata({"tacit.local": about})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Reports:
        """Read what `to_arrow` wrote; refuse anything else.

        Args:
            table: an Arrow table or record batch with its metadata.
        """
        import pyarrow as pa  # noqa: PLC0415 - not a dependency

        if not isinstance(table, (pa.Table, pa.RecordBatch)):
            raise InvalidError("table", show(table), "an Arrow table or record batch")
        code, digest = _about(table.schema.metadata)
        if not {"report", "parameters"} <= _names(table.schema):
            raise InvalidError("table", "other columns", "one with the columns report and parameters")
        column, marks = table.column("report"), table.column("parameters")
        kind = column.type
        if not pa.types.is_fixed_size_binary(kind) or kind.byte_width < 1 or column.null_count or marks.null_count:
            raise InvalidError("table", "a column report of another kind", "one of binary of one width without NULL")
        if any(mark != digest for mark in marks.unique().to_pylist()):
            raise InvalidError("table", "reports of other parameters among them", "reports of one set of parameters")
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        parts = [
            np.frombuffer(chunk.buffers()[1], np.uint8)[_span(chunk, kind.byte_width)] for chunk in chunks if len(chunk)
        ]
        records = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8)
        return cls(protocol=code, digest=digest, records=records.reshape(-1, kind.byte_width))


def whole_bytes(data: object) -> bytes | bytearray | memoryview:
    """Return bytes that lie one after another; a copy of a view whose bytes do not."""
    if isinstance(data, memoryview):
        try:
            return data.cast("B") if data.c_contiguous else data.tobytes()
        except (ValueError, TypeError, BufferError):  # a view that was released, or of no bytes
            raise InvalidError("data", "a view that cannot be read", "bytes") from None
    if not isinstance(data, (bytes, bytearray)):
        raise InvalidError("data", show(data), "bytes")
    return data


def read_header(data: bytes | bytearray | memoryview) -> Header:
    """Read and check an envelope against the length of what it holds."""
    size = memoryview(data).nbytes
    if size < _HEADER.size:
        raise InvalidError("data", f"{size} bytes", f"a whole envelope of {_HEADER.size} bytes with its reports")
    head = Header(*_HEADER.unpack_from(data))
    if head.magic != MAGIC:
        raise InvalidError("data", "something else", "reports that `to_bytes` wrote")
    if head.version != VERSION:
        raise InvalidError("data", f"version {head.version}", f"of version {VERSION}, which this program reads")
    if head.code not in NAMES or head.width < 1:
        raise InvalidError("data", "an unknown protocol", f"reports of one of {', '.join(NAMES.values())}")
    if head.width * head.reports != size - _HEADER.size:
        raise InvalidError(
            "data", "more or fewer bytes than the envelope says", "whole: truncated or joined reports are not"
        )
    return head


def each_line(lines: object, argument: str) -> Iterator[object]:
    """Give the lines of a text, of its bytes, or of anything that gives lines, but for blank ones."""
    if isinstance(lines, (bytearray, memoryview)):
        lines = bytes(whole_bytes(lines))
    if isinstance(lines, (str, bytes)):
        lines = lines.splitlines()
    if not isinstance(lines, Iterable):
        raise InvalidError(argument, show(lines), "a text of lines, or lines one by one, such as an open file")
    try:
        yield from (line for line in lines if not isinstance(line, (str, bytes)) or line.strip())
    except UnicodeDecodeError:
        raise InvalidError(
            argument, "a file that is no UTF-8", "text; a file that was opened as bytes will do"
        ) from None


def read_line(line: object) -> tuple[int, bytes, bytes]:
    """Read one line of JSON: the protocol's code, the digest and the record."""
    try:
        parts = json.loads(line) if isinstance(line, (str, bytes)) else None
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, dict) or parts.keys() != _FIELDS:
        raise InvalidError("line", "something else", "a JSON object that `to_json_lines` wrote")
    if parts["version"] != VERSION or isinstance(parts["version"], bool):
        raise InvalidError("line", "another version", f"of version {VERSION}, which this program reads")
    code = _CODES.get(parts["protocol"]) if isinstance(parts["protocol"], str) else None
    try:
        digest = bytes.fromhex(parts["digest"])
        record = base64.b64decode(parts["report"], validate=True)
    except (ValueError, TypeError, binascii.Error):
        digest = record = b""
    if code is None or len(digest) != _DIGEST or not record or not isinstance(parts["report"], str):
        raise InvalidError("line", "fields that cannot be read", "a JSON object that `to_json_lines` wrote")
    return code, digest, record


def _names(schema: pa.Schema) -> set[str]:
    try:
        return set(schema.names)
    except UnicodeDecodeError:  # of a damaged file
        return set()


def _about(metadata: object) -> tuple[int, bytes]:
    """Read the metadata of an Arrow table."""
    try:
        parts = json.loads(metadata[b"tacit.local"])  # type: ignore[index]  # anything else is refused below
        code, digest = _CODES[parts["protocol"]], bytes.fromhex(parts["digest"])
        right = parts["version"] == VERSION and len(digest) == _DIGEST
    except (KeyError, TypeError, ValueError, RecursionError):
        right = False
    if not right:
        raise InvalidError("table", "no metadata of reports, or of another version", "a table that `to_arrow` made")
    return code, digest


def _span(chunk: pa.FixedSizeBinaryArray, width: int) -> slice:
    return slice(chunk.offset * width, (chunk.offset + len(chunk)) * width)
