"""`tacit marginals`: many tables of counts at one cost."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.cli import answer_files, output_files
from tacit.cli.charge import Access, charged, ledger_json, say_spent
from tacit.cli.output import put, put_json, put_warning, say
from tacit.cli.output_tables import make_table, put_table
from tacit.cli.release_plans import print_plan
from tacit.database import Database
from tacit.errors import bad_value
from tacit.query.formatting import grouped, percent
from tacit.query.results.render import WARNING, text_rows
from tacit.session import unspent
from tacit.synthetic.marginals import Marginals
from tacit.synthetic.release_plan import ReleasePlan

_SETS = "columns such as age,sex"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalOptions:
    """The marginals to release, the rows and the cost."""

    arguments: Mapping[str, Any]
    request: str | None

    def plan(self, db: Database) -> ReleasePlan:
        """Return the plan."""
        return db.marginals(**self.arguments, plan=True)

    def release(self, db: Database) -> Marginals:
        """Charge the marginals and return them."""
        return db.marginals(**self.arguments, request=self.request)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalFiles:
    """The files that marginals are written to; the chart shows the first marginal."""

    chart: str | None
    out: str | None
    force: bool

    def check(self, policy: str) -> None:
        """Check their names and folders before anything is spent."""
        with unspent():
            output_files.check_chart(self.chart)
            answer_files.check(self.out, policy, force=self.force)

    def write(self, answer: Marginals, json: dict[str, object]) -> None:
        """Write them, and say so; `json` is what --json prints."""
        if self.out is not None:
            say(answer_files.write_table(answer.table, answer.notes, self.out, lambda: json))
        if self.chart is not None:
            say(output_files.save_chart(answer.plot, self.chart))


def read_sets(texts: Sequence[str] | None) -> list[tuple[str, ...]] | None:
    """Return the sets of columns of options such as age,sex; None without options.

    >>> read_sets(["age, sex", "town"]), read_sets(None)
    ([('age', 'sex'), ('town',)], None)
    """
    if not texts:
        return None
    found = [tuple(part.strip() for part in text.split(",")) for text in texts]
    for text, columns in zip(texts, found, strict=True):
        if not all(columns):
            raise bad_value("--marginal", text, _SETS)
    return found


def run(access: Access, options: MarginalOptions, files: MarginalFiles, *, json: bool, yes: bool, plan: bool) -> int:
    """Print the plan alone, or charge the marginals and print them; return the exit code."""
    if plan:
        return print_plan(access, options.plan, json=json)
    files.check(access.policy)

    def show(answer: Marginals, db: Database) -> None:
        shown = {**answer.to_dict(), **ledger_json(db, repeated=answer.repeated)}
        if json:
            put_json(shown)
        else:
            _put(answer)
            say_spent(answer.cost, db, repeated=answer.repeated)
        files.write(answer, shown)

    return charged(access, options.plan, options.release, show, json=json, yes=yes)


def _put(answer: Marginals) -> None:
    """Print every marginal with its intervals, and the notes."""
    for warning in answer.warnings:
        put_warning(f"{WARNING}{warning}")
    for names, error in zip(answer.requested, answer.error.values(), strict=True):
        table = answer[names]
        put(f"{', '.join(names)}: each count ± {grouped(error)}")
        headings, rows = text_rows(table.columns(), answer.confidence)
        interval = f"{percent(answer.confidence)} interval of count"
        put_table(make_table(headings, rows, left=[interval], dim=[interval]))
    for note in answer.notes:
        put(note)
    sys.stdout.flush()
