"""Files of the local model: public parameters, lists of values, reports and tallies.

A file of binary reports holds messages in frames. A frame is the message's length and the message, so that a malformed
message cannot affect the next one. The program that collects messages writes the length; it is never read from a
message. A device that lies about its own length therefore spoils its own frame only. Such files may be concatenated: a
file head at the start of a frame is skipped, because as a length it is larger than any file. A file with one message
without a frame, as `Reports.to_bytes` returns it, is read too.
"""

from __future__ import annotations

import json
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import BinaryIO, TextIO

from tacit.cli.output_files import atomic
from tacit.errors import (
    InvalidError,
    MissingPackageError,
    NoSourceError,
    SourceError,
    UnreadableFileError,
    show_name,
)
from tacit.local import Aggregator, Protocol, Reports
from tacit.local import protocol as read_protocol
from tacit.local.reports import MAGIC

HEAD = b"TLFRAME\x01"
_MARK = HEAD[:-1]
_LENGTH = 8
_LINES = (".jsonl", ".ndjson", ".json")


def read_parameters(path: str) -> Protocol:
    """Read public parameters and return their protocol."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise UnreadableFileError(
            path,
            "it does not exist or is not a text file.",
            argument="parameters",
            hint="Name a file that `tacit local choose --save` wrote.",
        ) from None
    return read_protocol(text)


def read_domain(path: str) -> list[object]:
    """Read the values of a domain: a JSON list, or one value per line."""
    with _open_text(path) as file:
        lines = list(file)
    if not path.lower().endswith(".json"):
        return [line.rstrip("\r\n") for line in lines if line.strip()]
    try:
        values = json.loads("".join(lines))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list):
        raise UnreadableFileError(
            path,
            "it is not a JSON list.",
            argument="--domain",
            hint="Write a JSON list of values; or one value per line, to a file that does not end in .json.",
        )
    return values


def read_values(path: str, protocol: Protocol) -> list[object]:
    """Read one value of the domain per line. An error names the number of the line, never its text."""
    parse = _number_below(protocol.domain_size) if isinstance(protocol.domain, range) else _spelling(protocol)
    with _open_text(path) as file:
        values = [parse(line.rstrip("\r\n")) for line in file]
    wrong = next((number for number, value in enumerate(values, 1) if value is None), None)
    if wrong is not None:
        raise InvalidError(
            f"Line {wrong:,} is not a value of the domain. No report was drawn.",
            argument="values",
            hint="Write one value of the domain on each line.",
        )
    return values


def _spelling(protocol: Protocol) -> Callable[[str], object]:
    """Return the function that finds a line's value: a text unchanged; a number, true or false as in JSON."""
    known = {value if isinstance(value, str) else json.dumps(value): value for value in protocol.domain}
    if len(known) < protocol.domain_size:
        raise InvalidError(
            "Two values of the domain have the same spelling, such as 7 and the text '7'.",
            argument="parameters",
            hint="Choose a domain whose values differ as text.",
        )
    return known.get


def _number_below(size: int) -> Callable[[str], object]:
    digits = len(str(size))

    def parse(line: str) -> int | None:
        number = int(line) if len(line) <= digits and line.isascii() and line.isdecimal() else size
        return number if number < size else None

    return parse


@contextmanager
def _open_text(path: str) -> Iterator[TextIO]:
    """Open a text file in UTF-8, or standard input."""
    try:
        if path == "-":
            yield sys.stdin
        else:
            with Path(path).open(encoding="utf-8-sig") as file:
                yield file
    except OSError:
        raise NoSourceError(
            f"Cannot read {show_name(path)}.", hint="Name a file that can be read, or - for standard input."
        ) from None
    except UnicodeDecodeError:
        raise UnreadableFileError(
            path, "it is not text in UTF-8.", argument="file", hint="Write one value per line."
        ) from None


@contextmanager
def open_lines(path: str) -> Iterator[TextIO]:
    """Open JSON lines; a line that is not valid UTF-8 becomes a malformed line."""
    try:
        if path == "-":
            if hasattr(sys.stdin, "reconfigure"):
                sys.stdin.reconfigure(errors="replace")
            yield sys.stdin
        else:
            with Path(path).open(encoding="utf-8", errors="replace") as file:
                yield file
    except OSError:
        raise unreadable_reports(path) from None


def unreadable_reports(path: str) -> NoSourceError:
    """Return the error for a file of reports that cannot be opened."""
    return NoSourceError(f"Cannot read {show_name(path)}.", hint="Name a file of reports that can be read.")


def is_lines(path: str) -> bool:
    """Return whether the name of a file says that it holds JSON lines."""
    return path == "-" or path.lower().endswith(_LINES)


