"""A table in a database gets the same report as the same rows in memory, for all types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import tacit as tc
from tacit.anonymity.count_in_database import RemoteTable
from tacit.engines import sources
from tacit.errors import UnreadableFileError

ALIKE = {
    "nanoseconds": ["TIMESTAMP_NS '2020-01-01 10:00:00.000000001'", "TIMESTAMP_NS '2020-01-01 10:00:00.000000002'"],
    "infinity": ["TIMESTAMP 'infinity'", "TIMESTAMP '9999-12-31 23:59:59.999999'"],
    "endless days": ["DATE 'infinity'", "DATE '9999-12-31'", "DATE '-infinity'", "DATE '0001-01-01'"],
    "far years": ["DATE '290000-01-01'", "DATE '0044-03-15 (BC)'", "DATE '0044-03-15'"],
    "zones": ["TIMESTAMPTZ '2020-01-01 00:00:00+02'", "TIMESTAMPTZ '2020-01-01 00:00:00+01'"],
    "decimals": ["0.100000000000000001::DECIMAL(38,18)", "0.1::DECIMAL(38,18)"],
    "wholes": ["90071992547409931::DECIMAL(20,0)", "90071992547409932::DECIMAL(20,0)"],
    "128 bits": [f"{2**100}::HUGEINT", f"{2**100 + 1}::HUGEINT"],
    "written moments": ["'2020-01-01 10:00:00'", "'2020-01-01T10:00:00'", "'2020-01-01'"],
}


def filled(path: Path, values: list[str], times: int = 1) -> str:
    with duckdb.connect(str(path)) as connection:
        rows = ", ".join(f"({value}, {place})" for place, value in enumerate(values * times))
        connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) v(q, u)")  # noqa: S608 - ours
    return str(path)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("values", ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("times", [1, 3])
def test_values_that_a_database_tells_apart_are_different_classes(
    tmp_path: Path, values: list[str], times: int
) -> None:
    """Python cannot distinguish nanoseconds, or infinity from the last day: k was too large."""
    path = filled(tmp_path / "t.duckdb", values, times)
    found = tc.anonymity.check(path, relation="t", quasi=["q"])
    assert (found.k, len(found.groups), found.rows) == (times, len(values), times * len(values))
    persons = tc.anonymity.check(path, relation="t", quasi=["q"], unit="u")
    assert (persons.k, len(persons.groups)) == (times, len(values))


@pytest.mark.parametrize("values", ALIKE.values(), ids=ALIKE)
def test_a_parquet_file_and_arrow_tell_them_apart_too(tmp_path: Path, values: list[str]) -> None:
    path = filled(tmp_path / "t.duckdb", values)
    with duckdb.connect(path) as connection:
        table = connection.sql("FROM t").to_arrow_table()
        if "HUGEINT" not in values[0]:  # Parquet does not have this type
            connection.sql("FROM t").write_parquet(str(tmp_path / "t.parquet"))
            assert tc.anonymity.check(tmp_path / "t.parquet", quasi=["q"]).k == 1
    if "infinity" not in values[0]:  # only DuckDB has such an Arrow value
        assert tc.anonymity.check(table, quasi=["q"]).k == 1


def test_moments_of_a_database_are_written_as_in_memory(tmp_path: Path) -> None:
    values = ["TIMESTAMP '2020-01-01'", "TIMESTAMP '2020-01-01 10:00:00.5'", "NULL::TIMESTAMP"]
    path = filled(tmp_path / "t.duckdb", values)
    with duckdb.connect(path) as connection:
        table = connection.sql("FROM t").pl()
    there = RemoteTable(path, "t").count_rows(["q"], (), None).column("q")
    assert {*there.texts} == {*tc.anonymity.tables.read(table).column("q").texts}
    assert {*there.texts} == {"2020-01-01", "2020-01-01T10:00:00.500000", None}


URL = "postgresql://reader:hunter2@/clinic?host=/run/none"
SECRETS = [URL, Path(URL), "host=db user=reader password=hunter2", "s3://key:hunter2@bucket/visits.csv"]


@pytest.mark.parametrize("secret", SECRETS, ids=["text", "path", "words", "file"])
@pytest.mark.parametrize("of", ["anonymize", "attack", "draft", "population", "reference", "hierarchy", "write"])
def test_no_message_shows_a_password(of: str, secret: str | Path) -> None:
    rows, k = {"q": ["a", "a"], "s": [1, 2]}, tc.KAnonymity(2)
    asked: dict[str, Callable[[], object]] = {
        "anonymize": lambda: tc.anonymity.anonymize(secret, quasi=["q"], require=k),
        "attack": lambda: tc.anonymity.attack(secret, kind="homogeneity", quasi=["q"], sensitive="s"),
        "draft": lambda: tc.anonymity.draft(secret, ["q"]),
        "population": lambda: tc.anonymity.check(rows, quasi=["q"], population=secret),
        "reference": lambda: tc.anonymity.check(rows, quasi=["q"], sensitive="s", reference=secret),
        "hierarchy": lambda: tc.anonymity.hierarchy(secret),
        "write": lambda: tc.anonymity.anonymize(rows, quasi=["q"], require=k).write(secret),
    }
    with pytest.raises(tc.InvalidError) as refused:
        asked[of]()
    message = str(refused.value)
    assert "hunter2" not in message
    assert "reader" not in message
    if of in {"anonymize", "attack", "draft", "population", "reference"}:
        assert refused.value.hint is not None
        assert "database" in refused.value.hint
        assert refused.value.argument == (of if of in {"population", "reference"} else "the table")


def two_tables(folder: Path) -> str:
    with duckdb.connect(str(folder / "two.duckdb")) as connection:
        connection.execute('CREATE TABLE visits AS SELECT 1 AS q; CREATE TABLE "a (table = ""b" AS SELECT 1 AS q')
    return str(folder / "two.duckdb")


@pytest.mark.parametrize("relation", [None, "visit"])
def test_the_table_of_a_database_is_asked_for_as_relation(tmp_path: Path, relation: str | None) -> None:
    with pytest.raises(tc.InvalidError) as refused:
        tc.anonymity.check(two_tables(tmp_path), quasi=["q"], relation=relation)
    assert refused.value.argument == "relation"
    assert "'visits'" in str(refused.value)


def test_a_frame_of_spark_has_no_tables_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(_: object, *, table: str | None) -> None:
        raise tc.InvalidError(f"{table} is not a table.", argument="table", hint="Only a session has tables by name.")

    monkeypatch.setattr(sources, "open_source", opened)
    with pytest.raises(tc.InvalidError, match="Only a session has tables by name") as refused:
        RemoteTable(object(), "visits").count_rows(["q"], [], None)
    assert refused.value.argument == "relation"


@pytest.mark.parametrize("relation", [None, "visits"])
def test_a_database_file_that_is_not_there_is_said_so(tmp_path: Path, relation: str | None) -> None:
    with pytest.raises(UnreadableFileError, match=r"no\.duckdb"):
        tc.anonymity.check(tmp_path / "no.duckdb", quasi=["q"], relation=relation)
