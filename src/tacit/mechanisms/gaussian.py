"""The Gaussian mechanism, on integers.

**Statement.** Let q map databases to ℤ^m with ‖q(D) - q(D')‖₂² ≤ S for neighbours. Then q(D) + K with independent
discrete Gaussian Kᵢ of parameter σ² is S/2σ² zero-concentrated DP (Canonne, Kamath and Steinke,
arXiv:2004.00010v5, theorem 14), and (ε,δ)-DP for the δ(ε) that `guarantees.gaussian_law` computes from the
discrete law itself. Both are proved there, for every shape of value: when all values are integers at most S of
them can differ between neighbours, since each that does adds at least 1 to the squared distance.

The σ of the continuous mechanism is not enough: on integers with Δ = 1 the discrete law's δ is 1.25 times the
continuous one's at σ = 2, ε chosen to match. So σ is searched for on the curve of the discrete law.

On real bits: as for Laplace. σ² is a rational; the calibration rounds δ up, hence σ up.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import isqrt, log, sqrt
from typing import Literal

from tacit.arrays import WideInts
from tacit.errors import InvalidError, bad_value
from tacit.guarantees import gaussian_law
from tacit.guarantees.conversions import gaussian_delta
from tacit.guarantees.events import DiscreteGaussianNoise
from tacit.guarantees.exact import Exact, Number
from tacit.guarantees.values import ZCDP, ApproxDP
from tacit.keyword_only import keyword_only
from tacit.laws.continuous import NormalLaw
from tacit.laws.lattice import DiscreteGaussian
from tacit.mechanisms.additive import Additive
from tacit.mechanisms.grid import check_ratio, check_scale, check_variance, make_grid
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.scale_search import least
from tacit.mechanisms.validation import count_of, failure, one_of, ordinary, probability
from tacit.noise import discrete_gaussian


@keyword_only
class Gaussian(Additive):
    """Add discrete Gaussian noise: (ε,δ)-differential privacy, or ρ-zCDP.

    >>> m = Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6)
    >>> m.guarantee, round(m.sigma, 3)
    (ApproxDP(epsilon=0.5, delta=1e-06), 8.052)
    >>> Gaussian(sensitivity=1, rho=0.005).sigma
    10.0
    >>> round(Gaussian(sensitivity=1, sigma=10, delta=1e-6).guarantee.epsilon, 3)
    0.397

    Args:
        sensitivity: Δ, the largest L2 distance of neighbours' values; an int for integers, a float for reals.
        epsilon: with `delta`, the guarantee to reach; or
        rho: the zero-concentrated guarantee to reach; or
        sigma: the noise to add; the guarantee is then in ρ, or in ε at `delta` if there is one.
        delta: with `epsilon` or `sigma`.
        method: "analytic" for the least noise; "classic" for σ = Δ·√(2·ln(1.25/δ))/ε, proved for ε < 1 only.
        outputs: the number of reals in one release.
        granularity: the grid's step for reals; by default a fine one.

    Attributes:
        sigma: the noise parameter σ, in the units of the values.
        guarantee: the guarantee of one release, as `ApproxDP` or `ZCDP`.
        granularity: the grid's step; 1 for integers.
        event: the event of one release, in grid steps and exact rationals, for an accountant to price.
        loss: the privacy loss as a random variable.
    """

    event: DiscreteGaussianNoise
    guarantee: ApproxDP | ZCDP

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        sigma: Number | None = None,
        method: str = "analytic",
        outputs: int = 1,
        granularity: Number | None = None,
    ) -> None:
        """Fix the law, the grid and the guarantee."""
        which = _which(epsilon, delta, rho, sigma, method)
        parameter = {"epsilon": epsilon, "rho": rho, "sigma": sigma}[which]
        size, amount = ordinary(sensitivity, "sensitivity"), ordinary(parameter, which)
        slack = None if delta is None else probability(delta, "delta")
        unit = _unit_sigma(which, amount, slack, size, method)
        grid = make_grid(sensitivity, size, outputs, granularity, unit)
        squared = grid.l2_squared_steps(size)
        moving = squared if grid.integral else min(squared, grid.outputs)
        if which == "epsilon":
            check_scale(unit * isqrt(squared) / 2, which, parameter)
            variance = _calibrated(amount, _required(slack), squared, moving, unit, method)
        else:
            variance = squared / (2 * amount) if which == "rho" else (amount / grid.step) ** 2
        check_variance(variance, which, parameter)
        check_ratio(squared / variance, which, parameter)
        self.event = DiscreteGaussianNoise(variance=variance, l2_squared=squared, coordinates=moving)
        self.guarantee = _guarantee(self.event, amount if which == "epsilon" else None, slack)
        self.sigma = sqrt(variance) * float(grid.step)
        self._set_grid(size, grid)
        self._freeze(
            sensitivity=sensitivity,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            sigma=sigma,
            method=method if method != "analytic" else None,
            outputs=outputs if outputs != 1 else None,
            granularity=granularity,
        )

    def _draw(self, size: int) -> WideInts:
        return discrete_gaussian(self.event.variance, size)

    def _quantile(self, beta: Decimal) -> int:
        return gaussian_law.two_sided_quantile(self.event.variance, float(beta))

    def _log_ratio(self, one: int, other: int) -> Fraction:
        return (other**2 - one**2) / (2 * self.event.variance)

    def _close(self, gaps: list[int]) -> bool:
        return sum(gap**2 for gap in gaps) <= self.event.l2_squared

    @cached_property
    def _law(self) -> DiscreteGaussian:
        return DiscreteGaussian(self.event.variance)

    @property
    def continuous(self) -> NormalLaw:
        """The normal law of the textbooks. The noise that is drawn has the discrete law of `pmf`."""
        return NormalLaw(sigma=self.sigma)

    def delta(self, epsilon: Number) -> float:
        """Return a certified δ such that this mechanism is (ε,δ)-DP, from the law that is drawn."""
        return _delta(self.event, ordinary(epsilon, "epsilon"))

    @classmethod
    def for_error(
        cls,
        error: Number,
        *,
        confidence: float = 0.95,
        sensitivity: Number,
        delta: Number | None = None,
        outputs: int = 1,
        granularity: Number | None = None,
    ) -> Gaussian:
        """Return the most private mechanism whose `outputs` outputs all stay within `error`.

        Its guarantee is in ρ, or in ε at `delta` if there is one.

        >>> m = Gaussian.for_error(10, confidence=0.95, sensitivity=1)
        >>> m.error(confidence=0.95), round(m.sigma, 2)
        (10, 5.37)
        """
        target = ordinary(error, "error")
        failure(confidence)
        count_of(outputs, "outputs")

        def make(precision: float, slack: Number | None = None) -> Gaussian:
            return cls(
                sensitivity=sensitivity, sigma=1 / precision, delta=slack, outputs=outputs, granularity=granularity
            )

        def accurate(precision: float) -> bool:
            return make(precision).error(confidence=confidence, outputs=outputs) <= target

        return make(least(accurate, float(1 / target)), delta)


def _required(slack: Fraction | None) -> Fraction:
    if slack is None:
        raise InvalidError("delta is missing: epsilon needs it.", argument="delta", hint="Pass delta with epsilon.")
    return slack


def _which(epsilon: object, delta: object, rho: object, sigma: object, method: object) -> str:
    """Return the name of the parameter that fixes the noise; raise InvalidError on contradictory parameters."""
    which = one_of(epsilon=epsilon, rho=rho, sigma=sigma)
    if delta is None and which == "epsilon":
        raise InvalidError("delta is missing: epsilon needs it.", argument="delta", hint="Pass delta with epsilon.")
    if delta is not None and which == "rho":
        message = "delta has no effect with rho, which is a guarantee without delta."
        raise InvalidError(message, argument="delta", hint="Remove it.")
    if not isinstance(method, str) or method not in ("analytic", "classic"):
        raise bad_value("method", method, "'analytic' or 'classic'")
    if method == "classic" and which != "epsilon":
        message = f"method = 'classic' has no effect with {which}, which fixes the noise."
        raise InvalidError(message, argument="method", hint="Remove it.")
    return which


def _unit_sigma(which: str, amount: Fraction, slack: Fraction | None, size: Fraction, method: str) -> Fraction:
    """Return σ for sensitivity 1: the caller's, or the start of the search on the discrete law."""
    if which == "sigma":
        return amount / size
    if which == "rho":
        return Fraction(1 / sqrt(2 * amount))
    if method == "classic":
        return Fraction(_classic_sigma(amount, _required(slack)))
    epsilon, delta = float(amount), float(_required(slack))
    return Fraction(least(lambda sigma: gaussian_delta(1 / sigma, epsilon) <= delta, 1.0))


