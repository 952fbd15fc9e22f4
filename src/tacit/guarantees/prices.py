"""The price of one event in each currency, with the proof that the totals may be spent as answers come.

| currency | price of one event | total |
|---|---|---|
| `basic` | its (ε, δ) | (Σε, Σδ)-DP |
| `zcdp` | its ρ, outside events of probability δ | Σδ-approximate Σρ-zCDP |
| `renyi` | its Rényi divergence at one order α | (α, Σε)-Rényi DP |
| `gdp` | its μ² | √(Σμ²)-Gaussian DP |

Each price has two proofs: that an event costs no more, and that its sums are a filter (see `filters`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Literal, TypeAlias

from tacit.guarantees import divergences
from tacit.guarantees.events import (
    ApproxRelease,
    BoundedRange,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedBit,
    ZCDPRelease,
)
from tacit.guarantees.exact import to_fraction
from tacit.guarantees.values import GaussianDP

_ANY_ORDER = Fraction(1)
"""The order for currencies that have no order."""

Currency = Literal["basic", "zcdp", "renyi", "gdp"]
Price: TypeAlias = tuple[Fraction, Fraction] | None

_LARGE, _STEEP, _DIGITS = 512, 10**4, 10**17


def pure(event: object) -> Fraction | None:
    """Return ε of an event that is ε-DP.

    Discrete Laplace noise changes its log-probability by at most 1/s a step. A privacy loss in an interval of
    length ε is at most ε either way, since the interval holds 0.
    """
    match event:
        case DiscreteLaplaceNoise(scale=scale, l1=l1) | LaplaceNoise(scale=scale, l1=l1):
            return l1 / scale
        case BoundedRange(epsilon=epsilon) | PureRelease(epsilon=epsilon) | RandomizedBit(epsilon=epsilon):
            return epsilon
        case PoissonSampled(rate=rate, of=of) if (whole := pure(of)) is not None:
            return divergences.amplified(rate, whole)
    return None


def basic(event: object, _: Fraction = _ANY_ORDER) -> Price:
    """Price in (ε, δ): total (Σε, Σδ).

    Filter: Rogers, Roth, Ullman and Vadhan (NIPS 2016, arXiv:1605.08294). Adaptivity is covered: each εᵢ and δᵢ is
    fixed by the answers before it, so outside an event of probability Σδᵢ ≤ δ the loss is at most Σεᵢ ≤ ε *along
    every path*.
    """
    match event:
        case ApproxRelease(epsilon=epsilon, delta=delta):
            return epsilon, delta
        case PoissonSampled(rate=rate, of=ApproxRelease(epsilon=epsilon, delta=delta)):
            return divergences.amplified(rate, epsilon), rate * delta
    epsilon_alone = pure(event)
    return None if epsilon_alone is None else (epsilon_alone, Fraction(0))


def zcdp(event: object, _: Fraction = _ANY_ORDER) -> Price:
    """Price in approximate zCDP: total Σδ-approximate Σρ-zCDP.

    - Gaussian: ρ = Δ²/2σ² (Bun and Steinke, TCC 2016, prop. 1.6); discrete: ρ = S/2σ² (Canonne, Kamath and
      Steinke, arXiv:2004.00010v5, thm 14);
    - ε-bounded range: ρ = ε²/8 (Cesar and Rogers, ALT 2021; bounded range is due to Durfee and Rogers, NeurIPS
      2019, and its composition to Dong, Durfee and Rogers, ICML 2020). K(t) = ln E_Q[e^(tL)] has K(0) = K(1) = 0 and
      K'' ≤ ε²/4, the largest variance on the range, so (α-1)·D_α = K(α) ≤ ε²·α(α-1)/8;
    - ε-DP is of range 2ε, so ρ = ε²/2; and ρ = ε, since D_α ≤ ε ≤ ε·α. The smaller is used, above too;
    - (ε,δ)-DP is ε-DP outside events of probability δ: (ε²/2, δ) (Bun and Steinke, arXiv:1605.02065v1, section 8);
    - on a Poisson sample: the price from the event's (ε, δ), or the price without sampling, since D_α of two mixtures
      is at most the largest D_α of their parts (quasi-convexity; van Erven and Harremoës, arXiv:1206.2459v2, thm 13).

    Filter: Whitehouse, Ramdas, Rogers and Wu (ICML 2023, arXiv:2203.05481). Adaptivity is covered: ρₙ is fixed by the
    answers before it, so for every α > 1 exp((α-1)·(L₁+…+Lₙ - α(ρ₁+…+ρₙ))) is a supermartingale from 1 under the
    first law; stopped while Σρ ≤ ρ, it bounds E[e^((α-1)L)] by e^((α-1)αρ). The δₙ add as in `basic`.
    """
    if isinstance(event, ZCDPRelease):
        return event.rho, Fraction(0)
    if isinstance(event, DiscreteGaussianNoise):
        return event.l2_squared / (2 * event.variance), Fraction(0)
    if isinstance(event, GaussianNoise):
        return (event.l2 / event.sigma) ** 2 / 2, Fraction(0)
    cost = basic(event)
    by_epsilon = None if cost is None else (min(cost[0] ** 2 / _share(event), cost[0]), cost[1])
    if not isinstance(event, PoissonSampled):
        return by_epsilon
    return min((price for price in (by_epsilon, zcdp(event.of)) if price is not None), default=None)


def _share(event: object) -> int:
    """Return c where ρ = ε²/c: 8 for bounded range, 2 for an event that is only known to be ε-DP."""
    return 8 if isinstance(event, BoundedRange) else 2


def renyi(event: object, alpha: Fraction) -> Price:
    """Price at the fixed order α: total (α, Σε)-Rényi DP.

    The least of three valid prices: αρ of `zcdp`; for ε-DP the divergence of randomized response, which dominates every
    ε-DP mechanism; and the closed form of the event's law, if there is one (`divergences`). An (ε,δ) event with δ > 0
    has no finite Rényi divergence, so it has no price.

    Filter: Feldman and Zrnic (NeurIPS 2021, arXiv:2008.11193). Adaptivity is covered by the supermartingale of
    `zcdp` at this one α. The order is part of the budget: the best of several orders, chosen by the answers,
    would be several filters.
    """
    cost = zcdp(event, alpha)
    if cost is None or cost[1] > 0:
        return None
    costs, epsilon = [alpha * cost[0]], pure(event)
    if epsilon is not None:
        costs.append(divergences.randomized_response(epsilon, alpha))
    if alpha <= _LARGE:
        costs += _divergence(event, alpha)  # empty if its numbers would not fit
    return min(costs), Fraction(0)


def _on_chord(rate: Fraction, square: Fraction, alpha: Fraction) -> Fraction:
    """Return D_α of sampled Gaussian noise: (α-1)·D_α is convex in α, so between whole orders its chord holds."""
    low, high = floor(alpha), ceil(alpha)
    ends = [
        (order - 1) * divergences.sampled_gaussian(rate, square, order) if order > 1 else 0 for order in (low, high)
    ]
    return (ends[0] + (ends[1] - ends[0]) * (alpha - low)) / (alpha - 1)


def _divergence(event: object, alpha: Fraction) -> list[Fraction]:
    """Return D_α of the event's law if it has a closed form."""
    match event:
        case LaplaceNoise(scale=scale, l1=l1) if l1 / scale <= _STEEP:
            return [divergences.laplace(l1 / scale, alpha)]
        case DiscreteLaplaceNoise(scale=scale, l1=l1) if l1 / scale <= _STEEP and max(scale, l1) <= _DIGITS:
            return [divergences.discrete_laplace(scale, ceil(l1), alpha)]
        case PoissonSampled(rate=rate, of=GaussianNoise(sigma=sigma, l2=l2)) if l2 / sigma <= _STEEP:
            return [_on_chord(rate, (l2 / sigma) ** 2, alpha)]
    return []


