"""Coded rows of every engine against codes that are written by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from contract.tables import Opener
from tacit.query.policy import TablePolicy
from tacit.synthetic.domain import domain_of
from tacit.synthetic.reading import StoredRows

NAN = float("nan")
KINDS = {"u": "integer", "sex": "text", "age": "real", "children": "integer", "urban": "boolean"}
ROWS: list[dict[str, Any]] = [
    {"u": 1, "sex": "F", "age": 10.0, "children": 0, "urban": True},
    {"u": 1, "sex": "M", "age": 20.0, "children": 2, "urban": False},
    {"u": 1, "sex": None, "age": NAN, "children": None, "urban": None},
    {"u": 2, "sex": "F", "age": -5.0, "children": 1, "urban": True},
    {"u": 2, "sex": "x", "age": 1e300, "children": 99, "urban": False},
    {"u": None, "sex": "F", "age": 30.0, "children": 3, "urban": True},
    {"u": 3, "sex": "M", "age": 50.0, "children": 3, "urban": None},
]
CODES = [(0, 0, 0, 1), (1, 0, 0, 0), (2, 2, 2, 2), (0, 0, 0, 1), (3, 1, 1, 0), (0, 0, 1, 1), (1, 1, 1, 2)]
"""Keys F, M, missing, other; ages to 50, from 50, missing; children to 2, from 3, missing; false, true, missing."""


def policy(unit: object) -> TablePolicy:
    """Return the policy of the table; it is opened on one row, because the engine under test reads the others."""
    frame = pd.DataFrame({"u": [1], "sex": ["F"], "age": [1.0], "children": [1], "urban": [True]})
    database = tc.open(
        frame,
        unit=unit,  # type: ignore[arg-type]  # a name or tc.ROW
        reach=None if unit is tc.ROW else 2,
        keys={"sex": ["F", "M"]},
        budget=tc.PureDP(epsilon=1),
    )
    return next(iter(database._session.tables.values()))


@pytest.mark.parametrize("unit", ["u", tc.ROW])
def test_codes_and_weights_are_those_of_the_rows(engine: Opener, unit: object) -> None:
    """A row of a unit with three rows and a reach of two weighs ⌊2^17/3⌋; rows without a unit do not count."""
    bins = {"age": [0.0, 50.0, 100.0], "children": [0, 2.5, 10]}
    domain = domain_of(policy(unit), ["sex", "age", "children", "urban"], bins)
    stored = StoredRows(domain.coded)
    with engine(KINDS, ROWS) as opened:  # type: ignore[arg-type]  # the kinds are literals
        opened.check_codes(domain.coded)
        opened.read_codes(domain.coded, stored.absorb)
    expected: Counter[tuple[int, ...]] = Counter()
    for row, codes in zip(ROWS, CODES, strict=True):
        if unit is tc.ROW:
            expected[codes] += 1
        elif row["u"] is not None:
            expected[codes] += 2**17 // 3 if row["u"] == 1 else 2**16
    cells = stored.counts([0, 1, 2, 3])
    assert {codes: int(cells[codes]) for codes in expected} == expected
    assert cells.sum() == sum(expected.values()) == sum(int(weights.sum()) for _, weights in stored.batches())
