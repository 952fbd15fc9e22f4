"""Coded rows of an engine against a plain count in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.guarantees.events import PureRelease
from tacit.query.coded_table import CodedColumn, CodedTable
from tacit.query.expressions import Column
from tacit.synthetic.coded_rows import CodedRows, Counts
from tacit.synthetic.domain import domain_of
from tacit.synthetic.reading import BLOCK, StoredRows, release_coded

FRAME = pd.DataFrame(
    {
        "u": [1, 1, 1, 2, 2, None, 3],
        "sex": ["F", "M", None, "F", "x", "F", "M"],
        "age": [10.0, 20.0, float("nan"), -5.0, 99.0, 30.0, 50.0],
    }
)
CODES = [(0, 0), (1, 0), (2, 2), (0, 0), (3, 1), (0, 0), (1, 1)]


def _opened(unit: Any, **more: Any) -> Any:  # noqa: ANN401 - arguments of tc.open
    return tc.open(
        FRAME,
        unit=unit,
        keys={"sex": ["F", "M"]},
        bounds={"age": (0, 100)},
        budget=tc.PureDP(epsilon=10),
        **more,
    )


def _counts(database: Any) -> tuple[dict[tuple[int, int], int], list[int], int]:  # noqa: ANN401 - reads its session
    seen: dict[str, Any] = {}
    session = database._session
    table = next(iter(session.tables))
    domain = domain_of(session.tables[table], ["sex", "age"], bins={"age": [0, 50, 100]})

    def compute(rows: CodedRows) -> Mapping[str, object]:
        seen["pairs"] = rows.counts([0, 1])
        seen["single"] = rows.counts([1]).tolist()
        seen["batches"] = sum(int(weights.sum()) for _, weights in rows.batches())
        return {"n": 1}

    release = release_coded(
        session, domain, events=(PureRelease(epsilon=Fraction(1)),), question="test", spec={}, compute=compute
    )
    assert release.content == {"n": 1}
    assert float(database.spent.epsilon) == 1.0
    pairs = {(i, j): int(n) for (i, j), n in _cells(seen["pairs"]) if n}
    return pairs, seen["single"], seen["batches"]


def _cells(table: Counts) -> list[tuple[tuple[int, int], int]]:
    return [((i, j), table[i, j]) for i in range(table.shape[0]) for j in range(table.shape[1])]


def test_rows_as_units_have_weight_one() -> None:
    """Every row counts once, under its codes."""
    pairs, single, total = _counts(_opened(tc.ROW))
    assert pairs == dict(Counter(CODES))
    assert single == [sum(age == code for _, age in CODES) for code in range(3)]
    assert total == len(CODES)


def test_rows_of_heavy_units_are_scaled() -> None:
    """Rows without a unit do not count, and a unit with three rows and a reach of two has weights of ⌊2^17/3⌋."""
    pairs, _, _ = _counts(_opened("u", reach=2))
    expected: Counter[tuple[int, int]] = Counter()
    for unit, codes in zip([1, 1, 1, 2, 2, None, 3], CODES, strict=True):
        if unit is not None:
            expected[codes] += 2**17 // 3 if unit == 1 else 2**16
    assert pairs == dict(expected)


def test_a_column_without_public_values_is_refused() -> None:
    """Numbers need bins."""
    session = _opened(tc.ROW)._session
    with pytest.raises(tc.InvalidError, match="no public values"):
        domain_of(next(iter(session.tables.values())), ["age"])


def test_instants_without_a_time_zone_are_refused() -> None:
    moments = pd.to_datetime(["2024-01-01", "2024-01-02"], utc=True)
    frame, keys = pd.DataFrame({"t": moments}), {"t": [datetime(2024, 1, 1), datetime(2024, 1, 2)]}  # noqa: DTZ001
    db = tc.open(frame, unit=tc.ROW, keys=keys, budget=tc.PureDP(epsilon=10**9))
    with pytest.raises(tc.RefusedError, match="time zone"):
        db.marginals(["t"], epsilon=1)
    zoned = tc.open(frame, unit=tc.ROW, keys=keys, timezone="UTC", budget=tc.PureDP(epsilon=10**9))
    assert zoned.marginals(["t"], epsilon=10**6)["t"].counts.round().tolist() == [1, 1, 0, 0]


def test_equal_keys_are_refused() -> None:
    """A row that joins two equal keys would count twice."""
    database = tc.open(FRAME, unit=tc.ROW, keys={"sex": ["F", "M"]}, budget=tc.PureDP(epsilon=1))
    table = next(iter(database._session.tables.values()))
    column = replace(table.columns["sex"], keys=("F", "F"))
    with pytest.raises(tc.InvalidError, match="hold a value twice"):
        domain_of(replace(table, columns={**table.columns, "sex": column}), ["sex"])


def _stored(sizes: tuple[int, ...], codes: list[list[int]], weights: list[int] | None) -> StoredRows:
    columns = tuple(
        CodedColumn(expression=Column("x", "integer"), values=None, cuts=(), missing=0, other=0, size=size)
        for size in sizes
    )
    table = next(iter(_opened("u", reach=3)._session.tables.values()))
    stored = StoredRows(CodedTable(table=table, columns=columns, reach=3, bits=4))
    exact = None if weights is None else np.array(weights, dtype=np.int64)
    stored.absorb([np.array(column) for column in zip(*codes, strict=True)], exact)
    return stored


@pytest.mark.parametrize("sizes", [(256, 256), (2, 65_536), (1, 65_536), (65_536, 1), (16, 16, 16, 16), (300, 70, 4)])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_do_not_overflow_small_integers(sizes: tuple[int, ...], weighted: bool) -> None:  # noqa: FBT001
    """The first and the last cell of a table, and random ones, against a plain count in Python."""
    random = np.random.default_rng(3)
    codes = [[0] * len(sizes), [size - 1 for size in sizes]] * 2
    codes += [[int(random.integers(0, size)) for size in sizes] for _ in range(200)]
    weights = [int(random.integers(1, 17)) for _ in codes] if weighted else None
    stored = _stored(sizes, codes, weights)
    for columns in (range(len(sizes)), range(len(sizes))[::-1], [0], [1], []):
        expected: Counter[tuple[int, ...]] = Counter()
        for row, weight in zip(codes, weights or [16] * len(codes), strict=True):
            expected[tuple(row[column] for column in columns)] += weight
        table = stored.counts(list(columns))
        assert table.shape == tuple(sizes[column] for column in columns)
        assert {tuple(map(int, place)): int(table[tuple(place)]) for place in np.argwhere(table)} == expected


def test_blocks_add_up() -> None:
    """More rows than a block; the second block has weights."""
    n = BLOCK + 1_000
    codes = [[place % 3, place % 5] for place in range(n)]
    weights = [16] * BLOCK + [7] * 1_000
    stored = _stored((3, 5), codes, weights)
    expected = np.zeros((3, 5), dtype=np.int64)
    for row, weight in zip(codes, weights, strict=True):
        expected[tuple(row)] += weight
    assert (stored.counts([0, 1]) == expected).all()
    assert [len(amounts) for _, amounts in stored.batches()] == [BLOCK, 1_000]
    assert all(some.dtype == np.uint16 and some.shape[1] == 2 for some, _ in stored.batches())
