"""The tables of synthetic rows on every engine, with hardly any noise, against counts that are written by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any, cast

import numpy as np
import pytest

import tacit as tc
from contract.tables import Opener
from contract.test_coded_rows import CODES, KINDS, ROWS, policy
from tacit.synthetic.domain import domain_of
from tacit.synthetic.fast import fast_content, fast_model
from tacit.synthetic.reading import StoredRows

BINS = {"age": [0.0, 50.0, 100.0], "children": [0, 2.5, 10]}
COLUMNS = ["sex", "age", "children", "urban"]


@pytest.mark.parametrize("unit", ["u", tc.ROW])
@pytest.mark.parametrize("target", [None, 3])
def test_the_tables_are_those_of_the_rows(engine: Opener, unit: object, target: int | None) -> None:
    """At ρ = 10^9 noise moves no count: σ < 0.001 steps of rows of weight 1, and 2^16 steps are a row otherwise."""
    domain = domain_of(policy(unit), COLUMNS, BINS)
    stored = StoredRows(domain.coded)
    with engine(KINDS, ROWS) as opened:  # type: ignore[arg-type]  # the kinds are literals
        opened.read_codes(domain.coded, stored.absorb)
    content = fast_content(stored, domain.sizes, rho=Fraction(10**9), neighbours="add/remove", target=target)
    weights = [weight_of(row, unit) for row in ROWS]
    tables = {tuple(table): counts for table, counts in cast("Any", content["tables"])}
    for number in (1, 2):
        for table in combinations(range(4), number):
            assert np.abs(np.array(tables[table]) / stored.scale - expected(domain.sizes, table, weights)).max() < 0.01
    assert (0, 1, 3) in tables or target is None
    model = fast_model(content, domain.sizes)
    assert model.total == pytest.approx(sum(weights), abs=0.05)
    drawn = model.draw(2_000, np.random.default_rng(1))
    assert {tuple(row) for row in drawn[:, [3]].tolist()} == {(0,), (1,), (2,)}


def weight_of(row: dict[str, Any], unit: object) -> float:
    if unit is tc.ROW:
        return 1.0
    return 0.0 if row["u"] is None else min(1.0, 2 / sum(other["u"] == row["u"] for other in ROWS))


def expected(sizes: tuple[int, ...], table: tuple[int, ...], weights: list[float]) -> np.ndarray[Any, Any]:
    cells = np.zeros([sizes[column] for column in table])
    for codes, weight in zip(CODES, weights, strict=True):
        cells[tuple(codes[column] for column in table)] += weight
    return cells.ravel()
