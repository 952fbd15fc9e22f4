"""What a plan costs, and the noise that it buys; nothing is read.

**Sensitivity.** By construction (see `plan`) one unit's integers are in at most g = min(max_groups, cells)
cells, and in each the absolute values of a bundle's integers sum to at most its reach R. So a bundle moves by at most

| | add/remove | change one | of one integer a cell that is ≥ 0 (or ≤ 0) |
|---|---|---|---|
| L1 | g·R | 2g·R | c·R |
| L2 squared | g·R² | 2g·R² if all integers are ≥ 0 (or all ≤ 0), else 4g·R² | c·R² |

Change one is a removal and an addition. For non-negative integers two units' vectors x and y have ‖x-y‖² ≤
‖x‖² + ‖y‖², since ⟨x, y⟩ ≥ 0; and ‖x‖₂ ≤ ‖x‖₁ in each cell. The units are in at most c = min(2g, cells) cells
together, and two integers from 0 to R differ by at most R: so the count of a whole table moves by 1, not 2.

A bundle that is added up over keys (`over`) may get all of a unit's g cells in one of its own: it has one cell of
reach g·R in place of g cells of reach R. Blocks of bins add up integers of one cell, which changes nothing.

**Noise.** Laplace: ε is split over the bundles by their weights, exactly; each bundle is discrete Laplace
noise of scale L1/ε_i, and the ε_i add up. Gaussian, where δ allows: all bundles together are one Gaussian
mechanism: σ_i² = S_i·s²/w_i with S_i the squared L2, w_i the weights' shares, s the σ of the analytic Gaussian
mechanism for sensitivity 1. The composition of the discrete laws that are drawn is then certified to be (ε,δ),
in closed form (`gaussian_law.joint_delta`) or by its privacy-loss law, and s raised until it is. Under zCDP,
ρ_i = w_i·ρ and σ_i² = S_i/2ρ_i, exactly. The law with the smaller expected error is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from tacit.errors import InvalidError, TooMuchNoiseError, show
from tacit.guarantees.composition import compose
from tacit.guarantees.events import ApproxRelease, Event
from tacit.guarantees.exact import Exact, Number, positive, to_fraction
from tacit.guarantees.gaussian_law import joint_delta
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.mechanisms.gaussian import Gaussian
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.plan import Bundle, Plan
from tacit.query.pricing.partition_selection import CHOICE, answered, said, select
from tacit.query.pricing.selection_refusals import refuse_found, refuse_zcdp
from tacit.query.pricing.truncated_laplace import Truncated

_MOST_NOISE = 2**56
_TRIES = 40
_CLOSE = (1.0001, 1.001, 1.01)
_CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a plan costs and the noise of each of its bundles.

    `events` are what the ledger is charged, `guarantee` what they promise together; `why` says how the law was chosen.
    `choice` is the law by which groups are chosen, where they are found in the data.
    """

    guarantee: PureDP | ApproxDP | ZCDP
    noise: tuple[NoiseLaw, ...]
    shares: tuple[Fraction, ...]
    events: tuple[Event, ...]
    why: str
    choice: Truncated | None = None


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
        refuse_zcdp(plan)
        if delta != 0:
            raise InvalidError("delta", show(delta), "left out where rho is given")
        return _by_rho(plan, positive(rho, "rho"), weights)
    size, slack = positive(epsilon, "epsilon"), to_fraction(delta, "delta", "a number from 0 to below 1")
    if not 0 <= slack < 1:
        raise InvalidError("delta", show(delta), "a number from 0 to below 1")
    if plan.open:
        return _found(plan, size, slack)
    laplace = _by_epsilon(plan, size, weights)
    if slack == 0:
        return laplace
    return _better(laplace, plan, size, slack)


def _better(laplace: Price, plan: Plan, epsilon: Fraction, delta: Fraction) -> Price:
    """Return Gaussian noise where that errs less than Laplace noise; certifying it takes time, so it is tried last."""
    try:
        unit = _unit_sigma(epsilon, delta)
    except TooMuchNoiseError:
        return replace(laplace, why="Laplace noise: Gaussian noise would not fit 64 bits.")
    ratio = _ratio(laplace.noise, _gaussians(plan, laplace.shares, unit))
    if ratio < 1:
        gaussian = _certified(plan, epsilon, delta, laplace.shares, unit)
        if gaussian is None:
            return replace(laplace, why="Laplace noise: no Gaussian noise of reasonable size could be certified.")
        ratio = _ratio(laplace.noise, gaussian.noise)
        if ratio < 1:
            return replace(gaussian, why=f"Gaussian noise: its 95 % error is {ratio:.2f} times that of Laplace noise.")
    return replace(laplace, why=f"Laplace noise: the 95 % error of Gaussian noise would be {ratio:.2f} times as large.")


