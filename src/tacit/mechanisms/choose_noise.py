"""Laplace or Gaussian noise for a vector: which errs less for the sensitivities at hand.

m counting queries have Δ₁ = m and Δ₂ = √m, so Laplace noise grows as m·ln(m/β)/ε and Gaussian noise as
√(m·ln(1/δ)·ln(m/β))/ε; at ε = 1, δ = 1e-6 and 95 % they cross between four and six
queries. This compares the laws that are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tacit.guarantees.exact import Number
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.validation import ordinary


@dataclass(frozen=True, slots=True)
class NoiseComparison:
    """Two mechanisms for one vector, the joint error of each at one confidence, and which is smaller."""

    better: Literal["laplace", "gaussian"]
    laplace_error: float
    gaussian_error: float
    laplace: Laplace
    gaussian: Gaussian


def compare_noise(
    *, l1: Number, l2: Number, outputs: int, epsilon: Number, delta: Number, confidence: float = 0.95
) -> NoiseComparison:
    """Compare Laplace noise for Δ₁ at ε with Gaussian noise for Δ₂ at (ε,δ), jointly over all outputs.

    >>> compare_noise(l1=4.0, l2=2.0, outputs=4, epsilon=1, delta=1e-6).better
    'laplace'
    >>> compare_noise(l1=400.0, l2=20.0, outputs=400, epsilon=1, delta=1e-6).better
    'gaussian'
    """
    ordinary(l1, "l1")
    ordinary(l2, "l2")
    laplace = Laplace(sensitivity=l1, epsilon=epsilon, outputs=outputs)
    gaussian = Gaussian(sensitivity=l2, epsilon=epsilon, delta=delta, outputs=outputs)
    of_laplace = laplace.error(confidence=confidence, outputs=outputs)
    of_gaussian = gaussian.error(confidence=confidence, outputs=outputs)
    better: Literal["laplace", "gaussian"] = "gaussian" if of_gaussian < of_laplace else "laplace"  # Laplace needs no δ
    return NoiseComparison(better, of_laplace, of_gaussian, laplace, gaussian)
