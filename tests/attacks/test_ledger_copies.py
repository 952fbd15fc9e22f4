"""Ledgers that are restored, copied, deleted or edited: what is refused, what a check finds, what receipts show.

A copy cannot know of the charges to the original. So some attacks below succeed, as the documents state. Then a receipt
from the other side of the copy shows it. A budget in a JSON file falls to all of them without a trace. Attacks that
`tests/ledger` has already: hard links, symbolic links, mounts and renamed files (`test_files.py`, `test_renames.py`),
changed, removed, moved and truncated records (`test_tampering.py`), sealed copies (`test_relocation.py`).
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from known_bad import JsonLedger
from tacit.database import Database
from tacit.errors import LedgerError
from tacit.ledger.replay import VerifyReport, verify
from tacit.ledger.sql_ledger import SqlLedger

PEOPLE = pd.DataFrame({"id": range(40)})
DOCS = Path(__file__).parents[2] / "docs" / "explanation"


def opened(ledger: Path) -> Database:
    return tc.open(PEOPLE, name="t", unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1), ledger=ledger)


def asked(db: Database, epsilon: float = 0.25) -> dict[str, Any]:
    """Ask a question, and return its receipt."""
    return dict(db.sql("SELECT count(*) AS n FROM t", epsilon=epsilon).receipt)


def book(db: Database) -> SqlLedger:
    """Return the ledger of a database, which is in a file."""
    assert isinstance(db.ledger, SqlLedger)
    return db.ledger


def checked(db: Database, *receipts: Mapping[str, object]) -> VerifyReport:
    """Check the ledger of a database, and that it has some receipts."""
    return verify(book(db), receipts)


def exhausted(ask: Callable[[], object]) -> int:
    """Ask questions of 0.25 until the budget of 1 has no room; return how many were answered."""
    for answered in range(8):
        try:
            if ask() is False:
                return answered
        except tc.BudgetError:
            return answered
    return 8


def copied(ledger: Path, copy: Path) -> None:
    """Copy all of a ledger, with what is in its log, as SQLite's own backup does."""
    with sqlite3.connect(ledger) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()


def stated(document: str, *sentences: str) -> None:
    """Assert that a document has some sentences, however its lines are broken."""
    text = " ".join((DOCS / document).read_text().split())
    for sentence in sentences:
        assert sentence in text, sentence


# --- what the reference does without a trace ------------------------------------------------------------------------


@pytest.mark.parametrize("attack", ["restored", "copied", "deleted", "edited"])
def test_a_budget_in_a_json_file_is_spent_twice_without_a_trace(attack: str, tmp_path: Path) -> None:
    file, other = tmp_path / "l.json", tmp_path / "other.json"
    ledger = JsonLedger(file, 1)
    assert ledger.ask(0)
    shutil.copy(file, other)
    answered = exhausted(lambda: ledger.ask(0.25))
    if attack == "restored":
        shutil.copy(other, file)
    elif attack == "copied":
        ledger = JsonLedger(other, 1)
    elif attack == "deleted":
        file.unlink()
    else:
        file.write_text(json.dumps({"spent": 0}))
    assert answered + exhausted(lambda: ledger.ask(0.25)) == 8


# --- restored -------------------------------------------------------------------------------------------------------


def test_a_copy_that_is_restored_under_an_open_ledger_is_refused(tmp_path: Path) -> None:
    """By another file at the path, and by other content of the same file."""
    ledger = tmp_path / "l"
    with opened(ledger) as db:
        asked(db)
        copied(ledger, tmp_path / "old")
        asked(db)
        with sqlite3.connect(tmp_path / "old") as source, sqlite3.connect(ledger) as target:
            source.backup(target)
        source.close()
        target.close()
        with pytest.raises(LedgerError, match=r"has lost charges.*Nothing was spent\."):
            asked(db)
        with pytest.raises(LedgerError, match="has lost charges"):
            _ = db.spent
        (tmp_path / "old").replace(ledger)
        with pytest.raises(LedgerError, match=r"was replaced.*Nothing was spent\."):
            asked(db)


def test_a_copy_that_is_restored_between_two_programs_is_shown_by_a_receipt_alone(tmp_path: Path) -> None:
    """The attack succeeds: 7 questions of 0.25 under a budget of 1. The chain of the copy is whole."""
    ledger, old = tmp_path / "l", tmp_path / "old"
    with opened(ledger) as db:
        first = asked(db)
        copied(ledger, old)
        late = [asked(db) for _ in range(3)]
        with pytest.raises(tc.BudgetError):
            asked(db)
    old.replace(ledger)
    with opened(ledger) as db:
        assert exhausted(lambda: asked(db)) == 3
        assert checked(db).holds
        assert checked(db, first).holds
        for receipt in late:
            assert not checked(db, receipt).holds
    stated("known-weaknesses.md", "A copy of a ledger is a second ledger.")
    stated("ledger.md", "Any receipt that was issued later reveals an older copy that was restored")


# --- copied and used side by side -----------------------------------------------------------------------------------


