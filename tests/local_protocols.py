"""List the protocols of the local model, their outputs and their exact laws, for several tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest

from tacit.local import (
    BLH,
    GRR,
    OLH,
    OUE,
    SUE,
    Hadamard,
    ProjectiveGeometry,
    Protocol,
    SubsetSelection,
    Warner,
    local_hashing,
)
from tacit.local.parameters import ORACLES

Floats = npt.NDArray[np.float64]
Make = Callable[..., Protocol]

every_oracle = pytest.mark.parametrize("make", ORACLES.values(), ids=ORACLES)
HASHED = (BLH, OLH)
INDEXED = (GRR, Warner, Hadamard, ProjectiveGeometry)


def outputs(oracle: Protocol) -> Iterator[bytes]:
    """Yield every record that a protocol can send."""
    d, width = oracle.domain_size, oracle.report_bytes
    if isinstance(oracle, INDEXED):
        yield from (number.to_bytes(width, "little") for number in range(oracle._cells))
    elif isinstance(oracle, (SUE, OUE)):
        yield from (number.to_bytes(width, "little") for number in range(2**d))
    elif isinstance(oracle, SubsetSelection):
        subsets = combinations(range(d), oracle.size)
        yield from (sum(1 << v for v in values).to_bytes(width, "little") for values in subsets)
    elif isinstance(oracle, (BLH, OLH)):  # the caller replaces the prime 2^31 - 1 by a small one
        p, g = vars(local_hashing)["PRIME"], oracle.buckets
        fields = np.array(list(product(range(p), range(p), range(g))), dtype=np.uint32)
        rows = np.empty(len(fields), dtype=oracle._record)
        rows["a"], rows["b"], rows["y"] = fields.T
        yield from (row.tobytes() for row in rows)


def law(oracle: Protocol, value: int) -> dict[bytes, Fraction]:
    """Return the exact probability of every record."""
    return {record: oracle._chance(record, value) for record in outputs(oracle)}


def one_report(oracle: Protocol, record: bytes) -> Floats:
    """Return the counts that a server estimates from a single report."""
    cells, accepted = oracle._tally(np.frombuffer(record, dtype=np.uint8).reshape(1, -1))
    assert accepted == 1
    return oracle._decode(cells, 1).counts
