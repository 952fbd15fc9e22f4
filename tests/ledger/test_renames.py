"""Renamed ledgers: a log beside an earlier path holds charges, and the file is refused until it has them."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, event

from children import ended, forked
from ledgers import ONE, ask, can_mount
from tacit.errors import BudgetError, LedgerError
from tacit.ledger import ledger_file, storage
from tacit.ledger.backup import export, load
from tacit.ledger.open_ledger import open_ledger, read_ledger, require_ledger
from tacit.ledger.replay import verify
from tacit.ledger.sql_ledger import SqlLedger

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

FIXTURES = Path(__file__).parent / "fixtures"
TENTH = Fraction(1, 10)


def opened(path: Path) -> SqlLedger:
    return open_ledger(path, ONE, "add/remove")


def log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def charge_beside_reader(path: Path, charges: int) -> ExitStack:
    """Charge while a reader is open, so that the charges stay in the log; return what closes the reader."""
    stack = ExitStack()
    ledger = opened(path)
    stack.enter_context(read_ledger(path)._store.reading())
    for _ in range(charges):
        ledger.charge(ask())
    return stack


def charge_and_die(path: Path, charges: int) -> None:
    """Charge in a child that is killed before it writes the log back."""

    def task() -> None:
        with charge_beside_reader(path, charges):
            os.kill(os.getpid(), signal.SIGKILL)

    assert ended(forked(task)) == -signal.SIGKILL
    assert log(path).stat().st_size > 0


def rename_without_log(old: Path, new: Path) -> None:
    """Spend the whole budget while a reader is open, and rename the file alone."""
    opened(old).charge(ask())
    with charge_beside_reader(old, 9):
        old.rename(new)


def assert_refused(path: Path, earlier: Path, *ledgers: SqlLedger) -> None:
    """Check that nothing opens, reads or charges a ledger at a path."""
    uses: list[Callable[[], object]] = [
        lambda: opened(path),
        lambda: read_ledger(path),
        lambda: require_ledger(path),
        *(lambda ledger=ledger: ledger.charge(ask()) for ledger in ledgers),
    ]
    reads: list[Callable[[], object]] = [partial(getattr, ledger, "spent") for ledger in ledgers]
    for use in (*uses, *reads):
        with pytest.raises(LedgerError, match=r"newest charges are still in .*rename") as caught:
            use()
        assert caught.value.unspent is (use not in reads)
        assert f"rename {log(earlier)} to {log(path)}" in str(caught.value)


def assert_spent(path: Path, charges: int) -> None:
    """Check that a ledger has exactly these charges of a tenth."""
    ledger = opened(path)
    assert ledger.spent.loss == charges * TENTH
    assert len(ledger.entries()) == charges
    assert verify(ledger).holds


def paths_in_file(path: Path) -> dict[bytes, int]:
    """Return the recorded paths that are in the file itself, without its log."""
    connection = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    try:
        return dict(connection.execute("SELECT path, in_file FROM tacit_paths"))
    finally:
        connection.close()


# --- the log stays behind -------------------------------------------------------------------------------------------


def test_a_file_renamed_while_a_reader_is_open_is_refused_until_its_log_is_renamed(folder: Path) -> None:
    old, new = folder / "a.ledger", folder / "b.ledger"
    rename_without_log(old, new)
    assert_refused(new, old)
    log(old).rename(log(new))
    assert_spent(new, 10)
    with pytest.raises(BudgetError):
        opened(new).charge(ask())
    assert not log(old).exists()


def test_a_file_that_is_renamed_back_has_all_charges(folder: Path) -> None:
    old, new = folder / "a.ledger", folder / "b.ledger"
    rename_without_log(old, new)
    assert_refused(new, old)
    new.rename(old)
    assert_spent(old, 10)


def test_a_log_with_its_index_may_be_renamed_too(folder: Path) -> None:
    old, new = folder / "a.ledger", folder / "b.ledger"
    rename_without_log(old, new)
    log(old).rename(log(new))
    (folder / "a.ledger-shm").rename(folder / "b.ledger-shm")
    assert_spent(new, 10)


@forks
def test_a_file_renamed_after_a_kill_is_refused_until_its_log_is_renamed(folder: Path) -> None:
    old, new = folder / "a.ledger", folder / "b.ledger"
    charge_and_die(old, 10)
    old.rename(new)
    assert_refused(new, old)
    log(old).rename(log(new))
    assert_spent(new, 10)


@forks
def test_every_earlier_path_is_checked_and_not_only_the_last(folder: Path) -> None:
    first, second, third = (folder / f"{name}.ledger" for name in "abc")
    opened(first).charge(ask())
    first.rename(second)
    opened(second).charge(ask())
    second.rename(first)
    charge_and_die(first, 3)
    first.rename(third)
    assert_refused(third, first)
    log(first).rename(log(third))
    assert_spent(third, 5)


def test_a_session_under_the_new_name_is_refused_too(folder: Path) -> None:
    old, new = folder / "a.ledger", folder / "b.ledger"
    opened(old).close()
    old.rename(new)
    session = opened(new)
    new.rename(old)
    with charge_beside_reader(old, 10):
        old.rename(new)
    assert_refused(new, old, session)
    new.rename(old)
    assert_spent(old, 10)


def test_a_path_that_cannot_be_written_into_the_file_is_not_charged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second rename would lose a path that is only in the log, and with it the charges."""
    old, new, newest = (folder / f"{name}.ledger" for name in "abc")
    opened(old).charge(ask())
    old.rename(new)
    monkeypatch.setattr(storage, "WAIT", 0.2)
    reader = read_ledger(new)
    with reader._store.reading(), pytest.raises(LedgerError, match="locked by another program") as caught:
        opened(new)
    assert caught.value.unspent
    monkeypatch.undo()
    with charge_beside_reader(new, 9):
        new.rename(newest)
    assert_refused(newest, new)
    log(new).rename(log(newest))
    assert_spent(newest, 10)