def _classic_sigma(epsilon: Fraction, delta: Fraction) -> float:
    """Return √(2·ln(1.25/δ))/ε (Dwork and Roth 2014, theorem A.1), for ε < 1."""
    if epsilon >= 1:
        raise bad_value(
            "epsilon",
            Exact(epsilon),
            "below 1 with method='classic', which is proved there only (at ε = 10, δ = 1e-6 its true δ is 1.9e-6)",
            hint="Remove method: 'analytic' holds for every ε and adds less noise.",
        )
    return sqrt(2 * log(1.25 / delta)) / float(epsilon)


def _calibrated(
    epsilon: Fraction, delta: Fraction, squared: int, moving: int, start: Fraction, method: str
) -> Fraction:
    """Return a variance in squared steps whose certified δ(ε) is within the target, and no less than the classic one.

    The search is over σ in units of √S steps, as floats that mean their decimals. It ends at a σ that meets the target
    while the float below it does not. (For σ below about a step the discrete δ is not monotone in σ, and an even
    smaller σ may meet the target again.)
    """

    def variance(sigma: float) -> Fraction:
        return Fraction(repr(sigma)) ** 2 * squared

    def private(sigma: float) -> bool:
        return gaussian_law.delta(variance(sigma), squared, moving, epsilon) <= delta

    if method == "classic" and private(float(start)):
        return variance(float(start))
    return variance(least(private, float(start)))


