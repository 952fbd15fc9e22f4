"""Coded rows of an engine against a plain count in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.guarantees.events import PureRelease
from tacit.synthetic.coded_rows import CodedRows, Counts
from tacit.synthetic.domain import domain_of
from tacit.synthetic.reading import release_coded

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
