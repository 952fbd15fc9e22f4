"""Options and files of `tacit check`, `anonymize` and `attack` are checked before the search."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from cli_runs import Done, run
from tacit import anonymity

ROWS = """zip,age,disease
47677,29,Heart
47602,22,Heart
47678,27,Heart
47905,43,Flu
47909,52,Heart
47906,47,Cancer
"""
ZIPS = "".join(f"{row[:5]};{row[:3]}**;*\n" for row in ROWS.splitlines()[1:])
RULES = '[zip]\nkind = "table"\nfile = "zip.csv"\n[age]\nkind = "intervals"\nwidths = [10, 20]\n'
QUASI = ("--quasi", "zip", "--quasi", "age")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "patients.csv").write_text(ROWS)
    (tmp_path / "zip.csv").write_text(ZIPS)
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path


def refused(done: Done, *words: str, code: int = 2) -> None:
    assert (done.returncode, done.stdout) == (code, ""), (done.stdout, done.stderr)
    message = json.loads(done.stderr)["error"]["message"]
    assert all(word in message for word in words), message


def unsearched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every search fail, because the checks must come before it."""

    def search(*_: object, **__: object) -> None:
        pytest.fail("a search started")

    for name in ("anonymize", "check", "attack", "draft"):
        monkeypatch.setattr(anonymity, name, search)


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (("--out", "nowhere/out.csv"), "a folder that exists"),
        (("--out", "out.xlsx"), "ends in one of .csv"),
        (("--out", "."), "a folder that exists"),
        (("--out", ""), "a folder that exists"),
        (("--save", "nowhere/recoding"), "a folder that exists"),
        (("--chart", "nowhere/risk.svg"), "a folder that exists"),
        (("--out", "patients.csv", "--force"), "this command reads it"),
        (("--out", "./patients.csv", "--force"), "this command reads it"),
        (("--out", "patients.csv"), "this command reads it"),
        (("--out", "link.csv", "--force"), "this command reads it"),
        (("--out", "new.csv", "--save", "new.csv"), "Two outputs have the same file"),
        (("--out", "there.csv"), "already exists"),
        (("--save", "there.csv"), "already exists"),
        (("--chart", "there.json"), "already exists"),
        (("--hierarchies", "rules.toml", "--save", "rules.toml"), "this command reads it"),
        (("--hierarchies", "rules.toml", "--save", "rules.toml", "--force"), "this command reads it"),
        (("--hierarchies", "rules.toml", "--save", "zip.csv", "--force"), "this command reads it"),
        (("--hierarchies", "zip=zip.csv", "--save", "zip.csv", "--force"), "this command reads it"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_outputs_are_checked_before_the_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], fact: str
) -> None:
    (folder / "link.csv").symlink_to("patients.csv")
    (folder / "there.csv").write_text("mine")
    (folder / "there.json").write_text("mine")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    unsearched(monkeypatch)
    refused(run(folder, "anonymize", "patients.csv", "--quasi", "zip", "--k", "3", *words, "--json"), fact)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_files_that_exist_are_replaced_by_force(folder: Path) -> None:
    for name in ("out.csv", "recoding.json", "risk.json"):
        (folder / name).write_text("mine")
    files = ("--out", "out.csv", "--save", "recoding.json", "--chart", "risk.json", "--force")
    done = run(folder, "anonymize", "patients.csv", "--hierarchies", "rules.toml", "--k", "3", *files)
    assert done.returncode == 0, done.stderr
    assert (folder / "out.csv").read_text().startswith("zip,age\n")
    assert all((folder / name).read_text() != "mine" for name in ("recoding.json", "risk.json"))
    refused(run(folder, "check", "out.csv", "--quasi", "zip", "--chart", "risk.json", "--json"), "already exists")


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (("anonymize", *QUASI, "--k", "2", "--n", "4"), "without --t"),
        (("anonymize", *QUASI, "--k", "2", "--kind", "entropy"), "without --l"),
        (("anonymize", *QUASI, "--k", "2", "--c", "2"), "without --l"),
        (("anonymize", *QUASI, "--k", "2", "--method", "mondrian", "--suppression", "0.1"), "--method optimal"),
        (("anonymize", *QUASI, "--k", "2", "--method", "local", "--suppression", "0"), "--method optimal"),
        (("anonymize", *QUASI, "--k", "2", "--method", "mondrian", "--seconds", "1"), "does not search"),
        (("anonymize", *QUASI, "--k", "2", "--hierarchy-sep", ","), "COLUMN=FILE"),
        (
            ("anonymize", "--quasi", "age", "--k", "2", "--hierarchies", "rules.toml", "--hierarchies", "x=zip.csv"),
            "'x'",
        ),
        (("anonymize", *QUASI, "--draft", "--k", "2"), "with --draft"),
        (("anonymize", *QUASI, "--draft", "--out", "rules2.toml"), "with --draft"),
        (("attack", *QUASI, "--kind", "homogeneity", "--sensitive", "disease", "--factor", "3"), "--kind skewness"),
        (("attack", *QUASI, "--kind", "homogeneity", "--sensitive", "disease", "--excluded", "1"), "--kind background"),
        (
            ("attack", *QUASI, "--kind", "skewness", "--sensitive", "disease", "--groups", "zip.csv"),
            "--kind similarity",
        ),
        (
            ("attack", *QUASI, "--kind", "skewness", "--sensitive", "disease", "--outside", "zip.csv"),
            "--kind linkage",
        ),
        (("attack", *QUASI, "--kind", "similarity", "--sensitive", "age", "--hierarchies", "rules.toml"), "linkage"),
        (("attack", *QUASI, "--kind", "similarity", "--sensitive", "age", "--hierarchy-sep", ";"), "--groups"),
        (
            ("attack", *QUASI, "--kind", "background", "--sensitive", "disease", "--hierarchies", "rules.toml"),
            "without --outside",
        ),
        (("attack", *QUASI, "--kind", "guess", "--factor", "2"), "one of homogeneity"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_an_option_without_effect_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], fact: str
) -> None:
    unsearched(monkeypatch)
    refused(run(folder, words[0], "patients.csv", *words[1:], "--json"), fact)


