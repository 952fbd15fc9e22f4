"""Reports: what leaves a person's device. They are compact, versioned and self-describing.

Bytes: an envelope of 32 bytes, then records of equal width. JSON lines: one object a line, each a whole report. Arrow:
a column `report` of fixed width and a column `parameters` with the digest, so that one table can hold reports of
several surveys. Reading checks the envelope. The protocol checks the fields of each record when reports are added to a
tally.

A record of GRR, Hadamard and projective geometry is the number of an output in 1, 2 or 4 bytes.
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

from tacit.arrays import Bytes, Ints
from tacit.errors import InvalidError, bad_value
from tacit.notebook import ShownAsLines

if TYPE_CHECKING:
    import pyarrow as pa


_CHUNK = 1 << 18
_WIDTHS: dict[int, np.dtype[np.uint8 | np.uint16 | np.uint32]] = {
    1: np.dtype("u1"),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
}


def width_of(outputs: int) -> int:
    """Return the number of bytes that hold any number below `outputs`."""
    return 1 if outputs <= 1 << 8 else 2 if outputs <= 1 << 16 else 4


def to_records(numbers: Ints, outputs: int) -> Bytes:
    """Write numbers as records, little-endian."""
    width = width_of(outputs)
    return numbers.astype(_WIDTHS[width]).view(np.uint8).reshape(-1, width)


def from_records(records: Bytes) -> npt.NDArray[np.uint8 | np.uint16 | np.uint32]:
    """Read records as numbers, unsigned, without a copy if they are contiguous."""
    return np.ascontiguousarray(records).view(_WIDTHS[records.shape[1]]).reshape(-1)


def count(records: Bytes, outputs: int) -> tuple[Ints, int]:
    """Return the count of each output and the number of valid records; works in chunks of a few MB."""
    cells, numbers = np.zeros(outputs, dtype=np.int64), from_records(records)
    step = max(_CHUNK, 8 * outputs)
    for start in range(0, numbers.size, step):
        chunk = numbers[start : start + step]
        if int(chunk.max()) >= outputs:
            chunk = chunk[chunk < outputs]
        cells += np.bincount(chunk, minlength=outputs)
    return cells, int(cells.sum())


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
    """The fields of an envelope."""

    magic: bytes
    version: int
    code: int
    width: int
    reports: int
    digest: bytes


class Reports(ShownAsLines):
    """Randomised reports of one protocol, ready to be sent. They need no further protection.

    >>> import tacit as tc
    >>> reports = tc.local.GRR(domain=["tea", "coffee"], epsilon=1).randomize(["tea", "tea"])
    >>> reports
    <2 GRR reports of 1 byte>
    >>> len(reports.to_bytes()), Reports.from_bytes(reports.to_bytes()) == reports
    (34, True)

    Attributes:
        code: the number of the protocol in the envelope of a report.
        digest: the first 16 bytes of the SHA-256 of the parameters.
        records: the records, one in each row.
    """

    __slots__ = ("code", "digest", "records")
    __hash__ = None  # type: ignore[assignment]  # equal by content, which is an array

    def __init__(self, *, protocol: int, digest: bytes, records: Bytes) -> None:
        """Store records, one in each row; called by `randomize` and the readers."""
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
        """Return the number of reports."""
        return len(self.records)

    def __eq__(self, other: object) -> bool:
        """Return whether both hold the same reports in the same order."""
        if not isinstance(other, Reports):
            return NotImplemented
        same = (self.code, self.digest) == (other.code, other.digest)
        return same and np.array_equal(self.records, other.records)

    def __repr__(self) -> str:
        """Return the number, the protocol and the width, but no content."""
        noun = "report" if len(self) == 1 else "reports"
        return f"<{len(self):,} {self.protocol} {noun} of {self.width} byte{'s' * (self.width > 1)}>"

    def to_bytes(self) -> bytes:
        """Return the envelope and the records."""
        head = _HEADER.pack(MAGIC, VERSION, self.code, self.width, len(self), self.digest)
        return head + self.records.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Reports:
        """Read the bytes that `to_bytes` wrote; raise InvalidError for anything else.

        Args:
            data: exactly one envelope with its records.
        """
        data = whole_bytes(data)
        head = read_header(data)
        records = np.frombuffer(data, dtype=np.uint8, offset=_HEADER.size).reshape(head.reports, head.width)
        return cls(protocol=head.code, digest=head.digest, records=records)

    def to_json_lines(self) -> str:
        """Return one JSON object a line, each a whole report."""
        head = f'{{"digest":"{self.digest.hex()}","protocol":"{self.protocol}","report":"'
        tail = f'","version":{VERSION}}}\n'
        rows = self.records.tobytes()
        width = self.width
        return "".join(
            head + base64.b64encode(rows[at : at + width]).decode() + tail for at in range(0, len(rows), width)
        )

    @classmethod
    def from_json_lines(cls, text: str | bytes | Iterable[str | bytes]) -> Reports:
        """Read the lines that `to_json_lines` wrote: at least one, all of one protocol.

        Args:
            text: the lines, as one text (or its bytes in UTF-8) or one by one.
        """
        lines = list(each_line(text, "text"))
        if not lines:
            raise InvalidError("The text has no report.", argument="text")
        first = read_line(lines[0])
        rows = [read_line(line) for line in lines]
        if any(row[:2] != first[:2] or len(row[2]) != len(first[2]) for row in rows):
            message = "The lines hold reports of several protocols or parameters."
            raise InvalidError(message, argument="text", hint="Read those of each survey separately.")
        records = np.frombuffer(b"".join(record for _, _, record in rows), dtype=np.uint8)
        return cls(protocol=first[0], digest=first[1], records=records.reshape(len(rows), -1))

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with a column `report` and a column `parameters`; needs pyarrow."""
        import pyarrow as pa  # noqa: PLC0415 - not a dependency

        column = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(self.width), len(self), [None, pa.py_buffer(np.ascontiguousarray(self.records))]
        )
        codes = pa.array(np.zeros(len(self), dtype=np.int8))
        digest = pa.DictionaryArray.from_arrays(codes, pa.array([self.digest], type=pa.binary()))
        about = json.dumps({"protocol": self.protocol, "version": VERSION, "digest": self.digest.hex()}, sort_keys=True)
        table = pa.table({"report": column, "parameters": digest})
        return table.replace_schema_metadata({"tacit.local": about})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Reports:
        """Read the table that `to_arrow` returned; raise InvalidError for anything else.

        Args:
            table: an Arrow table or record batch with its metadata.
        """
        import pyarrow as pa  # noqa: PLC0415 - not a dependency

        if not isinstance(table, (pa.Table, pa.RecordBatch)):
            raise bad_value("table", table, "an Arrow table or record batch")
        code, digest = _about(table.schema.metadata)
        if not {"report", "parameters"} <= _names(table.schema):
            raise _not_reports("The table lacks the columns report and parameters.")
        column, marks = table.column("report"), table.column("parameters")
        kind = column.type
        if not pa.types.is_fixed_size_binary(kind) or kind.byte_width < 1 or column.null_count or marks.null_count:
            raise _not_reports("The column report is not binary of one width, or a column contains NULL.")
        if any(mark != digest for mark in marks.unique().to_pylist()):
            raise _not_reports("The table holds reports of several sets of parameters.")
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        parts = [
            np.frombuffer(chunk.buffers()[1], np.uint8)[_span(chunk, kind.byte_width)] for chunk in chunks if len(chunk)
        ]
        records = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8)
        return cls(protocol=code, digest=digest, records=records.reshape(-1, kind.byte_width))


