"""What is refused where groups would have to be found in the data."""

from __future__ import annotations

from fractions import Fraction

from tacit.errors import RefusedError
from tacit.query.plan import Plan
from tacit.query.refusals import refused
from tacit.query.sql.key_values import domain


def refuse_found(plan: Plan, delta: Fraction) -> None:
    """Raise unless a question whose groups are not listed can be answered with this δ."""
    if delta == 0:
        raise _not_public(plan, "Or give delta, and the groups are found in the data, privately.")
    if any(bundle.over is not None for bundle in plan.bundles):
        raise refused(
            "Tables with margins are answered for listed groups alone", "List the keys in the policy, or with keys=."
        )


def refuse_zcdp(plan: Plan) -> None:
    """Raise if groups would have to be found for ρ."""
    if plan.open:
        raise _not_public(
            plan,
            "To find groups in the data takes a delta, which rho does not have: ask with both "
            "epsilon and delta, under a budget that has them.",
        )


def _not_public(plan: Plan, instead: str) -> RefusedError:
    """Return the error that says which values are not public, with one more way out."""
    for key in plan.keys:
        if key.values is None:
            try:
                domain(key.expression, key.name, plan.table)
            except RefusedError as error:
                return RefusedError(f"{error} {instead}")
    return refused("The groups are not public", instead)