def test_two_copies_in_use_are_two_budgets_and_each_denies_the_receipts_of_the_other(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    with opened(here) as db:
        shared = asked(db)
    copied(here, there)
    with opened(here) as one, opened(there) as other:
        receipts: dict[Database, list[dict[str, Any]]] = {one: [], other: []}
        for db in (one, other, one, other):
            receipts[db].append(asked(db))
        for db, stranger in ((one, other), (other, one)):
            assert checked(db, shared).holds
            assert all(checked(db, receipt).holds for receipt in receipts[db])
            assert not any(checked(db, receipt).holds for receipt in receipts[stranger])
        assert sum(exhausted(lambda db=db: asked(db)) for db in (one, other)) == 2  # type: ignore[misc]
    stated("known-weaknesses.md", "Two ledgers over one source add up")
    stated(
        "ledger.md", "Two copies in use are two budgets that add up; a receipt reveals an old copy that was restored."
    )


# --- deleted --------------------------------------------------------------------------------------------------------


def test_a_ledger_that_is_deleted_between_questions_is_missed_by_an_open_one_and_by_receipts(tmp_path: Path) -> None:
    """An open database is refused. A new program says that it created a ledger, and no receipt fits it."""
    ledger = tmp_path / "l"
    with opened(ledger) as db:
        assert db.ledger.created
        receipt = asked(db, 1)
        for name in (ledger, *tmp_path.glob("l-*")):
            name.unlink(missing_ok=True)
        with pytest.raises(LedgerError, match=r"Nothing was spent\."):
            asked(db)
    assert not ledger.exists()
    with opened(ledger) as fresh:
        assert fresh.ledger.created
        asked(fresh, 1)
        assert not checked(fresh, receipt).holds
    stated("ledger.md", "the next one starts with nothing spent. Only receipts reveal this.")


# --- edited ---------------------------------------------------------------------------------------------------------

EDITS = {
    "the total": "UPDATE tacit_head SET loss = '0'",
    "the budget": 'UPDATE tacit_head SET budget = replace(budget, \'"loss":"1"\', \'"loss":"9"\')',
    "a trigger that resets the total": """CREATE TRIGGER reset AFTER UPDATE ON tacit_head WHEN NEW.loss <> '0'
        BEGIN UPDATE tacit_head SET loss = '0'; END""",
    "a trigger that swallows charges": """CREATE TRIGGER swallow AFTER INSERT ON tacit_records
        WHEN NEW.kind = 'charge' BEGIN DELETE FROM tacit_records WHERE number = NEW.number; END""",
    "a trigger that makes charges cheap": """CREATE TRIGGER cheap AFTER INSERT ON tacit_records WHEN NEW.kind = 'charge'
        BEGIN UPDATE tacit_records SET body = replace(body, '"scale":"4"', '"scale":"9"')
        WHERE number = NEW.number; END""",
    "the last charge removed": """DELETE FROM tacit_records WHERE number = (SELECT max(number) FROM tacit_records
        WHERE kind = 'charge')""",
    "the name of who asked": 'UPDATE tacit_records SET body = replace(body, \'"analyst":""\', \'"analyst":"eve"\')',
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_the_file_is_found_by_a_check(name: str, tmp_path: Path) -> None:
    """Edit the file, also by a trigger that stays in it: `verify` finds it."""
    ledger = tmp_path / "l"
    with opened(ledger) as db:
        asked(db)
        assert checked(db).holds
        with sqlite3.connect(ledger) as connection:
            connection.execute(EDITS[name])
        connection.close()
        answered = exhausted(lambda: asked(db))
        report = checked(db)
        assert not report.holds
        assert report.why
    assert answered >= 1
    stated("ledger.md", "Anyone who can write the file can rewrite all of it")


# --- other data under one ledger ------------------------------------------------------------------------------------


def test_units_that_are_declared_new_do_not_open_the_budget_of_the_old_ones(tmp_path: Path) -> None:
    """The steward's renewal must not serve the old data: by an open session, by its version, or by none."""
    ledger = tmp_path / "l"

    def version(name: str | None) -> Database:
        terms: dict[str, Any] = {"unit": "id", "max_groups": 1, "max_rows": 1, "budget": tc.PureDP(epsilon=1)}
        return tc.open(PEOPLE, name="t", ledger=ledger, data_version=name, **terms)

    with version("2026") as old:
        asked(old, 1)
        book(old).set_version("2027", disjoint=True)
        with pytest.raises(tc.RefusedError, match="not the version that was opened"):
            asked(old)
    for name in ("2026", None):
        with pytest.raises(tc.RefusedError):
            version(name)
    with version("2027") as new:
        assert new.ledger.spent.loss == Fraction(0)


# --- names with a meaning -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [":memory:", "file::memory:", "file:l?mode=memory", "l?mode=memory", "file:l?nolock=1"]
)
def test_a_name_that_sqlite_reads_as_no_file_is_a_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger in memory would be new for each program. The reference passes the name to SQLite as it is."""
    monkeypatch.chdir(tmp_path)
    for answered in (1, 0):
        with opened(Path(name)) as db:
            assert exhausted(lambda db=db: asked(db, 1)) == answered  # type: ignore[misc]
    assert (tmp_path / name).is_file()
    if "memory" in name and not name.startswith("l"):
        for _ in range(2):
            connection = sqlite3.connect(name, uri=True)
            connection.execute("CREATE TABLE spent (loss)")
            connection.close()