def _delta(event: DiscreteGaussianNoise, epsilon: Fraction) -> float:
    return gaussian_law.delta(event.variance, event.l2_squared, event.coordinates, epsilon)


def _guarantee(event: DiscreteGaussianNoise, epsilon: Fraction | None, delta: Fraction | None) -> ApproxDP | ZCDP:
    """Return the target that was met; or the least ε at a given δ; or ρ."""
    if delta is None:
        return ZCDP(rho=Exact(event.l2_squared / (2 * event.variance)))
    if epsilon is None:
        at_zero = _delta(event, Fraction(0)) <= delta
        epsilon = Fraction(
            0 if at_zero else repr(least(lambda size: _delta(event, Fraction(repr(size))) <= delta, 1.0))
        )
    return ApproxDP(epsilon=Exact(epsilon), delta=Exact(delta))


@dataclass(frozen=True, slots=True)
class NoiseComparison:
    """Two mechanisms for one vector, the joint error of each at one confidence, and which is smaller.

    Attributes:
        better: the mechanism with the smaller error.
        laplace_error: the joint error of Laplace noise.
        gaussian_error: the joint error of Gaussian noise.
        laplace: the mechanism with Laplace noise.
        gaussian: the mechanism with Gaussian noise.
    """

    better: Literal["laplace", "gaussian"]
    laplace_error: float
    gaussian_error: float
    laplace: Laplace
    gaussian: Gaussian


def compare_noise(
    *, l1: Number, l2: Number, outputs: int, epsilon: Number, delta: Number, confidence: float = 0.95
) -> NoiseComparison:
    """Compare Laplace noise for Δ₁ at ε with Gaussian noise for Δ₂ at (ε,δ), jointly over all outputs.

    m counting queries have Δ₁ = m and Δ₂ = √m, so Laplace noise grows as m·ln(m/β)/ε and Gaussian noise as
    √(m·ln(1/δ)·ln(m/β))/ε; at ε = 1, δ = 1e-6 and 95 % they cross between four and six queries. The comparison uses
    the laws that are drawn.

    >>> compare_noise(l1=4.0, l2=2.0, outputs=4, epsilon=1, delta=1e-6).better
    'laplace'
    >>> compare_noise(l1=400.0, l2=20.0, outputs=400, epsilon=1, delta=1e-6).better
    'gaussian'

    Args:
        l1: Δ₁, the largest L1 distance of neighbours' values.
        l2: Δ₂, the largest L2 distance of neighbours' values.
        outputs: the number of values.
        epsilon: ε of both.
        delta: δ of the Gaussian noise.
        confidence: the probability with which the joint errors hold.
    """
    ordinary(l1, "l1")
    ordinary(l2, "l2")
    laplace = Laplace(sensitivity=l1, epsilon=epsilon, outputs=outputs)
    gaussian = Gaussian(sensitivity=l2, epsilon=epsilon, delta=delta, outputs=outputs)
    of_laplace = laplace.error(confidence=confidence, outputs=outputs)
    of_gaussian = gaussian.error(confidence=confidence, outputs=outputs)
    better: Literal["laplace", "gaussian"] = "gaussian" if of_gaussian < of_laplace else "laplace"  # Laplace needs no δ
    return NoiseComparison(better, of_laplace, of_gaussian, laplace, gaussian)
