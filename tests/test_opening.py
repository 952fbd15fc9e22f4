from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tacit as tc
from tacit.cli import query
from tacit.cli.main import app
from tacit.database import Database
from tacit.engines.duckdb import engine, sources
from tacit.errors import InvalidError, NoSourceError, SourceError

PEOPLE = pd.DataFrame({"id": range(100), "region": ["a", "b"] * 50})
REGIONS = pd.DataFrame({"region": ["a", "b"], "size": ["large", "small"]})
TERMS: dict[str, Any] = {
    "unit": "id",
    "max_groups": 1,
    "max_rows": 1,
    "keys": {"region": ["a", "b"]},
    "budget": tc.PureDP(epsilon=100),
}
JOINED = "SELECT size, count(*) AS n FROM people JOIN regions USING (region) GROUP BY size"


def test_variables_are_filled_in_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDDEN_PLACE", str(tmp_path / "hunter2"))
    (tmp_path / "hunter2").mkdir()
    PEOPLE.to_csv(tmp_path / "hunter2" / "people.csv", index=False)
    REGIONS.to_csv(tmp_path / "hunter2" / "regions.csv", index=False)
    public = {"regions": "${HIDDEN_PLACE}/regions.csv"}
    with tc.open("${HIDDEN_PLACE}/people.csv", public=public, **TERMS) as db:
        answer = db.sql(JOINED, epsilon=50)
    assert {row[0]: row[1] for row in answer.rows()} == pytest.approx({"large": 50, "small": 50}, abs=5)
    assert "hunter2" not in str(answer.receipt)
    for wrong in (
        {"source": "${HIDDEN_PLACE}/none.csv"},
        {"source": PEOPLE, "public": {"r": "${HIDDEN_PLACE}/no.csv"}},
    ):
        with pytest.raises(NoSourceError, match="HIDDEN_PLACE") as caught:
            tc.open(**wrong, **TERMS)
        assert "hunter2" not in str(caught.value)


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_PLACE", raising=False)
    for wrong in ({"source": "${NO_SUCH_PLACE}/x.csv"}, {"source": PEOPLE, "public": {"r": "${NO_SUCH_PLACE}"}}):
        with pytest.raises(InvalidError, match="NO_SUCH_PLACE, not set"):
            tc.open(**wrong, **TERMS)
    with pytest.raises(InvalidError, match="does not begin the name") as caught:
        tc.open("postgresql://reader:hunter2${@db/clinic", **TERMS)
    assert "hunter2" not in str(caught.value)


def test_a_table_is_not_called_what_a_variable_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDDEN_FILE", str(tmp_path / "hunter2.csv"))
    PEOPLE.to_csv(tmp_path / "hunter2.csv", index=False)
    with tc.open("${HIDDEN_FILE}", **TERMS) as db:
        assert "hunter2" not in str(db.sql("SELECT count(*) FROM data", epsilon=1).receipt)


def test_init_fills_variables_in_and_writes_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HIDDEN_FILE", str(tmp_path / "hunter2.csv"))
    PEOPLE.to_csv(tmp_path / "hunter2.csv", index=False)
    query.init("${HIDDEN_FILE}", None)
    text = capsys.readouterr().out
    assert tomllib.loads(text)["tables"]["data"]["source"] == "${HIDDEN_FILE}"
    assert "This source has no types" in text
    assert "hunter2" not in text


def database(path: Path, **tables: pd.DataFrame) -> str:
    """Write a DuckDB file."""
    with duckdb.connect(path) as connection:
        for name, rows in tables.items():
            connection.register("rows", rows)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")  # noqa: S608 - ours
    return str(path)


def policy(folder: Path, source: str, *, people: str = "", regions: str = "") -> Path:
    """Write a policy of a private and a public table."""
    file = folder / "policy.toml"
    file.write_text(
        f"""
budget = {{ epsilon = 100 }}

[tables.people]
source = "{source}"
unit = "id"
max_groups = 1
max_rows = 1
{people}

[public.regions]
source = "{source}"
{regions}
"""
    )
    return file


def counted(db: Database) -> dict[object, object]:
    with db:
        return {row[0]: row[1] for row in db.sql(JOINED, epsilon=50).rows()}


