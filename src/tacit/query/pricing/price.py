"""The price of a plan: the noise of each bundle for a given cost, before the data is read.

`noise_law.sensitivity` bounds the change of a bundle by one unit: L1, or L2 squared S.

**Laplace noise.** ε is split over the bundles by their weights, exactly. Each bundle has discrete Laplace noise of
scale L1/ε_i, and the ε_i add up.

**Gaussian noise**, if there is a δ. All bundles together are one Gaussian mechanism: σ_i² = S_i·s²/w_i, where S_i is
the squared L2, w_i the share of the weight, and s the σ of the analytic Gaussian mechanism for sensitivity 1. Then the
composition of the discrete laws that are drawn is certified to be (ε, δ)-DP, in closed form
(`gaussian_law.joint_delta`) or by its privacy-loss law; s is raised until it is. The law with the smaller expected
error is used.

**zCDP.** ρ_i = w_i·ρ and σ_i² = S_i/2ρ_i, exactly.

**Drawn quantiles** get no noise: `rank_law` draws them, with the part ε_i or ρ_i of their bundle. With a δ the draws
cost their ε_i, and all other bundles together get the rest of ε and all of δ.

**Choices** get no noise: `choice_law` draws a value with the part ε_i or ρ_i of its bundle. A query with a choice does
not use Gaussian noise for ε and δ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.errors import InvalidError, TooMuchNoiseError, bad_value
from tacit.guarantees.composition import compose
from tacit.guarantees.events import ApproxRelease, Event, PureRelease, ZCDPRelease
from tacit.guarantees.exact import Exact, Number, positive, to_fraction
from tacit.guarantees.gaussian_law import joint_delta
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.mechanisms.gaussian import Gaussian
from tacit.query.choice_law import choice_law
from tacit.query.noise_law import Law, NoiseLaw, changed_integers, sensitivity
from tacit.query.plan import Bundle, Plan
from tacit.query.pricing.drawn_bundles import describe_draws, drawn_bundles, merge, without_draws
from tacit.query.pricing.partition_selection import (
    SELECTION_SHARE,
    TruncatedLaplace,
    bundles_of_selection,
    check_discovery,
    check_zcdp,
    describe,
    selection_law,
)
from tacit.query.rank_law import rank_law

_MOST_NOISE = 2**56
_TRIES = 40
_CLOSE = (1.0001, 1.001, 1.01)
_CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost that the analyst offers for a query: ε with or without δ, or ρ, or the largest error of the answer."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    error: Number | Mapping[str, Number] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The cost of a plan and the noise of each of its bundles.

    The ledger is charged `events`; `guarantee` is what they guarantee together. `why` states how the law was chosen.
    `choice` is the law of partition selection if groups are found in the data. `chosen` is the part of ε or ρ
    that chooses limits before the answer. The noise then depends on that choice, so its laws are not composed.
    """

    guarantee: PureDP | ApproxDP | ZCDP
    noise: tuple[NoiseLaw, ...]
    shares: tuple[Fraction, ...]
    events: tuple[Event, ...]
    why: str
    choice: TruncatedLaplace | None = None
    chosen: Fraction | None = None


def noise_events(price: Price) -> Sequence[Event]:
    """Return the event of each bundle's noise; if groups are found in the data, the events of the price.

    If limits are chosen before the answer, the choice and the answer are one release with the guarantee of both.
    """
    if price.chosen is not None:
        return [whole_event(price.guarantee)]
    return price.events if price.choice is not None else [law.event for law in price.noise]


def whole_event(guarantee: PureDP | ApproxDP | ZCDP) -> PureRelease | ApproxRelease | ZCDPRelease:
    """Return the event of a release that is known by its guarantee alone."""
    match guarantee:
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon, delta=0.0):
            return PureRelease(epsilon=to_fraction(epsilon, "epsilon"))
        case ApproxDP(epsilon=epsilon, delta=delta):
            return ApproxRelease(epsilon=to_fraction(epsilon, "epsilon"), delta=to_fraction(delta, "delta"))
        case ZCDP(rho=rho):
            return ZCDPRelease(rho=to_fraction(rho, "rho"))


def is_free(plan: Plan) -> bool:
    """Return whether the answer to a plan has no noise, because everything in it is public."""
    return not plan.bundles and not plan.open


