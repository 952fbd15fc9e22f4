"""`tacit limits`: how many units have how many rows, and which reach errs least."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tacit.cli import output_files
from tacit.cli.output import STOPPED, put, put_json, say, working
from tacit.cli.query import Access, ask_consent, check_ledger, new_ledger_announced
from tacit.database import Database
from tacit.errors import NOTHING_SPENT
from tacit.query.formatting import amounts, spell
from tacit.query.results.limits_report import LimitsReport
from tacit.quotes import SessionQuote
from tacit.session import unspent


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of a report."""

    sql: str | None
    epsilon: float | None
    rho: float | None
    spend: float | None
    table: str | None
    confidence: float

    def plan(self, db: Database) -> SessionQuote:
        """Return the cost of the report."""
        return db.limits_plan(
            self.sql, table=self.table, epsilon=self.epsilon, rho=self.rho, confidence=self.confidence
        )

    def release(self, db: Database) -> LimitsReport:
        """Charge and make the report."""
        return db.limits(
            self.sql,
            spend=self.spend,
            table=self.table,
            epsilon=self.epsilon,
            rho=self.rho,
            confidence=self.confidence,
        )


def run(access: Access, options: ReportOptions, *, json: bool, yes: bool, chart: str | None) -> int:
    """Print what the report costs, ask for consent, charge it, and print it."""
    output_files.check_chart(chart)
    with access.open(json=json) as db, new_ledger_announced(db.ledger, json=json):
        with unspent():
            check_ledger(db)
        quote = options.plan(db)
        if not yes and sys.stdin.isatty():
            consent = ask_consent(quote, db, access.analyst)
            if not consent:
                say(NOTHING_SPENT)
                return STOPPED if consent is None else 0
        try:
            with working("Reading the data …"):
                report = options.release(db)
        except KeyboardInterrupt:
            say("Interrupted. If the report was already charged, the charge stays.")
            return STOPPED
        if json:
            put_json({**report.to_dict(), "cost": amounts(report.cost), "left": amounts(db.left)})
        else:
            put(str(report))
            say(f"Spent {spell(report.cost)}; left {spell(db.left)}.")
        if chart is not None:
            say(output_files.save_chart(report.plot, chart))
    return 0
