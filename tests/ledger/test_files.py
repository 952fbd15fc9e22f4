"""One file, one name: links, mounts, renames, copies in place, forks and threads."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from mmap import mmap
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

import pytest

from children import ended, forked
from ledgers import ONE, Site, Sites, ask, can_mount
from tacit.errors import CommitError, LedgerError
from tacit.guarantees.values import PureDP
from tacit.ledger import file_locks, ledger_file
from tacit.ledger.file_locks import FileUseError
from tacit.ledger.open_ledger import open_ledger, read_ledger
from tacit.ledger.replay import verify
from tacit.ledger.sql_ledger import SqlLedger

linux = pytest.mark.skipif(sys.platform != "linux", reason="locks of open file descriptions are Linux's")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

TENTH = Fraction(1, 10)


@pytest.fixture
def site(sites: Sites) -> Site:
    return sites("sqlite")


def assert_refused(ledger: SqlLedger, location: str, match: str) -> None:
    """Check that charging, opening and reading fail, with a hint; only the first two report that nothing was spent."""
    uses: list[Callable[[], object]] = [
        lambda: ledger.charge(ask()),
        lambda: read_ledger(location),
        lambda: open_ledger(location, ONE, "add/remove"),
        lambda: ledger.spent,
    ]
    for use in uses:
        with pytest.raises(LedgerError, match=match) as caught:
            use()
        assert caught.value.hint
        assert caught.value.unspent is (use is not uses[-1])


def descriptors(path: Path) -> list[str]:
    """Return the descriptors of this process that are open on a file."""
    return [one.name for one in Path("/proc/self/fd").iterdir() if os.path.realpath(one) == str(path.resolve())]


# --- links ----------------------------------------------------------------------------------------------------------


def test_a_second_hard_link_is_refused_by_both_names_until_it_is_removed(site: Site) -> None:
    first, second = Path(site.location), Path(site.location).with_name("b.ledger")
    ledger = site.open()
    ledger.charge(ask())
    second.hardlink_to(first)
    for location in (site.location, str(second)):
        assert_refused(ledger, location, r"more than one name \(hard link\).*-samefile")
    second.unlink()
    ledger.charge(ask())
    assert ledger.spent.loss == 2 * TENTH
    assert verify(ledger).holds


def test_a_link_that_is_made_while_a_charge_waits_for_its_turn(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Path(site.location), Path(site.location).with_name("b.ledger")
    ledger = site.open()

    def enter(path: str, *, create: bool) -> file_locks.Use:
        use = _enter(path, create=create)
        second.hardlink_to(first)
        return use

    _enter = file_locks.enter
    monkeypatch.setattr(file_locks, "enter", enter)
    with pytest.raises(LedgerError, match="hard link"):
        ledger.charge(ask())
    monkeypatch.undo()
    second.unlink()
    assert ledger.spent.loss == 0
    assert not ledger.entries()


def test_a_symbolic_link_is_the_same_ledger(site: Site, folder: Path) -> None:
    (folder / "links").mkdir()
    link = folder / "links" / "c.ledger"
    ledger = site.open()
    link.symlink_to(site.location)
    through = open_ledger(link, ONE, "add/remove")
    with ledger._store.writing(), read_ledger(link)._store.reading():
        assert Path(f"{site.location}-wal").exists()
        assert [one.name for one in link.parent.iterdir()] == ["c.ledger"]
    through.charge(ask())
    ledger.charge(ask())
    assert through.spent.loss == ledger.spent.loss == 2 * TENTH


def test_a_symbolic_link_that_leads_elsewhere_later_is_refused(site: Site, folder: Path) -> None:
    link, other = folder / "current.ledger", folder / "other.ledger"
    site.open().close()
    open_ledger(other, ONE, "add/remove").close()
    link.symlink_to(site.location)
    ledger = open_ledger(link, ONE, "add/remove")
    link.unlink()
    link.symlink_to(other)
    with pytest.raises(LedgerError, match="was replaced"):
        ledger.charge(ask())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "x.ledger")
    with pytest.raises(LedgerError, match="not a regular file"):
        open_ledger(folder / "x.ledger", ONE, "add/remove")


def test_names_that_a_file_system_may_take_for_the_same_have_one_lock(folder: Path) -> None:
    one = file_locks.byte_of(str(folder / "Café.ledger"))
    for same in ("café.LEDGER", "cafe\u0301.ledger", "CAFE\u0301.ledger"):
        assert file_locks.byte_of(str(folder / same)) == one
    assert file_locks.byte_of(str(folder / "cafe.ledger")) != one
    (folder / "sub").mkdir()
    assert file_locks.byte_of(str(folder / "sub" / "Café.ledger")) != one
    assert file_locks.byte_of(str(folder / "sub" / ".." / "Café.ledger")) == one


# --- renamed, replaced ----------------------------------------------------------------------------------------------


def test_a_renamed_folder_is_not_there_and_has_all_charges_under_its_new_name(folder: Path) -> None:
    old, new = folder / "old", folder / "new"
    old.mkdir()
    ledger = open_ledger(old / "a.ledger", ONE, "add/remove")
    ledger.charge(ask())
    old.rename(new)
    with pytest.raises(LedgerError, match=r"does not exist.*If it was renamed, open it by the new name"):
        ledger.charge(ask())
    assert not old.exists()
    moved = open_ledger(new / "a.ledger", ONE, "add/remove")
    moved.charge(ask())
    assert moved.spent.loss == 2 * TENTH
    assert verify(moved).holds


def test_a_file_that_was_replaced_is_not_charged(site: Site, folder: Path) -> None:
    ledger, copy = site.open(), folder / "copy.ledger"
    shutil.copy(site.location, copy)
    ledger.charge(ask("1"))
    copy.rename(site.location)
    for use in (lambda: ledger.charge(ask()), lambda: ledger.spent):
        with pytest.raises(LedgerError, match=r"was replaced by another file.*on purpose.*receipt"):
            use()
    assert not site.open().entries()


def test_a_charge_to_a_file_that_moves_meanwhile_is_not_answered(site: Site, folder: Path) -> None:
    ledger = site.open()

    def move() -> None:
        with ledger._store.writing() as connection:
            connection.exec_driver_sql("UPDATE tacit_head SET format = format")
            Path(site.location).rename(folder / "b.ledger")

    with pytest.raises(CommitError, match="was moved while the charge was written") as caught:
        move()
    assert not caught.value.unspent


# --- mounts ---------------------------------------------------------------------------------------------------------


def test_a_mounted_file_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = site.open()
    path = Path(site.location).resolve()
    line = f"99 1 0:99 /elsewhere {path} rw - ext4 disk rw\n".encode()
    monkeypatch.setattr(ledger_file, "mount_table", lambda: line)
    assert_refused(ledger, site.location, r"mounted as a single file.*newer charges\. Mount its folder.*verify")
    monkeypatch.undo()
    assert ledger.spent.loss == 0


SPEND = """
import os, sys, time
from fractions import Fraction
from tacit.errors import BudgetError, LedgerError
from tacit.guarantees.events import PureRelease
from tacit.guarantees.values import PureDP
from tacit.ledger import Request, ledger_file
from tacit.ledger.open_ledger import open_ledger

