"""`tacit bounds`, and the option --bounds of `tacit plan` and `tacit query`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from tacit.cli.charge import Access, charged, ledger_json, say_spent
from tacit.cli.output import put, put_json
from tacit.database import Database
from tacit.errors import bad_value
from tacit.query.policy.limits import AUTO
from tacit.query.results.private_bounds import PrivateBounds
from tacit.query.results.quote import Quote

_FORM = "COLUMN=LOW:HIGH, such as cost=0:500, day=2026-01-01:2026-12-31 or at=2026-01-01T08:00:2026-01-31T18:30"


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

    def plan(self, db: Database) -> Quote:
        """Return the cost of the bounds."""
        return db.plan_bounds(self.column, **self._arguments())

    def release(self, db: Database) -> PrivateBounds:
        """Charge and find the bounds."""
        found: PrivateBounds = db.bounds(self.column, **self._arguments(), request=self.request)
        return found

    def _arguments(self) -> dict[str, Any]:
        names = ("epsilon", "rho", "where", "table", "confidence")
        return {name: getattr(self, name) for name in names}


def run(access: Access, options: BoundsOptions, *, json: bool, yes: bool) -> int:
    """Print the plan, ask for consent, charge the query, and print the private bounds."""

    def show(found: PrivateBounds, db: Database) -> None:
        if json:
            put_json({**found.to_dict(), **ledger_json(db, repeated=found.repeated)})
            return
        put(str(found))
        sys.stdout.flush()
        say_spent(found.cost, db, repeated=found.repeated)

    return charged(access, options.plan, options.release, show, json=json, yes=yes)


def read_bounds(texts: Sequence[str]) -> dict[str, Any]:
    """Return the bounds in options such as cost=0:500; the database checks the columns and the order of the ends.

    >>> read_bounds(["cost=0:500", "share=-0.5:1e3", "day=2026-01-01:2026-12-31", "age=auto"])["day"]
    (datetime.date(2026, 1, 1), datetime.date(2026, 12, 31))
    >>> read_bounds(["at=2026-01-01:2026-01-31T18:30"])["at"]
    (datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 31, 18, 30))
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
    """Return the two ends: numbers, or dates and times, which may contain colons too. One colon must fit."""
    colons = [place for place, letter in enumerate(ends) if letter == ":"]
    split = [(_read_end(ends[:place].strip()), _read_end(ends[place + 1 :].strip())) for place in colons]
    pairs = [(low, high) for low, high in split if None not in (low, high) and _is_date(low) == _is_date(high)]
    if len(pairs) != 1:
        raise bad_value("--bounds", text, _FORM)
    return pairs[0]


def _is_date(end: float | date | None) -> bool:
    return isinstance(end, date)


def _read_end(end: str) -> int | float | date | None:
    """Return a number, a date or a datetime; None for any other text."""
    for read in (int, float, date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            value: int | float | date = read(end)
            return value
    return None
