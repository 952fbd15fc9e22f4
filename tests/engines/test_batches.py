"""Sums and groups that are read in batches: the same integers and groups whatever the size of a batch."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from tacit.arrays import Ints
from tacit.engines.duckdb import engine
from tacit.engines.duckdb.engine import open_duckdb
from tacit.engines.sql.discovered_groups import OpenStatement
from tacit.engines.sql.found_groups import FoundGroups
from tacit.engines.sql.integer_columns import integer_column, weighted_sum
from tacit.engines.sql.statement import Statement
from tacit.query.pricing.partition_selection import TruncatedLaplace

WIDE = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63), st.integers(-(2**100), 2**100))


@given(st.lists(st.tuples(st.none() | WIDE, st.none() | WIDE), min_size=1), st.lists(WIDE, min_size=2, max_size=2))
def test_sums_are_exact_however_large(rows: list[tuple[int | None, int | None]], factors: list[int]) -> None:
    columns = [integer_column([row[index] for row in rows]) for index in (0, 1)]
    found = weighted_sum(columns, enumerate(factors), len(rows))
    assert found.tolist() == [sum((x or 0) * factor for x, factor in zip(row, factors, strict=True)) for row in rows]


@given(st.lists(st.integers(-(2**70), 2**70), max_size=9), st.integers(1, 4))
def test_batches_add_up_to_the_cells_and_a_missing_cell_is_0(totals: list[int], size: int) -> None:
    rows = [(cell, total, Decimal(total)) for cell, total in enumerate(totals) if total % 3]
    made = Statement("", {}, (((1, 1),), ((1, 2), (2, -1))), len(totals) + 1, draws=False)
    batches = [rows[first : first + size] for first in range(0, len(rows), size)]
    expected = [[total if total % 3 else 0 for total in totals] + [0]] * 2
    assert made.read(batches) == expected


def test_a_batch_whose_sums_are_not_exact_is_noticed() -> None:
    made = Statement("", {}, (((1, 1),),), 3, draws=False, limits=((2, 10),))
    assert made.read([[(0, 5, 10)], [(1, 5, 9)]]) == [[5, 5, 0]]
    assert made.read([[(0, 5, 10)], [(1, 5, 11)]]) is None


def test_groups_are_sorted_by_their_keys_with_nulls_last_and_keep_their_sums() -> None:
    found = FoundGroups(OpenStatement("", {}, 2, (((1, 1),), ((0, 1), (1, 10))), draws=False))
    found.add([("b", None, 5, 1), (None, 2, 6, 2)], np.array([0, 3]))
    found.add([], np.array([], dtype=np.int64))
    found.add([("b", 1, 7, 2**70), ("a", 9, 8, None)], np.array([4, 7]))
    keys, places, sums = found.released()
    assert keys == [("a", 9), ("b", 1), ("b", None), (None, 2)]
    assert places.tolist() == [7, 4, 0, 3]
    assert [some.tolist() for some in sums] == [[0, 2**70, 1, 2], [8, 7 + 10 * 2**70, 15, 26]]


QUESTION = "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k"


@pytest.mark.parametrize("batch", [1, 7, 10**6])
def test_an_answer_does_not_depend_on_the_batches(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred groups of ten to fifteen rows, and twenty of one row that are never released."""
    monkeypatch.setattr(engine, "BATCH", batch)
    monkeypatch.setattr("tacit.query.pricing.partition_selection._AT_ONCE", batch)
    sizes = {f"k{index:03}": 10 + index % 6 for index in range(200)} | {f"rare{index}": 1 for index in range(20)}
    keys = [name for name, size in sizes.items() for _ in range(size)]
    data = pd.DataFrame({"k": keys, "x": [len(name) for name in keys]}).sample(frac=1, random_state=1)
    with tc.open(data, name="t", unit=tc.ROW, bounds={"x": (0, 9)}, budget=tc.ApproxDP(epsilon=10**6, delta=0.1)) as db:
        answer = db.sql(QUESTION, epsilon=300, delta=1e-9)
        assert answer.rows() == [(name, size, 4 * size) for name, size in sorted(sizes.items()) if size > 1]
        listed = db.sql(QUESTION, epsilon=300, keys={"k": sorted(sizes)})
        assert listed.rows() == [(name, size, len(name) * size) for name, size in sorted(sizes.items())]


def test_a_selection_in_parts_has_the_law_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group has fresh noise, and keeps its index, whatever part it is in."""
    law = TruncatedLaplace(
        law="laplace",
        amount=Fraction(1),
        sensitivity=1,
        moving=1,
        most=10,
        coin=Fraction(1, 2),
        epsilon=Fraction(1),
        delta=Fraction(1, 1000),
    )
    monkeypatch.setattr("tacit.query.pricing.partition_selection._AT_ONCE", 100)
    units: Ints = np.tile([0, 21, 1000], 1000)
    selected = law.select(units)
    assert selected.places.tolist() == [index for index in range(3000) if index % 3]
    noise = selected.noisy - units[selected.places]
    assert np.abs(noise).max() <= 10
    # Pr[noise = 0] is below 1/2, so all of 20 parts of 66 have equal noise with probability below 2^-1000
    assert len({tuple(noise[first : first + 66].tolist()) for first in range(0, 1980, 66)}) > 1


def test_the_groups_that_are_not_released_stay_in_the_engine(tmp_path: Path) -> None:
    """Neither their keys nor their sums are read, and the tables of the search are dropped."""
    path = tmp_path / "t.parquet"
    pd.DataFrame({"k": ["a"] * 30 + ["secret"]}).to_parquet(path)
    with tc.open(path, unit=tc.ROW, budget=tc.ApproxDP(epsilon=10**6, delta=0.1)) as db:
        rows = db.sql("SELECT k, count(*) AS n FROM t GROUP BY k", epsilon=300, delta=1e-9).rows()
    assert rows == [("a", 30)]
    opened = open_duckdb(path)
    assert opened._connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
    opened.close()