def gdp(event: object, _: Fraction) -> Price:
    """Price a μ-Gaussian-DP promise at μ²: total √(Σμ²)-GDP.

    The noise that tacit draws is discrete, and not GDP at any μ that its variance suggests, so it has no price here;
    continuous Gaussian noise has one.

    Filter: Smith and Thakurta (arXiv:2210.17520); Koskela, Tobaben and Honkela (ICLR 2023). Adaptivity is covered:
    each step is dominated by a Gaussian pair, hence by a Brownian motion with or without drift run for the time μₙ²;
    for any choice of the steps, a path of total time at most μ² is post-processing of the motion up to μ².
    """
    if isinstance(event, GaussianNoise):
        return (event.l2 / event.sigma) ** 2, Fraction(0)
    if not isinstance(event, GaussianDP):
        return None
    return to_fraction(event.mu, "mu") ** 2, Fraction(0)


PRICES: dict[Currency, Callable[[object, Fraction], Price]] = {
    "basic": basic,
    "zcdp": zcdp,
    "renyi": renyi,
    "gdp": gdp,
}

_PURE_EVENTS = "DiscreteLaplaceNoise, LaplaceNoise, BoundedRange, PureRelease, RandomizedBit"
_NOISE, _SAMPLED = "DiscreteGaussianNoise, GaussianNoise", "and these on a Poisson sample"
PRICED_EVENTS: dict[Currency, str] = {
    "basic": f"{_PURE_EVENTS}, ApproxRelease {_SAMPLED}, and Gaussian noise that is calibrated to an (ε, δ)",
    "zcdp": f"ZCDPRelease, {_PURE_EVENTS}, ApproxRelease, {_NOISE} {_SAMPLED}",
    "renyi": f"ZCDPRelease, {_PURE_EVENTS}, {_NOISE} {_SAMPLED}",
    "gdp": "GaussianNoise and GaussianDP guarantees, but not discrete noise",
}
"""The events that each currency prices, for messages."""
