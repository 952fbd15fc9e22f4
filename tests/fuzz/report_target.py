"""The readers of the local model: bytes to reports, tallies and protocols.

The first byte chooses the reader; the rest is what it reads.

| byte | input |
|---|---|
| b | the bytes of reports |
| j | JSON lines of reports |
| t | a saved tally |
| p | public parameters |
| q | a Parquet file of reports |
| a | an Arrow stream of reports |

* Reports that are read are written as the same bytes.
* A message is counted in a tally or dropped from it, and what was counted has an estimate of finite numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from fuzz.rule import Refusal, folder, require, value_or_refusal
from tacit.local import (
    BLH,
    GRR,
    OLH,
    OUE,
    SUE,
    Aggregator,
    Hadamard,
    ProjectiveGeometry,
    Protocol,
    Reports,
    SubsetSelection,
    Warner,
    protocol,
)

WORDS = ["tea", "coffee", "water", "mate"]
_MOST_CELLS = 1 << 20


@cache
def protocols() -> tuple[Protocol, ...]:
    """Return one protocol of each kind, whose reports the corpus has."""
    kinds: tuple[Callable[..., Protocol], ...] = (
        *(GRR, SUE, OUE, BLH, OLH),
        *(Hadamard, SubsetSelection, ProjectiveGeometry),
    )
    return (Warner(epsilon=1), *(kind(domain=WORDS, epsilon=1) for kind in kinds))


def _file(data: bytes, suffix: str) -> Path:
    """Write an input to a file, which the next input replaces."""
    path = folder() / f"input{suffix}"
    path.write_bytes(data)
    return path


def check(data: bytes) -> None:
    """Read an input with the reader that its first byte chooses."""
    reader = _READERS.get(data[:1])
    if reader is not None:
        reader(data[1:])


def _bytes(data: bytes) -> None:
    read = value_or_refusal(lambda: Reports.from_bytes(data))
    if not isinstance(read, Refusal):
        require(read.to_bytes() == data, "Reports are written as other bytes than those that were read.")
        _check_reports(read)
    for each in protocols():
        total = each.aggregator()
        added = value_or_refusal(lambda total=total: total.add_bytes([data, data[:40], data[16:]]))  # type: ignore[misc]
        require(not isinstance(added, Refusal), "A tally refuses a message, which it should drop.")
        require(total.n + total.dropped >= 1, "A message is neither counted nor dropped.")
        _check_estimate(total)


def _lines(data: bytes) -> None:
    read = value_or_refusal(lambda: Reports.from_json_lines(data))
    if not isinstance(read, Refusal):
        _check_reports(read)
        require(Reports.from_json_lines(read.to_json_lines()) == read, "JSON lines change reports.")
    for each in protocols():
        total = each.aggregator()
        value_or_refusal(lambda total=total: total.add_json_lines(data))  # type: ignore[misc]
        value_or_refusal(lambda total=total: total.add_json_lines(data.decode("utf-8", "surrogateescape")))  # type: ignore[misc]
        _check_estimate(total)


def _tally(data: bytes) -> None:
    total = value_or_refusal(lambda: Aggregator.load(_file(data, ".npz")), given=str(folder()))
    if not isinstance(total, Refusal):
        _check_estimate(total)


def _parameters(data: bytes) -> None:
    for given in (data, data.decode("utf-8", "surrogateescape")):
        made = value_or_refusal(lambda given=given: protocol(given), given=str(given))  # type: ignore[misc]
        if not isinstance(made, Refusal) and made.aggregator()._cells.size < _MOST_CELLS:
            again = protocol(made.parameters())
            require(again.digest == made.digest, "The parameters of a protocol do not describe it.")
            sent = made.randomize([made.domain[0]])
            require(made.aggregator().add(sent) == 1, "A protocol drops its own report.")


def _parquet(data: bytes) -> None:
    path = _file(data, ".parquet")
    for each in protocols()[:3]:
        total = each.aggregator()
        value_or_refusal(lambda total=total: total.add_parquet(path), given=str(path))  # type: ignore[misc]
        _check_estimate(total)


def _arrow(data: bytes) -> None:
    try:
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, MemoryError):  # Arrow's reader; its caller has its errors
        return
    read = value_or_refusal(lambda: Reports.from_arrow(table))
    if not isinstance(read, Refusal):
        _check_reports(read)


def _check_reports(read: Reports) -> None:
    """Check that reports have a text, and that a tally counts or drops each."""
    require(len(repr(read)) < 200, "The text of reports is long.")
    for each in protocols():
        total = each.aggregator()
        added = value_or_refusal(lambda total=total: total.add(read))  # type: ignore[misc]
        if not isinstance(added, Refusal):
            require(total.n + total.dropped == len(read), "A report is neither counted nor dropped.")
            _check_estimate(total)


def _check_estimate(total: Aggregator) -> None:
    """Check that a tally has an estimate of finite numbers, or none if it is empty."""
    require(total.n >= 0 and total.dropped >= 0, "A tally has a negative number.")
    estimate = value_or_refusal(total.estimate)
    require(isinstance(estimate, Refusal) == (total.n == 0), "A tally of reports has no estimate.")
    if not isinstance(estimate, Refusal) and total.protocol.domain_size < _MOST_CELLS:
        require(np.isfinite(estimate.counts).all(), "An estimate is not finite.")


_READERS: Mapping[bytes, Callable[[bytes], None]] = {
    b"b": _bytes,
    b"j": _lines,
    b"t": _tally,
    b"p": _parameters,
    b"q": _parquet,
    b"a": _arrow,
}
