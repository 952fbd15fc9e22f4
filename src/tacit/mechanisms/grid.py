"""The grid of a mechanism's values: integers unchanged, reals rounded to a step that is fixed at construction.

**Rounding.** A real x becomes the integer ⌊x/η + ½⌋, computed exactly. For |x - y| ≤ Δ and N = ⌈Δ/η⌉,

* one value moves by at most N steps: with a = x/η + ½ ≥ b = y/η + ½, a - b ≤ N gives ⌊a⌋ ≤ ⌊b + N⌋ = ⌊b⌋ + N.
  If η divides Δ, as it does by default, N = Δ/η and rounding costs nothing;
* m values with ‖x - y‖₁ ≤ Δ move by at most N + m - 1 steps in L1: |⌊a⌋ - ⌊b⌋| < |a - b| + 1 in each coordinate,
  so the whole number Σ|⌊aᵢ⌋ - ⌊bᵢ⌋| is strictly below Δ/η + m ≤ N + m;
* m values with ‖x - y‖₂ ≤ Δ move by at most √S in L2, where S = ⌈(N + √m)²⌉ - 1: the vector of the |⌊aᵢ⌋ - ⌊bᵢ⌋|
  is strictly below that of the |aᵢ - bᵢ| + 1 in each coordinate, whose length is at most Δ/η + √m by the
  triangle inequality; so the whole number Σ(⌊aᵢ⌋ - ⌊bᵢ⌋)² is strictly below (N + √m)². For m = 1, S = N².

**Exactness.** Up to 63 floats are rounded in integers: x = m·2^e with |m| < 2^53, and η = p/q with 2^b ≤ η < 2^(b+1).
Let E = b - 55. If e < E, then |m·2^E| < 2^53·2^E ≤ η/4, so x may be replaced by m·2^E: both have the index 0. Zero is
replaced by 2^52·2^E in the same way. So x = M·2^E with M = m·2^max(e-E, 0), and ⌊x/η + ½⌋ = ⌊(2·M·2^E·q + p)/2p⌋,
which integers compute exactly. For |x| ≤ 2^62·η, |M| is at most 2^118. M + 2^119 and the dividend, to which 2^63 times
the divisor is added, have the same number of bits for each x up to one or two. So the duration does not depend on the
value; a rational of a value such as 1e-300 would have 1,000 bits more than that of 0. Up to 63 integers are rounded in
the same way, with E = 0. For 64 floats and more, x/η is computed as a sum of two floats (Dekker, Numer. Math. 18,
1971), within 2^-40 of the truth for |x/η| ≤ 2^62. Values within 2^-36 of a tie are rounded once more in integers, which
takes longer (see the known weaknesses).

**Range.** Integers, and grid indices of reals, up to ±2^62 are valid. Noise of scale up to 2^56 steps stays within
±2^62 (except for an event below 2^-64, which Python's integers handle), so value plus noise fits into 64 bits. The sum
saturates at ±(2^63 - 1), a function of the exact sum alone.

**Output.** A real is the index times the step, as a float: a function of the index, so the set of reachable
outputs is the same for every input.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, frexp, isqrt, ldexp

import numpy as np
import numpy.typing as npt

from tacit.arrays import Bools, Floats, Ints, WideInts
from tacit.errors import InvalidError, TooMuchNoiseError, bad_value, show
from tacit.guarantees.exact import positive, whole
from tacit.mechanisms.validation import (
    LIMIT,
    Array,
    Shape,
    as_integers,
    count_of,
    read_numbers,
    wrong_kind,
)
from tacit.noise import MAX_SCALE

TOP = 2**63 - 1
_ORDINARY = 2**900
_NEAR = 2.0**-36
_FEW = 64
_EXACT = 2.0**53
_WIDTH, _OFFSET = 119, 2**63


@dataclass(frozen=True, slots=True)
class ValueGrid:
    """The grid of a mechanism's values: its step, and the number of values in a release of reals."""

    step: Fraction
    integral: bool
    outputs: int

    def read(self, value: object, argument: str = "value") -> tuple[Ints, Shape]:
        """Return a value as flat grid indices and its shape; raise InvalidError if it is invalid."""
        array, shape = read_numbers(value, argument, integral=self.integral)
        if self.integral:
            return as_integers(array, argument), shape
        if array.size != self.outputs:
            message = f"{argument} holds {array.size} numbers, but the mechanism has outputs={self.outputs}."
            raise InvalidError(message, argument=argument)
        return self.round(array, argument), shape

    def read_one(self, value: object, argument: str) -> int:
        """Return one number as its grid index; raise InvalidError if it is an array or not a number."""
        requirement = "one integer" if self.integral else "one number"
        array, shape = read_numbers(value, argument, integral=self.integral, requirement=requirement)
        if shape is not None:
            raise wrong_kind(argument, "an array", requirement)
        index = as_integers(array, argument) if self.integral else self.round(array, argument)
        return int(index[0])

    def round(self, array: Array, argument: str = "value") -> Ints:
        """Return ⌊x/η + ½⌋ exactly for each finite x within 2^62 steps."""
        if array.dtype.kind == "f":
            return self._round_floats(array.astype(np.float64), argument)
        if array.size >= _FEW and max(int(array.max()), -int(array.min())) <= 2**53:  # integers that a float holds
            return self._round_floats(array.astype(np.float64), argument)
        index = _quotients([int(x) + (1 << _WIDTH) for x in array.tolist()], 0, self.step)
        self._check(max(index) <= LIMIT and min(index) >= -LIMIT, argument)
        return np.array(index, dtype=np.int64)

    def _round_floats(self, x: Floats, argument: str) -> Ints:
        if not np.isfinite(x).all():
            message, hint = f"{argument} holds NaN or infinity.", "Drop or replace missing values first."
            raise InvalidError(message, argument=argument, hint=hint)
        with np.errstate(all="ignore"):  # neither the caller's settings nor a tiny value may make this raise
            self._check(bool((np.abs(x * float(1 / self.step)) < LIMIT).all()), argument)
            index = _nearest_each(x, self.step) if x.size < _FEW else _nearest_all(x, self.step)
        self._check(bool((np.abs(index) <= LIMIT).all()), argument)
        return index

    def _check(self, holds: bool, argument: str) -> None:  # noqa: FBT001 - a condition
        if not holds:
            message = f"{argument} must be within ±{float(LIMIT * self.step):.4g} (2^62 grid steps)."
            raise InvalidError(message, argument=argument)

    def write(self, indices: Ints, shape: Shape) -> int | float | npt.NDArray[np.generic]:
        """Return grid indices as numbers in the given shape."""
        if self.integral:
            return int(indices[0]) if shape is None else indices.reshape(shape)
        reals = indices * float(self.step)
        return float(reals[0]) if shape is None else reals.reshape(shape)

    def locate(self, points: Floats) -> tuple[Floats, Bools]:
        """Return for each point the index of the last output that is not above it, and whether it is that output.

        Outputs are the floats index·η, as `write` returns them. Beyond 2^52 steps, where floats are as coarse as the
        grid, the index is that of the nearest output.
        """
        step = float(self.step)
        with np.errstate(all="ignore"):
            index = np.rint(points / step)
            output = index * step
            last = index - ((output > points) & (np.abs(index) < 2.0**52))
            return last, np.isfinite(points) & (output == points)

    def l1_steps(self, sensitivity: Fraction) -> int:
        """Return the largest L1 distance of neighbouring index vectors."""
        steps = ceil(sensitivity / self.step)
        return steps if self.integral else steps + self.outputs - 1

    def l2_squared_steps(self, sensitivity: Fraction) -> int:
        """Return the largest squared L2 distance of neighbouring index vectors."""
        steps = ceil(sensitivity / self.step)
        if self.integral or self.outputs == 1:
            return steps**2
        return steps**2 + self.outputs + ceil_root(4 * steps**2 * self.outputs) - 1


