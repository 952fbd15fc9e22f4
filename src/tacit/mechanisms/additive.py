"""What Laplace and Gaussian share: values on a lattice, noise added, an error bound from its quantile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacit.arrays import WideInts
from tacit.guarantees.exact import Exact
from tacit.guarantees.laplace_law import per_output
from tacit.mechanisms.frozen import Fixed
from tacit.mechanisms.grid import Lattice, add
from tacit.mechanisms.validation import count_of, failure


class Additive(Fixed, ABC):
    """Exact integer noise on a lattice; a child fixes the law and the guarantee."""

    _lattice: Lattice

    def _settle(self, size: Fraction) -> None:
        """Keep what the caller may ask for."""
        self.sensitivity = Exact(size)
        self.granularity = float(self._lattice.step)
        self.outputs = self._lattice.outputs

    @abstractmethod
    def _draw(self, size: int) -> WideInts:
        """Draw noise in grid steps."""

    @abstractmethod
    def _quantile(self, beta: Decimal) -> int:
        """Return the least t ≥ 0 with Pr[|K| > t] ≤ β."""

    def release(self, value: npt.ArrayLike) -> int | float | npt.NDArray[np.generic]:
        """Return the value with fresh noise: a number for a number, an array for an array."""
        indices, shape = self._lattice.read(value)
        return self._lattice.write(add(indices, self._draw(indices.size)), shape)

    def error(self, *, confidence: float = 0.95, outputs: int | None = None) -> int | float:
        """Return the bound that |noise| keeps with this confidence, jointly over `outputs` (by default its own).

        The least t with Pr[all |Kᵢ| ≤ t] ≥ confidence, from the exact tail; for reals times the step, plus half
        a step for the rounding of the value.
        """
        m = count_of(self.outputs if outputs is None else outputs, "outputs")
        steps = self._quantile(per_output(failure(confidence), m))
        return steps if self._lattice.integral else float((steps + Fraction(1, 2)) * self._lattice.step)
