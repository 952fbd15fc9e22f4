"""Additive noise: the base of the Laplace and the Gaussian mechanism.

`release` draws from `tacit.noise`. The functions of the law (`pmf`, `cdf`, …) and `sample` are for study: they read no
data and never touch the noise of a release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import exp, floor, isfinite, log1p, nan
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bools, Floats, WideInts
from tacit.errors import InvalidError
from tacit.guarantees.exact import Exact, Number, whole
from tacit.guarantees.laplace_law import per_output
from tacit.laws.continuous import ContinuousLaw
from tacit.laws.lattice import LatticeLaw
from tacit.laws.points import at_points, plain, read_points, read_probabilities
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.grid import ValueGrid, add
from tacit.mechanisms.inverse import confidence_near, read_error
from tacit.mechanisms.seeded import generator
from tacit.mechanisms.validation import count_of, failure

if TYPE_CHECKING:
    import altair as alt

    from tacit.mechanisms.charts.common import NoiseChart, Theme

_FAR = Fraction(1000)


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

    @cached_property
    @abstractmethod
    def _law(self) -> LatticeLaw:
        """The law of the noise in grid steps."""

    @property
    @abstractmethod
    def continuous(self) -> ContinuousLaw:
        """The continuous law of the textbooks with the same parameter. The noise that is drawn has a discrete law."""

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
        return steps if self._grid.integral else self._with_rounding(steps)

    def _with_rounding(self, steps: int) -> float:
        """Return a number of steps of noise as an error of a real: half a step more, for the rounding of the value."""
        return float((steps + Fraction(1, 2)) * self._grid.step)

    def confidence(self, *, error: Number, outputs: int | None = None) -> float:
        """Return the probability with which |noise| is within an error, jointly over `outputs`: the inverse of `error`.

        It is rounded down, so that `m.error(confidence=m.confidence(error=t))` is at most t.
        """
        bound, m = read_error(error), count_of(self.outputs if outputs is None else outputs, "outputs")
        steps = floor(bound / self._grid.step - (0 if self._grid.integral else Fraction(1, 2)))
        if not self._grid.integral and self._with_rounding(steps + 1) <= float(bound):
            steps += 1  # the bound is that error, rounded to a float
        if steps < 0:
            return 0.0
        with np.errstate(under="ignore"):
            beyond = 2 * float(self._law.upper(np.array(steps + 1.0)))
        limit = bound if self._grid.integral else float(bound)
        return confidence_near(
            exp(m * log1p(-beyond)), lambda chance: self.error(confidence=chance, outputs=m) <= limit
        )

    def pmf(self, x: npt.ArrayLike, *, joint: bool = False) -> float | Floats:
        """Return the probability that the noise of one output is x: the exact law that is drawn, on its grid.

        It is 0 for an x that is not a multiple of `granularity`. With `joint=True` the last axis of x is a vector of
        outputs, and the result is the probability of the whole vector.
        """

        def mass(points: Floats) -> Floats:
            index, on_grid = self._locate(points)
            return np.where(on_grid, self._law.mass(np.where(on_grid, index, 0.0)), 0.0)

        return _joined(x, mass, joint=joint)

    def pdf(self, x: npt.ArrayLike, *, joint: bool = False) -> float | Floats:
        """Return the density at x of the continuous law of the textbooks; `pmf` is about density times `granularity`.

        With `joint=True` the last axis of x is a vector of outputs, and the result is the density of the whole vector.
        """
        return _joined(x, lambda points: np.asarray(self.continuous.pdf(points)), joint=joint)

    def cdf(self, x: npt.ArrayLike) -> float | Floats:
        """Return the probability that the noise of one output is at most x."""
        return at_points(x, lambda points: self._law.cdf(self._locate(points)[0]))

    def sf(self, x: npt.ArrayLike) -> float | Floats:
        """Return the probability that the noise of one output is above x."""
        return at_points(x, lambda points: self._law.sf(self._locate(points)[0]))

    def quantile(self, p: npt.ArrayLike) -> int | float | Floats:
        """Return the least x such that the noise of one output is at most x with probability ≥ p.

        It is minus infinity for p = 0 and infinity for p = 1.
        """
        with np.errstate(all="ignore"):
            found = plain(self._law.quantile(read_probabilities(p)) * self.granularity)
        whole = self._grid.integral and isinstance(found, float) and np.isfinite(found)
        return int(found) if whole else found

    @property
    def variance(self) -> float:
        """The variance of the noise of one output."""
        return self._law.variance * self.granularity * self.granularity

    @property
    def std(self) -> float:
        """The standard deviation of the noise of one output."""
        return self._law.std * self.granularity

    def ratio(self, z: npt.ArrayLike, *, value: Number, neighbour: Number) -> float | Floats:
        """Return Pr[release(value) = z]/Pr[release(neighbour) = z], the likelihood ratio of the output z.

        Under ε-DP it is between e^-ε and e^ε if the two values are those of neighbours. Distances are subtracted as
        integers and only the exponent is rounded, so this also holds far from the values. NaN for an infinite z.
        """
        first, second = (self._grid.read_one(each, name) for each, name in ((value, "value"), (neighbour, "neighbour")))
        floats = read_points(z, "z")
        located = self._locate(floats)[0].reshape(-1).tolist()
        steps = map(self._exact_index, np.asarray(z, dtype=np.object_).reshape(-1), located)
        logs = [nan if k is None else _near_zero(self._log_ratio(k - first, k - second)) for k in steps]
        with np.errstate(all="ignore"):
            return plain(np.asarray(np.exp(np.array(logs, dtype=np.float64).reshape(floats.shape))))

    def _exact_index(self, point: object, located: float) -> int | None:
        """Return the index of an output, exactly for integers of any size; None for NaN and infinities."""
        exact = whole(point) if self._grid.integral else None
        return int(located) if exact is None and isfinite(located) else exact

    def sample(self, n: int, *, seed: int) -> npt.NDArray[np.int64] | Floats:
        """Return n simulated noises, for study: this is not a release, and no value goes in.

        They come from a seeded generator of NumPy by inversion of the law, in floats. The seed reveals them.
        Never add them to a private value; use `release`. With several `outputs` each row is one
        vector.
        """
        draw, count = generator(seed), count_of(n, "n")
        shape = count if self.outputs == 1 else (count, self.outputs)
        low = np.asarray((draw.integers(2**52, size=shape) + 0.5) / 2.0**53, dtype=np.float64)  # below 1/2
        steps = np.where(draw.integers(2, size=shape) == 1, -1.0, 1.0) * self._law.quantile(low)
        return steps.astype(np.int64) if self._grid.integral else steps * self.granularity + 0.0

    def plot(
        self,
        kind: NoiseChart = "law",
        *,
        value: Number = 0,
        at: Number | None = None,
        n: int = 1000,
        seed: int = 1,
        confidence: float = 0.95,
        theme: Theme = "light",
    ) -> alt.LayerChart:
        """Draw a chart of one output, with the extra `tacit[plot]`.

        Args:
            kind: "law" for the law that is drawn beside the continuous one; "cdf" and "quantile" for its distribution
                function and the inverse; "neighbours" for the outputs of two
                neighbours with the band of e^ε; "releases" for simulated outputs beside their law; "error" for the
                error against the guarantee.
            value: the exact value, which outputs are around; assumed, not private.
            at: the output at which "neighbours" shows the ratio; by default 1.3 sensitivities above the value.
            n: the number of simulated outputs.
            seed: of the simulation.
            confidence: of the errors.
            theme: "light" or "dark".
        """
        from tacit.mechanisms.charts.additive import draw  # noqa: PLC0415 - it uses this class

        return draw(self, kind, value=value, at=at, n=n, seed=seed, confidence=confidence, theme=theme)

    def _locate(self, points: Floats) -> tuple[Floats, Bools]:
        return self._grid.locate(points)


def _near_zero(exponent: Fraction) -> float:
    """Return an exponent as a float; beyond ±1000 its exponential is 0 or infinite as a float."""
    return float(max(-_FAR, min(_FAR, exponent)))


def _joined(x: npt.ArrayLike, function: Callable[[Floats], Floats], *, joint: bool) -> float | Floats:
    """Evaluate a function at points; with `joint`, multiply along the last axis."""
    each = at_points(x, function)
    if not joint:
        return each
    vectors = np.asarray(each)
    return plain(np.asarray(np.prod(np.atleast_1d(vectors), axis=-1)))
