"""`tacit bounds`, and the option --bounds of `tacit plan` and `tacit query`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any

from tacit.cli.output import STOPPED, put, put_json, say, working
from tacit.cli.query import Access, ask_consent, check_ledger, new_ledger_announced, new_ledger_note
from tacit.database import Database
from tacit.errors import NOTHING_SPENT, bad_value
from tacit.query.formatting import amounts, spell
from tacit.query.policy.limits import AUTO
from tacit.query.results.private_bounds import PrivateBounds
from tacit.session import unspent

_FORM = "COLUMN=LOW:HIGH, such as cost=0:500 or day=2026-01-01:2026-12-31"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsOptions:
    """A column, the rows and the cost of its bounds."""

    column: str
    epsilon: float | None
    rho: float | None
    where: str | None
    table: str | None
    confidence: float
    request: str | None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `Database.plan_bounds`."""
        names = ("epsilon", "rho", "where", "table", "confidence")
        return {name: getattr(self, name) for name in names}


def run(access: Access, options: BoundsOptions, *, json: bool, yes: bool) -> int:
    """Print the plan, ask for consent, charge the query, and print the private bounds."""
    with access.open(json=json) as db, new_ledger_announced(db.ledger, json=json):
        with unspent():
            check_ledger(db)
        quote = db.plan_bounds(options.column, **options.arguments())
        if not yes and sys.stdin.isatty():
            consent = ask_consent(quote, db, access.analyst)
            if not consent:
                say(NOTHING_SPENT)
                return STOPPED if consent is None else 0
        try:
            with working("Reading the data …"):
                found = db.bounds(options.column, **options.arguments(), request=options.request)
        except KeyboardInterrupt:
            say("Interrupted. If the query was already charged, the charge stays.")
            return STOPPED
        _print(found, db, json=json)
    return 0


def _print(found: PrivateBounds, db: Database, *, json: bool) -> None:
    if json:
        about = {"repeated": found.repeated, "ledger_begun": bool(new_ledger_note(db.ledger))}
        put_json({**found.to_dict(), "left": amounts(db.left), **about})
        return
    put(str(found))
    sys.stdout.flush()
    if found.repeated:
        say(f"This answer is from the ledger: the query was asked before. {NOTHING_SPENT} Left: {spell(db.left)}.")
    else:
        say(f"Spent {spell(found.cost)}; left {spell(db.left)}.")


def read_bounds(texts: Sequence[str]) -> dict[str, Any]:
    """Return the bounds in options such as cost=0:500; the database checks the columns and the order of the ends.

    >>> read_bounds(["cost=0:500", "share=-0.5:1e3", "day=2026-01-01:2026-12-31", "age=auto"])["day"]
    (datetime.date(2026, 1, 1), datetime.date(2026, 12, 31))
    """
    found: dict[str, Any] = {}
    for text in texts:
        column, equals, ends = text.rpartition("=")
        if not column or not equals:
            raise bad_value("--bounds", text, _FORM)
        if column in found:
            raise bad_value("--bounds", text, "given once for each column")
        found[column] = AUTO if ends.strip() == AUTO else _read_ends(ends, text)
    return found


def _read_ends(ends: str, text: str) -> tuple[Any, Any]:
    low, colon, high = ends.partition(":")
    if not colon:
        raise bad_value("--bounds", text, _FORM)
    return _read_end(low.strip(), text), _read_end(high.strip(), text)


def _read_end(end: str, text: str) -> int | float | date:
    for read in (int, float, date.fromisoformat):
        with suppress(ValueError):
            value: int | float | date = read(end)
            return value
    raise bad_value("--bounds", text, _FORM)
