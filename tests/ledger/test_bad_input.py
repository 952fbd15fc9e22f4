"""Invalid locations, files, servers, names and amounts: the message is clear, and nothing is lost."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from sqlalchemy import make_url

from children import ended, forked
from ledgers import ONE, Site, Sites, ask
from tacit.errors import BudgetError, InvalidError, LedgerError, RefusedError, SourceError
from tacit.guarantees.events import ApproxRelease, Neighbours, PureRelease
from tacit.guarantees.filters import Budget
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, PureDP, RenyiDP
from tacit.ledger import Request, changes, storage
from tacit.ledger.open_ledger import open_ledger, read_ledger
from tacit.ledger.policies import Promise
from tacit.ledger.records import FORMAT
from tacit.ledger.replay import verify

NOBODY = 65534


@pytest.fixture
def file(sites: Sites) -> Site:
    return sites("sqlite")


def fails(location: object, match: str) -> str:
    """Return the message if a ledger cannot be opened; it has no text of the database."""
    with pytest.raises(LedgerError, match=match) as caught:
        open_ledger(location, ONE, "add/remove").charge(ask())  # type: ignore[arg-type]
    message = str(caught.value)
    assert isinstance(caught.value, SourceError)
    assert caught.value.hint
    assert caught.value.unspent
    assert message.endswith("Nothing was spent.")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    for word in ("sqlite", "psycopg", "sqlalche", "Traceback", "Error)", "SELECT"):
        assert word.lower() not in message.lower().replace(str(location).lower(), "")
    return message


# --- sites and files -------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there(folder: Path) -> None:
    assert "Create the folder" in fails(folder / "nowhere" / "x.ledger", "does not exist")


def test_a_folder(folder: Path) -> None:
    fails(folder, "is a folder")


@pytest.mark.parametrize("reader", [open_ledger, read_ledger])
def test_a_text_file_is_not_touched(folder: Path, reader: Callable[..., object]) -> None:
    notes = folder / "notes.txt"
    notes.write_bytes(b"secret, secret" * 1000)
    with pytest.raises(LedgerError, match="the file has another format") as caught:
        reader(notes, *((ONE, "add/remove") if reader is open_ledger else ()))
    assert str(caught.value).count("secret") == 0
    assert notes.read_bytes() == b"secret, secret" * 1000


def test_a_database_of_somebody_else_is_not_touched(file: Site) -> None:
    file.run("CREATE TABLE mine (x)")
    fails(file.location, "is a database, but not a ledger")
    with pytest.raises(LedgerError, match="not a ledger"):
        read_ledger(file.location)
    assert file.run("SELECT name FROM sqlite_master") == [("mine",)]


def test_tables_of_somebody_else_beside_ours_in_a_server_are_not_touched(sites: Sites) -> None:
    site = sites("postgresql")
    for name in ("about", "entries", "outcomes"):
        site.run(f"CREATE TABLE {name} (x int)")
    with pytest.raises(LedgerError, match="does not exist yet"):
        read_ledger(site.location)
    assert site.open().charge(ask()).number == 1
    assert site.run("SELECT count(*) FROM about") == [(0,)]


def test_no_ledger_to_look_at(folder: Path) -> None:
    with pytest.raises(LedgerError, match=r"does not exist yet.*Nothing was spent"):
        read_ledger(folder / "x.ledger")
    assert not (folder / "x.ledger").exists()


def test_a_damaged_file(file: Site) -> None:
    ledger = file.open()
    for _ in range(10):
        ledger.charge(ask(question="q" * 3000))
    raw = bytearray(Path(file.location).read_bytes())
    raw[4096:] = bytes(len(raw) - 4096)
    Path(file.location).write_bytes(raw)
    assert "Restore it" in fails(file.location, "is corrupt")


def test_a_file_that_goes_while_it_is_open_is_not_begun_again(file: Site) -> None:
    ledger = file.open()
    ledger.charge(ask("1"))
    Path(file.location).unlink()
    for use in (lambda: ledger.charge(ask()), lambda: ledger.spent):
        with pytest.raises(LedgerError, match=r"does not exist.*renamed.*deleted.*verify POLICY --receipt"):
            use()
    assert not Path(file.location).exists()


def test_a_place_is_what_it_was_wherever_one_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "other").mkdir()
    monkeypatch.chdir(folder)
    ledger = open_ledger("a?b#c%20.ledger", ONE, "add/remove")
    monkeypatch.chdir(folder / "other")
    ledger.charge(ask())
    assert {one.name for one in folder.iterdir()} == {"other", "a?b#c%20.ledger"}
    assert ledger.name == "a?b#c%20.ledger"


@pytest.mark.parametrize("location", ["", "a\0b", b"bytes"])
def test_what_is_no_place(location: str) -> None:
    with pytest.raises(InvalidError, match="ledger"):
        open_ledger(location, ONE, "add/remove")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_only_be_read(file: Site, what: str) -> None:
    file.open().charge(ask())
    folder, said = Path(file.location).parent, Path(file.location).with_name("said")
    said.touch()
    folder.chmod(0o555 if what == "folder" else 0o777)
    Path(file.location).chmod(0o444 if what == "file" else 0o666)
    said.chmod(0o666)

    def as_nobody() -> None:
        if os.getuid() == 0:  # root may write anything
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        said.write_text(fails(file.location, "read-only|not writable"))

    child = forked(as_nobody)
    assert ended(child) == 0
    folder.chmod(0o700)
    Path(file.location).chmod(0o600)
    assert "permission to write" in said.read_text() or "its folder is not writable" in said.read_text()
    assert file.open().spent.loss == Fraction(1, 10)


def test_one_that_another_program_holds(file: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = file.open()
    monkeypatch.setattr(storage, "WAIT", 0.1)
    with closing(sqlite3.connect(file.location, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"locked by another program, .* within 0\.1 s") as caught:
            ledger.charge(ask())
        assert caught.value.unspent
        assert ledger.spent.loss == 0  # reading still works
        other.execute("COMMIT")
    ledger.charge(ask())


def test_a_row_that_another_connection_holds(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    site = sites("postgresql")
    ledger, holder = site.open(), site.open()
    with holder._store.reading() as connection:
        connection.exec_driver_sql("SELECT 1")
        assert ledger.charge(ask()).number == 1  # readers do not block
    with holder._store.writing() as connection:
        connection.exec_driver_sql("SELECT 1 FROM tacit_head FOR UPDATE")
        monkeypatch.setattr(storage, "WAIT", 0.1)
        with pytest.raises(LedgerError, match="locked by another program"):
            ledger.charge(ask())
        assert ledger.spent.loss == Fraction(1, 10)


def test_who_stops_in_the_middle_of_a_charge_does_not_hold_others_up_for_ever(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = sites("postgresql")
    ledger, stuck = site.open(), site.open()
    monkeypatch.setattr(storage, "WAIT", 0.2)
    with pytest.raises(LedgerError, match="ended the connection"), stuck._store.writing() as connection:  # noqa: PT012
        connection.exec_driver_sql("SELECT 1 FROM tacit_head FOR UPDATE")
        sleep(0.3)  # its lock has timed out by now
        connection.exec_driver_sql("SELECT 1")
    assert ledger.charge(ask()).number == 1


# --- servers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@127.0.0.1:1/clinic",
        "postgresql://ann:hunter2@no-such-host.invalid/clinic",
        "postgres://ann:hunter2@127.0.0.1:1/clinic?sslmode=disable",
        "postgresql+psycopg:///clinic?host=/no/such/folder&password=hunter2&user=ann",
    ],
)
def test_a_server_that_cannot_be_reached_and_a_password_that_is_not_told(url: str) -> None:
    said = fails(url, "could not be reached")
    for secret in ("hunter2", "ann", "clinic", "127"):
        assert secret not in said


def test_a_database_or_user_that_is_not_there(server: str) -> None:
    url = make_url(server)
    fails(url.set(database="none").render_as_string(hide_password=False), "could not be reached")
    said = fails(url.set(username="ann").render_as_string(hide_password=False), "could not be reached")
    assert "user and password" in said


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:hunter2@host/db",
        "postgresql+asyncpg://ann:hunter2@host/db",
        "postgresql://ann:hunter2@host:port/db",
        "sqlite:///hunter2.db",
        "hunter2 ://x",
        "://hunter2",
        "https://ann:hunter2@host/x.ledger",
    ],
)
def test_a_url_of_another_kind_is_refused_without_what_it_holds(url: str) -> None:
    with pytest.raises(InvalidError, match="path of a file, or a postgresql://") as caught:
        open_ledger(url, ONE, "add/remove")
    assert "hunter2" not in str(caught.value)


def test_a_user_who_may_not_write(sites: Sites) -> None:
    site = sites("database")
    site.open()
    name = f"r{make_url(site.location).database}"
    site.run(f"CREATE ROLE {name} LOGIN")
    reader = make_url(site.location).set(username=name).render_as_string(hide_password=False)
    try:
        fails(reader, "not accessible to this user")
        site.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
        fails(reader, "not accessible to this user")
        looking = read_ledger(reader)
        assert verify(looking).holds
        looking.close()
    finally:
        site.run(f"DROP OWNED BY {name}")
        site.run(f"DROP ROLE {name}")


def test_the_least_leave_that_makes_records_append_only(sites: Sites) -> None:
    """The grants of docs/how-to/keep-a-ledger.md: enough to query, too little to change a record."""
    site = sites("database")
    site.open(analysts={"ann": ONE})
    name = f"r{make_url(site.location).database}"
    page = Path(__file__).parents[2] / "docs" / "how-to" / "keep-a-ledger.md"
    grants = [line.strip() for line in page.read_text().splitlines() if line.strip().startswith("GRANT")]
    assert len(grants) == 4
    site.run(f"CREATE ROLE {name} LOGIN")
    for grant in grants:
        site.run(grant.replace("asking", name))
    asker = Site(make_url(site.location).set(username=name).render_as_string(hide_password=False))
    try:
        ledger = asker.open(analysts={"ann": ONE}, version="v1")
        ledger.finish(ledger.charge(ask(digest="a", key="k")).number, "answered", "7")
        assert ledger.charge(ask(digest="a", key="k")).answer == "7"
        assert verify(ledger).holds
        for change in ("UPDATE tacit_records SET body = body", "DELETE FROM tacit_records", "TRUNCATE tacit_records"):
            with pytest.raises(Exception, match="permission denied"):
                asker.run(change)
    finally:
        asker.close()
        site.run(f"DROP OWNED BY {name}")
        site.run(f"DROP ROLE {name}")


# --- what it says -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "why"),
    [(1, "corrupt"), (FORMAT + 1, "newer version of tacit.*Install"), (99, "newer version of tacit")],
)
def test_one_of_another_format(site: Site, version: int, why: str) -> None:
    ledger = site.open()
    site.run("UPDATE tacit_head SET format = :version", version=version)
    fails(site.location, why)
    for use in (lambda: ledger.charge(ask()), lambda: ledger.spent, lambda: read_ledger(site.location)):
        with pytest.raises(LedgerError, match=why):
            use()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("loss", text) for text in ("", "nan", "-1", "1/0", "inf", "x")),
        *(("delta", text) for text in ("-1/2", "x")),
        *(("budget", text) for text in ("", "{}", "[]", '{"currency":"gdp","loss":"1","delta":"0"}')),
        ("neighbours", "none"),
        ("policy", "{"),
        ("time", "yesterday"),
    ],
)
def test_a_head_that_makes_no_sense(site: Site, column: str, value: str) -> None:
    ledger = site.open()
    site.run(f"UPDATE tacit_head SET {column} = :value", value=value)  # noqa: S608 - our own names
    fails(site.location, "is corrupt")
    with pytest.raises(LedgerError, match="is corrupt"):
        ledger.charge(ask())
    assert site.run("SELECT count(*) FROM tacit_records") == [(1,)]


def test_an_analyst_whose_total_makes_no_sense(site: Site) -> None:
    ledger = site.open()
    ledger.charge(ask(analyst="ann"))
    site.run("UPDATE tacit_analysts SET loss = 'nan'")
    with pytest.raises(LedgerError, match="is corrupt"):
        ledger.charge(ask(analyst="ann"))


OTHERS: list[tuple[Budget, Neighbours, str]] = [
    (PureDP(epsilon=2), "add/remove", "accept it"),
    (PureDP(epsilon=0.5), "add/remove", "accept it"),
    (PureDP(epsilon=0.3), "add/remove", "below what is already spent"),
    (ApproxDP(epsilon=1, delta=1e-6), "add/remove", "accept it"),
    (ZCDP(rho=1), "add/remove", "another currency"),
    (ApproxZCDP(rho=1, delta=1e-6), "add/remove", "another currency"),
    (ONE, "change one", "cannot be changed"),
]


@pytest.mark.parametrize(("budget", "neighbours", "why"), OTHERS)
def test_another_budget_or_relation(site: Site, budget: Budget, neighbours: Neighbours, why: str) -> None:
    ledger = site.open()
    ledger.charge(ask("0.4"))
    before = ledger.records()
    with pytest.raises(RefusedError, match=why) as caught:
        site.open(budget, neighbours)
    assert caught.value.unspent
    if why != "accept it":
        with pytest.raises(RefusedError, match=why):
            site.open(budget, neighbours, accept=True)
        assert ledger.records() == before
    else:
        assert site.open(budget, neighbours, accept=True).budget == budget
        assert [one.kind for one in ledger.records()[len(before) :]] == ["budget"]
    assert site.run("SELECT loss FROM tacit_head") == [("2/5",)]
    assert verify(ledger).holds


@pytest.mark.parametrize("budget", [GaussianDP(mu=1), RenyiDP(alpha=2, epsilon=1)])
def test_a_budget_that_no_ledger_keeps(folder: Path, budget: Budget) -> None:
    with pytest.raises(InvalidError, match="budget"):
        open_ledger(folder / "x.ledger", budget, "add/remove")
    assert not (folder / "x.ledger").exists()


def test_a_lower_budget_that_still_holds_what_is_spent(site: Site) -> None:
    ledger = site.open()
    ledger.charge(ask("0.4"))
    site.open(PureDP(epsilon=0.4), accept=True)
    with pytest.raises(BudgetError):
        ledger.charge(ask("1e-9"))


# --- clocks, names, amounts, policies ---------------------------------------------------------------------------


def test_a_clock_that_was_set_back(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, now = site.open(), datetime.now(UTC)
    number = ledger.charge(ask()).number
    last = ledger.entries()[0].time
    monkeypatch.setattr(changes, "clock", lambda: now - timedelta(minutes=4))  # within the tolerance
    ledger.charge(ask())
    assert [one.time for one in ledger.entries()] == [last, last]
    monkeypatch.setattr(changes, "clock", lambda: now - timedelta(days=400))
    with pytest.raises(LedgerError, match=r"clock of this machine shows 20.*Correct the clock.*Nothing was spent\."):
        ledger.charge(ask())
    fails(site.location, "clock")
    ledger.finish(number, "answered")  # a charge can still be finished
    assert ledger.spent.loss == Fraction(2, 10)
    assert verify(ledger).holds


def test_a_clock_that_jumps_after_the_charge_does_not_lose_the_outcome(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, now = site.open(), datetime.now(UTC)
    for jump in (timedelta(days=-400), timedelta(days=400)):
        ticket = ledger.charge(ask("0.1"))
        monkeypatch.setattr(changes, "clock", lambda jump=jump: now + jump)
        ledger.finish(ticket.number, "answered")
        monkeypatch.undo()
    assert [entry.outcome for entry in ledger.entries()] == ["answered"] * 2
    times = [record.fields["time"] for record in ledger.records()]
    assert times == sorted(times)
    assert verify(ledger).holds
    with pytest.raises(LedgerError, match="clock"):  # the last record is in the future now
        ledger.charge(ask("0.1"))
    site.open(accept=True).charge(ask("0.1"))


def test_a_clock_that_was_ahead_once_does_not_lock_the_ledger_for_years(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "clock", lambda: datetime(2099, 1, 1, tzinfo=UTC))
    site.open().charge(ask())
    monkeypatch.undo()
    fails(site.location, "clock")
    ledger = site.open(accept=True)
    assert ledger.charge(ask()).number == 3
    assert ledger.entries()[-1].time < "2099"
    assert verify(ledger).holds


NAMES = ["a\nb", "a\tb", "\x1b[2J", "a\0", "a" * 201, "\ud800", " ann", "ann ", "\u202eann", "a\u200bb", 7, None]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_could_deceive(site: Site, name: str) -> None:
    ledger = site.open()
    for use in (
        lambda: ask(analyst=name),
        lambda: site.open(analysts={name: ONE}),
        lambda: ledger.set_limit(name, ONE),
        lambda: ledger.spent_by(name),
        lambda: ledger.limit_of(name),
    ):
        with pytest.raises(InvalidError, match="analyst must be a name") as caught:
            use()
        assert "\x1b" not in str(caught.value)
    if name is not None:
        with pytest.raises(InvalidError, match="request"):
            ask(digest="a", key=name)
    assert len(ledger.records()) == 1


def test_a_question_that_nothing_stands_for_cannot_be_repeated() -> None:
    for more in ({"repeats": True}, {"key": "mine"}):
        with pytest.raises(InvalidError, match="digest"):
            ask(**more)
    with pytest.raises(InvalidError, match="request"):
        ask(digest="a", key="")


@pytest.mark.parametrize("amount", [float("nan"), -0.1, float("inf"), 0, "0.1", None, True])
def test_amounts_that_are_none(site: Site, amount: float) -> None:
    ledger = site.open()
    for make in (
        lambda: PureRelease(epsilon=amount),  # type: ignore[arg-type]
        lambda: ApproxRelease(epsilon=Fraction(1), delta=amount),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidError):
            ledger.charge(Request(question="q", events=(make(),)))
    if amount != 0:
        with pytest.raises(InvalidError):
            site.open(PureDP(epsilon=amount))
        with pytest.raises(InvalidError):
            ledger.set_limit("ann", PureDP(epsilon=amount))
    assert len(ledger.records()) == 1


VISITS = Promise(unit="patient", neighbours="add/remove", bounds={"cost": "0 to 100"})
POLICY = {"visits": VISITS}
WARDS = Promise(unit="patient", neighbours="add/remove")


def test_bounds_that_changed_must_be_accepted_once_something_is_spent(site: Site) -> None:
    wider = {"visits": replace(VISITS, bounds={"cost": "0 to 200"})}
    site.open(policies=POLICY)
    ledger = site.open(policies=wider)  # nothing is spent yet
    ledger.charge(ask())
    with pytest.raises(RefusedError, match=r"bounds\.cost of visits: 0 to 200 became 0 to 100.*Nothing was spent"):
        site.open(policies=POLICY)
    none = {"visits": replace(VISITS, bounds={})}
    with pytest.raises(RefusedError, match="0 to 200 became none"):
        site.open(policies=none)
    before = len(ledger.records())
    site.open(policies=POLICY, accept=True)
    site.open(policies=POLICY)
    site.open(policies={**POLICY, "wards": WARDS})  # a new table does not count as a change
    site.open(policies={"wards": WARDS})
    assert [one.kind for one in ledger.records()[before:]] == ["policy", "policy"]
    with pytest.raises(RefusedError):
        site.open(policies=wider)  # the ledger keeps tables that a policy leaves out
    assert verify(ledger).holds


OTHER_UNITS = ({"unit": "another"}, {"unit": None}, {"unit": "each row"}, {"unit": ""}, {"neighbours": "change one"})


@pytest.mark.parametrize("changed", OTHER_UNITS, ids=str)
def test_whose_privacy_it_is_never_changes(site: Site, changed: dict[str, Any]) -> None:
    ledger = site.open(policies=POLICY)
    ledger.charge(ask())
    before = ledger.records()
    other = {"visits": replace(VISITS, **changed)}
    for accept in (False, True):
        with pytest.raises(RefusedError, match="can never change"):
            site.open(PureDP(epsilon=1 + accept), policies=other, accept=accept)
    assert ledger.records() == before  # not even the budget that was accepted in the same call


def test_a_ledger_that_is_begun_and_refused_at_once_is_not_begun(site: Site) -> None:
    with pytest.raises(InvalidError):
        site.open(analysts={"a\n": ONE})
    with pytest.raises(LedgerError, match="does not exist yet"):
        read_ledger(site.location)
    assert site.open(PureDP(epsilon=3)).budget == PureDP(epsilon=3)
