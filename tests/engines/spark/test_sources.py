"""Every source of Spark's is one table, typed without reading rows; the caller's session stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contract.plans import key, plan, table
from spark_session import frame_of, spark
from tacit.engines.source import Source
from tacit.engines.spark import sessions
from tacit.engines.spark.engine import SparkEngine, open_spark, open_spark_tables
from tacit.engines.spark.sources import is_spark
from tacit.errors import (
    InvalidError,
    MissingDriverError,
    NoSourceError,
    SourceError,
    TableNotFoundError,
    TableNotNamedError,
)
from tacit.query.expressions import Column, Kind
from tacit.query.plan import Measure, Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {"id": [1, 1, 2, 3], "ward": ["A", "B", "A", None], "cost": [1.0, 2.5, None, 4.0]}
KINDS: dict[str, Kind] = {"id": "integer", "ward": "text", "cost": "real"}
COUNT = Measure(value=None)
ANSWER = [[2, 1], [1, 3]]


def question() -> Plan:
    cost = Measure(value=Column("cost", "real"), low=0, high=9)
    return plan(table(unit="id", groups=2, kinds=KINDS), COUNT, cost, keys=[key(Column("ward", "text"), "A", "B")])


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A database with tables and views."""
    session = spark()
    session.sql("CREATE DATABASE IF NOT EXISTS clinic")
    frame_of(pa.table(COLUMNS)).write.mode("overwrite").saveAsTable("clinic.visits")
    frame_of(pa.table({"Id": [1], "Mixed Case": [2]})).write.mode("overwrite").saveAsTable("clinic.`We_Ird`")
    session.sql("CREATE OR REPLACE VIEW clinic.seen AS SELECT id, 1 / (id - 2) AS x FROM clinic.visits")
    yield "clinic"
    session.sql("DROP DATABASE clinic CASCADE")


def as_frame(_: Path) -> tuple[object, str | None, str]:
    return frame_of(pa.table(COLUMNS)), None, "data"


def as_session(_: Path) -> tuple[object, str | None, str]:
    return spark(), "clinic.visits", "visits"


def as_name(_: Path) -> tuple[object, str | None, str]:
    return "spark:clinic.visits", None, "visits"


def as_url(_: Path) -> tuple[object, str | None, str]:
    return "spark://spark_catalog.`clinic`.visits", None, "visits"


def as_file(folder: Path) -> tuple[object, str | None, str]:
    pq.write_table(pa.table(COLUMNS), folder / "visits.parquet")
    return f"spark:{folder}/visits.parquet", None, "visits"


def as_glob(folder: Path) -> tuple[object, str | None, str]:
    pq.write_table(pa.table(COLUMNS)[:2], folder / "visits-1.parquet")
    pq.write_table(pa.table(COLUMNS)[2:], folder / "visits-2.parquet")
    return f"spark://{folder}/visits-*.parquet", None, "visits"


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("made", [as_frame, as_session, as_name, as_url, as_file, as_glob])
def test_every_source_gives_the_same_integers(
    made: Callable[[Path], tuple[object, str | None, str]], tmp_path: Path
) -> None:
    source, name, called = made(tmp_path)
    assert is_spark(source)
    opened = open_spark(source, table=name)
    assert opened.schema() == KINDS
    assert opened.name == called
    assert opened.measure(question()) == ANSWER
    opened.close()


@pytest.mark.usefixtures("database")
def test_nothing_is_set_or_left_behind_in_the_callers_session() -> None:
    theirs = spark().newSession()
    theirs.conf.set("spark.sql.ansi.enabled", "false")
    theirs.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    before = (dict(theirs.conf.getAll), _views(theirs), theirs.catalog.currentDatabase())
    active = _active()
    for source, name in ((theirs, "clinic.visits"), (theirs.table("clinic.visits").limit(4), None)):
        opened = open_spark(source, table=name)
        assert opened.measure(question()) == ANSWER
        assert _views(theirs) == before[1]
        opened.close()
        assert _active() == active
    assert (dict(theirs.conf.getAll), _views(theirs), theirs.catalog.currentDatabase()) == before


def _active() -> object:
    found = type(spark()).getActiveSession()
    return found and found._jsparkSession


def _views(session: object) -> list[str]:
    catalog = session.catalog  # type: ignore[attr-defined]
    return sorted(one.name for place in ("global_temp", "default") for one in catalog.listTables(place))


