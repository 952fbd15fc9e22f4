"""Reports that are the number of an output: stored in 1, 2 or 4 bytes, tallied by counting."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints

Records = npt.NDArray[np.uint8]

_CHUNK = 1 << 18
_WIDTHS: dict[int, np.dtype[np.uint8 | np.uint16 | np.uint32]] = {
    1: np.dtype("u1"),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
}


def width_of(outputs: int) -> int:
    """Return how many bytes hold the numbers below `outputs`."""
    return 1 if outputs <= 1 << 8 else 2 if outputs <= 1 << 16 else 4


def to_records(numbers: Ints, outputs: int) -> Records:
    """Write numbers as records, little-endian."""
    width = width_of(outputs)
    return numbers.astype(_WIDTHS[width]).view(np.uint8).reshape(-1, width)


def from_records(records: Records) -> npt.NDArray[np.uint8 | np.uint16 | np.uint32]:
    """Read records as numbers, unsigned, without a copy where they lie one after another."""
    return np.ascontiguousarray(records).view(_WIDTHS[records.shape[1]]).reshape(-1)


def count(records: Records, outputs: int) -> tuple[Ints, int]:
    """Return how often each output was reported and how many records are outputs at all; in chunks of a few MB."""
    cells, numbers = np.zeros(outputs, dtype=np.int64), from_records(records)
    step = max(_CHUNK, 8 * outputs)
    for start in range(0, numbers.size, step):
        some = numbers[start : start + step]
        if int(some.max()) >= outputs:
            some = some[some < outputs]
        cells += np.bincount(some, minlength=outputs)
    return cells, int(cells.sum())
