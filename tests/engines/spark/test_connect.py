"""A Spark Connect server: the same sources and the same integers as in a session, and a server that goes away."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pyspark
import pytest

import tacit as tc
from contract.plans import key, plan, table
from spark_session import LIGHT_JAVA
from tacit.charging import SOURCE_FAILED
from tacit.database import Database
from tacit.engines.source import Source
from tacit.engines.spark import sessions
from tacit.engines.spark.availability import LOST
from tacit.engines.spark.engine import NOT_READY, open_spark, open_spark_tables
from tacit.engines.spark.python_workers import check_python, needs_python
from tacit.errors import (
    NOTHING_SPENT,
    InvalidError,
    MissingDriverError,
    NoSourceError,
    SourceError,
    TimeLimitError,
)
from tacit.query.expressions import Column, Kind
from tacit.query.plan import Measure, Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS: dict[str, Kind] = {"id": "integer", "ward": "text", "cost": "real"}
MAKE = """CREATE TABLE visits USING parquet AS SELECT * FROM VALUES
    (1, 'A', 1.0D), (1, 'B', 2.5D), (2, 'A', NULL), (3, NULL, 4.0D) AS t(id, ward, cost)"""
ANSWER = [[2, 1], [1, 3]]
STARTED, PATIENCE = 90, 90


def question() -> Plan:
    cost = Measure(value=Column("cost", "real"), low=0, high=9)
    keys = [key(Column("ward", "text"), "A", "B")]
    return plan(table(unit="id", groups=2, kinds=KINDS), Measure(value=None), cost, keys=keys)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def server(folder: Path, port: int | None = None) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a server on this machine; give its URL and its process, and stop it at the end."""
    home, port = Path(pyspark.__file__).parent, free_port() if port is None else port
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} {LIGHT_JAVA}",
    }
    said = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    main = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]"]
    environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(  # noqa: S603 - our own words
        [str(home / "bin" / "spark-submit"), *main, *said],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait_for(port, process)
            yield f"sc://127.0.0.1:{port}", process
        finally:
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(STARTED * 10):
        assert process.poll() is None, "the server ended"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            sleep(0.1)
        else:
            return
    pytest.fail("the server did not start")


@dataclass
class Servers:
    """One server for all tests, and another when a test has killed it; each takes ten seconds to start."""

    folders: pytest.TempPathFactory
    started: ExitStack
    running: tuple[str, subprocess.Popen[bytes]] | None = None

    def get(self) -> tuple[str, subprocess.Popen[bytes]]:
        """Return the URL of a server that runs, and its process."""
        if self.running is None or self.running[1].poll() is not None:
            self.running = self.started.enter_context(server(self.folders.mktemp("connect")))
            session_on(self.running[0]).sql(MAKE)
        return self.running


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(tmp_path_factory, stack)


@pytest.fixture
def url(servers: Servers) -> str:
    return servers.get()[0]


def session_on(url: str) -> SparkSession:
    """Return a session of a user's own."""
    from pyspark.sql.connect.session import SparkSession as Remote  # noqa: PLC0415 - an extra

    return Remote(connection=url)  # type: ignore[return-value] # the same by its methods


@pytest.mark.parametrize("kind", ["url", "session", "frame"])
def test_every_source_gives_the_same_integers_and_the_session_stays_as_it_was(url: str, kind: str) -> None:
    theirs = session_on(url)
    theirs.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    sources: dict[str, tuple[object, str | None]] = {
        "url": (url, "visits"),
        "session": (theirs, "visits"),
        "frame": (theirs.table("visits"), None),
    }
    source, name = sources[kind]
    opened = open_spark(source, table=name)
    try:
        assert opened.schema() == {**KINDS}
        assert opened.measure(question()) == ANSWER
        assert opened.measure(question()) == ANSWER
    finally:
        opened.close()
    assert theirs.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert [one.name for one in theirs.catalog.listTables()] == ["visits"]


def test_a_question_with_a_public_table_is_answered(url: str) -> None:
    session = session_on(url)
    regions = session.createDataFrame([("A", "ground"), ("B", "first")], "ward string, floor string")
    opened = open_spark_tables(
        {"visits": Source(source=url, table="visits"), "floors": Source(source=regions, public=True)}
    )
    try:
        assert opened.public("floors", {"ward": "text", "floor": "text"}).columns["floor"].keys == ("first", "ground")
    finally:
        opened.close()


def test_a_table_that_is_not_there_is_told_beside_those_that_are(url: str) -> None:
    with pytest.raises(InvalidError, match="The tables are 'visits'"):
        open_spark(url, table="visit")
    with pytest.raises(NoSourceError, match="session_id"):
        open_spark(f"{url}/;session_id=5f2b1bd2-0000-4000-8000-000000000000", table="visits")


def opened_on(source: object, table: str | None = None, timeout: float | None = None) -> Database:
    return tc.open(
        source,
        name="visits",
        table=table,
        unit="id",
        max_groups=2,
        max_rows=2,
        keys={"ward": ["A", "B"]},
        budget=tc.PureDP(epsilon=100),
        timeout=timeout,
    )


ASKED = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"


def test_reports_that_no_query_gives_are_a_failure_that_says_nothing_of_it(url: str) -> None:
    total = tc.local.GRR(domain=range(3), epsilon=1).aggregator()
    with pytest.raises(SourceError, match="Nothing was added") as caught:
        total.add_spark(session_on(url).sql("SELECT 1 AS hunter2").select("hunter3"))
    assert caught.value.__context__ is None
    assert "hunter" not in str(caught.value)


GIVING_UP = """
import sys
import tacit as tc
from tacit.engines.spark.engine import open_spark
from tacit.charging import SOURCE_FAILED
opened = open_spark(sys.argv[1], table="visits")
print("opened", flush=True)
sys.stdin.readline()
try:
    opened._ours.sql("SELECT count(*) FROM visits").collect()
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.long
def test_giving_up_on_a_server_writes_nothing_to_standard_error(tmp_path: Path) -> None:
    with server(tmp_path) as (where, process):
        session_on(where).sql(MAKE)
        words = [sys.executable, "-c", GIVING_UP, where]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as asking:  # noqa: S603 - our own
            assert asking.stdout is not None
            assert asking.stdout.readline() == "opened\n"
            process.kill()
            process.wait()
            said, trouble = asking.communicate("go\n", timeout=PATIENCE)
    assert "Exception" in said or "Error" in said
    assert trouble == ""


def test_without_its_packages_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "find_spec", lambda name: None if name == "grpc" else object())
    with pytest.raises(MissingDriverError, match=r"pip install 'tacit\[spark\]'"):
        open_spark("sc://127.0.0.1:1", table="visits")


@pytest.mark.long
def test_a_server_that_was_restarted_is_noticed_before_the_charge(tmp_path: Path) -> None:
    port = free_port()
    with server(tmp_path, port) as (where, process):
        session_on(where).sql(MAKE)
        theirs = session_on(where)
        databases = {
            "url": opened_on(where, "visits"),
            "session": opened_on(theirs, "visits"),
            "frame": opened_on(theirs.table("visits")),
        }
        for db in databases.values():
            assert len(db.sql(ASKED, epsilon=1)) == 2
        process.kill()
        process.wait()
    with server(tmp_path, port) as (where, _):  # the same address, and none of the sessions
        for db in databases.values():
            for _ in range(2):  # PySpark marks the session as closed after the first error
                with pytest.raises(SourceError) as caught:
                    db.sql(ASKED, epsilon=1)
                assert caught.value.message == LOST
                assert caught.value.__context__ is None
                assert str(caught.value).endswith(NOTHING_SPENT)
                assert db.spent == tc.PureDP(epsilon=1)
            db.close()
        if not list((tmp_path / "warehouse").glob("visits")):
            pytest.fail("the table is gone, so nothing is shown")


def test_a_frame_with_a_python_function_is_recognised_and_the_workers_run_it(url: str) -> None:
    session = session_on(url)
    numbers = session.range(3)
    called = numbers.mapInPandas(lambda frames: frames, "id bigint")
    assert (needs_python(numbers), needs_python(called)) == (False, True)
    check_python(session, [called])


def test_a_session_that_the_server_ended_is_noticed_before_the_charge(url: str) -> None:
    theirs = session_on(url)
    db, named = opened_on(theirs.table("visits")), opened_on(theirs, "visits")
    assert len(db.sql(ASKED, epsilon=1)) == 2
    theirs._client.release_session()  # type: ignore[attr-defined] # as the server does if nobody uses it for an hour
    assert len(db.sql(ASKED, epsilon=1)) == 2  # its view is in a session of tacit, which the server has
    with pytest.raises(SourceError) as caught:
        named.sql(ASKED, epsilon=1)
    assert (caught.value.message, caught.value.unspent) == (LOST, True)
    assert named.spent == tc.PureDP(epsilon=0)


def test_a_statement_is_stopped_at_its_time_limit_and_stays_charged(url: str) -> None:
    endless = session_on(url).sql("SELECT id, 'A' AS ward FROM range(4000000000000)")
    db = opened_on(endless, timeout=2)
    start = monotonic()
    with pytest.raises(TimeLimitError) as caught:
        db.sql(ASKED, epsilon=1)
    assert monotonic() - start < PATIENCE
    assert str(caught.value) == str(TimeLimitError(2, charged=True))
    assert db.spent == tc.PureDP(epsilon=1)
    db.close()


def test_a_table_that_was_dropped_is_noticed_before_the_charge(url: str) -> None:
    theirs = session_on(url)
    theirs.sql("CREATE TABLE gone USING parquet AS SELECT * FROM visits")
    db = opened_on(theirs, "gone")
    theirs.sql("DROP TABLE gone")
    with pytest.raises(SourceError) as caught:
        db.sql(ASKED, epsilon=1)
    assert (caught.value.message, caught.value.unspent) == (NOT_READY, True)


def test_a_server_that_is_killed_fails_a_question_and_the_charge_is_kept(servers: Servers) -> None:
    where, process = servers.get()
    db = opened_on(where, table="visits")
    assert [ward for ward, _ in db.sql(ASKED, epsilon=1).rows()] == ["A", "B"]
    reports = session_on(where).sql("SELECT X'00' AS report, X'00' AS parameters")
    endless = opened_on(session_on(where).sql("SELECT id, 'A' AS ward FROM range(4000000000000)"))
    Timer(2, process.kill).start()
    start = monotonic()
    with pytest.raises(SourceError) as caught:
        endless.sql(ASKED, epsilon=1)
    assert monotonic() - start < PATIENCE
    assert caught.value.message == SOURCE_FAILED
    assert endless.spent == tc.PureDP(epsilon=1)
    process.wait()
    for gone in (db, endless):
        with pytest.raises(SourceError) as caught:
            gone.sql(ASKED, epsilon=1)
        assert caught.value.message == sessions.NOT_REACHED
        assert gone.spent == tc.PureDP(epsilon=1)  # the second was not charged: the server was known to be gone
        gone.close()
    total = tc.local.GRR(domain=range(3), epsilon=1).aggregator()
    with pytest.raises(SourceError) as caught:
        total.add_spark(reports)
    assert caught.value.message == sessions.NOT_REACHED
    assert (caught.value.__context__, total.n) == (None, 0)
    assert monotonic() - start < 2 * PATIENCE
