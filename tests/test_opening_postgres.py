from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit as tc
from postgres_server import PASSWORD, Database, database
from tacit.cli.main import app
from tacit.errors import InvalidError, NoSourceError, SourceError
from test_opening import PEOPLE, REGIONS, TERMS, counted, policy


@pytest.fixture
def clinic() -> Iterator[Database]:
    with database() as server:
        server.fill("people", {"id": "integer", "region": "text"}, PEOPLE.to_dict("records"))
        yield server


def with_regions(clinic: Database) -> None:
    clinic.fill("regions", {"region": "text", "size": "text"}, REGIONS.to_dict("records"))


def test_a_table_of_the_same_database_is_found_by_its_name(
    clinic: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_regions(clinic)
    monkeypatch.setenv("CLINIC", clinic.reader)
    expected = pytest.approx({"large": 50, "small": 50}, abs=5)
    keys = 'columns = { region = { keys = ["a", "b"] } }'
    assert counted(tc.open(policy(tmp_path, "${CLINIC}", people=keys))) == expected
    assert counted(tc.open("${CLINIC}", table="people", public={"regions": "${CLINIC}"}, **TERMS)) == expected
    assert counted(tc.open(clinic.reader, table="people", public={"regions": clinic.reader}, **TERMS)) == expected


def test_a_private_table_is_not_taken_for_a_public_one(
    clinic: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only table that the role may read is the private one; the public one is asked for by name."""
    monkeypatch.setenv("CLINIC", clinic.reader)
    with pytest.raises(InvalidError, match="'regions'") as caught:
        tc.open(policy(tmp_path, "${CLINIC}"))
    assert PASSWORD not in str(caught.value)


def test_a_public_table_of_another_name_is_given_as_a_pair(clinic: Database) -> None:
    with_regions(clinic)
    clinic.run("ALTER TABLE regions RENAME TO areas")
    public = {"regions": (clinic.reader, "public.areas")}
    opened = tc.open(clinic.reader, table="people", public=public, **TERMS)
    assert counted(opened) == pytest.approx({"large": 50, "small": 50}, abs=5)


@pytest.mark.parametrize(
    ("created", "option", "written"),
    [("people", None, "public.people"), ("people", "People", "public.people"), ('"Sales 1"."a.B"', None, None)],
)
def test_a_policy_to_fill_in_names_the_table_as_it_must_be_written(
    clinic: Database, monkeypatch: pytest.MonkeyPatch, created: str, option: str | None, written: str | None
) -> None:
    """With its schema, so that it stays the same table when another schema gets one of its name."""
    if created != "people":
        clinic.run(f'CREATE SCHEMA "Sales 1"; GRANT USAGE ON SCHEMA "Sales 1" TO {clinic.role}; DROP TABLE people')
        clinic.fill(created, {"id": "integer"}, [{"id": 1}])
    monkeypatch.setenv("CLINIC", clinic.reader)
    done = CliRunner().invoke(app, ["init", "${CLINIC}", *(["--table", option] if option else [])])
    assert done.exit_code == 0
    ((name, declared),) = tomllib.loads(done.stdout)["tables"].items()
    assert name == ("people" if created == "people" else "a.B")
    assert declared["table"] == (written or created)
    assert PASSWORD not in done.stdout
    opened = tc.open(
        clinic.reader, table=declared["table"], unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1)
    )
    opened.close()


def test_an_error_begins_with_the_table_of_the_policy(
    clinic: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_regions(clinic)
    clinic.run(f"GRANT INSERT ON regions TO {clinic.role}")
    monkeypatch.setenv("CLINIC", clinic.reader)
    with pytest.raises(NoSourceError, match=r"^public\.regions: .*role.* INSERT"):
        tc.open(policy(tmp_path, "${CLINIC}"))
    monkeypatch.setenv("CLINIC", clinic.reader.replace(PASSWORD, "wrong-hunter2").replace(clinic.role, "nobody"))
    with pytest.raises(SourceError, match=r"^tables\.people, public\.regions: The PostgreSQL server") as caught:
        tc.open(policy(tmp_path, "${CLINIC}"))
    assert "hunter2" not in str(caught.value)
