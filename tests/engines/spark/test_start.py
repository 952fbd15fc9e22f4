"""Spark as tacit starts it itself: nothing on standard error that is not ours, and nothing left in the folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_session import LIGHT_JAVA
from tacit import opening
from tacit.engines.spark import sessions, start, start_options
from tacit.errors import InvalidError, MissingPackageError
from tacit.guarantees import PureDP
from tacit.query.policy import ROW
from tacit.query.policy.engine_settings import EngineSettings

POLICY = """
ledger = "visits.ledger"
budget = { epsilon = 10 }

[tables.visits]
source = "spark:visits.parquet"
unit = "id"
max_groups = 2
max_rows = 2

[tables.visits.columns]
ward = { keys = ["A", "B"] }
"""
GOOD = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
MADE = {"visits.toml", "visits.parquet", "visits.ledger"}
UNSAID = ("JAVA_HOME", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_REMOTE")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path)


def filled(place: Path) -> Path:
    """Make a folder with a table and its policy, and a folder beside it for temporary files."""
    made = place / "work"
    for one in (made, place / "temporary"):
        one.mkdir()
    pq.write_table(pa.table({"id": [1, 1, 2, 3], "ward": ["A", "B", "A", None]}), made / "visits.parquet")
    (made / "visits.toml").write_text(POLICY, encoding="utf-8")
    return made


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a separate process, and return its standard error with that of its children."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSAID}
    return subprocess.run(  # noqa: S603 - our own words
        [sys.executable, *words],
        cwd=folder,
        env={**kept, "TMPDIR": str(folder.parent / "temporary"), "SPARK_SUBMIT_OPTS": LIGHT_JAVA, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def tacit(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "-c", "from tacit.cli import main; main()", *words, **environment)


def left(folder: Path) -> list[str]:
    """Return what tacit left among what is temporary; Java clears up its own a moment after."""
    return [one.name for one in (folder.parent / "temporary").iterdir() if one.name.startswith("tacit-")]


def test_an_error_is_one_object_and_nothing_is_left_behind(folder: Path) -> None:
    asked = ("SELECT nope, count(*) FROM visits GROUP BY nope", "--epsilon", "1", "--yes", "--json")
    wrong = tacit(folder, "query", "visits.toml", *asked)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert json.loads(wrong.stderr)["error"]["kind"] == "InvalidError"
    assert "nope" in json.loads(wrong.stderr)["error"]["message"]
    assert {one.name for one in folder.iterdir()} <= MADE
    assert left(folder) == []


@pytest.mark.long
def test_an_answer_has_our_own_lines_alone(folder: Path) -> None:
    right = tacit(folder, "query", "visits.toml", GOOD, "--epsilon", "1", "--yes")
    assert right.returncode == 0
    created, spent = right.stderr.splitlines()
    assert "new ledger" in created
    assert spent == "Spent ε = 1; left ε = 9."
    missing = tacit(folder, "init", "spark:sales.visits")
    assert missing.returncode == 2
    assert "tacit started this session" in missing.stderr
    assert "SPARK_CONF_DIR" in missing.stderr
    assert len(missing.stderr.splitlines()) == 1
    assert {one.name for one in folder.iterdir()} == MADE
    assert left(folder) == []


def test_a_wrong_java_home_is_told_in_one_object_without_its_value(folder: Path) -> None:
    done = tacit(folder, "query", "visits.toml", GOOD, "--epsilon", "1", "--json", JAVA_HOME="/no/hunter2")
    assert done.returncode == 4
    message = json.loads(done.stderr)["error"]["message"]
    assert "JAVA_HOME is set, but there is no bin/java" in message
    assert "hunter2" not in done.stderr
    assert left(folder) == []


ON_A_TERMINAL: dict[tuple[str, ...], str] = {
    ("init", "spark:sales.visits"): "Starting Spark …\r\nError: Spark could not be started",
    ("plan", "visits.toml", GOOD, "--epsilon", "1"): "Starting Spark …\r\nError: tables.visits: Spark could not be",
    ("query", "visits.toml", GOOD, "--epsilon", "1"): "Starting Spark …\r\nError: tables.visits: Spark could not be",
    ("query", "visits.toml", GOOD, "--epsilon", "1", "--json"): '{"schema": 1, "error"',
    ("init", "sc://127.0.0.1:1", "--table", "visits"): "Error: The Spark Connect server could not be reached",
    ("init", "visits.csv"): "Error: ",
}
"""Commands, and what a terminal shows first."""

EACH_IN_A_CHILD = """
import json, os, pty, sys
import pyspark.sql  # each child would take a second for it
from tacit.cli import main

