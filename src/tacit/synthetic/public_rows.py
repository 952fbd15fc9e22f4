"""The public number of rows of a table: under "change one", if each row is a unit and there is no condition."""

from __future__ import annotations

from tacit import sizing
from tacit.ledger import TableSize
from tacit.planning import sized_plan_of
from tacit.query.policy import TablePolicy
from tacit.query.pricing.price import Cost
from tacit.query.results.quote import Question
from tacit.session import Session
from tacit.verbs import VerbTarget


def public_rows(session: Session, table: TablePolicy, where: str | None) -> TableSize | None:
    """Return the public number of rows, compared with the one in the ledger; None if it is private."""
    if table.neighbours != "change one" or table.unit is not None or where is not None:
        return None
    query = VerbTarget(session.tables, (), None, table.name).select([("n", "COUNT(*)")])
    plan = sized_plan_of(session, Question(query=query, cost=Cost(epsilon=1)))
    if plan.size is None:
        return None
    version = session.data_version
    (size,) = sizing.sizes_of(session, [plan]) or (TableSize(version=version, table=table.name, size=plan.size),)
    return size
