"""Tables of rows from the command line: checked, drafted, recoded, attacked."""

from __future__ import annotations

import csv
import json
from contextlib import AbstractContextManager, nullcontext
from io import StringIO
from pathlib import Path

import pytest

from cli_runs import run
from tacit.anonymity import candidates

ROWS = """zip,age,disease
47677,29,Heart
47602,22,Heart
47678,27,Heart
47905,43,Flu
47909,52,Heart
47906,47,Cancer
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "patients.csv").write_text(ROWS)
    return tmp_path


def test_a_table_is_checked(folder: Path) -> None:
    done = run(folder, "check", "patients.csv", "--quasi", "zip", "--sensitive", "disease", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["k"], report["sensitive"]["disease"]["distinct_l"]) == (0, 1, 1)
    assert "k = 1" in run(folder, "check", "patients.csv", "--quasi", "zip").stdout


def test_hierarchies_are_drafted_edited_and_used(folder: Path) -> None:
    drafted = run(folder, "anonymize", "patients.csv", "--quasi", "zip", "--quasi", "age", "--draft")
    assert 'kind = "mask"' in drafted.stdout
    (folder / "rules.toml").write_text(
        '[zip]\nkind = "mask"\nwidth = 5\n[age]\nkind = "intervals"\nwidths = [10, 20]\n'
    )
    common = ("anonymize", "patients.csv", "--hierarchies", "rules.toml", "--sensitive", "disease", "--k", "3")
    best = json.loads(run(folder, *common, "--json").stdout)
    assert best["method"] == "local"
    assert {search["method"] for search in best["searches"]} == {"optimal", "local", "mondrian"}
    assert best["measures"]["loss_geometric"] == best["loss"]
    optimal = (*common, "--method", "optimal")
    done = run(folder, *optimal)
    rows = list(csv.DictReader(StringIO(done.stdout)))
    assert {(row["zip"], row["age"]) for row in rows} == {("476**", "[20, 40)"), ("479**", "[40, 60)")}
    assert "proved best" in done.stderr
    summary = json.loads(run(folder, *optimal, "--out", "out.csv", "--save", "recoding.json", "--json").stdout)
    assert (summary["levels"], summary["optimal"]) == ({"zip": 2, "age": 2}, True)
    assert (folder / "recoding.json").exists()
    fallen = run(
        folder,
        "attack",
        "out.csv",
        "--kind",
        "homogeneity",
        "--quasi",
        "zip",
        "--quasi",
        "age",
        "--sensitive",
        "disease",
    )
    assert "3 of 6 rows fall" in fallen.stdout
    ruled = run(
        folder, "attack", "out.csv", "--kind", "background", "--quasi", "zip", "--sensitive", "disease",
        "--excluded", "1", "--json",
    )  # fmt: skip
    assert json.loads(ruled.stdout)["fallen"] == 3


def test_the_table_of_the_notes_takes_one_command(folder: Path) -> None:
    done = run(
        folder, "anonymize", "patients.csv", "--quasi", "zip", "--quasi", "age", "--sensitive", "disease", "--k", "3"
    )
    rows = [(row["zip"], row["age"]) for row in csv.DictReader(StringIO(done.stdout))]
    assert sorted(rows) == [("476**", "[22, 29]")] * 3 + [("4790*", "[43, 52]")] * 3


def test_what_cannot_be_is_refused_in_words(folder: Path) -> None:
    assert run(folder, "anonymize", "patients.csv", "--quasi", "zip").returncode == 2
    done = run(folder, "anonymize", "patients.csv", "--quasi", "zip", "--k", "9", "--json")
    assert (done.returncode, "at most 6-anonymity" in json.loads(done.stderr)["error"]["message"]) == (2, True)


def test_the_work_of_every_method_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def bar(title: str, *, measured: bool = True) -> AbstractContextManager[None]:
        shown.append(f"{title}{' …' * (not measured)}")
        return nullcontext()

    monkeypatch.setattr(candidates, "progress_bar", bar)
    for method in ("optimal", "mondrian", "best"):
        common = ("anonymize", "patients.csv", "--quasi", "zip", "--quasi", "age", "--k", "2", "--method", method)
        assert run(folder, *common).returncode == 0
    lattice, mondrian, local = "Searching the lattice", "Recoding by mondrian …", "Recoding by local …"
    assert shown == [lattice, mondrian, mondrian, lattice, local]


def test_a_linkage_that_cannot_compare_says_so(folder: Path) -> None:
    words = ("attack", "published.csv", "--kind", "linkage", "--outside", "patients.csv", "--quasi", "zip")
    (folder / "published.csv").write_text("zip,disease\nnorth,Flu\nnorth,Heart\n")
    done = run(folder, *words)
    assert (done.returncode, done.stdout, "hierarchies" in done.stderr) == (2, "", True)
    (folder / "published.csv").write_text("zip,disease\nnorth,Flu\n47602,Heart\n")
    done = run(folder, *words)
    assert done.stdout.startswith("linkage: 1 of 6 rows fall")
    assert "1 of 2 published values of zip could not be compared" in done.stdout
    assert "--hierarchies" in done.stdout
    assert len(json.loads(run(folder, *words, "--json").stdout)["notes"]) == 1
