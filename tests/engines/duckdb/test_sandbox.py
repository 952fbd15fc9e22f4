"""The process that runs outer queries: what it computes, and what it cannot reach, attacked directly."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pytest

from tacit.engines.duckdb import sandbox as sandbox_module
from tacit.engines.duckdb.sandbox import Sandbox, SandboxError, SharedSandbox
from tacit.query.expressions import Kind
from tacit.query.results.outer_tables import OuterTable

TABLE = OuterTable("t", (("g", "text"), ("n", "integer")), (("a", "b"), (3, 4)))
SECONDS = 1.0


@pytest.fixture(scope="module")
def shared() -> Iterator[SharedSandbox]:
    made = SharedSandbox()
    yield made
    made.close()


@pytest.fixture
def sandbox(shared: SharedSandbox) -> Iterator[Sandbox]:
    with shared.use() as opened:
        opened.open([TABLE])
        yield opened


def test_a_query_returns_values_of_every_kind(sandbox: Sandbox) -> None:
    values = ("a'\"\\\n", None), (2**62, None), (1.5, None), (True, None)
    days = (date(2026, 1, 2), None), (datetime(2026, 1, 2, 3, 4, 5), None)  # noqa: DTZ001 - local times
    kinds: tuple[Kind, ...] = ("text", "integer", "real", "boolean", "date", "timestamp")
    sandbox.open([OuterTable('a"b', tuple((f"c {kind}", kind) for kind in kinds), (*values, *days))])
    found = sandbox.run('SELECT * FROM "a""b"')
    assert found.kinds == kinds
    assert found.columns == (*values, *days)


def test_numbers_of_other_types_are_integers_and_reals(sandbox: Sandbox) -> None:
    found = sandbox.run(
        "SELECT sum(n) AS h, 1.5 AS d, 1::FLOAT AS f, n::UTINYINT AS u, n / 0 AS z FROM t GROUP BY n ORDER BY n"
    )
    assert found.kinds == ("integer", "real", "real", "integer", "real")
    assert found.rows() == [(3, 1.5, 1.0, 3, None), (4, 1.5, 1.0, 4, None)]


def test_an_integer_beyond_64_bits_is_clipped(sandbox: Sandbox) -> None:
    sandbox.open([OuterTable("t", (("n", "integer"),), ((2**70, -(2**70)),))])
    assert sandbox.run("SELECT n FROM t").rows() == [(2**63 - 1,), (-(2**63),)]


def test_values_that_python_cannot_hold_are_clipped(sandbox: Sandbox) -> None:
    digits = "1" + "0" * 45
    found = sandbox.run(
        f"SELECT DATE '9999-12-31' + 9 AS late, DATE '0001-01-01' - 9 AS early, "
        f"TIMESTAMP '9999-12-31 00:00:00' + INTERVAL 9 DAY AS moment, n::BIGNUM AS small, "
        f"'{digits}'::BIGNUM AS large, '-{digits}'::BIGNUM AS low FROM t ORDER BY n LIMIT 1"
    )
    most = 2**127 - 1
    assert found.rows() == [(date.max, date.min, datetime.max, 3, most, -most)]  # noqa: DTZ901 - local times
    assert found.to_arrow()["large"].to_pylist() == [2**63 - 1]
    assert len(found.to_pandas()) == 1


FILES = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM read_parquet('http://127.0.0.1/x.parquet')",
    "SELECT * FROM read_csv('https://127.0.0.1/x')",
    "COPY t TO '{path}'",
    "EXPORT DATABASE '{path}'",
    "ATTACH '{path}'",
    "CREATE SECRET (TYPE s3)",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{path}'",
    "SET memory_limit = '100GB'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET lock_configuration",
    "PRAGMA threads = 8",
    "SET threads TO 8",
    "SET temp_directory = '{path}'",
    "SELECT getenv('HOME')",
]


@pytest.mark.parametrize("sql", FILES)
def test_no_file_network_setting_or_extension_is_reached(sandbox: Sandbox, sql: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(SandboxError):
        sandbox.run(sql.format(path=path))
    assert not path.exists()
    assert sandbox.run("SELECT sum(n) FROM t").rows() == [(7,)]


def test_variables_of_python_and_of_the_environment_are_not_reached(sandbox: Sandbox) -> None:
    table = {"x": [1]}
    del table
    for name in ("table", "TABLE", "request", "database", "sys", "json"):
        with pytest.raises(SandboxError):
            sandbox.run(f"SELECT * FROM {name}")
    if Path("/proc").exists():
        environment = Path(f"/proc/{sandbox._process.pid}/environ").read_bytes()
        assert environment.replace(b"\0", b"") == b""
        assert os.environ


BOMBS = [
    "SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b",
    "WITH RECURSIVE c AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c",
    "SELECT * FROM range(10000000000)",
    "SELECT length(repeat('x', 4000000000))",
    "SELECT length(string_agg(repeat('x', 1000000), '')) FROM range(10000)",
    "SELECT length(list(range)) FROM range(1000000000)",
    "WITH c0 AS (SELECT 'xxxxxxxx' AS s), "
    + ", ".join(f"c{i} AS (SELECT s || s AS s FROM c{i - 1})" for i in range(1, 36))
    + " SELECT length(s) FROM c35",
    "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT " + " + ".join(["1"] * 5000),
]


@pytest.mark.parametrize("sql", BOMBS)
def test_endless_and_huge_queries_end_with_an_error(shared: SharedSandbox, sql: str) -> None:
    with shared.use() as sandbox:
        sandbox.open([TABLE])
        with pytest.raises(SandboxError):
            sandbox.run(sql, SECONDS)
    with shared.use() as sandbox:
        sandbox.open([TABLE])
        assert sandbox.run("SELECT sum(n) FROM t").rows() == [(7,)]


def test_a_process_that_does_not_answer_is_killed(shared: SharedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "_GRACE", -SECONDS + 0.2)
    with shared.use() as sandbox:
        sandbox.open([TABLE])
        with pytest.raises(SandboxError, match="took more than"):
            sandbox.run(BOMBS[0], SECONDS)
    assert not sandbox.alive
    with shared.use() as again:
        assert again is not sandbox
        assert again.alive


def test_an_error_names_the_time_that_the_statement_had(shared: SharedSandbox) -> None:
    with shared.use() as sandbox:
        sandbox.open([TABLE])
        with pytest.raises(SandboxError, match=r"took more than 0\.25 seconds"):
            sandbox.run(BOMBS[0], 0.25)


def test_a_process_near_its_limit_of_time_is_replaced(shared: SharedSandbox) -> None:
    with shared.use() as first:
        first.open([TABLE])
        assert 0 < first._busy < sandbox_module._CPU_SECONDS / 2
    with shared.use() as second:
        assert second is first
        first._busy += sandbox_module._CPU_SECONDS / 2
    with shared.use() as third:
        assert third is not first
        assert not first.alive


def test_the_process_has_limits(sandbox: Sandbox) -> None:
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("this system does not show the limits of another process")
    pid = sandbox._process.pid
    assert resource.prlimit(pid, resource.RLIMIT_FSIZE) == (0, 0)
    assert 0 < resource.prlimit(pid, resource.RLIMIT_AS)[0] <= 2**31
    assert 0 < resource.prlimit(pid, resource.RLIMIT_CPU)[0] <= 600


def test_types_that_an_answer_cannot_have_are_errors(sandbox: Sandbox) -> None:
    for item in ("[1, 2]", "{'a': 1}", "'a'::BLOB", "INTERVAL 1 DAY"):
        with pytest.raises(SandboxError, match="an answer cannot have"):
            sandbox.run(f"SELECT {item} AS x FROM t")


def test_a_result_that_is_too_large_is_an_error(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError):
        sandbox.run("SELECT repeat('x', 100000000) AS x FROM t")


def test_a_process_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(SandboxError, match="could not be started"):
        Sandbox()


def test_draws_are_the_results_of_each_table(sandbox: Sandbox) -> None:
    drawn = OuterTable("t", (("g", "text"), ("n", "integer")), (["a", "b"] * 3, [1, 3, 2, 2, 0, 5]), [0, 0, 1, 1, 2, 2])
    expected = [[("a", 0.25), ("b", 0.75)], [("a", 0.5), ("b", 0.5)], [("a", 0.0), ("b", 1.0)]]
    for sql in (
        "SELECT g, n / sum(n) OVER () AS s FROM t",
        "WITH c AS (SELECT * FROM t) SELECT g, n / (SELECT sum(n) FROM c) AS s FROM c ORDER BY n DESC",
    ):
        sandbox.open([drawn])
        assert [sorted(rows) for rows in sandbox.run_draws(sql, 3, SECONDS * 10)] == expected
    sandbox.open([drawn])
    assert sandbox.run_draws("PIVOT t ON g USING sum(n)", 3, SECONDS * 10) == [[(1, 3)], [(2, 2)], [(0, 5)]]


def test_draws_end_when_their_time_has_passed(sandbox: Sandbox) -> None:
    drawn = OuterTable("t", (("g", "text"), ("n", "integer")), (["a"] * 5000, [1] * 5000), list(range(5000)))
    sandbox.open([drawn])
    assert 0 < len(sandbox.run_draws("PIVOT t ON g USING sum(n)", 5000, SECONDS)) < 5000


def test_an_interrupt_ends_the_process_so_that_no_later_request_reads_its_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = SharedSandbox()
    with made.use() as first:
        first.open([TABLE])
        with monkeypatch.context() as patch:
            patch.setattr(first._replies, "get", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                first.run("SELECT 1 AS old")
        assert not first.alive
        with pytest.raises(SandboxError, match="its process ended"):
            first.run("SELECT 2 AS new")
    with made.use() as second:
        assert second is not first
        second.open([TABLE])
        assert second.run("SELECT 2 AS new").rows() == [(2,)]
    made.close()


def _interrupt(**_: object) -> str:
    raise KeyboardInterrupt


def test_a_reply_to_another_request_is_never_returned() -> None:
    with Sandbox() as sandbox:
        sandbox.open([TABLE])
        sandbox._replies.put('{"columns": [["n", "integer", "BIGINT"]], "rows": [[7]], "number": 1}\n')
        with pytest.raises(SandboxError, match="another request"):
            sandbox.run("SELECT 2 AS n")
        assert not sandbox.alive


def test_a_query_without_tables_is_an_error() -> None:
    with Sandbox() as sandbox, pytest.raises(SandboxError, match="no tables are open"):
        sandbox.run("SELECT 1 AS n")