@forks
@pytest.mark.parametrize("step", [1, 2])
def test_a_kill_while_a_path_is_recorded(folder: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """After either step the path is recorded again, and is in the file before the next charge."""
    old, new = folder / "a.ledger", folder / "b.ledger"
    opened(old).charge(ask())
    old.rename(new)
    write_back = ledger_file._write_back

    def killing(connection: Connection) -> bool:
        if step == 2:  # after the log was written back
            assert write_back(connection)
        os.kill(os.getpid(), signal.SIGKILL)
        return False

    monkeypatch.setattr(ledger_file, "_write_back", killing)
    assert ended(forked(lambda: opened(new))) == -signal.SIGKILL
    monkeypatch.undo()
    assert paths_in_file(new).get(os.fsencode(new)) == (None if step == 1 else 0)
    with charge_beside_reader(new, 1):
        assert os.fsencode(new) in paths_in_file(new)
    assert paths_in_file(new) == {os.fsencode(old): 1, os.fsencode(new): 1}
    assert_spent(new, 2)


def test_a_path_with_braces_and_other_letters(folder: Path) -> None:
    inner = folder / "{x} é"
    inner.mkdir()
    old, new = inner / "{a}.ledger", inner / "b.ledger"
    rename_without_log(old, new)
    assert_refused(new, old)
    log(old).rename(log(new))
    assert_spent(new, 10)


# --- a log without a file -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_there", [False, True])
def test_a_new_ledger_beside_a_log_is_refused(folder: Path, is_there: bool) -> None:  # noqa: FBT001 - a table
    """SQLite deletes a log beside an empty file, and the charges in it."""
    old, new = folder / "a.ledger", folder / "b.ledger"
    rename_without_log(old, new)
    if is_there:
        old.touch()
    with pytest.raises(LedgerError, match=r"does not exist, but a log .*rename it back") as caught:
        opened(old)
    assert caught.value.unspent
    assert old.exists() is is_there
    new.rename(old)
    assert_spent(old, 10)


# --- renames that lose nothing --------------------------------------------------------------------------------------


def test_a_file_renamed_while_nobody_uses_it_has_all_charges(folder: Path) -> None:
    old, new = folder / "a.ledger", folder / "b.ledger"
    opened(old).charge(ask())
    old.rename(new)
    opened(new).charge(ask())
    assert_spent(new, 2)
    assert paths_in_file(new) == {os.fsencode(old): 1, os.fsencode(new): 1}
    new.rename(old)
    assert_spent(old, 2)


@forks
def test_a_folder_renamed_after_a_kill_has_all_charges(folder: Path) -> None:
    old, new = folder / "old", folder / "new"
    old.mkdir()
    charge_and_die(old / "a.ledger", 3)
    old.rename(new)
    opened(new / "a.ledger").charge(ask())
    assert_spent(new / "a.ledger", 4)


def test_a_copy_at_another_path_opens_when_the_old_path_is_gone(folder: Path) -> None:
    old, copy = folder / "a.ledger", folder / "copy.ledger"
    opened(old).charge(ask())
    shutil.copy(old, copy)
    old.unlink()
    opened(copy).charge(ask())
    assert_spent(copy, 2)


def test_the_log_of_another_ledger_at_the_old_path_is_no_reason_to_refuse(folder: Path) -> None:
    old, new = folder / "a.ledger", folder / "b.ledger"
    opened(old).charge(ask())
    old.rename(new)
    with charge_beside_reader(old, 3):  # a new ledger at the old path
        assert read_ledger(new).spent.loss == TENTH
        assert_spent(new, 1)
    assert_spent(old, 3)


def test_an_imported_ledger_has_its_own_path_alone(folder: Path) -> None:
    old, new = folder / "a.ledger", folder / "b.ledger"
    ledger = opened(old)
    ledger.charge(ask())
    assert load(export(ledger), new).holds
    assert paths_in_file(new) == {os.fsencode(new): 1}
    assert_spent(new, 1)


@pytest.mark.parametrize("name", ["column", "person", "row"])
def test_a_ledger_of_0_1_0_verifies_unchanged_and_records_its_path_when_it_is_charged(folder: Path, name: str) -> None:
    path = folder / "a.ledger"
    connection = sqlite3.connect(path)
    connection.executescript((FIXTURES / f"0.1.0-{name}.sql").read_text(encoding="utf-8"))
    connection.close()
    ledger = read_ledger(path)
    assert verify(ledger).holds
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        paths_in_file(path)
    ledger.charge(ask())
    assert paths_in_file(path) == {os.fsencode(path): 1}
    assert verify(ledger).holds


def test_a_charge_under_a_recorded_path_writes_no_path(folder: Path) -> None:
    ledger = opened(folder / "a.ledger")
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(ledger._store._engine, "before_cursor_execute", note)
    ledger.charge(ask())
    assert [one for one in statements if "tacit_paths" in one or "checkpoint" in one] == [
        ledger_file._EXISTS,
        "SELECT path, in_file FROM tacit_paths",
    ]
    assert any(one.startswith("INSERT INTO tacit_records") for one in statements)


# --- two paths ------------------------------------------------------------------------------------------------------

MOUNTED = """
import subprocess, sys
from fractions import Fraction
from pathlib import Path
from tacit.errors import LedgerError
from tacit.guarantees.events import PureRelease
from tacit.guarantees.values import PureDP
from tacit.ledger import Request, ledger_file
from tacit.ledger.open_ledger import open_ledger

source, target, path = sys.argv[1:]
subprocess.run(["mount", "--bind", source, target], check=True)
ledger_file.mount_table = lambda: b""
try:
    ledger = open_ledger(path, PureDP(epsilon=1), "add/remove")
    ledger.charge(Request(question="q", events=(PureRelease(epsilon=Fraction(1, 10)),)))
    print("charged")
except LedgerError as error:
    print(error)
"""


def charged_through_mount(source: Path, target: Path, path: Path) -> str:
    """Charge in a process that has mounted a source at a target and cannot list mounts; return what it prints."""
    command = ["unshare", "-m", sys.executable, "-W", "ignore", "-c", MOUNTED, *map(str, (source, target, path))]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout  # noqa: S603 - our own


@forks
def test_after_a_kill_a_second_path_of_the_file_is_refused(folder: Path) -> None:
    if not can_mount(folder):
        pytest.skip("file systems cannot be mounted here")
    first, second = folder / "a.ledger", folder / "other" / "a.ledger"
    second.parent.mkdir()
    second.touch()
    charge_and_die(first, 3)
    printed = charged_through_mount(first, second, second)
    assert f"newest charges are still in {log(first)}" in printed
    assert f"If {first} is still a name of it, open it by that name" in printed
    assert_spent(first, 3)


def test_a_second_path_of_the_folder_shares_the_log(folder: Path) -> None:
    if not can_mount(folder):
        pytest.skip("file systems cannot be mounted here")
    first, second = folder / "first", folder / "second"
    first.mkdir()
    second.mkdir()
    opened(first / "a.ledger").charge(ask())
    assert charged_through_mount(first, second, second / "a.ledger") == "charged\n"
    with charge_beside_reader(first / "a.ledger", 2):
        assert log(first / "a.ledger").stat().st_size > 0
        assert charged_through_mount(first, second, second / "a.ledger") == "charged\n"
    assert_spent(first / "a.ledger", 5)
    assert paths_in_file(first / "a.ledger") == {os.fsencode(one / "a.ledger"): 1 for one in (first, second)}
