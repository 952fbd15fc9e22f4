"""The grid that values live on: integers as they are, reals on a step fixed at construction.

**Rounding.** A real x becomes the integer ⌊x/η + ½⌋, computed exactly. For |x - y| ≤ Δ and N = ⌈Δ/η⌉,

* one value moves by at most N steps: with a = x/η + ½ ≥ b = y/η + ½, a - b ≤ N gives ⌊a⌋ ≤ ⌊b + N⌋ = ⌊b⌋ + N.
  If η divides Δ, as it does by default, N = Δ/η and rounding costs nothing;
* m values with ‖x - y‖₁ ≤ Δ move by at most N + m - 1 steps in L1: |⌊a⌋ - ⌊b⌋| < |a - b| + 1 in each coordinate,
  so the whole number Σ|⌊aᵢ⌋ - ⌊bᵢ⌋| is strictly below Δ/η + m ≤ N + m;
* m values with ‖x - y‖₂ ≤ Δ move by at most √S in L2, where S = ⌈(N + √m)²⌉ - 1: the vector of the |⌊aᵢ⌋ - ⌊bᵢ⌋|
  is strictly below that of the |aᵢ - bᵢ| + 1 in each coordinate, whose length is at most Δ/η + √m by the
  triangle inequality; so the whole number Σ(⌊aᵢ⌋ - ⌊bᵢ⌋)² is strictly below (N + √m)². For m = 1, S = N².

**Range.** Values and reals' grid indices up to ±2^62 are taken. Noise of scale up to 2^56 steps stays within
±2^62 (but for an event below 2^-64, handled in Python's integers), so value plus noise fits 64 bits and the
sum saturates at ±(2^63 - 1), a function of the exact sum alone.

**Output.** A real is the index times the step, as a float: a function of the index, so the set of reachable
outputs is the same for every input.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isqrt

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError
from tacit.guarantees.exact import positive, whole
from tacit.mechanisms.arguments import count_of
from tacit.noise import MAX_SCALE

Ints = npt.NDArray[np.int64]
Shape = tuple[int, ...] | None
"""The shape of what came in; None for a plain number."""

LIMIT = 2**62
TOP = 2**63 - 1
_EXACT_BELOW = 64
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Lattice:
    """Where a mechanism's values live: a step, and how many values a real release has."""

    step: Fraction
    integral: bool
    outputs: int

    def read(self, value: object) -> tuple[Ints, Shape]:
        """Return a value as flat grid indices and its shape; raise InvalidError on anything else."""
        array, shape = flat_numbers(value, "value", integral=self.integral)
        if self.integral:
            return as_integers(array), shape
        if array.size != self.outputs:
            raise InvalidError("value", f"{array.size} numbers", f"{self.outputs} numbers, as outputs= says")
        return self.round(array), shape

    def round(self, array: npt.NDArray[np.generic]) -> Ints:
        """Return ⌊x/η + ½⌋ exactly for each finite x."""
        near = array.astype(np.float64) * float(1 / self.step)
        if not (np.abs(near) <= LIMIT).all():
            reach = float(LIMIT * self.step)
            raise InvalidError("value", "a number beyond that", f"finite and within ±{reach:.4g} (2^62 grid steps)")
        return round_exactly(array, near, self.step)

    def write(self, indices: Ints, shape: Shape) -> int | float | npt.NDArray[np.generic]:
        """Return grid indices as numbers in the shape that came in."""
        if self.integral:
            return int(indices[0]) if shape is None else indices.reshape(shape)
        reals = indices * float(self.step)
        return float(reals[0]) if shape is None else reals.reshape(shape)

    def l1_steps(self, sensitivity: Fraction) -> int:
        """Return how far neighbouring index vectors are apart in L1, at most."""
        steps = ceil(sensitivity / self.step)
        return steps if self.integral else steps + self.outputs - 1

    def l2_squared_steps(self, sensitivity: Fraction) -> int:
        """Return how far neighbouring index vectors are apart in squared L2, at most."""
        steps = ceil(sensitivity / self.step)
        if self.integral or self.outputs == 1:
            return steps**2
        return steps**2 + self.outputs + ceil_root(4 * steps**2 * self.outputs) - 1


def ceil_root(n: int) -> int:
    """Return ⌈√n⌉.

    >>> ceil_root(4), ceil_root(5)
    (2, 3)
    """
    return isqrt(n - 1) + 1 if n else 0