def test_a_table_is_found_by_its_name_in_the_policy(tmp_path: Path) -> None:
    source = database(tmp_path / "clinic.duckdb", people=PEOPLE, regions=REGIONS, other=REGIONS)
    expected = pytest.approx({"large": 50, "small": 50}, abs=5)
    assert counted(tc.open(policy(tmp_path, source))) == expected
    assert counted(tc.open(source, table="people", public={"regions": source}, **TERMS)) == expected


def test_files_with_one_table_and_with_several_stand_together(tmp_path: Path) -> None:
    """The only table of a file is opened whatever its name, even if another file has several tables."""
    several = database(tmp_path / "clinic.duckdb", people=PEOPLE, other=REGIONS)
    alone = database(tmp_path / "places.duckdb", areas=REGIONS)
    file = policy(tmp_path, several)
    file.write_text(alone.join(file.read_text().rsplit(several, 1)))
    assert counted(tc.open(file)) == pytest.approx({"large": 50, "small": 50}, abs=5)


def test_a_private_table_is_not_taken_for_a_public_one(tmp_path: Path) -> None:
    """If the private table is the only one, it is not opened in place of a missing public table."""
    source = database(tmp_path / "clinic.duckdb", people=PEOPLE)
    with pytest.raises(InvalidError, match="'regions'") as caught:
        tc.open(policy(tmp_path, source))
    assert (caught.value.argument, caught.value.where) == ("table", "public.regions")
    with pytest.raises(InvalidError, match="'regions'"):
        tc.open(source, public={"regions": tmp_path / ".." / tmp_path.name / "clinic.duckdb"}, **TERMS)


def test_a_table_that_the_database_has_not_is_said_with_those_that_it_has(tmp_path: Path) -> None:
    source = database(tmp_path / "clinic.duckdb", persons=PEOPLE, regions=REGIONS)
    with pytest.raises(InvalidError, match="'people'") as caught:
        tc.open(policy(tmp_path, source))
    assert (caught.value.argument, caught.value.where) == ("table", "tables.people")
    assert all(name in str(caught.value) for name in ("'persons'", "'regions'"))


def test_a_public_table_of_another_name_is_given_as_a_pair(tmp_path: Path) -> None:
    source = database(tmp_path / "clinic.duckdb", people=PEOPLE, areas=REGIONS)
    expected = pytest.approx({"large": 50, "small": 50}, abs=5)
    assert counted(tc.open(source, table="people", public={"regions": (source, "areas")}, **TERMS)) == expected
    assert counted(tc.open(PEOPLE, name="people", public={"regions": (REGIONS, None)}, **TERMS)) == expected


@pytest.mark.parametrize("wrong", [("hunter2", 7), ("hunter2", ""), ("hunter2",), ("hunter2", "b", "c"), ()])
def test_another_tuple_is_no_public_table_and_is_not_shown(wrong: object) -> None:
    with pytest.raises(InvalidError, match=r"public\['regions'\] must be a source, or a pair") as caught:
        tc.open(PEOPLE, name="people", public={"regions": wrong}, **TERMS)
    assert "hunter2" not in str(caught.value)


