"""The cost of a high-dimensional release: what a caller gives, as the part of the budget that its noise may use.

    cost = cost_of_release(session, epsilon=1, delta=1e-9, rho=None)
    cost.event   what the ledger charges, before any row is read
    cost.rho     the zCDP that all draws together may use; 0 if the cost is pure ε
    cost.epsilon the ε of pure draws; None if the cost is in ρ

ρ-zCDP implies (ε, δ)-DP if `delta_of_zcdp(ρ, ε)` ≤ δ (Canonne, Kamath, Steinke, arXiv:2004.00010v5, corollary 13), so
draws that compose to ρ-zCDP may be charged as one (ε, δ) event. Composition within a release is adaptive: Σρ of draws
whose parameters depend on earlier outputs only (Bun and Steinke, arXiv:1605.02065v1, lemma 2.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidError
from tacit.guarantees.conversions import delta_of_zcdp
from tacit.guarantees.events import Event
from tacit.guarantees.exact import Exact, Number, positive, to_fraction
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.pricing.price import Cost, whole_event
from tacit.quoting import check_currency, check_delta
from tacit.session import Session

_HALVINGS = 80
_LESS = 1 - 2.0**-50


@dataclass(frozen=True, slots=True)
class ReleaseCost:
    """The guarantee of a release, its event, and the amounts that its draws may use."""

    guarantee: PureDP | ApproxDP | ZCDP
    event: Event
    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction


def cost_of_release(
    session: Session, *, epsilon: Number | None, delta: Number | None, rho: Number | None
) -> ReleaseCost:
    """Check the cost of a release against the currency of the budget; call it under `unspent()`."""
    check_currency(session, Cost(epsilon=epsilon, delta=delta, rho=rho))
    if rho is not None and (epsilon is not None or delta is not None):
        raise InvalidError("rho cannot be combined with epsilon or delta.", argument="rho", hint="Give rho alone.")
    if rho is not None:
        amount = positive(rho, "rho")
        in_rho = ZCDP(rho=Exact(amount))
        return ReleaseCost(in_rho, whole_event(in_rho), None, Fraction(0), amount)
    loss, slack = positive(epsilon, "epsilon"), Fraction(0) if delta is None else to_fraction(delta, "delta")
    guarantee = ApproxDP(epsilon=Exact(loss), delta=Exact(slack)) if slack else PureDP(epsilon=Exact(loss))
    check_delta(session, guarantee)
    return ReleaseCost(guarantee, whole_event(guarantee), loss, slack, rho_of(loss, slack))


def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a ρ whose zCDP implies (ε, δ)-DP, close to the largest; 0 if δ is 0.

    >>> round(float(rho_of(Fraction(1), Fraction(1, 10**9))), 4)
    0.015
    """
    if delta <= 0:
        return Fraction(0)
    low, high = 0.0, float(epsilon) + 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = middle > 0 and delta_of_zcdp(middle, float(epsilon) * _LESS) <= float(delta) * _LESS
        low, high = (middle, high) if inside else (low, middle)
    return Fraction(low)  # the safe end
