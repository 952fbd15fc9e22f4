"""The compiled loop of `latent_rows`. numba caches it on disk; functions import it when needed."""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.arrays import Floats, Ints
from tacit.synthetic.latent_rows import Gaps


def exchange(rows: Ints, sizes: Ints, gaps: Gaps, columns: Ints, both: Ints) -> int:
    """Exchange codes of two rows in a column where this lowers the squared gaps; return how many were exchanged."""
    return int(_exchange(rows, sizes, gaps.values, gaps.pairs, gaps.triples, columns, both))


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # numba ships no types
def _exchange(rows: Ints, sizes: Ints, gaps: Floats, pairs: Ints, triples: Ints, columns: Ints, both: Ints) -> int:
    width = sizes.size
    places = np.zeros((2 + width * (width + 1) // 2, 4), dtype=np.int64)
    done = 0
    for trial in range(columns.size):
        i, r, s = columns[trial], both[0, trial], both[1, trial]
        a, b = rows[r, i], rows[s, i]
        if a == b:
            continue
        used = _cells(rows, sizes, pairs, triples, places, i, r, s)
        change = 0.0
        for t in range(used):
            change += gaps[places[t, 1]] + gaps[places[t, 3]] - gaps[places[t, 0]] - gaps[places[t, 2]] + 2.0
        if change < 0:
            for t in range(used):
                gaps[places[t, 0]] -= 1
                gaps[places[t, 2]] -= 1
                gaps[places[t, 1]] += 1
                gaps[places[t, 3]] += 1
            rows[r, i], rows[s, i] = b, a
            done += 1
    return done


@njit(cache=True)  # type: ignore[misc,unused-ignore]  # as above
def _cells(rows: Ints, sizes: Ints, pairs: Ints, triples: Ints, places: Ints, i: int, r: int, s: int) -> int:
    """Write the cells that an exchange leaves (0, 2) and enters (1, 3), for each table that changes.

    In cell t, column i has the code of row own[t] and the other columns have those of row rest[t].
    """
    used, width = 0, sizes.size
    own, rest = (r, s, s, r), (r, r, s, s)
    for j in range(width):
        start = pairs[min(i, j), max(i, j)]
        if start >= 0 and j != i and rows[r, j] != rows[s, j]:
            for t in range(4):
                code, other = rows[own[t], i], rows[rest[t], j]
                places[used, t] = start + (code * sizes[j] + other if i < j else other * sizes[i] + code)
            used += 1
        for k in range(j + 1, width):
            if i in (j, k) or (rows[r, j] == rows[s, j] and rows[r, k] == rows[s, k]):
                continue
            x, y, z = (i, j, k) if i < j else ((j, i, k) if i < k else (j, k, i))
            start = triples[x, y, z]
            if start < 0:
                continue
            for t in range(4):
                p = rows[own[t] if x == i else rest[t], x]
                q = rows[own[t] if y == i else rest[t], y]
                w = rows[own[t] if z == i else rest[t], z]
                places[used, t] = start + (p * sizes[y] + q) * sizes[z] + w
            used += 1
    return used
