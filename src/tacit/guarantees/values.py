"""What is promised: frozen values that cannot be NaN.

D and D' are neighbours throughout; whether that means adding or removing one unit, or changing one, is said
where the sensitivity is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from tacit.errors import InvalidError, show
from tacit.guarantees.exact import Exact, to_fraction


def _freeze(value: PureDP | ApproxDP | ZCDP) -> None:
    """Replace each field by its exact form, and refuse what is not a number ≥ 0."""
    for field in fields(value):
        given = getattr(value, field.name)
        want = "a finite number ≥ 0" if field.name != "delta" else "a number from 0 to 1"
        fraction = to_fraction(given, field.name, want)
        if fraction < 0 or (field.name == "delta" and fraction > 1):
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


Guarantee = PureDP | ApproxDP | ZCDP
