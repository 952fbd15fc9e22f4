"""The least noise such that many uses together fit one budget.

k uses share a budget (ε,δ); use i has weight wᵢ and noise of scale s/wᵢ. `calibrate` returns the least s, nearly, for
which their composition is certified to be (ε,δ)-DP by the tight rule.

**Soundness.** The mechanisms that are returned are priced as they are: the certified ε(δ) of their own events is at
most the budget's ε, by the tight rule, or by Σε or Σρ where the tight rule can say less (one use, enormous ε,
integer vectors or a very wide law under Gaussian noise). How s was found does not matter. Each use has a
dominating pair that is fixed in advance, so the *questions* may depend on earlier answers (Zhu, Dong and Wang,
arXiv:2106.08567v4, theorem 10); the number of uses, the sensitivity and the weights may not.

**Leastness.** The search ends where the budget is nearly exhausted, or where a fraction 3e-4 less noise is not
certified to fit. That no much smaller s fits rests on ε(δ) falling as s grows. For discrete Laplace noise it does:
noise of a larger scale is noise of a smaller one plus independent noise (`discrete_laplace_lower` in
`guarantees.pld.laws` has the proof), so each use is post-processed, and so is the composition. Discrete Gaussian
noise is no such sum. Where σ is above a step or so its curve is that of continuous noise but for about e^(-2π²σ²),
and falls; below, it need not, and a yet smaller σ may fit again.

With δ = 0 the tight rule is the sum: Laplace noise with ε·wᵢ/Σw each, by exact rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log, sqrt
from typing import Generic, cast

from tacit.errors import InvalidError, TooMuchNoiseError, show
from tacit.guarantees.composition import compose
from tacit.guarantees.conversions import epsilon_of_zcdp, exactly, gaussian_delta
from tacit.guarantees.exact import Exact, Number
from tacit.guarantees.pld import Bounds
from tacit.guarantees.values import ApproxDP, PureDP
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.scale_search import CLOSE, Target, search
from tacit.mechanisms.uses import M, Uses, read_weights
from tacit.mechanisms.validation import count_of, least, ordinary

_LEAST, _MOST, _MOST_DELTA = Fraction(1, 10**90), 10**90, 1 - Fraction(1, 10**9)
_ROUGH, _FINE = 0.03, 5e-4
"""How narrow a bracket is asked for: while the scale is searched for, and at its end."""
_LARGEST = {"Laplace": 300, "Gaussian": 12}
"""The largest Δ/s and Δ/σ of one use that the tight rule is asked about; beyond, the sums are nearly exact."""
_TRIFLE, _NOTABLE = Fraction(1, 2**40), 1.0005


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Generic[M]):
    """The least noise for many uses of one budget; see `calibrate`.

    Attributes:
        budget: what all uses together may cost.
        spent: a bracket of the ε that they cost at the budget's δ; its upper end is certified and within the budget.
        uses: what each use draws; `uses.parts` is what `compose` takes.
        alone: the same by the basic rule, if each use had its own share of ε and of δ.
    """

    budget: PureDP | ApproxDP
    spent: Bounds
    uses: Uses[M]
    alone: Uses[M]

    @property
    def mechanism(self) -> M:
        """The mechanism of every use, if all weights are equal."""
        return self.uses.mechanism

    @property
    def mechanisms(self) -> tuple[M, ...] | dict[str, M]:
        """One mechanism for each use: by name if the weights had names, else in their order."""
        return self.uses.mechanisms

    @property
    def better(self) -> float:
        """How many times less noise than if each use had its own share of ε and of δ; at least 1."""
        return float(self.alone.scale.fraction / self.uses.scale.fraction)

    def __str__(self) -> str:
        """Say it in a sentence."""
        kinds, name = len(self.uses.counts), self.uses.kind.__name__
        draws = repr(self.mechanism) if kinds == 1 else f"{name} noise of {kinds} scales from {self.uses.scale:.6g} on"
        cost = f"epsilon = {self.spent.upper:.6g} of {self.budget.epsilon:.6g} at delta = {_delta_of(self.budget):.6g}"
        gain = "no less noise" if self.better < _NOTABLE else f"{self.better:.4g} times less noise"
        return f"{self.uses.total(0)} × {draws}: {cost}; {gain} than by splitting the budget"

    __repr__ = __str__


def calibrate(
    kind: type[M],
    *,
    sensitivity: Number,
    uses: int | Sequence[Number] | Mapping[str, Number],
    budget: PureDP | ApproxDP,
    outputs: int = 1,
) -> Calibration[M]:
    """Return the least noise such that all uses together fit the budget, by the tight rule; see the module.

    >>> found = calibrate(Laplace, sensitivity=1, uses=1000, budget=ApproxDP(epsilon=1, delta=1e-6))
    >>> round(found.mechanism.scale), round(found.alone.mechanism.scale), round(found.better, 1)
    (133, 1000, 7.5)

    Args:
        kind: `Laplace` or `Gaussian`.
        sensitivity: of one use, as that mechanism takes it: an int for integers, a float for reals.
        uses: how many equal ones; or a weight for each, in a list or by name: twice the weight, half the noise.
        budget: what they may cost together.
        outputs: how many reals one use releases.
    """
    if kind is not Laplace and kind is not Gaussian:
        raise InvalidError("kind", show(kind), "tc.Laplace or tc.Gaussian, the class itself")
    ordinary(sensitivity, "sensitivity")
    epsilon, delta = _read_budget(kind, budget)
    weights, length = read_weights(uses), count_of(outputs, "outputs")
    try:
        alone = _basic(Uses(kind, sensitivity, length, weights, Exact(1)), epsilon, delta)
        found, spent = _tight(alone, epsilon, delta) if delta else (alone, compose(alone.parts).epsilon(delta=0))
        return Calibration(budget, spent, found, alone)
    except TooMuchNoiseError as error:
        raise TooMuchNoiseError("budget", f"epsilon = {float(epsilon):.6g}", f"larger, {error.want}") from None


def _read_budget(kind: object, budget: object) -> tuple[Fraction, Fraction]:
    """Return ε > 0 and δ, which is 0 for Laplace noise only."""
    if not isinstance(budget, (PureDP, ApproxDP)):
        want = "a PureDP or an ApproxDP (other guarantees add up exactly: tc.split gives the parts)"
        raise InvalidError("budget", show(budget), want)
    epsilon, delta = exactly(budget.epsilon), exactly(_delta_of(budget))
    if not _LEAST <= epsilon <= _MOST:
        raise InvalidError("budget", f"epsilon = {float(epsilon)}", "one with an epsilon from 1e-90 to 1e90")
    if kind is Gaussian and delta == 0:
        raise InvalidError("budget", "one with delta = 0", "an ApproxDP with delta > 0, as Gaussian noise needs one")
    if delta and not _LEAST <= delta <= _MOST_DELTA:
        raise InvalidError("budget", f"delta = {float(delta)}", "one with a delta of 0, or from 1e-90 to 1 - 1e-9")
    return epsilon, delta


def _delta_of(budget: PureDP | ApproxDP) -> float:
    return budget.delta if isinstance(budget, ApproxDP) else Exact(0)


def _basic(uses: Uses[M], epsilon: Fraction, delta: Fraction) -> Uses[M]:
    """Return the least noise such that each use keeps to its share of ε and of δ, in proportion to its weight."""
    total = uses.total()
    if uses.kind is Laplace:
        size = ordinary(uses.sensitivity, "sensitivity")
        return _raised(uses.at(size * total / epsilon), lambda some: _pure_cost(some) <= epsilon)
    shares = [weight / total for weight in uses.counts]
    worst = max(shares, key=lambda share: share * _continuous(epsilon * share, delta * share))

    def kept(some: Uses[M]) -> bool:
        made = cast("list[tuple[Gaussian, int]]", some.parts)
        return all(m.delta(epsilon * share) <= delta * share for (m, _), share in zip(made, shares, strict=True))

    return _raised(uses.at(worst * total * _sigma(uses, epsilon * worst, delta * worst)), kept)


def _pure_cost(uses: Uses[M]) -> Fraction:
    made = cast("list[tuple[Laplace, int]]", uses.parts)
    return sum((count * exactly(m.guarantee.epsilon) for m, count in made), Fraction(0))


def _sigma(uses: Uses[M], epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the σ of one use alone; that of continuous noise where the discrete one does not fit 64 bits."""
    try:
        one = Gaussian(sensitivity=uses.sensitivity, epsilon=Exact(epsilon), delta=Exact(delta), outputs=uses.outputs)
    except TooMuchNoiseError:
        return ordinary(uses.sensitivity, "sensitivity") * _continuous(epsilon, delta)
    return Fraction(repr(one.sigma))