shown = []
for folder, words in json.loads(sys.argv[1]):
    terminal, other_end = pty.openpty()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(other_end, 2)
        sys.argv = ["tacit", *words]
        try:
            main()
        finally:
            sys.stderr.flush()
            os._exit(0)
    os.close(other_end)
    text = b""
    try:
        while part := os.read(terminal, 10_000):
            text += part
    except OSError:  # the child has closed the other end
        pass
    os.waitpid(child, 0)
    os.close(terminal)
    shown.append(text.decode())
print(json.dumps(shown))
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], str]:
    """The text that a terminal shows of each command where Java is missing; tacit is imported once for all of them."""
    cases = [(str(filled(tmp_path_factory.mktemp("terminal"))), words) for words in ON_A_TERMINAL]
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", EACH_IN_A_CHILD, json.dumps(cases)],
        env={**os.environ, "JAVA_HOME": "/no/such/java"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return dict(zip(ON_A_TERMINAL, json.loads(done.stdout), strict=True))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("words", "begins"), ON_A_TERMINAL.items())
def test_a_terminal_is_told_that_spark_is_being_started(
    words: tuple[str, ...], begins: str, shown: dict[tuple[str, ...], str]
) -> None:
    said = shown[words]
    assert said.startswith(begins)
    assert said.count("Starting") == begins.count("Starting")


SIZED = """
import sys
import tacit as tc
from tacit.errors import InvalidError, UnusedOptionError
from pyspark.sql import SparkSession
def opened(**settings):
    return tc.open("spark:visits.parquet", unit="id", reach=2, budget=tc.PureDP(epsilon=9), **settings)
try:
    opened(memory="64MB")
except InvalidError as error:
    print(error.message)
settings = {"memory": "700MiB", "threads": 1, "temporary": sys.argv[1]}
opened(**settings)
context = SparkSession.getActiveSession().sparkContext
print(context.master, context.getConf().get("spark.driver.memory"), context.getConf().get("spark.local.dir"))
print(context._jvm.java.lang.Runtime.getRuntime().maxMemory() // 2**20)
opened(**settings)  # the same settings apply to the Spark that runs
opened()
for other in ({"memory": "1GiB"}, {"threads": 2}, {"temporary": "."}):
    try:
        opened(**other)
    except UnusedOptionError as error:
        print(error.option)
"""


@pytest.mark.long
def test_a_spark_that_tacit_starts_has_the_settings(folder: Path) -> None:
    spill = folder.parent / "spill"
    spill.mkdir()
    done = run(folder, "-c", SIZED, str(spill))
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "memory must be at least 512MiB for Spark, not 64000000."
    assert lines[1] == f"local[1] 700m {spill}"
    assert 600 <= int(lines[2]) <= 700  # a collector of garbage may keep a part
    assert lines[3:] == ["memory", "threads", "temporary"]


