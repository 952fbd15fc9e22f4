"""The Laplace, normal and exponential densities of the textbooks, with which noise on integers is compared.

With s the scale, σ the standard deviation and 1/λ the mean:

| law | density | survivor function | variance |
|---|---|---|---|
| Laplace | e^(-abs(x-μ)/s)/2s | e^(-(x-μ)/s)/2 for x ≥ μ | 2s² |
| normal | e^(-(x-μ)²/2σ²)/σ√2π | erfc((x-μ)/σ√2)/2 | σ² |
| exponential | λe^(-λx) for x ≥ 0 | e^(-λx) for x ≥ 0 | 1/λ² |
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log, pi, sqrt

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.errors import bad_value
from tacit.laws.points import at_points, plain, read_probabilities
from tacit.notebook import ShownAsFields


class ContinuousLaw(ShownAsFields, ABC):
    """A law with a density. Every function takes a number or an array."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance."""

    @abstractmethod
    def _pdf(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _sf(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _cdf(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _quantile(self, p: Floats) -> Floats: ...

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation; not from the variance, which may be too large or too small for a float."""

    def pdf(self, x: npt.ArrayLike) -> float | Floats:
        """Return the density.

        Args:
            x: a number or an array.
        """
        return at_points(x, self._pdf)

    def cdf(self, x: npt.ArrayLike) -> float | Floats:
        """Return Pr[X ≤ x]."""
        return at_points(x, self._cdf)

    def sf(self, x: npt.ArrayLike) -> float | Floats:
        """Return Pr[X > x], the survivor function."""
        return at_points(x, self._sf)

    def quantile(self, p: npt.ArrayLike) -> float | Floats:
        """Return the x with Pr[X ≤ x] = p; the ends of the support for 0 and 1."""
        with np.errstate(all="ignore"):
            return plain(np.asarray(self._quantile(read_probabilities(p))))


@dataclass(frozen=True, kw_only=True)
class LaplaceLaw(ContinuousLaw):
    """The density e^(-|x-μ|/s)/2s.

    >>> law = LaplaceLaw(scale=10)
    >>> law.pdf(0), law.variance, round(law.sf(30), 4)
    (0.05, 200.0, 0.0249)

    Attributes:
        scale: the scale s.
        mean: the mean μ.
    """

    scale: float
    mean: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check(self.scale, "scale", self.mean)

    @property
    def variance(self) -> float:
        """2s²."""
        return 2 * float(self.scale) * self.scale

    @property
    def std(self) -> float:
        """√2·s."""
        return sqrt(2) * self.scale

    def _pdf(self, x: Floats) -> Floats:
        return np.asarray(np.exp(-np.abs(_standard(x, self.mean, self.scale))) / 2 / self.scale)

    def _sf(self, x: Floats) -> Floats:
        return _laplace_beyond(_standard(x, self.mean, self.scale))

    def _cdf(self, x: Floats) -> Floats:
        return _laplace_beyond(-_standard(x, self.mean, self.scale))

    def _quantile(self, p: Floats) -> Floats:
        low = np.log(2 * np.minimum(p, 1 - p))
        return _moved(np.where(p <= 0.5, low, -low), self.mean, self.scale)  # noqa: PLR2004 - the middle


@dataclass(frozen=True, kw_only=True)
class NormalLaw(ContinuousLaw):
    """The density e^(-(x-μ)²/2σ²)/σ√2π.

    >>> law = NormalLaw(sigma=10)
    >>> round(law.pdf(0), 5), law.variance, round(law.quantile(0.975), 2)
    (0.03989, 100.0, 19.6)

    Attributes:
        sigma: the standard deviation σ.
        mean: the mean μ.
    """

    sigma: float
    mean: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check(self.sigma, "sigma", self.mean)

    @property
    def variance(self) -> float:
        """σ²."""
        return float(self.sigma) * self.sigma

    @property
    def std(self) -> float:
        """σ."""
        return float(self.sigma)

    def _pdf(self, x: Floats) -> Floats:
        y = _standard(x, self.mean, self.sigma)
        return np.asarray(np.exp(-y * y / 2) / sqrt(2 * pi) / self.sigma)

    def _sf(self, x: Floats) -> Floats:
        from scipy.special import ndtr  # noqa: PLC0415 - heavy

        return np.asarray(ndtr(-_standard(x, self.mean, self.sigma)))

    def _cdf(self, x: Floats) -> Floats:
        from scipy.special import ndtr  # noqa: PLC0415 - heavy

        return np.asarray(ndtr(_standard(x, self.mean, self.sigma)))

    def _quantile(self, p: Floats) -> Floats:
        from scipy.special import ndtri  # noqa: PLC0415 - heavy

        return _moved(ndtri(p), self.mean, self.sigma)


@dataclass(frozen=True, kw_only=True)
class ExponentialLaw(ContinuousLaw):
    """The density λe^(-λx) for x ≥ 0.

    The law has no memory: given that X > t, X - t has the same law. The magnitude of Laplace noise of scale 1/λ has it.

    >>> law = ExponentialLaw(rate=0.5)
    >>> law.sf(7) == law.sf(3) * law.sf(4), law.sf(-1), law.variance
    (True, 1.0, 4.0)
    """

    rate: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        _check(self.rate, "rate", 0.0)

    @property
    def variance(self) -> float:
        """1/λ²."""
        return 1 / self.rate / self.rate

    @property
    def std(self) -> float:
        """1/λ."""
        return 1 / self.rate

    @property
    def median(self) -> float:
        """ln(2)/λ."""
        return log(2) / self.rate

    def _pdf(self, x: Floats) -> Floats:
        return np.where(x >= 0, self.rate * np.exp(-self.rate * np.maximum(x, 0)), 0.0)

    def _sf(self, x: Floats) -> Floats:
        return np.exp(-self.rate * np.maximum(x, 0))

    def _cdf(self, x: Floats) -> Floats:
        return -np.expm1(-self.rate * np.maximum(x, 0))

    def _quantile(self, p: Floats) -> Floats:
        return np.asarray(-np.log1p(-p) / self.rate + 0.0)


def _standard(x: Floats, mean: float, size: float) -> Floats:
    """Return (x - mean)/size. The difference of two floats is rounded once; where it overflows, halves are used."""
    gap = x - mean
    return np.where(np.isfinite(gap), gap / size, (x / 2 - mean / 2) / size * 2)


def _moved(y: Floats, mean: float, size: float) -> Floats:
    """Return mean + size·y, from halves where the product overflows and the sum does not."""
    far = size * y
    return np.where(np.isfinite(far), mean + far, (mean / 2 + size / 2 * y) * 2)


def _laplace_beyond(y: Floats) -> Floats:
    """Return Pr[Y > y] for Laplace noise of scale 1."""
    half = np.exp(-np.abs(y)) / 2
    return np.where(y >= 0, half, 1 - half)


def _check(size: object, argument: str, mean: object) -> None:
    if not isinstance(size, (int, float)) or not 0 < size <= sys.float_info.max:
        raise bad_value(argument, size, "a finite number > 0")
    if not isinstance(mean, (int, float)) or not abs(mean) <= sys.float_info.max:
        raise bad_value("mean", mean, "a finite number")
