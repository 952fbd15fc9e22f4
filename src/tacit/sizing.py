"""Queries that use the public number of rows or units.

    sized        if the number is public and has a use: read it, compare it with the ledger, and use it in the plan
    rows_of_all  the number itself, for the errors of quantiles of all rows
    sizes_of     the numbers that the ledger records with a charge

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
from tacit.ledger.sizes import other_size
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.drawn_quantile import DrawnQuantile
from tacit.query.aggregates.quantile import Quantile
from tacit.query.plan import Plan
from tacit.query.pricing.public_size import (
    has_public_size,
    public_rows,
    size_plan,
    uses_size,
    with_public_size,
)

if TYPE_CHECKING:
    from tacit.session import Session


def sized(session: Session, plan: Plan) -> Plan:
    """Return a plan that uses the public number of rows or units, if there is one and the plan has a use for it."""
    if plan.table.neighbours != "change one" or not uses_size(plan):
        return plan
    alone = plan.unit is None or _is_alone(session, plan)
    if not has_public_size(plan, alone=alone) or not session.engine_of(plan).reads_every_row(plan.table.name):
        return plan
    used = with_public_size(plan, _read_size(session, plan))
    session.engine_of(plan).check(used)
    return used


def rows_of_all(session: Session, plan: Plan) -> int | None:
    """Return the public number of rows, if every aggregate of a plan has all of them and one is a quantile.

    The errors of quantiles depend on it. The errors of other aggregates of all rows do not, because they use it.
    """
    quantiles = any(isinstance(STATISTICS[each.ask.function], (Quantile, DrawnQuantile)) for each in plan.aggregates)
    if not quantiles or not public_rows(plan) or not session.engine_of(plan).reads_every_row(plan.table.name):
        return None
    return (_read_size(session, plan) if plan.size is None else plan.size) or None


def _read_size(session: Session, plan: Plan) -> int:
    """Return the public number of rows or units, which must be the one that the ledger has of these data."""
    session.check_open()
    ((size,),) = session.engine_of(plan).measure(size_plan(plan))
    now = TableSize(version=session.data_version, table=plan.table.name, size=size, noun=_noun(plan))
    recorded = session.ledger.size_of(now.version, now.table) if now.version else None
    if recorded not in (None, size):
        raise other_size(now, recorded)
    return size


def sizes_of(session: Session, plans: Iterable[Plan]) -> tuple[TableSize, ...]:
    """Return the sizes that some plans use, for the ledger; none without a declared version of the data."""
    version = session.data_version
    sizes = {(plan.table.name, plan.size, _noun(plan)) for plan in plans if plan.size is not None} if version else set()
    return tuple(TableSize(version=version, table=table, size=size, noun=noun) for table, size, noun in sorted(sizes))


def _noun(plan: Plan) -> str:
    return "rows" if plan.unit is None else "units"


def _is_alone(session: Session, plan: Plan) -> bool:
    """Return whether a plan's table is the only private one, of this database and of the ledger."""
    private = [name for name, table in session.tables.items() if not table.public]
    return {name.strip().casefold() for name in (*private, *session.ledger.tables)} == {
        plan.table.name.strip().casefold()
    }
