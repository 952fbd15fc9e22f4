"""`${NAME}` in a table of `tacit check`, `anonymize` and `attack`: filled in from the environment, and never shown."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from cli_runs import run
from tacit.cli.microdata_sources import filling, unfilled
from tacit.engines.source import Source
from tacit.errors import InvalidError, NoSourceError, RefusedError

ROWS = "zip,age,disease\n47677,29,Heart\n47602,22,Heart\n47677,29,Flu\n47602,22,Flu\n"
SECRET = "hunter2_ward"  # noqa: S105 - of nobody


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / SECRET).mkdir()
    (tmp_path / SECRET / "patients.csv").write_text(ROWS)
    return tmp_path


TABLE = "${WARD}/patients.csv"
COMMANDS = [
    ("check", TABLE, "--quasi", "zip", "--population", TABLE),
    ("anonymize", TABLE, "--quasi", "zip", "--draft"),
    ("anonymize", TABLE, "--quasi", "zip", "--k", "2"),
    ("attack", TABLE, "--kind", "homogeneity", "--quasi", "zip", "--sensitive", "disease"),
    ("attack", TABLE, "--kind", "linkage", "--outside", TABLE, "--quasi", "zip", "--sensitive", "disease"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_variables_are_filled_in(folder: Path, words: tuple[str, ...]) -> None:
    done = run(folder, *words, WARD=SECRET)
    plain = run(folder, *(word.replace("${WARD}", SECRET) for word in words))
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == sorted(plain.stdout.splitlines())  # rows are shuffled
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_variable_that_is_not_set_is_named(folder: Path, words: tuple[str, ...], more: tuple[str, ...]) -> None:
    done = run(folder, *words, *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert "environment variable WARD, not set or empty" in done.stderr


def wrong(folder: Path, name: str, content: bytes) -> None:
    (folder / SECRET / name).write_bytes(content)


@pytest.mark.parametrize("command", ["check", "anonymize", "attack"])
@pytest.mark.parametrize(
    ("name", "quasi"),
    [
        ("missing.csv", "zip"),
        ("empty.csv", "zip"),
        ("patients.csv", "zap"),
        ("bytes.parquet", "zip"),
        ("semicolons.csv", "zip"),
        ("one.duckdb", "zap"),
        ("several.duckdb", "zip"),
        ("gone.duckdb", "zip"),
        ("policy.toml", "zip"),
        ("", "zip"),
    ],
)
def test_no_error_shows_a_value(folder: Path, command: str, name: str, quasi: str) -> None:
    wrong(folder, "empty.csv", b"")
    wrong(folder, "bytes.parquet", b"PAR1 no")
    wrong(folder, "semicolons.csv", b"zip;age\n1;2\n")
    wrong(folder, "policy.toml", b"budget = 1\n")
    for file, tables in (("one", 1), ("several", 2)):
        with duckdb.connect(folder / SECRET / f"{file}.duckdb") as connection:
            for table in range(tables):
                connection.execute(f"CREATE TABLE t{table} AS SELECT 1 AS zip")
    more = {
        "check": ("--sensitive", "disease"),
        "anonymize": ("--k", "2"),
        "attack": ("--kind", "homogeneity", "--sensitive", "disease"),
    }[command]
    for written in (f"${{WARD}}/{name}", "${WHOLE}", f"./${{WARD}}//{name}"):
        values = {"WARD": SECRET, "WHOLE": f"{SECRET}/{name}"}
        done = run(folder, command, written, "--quasi", quasi, *more, "--json", **values)
        assert done.returncode in (2, 4), done.stderr
        told = json.loads(done.stderr)["error"]["message"]
        assert SECRET not in told
        assert f"{name}'" not in told or "${WHOLE}" not in written or not name


@pytest.mark.parametrize("command", ["check", "anonymize"])
def test_a_password_of_a_url_is_filled_in_and_not_shown(folder: Path, command: str) -> None:
    url = "postgresql://${NOBODY}:${PASSWORD}@127.0.0.1:1/clinic"
    more = ("--table", "patients") if command == "check" else ("--k", "2")
    done = run(folder, command, url, "--quasi", "zip", *more, NOBODY="reader_of_all", PASSWORD=SECRET)
    assert done.returncode in (2, 4)
    assert SECRET not in done.stderr
    assert "reader_of_all" not in done.stderr


def test_what_is_written_stands_in_the_place_of_a_source_however_it_is_shown() -> None:
    long = "x" * 90
    whole = Source(source=f"/{long}/{long}", written="/${LONG}/${LONG}")
    assert long[:40] not in unfilled(f"{f'/{long}'[:60]!r}… (182 characters)", whole)
    quoted = Source(source="it's/a.csv", written="${FOLDER}/a.csv")
    assert unfilled(f"{str(quoted.source)!r}, which is no file", quoted) == '"${FOLDER}/a.csv", which is no file'
    url = Source(source="postgresql://ann:pw@db/clinic", written="${URL}")
    assert unfilled("'postgresql://ann:…@db/clinic' (text)", url) == "'${URL}' (text)"


def test_a_short_value_is_replaced_where_it_is_a_name_and_words_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T", "at")
    one = Source(source="spark:at", written="spark:${T}")
    assert unfilled("look at it: no table 'at' in that place", one) == "look at it: no table '${T}' in that place"


def test_an_error_keeps_its_kind_and_its_parts_are_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARD", SECRET)
    with filling("${WARD}.csv") as (table, other):
        assert (table, other) == (f"{SECRET}.csv", None)
    with pytest.raises(NoSourceError) as caught, filling("${WARD}.csv"):
        raise NoSourceError(f"{table!r}, which does not exist", "a file")
    assert caught.value.got == "'${WARD}.csv', which does not exist"
    assert str(caught.value) == (
        "The source is '${WARD}.csv', which does not exist; nothing was read or spent. It must be a file."
    )
    with pytest.raises(RefusedError, match=r"no table \${WARD}"), filling("a.csv", "${WARD}"):
        raise RefusedError(f"no table {SECRET}")
    with pytest.raises(InvalidError, match="'hunter2_ward'"), filling("a.csv"):
        raise InvalidError("x", repr(SECRET), "y")
