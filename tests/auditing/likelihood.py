"""One number that distinguishes two inputs, in place of many numbers of an output.

For independent Laplace noise of scale s around m and m' the logarithm of the likelihood ratio is Σ(|v-m'| - |v-m|)/s.
`fitted` estimates m, m' and s from some outputs on both inputs, which the audit does not see again. A function that was
fixed beforehand is post-processing, whether the noise is Laplace noise or not. So no choice here makes a bound wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real

import numpy as np

from tacit.arrays import Floats

_MOST_SHOWN = 6


def fitted(first: Sequence[object], second: Sequence[object]) -> Callable[[object], object]:
    """Return a function that puts this number before the parts of an output; outputs of other forms stay."""
    both = [*first, *second]
    if not all(isinstance(output, tuple) and output for output in both) or len({len(output) for output in both}) > 1:  # type: ignore[arg-type]  # tuples
        return lambda output: output
    numeric = [place for place in range(len(both[0])) if all(_is_number(output[place]) for output in both)]  # type: ignore[arg-type,index]  # tuples
    if not numeric:
        return lambda output: output
    one, other = _numbers(first, numeric), _numbers(second, numeric)
    centers = np.median(one, axis=0), np.median(other, axis=0)
    spread = (np.abs(one - centers[0]).mean(axis=0) + np.abs(other - centers[1]).mean(axis=0)) / 2
    spread[spread == 0] = 1

    def shorter(output: object) -> object:
        values = _numbers([output], numeric)[0]
        score = float(((np.abs(values - centers[1]) - np.abs(values - centers[0])) / spread).sum())
        return score, *output[:_MOST_SHOWN]  # type: ignore[index]  # a tuple

    return shorter


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and abs(float(value)) < np.inf


def _numbers(outputs: Sequence[object], places: Sequence[int]) -> Floats:
    return np.array([[_number(output[place]) for place in places] for output in outputs])  # type: ignore[index]  # tuples


def _number(value: object) -> float:
    return float(value) if _is_number(value) else 0.0  # type: ignore[arg-type]  # a number
