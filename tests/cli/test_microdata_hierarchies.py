"""Hierarchies of `tacit anonymize` and `attack`: TOML files, files in ARX's format, and invalid files."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

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


@pytest.mark.parametrize("sep", [";", ",", "\t", "|"])
def test_a_hierarchy_comes_from_a_file_as_arx_writes_it(folder: Path, sep: str) -> None:
    (folder / "zip.csv").write_text(ZIPS.replace(";", sep))
    option = {"\t": ("--hierarchy-sep", "\\t"), ";": ()}.get(sep, ("--hierarchy-sep", sep))
    words = ("anonymize", "patients.csv", "--hierarchies", "zip=zip.csv", "--k", "3")
    done = run(folder, *words, *option, "--out", "out.csv")
    assert done.returncode == 0, done.stderr
    assert {row["zip"] for row in csv.DictReader(StringIO((folder / "out.csv").read_text()))} == {"476**", "479**"}
    if sep != ";":
        refused(run(folder, *words, "--json"), "has no ';'", "--hierarchy-sep")


def test_a_hierarchy_comes_from_a_file_that_toml_names(folder: Path) -> None:
    (folder / "rules").mkdir()
    (folder / "rules" / "zip.csv").write_text(ZIPS.replace(";", "|"))
    (folder / "rules" / "all.toml").write_text(RULES.replace('"zip.csv"', '"zip.csv"\nsep = "|"'))
    words = (
        "anonymize",
        "patients.csv",
        "--hierarchies",
        "rules/all.toml",
        "--k",
        "3",
        "--method",
        "optimal",
        "--json",
    )
    assert json.loads(run(folder, *words).stdout)["levels"] == {"zip": 1, "age": 2}
    for sep in ('"||"', "7", '""'):
        (folder / "rules" / "all.toml").write_text(RULES.replace('"zip.csv"', f'"zip.csv"\nsep = {sep}'))
        refused(run(folder, *words), "zip.csv")


@pytest.mark.parametrize(
    ("rule", "fact"),
    [
        ('kind = "magic"', "one of the kinds"),
        ("width = 5", "one of the kinds"),
        ('kind = ["mask"]', "one of the kinds"),
        ('kind = "mask"', "width, character"),
        ('kind = "mask"\nwidth = 5\ncharcter = "#"', "charcter"),
        ('kind = "mask"\nwidth = 1000000000', "below 1,000"),
        ('kind = "mask"\nwidth = 5\ncharacter = 7', "one character"),
        ('kind = "intervals"\nwidths = [1e400]', "finite numbers"),
        ('kind = "intervals"\nwidths = ["1e999999999"]', "finite numbers"),
        ('kind = "intervals"\nwidths = ["1/0"]', "finite numbers"),
        ('kind = "intervals"\nwidths = [1]\nstart = nan', "finite numbers"),
        ('kind = "intervals"\nwidths = 7', "widths, start"),
        ('kind = "ordered"\norder = ["a"]\nsizes = 2', "order, sizes"),
        ('kind = "suppress"\nwidth = 5', "no fields"),
        ('kind = "table"', "rows, file, sep"),
        ('kind = "table"\nfile = "nowhere.csv"', "does not exist"),
        ('kind = "table"\nfile = "."', "Cannot read"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_in_words(folder: Path, rule: str, fact: str) -> None:
    (folder / "rules.toml").write_text(f"[zip]\n{rule}\n")
    refused(run(folder, "anonymize", "patients.csv", "--hierarchies", "rules.toml", "--k", "3", "--json"), fact)


@pytest.mark.parametrize(
    ("files", "fact"),
    [
        (("zip=nowhere.csv",), "'nowhere.csv': it does not exist"),
        (("nowhere.toml",), "COLUMN=FILE"),
        (("zip.csv",), "COLUMN=FILE"),
        (("zip=binary",), "Cannot read 'binary'"),
        (("zip=.",), "Cannot read '.'"),
        (("zip=",), "hierarchy"),
        (("rules.toml", "zip=zip.csv"), "two hierarchies for 'zip'"),
        (("zip=zip.csv", "zip=zip.csv"), "two hierarchies for 'zip'"),
        (("age=zip.csv",), "'29', '22'"),
    ],
    ids=lambda files: " ".join(files) if isinstance(files, tuple) else "",
)
def test_hierarchies_that_cannot_be_are_refused_in_words(folder: Path, files: tuple[str, ...], fact: str) -> None:
    (folder / "binary").write_bytes(b"\xff\xfe\x00;\x00")
    words = [word for file in files for word in ("--hierarchies", file)]
    refused(run(folder, "anonymize", "patients.csv", *words, "--k", "3", "--json"), fact)


def test_groups_are_read_with_their_separator(folder: Path) -> None:
    groups = "Heart,body,*\nCancer,body,*\nFlu,cold,*\n"
    (folder / "groups.csv").write_text(groups)
    words = ("attack", "patients.csv", "--quasi", "disease", "--kind", "similarity", "--sensitive", "zip", "--groups")
    refused(run(folder, *words, "groups.csv", "--json"), "has no ';'")
    words = ("attack", "patients.csv", "--quasi", "zip", "--kind", "similarity", "--sensitive", "disease", "--groups")
    assert "6 of 6" in run(folder, *words, "groups.csv", "--hierarchy-sep", ",").stdout
    (folder / "flat.csv").write_text("Heart;*\nCancer;*\nFlu;*\n")
    refused(run(folder, *words, "flat.csv", "--json"), "no groups")


def test_a_draft_of_parts_is_saved_and_read_again(tmp_path: Path) -> None:
    drafted = anonymity.draft({"x": [n / 64 for n in range(40)]}, ["x"])
    assert "1/2" in str(drafted) or "Fraction(1, 2" in str(drafted)
    anonymity.save(drafted, tmp_path / "rules.toml")
    assert anonymity.load(tmp_path / "rules.toml") == drafted
