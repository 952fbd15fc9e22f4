"""The table of a high-dimensional release and the condition on its rows, read from SQL."""

from __future__ import annotations

from tacit.errors import InvalidError
from tacit.planning import plan_of
from tacit.query.expressions import Expression
from tacit.query.policy import TablePolicy
from tacit.query.policy.limits import Limits
from tacit.query.pricing.price import Cost
from tacit.query.results.quote import Question
from tacit.session import Session
from tacit.verbs import VerbTarget


def rows_of(session: Session, where: str | None, table: str | None) -> tuple[TablePolicy, Expression | None]:
    """Return the policy of the table, and the condition; the condition is checked as that of a query is."""
    target = VerbTarget(session.tables, (), where, table)
    policy = session.tables[target.table_name]
    if where is None:
        return policy, None
    plan = plan_of(
        session,
        Question(
            query=target.select([("n", "COUNT(*)")]),
            cost=Cost(epsilon=1),
            limits=Limits(reach=None if policy.unit is None else 1),
        ),
    )
    if plan.joins or plan.units is not None:
        raise InvalidError("A high-dimensional release reads one table.", argument="where")
    return policy, plan.where
