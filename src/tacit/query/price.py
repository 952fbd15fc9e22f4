"""What a plan costs, and the noise that it buys; nothing is read.

**Sensitivity.** By construction (see `plan`) one unit's integers are in at most g = min(max_groups, cells)
cells, and in each the absolute values of a bundle's integers sum to at most its reach R. So a bundle moves by at most

| | add/remove | change one |
|---|---|---|
| L1 | g·R | 2g·R |
| L2 squared | g·R² | 2g·R² if all integers are ≥ 0 (or all ≤ 0), else 4g·R² |

Change one is a removal and an addition. For non-negative integers two units' vectors x and y have ‖x-y‖² ≤
‖x‖² + ‖y‖², since ⟨x, y⟩ ≥ 0; and ‖x‖₂ ≤ ‖x‖₁ in each cell.

**Noise.** Laplace: ε is split over the bundles by their weights, exactly; each bundle is discrete Laplace
noise of scale L1/ε_i, and the ε_i add up. Gaussian, where δ allows: all bundles together are one Gaussian
mechanism: σ_i² = S_i·s²/w_i with S_i the squared L2, w_i the weights' shares, s the σ of the analytic Gaussian
mechanism for sensitivity 1. The composition of the discrete laws that are drawn is then certified to be (ε,δ)
by its privacy-loss law, and s raised until it is. Under zCDP, ρ_i = w_i·ρ and σ_i² = S_i/2ρ_i, exactly. The
law with the smaller expected error is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidError, show
from tacit.guarantees.composition import compose
from tacit.guarantees.events import ApproxRelease, Event
from tacit.guarantees.exact import Exact, Number, positive, to_fraction
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.mechanisms.gaussian import Gaussian
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.plan import Bundle, Plan

_MOST_NOISE = 2**56
_TRIES = 40
_CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a plan costs and the noise of each of its bundles.

    `events` are what the ledger is charged, `guarantee` what they promise together; `why` says how the law was chosen.
    """

    guarantee: PureDP | ApproxDP | ZCDP
    noise: tuple[NoiseLaw, ...]
    shares: tuple[Fraction, ...]
    events: tuple[Event, ...]
    why: str


def price(plan: Plan, *, epsilon: Number | None = None, delta: Number = 0, rho: Number | None = None) -> Price:
    """Choose the noise for a plan.

    Args:
        plan: the question.
        epsilon: ε of the whole question.
        delta: δ of the whole question, 0 for pure ε; with more, Gaussian noise is used where it errs less.
        rho: ρ of the whole question instead, for a budget in zCDP.
    """
    if (epsilon is None) == (rho is None):
        raise InvalidError("epsilon", "neither or both of epsilon and rho", "given for a budget in ε, or else rho")
    weights = _shares(plan.bundles)
    if rho is not None:
        return _by_rho(plan, positive(rho, "rho"), weights)
    size, slack = positive(epsilon, "epsilon"), to_fraction(delta, "delta", "a number from 0 to below 1")
    if not 0 <= slack < 1:
        raise InvalidError("delta", show(delta), "a number from 0 to below 1")
    laplace = _by_epsilon(plan, size, weights)
    if slack == 0:
        return laplace
    gaussian = _by_epsilon_and_delta(plan, size, slack, weights)
    return _better(laplace, gaussian)


def sensitivity(plan: Plan, bundle: Bundle, law: Law) -> int:
    """Return how far one unit can move a bundle: in L1 for Laplace noise, in L2 squared for Gaussian."""
    changed = plan.table.neighbours == "change one"
    if law == "laplace":
        return plan.groups * bundle.reach * (2 if changed else 1)
    return plan.groups * bundle.reach**2 * ((2 if bundle.nonnegative else 4) if changed else 1)


def _moving(plan: Plan, bundle: Bundle) -> int:
    """Return how many of a bundle's integers one unit can move."""
    cells = min(plan.cells, plan.groups * (2 if plan.table.neighbours == "change one" else 1))
    return cells * len(bundle.measures)


def _shares(bundles: Sequence[Bundle]) -> tuple[Fraction, ...]:
    whole = sum((bundle.weight for bundle in bundles), Fraction(0))
    return tuple(bundle.weight / whole for bundle in bundles)


