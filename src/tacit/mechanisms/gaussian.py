"""The Gaussian mechanism, on integers.

**Statement.** Let q map databases to ℤ^m with ‖q(D) - q(D')‖₂² ≤ S for neighbours. Then q(D) + K with independent
discrete Gaussian Kᵢ of parameter σ² is S/2σ² zero-concentrated DP (Canonne, Kamath and Steinke,
arXiv:2004.00010v5, theorem 14), and (ε,δ)-DP for the δ(ε) that `guarantees.gaussian_law` computes from the
discrete law itself. Both are proved there, for every shape of value: when all values are integers at most S of
them can differ between neighbours, since each that does adds at least 1 to the squared distance.

The continuous mechanism's σ is not enough: on integers with Δ = 1 the discrete law's δ is 1.25 times the
continuous one's at σ = 2, ε chosen to match. So σ is searched for on the discrete law's own curve: the least
float whose certified δ(ε) is within the target.

On real bits: as for Laplace. σ² is a rational; the calibration rounds δ up, hence σ up.
"""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from tacit.errors import InvalidError
from tacit.guarantees import gaussian_law
from tacit.guarantees.conversions import gaussian_delta
from tacit.guarantees.events import DiscreteGaussianNoise
from tacit.guarantees.exact import Exact, Number, fraction_between, positive
from tacit.guarantees.laplace_law import per_output
from tacit.guarantees.values import ZCDP, ApproxDP
from tacit.mechanisms.arguments import count_of, failure, least, one_of
from tacit.mechanisms.fixed import Fixed
from tacit.mechanisms.lattice import Lattice, add, check_variance, make_lattice
from tacit.noise import discrete_gaussian


class Gaussian(Fixed):
    """Add discrete Gaussian noise: (ε,δ)-differential privacy, or ρ-zCDP.

    >>> m = Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6)
    >>> m.guarantee, round(m.sigma, 3)
    (ApproxDP(epsilon=0.5, delta=1e-06), 8.052)
    >>> Gaussian(sensitivity=1, rho=0.005).sigma
    10.0

    Args:
        sensitivity: Δ, how far neighbours' values are apart in L2; an int for integers, a float for reals.
        epsilon: with `delta`, the guarantee to reach; or
        delta: see `epsilon`; or
        rho: the zero-concentrated guarantee to reach; or
        sigma: the noise to add.
        method: "analytic" for the least noise; "classic" for σ = Δ·√(2·ln(1.25/δ))/ε, proved for ε < 1 only.
        outputs: how many reals one release has.
        granularity: the grid's step for reals, if not the one chosen here.
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
        size = positive(sensitivity, "sensitivity")
        if which == "epsilon":
            target = _target(epsilon, delta)
            unit = _classic_sigma(target) if method == "classic" else _continuous_sigma(target)
        elif which == "rho":
            unit = 1 / sqrt(2 * positive(rho, "rho"))
        else:
            unit = float(positive(sigma, "sigma") / size)
        size, self._lattice = make_lattice(sensitivity, outputs, granularity, Fraction(unit))
        squared = self._lattice.l2_squared_steps(size)
        moving = squared if self._lattice.integral else min(squared, self._lattice.outputs)
        if which == "epsilon":
            self.guarantee = target
            variance = _calibrated(target, squared, moving, unit if method == "classic" else None)
        else:
            variance = squared / (2 * positive(rho, "rho")) if which == "rho" else _squared(sigma, self._lattice)
            self.guarantee = ZCDP(rho=Exact(squared / (2 * variance)))
        check_variance(variance, which, {"epsilon": epsilon, "rho": rho, "sigma": sigma}[which])
        self.event = DiscreteGaussianNoise(variance=variance, l2_squared=squared, coordinates=moving)
        self.sigma = sqrt(variance) * float(self._lattice.step)
        self.sensitivity = Exact(size)
        self.granularity = float(self._lattice.step)
        self.outputs = self._lattice.outputs
        self._fix(
            sensitivity=sensitivity,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            sigma=sigma,
            method=method if method != "analytic" else None,
            outputs=outputs if outputs != 1 else None,
            granularity=granularity,
        )

    def release(self, value: npt.ArrayLike) -> int | float | npt.NDArray[np.generic]:
        """Return the value with fresh noise: a number for a number, an array for an array."""
        indices, shape = self._lattice.read(value)
        noisy = add(indices, discrete_gaussian(self.event.variance, indices.size))
        return self._lattice.write(noisy, shape)

    def error(self, *, confidence: float = 0.95, outputs: int = 1) -> int | float:
        """Return the bound that |noise| keeps with this confidence, jointly over `outputs` outputs.

        The least t with Pr[all |Kᵢ| ≤ t] ≥ confidence, from the exact tail; for reals times the step, plus half
        a step for the rounding of the value.
        """
        beta = float(per_output(failure(confidence), count_of(outputs, "outputs")))
        steps = gaussian_law.two_sided_quantile(self.event.variance, beta)
        if self._lattice.integral:
            return steps
        return float((steps + Fraction(1, 2)) * self._lattice.step)

    def delta(self, epsilon: Number) -> float:
        """Return a certified δ such that this mechanism is (ε,δ)-DP, from the law that is drawn."""
        size = float(positive(epsilon, "epsilon"))
        return gaussian_law.delta(self.event.variance, self.event.l2_squared, self.event.coordinates, size)

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

        Its guarantee is in ρ, or in ε at the `delta` that is given.

        >>> m = Gaussian.for_error(10, confidence=0.95, sensitivity=1)
        >>> m.error(confidence=0.95), round(m.sigma, 2)
        (10, 5.37)
        """
        wanted = positive(error, "error")

        def make(rho: float) -> Gaussian:
            return cls(sensitivity=sensitivity, rho=rho, outputs=outputs, granularity=granularity)

        def accurate(rho: float) -> bool:
            return make(rho).error(confidence=confidence, outputs=outputs) <= wanted

        guess = float(positive(sensitivity, "sensitivity") / wanted) ** 2
        best = make(least(accurate, guess))
        if delta is None:
            return best
        target = float(fraction_between(delta, "delta", 0, 1))
        epsilon = least(lambda size: best.delta(size) <= target, 1.0)
        while True:  # σ is searched for anew among floats and may come out one float larger
            made = cls(sensitivity=sensitivity, epsilon=epsilon, delta=delta, outputs=outputs, granularity=granularity)
            if made.error(confidence=confidence, outputs=outputs) <= wanted:
                return made
            epsilon *= 1 + 2.0**-40


