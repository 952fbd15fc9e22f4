"""`tacit classify`: a private classifier of a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.cli import output_files
from tacit.cli.charge import Access, charged, ledger_json, say_spent
from tacit.cli.output import put, put_json, say
from tacit.cli.release_plans import print_plan
from tacit.database import Database
from tacit.learn.model import Classifier
from tacit.learn.model_file import content_of
from tacit.safe_text import visible
from tacit.session import unspent
from tacit.synthetic.release_plan import ReleasePlan
from tacit.verbs import VerbTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierOptions:
    """The classifier to fit: its target, its features, the rows and the cost; `positive` is the text of a value."""

    arguments: Mapping[str, Any]
    positive: str | None
    request: str | None

    def plan(self, db: Database) -> ReleasePlan:
        """Return the plan."""
        return db.classify(**self.arguments, positive=self._positive(db), plan=True)

    def release(self, db: Database) -> Classifier:
        """Charge the classifier and return it."""
        return db.classify(**self.arguments, positive=self._positive(db), request=self.request)

    def _positive(self, db: Database) -> Any:  # noqa: ANN401 - a value of the target
        """Return the public value of the target that has the text of the option; an unknown text stays as it is."""
        if self.positive is None:
            return None
        with unspent():
            table = db.tables[VerbTarget(db.tables, (), None, self.arguments["table"]).table_name]
        column = table.columns.get(self.arguments["target"])
        values = () if column is None else column.keys or (False, True)
        return next((value for value in values if str(value).lower() == self.positive.lower()), self.positive)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """The files that a classifier is written to."""

    chart: str | None
    save: str | None
    force: bool

    def check(self, policy: str) -> None:
        """Check their names and folders before anything is spent."""
        with unspent():
            output_files.check_chart(self.chart)
            output_files.check({"save": self.save}, [policy], force=self.force)

    def write(self, model: Classifier) -> None:
        """Write them, and say so."""
        if self.save is not None:
            with output_files.atomic(self.save) as temporary:
                model.save(temporary)
            say(f"Wrote the model to {visible(self.save)}.")
        if self.chart is not None:
            say(output_files.save_chart(model.plot, self.chart))


def run(access: Access, options: ClassifierOptions, files: ModelFiles, *, json: bool, yes: bool, plan: bool) -> int:
    """Print the plan alone, or charge the classifier and print it; return the exit code."""
    if plan:
        return print_plan(access, options.plan, json=json)
    files.check(access.policy)

    def show(model: Classifier, db: Database) -> None:
        if json:
            put_json({**content_of(model), **ledger_json(db, repeated=model.repeated)})
        else:
            put(str(model))
            sys.stdout.flush()
            say_spent(model.cost, db, repeated=model.repeated)
        files.write(model)

    return charged(access, options.plan, options.release, show, json=json, yes=yes)