def test_what_a_statement_means_does_not_depend_on_the_callers_settings() -> None:
    theirs = spark().newSession()
    odd = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.parser.quotedRegexColumnNames": "true",
        "spark.sql.caseSensitive": "true",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.shuffle.partitions": "3",
    }
    for name, value in odd.items():
        theirs.conf.set(name, value)
    made = sessions.new_session(theirs)
    for name, value in sessions.SETTINGS.items():
        assert made.conf.get(name) == value
    assert "spark.sql.legacy.timeParserPolicy" not in made.conf.getAll
    assert made.conf.get("spark.sql.shuffle.partitions") == "3"
    assert all(theirs.conf.get(name) == value for name, value in odd.items())


@pytest.mark.parametrize(("theirs", "ours"), [(2, 2), (8, 8), (9, 201), (200, 201), (201, 201), (1000, 1000)])
def test_no_task_opens_a_file_for_each_of_many_partitions(theirs: int, ours: int) -> None:
    session = spark().newSession()
    session.conf.set("spark.sql.shuffle.partitions", str(theirs))
    assert sessions.new_session(session).conf.get("spark.sql.shuffle.partitions") == str(ours)


def test_every_setting_is_one_that_spark_knows() -> None:
    known = {row[0] for row in spark().sql("SET -v").collect()}
    made = sessions.new_session(spark())
    for name in sessions.SETTINGS:
        assert name in known or made.conf.isModifiable(name), name


def test_opening_reads_no_row(tmp_path: Path) -> None:
    frame = frame_of(pa.table(COLUMNS)).selectExpr("id", "ward", "assert_true(false) AS broken")
    opened = open_spark(frame)
    assert opened.unusable() == ("broken",)
    opened.close()
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(COLUMNS), file, use_dictionary=False, compression="none")
    footer = int.from_bytes(file.read_bytes()[-8:-4], "little") + 8
    with file.open("r+b") as bytes_:
        bytes_.seek(4)
        bytes_.write(b"\xff" * (file.stat().st_size - footer - 4))
    opened = open_spark(f"spark:{file}")
    assert opened.schema() == KINDS
    with pytest.raises(SourceError, match="stays charged"):
        opened.measure(question())
    opened.close()


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("wrong", ["clinic.vists", "clinic.none", "clinic.`we`ird`"])
def test_a_table_that_is_not_there_is_refused_and_others_are_named(wrong: str) -> None:
    with pytest.raises(TableNotFoundError) as caught:
        open_spark(spark(), table=wrong)
    assert "visits" in str(caught.value) or wrong.count("`") == 3
    assert caught.value.__context__ is None
    assert "tacit started" not in str(caught.value)  # it did not: the session is the caller's


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("wrong", ["clinic.none", "nowhere.visits", "no.such.catalog.visits", "visits", "", "a..b"])
def test_a_table_that_is_not_there_is_a_wrong_argument_whatever_is_missing(wrong: str) -> None:
    for source, name in ((spark(), wrong), (f"spark:{wrong}", None))[: 2 if wrong else 1]:
        with pytest.raises(TableNotFoundError) as caught:
            open_spark(source, table=name)
        assert not isinstance(caught.value, SourceError)  # the command line has another exit code for it
        assert (caught.value.argument, caught.value.__context__) == ("table", None)
        assert caught.value.name == wrong


@pytest.fixture
def alone() -> Iterator[SparkSession]:
    """A session in a separate database that has only views; one of them hides a table's name."""
    theirs = spark().newSession()
    theirs.sql("CREATE DATABASE alone")
    theirs.catalog.setCurrentDatabase("alone")
    theirs.sql("CREATE VIEW alone.seen AS SELECT 1 AS id")
    theirs.sql("CREATE TEMPORARY VIEW visits AS SELECT 2 AS id")
    yield theirs
    theirs.sql("DROP DATABASE alone CASCADE")


