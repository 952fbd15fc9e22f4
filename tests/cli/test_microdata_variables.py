"""`${NAME}` in a table of `tacit check`, `anonymize` and `attack`: filled in from the environment, and never shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from cli_runs import run
from tacit.anonymity.tables import read
from tacit.cli.microdata_files import unfilled, with_variables
from tacit.errors import InvalidError, NoSourceError, RefusedError, UnreadableFileError

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
    assert "environment variable WARD" in done.stderr


def write(folder: Path, name: str, content: bytes) -> None:
    (folder / SECRET / name).write_bytes(content)


@pytest.mark.sampled(3)
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
    write(folder, "empty.csv", b"")
    write(folder, "bytes.parquet", b"PAR1 no")
    write(folder, "semicolons.csv", b"zip;age\n1;2\n")
    write(folder, "policy.toml", b"budget = 1\n")
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
        message = json.loads(done.stderr)["error"]["message"]
        assert SECRET not in message
        assert f"{name}'" not in message or "${WHOLE}" not in written or not name


@pytest.mark.parametrize("command", ["check", "anonymize"])
def test_a_password_of_a_url_is_filled_in_and_not_shown(folder: Path, command: str) -> None:
    url = "postgresql://${NOBODY}:${PASSWORD}@127.0.0.1:1/clinic"
    more = ("--table", "patients") if command == "check" else ("--k", "2")
    done = run(folder, command, url, "--quasi", "zip", *more, NOBODY="reader_of_all", PASSWORD=SECRET)
    assert done.returncode in (2, 4)
    assert SECRET not in done.stderr
    assert "reader_of_all" not in done.stderr


def test_a_source_is_replaced_in_every_spelling() -> None:
    long = "x" * 90
    cut = f"{f'/{long}'[:60]!r}… (182 characters)"
    assert long[:40] not in unfilled(cut, f"/{long}/{long}", "/${LONG}/${LONG}")
    quoted = "it's/a.csv"
    assert unfilled(f"{quoted!r} is not a file", quoted, "${FOLDER}/a.csv") == '"${FOLDER}/a.csv" is not a file'
    url = "postgresql://ann:pw@db/clinic"
    assert unfilled("'postgresql://ann:…@db/clinic' (text)", url, "${URL}") == "'${URL}' (text)"


def test_a_short_value_is_replaced_as_a_name_but_not_as_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T", "at")
    text = unfilled("at most: no table 'at' at this source", "spark:at", "spark:${T}")
    assert text == "at most: no table '${T}' at this source"


def raising(error: Exception) -> Callable[[str, str | None], None]:
    def action(_path: str, _other: str | None) -> None:
        raise error

    return action


def test_a_redacted_error_keeps_its_class_and_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARD", SECRET)
    assert with_variables(lambda *paths: paths, "${WARD}.csv") == (f"{SECRET}.csv", None)
    table = f"{SECRET}.csv"
    missing = NoSourceError(f"The file {table!r} does not exist.", hint=f"Check {table!r}.")
    with pytest.raises(NoSourceError) as caught:
        with_variables(raising(missing), "${WARD}.csv")
    error = caught.value
    assert error.message == "The file '${WARD}.csv' does not exist."
    assert (error.argument, error.hint) == ("source", "Check '${WARD}.csv'.")
    with pytest.raises(UnreadableFileError) as unreadable:
        with_variables(raising(UnreadableFileError(table, "it is not a CSV file.")), "${WARD}.csv")
    assert unreadable.value.path == "${WARD}.csv"
    assert unreadable.value.__cause__ is None
    with pytest.raises(RefusedError, match=r"no table \${WARD}"):
        with_variables(raising(RefusedError(f"no table {SECRET}")), "a.csv", "${WARD}")
    with pytest.raises(InvalidError, match="'hunter2_ward'"):
        with_variables(raising(InvalidError(f"x is {SECRET!r}.")), "a.csv")


def test_the_context_of_a_redacted_error_has_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    with pytest.raises(UnreadableFileError) as caught:
        with_variables(lambda path, _: read(path), "/x/${SECRET}/t.csv")
    assert "${SECRET}" in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert "hunter2" not in str(error) + str(vars(error))
        error = error.__context__
