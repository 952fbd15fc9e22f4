"""`tacit limits`: how many units have how many rows, and which reach errs least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.cli import output_files
from tacit.cli.charge import Access, charged, ledger_json, say_spent
from tacit.cli.output import put, put_json, say
from tacit.database import Database
from tacit.query.formatting import amounts
from tacit.query.results.limits_report import LimitsReport
from tacit.query.sql.parameters import ParameterValue
from tacit.quotes import SessionQuote


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of a report."""

    sql: str | None
    params: Mapping[str, ParameterValue]
    epsilon: float | None
    rho: float | None
    spend: float | None
    table: str | None
    confidence: float
    bounds: Mapping[str, Any]

    def plan(self, db: Database) -> SessionQuote:
        """Return the cost of the report."""
        return db.limits_plan(self.sql, table=self.table, **self._arguments())

    def release(self, db: Database) -> LimitsReport:
        """Charge and make the report."""
        report: LimitsReport = db.limits(self.sql, spend=self.spend, table=self.table, **self._arguments())
        return report

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("epsilon", "rho", "confidence", "bounds", "params")}


def run(access: Access, options: ReportOptions, *, json: bool, yes: bool, chart: str | None) -> int:
    """Print what the report costs, ask for consent, charge it, and print it."""
    output_files.check_chart(chart)

    def show(report: LimitsReport, db: Database) -> None:
        if json:
            about = ledger_json(db, repeated=report.repeated)
            put_json({**report.to_dict(), "cost": amounts(report.cost), **about})
        else:
            put(str(report))
            say_spent(report.cost, db, repeated=report.repeated)
        if chart is not None:
            say(output_files.save_chart(report.plot, chart))

    return charged(access, options.plan, options.release, show, json=json, yes=yes)