@pytest.mark.parametrize(
    "words",
    [
        *(("--l", number) for number in ("inf", "-inf", "nan", "1e400", "0", "-3", "1e300")),
        *(("--t", number) for number in ("inf", "nan", "1e400", "-0.1", "1.1")),
        *(("--suppression", number) for number in ("inf", "nan", "1e400", "-1")),
        *(("--seconds", number) for number in ("inf", "nan", "1e400", "0", "-1")),
        *(("--l", "2", "--kind", "recursive", "--c", number) for number in ("inf", "nan", "1e400", "0")),
        *(("--l", number, "--kind", "entropy") for number in ("inf", "nan", "1e400")),
        ("--k", "9" * 400),
    ],
    ids=" ".join,
)
def test_numbers_out_of_range_are_refused(folder: Path, words: tuple[str, ...]) -> None:
    common = ("anonymize", "patients.csv", *QUASI, "--sensitive", "disease", "--k", "2")
    refused(run(folder, *common, *words, "--json"))


@pytest.mark.parametrize("number", ["inf", "nan", "1e400", "1", "-2"])
def test_a_factor_is_a_finite_number(folder: Path, number: str) -> None:
    words = ("attack", "patients.csv", *QUASI, "--kind", "skewness", "--sensitive", "disease", "--factor", number)
    refused(run(folder, *words, "--json"), "a number > 1")


@pytest.mark.parametrize(
    "words",
    [
        ("check", "nowhere.csv", *QUASI),
        ("check", "patients.csv", *QUASI, "--population", "nowhere.parquet"),
        ("check", ".", *QUASI),
        ("anonymize", "nowhere.csv", *QUASI, "--k", "2"),
        ("anonymize", "nowhere.csv", *QUASI, "--draft"),
        ("attack", "nowhere.csv", *QUASI, "--kind", "homogeneity", "--sensitive", "disease"),
        ("attack", "patients.csv", *QUASI, "--kind", "linkage", "--outside", "nowhere.csv"),
    ],
    ids=" ".join,
)
def test_a_missing_source_has_its_own_exit_code(folder: Path, words: tuple[str, ...]) -> None:
    refused(run(folder, *words, "--json"), code=4)


def test_an_empty_table_has_no_k(folder: Path) -> None:
    (folder / "none.csv").write_text("zip,age,disease\n")
    words = ("check", "none.csv", "--quasi", "zip", "--sensitive", "disease")
    done = run(folder, *words)
    assert done.returncode == 0
    assert "The table has no rows" in done.stdout
    assert "k = " not in done.stdout
    report = json.loads(run(folder, *words, "--json").stdout)
    assert (report["rows"], report["k"], report["risk"]["prosecutor"]) == (0, None, None)
    assert report["sensitive"]["disease"]["distinct_l"] is None
    (folder / "bare.csv").write_text("")
    refused(run(folder, "check", "bare.csv", "--quasi", "zip", "--json"), "is an empty file")


@pytest.mark.parametrize(
    ("text", "sep"),
    [
        ("zip;age;disease\n1;2;3\n4;5;6\n", ","),
        ("zip,age\n1,2\n1,2,3\n4\n", None),
        ("zip,age\n1,2\n1,2,3\n4\n", ","),
    ],
    ids=["another sign", "ragged", "ragged, with its sign"],
)
def test_a_table_that_is_read_wrongly_gets_a_hint_at_the_separator(folder: Path, text: str, sep: str | None) -> None:
    (folder / "odd.csv").write_text(text)
    option = () if sep is None else ("--sep", sep)
    refused(
        run(folder, "check", "odd.csv", "--quasi", "zip", *option, "--json"),
        "--sep",
        "All rows must have the same number of cells",
    )
    refused(run(folder, "anonymize", "odd.csv", "--quasi", "zip", "--k", "1", *option, "--json"), "--sep")
    refused(run(folder, "anonymize", "odd.csv", "--quasi", "zip", "--draft", *option, "--json"), "--sep")