def free_price(*, by_rho: bool) -> Price:
    """Return the price of an answer without noise, in the currency of the budget: nothing."""
    guarantee = ZCDP(rho=0.0) if by_rho else PureDP(epsilon=0.0)
    return Price(guarantee=guarantee, noise=(), shares=(), events=(), why=_WHY_FREE)


def price(plan: Plan, cost: Cost) -> Price:
    """Choose the noise for a plan.

    Args:
        plan: the plan.
        cost: ε of the whole query, with or without δ; with δ, Gaussian noise is used where its error is smaller. Or ρ,
            for a budget in zCDP. For an error see `solve`.
    """
    if (cost.epsilon is None) == (cost.rho is None):
        raise InvalidError(
            "Exactly one of epsilon and rho must be given.",
            argument="epsilon",
            hint="Use epsilon for a budget in ε, rho for a budget in zCDP.",
        )
    weights, delta = _shares(plan.bundles), 0 if cost.delta is None else cost.delta
    if cost.rho is not None:
        check_zcdp(plan)
        if delta != 0:
            raise InvalidError("delta cannot be combined with rho.", argument="delta", hint="Remove delta.")
        return _by_rho(plan, positive(cost.rho, "rho"), weights)
    epsilon, slack = positive(cost.epsilon, "epsilon"), to_fraction(delta, "delta", "a number from 0 to below 1")
    if not 0 <= slack < 1:
        raise bad_value("delta", delta, "a number from 0 to below 1")
    if plan.open:
        return _with_discovery(plan, epsilon, slack)
    laplace = _by_epsilon(plan, epsilon, weights)
    if slack == 0:
        return laplace
    return _better(laplace, plan, epsilon, slack)


def _better(laplace: Price, plan: Plan, epsilon: Fraction, delta: Fraction) -> Price:
    """Return Gaussian noise if its error is smaller; certifying takes time, so it comes last. Draws do not change."""
    if any(bundle.values is not None for bundle in plan.bundles):
        return replace(laplace, why=_describe(plan, _WHY_CHOICE, "permute-and-flip"))
    if drawn_bundles(plan):
        return _better_beside_draws(laplace, plan, epsilon, delta)
    try:
        unit = _unit_sigma(epsilon, delta)
    except TooMuchNoiseError:
        return replace(laplace, why="Laplace noise: Gaussian noise would not fit into 64 bits.")
    ratio = _ratio(laplace.noise, _gaussians(plan, laplace.shares, unit))
    if ratio < 1:
        gaussian = _certified(plan, epsilon, delta, laplace.shares, unit)
        if gaussian is None:
            return replace(laplace, why="Laplace noise: no Gaussian noise of reasonable size could be certified.")
        ratio = _ratio(laplace.noise, gaussian.noise)
        if ratio < 1:
            return replace(gaussian, why=f"Gaussian noise: its 95 % error is {ratio:.2f} times that of Laplace noise.")
    return replace(laplace, why=f"Laplace noise: the 95 % error of Gaussian noise would be {ratio:.2f} times as large.")


def _better_beside_draws(laplace: Price, plan: Plan, epsilon: Fraction, delta: Fraction) -> Price:
    """Return Gaussian noise for the bundles that are not drawn, if its error is smaller."""
    drawn, rest = drawn_bundles(plan), without_draws(plan)
    if not rest.bundles:
        return laplace
    left = epsilon * sum((share for index, share in enumerate(laplace.shares) if index not in drawn), Fraction(0))
    others = _better(_by_epsilon(rest, left, _shares(rest.bundles)), rest, left, delta)
    if isinstance(others.guarantee, PureDP):
        return replace(laplace, why=f"{others.why} {describe_draws(plan)}")
    return Price(
        guarantee=ApproxDP(epsilon=Exact(epsilon), delta=Exact(delta)),
        noise=merge(plan, laplace.noise, others.noise),
        shares=laplace.shares,
        events=(*(laplace.noise[index].event for index in drawn), *others.events),
        why=f"{others.why} {describe_draws(plan)}",
    )