location, hide = sys.argv[1], sys.argv[2] == "hide"
if hide:
    ledger_file.mount_table = lambda: b""
request = Request(question="q", events=(PureRelease(epsilon=Fraction(1, 20)),))
answers, reasons, ledger = 0, set(), None
print("ready", flush=True)
sys.stdin.readline()
for _ in range(60):
    try:
        ledger = ledger or open_ledger(location, PureDP(epsilon=1), "add/remove")
        ledger.charge(request)
        answers += 1
    except BudgetError:
        reasons.add("budget")
        break
    except LedgerError as error:
        reasons.add(next((part for part in ("single file", "another name") if part in str(error)), str(error)))
        time.sleep(0.003)
print(answers, sorted(reasons))
"""

TWO_PATHS = """
import subprocess, sys
from pathlib import Path

first, second, spend, hide = sys.argv[1:]
Path(second).touch()
subprocess.run(["mount", "--bind", first, second], check=True)
command = [sys.executable, "-W", "ignore", "-c", spend]
processes = [
    subprocess.Popen([*command, path, hide], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for path in (first, second, first, second)
]
for process in processes:
    process.stdout.readline()
for process in processes:
    process.stdin.write("go\\n")
    process.stdin.flush()
for process in processes:
    print(process.communicate()[0].strip(), flush=True)
"""


@linux
@pytest.mark.parametrize("hide", ["show", "hide"])
def test_a_file_mounted_at_a_second_path_never_spends_twice(site: Site, folder: Path, hide: str) -> None:
    if not can_mount(folder):
        pytest.skip("file systems cannot be mounted here")
    site.open().close()
    (folder / "other").mkdir()
    paths = [site.location, str(folder / "other" / "a.ledger")]
    command = ["unshare", "-m", sys.executable, "-c", TWO_PATHS, *paths, SPEND, hide]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()  # noqa: S603 - ours
    assert len(lines) == 4, lines
    answers = sum(int(line.split()[0]) for line in lines)
    assert answers <= 20, lines
    assert ("single file" if hide == "show" else "another name") in " ".join(lines)
    ledger = site.open()
    assert ledger.spent.loss == Fraction(answers, 20)
    assert len(ledger.entries()) == answers
    assert verify(ledger).holds


# --- locks of names -------------------------------------------------------------------------------------------------


@pytest.fixture
def names(folder: Path) -> tuple[str, str]:
    """Two names of one file."""
    first, second = folder / "a.ledger", folder / "b.ledger"
    first.touch()
    second.hardlink_to(first)
    return str(first), str(second)


@contextmanager
def entered(path: str) -> Iterator[None]:
    use = file_locks.enter(path, create=False)
    try:
        yield
    finally:
        file_locks.leave(use)


def is_refused(path: str) -> bool:
    try:
        with entered(path):
            return False
    except FileUseError as error:
        return "under another name" in str(error)


def elsewhere(task: Callable[[], object]) -> bool:
    """Return what a task prints in another process."""
    return ended(forked(lambda: os._exit(7 if task() else 0))) == 7


@linux
def test_a_name_excludes_other_names_in_this_process_and_in_others(names: tuple[str, str]) -> None:
    first, second = names
    with entered(first), entered(first):
        assert is_refused(second)
        assert ended(subprocess_refused(second)) == 7
        assert ended(subprocess_refused(first)) == 0
    assert not is_refused(second)
    assert not file_locks._USES
    assert not descriptors(Path(first))


def subprocess_refused(path: str) -> int:
    """Start a separate process that exits with 7 if its name is refused."""
    code = (
        "import sys; from tacit.ledger import file_locks\n"
        "try: file_locks.leave(file_locks.enter(sys.argv[1], create=False))\n"
        "except file_locks.FileUseError: sys.exit(7)"
    )
    return os.posix_spawn(sys.executable, [sys.executable, "-c", code, path], os.environ)


@linux
@forks
def test_of_two_names_that_race_at_most_one_runs(names: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes log when they have entered and before they leave; the log must never show both names at once.

    A pause before each lock command makes the two sides interleave in all ways.
    """
    out, into = os.pipe()
    pauses = random.Random()  # noqa: S311 - pauses, not secrets

    def pausing(*command: int) -> int:
        sleep(pauses.uniform(0, 0.001))
        return _command(*command)

    def loop(path: str, sign: str) -> None:
        pauses.seed(os.getpid())
        for _ in range(150):
            try:
                with entered(path):
                    os.write(into, sign.encode())
                    sleep(pauses.uniform(0, 0.001))
                    os.write(into, sign.upper().encode())
            except FileUseError:
                sleep(pauses.uniform(0, 0.002))

    _command = file_locks._command
    monkeypatch.setattr(file_locks, "_command", pausing)
    children = [forked(lambda turn=turn: loop(names[turn % 2], "ab"[turn % 2])) for turn in range(2)]  # type: ignore[misc]
    os.close(into)
    with os.fdopen(out) as log:
        events = log.read()
    assert [ended(child) for child in children] == [0] * 2
    running = {"a": 0, "b": 0}
    for event in events:
        running[event.lower()] += 1 if event.islower() else -1
        assert not (running["a"] and running["b"])
    assert {"a", "b"} <= set(events)


@linux
@forks
def test_a_child_closes_its_copies_and_the_parent_keeps_its_lock(names: tuple[str, str]) -> None:
    first, second = names
    with entered(first):
        assert elsewhere(lambda: not descriptors(Path(first)) and not file_locks._USES)
        assert ended(subprocess_refused(second)) == 7
    assert ended(subprocess_refused(second)) == 0


@forks
def test_a_child_of_a_fork_during_a_transaction_is_refused(site: Site) -> None:
    """SQLite's memory in the child says that locks are held which the child does not have."""
    ledger = site.open()

    def refused() -> bool:
        with pytest.raises(LedgerError, match="when this process was forked"):
            ledger.charge(ask())
        return True

    with ledger._store.reading():
        assert elsewhere(refused)
    assert elsewhere(lambda: ledger.charge(ask()))
    assert ledger.spent.loss == TENTH


# --- threads and processes ------------------------------------------------------------------------------------------


@forks
def test_a_transaction_that_ends_does_not_drop_the_locks_of_another_thread(site: Site) -> None:
    """Closing a descriptor drops a process's locks; then another process would delete a log that is in use."""
    ledger = site.open()
    begun, go_on = Event(), Event()

    def charge_slowly() -> None:
        with ledger._store.writing() as connection:
            begun.set()
            go_on.wait(60)
            connection.exec_driver_sql("UPDATE tacit_head SET loss = '1/2'")

    thread = Thread(target=charge_slowly)
    thread.start()
    begun.wait(60)
    assert ledger.spent.loss == 0
    code = "import sys; from tacit.ledger.open_ledger import read_ledger; read_ledger(sys.argv[1]).spent"
    subprocess.run([sys.executable, "-c", code, site.location], check=True)  # noqa: S603 - our own
    assert Path(f"{site.location}-wal").exists()
    go_on.set()
    thread.join()
    assert ledger.spent.loss == Fraction(1, 2)


@linux
@forks
def test_transactions_that_end_at_the_same_moment_leave_no_log(site: Site) -> None:
    """Two connections that close together would each find the other, and neither would write the log back."""
    ledger = site.open(PureDP(epsilon=10**6))
    ledger.charge(ask())
    rounds, arrivals, logs_left = 200, mmap(-1, 2), mmap(-1, 1)

    def meet(side: int) -> None:
        """Wait until the other side has come as far, without a pause."""
        arrivals[side], until = (arrivals[side] + 1) % 256, monotonic() + 60
        while (arrivals[1 - side] - arrivals[side]) % 256 not in (0, 1):
            assert monotonic() < until

    def work(side: int) -> None:
        for _ in range(rounds):
            with ledger._store.reading():
                meet(side)
            meet(side)
            logs_left[0] = min(255, logs_left[0] + Path(f"{site.location}-wal").exists())
            meet(side)

    children = [forked(lambda side=side: work(side)) for side in range(2)]  # type: ignore[misc]
    assert [ended(child) for child in children] == [0, 0]
    assert logs_left[0] == 0
    assert [one.name for one in Path(site.location).parent.iterdir()] == [Path(site.location).name]
    assert verify(ledger).holds


@linux
def test_no_descriptor_stays_open_whatever_happens(site: Site) -> None:
    ledger, path = site.open(), Path(site.location)
    ledger.charge(ask())
    assert not descriptors(path)
    snapshot = ledger.snapshot()
    records, _ = snapshot.__enter__()
    next(records)
    assert len(descriptors(path)) == 2  # SQLite's and that of the lock
    snapshot.__exit__(None, None, None)
    assert not descriptors(path)
    with pytest.raises(LedgerError), ledger._store.writing() as connection:
        connection.exec_driver_sql("SELECT * FROM nothing")
    assert not descriptors(path)
    assert not file_locks._USES


@forks
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() != 0, reason="only root can become somebody else")
def test_who_may_only_read_the_file_can_still_look(site: Site) -> None:
    site.open().charge(ask())
    Path(site.location).chmod(0o444)
    Path(site.location).parent.chmod(0o777)

    def look() -> bool:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        return read_ledger(site.location).spent.loss == TENTH

    assert elsewhere(look)
