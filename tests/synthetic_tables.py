"""A small table of dependent columns, with its exact counts."""

import numpy as np

from tacit.arrays import Ints
from tacit.synthetic.coded_rows import ArrayRows, Counts
from tacit.synthetic.pair_tables import Columns, pairs_of, singles_of

SIZES = (2, 3, 2)
EXACT = {1: 0.0, 2: 0.0, 3: 0.0}


def dependent_rows(n: int = 20_000) -> Ints:
    generator = np.random.default_rng(5)
    first = generator.integers(0, 2, n)
    second = np.where(generator.random(n) < 0.8, first, generator.integers(0, 3, n))
    third = np.where(generator.random(n) < 0.7, second % 2, generator.integers(0, 2, n))
    return np.stack([first, second, third], axis=1)


def exact_tables(rows: Ints, more: list[Columns] | None = None) -> dict[Columns, Counts]:
    coded = ArrayRows(rows.astype(np.uint16), np.ones(len(rows), dtype=np.int64), SIZES)
    return {table: coded.counts(table) for table in [*singles_of(3), *pairs_of(3), *(more or [])]}
