"""Every source is one table, read-only, typed without reading rows; and DuckDB can reach nothing else."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from contract.plans import call, key, plan, table
from tacit.engines.duckdb.engine import DuckDBEngine, open_duckdb, open_duckdb_tables
from tacit.engines.source import Source
from tacit.errors import InvalidError, NoSourceError, SourceError, TableNotFoundError, TableNotNamedError
from tacit.query.expressions import Column, Constant, Kind
from tacit.query.plan import Measure, Plan
from tacit.query.policy.engine_settings import EngineSettings

COLUMNS = {"id": [1, 1, 2, 3], "ward": ["A", "B", "A", None], "cost": [1.0, 2.5, None, 4.0]}
KINDS: dict[str, Kind] = {"id": "integer", "ward": "text", "cost": "real"}
COUNT = Measure(value=None)


def question() -> Plan:
    cost = Measure(value=Column("cost", "real"), low=0, high=9)
    return plan(table(unit="id", groups=2, kinds=KINDS), COUNT, cost, keys=[key(Column("ward", "text"), "A", "B")])


ANSWER = [[2, 1], [1, 3]]


def as_parquet(folder: Path) -> object:
    pl.DataFrame(COLUMNS).write_parquet(folder / "visits.parquet")
    return str(folder / "visits.parquet")


def as_glob(folder: Path) -> object:
    pl.DataFrame(COLUMNS)[:2].write_parquet(folder / "visits-1.parquet")
    pl.DataFrame(COLUMNS)[2:].write_parquet(folder / "visits-2.parquet")
    return folder / "visits-*.parquet"


def as_csv(folder: Path) -> object:
    pl.DataFrame(COLUMNS).write_csv(folder / "visits.csv")
    return folder / "visits.csv"


def as_gzip(folder: Path) -> object:
    text = pl.DataFrame(COLUMNS).write_csv(separator=";")
    (folder / "visits.csv.gz").write_bytes(gzip.compress(text.encode()))
    return folder / "visits.csv.gz"


def as_duckdb(folder: Path) -> object:
    with duckdb.connect(folder / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits (id INTEGER, ward VARCHAR, cost DECIMAL(9, 2), tags VARCHAR[])")
        connection.execute(
            "INSERT INTO visits VALUES (1, 'A', 1, []), (1, 'B', 2.5, []), (2, 'A', NULL, []), (3, NULL, 4, [])"
        )
    return folder / "clinic.duckdb"


def as_pandas(_: Path) -> object:
    return pd.DataFrame(COLUMNS)


def as_polars(_: Path) -> object:
    return pl.DataFrame(COLUMNS)


def as_arrow(_: Path) -> object:
    return pa.table(COLUMNS)


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (as_parquet, "visits"),
        (as_glob, "visits"),
        (as_csv, "visits"),
        (as_gzip, "visits"),
        (as_duckdb, "visits"),
        (as_pandas, "data"),
        (as_polars, "data"),
        (as_arrow, "data"),
    ],
)
def test_every_source_gives_the_same_integers(made: Callable[[Path], object], name: str, tmp_path: Path) -> None:
    opened = open_duckdb(made(tmp_path), threads=1)
    text = made in (as_csv, as_gzip)
    assert opened.schema() == (dict.fromkeys(KINDS, "text") if text else KINDS)
    assert opened.name == name
    assert opened.measure(question()) == ANSWER
    opened.close()


@pytest.mark.parametrize("made", [as_parquet, as_csv, as_duckdb, as_arrow])
def test_nothing_but_the_source_can_be_read_and_nothing_written(made: Callable[[Path], object], tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("secret\n1\n")
    opened = open_duckdb(made(tmp_path), threads=1)
    for sql in (
        f"SELECT * FROM read_csv('{other}')",  # noqa: S608 - our own tables
        f"SELECT * FROM read_text('{tmp_path}/*')",  # noqa: S608 - our own tables
        f"COPY data TO '{tmp_path}/copy.csv'",
        f"ATTACH '{tmp_path}/new.duckdb'",
        "SET enable_external_access = true",
        "SET threads = 2",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM KINDS",
        "INSERT INTO source.main.visits SELECT * FROM source.main.visits",
    ):
        with pytest.raises(duckdb.Error):
            opened._connection.execute(sql)
    assert opened.measure(question()) == ANSWER
    opened.close()


def test_no_bar_of_progress_is_written_to_standard_output() -> None:
    connection = open_duckdb(pd.DataFrame({"x": [1]}))._connection
    assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_the_columns_of_objects_of_pandas_are_text_whatever_they_hold() -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "mixed": pd.Series(["x", 5, None], dtype=object)})
    opened = open_duckdb(frame, threads=1)
    assert opened.schema() == {"id": "integer", "mixed": "text"}
    policy = table(unit="id", kinds={"id": "integer"}, groups=3)
    asked = plan(policy, COUNT, keys=[key(Column("mixed", "text"), "x", "5", None)])
    assert opened.measure(asked) == [[1, 1, 1]]
    opened.close()


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("id,ward\n1,A\n2,A\n", 2),
        ("id,ward\r\n1,A\r\n2,A\r\n", 2),
        ("id,ward\n1,A\n2\n3,A\n", 2),
        ("id,ward\n1,A\n\n3,A", 2),
        ("\ufeffid,ward\n1,A\n", 1),
        ('id;"ward"\n1;"A"\n2;A\n', 2),
        ("id\tward\n1\tA\n", 1),
        ('id,ward\n1,"A"\n2,"A\nB"\n3,A\n', 2),
        ("id,ward\n x ,A\n1.0,A\n1e3,A\n7,A\n", 1),
        ("id,ward\n", 0),
        ("id,ward", 0),
    ],
)
def test_csv_is_read_as_text_and_odd_lines_are_left_out(text: str, counted: int, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode())
    opened = open_duckdb(tmp_path / "t.csv", threads=1)
    assert opened.schema() == {"id": "text", "ward": "text"}
    asked = plan(table(unit="id", kinds={"id": "integer"}), COUNT, keys=[key(Column("ward", "text"), "A")])
    assert opened.measure(asked) == [[counted]]
    opened.close()


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe,A\n",
        b"1,A\x00\n",
        b'1,"A\n',
        b'1,A"B"\n',
        b"1,A,B,C\n",
        b"1," + b"x" * 3_000_000 + b"\n",
        b"1,A\r2,B\n",
    ],
)
def test_no_line_of_csv_is_an_error(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"id,ward\n7,A\n" + line)
    opened = open_duckdb(tmp_path / "t.csv", threads=1)
    asked = plan(table(unit="id", kinds={"id": "text"}), COUNT)
    assert opened.measure(asked)[0][0] >= 1
    opened.close()


LINES = {
    "plain": (b"1,A\n", 3, 3),
    "fewer fields": (b"1\n", 2, 2),
    "more fields": (b"1,A,B\n", 3, 3),
    "zero byte": (b"1,\x00\n", 3, 3),
    "not UTF-8": (b"1,\xe9\n", 3, 2),
    "a quoted value that is not UTF-8": (b'1,"\xff"\n', 3, 2),
    "2,000,000 bytes": (b"1," + b"x" * 1_999_997 + b"\n", 3, 3),
    "2,000,001 bytes": (b"1," + b"x" * 1_999_998 + b"\n", 2, 2),
    "2,000,001 bytes on several lines": (b'1,"' + b"x\n" * 999_998 + b'"\n', 2, 2),
}


@pytest.mark.parametrize("line", LINES)
def test_which_lines_of_csv_count_is_as_documented(line: str, tmp_path: Path) -> None:
    text, without_the_column, with_it = LINES[line]
    (tmp_path / "t.csv").write_bytes(b"id,ward\n7,A\n" + text + b"8,B\n")  # the lines around it always count
    opened = open_duckdb(tmp_path / "t.csv", threads=1)
    policy = table(unit="id", kinds={"id": "text", "ward": "text"})
    there = call("not", "boolean", call("is_null", "boolean", Column("ward", "text")))
    assert opened.measure(plan(policy, COUNT)) == [[without_the_column]]
    assert opened.measure(plan(policy, COUNT, where=there)) == [[with_it]]
    opened.close()


@pytest.mark.parametrize("text", [b"", b"\n1,2\n", b"a,a\n", b"a,A\n", b"a,,b\n", b"\xff\xfe\n"])
def test_a_csv_file_needs_a_header_that_names_each_column(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(InvalidError, match="header") as caught:
        open_duckdb(tmp_path / "t.csv")
    assert caught.value.argument == "source"


def test_csv_files_of_one_glob_need_one_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,ward\n1,A\n")
    (tmp_path / "b.csv").write_text("ward,id\nA,1\n")
    with pytest.raises(InvalidError, match="different headers"):
        open_duckdb(tmp_path / "*.csv")


def test_tables_of_a_duckdb_file_are_found_by_name_and_views_are_not(tmp_path: Path) -> None:
    file = tmp_path / "many.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE one (a INTEGER); CREATE TABLE s.two (b INTEGER)")
        connection.execute('CREATE TABLE "we""ird t" ("c ""d" INTEGER); CREATE VIEW seen AS SELECT 1 // a FROM one')
    for name, column in (("one", "a"), ("two", "b"), ("s.two", "b"), ('we"ird t', 'c "d')):
        opened = open_duckdb(file, table=name)
        assert list(opened.schema()) == [column]
        opened.close()
    for wrong in (None, "seen", "none", "main.two"):
        with pytest.raises(InvalidError, match=r"'one', 'two', 'we.ird t'"):
            open_duckdb(file, table=wrong)


def test_text_is_compared_by_code_point_whatever_the_table_says(tmp_path: Path) -> None:
    file = tmp_path / "t.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("CREATE TABLE t (id VARCHAR COLLATE NOCASE, ward VARCHAR COLLATE NOCASE.NOACCENT)")
        connection.execute("INSERT INTO t VALUES ('x', 'a'), ('X', 'A'), ('y', 'á')")
    opened = open_duckdb(file, threads=1)
    policy = table(unit="id", kinds={"id": "text"}, groups=9)
    ward = Column("ward", "text")
    units = Measure(value=None, per="unit")
    assert opened.measure(plan(policy, units)) == [[3]]
    assert opened.measure(plan(policy, units, keys=[key(ward, "a", "A", "á")])) == [[1, 1, 1]]
    where = call("equal", "boolean", ward, Constant("a", "text"))
    assert opened.measure(plan(policy, units, where=where)) == [[1]]
    opened.close()


@pytest.mark.parametrize(
    ("source", "table_name"),
    [
        (7, None),
        (None, None),
        ([1, 2], None),
        ({"id": [1]}, "visits"),
        (pl.LazyFrame(COLUMNS), "visits"),
        (pa.table(COLUMNS), "visits"),
        ("no such file.parquet", None),
        ("no-such-*.csv", None),
    ],
)
def test_what_is_no_table_is_refused(source: object, table_name: str | None) -> None:
    with pytest.raises(InvalidError):
        open_duckdb(source, table=table_name)


def test_files_that_are_no_tables_are_refused(tmp_path: Path) -> None:
    for name in ("a.txt", "b[1].csv", "c.xlsx"):
        (tmp_path / name).write_text("id\n1\n")
        with pytest.raises(InvalidError):
            open_duckdb(tmp_path / name)
    (tmp_path / "d.parquet").write_text("")
    with pytest.raises(InvalidError):
        open_duckdb(tmp_path / "[ad].*")
    with pytest.raises(InvalidError):
        open_duckdb(tmp_path)


@pytest.mark.parametrize("name", ["broken.parquet", "broken.duckdb"])
def test_a_broken_file_is_a_constant_error(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("a secret: 4711")
    with pytest.raises(SourceError, match="could not be opened") as caught:
        open_duckdb(tmp_path / name)
    assert caught.value.__context__ is None
    assert "4711" not in str(caught.value)


def test_threads_are_a_positive_number() -> None:
    with pytest.raises(InvalidError, match="threads"):
        open_duckdb(pa.table(COLUMNS), threads=0)


def test_nothing_is_spilled_unless_a_directory_is_given(tmp_path: Path) -> None:
    def setting(opened: DuckDBEngine) -> str:
        found = opened._connection.execute("SELECT current_setting('temp_directory')").fetchone()
        opened.close()
        return str(found and found[0])

    assert setting(open_duckdb(pa.table(COLUMNS))) in ("", "None")
    table, settings = {None: Source(source=pa.table(COLUMNS))}, EngineSettings(temporary=tmp_path)
    assert setting(open_duckdb_tables(table, settings)).startswith(str(tmp_path / "tacit-"))
    assert list(tmp_path.iterdir()) == []  # closed


@pytest.mark.parametrize("kind", ["postgresql", "s3", "jdbc:postgresql", "https"])
def test_of_a_url_only_the_scheme_is_shown(kind: str) -> None:
    url = f"{kind}://reader:hunter2@db.example.org/clinic?token=hunter2"
    with pytest.raises(NoSourceError, match="cannot be opened") as caught:
        open_duckdb(url)
    assert "hunter2" not in str(caught.value)
    assert "example" not in str(caught.value)
    assert f"{kind.partition(':')[0]}://…" in str(caught.value)
    assert "Parquet, CSV or DuckDB file" in str(caught.value)


def test_what_a_policys_variables_hold_is_not_shown(tmp_path: Path) -> None:
    for filled, written in ((tmp_path / "hunter2" / "x.csv", "${P}/x.csv"), ("s3://hunter2/x", "${P}/x")):
        with pytest.raises(NoSourceError) as caught:
            open_duckdb(filled, written=written)
        assert "hunter2" not in str(caught.value)
    with pytest.raises(NoSourceError, match="a password or a key in it") as caught:
        open_duckdb("visits.csv?password=hunter2")
    assert "hunter2" not in str(caught.value)


def test_a_missing_source_is_both_a_wrong_argument_and_a_failed_source() -> None:
    with pytest.raises(SourceError, match=r"no such file: 'survy\.parquet'"):
        open_duckdb("survy.parquet")
    error = NoSourceError("this", hint="that")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own


def test_a_file_with_several_tables_names_them_and_says_what_to_write(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits (id INTEGER); CREATE TABLE staff (id INTEGER, tags INTEGER[])")
    for name, error in ((None, TableNotNamedError), ("vists", TableNotFoundError)):
        with pytest.raises(error, match=r"'staff', 'visits' \(table = \"staff\" in the policy") as caught:
            open_duckdb(tmp_path / "clinic.duckdb", table=name)
        assert caught.value.argument == "table"
        assert set(getattr(caught.value, "tables", ())) == {"staff", "visits"}
    assert "'vists'" in str(caught.value)
    opened = open_duckdb(tmp_path / "clinic.duckdb", table="staff")
    assert opened.unusable() == ("tags",)
    opened.close()
    with duckdb.connect(tmp_path / "empty.duckdb") as connection:
        connection.execute("CREATE VIEW v AS SELECT 1")
    with pytest.raises(NoSourceError, match="no table"):
        open_duckdb(tmp_path / "empty.duckdb")
