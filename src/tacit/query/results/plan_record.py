"""What a receipt says about several queries that are charged as one: a declared plan, or a computed answer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tacit.guarantees.events import Event, to_json
from tacit.query.formatting import amounts
from tacit.query.plan import Plan
from tacit.query.pricing.disjoint_parts import Family, disjoint_families, entering_row, is_part
from tacit.query.pricing.joint_price import JointPrice
from tacit.query.pricing.price import Price, noise_events

Queries = Sequence[tuple[Plan, Price]]


def declared_plan(queries: Queries, joint: JointPrice) -> dict[str, object]:
    """Return the charge of a declared plan, the noise of all its queries, and which of them are about disjoint rows."""
    return {
        "questions": len(queries),
        "promise": amounts(joint.guarantee),
        "charged": _texts(joint.events),
        **_parts(queries, joint.families),
    }


def charged_together(queries: Queries, events: Sequence[Event]) -> dict[str, object]:
    """Return the same for the aggregates of a computed answer, with all that may be about disjoint rows."""
    parts = {index: plan for index, (plan, _) in enumerate(queries) if is_part(plan)}
    families = disjoint_families(parts, [Fraction(0)] * len(queries))
    return {"charged": _texts(events), **_parts(queries, families)}


def _parts(queries: Queries, families: Sequence[Family]) -> dict[str, object]:
    inside = {index for family in families for index in family}
    disjoint = {
        "queries": [plan.sql for plan, _ in queries],
        "disjoint": [[index + 1 for index in family] for family in families],
    }
    parts = [_part(plan, price, inside=index in inside) for index, (plan, price) in enumerate(queries)]
    return {"parts": parts, **(disjoint if families else {})}


def _part(plan: Plan, price: Price, *, inside: bool) -> dict[str, object]:
    """Return the events of one query, and for one about disjoint rows those of its noise if a row comes or goes."""
    entering = entering_row(plan, price) if inside else None
    return {
        "charged": _texts(price.events),
        "noise": _texts(noise_events(price)),
        **({} if entering is None else {"if_a_row_enters": _texts(entering.noise)}),
    }


def _texts(events: Sequence[Event]) -> list[str]:
    return [to_json(event) for event in events]
