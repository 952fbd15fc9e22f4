"""The part of a receipt about several queries that are charged as one: a declared plan, or a computed answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tacit.guarantees.events import Event, to_json
from tacit.query.formatting import amounts
from tacit.query.plan import Plan
from tacit.query.pricing.disjoint_parts import is_part
from tacit.query.pricing.joint_price import JointPrice
from tacit.query.pricing.price import Price, noise_events

Queries = Sequence[tuple[Plan, Price]]


def declared_plan(queries: Queries, joint: JointPrice) -> dict[str, object]:
    """Return the charge of a declared plan, the noise of all its queries, and which of them are about disjoint rows."""
    disjoint = {
        "queries": [plan.sql for plan, _ in queries],
        "disjoint": [[index + 1 for index in family] for family in joint.families],
    }
    return {
        "questions": len(queries),
        "promise": amounts(joint.guarantee),
        "charged": _texts(joint.events),
        "parts": _parts(queries),
        **(disjoint if joint.families else {}),
    }


def charged_together(queries: Queries, events: Sequence[Event]) -> dict[str, object]:
    """Return the same for the aggregates of a computed answer; `may_be_disjoint` if they may be about disjoint rows."""
    several = sum(is_part(plan) for plan, _ in queries) > 1
    return {"charged": _texts(events), "parts": _parts(queries), **({"may_be_disjoint": True} if several else {})}


def _parts(queries: Queries) -> list[dict[str, object]]:
    """Return the charge of each query alone and the events of its noise; equal ones once, with their number."""
    counts = Counter((tuple(price.events), tuple(noise_events(price))) for _, price in queries)
    return [
        {"queries": number, "charged": _texts(charged), "noise": _texts(noise)}
        for (charged, noise), number in counts.items()
    ]


def _texts(events: Sequence[Event]) -> list[str]:
    return [to_json(event) for event in events]