def _with_discovery(plan: Plan, epsilon: Fraction, delta: Fraction) -> Price:
    """Return the price of finding groups in the data and of their values; see `partition_selection`."""
    check_discovery(plan, delta)
    selected = bundles_of_selection(plan)
    rest = replace(plan, bundles=tuple(b for index, b in enumerate(plan.bundles) if index not in selected))
    choice, values = (
        _selection_and_values(plan, rest, epsilon, delta)
        if rest.bundles
        else (selection_law(plan, epsilon, delta), None)
    )
    value_laws = iter([] if values is None else zip(values.noise, values.shares, strict=True))
    laws = [(choice, Fraction(0)) if index in selected else next(value_laws) for index in range(len(plan.bundles))]
    return Price(
        guarantee=ApproxDP(epsilon=Exact(epsilon), delta=Exact(delta)),
        noise=tuple(law for law, _ in laws),
        shares=tuple(share * (1 - SELECTION_SHARE) for _, share in laws),
        events=(choice.event, *(() if values is None else values.events)),
        why=describe(choice) if values is None else f"{describe(choice)} Their values: {values.why}",
        choice=choice,
    )


def _selection_and_values(plan: Plan, rest: Plan, epsilon: Fraction, delta: Fraction) -> tuple[TruncatedLaplace, Price]:
    """Split (ε, δ) between the selection of groups and their values.

    Gaussian noise for values takes half of δ, so fewer groups are released. It is used only if its error is smaller by
    more than that factor.
    """
    selection = epsilon * SELECTION_SHARE
    laplace = _by_epsilon(rest, epsilon - selection, _shares(rest.bundles))
    choice, values = selection_law(plan, selection, delta), _better(laplace, rest, epsilon - selection, delta / 2)
    if isinstance(values.guarantee, PureDP):
        return choice, values
    stricter = selection_law(plan, selection, delta / 2)
    if _ratio(laplace.noise, values.noise) * stricter.most < choice.most:
        return stricter, values
    return choice, replace(laplace, why="Laplace noise: the δ that Gaussian noise would need releases more groups.")


def _shares(bundles: Sequence[Bundle]) -> tuple[Fraction, ...]:
    whole = sum((bundle.weight for bundle in bundles), Fraction(0))
    return tuple(bundle.weight / whole for bundle in bundles)


def _by_epsilon(plan: Plan, epsilon: Fraction, shares: tuple[Fraction, ...]) -> Price:
    noise = tuple(_laplace(plan, bundle, epsilon * share) for bundle, share in zip(plan.bundles, shares, strict=True))
    events = tuple(law.event for law in noise)
    why = _describe(plan, _WHY_LAPLACE, "permute-and-flip")
    return Price(guarantee=PureDP(epsilon=Exact(epsilon)), noise=noise, shares=shares, events=events, why=why)


def _laplace(plan: Plan, bundle: Bundle, epsilon: Fraction) -> NoiseLaw:
    if bundle.rank is not None:
        return _checked(rank_law(plan, bundle, epsilon=epsilon), "epsilon")
    if bundle.values is not None:
        return _checked(choice_law(plan, bundle, epsilon=epsilon), "epsilon")
    l1 = sensitivity(plan, bundle, "laplace")
    noise = NoiseLaw(law="laplace", amount=l1 / epsilon, sensitivity=l1, moving=changed_integers(plan, bundle))
    return _checked(noise, "epsilon")


def _gaussian(plan: Plan, bundle: Bundle, unit_variance: Fraction) -> NoiseLaw:
    """Return Gaussian noise whose variance is `unit_variance` times the squared sensitivity."""
    square = sensitivity(plan, bundle, "gaussian")
    return NoiseLaw(
        law="gaussian", amount=square * unit_variance, sensitivity=square, moving=changed_integers(plan, bundle)
    )


def noise_of(plan: Plan, bundle: Bundle, law: Law, amount: Fraction) -> NoiseLaw | None:
    """Return the noise of a bundle for ε, or for a precision per squared sensitivity; None if it is too large.

    A precision of p is ρ = p/2, which is what a drawn bundle gets.
    """
    noise: NoiseLaw
    if bundle.rank is not None:
        noise = rank_law(plan, bundle, **({"epsilon": amount} if law == "laplace" else {"rho": amount / 2}))
    elif law == "laplace":
        l1 = sensitivity(plan, bundle, "laplace")
        noise = NoiseLaw(law="laplace", amount=l1 / amount, sensitivity=l1, moving=changed_integers(plan, bundle))
    else:
        noise = _gaussian(plan, bundle, 1 / amount)
    return noise if _fits(noise) else None


