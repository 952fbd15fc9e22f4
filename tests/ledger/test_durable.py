from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from threading import Barrier, Timer

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.errors import BudgetError, InvalidError, SourceError
from tacit.guarantees.events import ApproxRelease, DiscreteGaussianNoise, Event, Neighbours, PureRelease
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import ApproxZCDP, Budget
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.ledger.durable import DurableLedger, open_ledger
from tacit.ledger.memory import MemoryLedger

ONE = PureDP(epsilon=1)


def pure(epsilon: str) -> PureRelease:
    return PureRelease(epsilon=Fraction(epsilon))


class Shelf:
    """Opens the ledger of one file, again and again, and lets go of it at the end."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._open: list[DurableLedger] = []

    def opened(self, budget: Budget = ONE, neighbours: Neighbours = "add/remove") -> DurableLedger:
        ledger = open_ledger(self.file, budget, neighbours)
        self._open.append(ledger)
        return ledger

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute(sql).fetchall()

    def write(self, sql: str) -> None:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute(sql)

    def close(self) -> None:
        for ledger in self._open:
            ledger._engine.dispose()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    found = Shelf(tmp_path / "clinic.ledger")
    yield found
    found.close()


def test_ten_tenths_are_one_and_no_more_however_often_it_is_reopened(shelf: Shelf) -> None:
    assert [shelf.opened().charge("q", [pure("0.1")]) for _ in range(10)] == list(range(1, 11))
    assert shelf.opened().spent.loss == 1
    with pytest.raises(BudgetError, match=r"only 0\.0 is left"):
        shelf.opened().charge("q", [pure("1e-300")])


@given(st.lists(st.fractions(min_value=Fraction(1, 997), max_value=1, max_denominator=997), min_size=1, max_size=5))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sums_are_exact_and_those_of_the_ledger_in_memory(shelf: Shelf, parts: list[Fraction]) -> None:
    budget = ApproxDP(epsilon=10**6, delta=0.999)
    durable, memory = shelf.opened(budget), MemoryLedger(budget, "add/remove")
    before = durable.spent
    for part in parts:
        events: list[Event] = [PureRelease(epsilon=part), ApproxRelease(epsilon=part, delta=part / 10**5)]
        for ledger in (durable, memory):
            ledger.charge("q", events)
    assert durable.spent.loss - before.loss == memory.spent.loss == 2 * sum(parts)
    assert durable.spent.delta - before.delta == memory.spent.delta == sum(parts) / 10**5


def test_a_refusal_changes_nothing(shelf: Shelf) -> None:
    ledger = shelf.opened()
    ledger.charge("q", [pure("0.7")])
    before = (ledger.spent, ledger.entries())
    with pytest.raises(BudgetError, match="nothing was spent"):
        ledger.charge("q", [pure("0.2"), pure("0.2")])
    with pytest.raises(InvalidError):
        ledger.charge("q", [pure("0.1"), DiscreteGaussianNoise(variance=Fraction(9), l2_squared=1, coordinates=1)])
    with pytest.raises(InvalidError):
        ledger.charge("q", [PureRelease(epsilon=Fraction(1, 10), neighbours="change one")])
    assert (ledger.spent, ledger.entries()) == before
    assert shelf.rows("SELECT count(*) FROM entries") == [(1,)]
    assert ledger.charge("q", [pure("0.3")]) == 2


def test_a_ledger_survives_being_reopened(shelf: Shelf) -> None:
    first = shelf.opened()
    one, two, three = (first.charge(f"SELECT '{i}' -- ü; DROP", [pure("0.1")], analyst="ann") for i in range(3))
    first.close(one, "answered")
    first.close(two, "failed")
    again = shelf.opened()
    assert again.entries() == first.entries()
    assert [(e.number, e.outcome) for e in again.entries()] == [(one, "answered"), (two, "failed"), (three, "pending")]
    assert again.entries()[0].question == "SELECT '0' -- ü; DROP"
    assert again.entries()[0].events == (pure("0.1"),)
    assert again.entries()[0].analyst == "ann"
    assert again.spent == first.spent
    assert again.spent.loss == Fraction(3, 10)  # what failed stays charged
    assert again.budget == ONE


def test_an_outcome_is_recorded_once(shelf: Shelf) -> None:
    ledger = shelf.opened()
    number = ledger.charge("q", [pure("0.1")])
    ledger.close(number, "failed")
    with pytest.raises(SourceError):
        ledger.close(number, "answered")
    assert ledger.entries()[0].outcome == "failed"


OTHERS: list[tuple[Budget, Neighbours, str]] = [
    (PureDP(epsilon=2), "add/remove", "budget"),
    (ApproxDP(epsilon=1, delta=1e-6), "add/remove", "budget"),
    (ZCDP(rho=1), "add/remove", "budget"),
    (ApproxZCDP(rho=1, delta=1e-6), "add/remove", "budget"),
    (ONE, "change one", "neighbours"),
]


@pytest.mark.parametrize(("budget", "neighbours", "what"), OTHERS)
def test_another_budget_or_relation_is_refused(shelf: Shelf, budget: Budget, neighbours: Neighbours, what: str) -> None:
    shelf.opened().charge("q", [pure("0.4")])
    with pytest.raises(InvalidError, match=f"one that was begun with {what}"):
        shelf.opened(budget, neighbours)
    assert shelf.opened().spent.loss == Fraction(2, 5)


def test_an_equal_budget_is_the_same_however_it_is_written(shelf: Shelf) -> None:
    shelf.opened(PureDP(epsilon=0.1)).charge("q", [pure("0.05")])
    assert shelf.opened(PureDP(epsilon=Exact(Fraction(1, 10)))).spent.loss == Fraction(1, 20)


def test_another_version_is_refused(shelf: Shelf) -> None:
    shelf.opened()
    shelf.write("UPDATE about SET value = '2' WHERE key = 'version'")
    with pytest.raises(InvalidError, match="version"):
        shelf.opened()


def test_gaussian_noise_is_charged_in_rho(shelf: Shelf) -> None:
    ledger = shelf.opened(ZCDP(rho=1))
    ledger.charge("q", [DiscreteGaussianNoise(variance=Fraction(50), l2_squared=3, coordinates=2)])
    assert shelf.opened(ZCDP(rho=1)).spent.loss == Fraction(3, 100)


def test_what_is_charged_is_on_disk_before_charge_returns(shelf: Shelf) -> None:
    """Another connection, of another library, sees it at once; and the file is synced at every commit."""
    ledger = shelf.opened()
    ledger.charge("q", [pure("0.25")])
    assert shelf.rows("SELECT number, loss, delta FROM entries") == [(1, "1/4", "0")]
    with ledger._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_entries_are_chained_so_that_a_change_shows(shelf: Shelf) -> None:
    ledger = shelf.opened()
    for i in range(4):
        ledger.charge(f"q{i}", [pure("0.1")])
    assert is_chained(shelf)
    shelf.write("UPDATE entries SET question = 'another' WHERE number = 2")
    assert not is_chained(shelf)
    shelf.write("UPDATE entries SET question = 'q1' WHERE number = 2")
    assert is_chained(shelf)
    shelf.write("DELETE FROM entries WHERE number = 2")
    assert not is_chained(shelf)


def is_chained(shelf: Shelf) -> bool:
    """Recompute every hash from the row and the hash before."""
    names, before = ("number", "question", "analyst", "events", "loss", "delta"), ""
    for *values, chain in shelf.rows(f"SELECT {', '.join(names)}, chain FROM entries ORDER BY number"):  # noqa: S608 - constants
        row = dict(zip(names, values, strict=True))
        before = sha256((before + json.dumps(row, sort_keys=True, separators=(",", ":"))).encode()).hexdigest()
        if chain != before:
            return False
    return True


def test_eight_threads_never_spend_more_than_there_is(shelf: Shelf) -> None:
    ledger, together = shelf.opened(), Barrier(8)

    def ask(_: int) -> int:
        together.wait()
        admitted = 0
        for _ in range(6):
            try:
                ledger.charge("q", [pure("0.02"), pure("0.01")])
            except BudgetError:
                continue
            admitted += 1
        return admitted

    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(ask, range(8)))
    assert admitted == len(ledger.entries()) == 33  # 33·0.03 = 0.99
    assert ledger.spent.loss == Fraction(99, 100)
    assert [entry.number for entry in ledger.entries()] == list(range(1, 34))
    assert is_chained(shelf)


PROCESS = """
import sys
from fractions import Fraction
from tacit.errors import BudgetError
from tacit.guarantees.events import PureRelease
from tacit.guarantees.values import PureDP
from tacit.ledger.durable import open_ledger

