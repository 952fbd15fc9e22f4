"""The least noise such that many uses together fit one budget.

k uses share a budget (ε,δ); use i has weight wᵢ and noise of scale s/wᵢ. `calibrate` returns nearly the least s for
which the tight rule certifies their composition to be (ε,δ)-DP.

**Soundness.** The returned mechanisms themselves are priced: the certified ε(δ) of their events is at most the budget's
ε, by the tight rule, or by Σε or Σρ if those give less (one use, enormous ε, integer vectors or a very wide law under
Gaussian noise). How s was found does not matter. Each use has a dominating pair that is fixed in advance, so the
*queries* may depend on earlier answers (Zhu, Dong and Wang, arXiv:2106.08567v4, theorem 10); the number of uses, the
sensitivity and the weights may not.

**Leastness.** The search ends where the budget is nearly exhausted, or where a fraction 3e-4 less noise is not
certified to fit. No much smaller s fits if ε(δ) falls as s grows. For discrete Laplace noise it does:
noise of a larger scale is noise of a smaller one plus independent noise (`_discrete_laplace_lower` in
`guarantees.pld.laws` has the proof), so each use is post-processed, and so is the composition. Discrete Gaussian
noise is not such a sum. If σ is above about one step, its curve is that of continuous noise up to about e^(-2π²σ²), and
falls. Below, it need not fall, and an even smaller σ may fit again.

With δ = 0 the tight rule is the sum: Laplace noise with ε·wᵢ/Σw each, in exact rationals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, log, sqrt
from typing import Generic, TypeAlias, TypeVar, cast

from tacit.errors import InvalidError, TooMuchNoiseError, bad_value
from tacit.guarantees.composition import compose
from tacit.guarantees.conversions import epsilon_of_zcdp, exactly, gaussian_delta
from tacit.guarantees.exact import Exact, Number, positive, whole
from tacit.guarantees.pld import Bounds
from tacit.guarantees.values import ApproxDP, PureDP
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.scale_search import CLOSE, Target, least, search
from tacit.mechanisms.validation import count_of, ordinary
from tacit.notebook import ShownAsLines

M = TypeVar("M", bound=Laplace | Gaussian)
Weights: TypeAlias = int | tuple[Fraction, ...] | dict[str, Fraction]

_LEAST, _MOST, _MOST_DELTA = Fraction(1, 10**90), 10**90, 1 - Fraction(1, 10**9)
_ROUGH, _FINE = 0.03, 5e-4
"""The width of the bracket during the search for the scale, and at its end."""
_LARGEST = {"Laplace": 300, "Gaussian": 12}
"""The largest Δ/s and Δ/σ of one use for the tight rule; beyond them, the sums are nearly exact."""
_TRIFLE, _NOTABLE = Fraction(1, 2**40), 1.0005
_MOST_USES, _APART = 10**9, 10**15


@dataclass(frozen=True, eq=False)
class Uses(Generic[M]):
    """The noise of every use: one scale, divided by the weight of the use.

    Attributes:
        kind: `Laplace` or `Gaussian`.
        sensitivity: of one use.
        outputs: the number of reals in one use.
        weights: the number of equal uses; or the weight of each use, with 1 for the heaviest.
        scale: the noise of the heaviest use, in the units of the values.
    """

    kind: type[M]
    sensitivity: Number
    outputs: int
    weights: Weights
    scale: Exact

    @property
    def mechanism(self) -> M:
        """The mechanism of every use, if all weights are equal."""
        if len(self._by_weight) > 1:
            message = f"The uses have {len(self._by_weight)} different weights, so there is no single mechanism."
            raise InvalidError(message, argument="weights", hint="Use .mechanisms, which has one for each use.")
        return next(iter(self._by_weight.values()))

    @property
    def mechanisms(self) -> tuple[M, ...] | dict[str, M]:
        """One mechanism for each use: by name if the weights had names, else in their order."""
        if isinstance(self.weights, dict):
            return {name: self._by_weight[weight] for name, weight in self.weights.items()}
        if isinstance(self.weights, int):
            return (self.mechanism,) * self.weights
        return tuple(self._by_weight[weight] for weight in self.weights)

    @property
    def parts(self) -> list[tuple[M, int]]:
        """Each different mechanism with the number of its uses, as `compose` takes them."""
        return [(self._by_weight[weight], count) for weight, count in self.counts.items()]

    @cached_property
    def counts(self) -> Mapping[Fraction, int]:
        """Each different weight with the number of its uses."""
        if isinstance(self.weights, int):
            return {Fraction(1): self.weights}
        return Counter(self.weights.values() if isinstance(self.weights, dict) else self.weights)

    @cached_property
    def _by_weight(self) -> dict[Fraction, M]:
        return {weight: self._mechanism_at(Exact(self.scale.fraction / weight)) for weight in self.counts}

    def _mechanism_at(self, scale: Exact) -> M:
        if self.kind is Laplace:
            return cast("M", Laplace(sensitivity=self.sensitivity, scale=scale, outputs=self.outputs))
        return cast("M", Gaussian(sensitivity=self.sensitivity, sigma=scale, outputs=self.outputs))

    def at(self, scale: Number) -> Uses[M]:
        """Return the same uses with another noise scale."""
        return Uses(self.kind, self.sensitivity, self.outputs, self.weights, Exact(scale))

    def total(self, power: int = 1) -> Fraction:
        """Return the sum of all weights, raised to a power."""
        return sum((count * weight**power for weight, count in self.counts.items()), Fraction(0))


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(ShownAsLines, Generic[M]):
    """The least noise for many uses of one budget; see `calibrate`.

    Attributes:
        budget: the budget of all uses together.
        spent: a bracket of their cost in ε at the budget's δ; its upper end is certified and within the budget.
        uses: the noise of each use; pass `uses.parts` to `compose`.
        alone: the same by the basic rule, if each use had a separate share of ε and of δ.
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
        """The factor of noise that is saved against a separate share of ε and of δ for each use; at least 1."""
        return float(self.alone.scale.fraction / self.uses.scale.fraction)

    def __str__(self) -> str:
        """Return a summary in one sentence."""
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

    >>> shared = calibrate(Laplace, sensitivity=1, uses=1000, budget=ApproxDP(epsilon=1, delta=1e-6))
    >>> round(shared.mechanism.scale), round(shared.alone.mechanism.scale), round(shared.better, 1)
    (133, 1000, 7.5)

    Args:
        kind: `Laplace` or `Gaussian`.
        sensitivity: the sensitivity of one use: an int for integers, a float for reals.
        uses: the number of equal uses; or a weight for each, in a list or by name: twice the weight, half the noise.
        budget: the budget of all uses together.
        outputs: the number of reals in one use.
    """
    if kind is not Laplace and kind is not Gaussian:
        raise bad_value("kind", kind, "the class tc.Laplace or tc.Gaussian")
    ordinary(sensitivity, "sensitivity")
    epsilon, delta = _read_budget(kind, budget)
    weights, length = read_weights(uses), count_of(outputs, "outputs")
    try:
        alone = _basic(Uses(kind, sensitivity, length, weights, Exact(1)), epsilon, delta)
        least_noise, spent = _tight(alone, epsilon, delta) if delta else (alone, compose(alone.parts).epsilon(delta=0))
        return Calibration(budget, spent, least_noise, alone)
    except TooMuchNoiseError:
        message = f"A budget with epsilon = {float(epsilon):.6g} needs noise of a scale above 2^56 (7.2e16) grid steps."
        raise TooMuchNoiseError(message, argument="budget", hint="Use a larger epsilon, or fewer uses.") from None


def _read_budget(kind: object, budget: object) -> tuple[Fraction, Fraction]:
    """Return ε > 0 and δ, which is 0 for Laplace noise only."""
    if not isinstance(budget, (PureDP, ApproxDP)):
        hint = "Other guarantees add up exactly: use tc.split to get the parts."
        raise bad_value("budget", budget, "a PureDP or an ApproxDP", hint=hint)
    epsilon, delta = exactly(budget.epsilon), exactly(_delta_of(budget))
    if not _LEAST <= epsilon <= _MOST:
        message = f"The epsilon of the budget must be from 1e-90 to 1e90, not {float(epsilon)}."
        raise InvalidError(message, argument="budget")
    if kind is Gaussian and delta == 0:
        message = "Gaussian noise needs a budget with delta > 0."
        raise InvalidError(message, argument="budget", hint="Pass an ApproxDP.")
    if delta and not _LEAST <= delta <= _MOST_DELTA:
        message = f"The delta of the budget must be 0, or from 1e-90 to 1 - 1e-9, not {float(delta)}."
        raise InvalidError(message, argument="budget")
    return epsilon, delta


def _delta_of(budget: PureDP | ApproxDP) -> float:
    return budget.delta if isinstance(budget, ApproxDP) else Exact(0)


def _basic(uses: Uses[M], epsilon: Fraction, delta: Fraction) -> Uses[M]:
    """Return the least noise such that each use stays within its share of ε and of δ, in proportion to its weight."""
    total = uses.total()
    if uses.kind is Laplace:
        size = ordinary(uses.sensitivity, "sensitivity")
        return _raised(uses.at(size * total / epsilon), lambda some: _pure_cost(some) <= epsilon)
    shares = [weight / total for weight in uses.counts]
    worst = max(shares, key=lambda share: share * _continuous(epsilon * share, delta * share))

    def fits(some: Uses[M]) -> bool:
        parts = cast("list[tuple[Gaussian, int]]", some.parts)
        return all(m.delta(epsilon * share) <= delta * share for (m, _), share in zip(parts, shares, strict=True))

    return _raised(uses.at(worst * total * _sigma(uses, epsilon * worst, delta * worst)), fits)


def _pure_cost(uses: Uses[M]) -> Fraction:
    parts = cast("list[tuple[Laplace, int]]", uses.parts)
    return sum((count * exactly(m.guarantee.epsilon) for m, count in parts), Fraction(0))


def _sigma(uses: Uses[M], epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the σ of one use alone; that of continuous noise if discrete noise does not fit into 64 bits."""
    try:
        single = Gaussian(
            sensitivity=uses.sensitivity, epsilon=Exact(epsilon), delta=Exact(delta), outputs=uses.outputs
        )
    except TooMuchNoiseError:
        return ordinary(uses.sensitivity, "sensitivity") * _continuous(epsilon, delta)
    return Fraction(repr(single.sigma))


