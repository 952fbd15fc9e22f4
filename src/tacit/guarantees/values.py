"""Guarantees: frozen values that cannot be NaN.

D and D' are neighbours throughout. The sensitivity of a mechanism states the relation: adding or removing one unit, or
changing one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias

from tacit.errors import bad_value
from tacit.guarantees.exact import Exact, to_fraction
from tacit.keyword_only import keyword_only
from tacit.notebook import ShownAsFields

_RANGES = {"delta": ("a number from 0 to 1", 0, 1), "alpha": ("a finite number > 1", 1, None)}


class _Checked(ShownAsFields):
    """The base of all guarantees: each field is exact and within its range."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Replace each field by its exact form; raise InvalidError if it is out of range."""
        for field in fields(self):  # type: ignore[arg-type]  # every child is a dataclass
            value = getattr(self, field.name)
            requirement, low, high = _RANGES.get(field.name, ("a finite number ≥ 0", 0, None))
            fraction = to_fraction(value, field.name, requirement)
            if fraction < low or (high is not None and fraction > high) or (field.name == "alpha" and fraction == low):
                raise bad_value(field.name, value, requirement)
            object.__setattr__(self, field.name, Exact(fraction))


@keyword_only
@dataclass(frozen=True, slots=True, kw_only=True)
class PureDP(_Checked):
    """ε-differential privacy: Pr[M(D) ∈ T] ≤ e^ε·Pr[M(D') ∈ T] for all T (Dwork et al., TCC 2006).

    >>> PureDP(epsilon=0.1)
    PureDP(epsilon=0.1)
    """

    epsilon: float


@keyword_only
@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxDP(_Checked):
    """(ε,δ)-differential privacy: Pr[M(D) ∈ T] ≤ e^ε·Pr[M(D') ∈ T] + δ for all T (EUROCRYPT 2006).

    >>> ApproxDP(epsilon=0.5, delta=1e-6)
    ApproxDP(epsilon=0.5, delta=1e-06)
    """

    epsilon: float
    delta: float


@keyword_only
@dataclass(frozen=True, slots=True, kw_only=True)
class ZCDP(_Checked):
    """ρ-zero-concentrated DP: D_α(M(D)‖M(D')) ≤ ρ·α for all α > 1 (Bun and Steinke, TCC 2016, def. 1.1).

    >>> ZCDP(rho=0.1)
    ZCDP(rho=0.1)
    """

    rho: float


@keyword_only
@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxZCDP(_Checked):
    """δ-approximate ρ-zCDP: outside events of probability δ, ρ-zCDP (Bun and Steinke, arXiv:1605.02065v1, def. 8.1).

    >>> ApproxZCDP(rho=0.1, delta=1e-6)
    ApproxZCDP(rho=0.1, delta=1e-06)
    """

    rho: float
    delta: float


@keyword_only
@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiDP(_Checked):
    """(α,ε)-Rényi DP: D_α(M(D)‖M(D')) ≤ ε at one order α > 1 (Mironov, CSF 2017, definition 4).

    >>> RenyiDP(alpha=8, epsilon=0.5)
    RenyiDP(alpha=8.0, epsilon=0.5)
    """

    alpha: float
    epsilon: float


@keyword_only
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP(_Checked):
    """μ-Gaussian DP: no easier to distinguish D from D' than N(0,1) from N(μ,1) (Dong, Roth and Su, JRSS B 84, 2022).

    >>> GaussianDP(mu=1)
    GaussianDP(mu=1.0)
    """

    mu: float


Guarantee: TypeAlias = PureDP | ApproxDP | ZCDP | RenyiDP | GaussianDP