def _fits(noise: NoiseLaw) -> bool:
    return noise.amount <= (_MOST_NOISE if noise.law == "laplace" else _MOST_NOISE**2)


def _checked(noise: NoiseLaw, argument: str) -> NoiseLaw:
    if not _fits(noise):
        raise TooMuchNoiseError(
            f"This {argument} needs noise of more than 2^56 grid steps, which does not fit into 64 bits.",
            argument=argument,
            hint=f"Use a larger {argument}, or narrower bounds.",
        )
    return noise


def _by_rho(plan: Plan, rho: Fraction, shares: tuple[Fraction, ...]) -> Price:
    noise = tuple(
        _checked(_by_part_of_rho(plan, bundle, rho * share), "rho")
        for bundle, share in zip(plan.bundles, shares, strict=True)
    )
    events = tuple(law.event for law in noise)
    why = _describe(plan, _WHY_RHO, "the exponential mechanism")
    return Price(guarantee=ZCDP(rho=Exact(rho)), noise=noise, shares=shares, events=events, why=why)


def _by_part_of_rho(plan: Plan, bundle: Bundle, rho: Fraction) -> NoiseLaw:
    if bundle.rank is not None:
        return rank_law(plan, bundle, rho=rho)
    if bundle.values is not None:
        return choice_law(plan, bundle, rho=rho)
    return _gaussian(plan, bundle, 1 / (2 * rho))


def _describe(plan: Plan, noise: str, mechanism: str) -> str:
    """Return how the answers are randomised: by noise, by draws of quantiles, by a choice, or by several of these."""
    noise = describe_draws(plan, noise)
    choices = [bundle for bundle in plan.bundles if bundle.values is not None]
    if not choices:
        return noise
    kinds = {_DRAWN[each.ask.function] for each in plan.aggregates if each.ask.function in _DRAWN}
    drawn = f"{kinds.pop()} is drawn by {mechanism}." if len(kinds) == 1 else f"Values are drawn by {mechanism}."
    return drawn if len(choices) == len(plan.bundles) else f"{noise} {drawn}"


def _gaussians(plan: Plan, shares: tuple[Fraction, ...], unit: float) -> tuple[NoiseLaw, ...]:
    square = Fraction(unit) ** 2
    return tuple(_gaussian(plan, b, square / share) for b, share in zip(plan.bundles, shares, strict=True))


def _certified(
    plan: Plan, epsilon: Fraction, delta: Fraction, shares: tuple[Fraction, ...], unit: float
) -> Price | None:
    """Return Gaussian noise certified to be (ε, δ)-DP, or None if no scale within 1.5 times the analytic one is."""
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
    """Return a bound of δ in closed form: fast, and tight if the noise spans many grid steps."""
    return joint_delta([(law.amount, law.sensitivity, law.moving) for law in noise], epsilon)


def _composed_delta(noise: Sequence[NoiseLaw], epsilon: Fraction) -> float:
    """Return a bound of δ from the privacy-loss law: tight for one integer a unit, but slow."""
    return compose([law.event for law in noise]).delta(epsilon=Exact(epsilon), width=0.05).upper


def _unit_sigma(epsilon: Fraction, delta: Fraction) -> float:
    """Return the σ of the analytic Gaussian mechanism for sensitivity 1, the first scale to try."""
    return float(Gaussian(sensitivity=1.0, epsilon=Exact(epsilon), delta=Exact(delta)).sigma)


def _ratio(laplace: Sequence[NoiseLaw], gaussian: Sequence[NoiseLaw]) -> float:
    """Return the 95 % error of Gaussian noise over that of Laplace noise, averaged over bundles."""
    beta = 1 - _CONFIDENCE
    pairs = zip(laplace, gaussian, strict=True)
    ratios = [max(second.quantile(beta), 1) / max(first.quantile(beta), 1) for first, second in pairs]
    return sum(ratios) / len(ratios)


_DRAWN = {
    "mode": "The most frequent value",
    "arg_max": "The value with the largest total",
    "arg_min": "The value with the least total",
}
_WHY_LAPLACE = "Laplace noise: the query has pure ε, without δ."
_WHY_FREE = "No noise: the answer is public."
_WHY_CHOICE = "Laplace noise: a query that draws a value does not use δ."
_WHY_RHO = "Gaussian noise: the budget is in zCDP."
