"""Draw rows along a tree of pairs and weigh them so that they agree with all tables. Post-processing only.

**Candidates** are drawn along the tree: the root by its shares, each child by its pair with the parent. If some columns
are given, the law is the tree's conditional law, by one pass of messages from the leaves to the root.

**Weights** come from iterative proportional fitting (Deming and Stephan, Ann. Math. Stat. 11(4), 1940): for each table,
multiply the weights of its cells by the wanted share over the share of the candidates. A weight is a product of one
factor per cell, so the factors define a law on all rows, also on rows that are drawn later.

**Parts.** A sample of n rows differs from its law by sampling error. So rows are drawn in parts, each about half of the
rest, and each part is fitted to what the earlier parts still lack of the wanted counts. The error of all rows is then
that of the last and smallest part. The numbers of candidates and passes were chosen on generated tables, where twice as
many gained 0.0003 of TV2; the parts were set by judgement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats, Ints, concatenated
from tacit.synthetic.pair_tables import Columns

CANDIDATES, LARGEST_PART = 40_000, 2**16
_PASSES, _FACTOR_PASSES, _MOST_RATIO, _LEAST, _REST = 2, 6, 8.0, 1e-12, 1e-3
_SMALLEST_PART, _PARTS, _OFTEN, _MOST_WEIGHT = 100, 32, 16, 1e9
_COMMON = 0.999
"""With given codes, the largest of this share of the weights replaces larger ones; one row could have most weight."""


@dataclass(slots=True)
class TreeLaw:
    """A tree of pairs (edges are parent and child, parents first) and the tables that rows should agree with."""

    columns: Sequence[Floats]
    pairs: Mapping[Columns, Floats]
    edges: Sequence[tuple[int, int]]
    tables: Mapping[Columns, Floats]
    _factors: dict[Columns, Floats] = field(default_factory=dict)

    @property
    def root(self) -> int:
        """The first column that is drawn."""
        return self.edges[0][0] if self.edges else 0

    def draw(self, n: int, generator: np.random.Generator, given: Mapping[int, int] | None = None) -> Ints:
        """Return n rows of codes; with `given`, rows that have these codes."""
        if n == 0:
            return np.zeros((0, len(self.columns)), dtype=np.int64)
        if given:
            return self._draw_given(n, generator, given)
        drawn: list[Ints] = []
        have = {table: np.zeros(shares.size) for table, shares in self.tables.items()}
        done = 0
        for part in parts_of(n):
            rows = self.candidates(max(CANDIDATES, part * 3 // 2), generator)
            wanted = {table: _rest(shares.ravel(), have[table], done, part) for table, shares in self.tables.items()}
            places = self._places(rows)
            weights, _ = _fitted(places, wanted, _PASSES)
            picked = _picked(weights, part, generator)
            for table, place in places.items():
                have[table] += np.bincount(place[picked], minlength=have[table].size)
            drawn.append(rows[picked])
            done += part
        return concatenated(drawn)[generator.permutation(n)]

    def candidates(self, count: int, generator: np.random.Generator, given: Mapping[int, int] | None = None) -> Ints:
        """Return rows that are drawn along the tree."""
        known = given or {}
        messages = self._messages(known)
        rows = np.zeros((count, len(self.columns)), dtype=np.int64)
        start = self.columns[self.root] * messages[self.root]
        if not start.sum() > 0:  # the tree gives these codes no share
            rows = self.candidates(count, generator)
            rows[:, list(known)] = list(known.values())
            return rows
        rows[:, self.root] = _inverse(np.cumsum(start)[None, :], np.zeros(count, dtype=np.int64), generator)
        for parent, child in self.edges:
            chances = self._chances(parent, child) * messages[child]
            sums = chances.sum(axis=1, keepdims=True)
            chances = np.where(sums > 0, chances, self.columns[child][None, :] + _LEAST)
            rows[:, child] = _inverse(np.cumsum(chances, axis=1), rows[:, parent], generator)
        return rows

    def _messages(self, known: Mapping[int, int]) -> list[Floats]:
        """Return, by column and code, the chance of the known codes below that column in the tree."""
        messages = [np.ones(shares.size) for shares in self.columns]
        for column, code in known.items():
            messages[column] = (np.arange(self.columns[column].size) == code).astype(np.float64)
        for parent, child in reversed(self.edges) if known else ():
            messages[parent] = messages[parent] * (self._chances(parent, child) @ messages[child])
        return messages

    def _chances(self, parent: int, child: int) -> Floats:
        """Return the law of a child for each code of its parent."""
        table = self.pairs[min(parent, child), max(parent, child)]
        table = table if parent < child else table.T
        sums = table.sum(axis=1, keepdims=True)
        return np.where(sums > 0, table / np.maximum(sums, _LEAST), self.columns[child][None, :])

    def _places(self, rows: Ints) -> dict[Columns, npt.NDArray[np.int32]]:
        """Return the cell of each row in each table."""
        small = rows.astype(np.int32).T
        places = {}
        for table, shares in self.tables.items():
            place = small[table[0]]
            for column, size in zip(table[1:], shares.shape[1:], strict=True):
                place = place * np.int32(size) + small[column]
            places[table] = place
        return places

    def _draw_given(self, n: int, generator: np.random.Generator, given: Mapping[int, int]) -> Ints:
        if not self._factors:
            places = self._places(self.candidates(2 * CANDIDATES, generator))
            wanted = {table: shares.ravel() for table, shares in self.tables.items()}
            self._factors = _fitted(places, wanted, _FACTOR_PASSES, 1 / (2 * CANDIDATES))[1]
        drawn = []
        for start in range(0, n, LARGEST_PART):
            part = min(LARGEST_PART, n - start)
            rows = self.candidates(max(CANDIDATES, 2 * part), generator, given)
            logs = np.zeros(len(rows))
            for table, place in self._places(rows).items():
                logs += self._factors[table][place]
            logs = np.minimum(logs, np.quantile(logs, _COMMON))
            drawn.append(rows[_picked(np.exp(logs - logs.max()), part, generator)])
        return concatenated(drawn)[generator.permutation(n)]


def parts_of(n: int) -> Iterator[int]:
    """Yield the sizes of the parts of n rows.

    >>> list(parts_of(1_000))
    [500, 250, 125, 125]
    """
    left, least = n, max(_SMALLEST_PART, min(n, LARGEST_PART) // _PARTS)
    while left > 0:
        part = left if left <= 3 * least // 2 else min(LARGEST_PART, (left + 1) // 2)
        yield part
        left -= part


def _rest(shares: Floats, have: Floats, done: int, part: int) -> Floats:
    """Return the shares that the next part should have, so that all rows together have the wanted shares."""
    lacking = np.maximum(shares * (done + part) - have, 0.0) + _REST * part * shares
    return np.asarray(lacking / max(float(lacking.sum()), _LEAST), dtype=np.float64)


def _fitted(
    places: Mapping[Columns, npt.NDArray[np.int32]], wanted: Mapping[Columns, Floats], passes: int, rare: float = _LEAST
) -> tuple[Floats, dict[Columns, Floats]]:
    """Return weights with which rows agree with tables, and the logarithm of the factor of each cell of each table.

    Cells with a share of the candidates far below `rare` keep their weight: too few candidates show what they lack.
    """
    weights = np.ones(next(iter(places.values())).size)
    factors = {table: np.zeros(shares.size) for table, shares in wanted.items()}
    for _ in range(passes):
        for number, (table, shares) in enumerate(wanted.items()):
            current = np.bincount(places[table], weights, minlength=shares.size)
            ratio = ((shares + rare) / (current / weights.sum() + rare)).clip(1 / _MOST_RATIO, _MOST_RATIO)
            weights *= ratio[places[table]]
            factors[table] += np.log(ratio)
            if number % _OFTEN == 0:  # many tables of extreme ratios could overflow
                weights = (weights / weights.mean()).clip(1 / _MOST_WEIGHT, _MOST_WEIGHT)
    return weights, factors


def _picked(weights: Floats, count: int, generator: np.random.Generator) -> Ints:
    """Return the places of rows that are drawn by their weights, at even steps of the sum of weights."""
    upto = np.cumsum(weights)
    places = (np.arange(count) + generator.random()) / count * upto[-1]
    return np.asarray(np.searchsorted(upto, places, side="right").clip(max=weights.size - 1), dtype=np.int64)


def _inverse(steps: Floats, given: Ints, generator: np.random.Generator) -> Ints:
    """Draw codes by inversion: row r of `steps` is the distribution function for the code r that is given."""
    steps = steps / steps[:, -1:]
    flat = (steps + np.arange(len(steps))[:, None]).ravel()
    places = np.searchsorted(flat, generator.random(given.size) + given, side="right") - given * steps.shape[1]
    return np.asarray(places.clip(0, steps.shape[1] - 1), dtype=np.int64)