def write_reports(reports: Iterable[Reports], out: str) -> None:
    """Write reports to a file in the format of its name, completely or not at all."""
    with atomic(out) as temporary:
        if is_lines(out):
            with temporary.open("w", encoding="utf-8") as text:
                text.writelines(batch.to_json_lines() for batch in reports)
        elif out.lower().endswith(".parquet"):
            _write_parquet(reports, temporary)
        else:
            with temporary.open("wb") as file:
                _write_frames(reports, file)


def check_parquet(out: str) -> None:
    """Check that pyarrow is installed if the output is a Parquet file."""
    if out.lower().endswith(".parquet") and find_spec("pyarrow") is None:
        raise MissingPackageError("pyarrow", "Writing a Parquet file")


def _write_parquet(reports: Iterable[Reports], out: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - not a dependency
    from pyarrow import parquet  # noqa: PLC0415 - as above

    parquet.write_table(pa.concat_tables([batch.to_arrow() for batch in reports]), out)


def _write_frames(reports: Iterable[Reports], file: BinaryIO) -> None:
    """Write the head, and a frame for each message."""
    file.write(HEAD)
    for batch in reports:
        message = batch.to_bytes()
        file.write(len(message).to_bytes(_LENGTH, "little"))
        file.write(message)


def read_messages(path: str) -> Iterator[memoryview]:
    """Yield the messages of a file, without checking their contents.

    Raises:
        NoSourceError: the file cannot be read.
        InvalidError: it is not a file of messages, or it is truncated; the error says how many messages are complete.
    """
    data = _map_file(path)
    if bytes(data[: len(_MARK)]) == _MARK:
        if bytes(data[: len(HEAD)]) != HEAD:
            raise UnreadableFileError(
                path, "its frames have another version. This program reads version 1.", argument="reports"
            )
        yield from _frames(data, path)
    else:
        yield _single_message(data, path)


def _map_file(path: str) -> memoryview:
    try:
        with Path(path).open("rb") as file:
            empty = Path(path).stat().st_size == 0
            return memoryview(b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        raise unreadable_reports(path) from None


def _frames(data: memoryview, path: str) -> Iterator[memoryview]:
    position, complete = len(HEAD), 0
    while position < len(data):
        start = position + _LENGTH
        if data[position:start] == HEAD:
            position = start
            continue
        end = start + int.from_bytes(data[position:start], "little")
        if not start <= end <= len(data):
            raise InvalidError(
                f"{show_name(path)} is truncated after {complete:,} complete messages (byte {position}). Nothing was "
                "counted or saved.",
                argument="reports",
                hint=f"To use the complete part: head -c {position} {quote(path)} > part.bin",
            )
        yield data[start:end]
        position, complete = end, complete + 1


def _single_message(data: memoryview, path: str) -> memoryview:
    try:
        Reports.from_bytes(data)
    except InvalidError as error:
        problem, hint = "it is not a file of reports. 0 reports were read.", ""
        if bytes(data[: len(MAGIC)]) == MAGIC:
            problem = f"it starts like one message, but is malformed. {error.message} 0 reports were read."
            hint = " Messages that are only concatenated cannot be separated safely."
        raise UnreadableFileError(
            path,
            problem,
            argument="reports",
            hint=f"Give a file that `tacit local randomize --out` wrote, or one report's bytes.{hint}",
        ) from None
    return data


def open_tally(path: str | None, protocol: Protocol) -> Aggregator:
    """Return the tally of a file, or an empty one if there is no file."""
    total = protocol.aggregator()
    if path is not None and Path(path).exists():
        total.merge(read_tally(path, protocol))
    return total


def read_tally(path: str, protocol: Protocol) -> Aggregator:
    """Read a tally for these parameters."""
    if not Path(path).exists():
        raise NoSourceError(f"The file {show_name(path)} does not exist.", hint="Name a file that holds a tally.")
    try:
        tally = Aggregator.load(path)
    except UnreadableFileError:
        raise
    except InvalidError as error:  # of the parameters in it
        raise UnreadableFileError(
            path, f"it is not a tally. {error.message}", argument="tally", hint=error.hint
        ) from None
    if tally.protocol.digest != protocol.digest:
        raise InvalidError(
            f"{show_name(path)} is a tally for other parameters ({describe(tally.protocol)}).",
            argument="tally",
            hint=f"Use a tally for these parameters ({describe(protocol)}).",
        )
    return tally


def describe(protocol: Protocol) -> str:
    """Return the name of a protocol and the digest of its parameters."""
    return f"{type(protocol).__name__}, digest {protocol.digest}"


def save_tally(total: Aggregator, path: str) -> None:
    """Write a tally, completely or not at all."""
    try:
        total.save(path)
    except OSError:
        raise SourceError("The tally could not be saved; the file is unchanged.", hint="Check its folder.") from None
