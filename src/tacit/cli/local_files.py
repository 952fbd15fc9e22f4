"""Files of the local model: public parameters, lists of values, reports as they are written, tallies."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from tacit.cli import local_frames, outputs
from tacit.errors import InvalidError, NoSourceError, SourceError, show
from tacit.local import Aggregator, Protocol, Reports
from tacit.local import protocol as read_protocol

_LINES = (".jsonl", ".ndjson", ".json")


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
        raise NoSourceError(
            f"{show(path)}, which cannot be read", "a file that can be read, or - for standard input"
        ) from None
    except UnicodeDecodeError:
        raise InvalidError("file", f"{show(path)}, which is no text in UTF-8", "text, one value a line") from None


def is_lines(path: str) -> bool:
    """Tell whether a name is one of JSON lines."""
    return path == "-" or path.lower().endswith(_LINES)


def write(reports: Iterable[Reports], out: str) -> None:
    """Write reports to a file in the form that its name asks for, whole or not at all."""
    with outputs.whole(out) as half:
        if is_lines(out):
            with half.open("w", encoding="utf-8") as file:
                file.writelines(some.to_json_lines() for some in reports)
        elif out.lower().endswith(".parquet"):
            _write_parquet(reports, half)
        else:
            with half.open("wb") as file_:
                local_frames.write(reports, file_)


def require_parquet(out: str) -> None:
    """Raise if a Parquet file is asked for that could not be written."""
    if out.lower().endswith(".parquet") and find_spec("pyarrow") is None:
        want = "a name that ends in .jsonl, or the package pyarrow installed"
        raise InvalidError("out", "a Parquet file without the package pyarrow", want)


def _write_parquet(reports: Iterable[Reports], out: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - not a dependency
    from pyarrow import parquet  # noqa: PLC0415 - as above

    parquet.write_table(pa.concat_tables([some.to_arrow() for some in reports]), out)


def tally(path: str | None, oracle: Protocol) -> Aggregator:
    """Return the tally of a file, if there is one already, or an empty one."""
    total = oracle.aggregator()
    if path is not None and Path(path).exists():
        total.merge(read_tally(path, oracle))
    return total


def read_tally(path: str, oracle: Protocol) -> Aggregator:
    """Read a tally for these parameters."""
    if not Path(path).exists():
        raise NoSourceError(f"{path!r}, which does not exist", "a file that holds a tally")
    try:
        found = Aggregator.load(path)
    except InvalidError as wrong:
        raise InvalidError("tally", f"{path!r}, which is {wrong.got}", wrong.want) from None
    if found.protocol.digest != oracle.digest:
        got = f"{path!r}, a tally for other parameters ({named(found.protocol)})"
        raise InvalidError("tally", got, f"one for these parameters ({named(oracle)})")
    return found


def named(oracle: Protocol) -> str:
    """Return the name of a protocol and the digest of its parameters."""
    return f"{type(oracle).__name__}, digest {oracle.digest}"


def save(total: Aggregator, path: str) -> None:
    """Write a tally, whole or not at all."""
    try:
        total.save(path)
    except OSError:
        raise SourceError("The tally could not be saved; the file is as it was. Check its folder.") from None
