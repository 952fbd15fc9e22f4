"""The sensitivity of residuals against brute force over all neighbours."""

from functools import reduce
from itertools import product

import numpy as np
import pytest

from tacit.synthetic.residuals import squared_sensitivity


@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 2), (2, 3), (4, 3), (2, 2, 2), (3, 2, 4)])
def test_sensitivity_is_the_largest_change_of_all_neighbours(sizes: tuple[int, ...]) -> None:
    """A unit with at most two steps: every placement of them, added, or in place of every other."""
    matrix = reduce(np.kron, [n * np.eye(n, dtype=np.int64) - 1 for n in sizes]).astype(np.int64)
    cells = np.eye(len(matrix), dtype=np.int64)
    units = [np.zeros(len(matrix), dtype=np.int64), *cells]
    units += [a + b for a, b in product(cells, repeat=2)]
    added = max(int(np.sum((matrix @ unit) ** 2)) for unit in units)
    images = np.array([matrix @ unit for unit in units])
    changed = max(int(np.max(np.sum((images - image) ** 2, axis=1))) for image in images)
    assert added == squared_sensitivity(sizes, 2, "add/remove")
    assert changed == squared_sensitivity(sizes, 2, "change one")
