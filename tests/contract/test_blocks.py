"""Counts of bins that an engine passes on some groups at a time: on every engine those that it returns all at once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

import pytest

from contract.tables import Opener
from tacit.query.expressions import Kind, Value
from tacit.query.histograms import Counts
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

KINDS: dict[str, Kind] = {"u": "integer", "k": "integer", "x": "real"}
SECRET = (7, 11)
GROUPS = 40
Limit = Literal["row", "max_rows", "reach"]


def plan(limit: Limit) -> Plan:
    """Return quantiles, a count and a mode by 40 groups."""
    table = TablePolicy(
        name="t",
        unit=None if limit == "row" else "u",
        max_groups=3 if limit == "max_rows" else None,
        max_rows=2 if limit == "max_rows" else None,
        reach=3 if limit == "reach" else None,
        neighbours="add/remove",
        columns={
            "u": ColumnPolicy(kind="integer"),
            "k": ColumnPolicy(kind="integer", keys=tuple(range(GROUPS))),
            "x": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(100))),
        },
    )
    return parse("SELECT k, median(x) AS m, min(x) AS low, count(*) AS n FROM t GROUP BY k", {"t": table})


def rows() -> list[dict[str, Value]]:
    return [{"u": i % 90, "k": (i * i) % 47, "x": None if i % 13 == 0 else float(i * 7 % 110)} for i in range(500)]


@pytest.mark.parametrize("limit", ["row", "max_rows", "reach"])
def test_blocks_are_the_counts_of_all_groups(engine: Opener, limit: Limit, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, taken = plan(limit), dict[int, list[int]]()
    bins = asked.bundles[0].measures[0].bins
    monkeypatch.setattr("tacit.query.histograms.AT_ONCE", 3 * bins)
    for module in ("duckdb", "postgres", "spark"):
        monkeypatch.setattr(f"tacit.engines.{module}.engine.BATCH", 7)
    sizes = []

    def absorb(indices: tuple[int, ...], blocks: Iterator[Counts]) -> None:
        for counts in blocks:
            sizes.append(counts.size)
            for index in indices:
                taken.setdefault(index, []).extend(counts.tolist())

    with engine(KINDS, rows()) as opened:
        expected = opened.measure_with(asked, SECRET)
        others = opened.measure_with(asked, SECRET, absorb)
    binned = [index for index, integers in enumerate(expected) if len(integers) > GROUPS]
    assert sorted(taken) == binned
    assert sizes == [3 * bins] * 13 + [bins]
    assert [taken.get(index, others[index]) for index in range(len(expected))] == [list(each) for each in expected]
    assert all(any(expected[index]) for index in binned)
