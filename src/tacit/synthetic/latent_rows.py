"""Rows of codes from a latent-class model, closer to the tables of the model than independent rows.

1. The number of rows of each class is n·w_k, rounded by one random offset. Within a class each column has its codes in
   proportion, rounded by a random offset, and in random order.
2. Two random rows exchange their codes in one column if all pairs, and the triples that fit a public limit, then
   are nearer to n times their probabilities, in squared error. Exchanges keep the counts of each column.

Independent rows err by √(np) in a count of np rows; these err by a few rows. Rows come in random order. Public numbers
limit the work of step 2: n, the number of columns and their sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from tacit.arrays import Floats, Ints
from tacit.synthetic.latent_model import LatentModel

_MOST_CELLS, _MOST_TABLE, _BATCH = 2**21, 2**16, 2**20
_LOOKUPS = 4 * 10**8
"""The largest number of counts that step 2 reads: about 3 CPU seconds."""
_EXCHANGES = 200
"""The tried exchanges per row."""


def draw_rows(model: LatentModel, n: int, generator: np.random.Generator) -> Ints:
    """Return n rows of codes."""
    rows = _stratified(model, n, generator)
    _exchange(model, rows, generator)
    return rows[generator.permutation(n)]


def _stratified(model: LatentModel, n: int, generator: np.random.Generator) -> Ints:
    """Draw rows by step 1, class after class."""
    rows = np.zeros((n, len(model.chances)), dtype=np.int64)
    ends = np.floor(np.cumsum(model.weights) / model.weights.sum() * n + generator.random()).astype(np.int64)
    ends[-1] = n
    numbers = np.diff(np.minimum(ends, n), prepend=0)
    classes = np.repeat(np.arange(numbers.size), numbers)
    ranks = np.arange(n) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    for column, chances in enumerate(model.chances):
        steps = np.cumsum(chances, axis=1)
        steps /= steps[:, -1:]
        flat = (steps + np.arange(len(steps))[:, None]).ravel()
        places = (ranks + generator.random(numbers.size)[classes]) / numbers[classes]
        codes = np.searchsorted(flat, classes + places, side="right") - classes * chances.shape[1]
        codes = codes.clip(0, chances.shape[1] - 1)
        rows[np.lexsort((generator.random(n), classes)), column] = codes
    return rows


@dataclass(frozen=True, slots=True)
class Gaps:
    """Counts of rows minus expected counts, for all tables one after another, and where each table starts."""

    values: Floats
    pairs: Ints
    """The place of the table of columns i < j, or -1."""
    triples: Ints
    """The place of the table of columns i < j < k, or -1."""


def gaps_of(model: LatentModel, rows: Ints) -> Gaps:
    """Return the gaps of all pairs and triples that fit the limits, pairs and small triples first."""
    varied = [column for column, size in enumerate(model.sizes) if size > 1 and np.ptp(rows[:, column]) > 0]
    cells = {table: prod(model.sizes[c] for c in table) for size in (2, 3) for table in combinations(varied, size)}
    pairs, triples = (np.full((len(model.sizes),) * size, -1, dtype=np.int64) for size in (2, 3))
    parts, used = [np.zeros(0)], 0
    for table in sorted(cells, key=lambda each: (len(each), cells[each])):
        if cells[table] > _MOST_TABLE or used + cells[table] > _MOST_CELLS:
            continue
        (pairs if len(table) == 2 else triples)[table] = used  # noqa: PLR2004 - a pair
        used += cells[table]
        place = np.ravel_multi_index([rows[:, c] for c in table], [model.sizes[c] for c in table])
        parts.append(np.bincount(place, minlength=cells[table]) - len(rows) * model.table(table).ravel())
    return Gaps(np.concatenate(parts), pairs, triples)


def _exchange(model: LatentModel, rows: Ints, generator: np.random.Generator) -> None:
    """Exchange codes of rows by step 2, in place."""
    if len(rows) < 2:  # noqa: PLR2004 - an exchange needs two rows
        return
    gaps = gaps_of(model, rows)
    varied = np.flatnonzero((gaps.pairs >= 0).any(axis=0) | (gaps.pairs >= 0).any(axis=1))
    if not varied.size:
        return
    from tacit.synthetic.row_kernels import exchange  # noqa: PLC0415 - numba is slow to import

    tables = int((gaps.pairs >= 0).sum() * 2 + (gaps.triples >= 0).sum() * 3)
    left = min(_EXCHANGES * len(rows), _LOOKUPS * varied.size // (4 * tables))
    sizes = np.array(model.sizes, dtype=np.int64)
    while left > 0:
        some = min(left, _BATCH)
        left -= some
        columns = varied[generator.integers(0, varied.size, some)]
        exchange(rows, sizes, gaps, columns, generator.integers(0, len(rows), (2, some)))
