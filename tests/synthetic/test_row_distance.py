"""The sensitivity of measured distances, by brute force over neighbouring tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.guarantees.events import Neighbours
from tacit.synthetic.coded_rows import ArrayRows
from tacit.synthetic.pair_tables import Columns, Law
from tacit.synthetic.row_distance import sum_noise, sum_of_distances, tables_of

SIZES = (2, 2, 2)
CELLS = list(product(range(2), repeat=3))


def largest_change(neighbours: Neighbours) -> int:
    """Return how far one unit of one row moves the sum of distances of all pairs, over random tables and targets."""
    random, tables = np.random.default_rng(0), tables_of(SIZES, 2)
    found = 0
    for _ in range(20):
        targets: dict[Columns, np.ndarray] = {table: random.integers(0, 4, (2, 2)) for table in tables}
        rows = [CELLS[place] for place in random.integers(0, 8, 5)]
        alone = [distance([*rows, cell], targets) for cell in CELLS]
        other = alone if neighbours == "change one" else [distance(rows, targets)]
        found = max(found, *(abs(one - two) for one, two in product(alone, other)))
    return found


def distance(rows: list[tuple[int, ...]], targets: dict[Columns, np.ndarray]) -> int:
    codes = np.array(rows, dtype=np.uint16)
    return sum_of_distances(ArrayRows(codes, np.ones(len(rows), dtype=np.int64), SIZES), targets)


@pytest.mark.parametrize(("neighbours", "change"), [("add/remove", 3), ("change one", 6)])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_noise_is_for_the_largest_change(neighbours: Neighbours, change: int, law: Law) -> None:
    """The sum is one signed number: a changed unit moves it twice as far in L2 too, and not √2 times."""
    assert largest_change(neighbours) == change
    noise = sum_noise(law, Fraction(1), len(tables_of(SIZES, 2)), steps=1, neighbours=neighbours)
    assert noise.sensitivity == (change**2 if law == "gaussian" else change)
