"""The plan of a release that is not a query, as `--plan` prints it."""

from __future__ import annotations

from collections.abc import Callable

from tacit.cli.charge import NO_LEDGER, Access, describe_left, is_temporary, shortage_of
from tacit.cli.output import put, put_json, say
from tacit.database import Database
from tacit.query.formatting import amounts
from tacit.synthetic.release_plan import ReleasePlan


def print_plan(access: Access, plan: Callable[[Database], ReleasePlan], *, json: bool) -> int:
    """Print the cost, the expected errors, and whether the budget suffices; read no row and spend nothing."""
    db, exists = access.open_to_plan(json=json)
    with db:
        planned = plan(db)
        shortage = shortage_of(db, planned)
        if json:
            left = amounts(db.left) if not exists or not is_temporary(db) else None
            cost = {"cost": amounts(planned.cost)}
            put_json({**planned.to_dict(), **cost, "left": left, "fits": shortage is None, "ledger_begun": False})
            return 0
        put(str(planned))
        if not exists:
            say(NO_LEDGER)
        say(describe_left(db, access.analyst, planned=not exists))
        if shortage is not None:
            say(shortage)
        say("No row was read, and nothing was spent.")
    return 0