print("ready", flush=True)
sys.stdin.readline()  # until all are
ledger = open_ledger(sys.argv[1], PureDP(epsilon=1), "add/remove")
admitted = 0
for _ in range(8):
    try:
        ledger.close(ledger.charge("q", [PureRelease(epsilon=Fraction(3, 100))]), "answered")
    except BudgetError:
        continue
    admitted += 1
print(admitted)
"""


def test_eight_processes_never_spend_more_than_there_is_not_even_when_they_begin_the_file(shelf: Shelf) -> None:
    command = [sys.executable, "-c", PROCESS, str(shelf.file)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own
        for _ in range(8)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=120) for process in running]
    assert [error for _, error in ended] == [""] * 8
    assert sum(int(out) for out, _ in ended) == 33
    ledger = shelf.opened()
    assert ledger.spent.loss == Fraction(99, 100)
    assert [entry.outcome for entry in ledger.entries()] == ["answered"] * 33
    assert is_chained(shelf)


def test_who_opens_a_file_that_another_has_locked_waits(shelf: Shelf) -> None:
    with closing(sqlite3.connect(shelf.file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE other (x)")
        other.execute("BEGIN EXCLUSIVE")
        release = Timer(0.3, lambda: other.execute("COMMIT"))
        release.start()
        assert shelf.opened().charge("q", [pure("0.1")]) == 1
        release.join()


def test_a_file_that_is_no_ledger_is_refused_with_a_constant_text(shelf: Shelf) -> None:
    shelf.file.write_bytes(b"secret, secret" * 1000)
    with pytest.raises(SourceError, match="could not be read or written") as caught:
        shelf.opened()
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        open_ledger(tmp_path / "nowhere" / "x.ledger", ONE, "add/remove")


def test_a_url_is_refused_without_repeating_what_it_holds() -> None:
    with pytest.raises(InvalidError, match="path of a file") as caught:
        open_ledger("postgresql://ann:password@host/db", ONE, "add/remove")
    assert "password" not in str(caught.value)