def _nearest_each(x: Floats, step: Fraction) -> Ints:
    """Round a few values within ±2^62 steps, each in integers of the same size."""
    lowest = _exponent(step) - 55
    return np.array(_quotients([multiple(value, lowest) for value in x.tolist()], lowest, step), dtype=np.int64)


def _quotients(multiples: list[int], lowest: int, step: Fraction) -> list[int]:
    """Return ⌊M·2^lowest/η + ½⌋ for each M + 2^119."""
    factor, half = 2 * step.denominator << max(lowest, 0), step.numerator << max(-lowest, 0)
    rest = half + 2 * half * _OFFSET - (factor << _WIDTH)
    return [(each * factor + rest) // (2 * half) - _OFFSET for each in multiples]


def multiple(value: float, lowest: int) -> int:
    """Return M + 2^119, where M·2^lowest is a float m·2^e; all results have 119 or 120 bits if |M| ≤ 2^118.

    If e < lowest, the float is replaced by m·2^lowest, and 0 by 2^52·2^lowest; both are below 2^(lowest + 53).

    >>> multiple(0.75, -60) == 2**119 + 3 * 2**58
    True
    """
    mantissa, exponent = frexp(value + (value == 0) * ldexp(1.0, lowest + 52))
    return (int(mantissa * _EXACT) << max(exponent - 53 - lowest, 0)) + (1 << _WIDTH)


def _exponent(step: Fraction) -> int:
    """Return b with 2^b ≤ η < 2^(b+1)."""
    b = step.numerator.bit_length() - step.denominator.bit_length()
    return b if step >= Fraction(2) ** b else b - 1


def _nearest_all(x: Floats, step: Fraction) -> Ints:
    """Round many values in two-float arithmetic, and those within 2^-36 of a tie once more in integers."""
    high, low = _quotient(x, step)
    base = np.floor(high)
    shifted = (high - base) + low + 0.5
    index = base.astype(np.int64) + np.floor(shifted).astype(np.int64)
    tied = np.flatnonzero(np.abs(shifted - np.rint(shifted)) < _NEAR)
    index[tied] = _nearest_each(x[tied], step)
    return index


def _quotient(x: Floats, step: Fraction) -> tuple[Floats, Floats]:
    """Return x/η as an unevaluated sum of two floats, within a relative 2^-102."""
    inverse = 1 / step
    c = float(inverse)
    rest = float(inverse - Fraction(c))
    high = x * c
    (x1, x2), (c1, c2) = _halves(x), _halves(np.float64(c))
    error = ((x1 * c1 - high) + x1 * c2 + x2 * c1) + x2 * c2  # x·c - high, exactly
    return high, error + x * rest


def _halves(x: Floats | np.float64) -> tuple[Floats | np.float64, Floats | np.float64]:
    """Split floats into two of 26 bits each (Veltkamp)."""
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


def nearest(x: Fraction, step: Fraction) -> int:
    """Return ⌊x/η + ½⌋."""
    return floor(x / step + Fraction(1, 2))


def ceil_root(n: int) -> int:
    """Return ⌈√n⌉.

    >>> ceil_root(4), ceil_root(5)
    (2, 3)
    """
    return isqrt(n - 1) + 1 if n else 0


def make_grid(
    sensitivity: object,
    size: Fraction,
    outputs: object,
    granularity: object,
    noise: Fraction,
    argument: str = "sensitivity",
) -> ValueGrid:
    """Return the grid for a sensitivity: the integers for an int, a fine grid for any other number.

    The step is Δ/2^k: at least 2^20 steps a sensitivity and output, so that the vector's rounding costs below 10^-6;
    at least 2^12 steps a noise scale, if 2^40 steps a sensitivity allow it; at most 2^54 steps a noise scale.

    Args:
        sensitivity: the caller's argument.
        size: the rational that it means, Δ.
        outputs: the number of reals in one release.
        granularity: the step, or None to choose it here.
        noise: the scale of the noise for sensitivity 1.
        argument: the name of the sensitivity, for messages.
    """
    m = count_of(outputs, "outputs")
    if whole(sensitivity) is not None:
        return _integer_grid(size, m, granularity, argument)
    if granularity is not None:
        step = _representable(positive(granularity, "granularity"), "granularity", granularity)
        return ValueGrid(step, integral=False, outputs=m)
    fine = min(max(2**20 * m, ceil(2**12 / noise)), 2**40)
    most = max(1, floor(2**54 / noise))
    steps = 1 << min((fine - 1).bit_length(), most.bit_length() - 1)
    return ValueGrid(_representable(size / steps, argument, sensitivity), integral=False, outputs=m)


def _integer_grid(size: Fraction, outputs: int, granularity: object, argument: str) -> ValueGrid:
    if granularity is not None:
        raise InvalidError(
            f"granularity has no effect with an int {argument}: integers move in steps of 1.",
            argument="granularity",
            hint=f"Remove it, or pass a float {argument} for reals.",
        )
    if size > 2 * LIMIT:
        raise bad_value(argument, int(size), "at most 2^63", hint="Values are within ±2^62.")
    return ValueGrid(Fraction(1), integral=True, outputs=outputs)


def _representable(step: Fraction, argument: str, value: object) -> Fraction:
    """Return a step whose quotients and multiples are ordinary floats, or raise InvalidError."""
    if Fraction(1, _ORDINARY) < step < _ORDINARY:
        return step
    hint = "Otherwise the grid does not fit into floats."
    raise bad_value(argument, value, "a number between 1e-250 and 1e250", hint=hint)


def check_scale(steps: Fraction, argument: str, value: object) -> None:
    """Raise TooMuchNoiseError if noise would not fit into 64 bits."""
    if steps > MAX_SCALE:
        message = f"{argument} = {show(value)} needs noise of a scale above 2^56 (7.2e16) grid steps."
        raise TooMuchNoiseError(message, argument=argument, hint="Choose parameters that need less noise.")


def check_ratio(ratio: Fraction, argument: str, value: object) -> None:
    """Raise InvalidError if a guarantee would not fit into a float."""
    if ratio > sys.float_info.max:
        raise InvalidError(f"With {argument} = {show(value)} the guarantee is not a finite number.", argument=argument)


def check_variance(squared_steps: Fraction, argument: str, value: object) -> None:
    """Raise InvalidError if noise would not fit into 64 bits, or its σ² into a float."""
    check_scale(squared_steps / MAX_SCALE, argument, value)
    if squared_steps < Fraction(1, _ORDINARY):
        message = (
            f"With {argument} = {show(value)} σ is below 1e-135 grid steps; below 0.01 the noise is almost surely 0."
        )
        raise InvalidError(message, argument=argument)


def add(values: Ints, noise: WideInts) -> Ints:
    """Return value plus noise, saturated at ±(2^63 - 1)."""
    if noise.dtype != object:
        return values + noise  # |value| ≤ 2^62 and |noise| < 2^62
    exact = values.astype(object) + noise
    return np.array([max(-TOP, min(TOP, total)) for total in exact], dtype=np.int64)