def _continuous(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least σ of continuous Gaussian noise for sensitivity 1."""
    own, slack = float(epsilon), float(delta)
    return Fraction(least(lambda sigma: gaussian_delta(1 / sigma, own) <= slack, 1.0))


def _raised(uses: Uses[M], holds: Callable[[Uses[M]], bool]) -> Uses[M]:
    """Return these uses with the noise raised by as little as makes them hold: rounding and grids cost a trifle.

    Noise that does not fit 64 bits is returned unchecked; it cannot be drawn.
    """
    try:
        start, excess = uses.scale.fraction, _TRIFLE
        while not holds(uses):
            uses, excess = uses.at(start * (1 + excess)), excess * 2
    except TooMuchNoiseError:
        pass
    return uses


def _concentrated(uses: Uses[M], epsilon: Fraction, delta: Fraction) -> Uses[M]:
    """Return the least noise whose Σρ, at most Σ(Δ·w/s)²/2 for both laws, is worth (ε,δ)."""
    far = -log(delta)
    guess = ((sqrt(far + float(epsilon)) + sqrt(far)) / float(epsilon)) ** 2
    inverse = least(lambda t: epsilon_of_zcdp(1 / t, delta) <= epsilon, guess)
    start = float(ordinary(uses.sensitivity, "sensitivity")) * sqrt(uses.total(2) * inverse / 2)

    def kept(some: Uses[M]) -> bool:
        return compose(some.parts).epsilon(delta=delta, rule="zcdp").upper <= epsilon

    return _raised(uses.at(start), kept)


def _tight(alone: Uses[M], epsilon: Fraction, delta: Fraction) -> tuple[Uses[M], Bounds]:
    """Return the least noise that the tight rule, or one of the sums, certifies; and what it costs."""
    target = Target(epsilon, delta)
    fits = min(alone.scale.fraction, _concentrated(alone, epsilon, delta).scale.fraction)
    normal = float(ordinary(alone.sensitivity, "sensitivity")) * sqrt(alone.total(2)) / target.mu(float(epsilon))
    found = search(_pricer(alone, delta, _ROUGH), target, min(normal, float(fits) / (1 + CLOSE)), fits)
    scale, cost = found.scale, found.price
    if found.last.upper - found.last.lower <= _ROUGH * found.last.upper:  # else a finer grid will not help
        found = search(_pricer(alone, delta, _FINE), target, scale, scale)
        scale, cost = found.scale, found.price or cost
    uses = alone.at(scale)
    return uses, _bracket(uses, cost, epsilon, delta)


def _pricer(uses: Uses[M], delta: Fraction, width: float) -> Callable[[Fraction], Bounds]:
    """Return the tight price of these uses as a function of the scale."""

    def price(scale: Fraction) -> Bounds:
        if scale < _least_scale(uses):
            return Bounds(0.0, inf)
        return compose(uses.at(scale).parts).epsilon(delta=delta, width=width)

    return price


def _least_scale(uses: Uses[M]) -> Fraction:
    return ordinary(uses.sensitivity, "sensitivity") / _LARGEST[uses.kind.__name__]


def _bracket(uses: Uses[M], cost: Bounds | None, epsilon: Fraction, delta: Fraction) -> Bounds:
    """Return what the mechanisms cost, given that their price or a sum has certified them."""
    parts, top = uses.parts, float(epsilon)
    if cost is not None:
        return cost
    if uses.scale < _least_scale(uses):
        return Bounds(0.0, top)
    own = compose(parts).epsilon(delta=delta, width=_ROUGH)
    return Bounds(min(own.lower, top), min(own.upper, top))