def test_the_options_of_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in UNSAID:
        monkeypatch.delenv(name, raising=False)
    settings = EngineSettings(memory=2 * 2**30, threads=4, temporary=tmp_path)
    local = {"spark.driver.memory": "2048m", "spark.local.dir": str(tmp_path)}
    assert start_options.options_of(settings) == {**local, "spark.master": "local[4]"}
    assert start_options.options_of(EngineSettings()) == {}
    monkeypatch.setattr(start_options, "_runs_already", lambda: False)
    assert start_options.cannot_apply("threads", settings, ["spark:a"]) is None
    (tmp_path / "spark-defaults.conf").write_text("spark.master  yarn\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))  # the user's master stays
    assert start_options.options_of(settings) == local
    assert "spark.master" in str(start_options.cannot_apply("threads", settings, ["spark:a"]))
    assert start_options.cannot_apply("memory", settings, ["spark:a"]) is None
    assert start_options.cannot_apply("timeout", settings, ["sc://host"]) is None
    assert "spark.local.dir" in str(start_options.cannot_apply("temporary", settings, ["spark:a", "sc://host"]))
    with pytest.raises(InvalidError, match="does not exist"):
        start_options.options_of(EngineSettings(temporary=tmp_path / "missing"))


OWN = """
import os, threading
import tacit as tc
from tacit.errors import SourceError
from tacit.engines.spark.sessions import STOPPED
from tacit.engines.spark.start import active_session, is_started_here
from pyspark.sql import SparkSession
found = []
workers = [threading.Thread(target=lambda: found.append(active_session())) for _ in range(2)]
for worker in workers: worker.start()
for worker in workers: worker.join()
assert len(found) == 2 and all(map(is_started_here, found))
os.write(2, b"ours\\n")
found[0].sql("CREATE TABLE made AS SELECT 1 AS a")
assert active_session().conf.get("spark.sql.catalogImplementation") == "in-memory"
frame = found[0].range(3)
found[0].stop()
total = tc.local.GRR(domain=range(3), epsilon=1).aggregator()
try:
    total.add_spark(frame)
except SourceError as error:
    assert error.message == STOPPED and error.__context__ is None and total.n == 0
else:
    raise AssertionError("a stopped session was read")
theirs = SparkSession.builder.getOrCreate()
assert active_session() is theirs and not is_started_here(theirs)
assert theirs.conf.get("spark.sql.warehouse.dir").endswith("/work/spark-warehouse")
"""


@pytest.mark.long
def test_two_threads_start_one_session_and_standard_error_is_what_it_was(folder: Path) -> None:
    done = run(folder, "-c", OWN)
    assert (done.returncode, done.stderr.splitlines()[:1]) == (0, ["ours"]), done.stderr
    assert left(folder) == []


HIVE = """
from pyspark.sql import SparkSession
session = SparkSession.builder.getOrCreate()
session.sql("CREATE DATABASE sales")
session.sql("CREATE TABLE sales.visits USING parquet AS SELECT 1 AS id, 'A' AS ward")
"""


@pytest.mark.long
def test_a_catalog_that_somebody_configured_is_found_and_nothing_is_left_beside_it(folder: Path) -> None:
    settings, elsewhere = folder.parent / "conf", folder.parent / "elsewhere"
    for one in (settings, elsewhere):
        one.mkdir()
    lines = (
        "spark.sql.catalogImplementation hive",
        f"spark.sql.warehouse.dir {folder.parent}/warehouse",
        f"spark.hadoop.javax.jdo.option.ConnectionURL jdbc:derby:;databaseName={folder.parent}/metastore;create=true",
    )
    (settings / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")
    made = run(elsewhere, "-c", HIVE, SPARK_CONF_DIR=str(settings))
    assert made.returncode == 0, made.stderr
    before = {one.name for one in folder.iterdir()}
    done = tacit(folder, "init", "spark:sales.visits", SPARK_CONF_DIR=str(settings))
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tomllib.loads(done.stdout)["tables"]["visits"]["columns"]) == ["id", "ward"]
    assert {one.name for one in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("spark-defaults.conf", "spark.sql.warehouse.dir=/w", True),
        ("spark-defaults.conf", "  spark.sql.catalogImplementation  hive", True),
        ("hive-site.xml", "<configuration/>", True),
        ("spark-defaults.conf", "# spark.sql.warehouse.dir /w\nspark.driver.memory 1g", False),
        ("spark-defaults.conf", "spark.sql.warehouse.directory /w", False),
        ("other.conf", "spark.sql.warehouse.dir /w", False),
    ],
)
def test_what_counts_as_configured(
    file: str, text: str, *, said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in UNSAID:
        monkeypatch.delenv(name, raising=False)
    for folder, place in ((tmp_path, "SPARK_CONF_DIR"), (tmp_path / "conf", "SPARK_HOME")):
        folder.mkdir(exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
        monkeypatch.setenv(place, str(tmp_path))
        assert start_options.is_configured(start._CATALOG, "hive-site.xml") is said
        monkeypatch.delenv(place)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.warehouse.dir=/w pyspark-shell")
    assert start_options.is_configured(start._CATALOG, "hive-site.xml")


def test_what_others_warn_of_while_spark_is_started_is_not_kept_back() -> None:
    with sessions.quiet_imports():
        warnings.warn_explicit("its own", FutureWarning, "utils.py", 1, module="pyspark.testing.utils")
        for other in ("pysparkling", "mine"):
            with pytest.raises(FutureWarning):  # as warnings are here, where nothing ignores them
                warnings.warn_explicit("another's", FutureWarning, "x.py", 1, module=other)


def test_a_child_of_ours_that_ends_does_not_remove_the_folder(tmp_path: Path) -> None:
    start._remove(str(tmp_path), os.getpid() + 1)
    assert tmp_path.exists()
    start._remove(str(tmp_path), os.getpid())
    assert not tmp_path.exists()


def test_a_setting_without_spark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    for module in ("pyspark", "pyspark.find_spark_home", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match=r"tacit\[spark\]"):
        opening.open("spark:visits", unit=ROW, budget=PureDP(epsilon=1), threads=2)
