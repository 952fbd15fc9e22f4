"""Export and import: an equal ledger, from either store to either."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ledgers import ONE, Site, Sites, again, ask
from tacit.errors import LedgerError
from tacit.guarantees.values import PureDP
from tacit.ledger.backup import export, load
from tacit.ledger.open_ledger import open_ledger, read_ledger
from tacit.ledger.records import canonical
from tacit.ledger.replay import verify


def written(site: Site) -> list[str]:
    """Return the lines of a ledger with some history."""
    ledger = site.open(analysts={"Ann ü": PureDP(epsilon=0.5)}, version="v1")
    first = ledger.charge(again("a"))
    ledger.finish(first.number, "answered", '[7, "ü\u2028"]\n')
    ledger.charge(ask(question="SELECT 'ü\u2028\x85\ud800'\n", analyst="bob"))
    return list(export(ledger))


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_an_import_is_an_equal_ledger(site: Site, sites: Sites, target: str) -> None:
    lines = "\n".join(written(site)).splitlines()  # no line contains a line break
    location = sites(target).location
    report = load([*lines, "", "\n"], location)
    assert (report.holds, report.records) == (True, 6)
    one, two = read_ledger(site.location), read_ledger(location)
    assert one.records() == two.records()
    assert one.derived().keys() == two.derived().keys()
    for name, rows in one.derived().items():
        assert sorted(map(canonical, rows)) == sorted(map(canonical, two.derived()[name]))
    assert one.entries() == two.entries()
    moved = open_ledger(location, ONE, "add/remove", version="v1")
    assert moved.charge(again("a")).answer == '[7, "ü\u2028"]\n'  # the repeat is still free
    assert moved.charge(ask()).number == 6
    assert verify(moved).holds
    for ledger in (one, two, moved):
        ledger.close()


def test_an_import_needs_an_empty_place(site: Site, sites: Sites, tmp_path: Path) -> None:
    lines = written(site)
    with pytest.raises(LedgerError, match=r"already exists.*Nothing was written"):
        load(lines, site.location)
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes, too long to look like a database " * 100)
    with pytest.raises(LedgerError, match="another format"):
        load(lines, notes)
    assert notes.read_text().startswith("my notes")
    foreign = sites("sqlite")
    foreign.run("CREATE TABLE mine (x)")
    with pytest.raises(LedgerError, match="already"):
        load(lines, foreign.location)


def test_lines_that_are_not_what_was_exported_are_refused_and_leave_nothing(sites: Sites, tmp_path: Path) -> None:
    lines = written(sites("sqlite"))
    first = json.loads(lines[0])
    swapped = [*lines[:1], lines[2], lines[1], *lines[3:]]
    bad = {
        "cut off": (lines[:-1], "lines are missing"),
        "cut off further": (lines[:-2], "lines are missing"),
        "one missing": ([*lines[:2], *lines[3:]], "lines are missing"),
        "none": ([], "lines are missing"),
        "two swapped": (swapped, "at record 1"),
        "a letter": ([line.replace("bob", "bot") for line in lines], "at record 5"),
        "more": ([*lines, lines[0]], "Line 8 comes after the end"),
        "no JSON": (["secret"], "Line 1 is not a ledger record"),
        "deep": (["[" * 100_000], "Line 1 is not a ledger record"),
        "a list": (["[1]"], "Line 1 is not a ledger record"),
        "no number": ([canonical({**first, "number": "0"})], "Line 1 is not a ledger record"),
        "a truth": ([canonical({**first, "number": False})], "Line 1 is not a ledger record"),
        "no body": ([canonical({**first, "body": {}})], "Line 1 is not a ledger record"),
        "newer": ([canonical({**first, "format": 4})], "another version of tacit"),
    }
    location = tmp_path / "new.ledger"
    for what, (given, why) in bad.items():
        with pytest.raises(LedgerError, match=why) as caught:
            load(given, location)
        assert "Nothing was written" in str(caught.value), what
        assert "secret" not in str(caught.value)
        assert not location.exists()


def test_an_export_that_is_not_read_to_its_end_holds_nobody_up(site: Site) -> None:
    written(site)
    ledger = site.open(version="v1")
    lines = export(ledger)
    next(lines)
    assert ledger.charge(ask()).answer is None
    lines.close()
