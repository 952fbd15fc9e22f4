"""The fit of a latent-class model to noisy tables. Everything here is post-processing: it reads no private data.

The fit minimises, over all models with K classes,

    Σ over tables of ‖N·p_c - y_c‖²/(2σ_c²)  +  α·N·Σ_i I(class; x_i)

The first sum is the negative log-likelihood of noisy counts y_c with variance σ_c². The second is the mutual
information of the class with each column, which is at least the relative entropy of the model to independent columns.
It makes the model as independent as the noise admits: a dependence enters only where it explains more than it costs.
A larger K hardly changes the minimum, since a class that explains nothing equals the mean.

The steps are those of Adam (Kingma and Ba, arXiv:1412.6980) on the logarithms of weights and chances, from a fixed
start, with a step length that falls to 0. The result depends on the noisy tables and on public numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.synthetic.latent_model import LatentModel, outer

Reals: TypeAlias = npt.NDArray[np.floating[Any]]

_FIRST, _SECOND, _TINY = 0.9, 0.99, 1e-15
_SPREAD, _START = 0.1, 0.2
_LEAST = 1e-30
WIDE = 2_000
"""The largest number of codes of all columns for which all pairs are one product of matrices."""


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """A measured table: its columns, noisy counts in rows (flat) and the variance of each count."""

    columns: tuple[int, ...]
    values: Floats
    variance: float


class _Adam:
    """The means of the slopes of some values, and of their squares."""

    def __init__(self, values: Reals) -> None:
        """Start without slopes; the values change in place."""
        self._values, self._first, self._second, self._steps = values, np.zeros_like(values), np.zeros_like(values), 0

    def step(self, slope: Reals, rate: float) -> None:
        """Change each value by about a rate, against its slope."""
        self._steps += 1
        self._first += (1 - _FIRST) * (slope - self._first)
        self._second += (1 - _SECOND) * (slope * slope - self._second)
        scale = np.sqrt(self._second / (1 - _SECOND**self._steps)) + _TINY
        self._values -= rate / (1 - _FIRST**self._steps) * self._first / scale


@dataclass(slots=True)
class Fit:
    """A fit to tables of at most three columns; `run` continues from where the last run stopped."""

    sizes: tuple[int, ...]
    tables: Sequence[NoisyTable]
    total: float
    classes: int
    alpha: float
    starts: Sequence[Floats]
    """The shares of each column to start from."""
    _logits: Reals = field(init=False)
    _log_weights: Reals = field(init=False)
    _offsets: tuple[int, ...] = field(init=False)
    _singles: list[NoisyTable] = field(init=False)
    _others: list[NoisyTable] = field(init=False)
    _target: Reals | None = field(init=False)
    _precision: Reals | None = field(init=False)

    def __post_init__(self) -> None:
        """Start near independent columns."""
        self._offsets = (0, *np.cumsum(self.sizes).tolist())
        logs = np.concatenate([np.log(np.maximum(share, 1e-9)) for share in self.starts])
        generator = np.random.default_rng(1)  # public: a fixed start breaks the symmetry of the classes
        self._logits = (logs + _SPREAD * generator.standard_normal((self.classes, logs.size))).astype(np.float32)
        self._log_weights = np.zeros(self.classes, dtype=np.float32)
        wide = self._offsets[-1] <= WIDE
        self._others = [self._largest_last(table) for table in self.tables if len(table.columns) > (2 if wide else 0)]
        self._target = self._precision = None
        self._singles = [table for table in self.tables if wide and len(table.columns) == 1]
        if wide:
            self._gather([table for table in self.tables if len(table.columns) == 2])  # noqa: PLR2004 - pairs

    def _largest_last(self, table: NoisyTable) -> NoisyTable:
        """Return the same table with its largest column last, where it costs least."""
        order = sorted(range(len(table.columns)), key=lambda axis: self.sizes[table.columns[axis]])
        shape = tuple(self.sizes[column] for column in table.columns)
        values = table.values.reshape(shape).transpose(order).ravel()
        return NoisyTable(tuple(table.columns[axis] for axis in order), values, table.variance)

    def _gather(self, pairs: Sequence[NoisyTable]) -> None:
        """Write all pairs above the diagonal of one square matrix, with their precisions."""
        codes = self._offsets[-1]
        target, precision = (np.zeros((codes, codes), dtype=np.float32) for _ in range(2))
        for table in pairs:
            rows, columns = (self._place(column) for column in table.columns)
            shape = tuple(self.sizes[column] for column in table.columns)
            target[rows, columns] = table.values.reshape(shape) / self.total
            precision[rows, columns] = self.total / table.variance
        self._target, self._precision = target, precision

    def _place(self, column: int) -> slice:
        return slice(self._offsets[column], self._offsets[column + 1])

    def run(self, steps: int, length: float = _START) -> None:
        """Take some steps."""
        states = [_Adam(self._logits), _Adam(self._log_weights)]
        for step in range(steps):
            rate = length * 0.5 * (1 + float(np.cos(np.pi * step / steps)))
            for state, slope in zip(states, self._slopes(), strict=True):
                state.step(slope, rate)

    def model(self) -> LatentModel:
        """Return the fitted model."""
        weights, chances = self._shares()
        exact = [chances[:, self._place(column)].astype(np.float64) for column in range(len(self.sizes))]
        shares = weights.astype(np.float64)
        return LatentModel(shares / shares.sum(), tuple(each / each.sum(axis=1, keepdims=True) for each in exact))

    def _shares(self) -> tuple[Reals, Reals]:
        """Return the weights and the chances of all columns, from their logarithms."""
        top = np.repeat(np.maximum.reduceat(self._logits, self._offsets[:-1], axis=1), self.sizes, axis=1)
        powers = np.exp(self._logits - top)
        powers /= np.repeat(np.add.reduceat(powers, self._offsets[:-1], axis=1), self.sizes, axis=1)
        weights = np.exp(self._log_weights - self._log_weights.max())
        return weights / weights.sum(), powers

    def _slopes(self) -> tuple[Reals, Reals]:
        """Return the derivatives of the objective, divided by the number of rows, by the logarithms."""
        weights, chances = self._shares()
        by_chance, by_weight = self._information_slopes(weights, chances)
        self._add_pairs(weights, chances, by_chance, by_weight)
        for table in [*self._singles, *self._others]:
            self._add_table(table, weights, chances, by_chance, by_weight)
        product = chances * by_chance
        product -= chances * np.repeat(np.add.reduceat(product, self._offsets[:-1], axis=1), self.sizes, axis=1)
        return product, weights * (by_weight - weights @ by_weight)

    def _information_slopes(self, weights: Reals, chances: Reals) -> tuple[Reals, Reals]:
        mean = weights @ chances
        logs = np.log(np.maximum(chances, _LEAST)) - np.log(np.maximum(mean, _LEAST))
        logs *= np.float32(self.alpha)
        return weights[:, None] * logs, np.einsum("ka,ka->k", chances, logs)

    def _add_pairs(self, weights: Reals, chances: Reals, by_chance: Reals, by_weight: Reals) -> None:
        """Add the derivatives of all pairs."""
        if self._target is None or self._precision is None:
            return
        weighted = weights[:, None] * chances
        gap = (weighted.T @ chances - self._target) * self._precision
        right = chances @ gap
        by_weight += np.einsum("ka,ka->k", right, chances)
        by_chance += weights[:, None] * right
        by_chance += weighted @ gap.T

    def _add_table(self, table: NoisyTable, weights: Reals, chances: Reals, by_chance: Reals, by_weight: Reals) -> None:
        """Add the derivatives of one table."""
        places = [self._place(column) for column in table.columns]
        last, parts = places[-1], [chances[:, place] for place in places]
        product = weights[:, None]
        for part in parts[:-1]:
            product = outer(product, part)
        gap = product.T @ parts[-1] - (table.values / self.total).astype(np.float32).reshape(product.shape[1], -1)
        gap *= np.float32(self.total / table.variance)
        by_last = product @ gap
        by_weight += np.einsum("ka,ka->k", by_last, parts[-1]) / np.maximum(weights, _LEAST)
        by_chance[:, last] += by_last
        if len(parts) == 1:
            return
        by_product = parts[-1] @ gap.T  # classes by the codes of the other columns
        if len(parts) == 2:  # noqa: PLR2004 - a pair
            by_chance[:, places[0]] += weights[:, None] * by_product
            return
        block = by_product.reshape(len(weights), parts[0].shape[1], parts[1].shape[1])
        by_chance[:, places[0]] += weights[:, None] * np.einsum("kab,kb->ka", block, parts[1])
        by_chance[:, places[1]] += weights[:, None] * np.einsum("kab,ka->kb", block, parts[0])