def _by_epsilon(plan: Plan, epsilon: Fraction, shares: tuple[Fraction, ...]) -> Price:
    noise = tuple(_laplace(plan, bundle, epsilon * share) for bundle, share in zip(plan.bundles, shares, strict=True))
    events = tuple(law.event for law in noise)
    return Price(guarantee=PureDP(epsilon=Exact(epsilon)), noise=noise, shares=shares, events=events, why=_WHY_LAPLACE)


def _laplace(plan: Plan, bundle: Bundle, epsilon: Fraction) -> NoiseLaw:
    l1 = sensitivity(plan, bundle, "laplace")
    return _checked(NoiseLaw(law="laplace", amount=l1 / epsilon, sensitivity=l1, moving=_moving(plan, bundle)))


def _gaussian(plan: Plan, bundle: Bundle, unit_variance: Fraction) -> NoiseLaw:
    """Return Gaussian noise of this variance for each unit of squared sensitivity."""
    square = sensitivity(plan, bundle, "gaussian")
    return _checked(
        NoiseLaw(law="gaussian", amount=square * unit_variance, sensitivity=square, moving=_moving(plan, bundle))
    )


def _checked(noise: NoiseLaw) -> NoiseLaw:
    if noise.scale > _MOST_NOISE:
        want = "larger, or the bounds narrower: the noise does not fit 64 bits"
        raise InvalidError("epsilon", f"one that needs noise of {noise.scale:.3g} grid steps", want)
    return noise


def _by_rho(plan: Plan, rho: Fraction, shares: tuple[Fraction, ...]) -> Price:
    noise = tuple(
        _gaussian(plan, bundle, 1 / (2 * rho * share)) for bundle, share in zip(plan.bundles, shares, strict=True)
    )
    events = tuple(law.event for law in noise)
    return Price(guarantee=ZCDP(rho=Exact(rho)), noise=noise, shares=shares, events=events, why=_WHY_RHO)


def _by_epsilon_and_delta(plan: Plan, epsilon: Fraction, delta: Fraction, shares: tuple[Fraction, ...]) -> Price | None:
    """Return Gaussian noise for all bundles together, certified; None if no noise of reasonable size is."""
    unit = _unit_sigma(epsilon, delta)
    for _ in range(_TRIES):
        square = Fraction(unit) ** 2
        noise = tuple(_gaussian(plan, b, square / share) for b, share in zip(plan.bundles, shares, strict=True))
        total = compose([law.event for law in noise])
        if to_fraction(total.delta(epsilon=Exact(epsilon)).upper, "delta") <= delta:
            promise = ApproxDP(epsilon=Exact(epsilon), delta=Exact(delta))
            events = (ApproxRelease(epsilon=epsilon, delta=delta),)
            return Price(guarantee=promise, noise=noise, shares=shares, events=events, why=_WHY_GAUSSIAN)
        unit *= 1.004
    return None


def _unit_sigma(epsilon: Fraction, delta: Fraction) -> float:
    """Return the σ of the analytic Gaussian mechanism for sensitivity 1, where to begin."""
    return float(Gaussian(sensitivity=1.0, epsilon=Exact(epsilon), delta=Exact(delta)).sigma)


def _better(laplace: Price, gaussian: Price | None) -> Price:
    """Return the price whose noise has the smaller quantiles, averaged over bundles as ratios."""
    if gaussian is None:
        return laplace
    beta = 1 - _CONFIDENCE
    pairs = zip(laplace.noise, gaussian.noise, strict=True)
    ratios = [max(two.quantile(beta), 1) / max(one.quantile(beta), 1) for one, two in pairs]
    ratio = sum(ratios) / len(ratios)
    if ratio < 1:
        return _because(gaussian, f"Gaussian noise: its 95 % error is {ratio:.2f} times that of Laplace noise here.")
    return _because(
        laplace, f"Laplace noise: the 95 % error of Gaussian noise would be {ratio:.2f} times as large here."
    )


def _because(found: Price, why: str) -> Price:
    return Price(guarantee=found.guarantee, noise=found.noise, shares=found.shares, events=found.events, why=why)


_WHY_LAPLACE = "Laplace noise: the question asks for pure ε, without δ."
_WHY_GAUSSIAN = "Gaussian noise."
_WHY_RHO = "Gaussian noise: the budget is in zCDP."
