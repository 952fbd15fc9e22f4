"""The purse of an itemset release: every draw takes its part of the cost, and no part is spent twice.

**Statement.** A release whose draws come from one purse is (ε, δ)-DP, or ρ-zCDP if the purse was opened with ρ.
**Proof.** Draws come in up to three blocks, one after the other: first, concentrated, last. All parts are fixed
numbers, or depend on earlier outputs and stay within the same sums.

* *With ε.* The draws of the first and the last block are pure and compose to (E₁, 0) and (E₃, 0). A share e of ε with
  δ_g buys ρ(e, δ_g), a ρ with `delta_of_zcdp(ρ, e)` ≤ δ_g. The concentrated block composes adaptively to ρ-zCDP (Bun and
  Steinke, arXiv:1605.02065v1, lemma 2.3), hence to (e, δ_g). The three blocks compose adaptively to (E₁ + e + E₃, δ_g)
  (Dwork and Roth, 2014, theorem B.1), and E₁ + e + E₃ ≤ ε. No pure draw is inside the concentrated block: then
  that theorem would apply to more than three steps, and each needs a δ of its own.
* *With ρ.* All draws are concentrated, and their ρ adds up.

A choice with e^(ε₀u/Δ) and monotone u, or with e^(ε₀u/2Δ), has its loss in an interval of length ε₀ (see `exponential`)
and is ε₀²/8-zCDP, as `guarantees.prices` charges it. Discrete Gaussian noise of variance σ² is Δ₂²/2σ²-zCDP (Canonne et
al., arXiv:2004.00010v5, theorem 14). Discrete Laplace noise of scale Δ₁/ε is ε-DP.

On real bits: parameters are rationals, rounded to more noise; the samplers are exact. Noise is at most 2^40 wide
(`WIDEST`, checked before the charge), and supports are below 2^60, so sums fit 64 bits but with a probability below
e^(-2^20). ρ is a float below the true bound, taken as the rational that it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, sqrt

import numpy as np

from tacit.arrays import Ints
from tacit.errors import InternalError
from tacit.mechanisms.exponential import Exponential
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.laplace import discrete_laplace
from tacit.synthetic.cost import rho_of

WIDEST = 2**40
"""The largest scale or standard deviation of noise, in steps."""
_DIGITS = 2**40
_LESS = 1 - 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The law of the noise on each of some integers: `amount` is a Laplace scale, or a Gaussian variance.

    `terms` independent noises are added up. One counted basket is `step` integers.
    """

    pure: bool
    amount: Fraction
    terms: int = 1
    step: int = 1

    @property
    def deviation(self) -> float:
        """The standard deviation in baskets; for a discrete law, that of its continuous one."""
        return sqrt(self.terms * float(2 * self.amount**2 if self.pure else self.amount)) / self.step


@dataclass(frozen=True, slots=True)
class Noisy:
    """Integers with noise, and its law."""

    values: Ints
    law: Noise


@dataclass(slots=True)
class Purse:
    """What is left of ε or ρ in the present block; `total` is what the block began with."""

    left: Fraction
    is_pure: bool
    total: Fraction = field(init=False)
    draws: list[str] = field(default_factory=list)
    _later: Fraction = Fraction(0)
    _blocks: int = 1
    _currency: bool = field(init=False)

    def __post_init__(self) -> None:
        """Begin the first block."""
        self.total, self._currency = self.left, self.is_pure

    def concentrate(self, share: Fraction, delta: Fraction) -> None:
        """Begin the second block, with a share of what is left; if it is in ε and there is a δ, turn it into ρ."""
        if self._blocks != 1:
            raise InternalError("a purse has one concentrated block.")
        amount = share * self.left
        self._later, self._blocks = self.left - amount, 2
        if self.is_pure and delta:
            amount, self.is_pure = rho_of(amount, delta), False
        self.left = self.total = amount

    def resume(self) -> None:
        """Begin the last block, with what the second one did not get; the rest of the second is lost."""
        if self._blocks != 2:  # noqa: PLR2004 - the second block
            raise InternalError("a purse has one last block.")
        self.left = self.total = self._later
        self.is_pure, self._later, self._blocks = self._currency, Fraction(0), 3

    def noise(self, values: Ints, moved: tuple[int, int], share: Fraction, what: str, *, step: int = 1) -> Noisy:
        """Add noise for a share of the block to integers that move by at most `moved`: in L1, and in L2 squared."""
        part = self._take(share, what)
        l1, l2_squared = moved
        if self.is_pure:
            amount = _short(l1 / part)
            drawn = discrete_laplace(amount, values.size)
        else:
            amount = _short(l2_squared / (2 * part))
            drawn = discrete_gaussian(amount, values.size)
        noisy = values + drawn.astype(np.int64).reshape(values.shape)
        return Noisy(noisy, Noise(pure=self.is_pure, amount=amount, step=step))

    def choose(self, scores: Ints, sensitivity: int, share: Fraction, what: str, *, monotone: bool = False) -> int:
        """Return the place of one score, drawn by the exponential mechanism for a share of the block."""
        part = self._take(share, what)
        epsilon = part if self.is_pure else Fraction(sqrt(8 * part) * _LESS)
        if not self.is_pure and epsilon * epsilon > 8 * part:
            raise InternalError("a choice would cost more than its part.")
        place = Exponential(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone).choose(scores)
        if not isinstance(place, int):
            raise InternalError("a choice among positions is a position.")
        return place

    def _take(self, share: Fraction, what: str) -> Fraction:
        part = share * self.total
        if part > self.left or part <= 0:
            raise InternalError("an itemset release would spend more than it was charged for.")
        self.left -= part
        self.draws.append(what)
        return part


def width(law: Noise) -> Fraction:
    """Return the square of the scale or standard deviation of noise, in steps."""
    return law.amount**2 if law.pure else law.amount


def _short(value: Fraction) -> Fraction:
    """Return a rational of few digits that is at least `value`."""
    return Fraction(-floor(-value * _DIGITS), _DIGITS)