def _continuous(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least σ of continuous Gaussian noise for sensitivity 1."""
    size, slack = float(epsilon), float(delta)
    return Fraction(least(lambda sigma: gaussian_delta(1 / sigma, size) <= slack, 1.0))


def _raised(uses: Uses[M], holds: Callable[[Uses[M]], bool]) -> Uses[M]:
    """Raise the noise of these uses slightly until the condition holds, to cover rounding and grids.

    Noise that does not fit into 64 bits is returned unchecked; it cannot be drawn.
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

    def fits(some: Uses[M]) -> bool:
        return compose(some.parts).epsilon(delta=delta, rule="zcdp").upper <= epsilon

    return _raised(uses.at(start), fits)


def _tight(alone: Uses[M], epsilon: Fraction, delta: Fraction) -> tuple[Uses[M], Bounds]:
    """Return the least noise that the tight rule, or one of the sums, certifies; and its cost."""
    target = Target(epsilon, delta)
    fits = min(alone.scale.fraction, _concentrated(alone, epsilon, delta).scale.fraction)
    normal = float(ordinary(alone.sensitivity, "sensitivity")) * sqrt(alone.total(2)) / target.mu(float(epsilon))
    fit = search(_pricer(alone, delta, _ROUGH), target, min(normal, float(fits) / (1 + CLOSE)), fits)
    scale, cost = fit.scale, fit.price
    if fit.last.upper - fit.last.lower <= _ROUGH * fit.last.upper:  # else a finer grid will not help
        fit = search(_pricer(alone, delta, _FINE), target, scale, scale)
        scale, cost = fit.scale, fit.price or cost
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
    """Return the cost of the mechanisms, which their price or a sum has certified."""
    parts, top = uses.parts, float(epsilon)
    if cost is not None:
        return cost
    if uses.scale < _least_scale(uses):
        return Bounds(0.0, top)
    bounds = compose(parts).epsilon(delta=delta, width=_ROUGH)
    return Bounds(min(bounds.lower, top), min(bounds.upper, top))


def read_weights(uses: object) -> Weights:
    """Return the number of equal uses, or their weights relative to the heaviest.

    >>> read_weights([1, 2])
    (Fraction(1, 2), Fraction(1, 1))
    """
    count = whole(uses)
    if count is not None and 1 <= count <= _MOST_USES:
        return count
    if not isinstance(uses, (list, tuple, Mapping)) or not uses:
        raise bad_value("uses", uses, "a whole number from 1 to 10^9, or weights > 0 in a list or by name")
    weights = [positive(weight, "weight") for weight in (uses.values() if isinstance(uses, Mapping) else uses)]
    top = max(weights)
    if min(weights) * _APART < top:
        raise InvalidError("The weights must be within a factor of 1e15 of each other.", argument="uses")
    relative = tuple(weight / top for weight in weights)
    return dict(zip(uses, relative, strict=True)) if isinstance(uses, Mapping) else relative
