"""Additive noise: the base of the Laplace and the Gaussian mechanism."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arrays import WideInts
from tacit.errors import InvalidError
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

    @abstractmethod
    def _log_ratio(self, one: int, other: int) -> Fraction:
        """Return ln Pr[K = one] - ln Pr[K = other], exactly."""

    @abstractmethod
    def _close(self, gaps: list[int]) -> bool:
        """Return whether values that differ by these steps can be those of neighbours."""

    def _loss_at(self, output: object, on: object, against: object) -> float:
        """Return the privacy loss at an output; losses of independent numbers add up."""
        read = [self._grid.read(value, name) for value, name in ((output, "output"), (on, "on"), (against, "against"))]
        (result, shape), (first, shape_on), (second, shape_against) = read
        if not shape == shape_on == shape_against:
            raise InvalidError("output, on and against must have one shape.", argument="output")
        if not self._grid.integral and not np.array_equal(self._grid.write(result, shape), np.asarray(output)):
            raise InvalidError(
                "output is not on the grid of the mechanism, so it is never released.",
                argument="output",
                hint=f"Use a multiple of the granularity {self.granularity}.",
            )
        outputs, values, others = result.tolist(), first.tolist(), second.tolist()
        if not self._close([a - b for a, b in zip(values, others, strict=True)]):
            message = "on and against differ by more than the sensitivity, so they are not neighbours."
            raise InvalidError(message, argument="against")
        pairs = ((z - a, z - b) for z, a, b in zip(outputs, values, others, strict=True))
        return float(sum((self._log_ratio(*pair) for pair in pairs), Fraction(0)))

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
