"""Marginals of every engine: at a huge ε all engines give the counts that are written by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tacit as tc
from contract.tables import Opener
from contract.test_coded_rows import CODES, KINDS, ROWS, policy
from tacit.synthetic.domain import domain_of
from tacit.synthetic.laplace_marginals import laplace_marginals
from tacit.synthetic.marginal_release import Columns
from tacit.synthetic.reading import StoredRows

BINS = {"age": [0.0, 50.0, 100.0], "children": [0, 2.5, 10]}
SETS: dict[Columns, float] = {(0, 1): 1.0, (1, 2, 3): 1.0, (0,): 1.0}


@pytest.mark.parametrize("unit", ["u", tc.ROW])
def test_all_engines_release_the_same_integers_without_noise(engine: Opener, unit: object) -> None:
    """A unit with three rows and a reach of two counts as two rows less the rounding of its weights."""
    domain = domain_of(policy(unit), ["sex", "age", "children", "urban"], BINS)
    scale = 1 << domain.coded.bits
    noise = laplace_marginals(SETS, domain.sizes, domain.reach * scale, scale, Fraction(10**12), "add/remove")
    stored = StoredRows(domain.coded)
    with engine(KINDS, ROWS) as opened:  # type: ignore[arg-type]  # the kinds are literals
        opened.read_codes(domain.coded, stored.absorb)
    released = noise.measure(stored)
    assert set(released) == set(noise.amounts)
    for columns, cells in released.items():
        expected: dict[tuple[int, ...], int] = {}
        for row, codes in zip(ROWS, CODES, strict=True):
            weight = 1 if unit is tc.ROW else 0 if row["u"] is None else 2**17 // 3 if row["u"] == 1 else 2**16
            place = tuple(codes[column] for column in columns)
            expected[place] = expected.get(place, 0) + weight
        assert all(cells[place] == weight for place, weight in expected.items())
        assert int(cells.sum()) == sum(expected.values())
