"""Guarantees: frozen values that cannot be NaN.

D and D' are neighbours throughout. The sensitivity of a mechanism states the relation: adding or removing one unit, or
changing one.

`ZCDP`, `ApproxZCDP`, `RenyiDP` and `GaussianDP` imply (ε,δ)-DP at every δ. Their `epsilon(delta=…)` is the least ε by
the formulas of `conversions`, rounded up. `RenyiDP` has a field ε, so this ε is a number that can be called.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from math import inf
from typing import Self, TypeAlias

from tacit.errors import bad_value
from tacit.guarantees.exact import Exact, Number, to_fraction
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


class OrderEpsilon(Exact):
    """The ε of a Rényi guarantee at its order α. Called with a δ, it returns the ε of (ε,δ)-DP that follows."""

    __slots__ = ("alpha",)
    alpha: Fraction

    def __new__(cls, value: Number, alpha: Fraction) -> Self:
        """Store the order beside the number."""
        self = super().__new__(cls, value)
        self.alpha = alpha
        return self

    def __reduce__(self) -> tuple[type[OrderEpsilon], tuple[Fraction, Fraction]]:  # type: ignore[override]  # one argument more
        """Pickle and copy by the two rationals."""
        return OrderEpsilon, (self.fraction, self.alpha)

    def __call__(self, *, delta: Number) -> float:
        """Return the ε that the guarantee implies at δ, rounded up."""
        from tacit.guarantees.conversions import epsilon_of_renyi  # noqa: PLC0415 - it imports this module

        return epsilon_of_renyi(self.alpha, self.fraction, delta)


def _epsilon_of_zcdp(rho: float, delta: Number) -> float:
    from tacit.guarantees.conversions import epsilon_of_zcdp  # noqa: PLC0415 - it imports this module

    return epsilon_of_zcdp(rho, delta)


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
    >>> round(ZCDP(rho=0.1).epsilon(delta=1e-6), 4)
    2.1419
    """

    rho: float

    def epsilon(self, *, delta: Number) -> float:
        """Return the ε that this guarantee implies at δ, rounded up.

        Args:
            delta: δ of the (ε, δ) guarantee.
        """
        return _epsilon_of_zcdp(self.rho, delta)


@keyword_only
@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxZCDP(_Checked):
    """δ-approximate ρ-zCDP: outside events of probability δ, ρ-zCDP (Bun and Steinke, arXiv:1605.02065v1, def. 8.1).

    >>> ApproxZCDP(rho=0.1, delta=1e-6)
    ApproxZCDP(rho=0.1, delta=1e-06)
    """

    rho: float
    delta: float

    def epsilon(self, *, delta: Number) -> float:
        """Return the ε that this guarantee implies at a δ above its own, rounded up; infinite at a smaller δ.

        Outside events of probability δ₀ the release is (ε,δ-δ₀)-DP, so it is (ε,δ)-DP (Bun and Steinke,
        arXiv:1605.02065v1, lemma 8.8, with the conversion of `epsilon_of_zcdp`).

        Args:
            delta: δ of the (ε, δ) guarantee.
        """
        requirement = "a number from 0 to 1"
        total, own = to_fraction(delta, "delta", requirement), to_fraction(self.delta, "delta")
        if not 0 <= total <= 1:
            raise bad_value("delta", delta, requirement)
        if self.rho == 0 and total >= own:
            return 0.0
        return _epsilon_of_zcdp(self.rho, total - own) if own < total else inf


@keyword_only
@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiDP(_Checked):
    """(α,ε)-Rényi DP: D_α(M(D)‖M(D')) ≤ ε at one order α > 1 (Mironov, CSF 2017, definition 4).

    >>> RenyiDP(alpha=8, epsilon=0.5)
    RenyiDP(alpha=8.0, epsilon=0.5)
    >>> round(RenyiDP(alpha=8, epsilon=0.5).epsilon(delta=1e-6), 4)
    2.043
    """

    alpha: float
    epsilon: float

    def __post_init__(self) -> None:
        """Check the fields, and make ε a number that can be called with a δ."""
        _Checked.__post_init__(self)
        number = OrderEpsilon(to_fraction(self.epsilon, "epsilon"), to_fraction(self.alpha, "alpha"))
        object.__setattr__(self, "epsilon", number)


@keyword_only
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDP(_Checked):
    """μ-Gaussian DP: no easier to distinguish D from D' than N(0,1) from N(μ,1) (Dong, Roth and Su, JRSS B 84, 2022).

    >>> GaussianDP(mu=1)
    GaussianDP(mu=1.0)
    >>> round(GaussianDP(mu=1).epsilon(delta=1e-6), 4)
    4.8866
    """

    mu: float

    def epsilon(self, *, delta: Number) -> float:
        """Return the ε that this guarantee implies at δ, rounded up.

        Args:
            delta: δ of the (ε, δ) guarantee.
        """
        from tacit.guarantees.conversions import gaussian_epsilon  # noqa: PLC0415 - it imports this module

        return gaussian_epsilon(self.mu, delta)


Guarantee: TypeAlias = PureDP | ApproxDP | ZCDP | RenyiDP | GaussianDP
