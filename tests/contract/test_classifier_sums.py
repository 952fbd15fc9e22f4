"""The sums of a classifier from the coded rows of every engine, against sums that Python adds row by row."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tacit as tc
from contract.tables import Opener
from contract.test_coded_rows import CODES, KINDS, ROWS, policy
from tacit.learn import private_sums
from tacit.learn.fitting import Setting, fit
from tacit.learn.noise_budget import concentrated_budget
from tacit.learn.private_sums import GRID, OFFSET, UNIT
from tacit.synthetic.domain import domain_of
from tacit.synthetic.reading import StoredRows

BINS = {"age": [0.0, 50.0, 100.0], "children": [0, 2.5, 10]}
FEATURES, TARGET = (0, 1, 2), 3
CLASSES = (0, 1, -1)  # urban is false or true; rows where it is missing do not count
WEIGHTS = np.linspace(-1, 1, 10)


def weight_of(row: dict[str, Any], unit: object) -> int:
    """Return the weight of a row by hand, for a reach of two rows."""
    if unit is tc.ROW:
        return 1
    return 0 if row["u"] is None else 2**17 // 3 if row["u"] == 1 else 2**16


@pytest.mark.parametrize("unit", ["u", tc.ROW])
def test_sums_are_those_of_the_rows(engine: Opener, unit: object) -> None:
    domain = domain_of(policy(unit), ["sex", "age", "children", "urban"], BINS)
    stored = StoredRows(domain.coded)
    with engine(KINDS, ROWS) as opened:  # type: ignore[arg-type]  # the kinds are literals
        opened.read_codes(domain.coded, stored.absorb)
    layout = private_sums.layout_of(domain.sizes, FEATURES, TARGET, CLASSES)
    steps, starts = private_sums.weight_steps(WEIGHTS[None], np.array([0.2])), layout.starts
    counts, sums = np.zeros((2, layout.cells), dtype=np.int64), np.zeros(layout.cells + 1, dtype=np.int64)
    for row, codes in zip(ROWS, CODES, strict=True):
        label, weight = CLASSES[codes[TARGET]], weight_of(row, unit)
        if label < 0 or not weight:
            continue
        score = private_sums.row_scores(np.array([codes], dtype=np.uint16), layout, steps)[0]
        r = int(private_sums.residuals(score, np.array([label]))[0])
        sums[-1] += OFFSET * r * weight
        for place in FEATURES:
            counts[label, starts[place] + codes[place]] += UNIT * weight
            sums[starts[place] + codes[place]] += UNIT * min(max(r, -500), 500) * weight
    plain = [UNIT] * len(FEATURES)
    assert (private_sums.class_counts(stored, layout, plain) == counts).all()
    assert (private_sums.residual_sums(stored, layout, plain, WEIGHTS, 0.2, 500) == sums).all()
    setting = Setting(layout, stored.scale, stored.reach, "add/remove")
    found = fit(stored, setting, concentrated_budget(Fraction(10**6)), accuracy=Fraction(1, 10))
    assert abs(found.tables.size - counts[:, :4].sum() / stored.scale / UNIT) < 0.1
    assert GRID > 500  # so the residuals above were clipped
