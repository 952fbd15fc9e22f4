"""Queries that use the public number of rows or units.

    sized      if the number is public and has a use: read it, compare it with the ledger, and use it in the plan
    sizes_of   the numbers that the ledger records with a charge

Only that number is read before the charge, and by the definition of neighbours it is the same in all of them
(`query.pricing.public_size`). So reading it needs no budget. The engine counts the rows once more, in the statement
that measures the answer. If the table changed in between, the charged query fails (`query.aggregates.sized_moments`).

**One version, one size.** The ledger records the number for the declared version of the data, with the first charge
that uses it. Another number under the same version is refused before the charge: here, and again in the transaction of
the charge. Without a declared version, each query uses the number at its time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tacit.ledger import TableSize
from tacit.ledger.state import other_size
from tacit.query.plan import Plan
from tacit.query.pricing.public_size import has_public_size, size_plan, uses_size, with_public_size

if TYPE_CHECKING:
    from tacit.session import Session


def sized(session: Session, plan: Plan) -> Plan:
    """Return a plan that uses the public number of rows or units, if there is one and the plan has a use for it."""
    if plan.table.neighbours != "change one" or not uses_size(plan):
        return plan
    engine, alone = session.engine_of(plan), plan.unit is None or _is_alone(session, plan)
    if not has_public_size(plan, alone=alone) or not engine.reads_every_row(plan.table.name):
        return plan
    session.check_open()
    ((size,),) = engine.measure(size_plan(plan))
    now = TableSize(version=session.data_version, table=plan.table.name, size=size)
    recorded = session.ledger.size_of(now.version, now.table) if now.version else None
    if recorded not in (None, size):
        raise other_size(now, recorded)
    used = with_public_size(plan, size)
    engine.check(used)
    return used


def sizes_of(session: Session, plans: Iterable[Plan]) -> tuple[TableSize, ...]:
    """Return the sizes that some plans use, for the ledger; none without a declared version of the data."""
    version = session.data_version
    sizes = {(plan.table.name, plan.size) for plan in plans if plan.size is not None} if version else set()
    return tuple(TableSize(version=version, table=table, size=size) for table, size in sorted(sizes))


def _is_alone(session: Session, plan: Plan) -> bool:
    """Return whether a plan's table is the only private one, of this database and of the ledger."""
    private = [name for name, table in session.tables.items() if not table.public]
    return {name.strip().casefold() for name in (*private, *session.ledger.tables)} == {
        plan.table.name.strip().casefold()
    }
