"""Files of the local model: public parameters, lists of values, reports in their three forms, tallies."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from tacit.errors import InvalidError, NoSourceError, SourceError, show
from tacit.local import Aggregator, Protocol, Reports
from tacit.local import protocol as read_protocol

Step = Callable[[int], None]

_HEADER = 32
_CHUNK = 1 << 16
_LINES = (".jsonl", ".ndjson", ".json", "-")


def parameters(path: str) -> Protocol:
    """Read public parameters and make the protocol that they describe."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        want = "a file that `tacit local choose --save` wrote"
        raise InvalidError("parameters", f"{show(path)}, which cannot be read", want) from None
    return read_protocol(text)


def domain(path: str) -> list[object]:
    """Read the values of a domain: a JSON list, or one value a line."""
    with _text(path) as file:
        lines = list(file)
    if not path.lower().endswith(".json"):
        return [line.rstrip("\r\n") for line in lines if line.strip()]
    try:
        values = json.loads("".join(lines))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list):
        raise InvalidError("domain", "a file that holds something else", "a JSON list of values, or a line for each")
    return values


def values(path: str, oracle: Protocol) -> list[object]:
    """Read one value a line and return them as the domain has them; a line is told by its number alone."""
    find = _number_below(oracle.domain_size) if isinstance(oracle.domain, range) else _spelled(oracle)
    with _text(path) as file:
        found = [find(line.rstrip("\r\n")) for line in file]
    wrong = next((number for number, value in enumerate(found, 1) if value is None), None)
    if wrong is not None:
        raise InvalidError("values", f"something else in line {wrong}", "one value of the domain on each line")
    return found


def _spelled(oracle: Protocol) -> Callable[[str], object]:
    """Return how a line is looked up: text as it is, numbers, true and false as JSON has them."""
    known = {value if isinstance(value, str) else json.dumps(value): value for value in oracle.domain}
    if len(known) < oracle.domain_size:
        raise InvalidError("parameters", "a domain with values that are spelled alike", "one whose lines differ")
    return known.get


def _number_below(size: int) -> Callable[[str], object]:
    digits = len(str(size))

    def read(line: str) -> int | None:
        number = int(line) if len(line) <= digits and line.isascii() and line.isdecimal() else size
        return number if number < size else None

    return read


@contextmanager
def _text(path: str) -> Iterator[TextIO]:
    """Open a file of text, or standard input; what is no text is refused."""
    try:
        if path == "-":
            yield sys.stdin
        else:
            with Path(path).open(encoding="utf-8-sig") as file:
                yield file
    except OSError:
        raise NoSourceError(f"{show(path)}, which cannot be read", "a file, or - for standard input") from None
    except UnicodeDecodeError:
        raise InvalidError("file", f"{show(path)}, which is no text in UTF-8", "text, one value a line") from None


def write(reports: Iterable[Reports], out: str) -> None:
    """Write reports to a file in the form that its name asks for."""
    try:
        if out.lower().endswith(_LINES):
            with Path(out).open("w", encoding="utf-8") as file:
                file.writelines(some.to_json_lines() for some in reports)
        elif out.lower().endswith(".parquet"):
            _write_parquet(reports, out)
        else:
            with Path(out).open("wb") as file_:
                file_.writelines(some.to_bytes() for some in reports)
    except OSError:
        raise InvalidError("out", show(out), "a file in a folder that exists and can be written to") from None


def _write_parquet(reports: Iterable[Reports], out: str) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - not a dependency
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        want = "a name that ends in .jsonl, or the package pyarrow installed"
        raise InvalidError("out", "a Parquet file without the package pyarrow", want) from None
    parquet.write_table(pa.concat_tables([some.to_arrow() for some in reports]), out)


def add(total: Aggregator, path: str, step: Step) -> None:
    """Add a file of reports, or a tally, to a tally; what is malformed is counted and dropped."""
    if path.lower().endswith(".npz"):
        total.merge(Aggregator.load(path))
    elif path.lower().endswith(".parquet"):
        step(total.add_parquet(path))
    elif path.lower().endswith(_LINES):
        with _reports_text(path) as file:
            total.add_json_lines(_counted(file, step))
    else:
        for some in _messages(path, total):
            step(total.add(some))


@contextmanager
def _reports_text(path: str) -> Iterator[TextIO]:
    """Open JSON lines; a line that is no text becomes one that is malformed."""
    try:
        if path == "-":
            if hasattr(sys.stdin, "reconfigure"):
                sys.stdin.reconfigure(errors="replace")
            yield sys.stdin
        else:
            with Path(path).open(encoding="utf-8", errors="replace") as file:
                yield file
    except OSError:
        raise NoSourceError(f"{show(path)}, which cannot be read", "a file of reports") from None


def _counted(lines: Iterable[str], step: Step) -> Iterator[str]:
    for line in lines:
        step(1)
        yield line


def _messages(path: str, total: Aggregator) -> Iterator[Reports]:
    """Give the reports of a file of messages, one after another, in chunks; stop at what is none and count it once."""
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r") if Path(path).stat().st_size else np.empty(0, np.uint8)
    except (OSError, ValueError):
        raise NoSourceError(f"{show(path)}, which cannot be read", "a file of reports") from None
    at = 0
    while at < data.size:
        end = _end(data, at)
        try:
            whole = Reports.from_bytes(data[at:end].data)
        except InvalidError:
            total.dropped += 1
            return
        if (whole.code, whole.digest.hex(), whole.width) != _kind(total.protocol):
            total.dropped += len(whole)
        else:
            for start in range(0, len(whole), _CHUNK):
                yield Reports(protocol=whole.code, digest=whole.digest, records=whole.records[start : start + _CHUNK])
        at = end


def _kind(oracle: Protocol) -> tuple[int, str, int]:
    return oracle.code, oracle.digest, oracle.report_bytes


def _end(data: np.ndarray[tuple[int], np.dtype[np.uint8]], at: int) -> int:
    """Return where the message that begins here says that it ends, as far as the file goes."""
    head = bytes(data[at : at + _HEADER])
    width, count = (int.from_bytes(head[i:j], "little") for i, j in ((4, 8), (8, 16)))
    return min(at + _HEADER + width * count, data.size)


def tally(path: str | None, oracle: Protocol) -> Aggregator:
    """Return the tally of a file, if there is one already, or an empty one."""
    total = oracle.aggregator()
    if path is not None and Path(path).exists():
        total.merge(Aggregator.load(path))
    return total


def save(total: Aggregator, path: str) -> None:
    """Write a tally, whole or not at all."""
    try:
        total.save(path)
    except OSError:
        raise SourceError("The tally could not be saved; the file is as it was. Check its folder.") from None