def _found(plan: Plan, epsilon: Fraction, delta: Fraction) -> Price:
    """Return the price of groups that are found in the data, and of their values: see `selection`."""
    refuse_found(plan, delta)
    told = answered(plan)
    rest = replace(plan, bundles=tuple(b for place, b in enumerate(plan.bundles) if place not in told))
    choice, values = (
        _choice_and_values(plan, rest, epsilon, delta) if rest.bundles else (select(plan, epsilon, delta), None)
    )
    own = iter([] if values is None else zip(values.noise, values.shares, strict=True))
    laws = [(choice, Fraction(0)) if place in told else next(own) for place in range(len(plan.bundles))]
    return Price(
        guarantee=ApproxDP(epsilon=Exact(epsilon), delta=Exact(delta)),
        noise=tuple(law for law, _ in laws),
        shares=tuple(share * (1 - CHOICE) for _, share in laws),
        events=(choice.event, *(() if values is None else values.events)),
        why=said(choice) if values is None else f"{said(choice)} Their values: {values.why}",
        choice=choice,
    )


def _choice_and_values(plan: Plan, rest: Plan, epsilon: Fraction, delta: Fraction) -> tuple[Truncated, Price]:
    """Split (ε, δ) between the choice of groups and their values.

    Gaussian noise for values takes half of δ, and fewer groups are shown: its error must be less by more than that.
    """
    chosen = epsilon * CHOICE
    laplace = _by_epsilon(rest, epsilon - chosen, _shares(rest.bundles))
    choice, values = select(plan, chosen, delta), _better(laplace, rest, epsilon - chosen, delta / 2)
    if isinstance(values.guarantee, PureDP):
        return choice, values
    stricter = select(plan, chosen, delta / 2)
    if _ratio(laplace.noise, values.noise) * stricter.most < choice.most:
        return stricter, values
    return choice, replace(laplace, why="Laplace noise: with the δ that Gaussian noise takes, more groups are shown.")


def sensitivity(plan: Plan, bundle: Bundle, law: Law) -> int:
    """Return how far one unit can move a bundle: in L1 for Laplace noise, in L2 squared for Gaussian."""
    cells, size = (plan.groups, bundle.reach) if bundle.over is None else (1, plan.groups * bundle.reach)
    reach = size if law == "laplace" else size**2
    if plan.table.neighbours == "add/remove":
        return cells * reach
    if bundle.nonnegative and bundle.width == 1 and bundle.over is None:
        return _touched(plan, bundle) * reach
    return cells * reach * (2 if bundle.nonnegative or law == "laplace" else 4)


def _touched(plan: Plan, bundle: Bundle) -> int:
    """Return in how many cells neighbouring tables can differ."""
    most = plan.groups * (2 if plan.table.neighbours == "change one" else 1)
    cells = plan.cells if bundle.over is None else prod(len(plan.keys[place].listed) for place in bundle.over)
    return most if cells is None else min(cells, most)


def _moving(plan: Plan, bundle: Bundle) -> int:
    """Return how many of a bundle's integers can differ between neighbouring tables.

    A unit's integers in a cell are whole and sum to at most the reach, so no more of them than that are not 0.
    """
    units = 2 if plan.table.neighbours == "change one" else 1
    nonzero = units * plan.groups * min(bundle.width, bundle.reach)
    return min(_touched(plan, bundle) * bundle.width, nonzero)


def _shares(bundles: Sequence[Bundle]) -> tuple[Fraction, ...]:
    whole = sum((bundle.weight for bundle in bundles), Fraction(0))
    return tuple(bundle.weight / whole for bundle in bundles)


def _by_epsilon(plan: Plan, epsilon: Fraction, shares: tuple[Fraction, ...]) -> Price:
    noise = tuple(_laplace(plan, bundle, epsilon * share) for bundle, share in zip(plan.bundles, shares, strict=True))
    events = tuple(law.event for law in noise)
    return Price(guarantee=PureDP(epsilon=Exact(epsilon)), noise=noise, shares=shares, events=events, why=_WHY_LAPLACE)


def _laplace(plan: Plan, bundle: Bundle, epsilon: Fraction) -> NoiseLaw:
    l1 = sensitivity(plan, bundle, "laplace")
    noise = NoiseLaw(law="laplace", amount=l1 / epsilon, sensitivity=l1, moving=_moving(plan, bundle))
    return _checked(noise, "epsilon")