def _not_reports(message: str) -> InvalidError:
    return InvalidError(message, argument="table", hint="Pass a table that `to_arrow` returned.")


def whole_bytes(data: object) -> bytes | bytearray | memoryview:
    """Return contiguous bytes; copy a view that is not contiguous."""
    if isinstance(data, memoryview):
        try:
            return data.cast("B") if data.c_contiguous else data.tobytes()
        except (ValueError, TypeError, BufferError):  # a view that was released, or that does not hold bytes
            raise InvalidError("data is a memory view that cannot be read.", argument="data") from None
    if not isinstance(data, (bytes, bytearray)):
        raise bad_value("data", data, "bytes")
    return data


def read_header(data: bytes | bytearray | memoryview) -> Header:
    """Read and check an envelope against the length of what it holds."""
    size = memoryview(data).nbytes
    if size < _HEADER.size:
        raise _bad_envelope(f"The data have {size} bytes, but an envelope alone has {_HEADER.size}.")
    head = Header(*_HEADER.unpack_from(data))
    if head.magic != MAGIC:
        raise _bad_envelope("The data are not reports.")
    if head.version != VERSION:
        hint = f"This version of tacit reads version {VERSION}."
        raise InvalidError(f"The reports have version {head.version}.", argument="data", hint=hint)
    if head.code not in NAMES or head.width < 1:
        raise _bad_envelope("The reports are of an unknown protocol.")
    if head.width * head.reports != size - _HEADER.size:
        raise _bad_envelope("The envelope states another number of bytes: the data are truncated or joined.")
    return head


def _bad_envelope(message: str) -> InvalidError:
    return InvalidError(message, argument="data", hint="Pass the whole bytes that `to_bytes` returned.")


def each_line(lines: object, argument: str) -> Iterator[object]:
    """Yield the lines of a text, of its bytes, or of an iterable of lines, except blank ones."""
    if isinstance(lines, (bytearray, memoryview)):
        lines = bytes(whole_bytes(lines))
    if isinstance(lines, (str, bytes)):
        lines = lines.splitlines()
    if not isinstance(lines, Iterable):
        raise bad_value(argument, lines, "a text of lines, or an iterable of lines such as an open file")
    try:
        yield from (line for line in lines if not isinstance(line, (str, bytes)) or line.strip())
    except UnicodeDecodeError:
        message = "The file is not valid UTF-8."
        raise InvalidError(message, argument=argument, hint='Open it as bytes: open(path, "rb").') from None


def read_line(line: object) -> tuple[int, bytes, bytes]:
    """Read one line of JSON: the protocol's code, the digest and the record."""
    try:
        parts = json.loads(line) if isinstance(line, (str, bytes)) else None
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, dict) or parts.keys() != _FIELDS:
        raise _bad_line("The line is not a report.")
    if parts["version"] != VERSION or isinstance(parts["version"], bool):
        raise _bad_line(f"The line has an unsupported version; this version of tacit reads version {VERSION}.")
    code = _CODES.get(parts["protocol"]) if isinstance(parts["protocol"], str) else None
    try:
        digest = bytes.fromhex(parts["digest"])
        record = base64.b64decode(parts["report"], validate=True)
    except (ValueError, TypeError, binascii.Error):
        digest = record = b""
    if code is None or len(digest) != _DIGEST or not record or not isinstance(parts["report"], str):
        raise _bad_line("The line has fields that cannot be read.")
    return code, digest, record


def _bad_line(message: str) -> InvalidError:
    return InvalidError(message, argument="line", hint="Pass a line that `to_json_lines` wrote.")


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
        raise _not_reports("The table has no metadata of reports, or metadata of an unsupported version.")
    return code, digest


def _span(chunk: pa.FixedSizeBinaryArray, width: int) -> slice:
    return slice(chunk.offset * width, (chunk.offset + len(chunk)) * width)