def test_columns_in_one_option_get_a_hint_to_repeat_it(folder: Path) -> None:
    hint = "repeat the option: --quasi zip --quasi age"
    refused(run(folder, "anonymize", "patients.csv", "--quasi", "zip,age", "--k", "2", "--json"), "'zip,age'", hint)
    refused(run(folder, "check", "patients.csv", "--quasi", "zip,age", "--json"), "'zip,age'", hint)
    other = run(folder, "check", "patients.csv", "--quasi", "zipp", "--json")
    refused(other, "Did you mean 'zip'?")
    assert "repeat" not in other.stderr


def test_a_separator_for_no_csv_file_is_refused(folder: Path) -> None:
    words = ("anonymize", "patients.csv", "--hierarchies", "rules.toml", "--k", "3", "--out", "out.parquet")
    assert run(folder, *words).returncode == 0
    assert "k = 3" in run(folder, "check", "out.parquet", *QUASI).stdout
    refused(run(folder, "check", "out.parquet", *QUASI, "--sep", ",", "--json"), "--sep", "without a CSV file")


def test_a_missing_option_is_named(folder: Path) -> None:
    for words in (("--l", "2"), ("--t", "0.5")):
        refused(run(folder, "anonymize", "patients.csv", *QUASI, *words, "--json"), "--sensitive")
    refused(run(folder, "anonymize", "patients.csv", "--k", "2", "--json"), "--quasi", "--hierarchies")
    refused(run(folder, "anonymize", "patients.csv", "--draft", "--json"), "--quasi")
    similar = ("attack", "patients.csv", *QUASI, "--kind", "similarity", "--sensitive", "disease", "--json")
    refused(run(folder, *similar), "--groups")


def test_a_draft_is_printed_as_json(folder: Path) -> None:
    report = json.loads(run(folder, "anonymize", "patients.csv", "--quasi", "zip", "--draft", "--json").stdout)
    assert 'kind = "mask"' in report["hierarchies"]


URL = "postgresql://reader:hunter2@/clinic?host=/run/none"


@pytest.mark.parametrize(
    "words",
    [
        ("anonymize", URL, *QUASI, "--k", "3"),
        ("anonymize", URL, *QUASI, "--draft"),
        ("anonymize", "patients.csv", *QUASI, "--k", "3", "--out", URL),
        ("anonymize", "patients.csv", *QUASI, "--k", "3", "--save", URL),
        ("anonymize", "patients.csv", *QUASI, "--k", "3", "--hierarchies", URL),
        ("anonymize", "patients.csv", *QUASI, "--k", "3", "--hierarchies", f"zip={URL}"),
        ("attack", URL, "--kind", "homogeneity", *QUASI, "--sensitive", "disease"),
        ("attack", "patients.csv", "--kind", "linkage", *QUASI, "--outside", URL),
        ("check", "patients.csv", *QUASI, "--population", URL),
        ("check", "patients.csv", *QUASI, "--chart", URL),
        ("check", "s3://reader:hunter2@bucket/visits.csv", *QUASI),
        ("check", "host=db user=reader password=hunter2", *QUASI),
    ],
)
def test_no_command_shows_a_password(folder: Path, words: tuple[str, ...]) -> None:
    done = run(folder, *words, "--json")
    refused(done)
    assert "hunter2" not in done.stderr
    assert "reader" not in done.stderr


@pytest.mark.parametrize(("table", "named"), [("patients.csv", "zip"), ("two.duckdb", "visit"), ("two.duckdb", None)])
def test_the_table_of_a_database_is_called_by_its_option(folder: Path, table: str, named: str | None) -> None:
    with duckdb.connect(str(folder / "two.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS zip; CREATE TABLE others AS SELECT 1 AS zip")
    words = () if named is None else ("--table", named)
    done = run(folder, "check", table, "--quasi", "zip", *words, "--json")
    refused(done, "--table", "no effect" if table == "patients.csv" else "'others', 'visits'")
    assert "policy" not in done.stderr


@pytest.mark.parametrize("command", [("check",), ("anonymize", "--k", "3")])
def test_a_policy_file_is_no_table(folder: Path, command: tuple[str, ...]) -> None:
    (folder / "policy.toml").write_text('source = "patients.csv"\nunit = "zip"\n')
    done = run(folder, *command, "policy.toml", "--quasi", "zip", "--json")
    refused(done, "'policy.toml'", "Give the source that the policy names", "--table")