def _gaussian(plan: Plan, bundle: Bundle, unit_variance: Fraction) -> NoiseLaw:
    """Return Gaussian noise of this variance for each unit of squared sensitivity."""
    square = sensitivity(plan, bundle, "gaussian")
    return NoiseLaw(law="gaussian", amount=square * unit_variance, sensitivity=square, moving=_moving(plan, bundle))


def noise_of(plan: Plan, bundle: Bundle, law: Law, amount: Fraction) -> NoiseLaw | None:
    """Return the noise that ε, or precision for each unit of squared sensitivity, buys a bundle; None: too much."""
    if law == "laplace":
        l1 = sensitivity(plan, bundle, "laplace")
        noise = NoiseLaw(law="laplace", amount=l1 / amount, sensitivity=l1, moving=_moving(plan, bundle))
    else:
        noise = _gaussian(plan, bundle, 1 / amount)
    return noise if _fits(noise) else None


def _fits(noise: NoiseLaw) -> bool:
    return noise.amount <= (_MOST_NOISE if noise.law == "laplace" else _MOST_NOISE**2)


def _checked(noise: NoiseLaw, argument: str) -> NoiseLaw:
    if not _fits(noise):
        want = "larger, or the bounds narrower: the noise does not fit 64 bits"
        raise TooMuchNoiseError(argument, "one that needs noise of more than 2^56 grid steps", want)
    return noise


def _by_rho(plan: Plan, rho: Fraction, shares: tuple[Fraction, ...]) -> Price:
    noise = tuple(
        _checked(_gaussian(plan, bundle, 1 / (2 * rho * share)), "rho")
        for bundle, share in zip(plan.bundles, shares, strict=True)
    )
    events = tuple(law.event for law in noise)
    return Price(guarantee=ZCDP(rho=Exact(rho)), noise=noise, shares=shares, events=events, why=_WHY_RHO)


def _gaussians(plan: Plan, shares: tuple[Fraction, ...], unit: float) -> tuple[NoiseLaw, ...]:
    square = Fraction(unit) ** 2
    return tuple(_gaussian(plan, b, square / share) for b, share in zip(plan.bundles, shares, strict=True))


def _certified(
    plan: Plan, epsilon: Fraction, delta: Fraction, shares: tuple[Fraction, ...], unit: float
) -> Price | None:
    """Return Gaussian noise for all bundles together, certified; None if none of reasonable size is."""
    promise = ApproxDP(epsilon=Exact(epsilon), delta=Exact(delta))
    events = (ApproxRelease(epsilon=epsilon, delta=delta),)
    tries = [(unit * more, _closed_delta) for more in _CLOSE]
    tries += [(unit * 1.01**more, _composed_delta) for more in range(_TRIES)]
    for sigma, curve in tries:
        noise = _gaussians(plan, shares, sigma)
        if not all(map(_fits, noise)):
            return None
        if Fraction(curve(noise, epsilon)) <= delta:
            return Price(guarantee=promise, noise=noise, shares=shares, events=events, why="")
    return None


def _closed_delta(noise: Sequence[NoiseLaw], epsilon: Fraction) -> float:
    """Return a bound of δ in closed form: at once, and tight where noise spans many grid steps."""
    return joint_delta([(law.amount, law.sensitivity, law.moving) for law in noise], epsilon)


def _composed_delta(noise: Sequence[NoiseLaw], epsilon: Fraction) -> float:
    """Return a bound of δ from the privacy-loss law: tight for one integer a unit, and slow."""
    return compose([law.event for law in noise]).delta(epsilon=Exact(epsilon), width=0.05).upper


def _unit_sigma(epsilon: Fraction, delta: Fraction) -> float:
    """Return the σ of the analytic Gaussian mechanism for sensitivity 1, where to begin."""
    return float(Gaussian(sensitivity=1.0, epsilon=Exact(epsilon), delta=Exact(delta)).sigma)


def _ratio(laplace: Sequence[NoiseLaw], gaussian: Sequence[NoiseLaw]) -> float:
    """Return how many times larger the 95 % error of Gaussian noise is, averaged over bundles."""
    beta = 1 - _CONFIDENCE
    pairs = zip(laplace, gaussian, strict=True)
    ratios = [max(two.quantile(beta), 1) / max(one.quantile(beta), 1) for one, two in pairs]
    return sum(ratios) / len(ratios)


_WHY_LAPLACE = "Laplace noise: the question asks for pure ε, without δ."
_WHY_RHO = "Gaussian noise: the budget is in zCDP."