def test_the_only_table_of_a_database_is_opened_and_several_are_named(alone: SparkSession) -> None:
    with pytest.raises(TableNotNamedError, match="current database has no table") as caught:
        open_spark(alone)
    assert (caught.value.argument, caught.value.tables) == ("table", ())
    alone.sql("CREATE TABLE alone.visits USING parquet AS SELECT 1 AS id, 'A' AS ward, 2.5D AS cost")
    opened = open_spark(alone)
    alone.catalog.setCurrentDatabase("default")  # the opened table does not depend on it
    assert (opened.name, opened.schema()) == ("visits", KINDS)
    assert opened.measure(question()) == [[1, 0], [3, 0]]
    opened.close()
    alone.catalog.setCurrentDatabase("alone")
    alone.sql("CREATE TABLE alone.wards USING parquet AS SELECT 1 AS id")
    with pytest.raises(TableNotNamedError, match="'visits', 'wards'") as caught:
        open_spark(alone)
    assert (caught.value.argument, set(caught.value.tables)) == ("table", {"visits", "wards"})


@pytest.mark.usefixtures("database")
def test_views_are_refused_but_a_dataframe_is_the_callers_own() -> None:
    spark().createDataFrame([(1,)], "a INT").createOrReplaceTempView("passing")
    for name in ("clinic.seen", "passing"):
        with pytest.raises(NoSourceError, match="could fail on a row"):
            open_spark(spark(), table=name)
    spark().catalog.dropTempView("passing")
    opened = open_spark(spark().table("clinic.seen"))
    assert opened.schema() == {"id": "integer", "x": "real"}
    opened.close()


@pytest.mark.usefixtures("database")
def test_names_with_capitals_blanks_and_backticks_are_found() -> None:
    opened = open_spark("spark:clinic.`We_Ird`")
    assert opened.schema() == {"Id": "integer", "Mixed Case": "integer"}
    policy = table(unit="Id", kinds={"Id": "integer", "Mixed Case": "integer"})
    asked = plan(policy, Measure(value=Column("Mixed Case", "integer"), low=0, high=5))
    assert opened.measure(asked) == [[2]]
    opened.close()
    odd = {"a`b": [1, 2], "${x}": [1, 1], "it's": ["p", "q"]}
    opened = open_spark(frame_of(pa.table(odd)))
    asked = plan(table(unit="a`b", kinds={"a`b": "integer"}), COUNT, keys=[key(Column("it's", "text"), "p", "q")])
    assert opened.measure(asked) == [[1, 1]]
    opened.close()


def test_capitals_matter_where_names_differ_by_nothing_else() -> None:
    theirs = spark().newSession()
    theirs.conf.set("spark.sql.caseSensitive", "true")
    opened = open_spark(theirs.sql("SELECT 1 AS id, 2 AS x, 3 AS X"))
    policy = table(unit="id", kinds={"id": "integer", "x": "integer", "X": "integer"})
    asked = [Measure(value=Column(name, "integer"), low=0, high=9) for name in ("x", "X")]
    assert opened.measure(plan(policy, *asked)) == [[2], [3]]
    opened.close()


def test_partitions_are_read_as_text_and_their_values_not_looked_at(tmp_path: Path) -> None:
    for day in ("01", "002"):
        (tmp_path / "visits" / f"day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"id": [1]}), tmp_path / "visits" / f"day={day}" / "x.parquet")
    opened = open_spark(f"spark:{tmp_path}/visits")
    assert opened.schema() == {"id": "integer", "day": "text"}
    asked = plan(
        table(unit="id", groups=2, kinds={"id": "integer"}), COUNT, keys=[key(Column("day", "text"), "01", "002")]
    )
    assert opened.measure(asked) == [[1, 1]]
    opened.close()


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (7, None),
        ("visits.parquet", None),
        ("spark:/no/such/file.parquet", None),
        ("spark://cluster.example.org:7077", None),
        ("spark:", None),
        ("spark:clinic.visits", "visits"),
        ("sc://host/;session_id=7", "t"),
    ],
)
def test_what_is_no_source_is_refused(source: object, name: str | None) -> None:
    spark()
    with pytest.raises(InvalidError):
        open_spark(source, table=name)


def test_a_frame_has_no_tables_and_no_two_columns_of_one_name() -> None:
    frame = frame_of(pa.table(COLUMNS))
    with pytest.raises(InvalidError, match="no effect"):
        open_spark(frame, table="visits")
    with pytest.raises((InvalidError, SourceError)):
        open_spark(frame.select("id", "id"))


def test_a_session_without_a_table_asks_for_one() -> None:
    with pytest.raises(TableNotNamedError) as caught:
        open_spark(spark())
    assert caught.value.argument == "table"


