"""Additive noise: the base of the Laplace and the Gaussian mechanism."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arrays import WideInts
from tacit.guarantees.exact import Exact
from tacit.guarantees.laplace_law import per_output
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.grid import ValueGrid, add
from tacit.mechanisms.validation import count_of, failure


class Additive(Frozen, ABC):
    """Exact integer noise on a grid. A subclass fixes the law and the guarantee."""

    _grid: ValueGrid

    def _set_grid(self, size: Fraction, grid: ValueGrid) -> None:
        """Store the grid and the attributes that follow from it."""
        self._grid = grid
        self.sensitivity = Exact(size)
        self.granularity = float(grid.step)
        self.outputs = grid.outputs

    @abstractmethod
    def _draw(self, size: int) -> WideInts:
        """Draw noise in grid steps."""

    @abstractmethod
    def _quantile(self, beta: Decimal) -> int:
        """Return the least t ≥ 0 with Pr[|K| > t] ≤ β."""

    def release(self, value: npt.ArrayLike) -> int | float | npt.NDArray[np.generic]:
        """Return the value with fresh noise: a number for a number, an array for an array."""
        indices, shape = self._grid.read(value)
        return self._grid.write(add(indices, self._draw(indices.size)), shape)

    def error(self, *, confidence: float = 0.95, outputs: int | None = None) -> int | float:
        """Return the bound that |noise| keeps with this confidence, jointly over `outputs` (by default all of them).

        The least t with Pr[all |Kᵢ| ≤ t] ≥ confidence, from the exact tail; for reals times the step, plus half
        a step for the rounding of the value.
        """
        m = count_of(self.outputs if outputs is None else outputs, "outputs")
        steps = self._quantile(per_output(failure(confidence), m))
        return steps if self._grid.integral else float((steps + Fraction(1, 2)) * self._grid.step)
