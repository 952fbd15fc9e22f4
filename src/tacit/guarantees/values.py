"""What is promised: frozen values that cannot be NaN.

D and D' are neighbours throughout; whether that means adding or removing one unit, or changing one, is said
where the sensitivity is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias

from tacit.errors import InvalidError, show
from tacit.guarantees.exact import Exact, to_fraction

_WANTS = {"delta": ("a number from 0 to 1", 0, 1), "alpha": ("a finite number > 1", 1, None)}


def _freeze(value: Guarantee) -> None:
    """Replace each field by its exact form, and refuse what is out of its range."""
    for field in fields(value):
        given = getattr(value, field.name)
        want, low, high = _WANTS.get(field.name, ("a finite number ≥ 0", 0, None))
        fraction = to_fraction(given, field.name, want)
        if fraction < low or (high is not None and fraction > high) or (field.name == "alpha" and fraction == low):
            raise InvalidError(field.name, show(given), want)
        object.__setattr__(value, field.name, Exact(fraction))


@dataclass(frozen=True, slots=True, kw_only=True)
class PureDP:
    """ε-differential privacy: Pr[M(D) ∈ T] ≤ e^ε·Pr[M(D') ∈ T] for all T (Dwork et al., TCC 2006).

    >>> PureDP(epsilon=0.1)
    PureDP(epsilon=0.1)
    """

    epsilon: float

    def __post_init__(self) -> None:
        """Check and freeze."""
        _freeze(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxDP:
    """(ε,δ)-differential privacy: Pr[M(D) ∈ T] ≤ e^ε·Pr[M(D') ∈ T] + δ for all T (EUROCRYPT 2006).

    >>> ApproxDP(epsilon=0.5, delta=1e-6)
    ApproxDP(epsilon=0.5, delta=1e-06)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        """Check and freeze."""
        _freeze(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZCDP:
    """ρ-zero-concentrated DP: D_α(M(D)‖M(D')) ≤ ρ·α for all α > 1 (Bun and Steinke, TCC 2016, def. 1.1).

    >>> ZCDP(rho=0.1)
    ZCDP(rho=0.1)
    """

    rho: float

    def __post_init__(self) -> None:
        """Check and freeze."""
        _freeze(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiDP:
    """(α,ε)-Rényi DP: D_α(M(D)‖M(D')) ≤ ε at one order α > 1 (Mironov, CSF 2017, definition 4).

    >>> RenyiDP(alpha=8, epsilon=0.5)
    RenyiDP(alpha=8.0, epsilon=0.5)
    """

    alpha: float
    epsilon: float

    def __post_init__(self) -> None:
        """Check and freeze."""
        _freeze(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP:
    """μ-Gaussian DP: no easier to tell D from D' than N(0,1) from N(μ,1) (Dong, Roth and Su, JRSS B 84, 2022).

    >>> GaussianDP(mu=1)
    GaussianDP(mu=1.0)
    """

    mu: float

    def __post_init__(self) -> None:
        """Check and freeze."""
        _freeze(self)


Guarantee: TypeAlias = PureDP | ApproxDP | ZCDP | RenyiDP | GaussianDP