def test_no_secret_of_a_url_is_shown() -> None:
    for filled, written in (("spark:hunter2.t", "spark:${P}.t"), ("spark:/hunter2/t.parquet", "spark:${P}/t.parquet")):
        with pytest.raises(InvalidError) as caught:
            open_spark(filled, written=written)
        assert "hunter2" not in str(caught.value)
    for url in ("sc://reader:hunter2@host.invalid:1/", "sc://host.invalid:1/;token=hunter2"):
        with pytest.raises(SourceError) as failed:
            open_spark(url, table="t")
        assert "hunter2" not in str(failed.value)
        assert "host.invalid" not in str(failed.value)


@pytest.mark.usefixtures("database")
def test_a_database_that_a_variable_names_is_not_shown_beside_its_tables() -> None:
    with pytest.raises(InvalidError, match=r"The tables are '[^.]*visits'") as caught:
        open_spark("spark:clinic.none", written="spark:${DATABASE}.none")
    assert "clinic" not in str(caught.value)


def test_without_pyspark_or_java_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark.sql  # noqa: PLC0415 - an extra

    class Broken:
        @staticmethod
        def getActiveSession() -> None:  # noqa: N802 - Spark's name
            raise RuntimeError("[JAVA_GATEWAY_EXITED]")

    monkeypatch.setattr(pyspark.sql, "SparkSession", Broken)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for java, said in ((None, "Java 17"), (object(), "Java runs, but Spark could not")):
        monkeypatch.setattr(pyspark.SparkContext, "_gateway", java)
        with pytest.raises(SourceError, match=said) as caught:
            open_spark("spark:clinic.visits")
        assert caught.value.__context__ is None
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(MissingDriverError, match=r"pip install 'tacit\[spark\]'"):
        open_spark("spark:clinic.visits")


@pytest.mark.usefixtures("database")
def test_several_tables_are_opened_in_one_engine_and_public_ones_stay_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "wards.parquet"
    pq.write_table(pa.table({"ward": ["A", "B"], "beds": [10, 20]}), file)
    sources = {
        "visits": Source(source=spark(), table="clinic.visits"),
        "wards": Source(source=f"spark:{file}", public=True),
    }
    opened = open_spark_tables(sources)
    file.unlink()
    assert opened.name == "visits"
    policy = opened.public("wards", {"ward": "text", "beds": "integer"})
    assert policy.columns["ward"].keys == ("A", "B")
    assert policy.columns["ward"].unique
    opened.close()


def test_a_session_that_was_stopped_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_spark(frame_of(pa.table(COLUMNS)))

    class Stopped:
        class sparkContext:  # noqa: N801 - Spark's name
            _jsc = None

    monkeypatch.setattr(opened, "_theirs", Stopped())
    opened.check(question())  # a plan needs no session
    for ask in (opened.ready, lambda: opened.measure(question())):  # the first comes before the charge
        with pytest.raises(SourceError, match=r"getOrCreate\(\)") as caught:
            ask()
        assert caught.value.__context__ is None
    assert isinstance(opened, SparkEngine)


def test_a_public_table_leaves_the_active_session_what_it_is() -> None:
    theirs = spark()
    theirs.range(1).createOrReplaceTempView("mine")
    private, public = theirs.range(5), theirs.range(3)
    opened = open_spark_tables({"p": Source(source=private), "q": Source(source=public, public=True)})
    try:
        now = type(theirs).getActiveSession()
        assert now is not None
        assert now.sql("SELECT * FROM mine").count() == 1
    finally:
        opened.close()
        theirs.catalog.dropTempView("mine")


def test_text_that_is_no_unicode_is_null_in_questions_and_told_apart_in_tallies() -> None:
    frame = spark().sql("SELECT CAST(b AS STRING) AS g FROM VALUES (X'FF31'), (X'FE31'), (X'61') AS t(b)")
    opened = open_spark(frame)
    try:
        assert sorted(count for _, count in opened.tally(["g"])) == [1, 1, 1]
        asked = plan(
            table(unit=None, kinds={"g": "text"}), Measure(value=None), keys=[key(Column("g", "text"), "a", None)]
        )
        assert opened.measure(asked) == [[1, 2]]
    finally:
        opened.close()