def _which(epsilon: object, delta: object, rho: object, sigma: object, method: str) -> str:
    """Return which parameter fixes the noise; refuse mixtures and unknown methods."""
    which = one_of(epsilon=epsilon, rho=rho, sigma=sigma)
    if (delta is None) == (which == "epsilon"):
        want = "given together with epsilon, and only then"
        raise InvalidError("delta", repr(delta) if delta is not None else "nothing", want)
    if method not in ("analytic", "classic"):
        raise InvalidError("method", repr(method), "'analytic' or 'classic'")
    if method == "classic" and which != "epsilon":
        raise InvalidError("method", repr(method), f"left out with {which}, which fixes the noise by itself")
    return which


def _target(epsilon: object, delta: object) -> ApproxDP:
    size, slack = positive(epsilon, "epsilon"), fraction_between(delta, "delta", 0, 1)
    return ApproxDP(epsilon=Exact(size), delta=Exact(slack))


def _classic_sigma(target: ApproxDP) -> float:
    """Return √(2·ln(1.25/δ))/ε (Dwork and Roth 2014, theorem A.1), refusing ε ≥ 1."""
    if target.epsilon >= 1:
        want = (
            "below 1 with method='classic', since its proof ends there (at ε = 10, δ = 1e-6 its true δ is 1.9e-6); "
            "method='analytic' holds for every ε and adds less noise"
        )
        raise InvalidError("epsilon", repr(target.epsilon), want)
    return sqrt(2 * log(1.25 / target.delta)) / target.epsilon


def _continuous_sigma(target: ApproxDP) -> float:
    """Return the continuous mechanism's σ for sensitivity 1: where the search on the discrete law starts."""
    epsilon, delta = float(target.epsilon), float(target.delta)
    return least(lambda sigma: gaussian_delta(1 / sigma, epsilon) <= delta, 1.0)


def _calibrated(target: ApproxDP, squared: int, moving: int, classic: float | None) -> Fraction:
    """Return the variance in squared steps: the least certified one, and no less than the classic one.

    The search is over σ in units of √S steps, as floats that mean their decimals.
    """
    epsilon, delta = float(target.epsilon), float(target.delta)

    def variance(sigma: float) -> Fraction:
        return Fraction(repr(sigma)) ** 2 * squared

    def private(sigma: float) -> bool:
        return gaussian_law.delta(variance(sigma), squared, moving, epsilon) <= delta

    if classic is not None and private(classic):
        return variance(classic)
    return variance(least(private, _continuous_sigma(target)))


def _squared(sigma: Number | None, lattice: Lattice) -> Fraction:
    return (positive(sigma, "sigma") / lattice.step) ** 2
