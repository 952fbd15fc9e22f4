"""`tacit itemsets`: frequent itemsets and association rules."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.cli import answer_files, output_files
from tacit.cli.charge import Access, charged, ledger_json, say_spent
from tacit.cli.output import put, put_json, say
from tacit.cli.release_plans import print_plan
from tacit.database import Database
from tacit.errors import UnusedOptionError, bad_value
from tacit.query.results.table import Table
from tacit.session import unspent
from tacit.synthetic.itemsets import Itemsets
from tacit.synthetic.release_plan import ReleasePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsetOptions:
    """The arguments of the release, and the rules to print."""

    arguments: Mapping[str, Any]
    request: str | None
    rules: bool
    min_confidence: float | None
    min_lift: float | None

    def check(self) -> None:
        """Check the options of rules before anything is spent."""
        given = {"--min-confidence": (self.min_confidence, 1), "--min-lift": (self.min_lift, float("inf"))}
        for name, (value, most) in given.items():
            if value is not None and not self.rules:
                raise UnusedOptionError(name, "without --rules")
            if value is not None and not 0 <= value <= most:
                raise bad_value(name, value, "a number from 0 to 1" if most == 1 else "a number of at least 0")

    def plan(self, db: Database) -> ReleasePlan:
        """Return the plan."""
        return db.itemsets(**self.arguments, plan=True)

    def release(self, db: Database) -> Itemsets:
        """Charge the itemsets and return them."""
        answer: Itemsets = db.itemsets(**self.arguments, request=self.request)
        return answer

    def shown(self, answer: Itemsets) -> dict[str, object]:
        """Return what --json prints of an answer."""
        return {**answer.to_dict(), **({"rules": self.rules_of(answer).dicts()} if self.rules else {})}

    def rules_of(self, answer: Itemsets) -> Table:
        """Return the rules of an answer as a table."""
        least = 0.5 if self.min_confidence is None else self.min_confidence
        return answer.rules(min_confidence=least, min_lift=self.min_lift or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsetFiles:
    """The files that itemsets are written to; with rules, the table has those."""

    chart: str | None
    out: str | None
    force: bool

    def check(self, policy: str) -> None:
        """Check their names and folders before anything is spent."""
        with unspent():
            output_files.check_chart(self.chart)
            answer_files.check(self.out, policy, force=self.force)

    def write(self, answer: Itemsets, options: ItemsetOptions, json: dict[str, object]) -> None:
        """Write them, and say so; `json` is what --json prints."""
        if self.out is not None:
            table = options.rules_of(answer) if options.rules else answer.table
            say(answer_files.write_table(table, list(table.notes), self.out, lambda: json))
        if self.chart is not None:
            say(output_files.save_chart(answer.plot, self.chart))


def run(access: Access, options: ItemsetOptions, files: ItemsetFiles, *, json: bool, yes: bool, plan: bool) -> int:
    """Print the plan alone, or charge the itemsets and print them; return the exit code."""
    options.check()
    if plan:
        return print_plan(access, options.plan, json=json)
    files.check(access.policy)

    def show(answer: Itemsets, db: Database) -> None:
        shown = {**options.shown(answer), **ledger_json(db, repeated=answer.repeated)}
        if json:
            put_json(shown)
        else:
            put(str(answer))
            if options.rules:
                put(str(options.rules_of(answer)))
            sys.stdout.flush()
            say_spent(answer.cost, db, repeated=answer.repeated)
        files.write(answer, options, shown)

    return charged(access, options.plan, options.release, show, json=json, yes=yes)