def make_lattice(
    sensitivity: object, outputs: object, granularity: object, noise: Fraction
) -> tuple[Fraction, Lattice]:
    """Return the sensitivity as a rational and the lattice for it.

    `noise` is the scale of the noise for sensitivity 1. The step is Δ/2^k: at least 2^20 steps a sensitivity
    and output, so that the vector's rounding costs below 10^-6; at least 2^12 steps a noise scale, as far as
    2^40 steps a sensitivity allow; at most 2^54 steps a noise scale.
    """
    size = positive(sensitivity, "sensitivity")
    m = count_of(outputs, "outputs")
    if whole(sensitivity) is not None:
        if granularity is not None:
            want = "left out with an int sensitivity (integers move in steps of 1); give a float sensitivity for reals"
            raise InvalidError("granularity", repr(granularity), want)
        return size, Lattice(Fraction(1), integral=True, outputs=m)
    if granularity is not None:
        step = _representable(positive(granularity, "granularity"), "granularity", granularity)
        return size, Lattice(step, integral=False, outputs=m)
    wanted = min(max(2**20 * m, ceil(2**12 / noise)), 2**40)
    allowed = max(1, floor(2**54 / noise))
    steps = 1 << min((wanted - 1).bit_length(), allowed.bit_length() - 1)
    return size, Lattice(_representable(size / steps, "sensitivity", sensitivity), integral=False, outputs=m)


def _representable(step: Fraction, argument: str, got: object) -> Fraction:
    """Return a step whose quotients and multiples are ordinary floats, or raise InvalidError."""
    if Fraction(1, 2**900) < step < 2**900:
        return step
    raise InvalidError(argument, repr(got), "a number between 1e-250 and 1e250, or the grid leaves the floats")


def check_scale(steps: Fraction, argument: str, got: object) -> None:
    """Raise InvalidError where noise would not fit 64 bits."""
    if steps > MAX_SCALE:
        raise InvalidError(argument, repr(got), "such that the noise scale is at most 2^56 (7.2e16) grid steps")


def check_variance(squared_steps: Fraction, argument: str, got: object) -> None:
    """Raise InvalidError where noise would not fit 64 bits, or its σ² not a float."""
    check_scale(squared_steps / MAX_SCALE, argument, got)
    if squared_steps < Fraction(1, 2**900):
        raise InvalidError(
            argument, repr(got), "such that σ is at least 1e-135 grid steps (below 0.01 it adds nothing)"
        )


def add(values: Ints, noise: npt.NDArray[np.int64] | npt.NDArray[np.object_]) -> Ints:
    """Return value plus noise, saturated at ±(2^63 - 1)."""
    if noise.dtype != object:
        return values + noise  # |value| ≤ 2^62 and |noise| < 2^62
    exact = values.astype(object) + noise
    return np.array([max(-TOP, min(TOP, total)) for total in exact], dtype=np.int64)


def flat_numbers(value: object, argument: str, *, integral: bool = False) -> tuple[npt.NDArray[np.generic], Shape]:
    """Return numbers as a flat array of ints or floats, and the shape they had.

    Refused: text, bools, 0-d, empty and ragged arrays, and floats where integers are wanted.
    """
    want = "an integer, or a non-empty array of integers" if integral else "a number, or a non-empty array of numbers"
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InvalidError(argument, "a ragged or unreadable array", want) from error
    plain = array.ndim == 0 and not isinstance(value, np.ndarray)
    if array.size == 0 or (array.ndim == 0 and not plain):
        raise InvalidError(argument, "an empty array" if array.size == 0 else "a 0-d array", want)
    kinds = "iu" if integral else "iuf"
    if array.dtype == object and all(isinstance(x, int) and not isinstance(x, bool) for x in array.flat):
        kinds += "O"  # whole numbers beyond 64 bits
    if array.dtype.kind not in kinds or array.dtype.itemsize > np.dtype(np.float64).itemsize:
        hint = " (a float sensitivity takes reals)" if integral and array.dtype.kind == "f" else ""
        raise InvalidError(argument, f"{array.dtype} values", want + hint)
    return array.reshape(-1), None if plain else array.shape


def as_integers(array: npt.NDArray[np.generic]) -> Ints:
    """Return integers within ±2^62 as 64-bit integers."""
    if array.max() > LIMIT or array.min() < -LIMIT:
        raise InvalidError("value", "an integer beyond that", "within ±2^62")
    return array.astype(np.int64)


def round_exactly(array: npt.NDArray[np.generic], near: npt.NDArray[np.float64], step: Fraction) -> Ints:
    """Return ⌊x/η + ½⌋ exactly, given near = x/η up to a relative 2^-51.

    Few values are rounded in rational arithmetic outright. Of many, only those whose float quotient is within
    its error of a tie, or too large to tell.
    """
    floor = np.floor(near)
    unclear = np.abs(near - floor - _HALF) <= np.abs(near) * 2.0**-50
    if array.size < _EXACT_BELOW:
        unclear[:] = True
    index = (floor + (near - floor >= _HALF)).astype(np.int64)
    for i in np.flatnonzero(unclear):
        index[i] = nearest(as_fraction(array[i]), step)
    return index


def nearest(x: Fraction, step: Fraction) -> int:
    """Return ⌊x/η + ½⌋."""
    return (2 * x.numerator * step.denominator + x.denominator * step.numerator) // (2 * x.denominator * step.numerator)


def as_fraction(x: object) -> Fraction:
    """Return a data value exactly: a float is its binary value here, not a decimal somebody chose."""
    return Fraction(int(x)) if isinstance(x, (int, np.integer)) else Fraction(float(x))  # type: ignore[arg-type]