def test_an_error_begins_with_the_table_of_the_policy(tmp_path: Path) -> None:
    """Its class and its attributes stay, also if the tables are opened together."""
    source = database(tmp_path / "clinic.duckdb", people=PEOPLE, areas=REGIONS)
    with pytest.raises(InvalidError, match=r"^public\.regions: .*'regions'") as table:
        tc.open(policy(tmp_path, source))
    assert (table.value.argument, table.value.where) == ("table", "public.regions")
    assert not isinstance(table.value, SourceError)
    with pytest.raises(NoSourceError, match=r"^tables\.people: .*'none.parquet'") as missing:
        tc.open(policy(tmp_path, "none.parquet"))
    assert (missing.value.argument, missing.value.where) == ("source", "tables.people")
    assert not missing.value.message.startswith("tables")
    file = policy(tmp_path, source)
    file.write_text((tmp_path / "none.parquet").as_posix().join(file.read_text().rsplit(source, 1)))
    with pytest.raises(NoSourceError, match=r"^public\.regions: "):
        tc.open(file)
    with pytest.raises(NoSourceError, match=r"^public\['regions'\]: "):
        tc.open(PEOPLE, name="people", public={"regions": tmp_path / "none.parquet"}, **TERMS)
    (tmp_path / "broken.parquet").write_bytes(b"not a file of Parquet")
    with pytest.raises(SourceError, match=r"^tables\.people(, public\.regions)?: ") as broken:
        tc.open(policy(tmp_path, "broken.parquet"))
    assert type(broken.value) is SourceError


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Count the connections of DuckDB that are opened."""
    opened: list[object] = []

    def counted(*arguments: Any) -> duckdb.DuckDBPyConnection:  # noqa: ANN401 - as they come
        opened.append(sources.connect(*arguments))
        return opened[-1]  # type: ignore[return-value]

    monkeypatch.setattr(engine, "connect", counted)
    return opened


def test_every_source_is_opened_once(tmp_path: Path, connections: list[object]) -> None:
    several = database(tmp_path / "clinic.duckdb", people=PEOPLE, regions=REGIONS, other=REGIONS)
    alone = database(tmp_path / "places.duckdb", areas=REGIONS)
    tc.open(policy(tmp_path, several)).close()
    tc.open(several, table="people", public={"regions": several}, **TERMS).close()
    tc.open(alone, public={"regions": several, "other": several}, **TERMS | {"unit": "size"}).close()
    assert len(connections) == 3


def test_a_failing_source_is_named_without_opening_others_again(tmp_path: Path, connections: list[object]) -> None:
    """DuckDB's message about a broken file is not in the error, nor in its context."""
    several = database(tmp_path / "clinic.duckdb", people=PEOPLE, other=REGIONS)
    (tmp_path / "broken.parquet").write_bytes(b"not a file of Parquet")
    file = policy(tmp_path, several)
    file.write_text((tmp_path / "broken.parquet").as_posix().join(file.read_text().rsplit(several, 1)))
    with pytest.raises(SourceError) as caught:
        tc.open(file)
    assert (caught.value.where, caught.value.__context__) == ("public.regions", None)
    assert len(connections) == 1


def test_a_public_table_must_not_have_the_name_that_the_source_gives(tmp_path: Path) -> None:
    people = database(tmp_path / "clinic.duckdb", people=PEOPLE)
    with pytest.raises(InvalidError) as caught:
        tc.open(people, public={"People": REGIONS}, **TERMS)
    assert caught.value.argument == "public"


def test_a_policy_file_is_alone(tmp_path: Path) -> None:
    file = policy(tmp_path, database(tmp_path / "clinic.duckdb", people=PEOPLE, regions=REGIONS))
    for name, value in {"unit": "id", "hidden": ["region"], "data_version": "2026", "budget": TERMS["budget"]}.items():
        with pytest.raises(InvalidError, match=name) as caught:
            tc.open(file, **{name: value})
        assert caught.value.argument == "source"
    tc.open(file, hidden=[]).close()


def test_what_may_be_opened_is_said_in_full() -> None:
    """The error for an invalid source and the help of `tacit init` list all kinds of sources."""
    with pytest.raises(NoSourceError) as caught:
        tc.open(["people.csv"], **TERMS)
    help_text = CliRunner().invoke(app, ["init", "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    for text in (str(caught.value), help_text):
        for kind in ("Parquet", "CSV", "DuckDB", "postgres", "Spark", "spark:table", "sc://host"):
            assert kind.lower() in text.lower()
    with pytest.raises(InvalidError) as named:
        tc.open(PEOPLE, table="people", **TERMS)
    assert named.value.argument == "table"


def test_a_column_whose_type_cannot_be_used_is_said_to_be_there() -> None:
    people = pa.table({"id": [1], "tags": [[1, 2]]})
    with (
        tc.open(people, unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1)) as db,
        pytest.raises(tc.RefusedError, match="type of the column 'tags'"),
    ):
        db.sql("SELECT count(tags) FROM data", epsilon=1)


def test_a_name_that_is_not_there_is_told_beside_those_that_are() -> None:
    with tc.open(PEOPLE, **TERMS) as db:
        with pytest.raises(InvalidError, match=r"'zzz'.*id, region"):
            db.plan("SELECT count(zzz) FROM data", epsilon=1)
        with pytest.raises(InvalidError, match=r"'zzz'.*data"):
            db.plan("SELECT count(*) FROM zzz", epsilon=1)


@pytest.mark.parametrize("version", ["", 0])
def test_an_empty_data_version_is_refused(version: object) -> None:
    with pytest.raises(InvalidError) as caught:
        tc.open(PEOPLE, data_version=version, **TERMS)  # type: ignore[arg-type]
    assert caught.value.argument == "data_version"
