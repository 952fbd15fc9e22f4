"""Linkage finds every person of a table that tacit published, or notes that it may not."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

import tacit as tc
from tacit.anonymity.hierarchies import HierarchyRule
from tacit.anonymity.linkage import covers
from tacit.anonymity.tables import read
from tacit.errors import InvalidError


def linkage(published: object, outside: dict[str, list[Any]], **ask: Any) -> tc.anonymity.Attack:  # noqa: ANN401 - any
    (name,) = outside
    return tc.anonymity.attack(published, kind="linkage", quasi=[name], sensitive="d", outside=outside, **ask)


@pytest.mark.parametrize(
    "parts", [["month"], ["quarter"], ["year"], ["decade"], ["month", "quarter", "year", "decade"]]
)
def test_days_are_found_in_months_quarters_years_and_decades(parts: list[str]) -> None:
    """1980-01 was read as the range [1980, 1] and 1980 as a number, so nobody fell."""
    born = ["1980-01-05", "1980-01-20", "1991-03-03", "1991-03-09"]
    rows = {"born": born, "d": ["a", "a", "b", "b"]}
    out = tc.anonymity.anonymize(
        rows, quasi={"born": tc.anonymity.dates(parts)}, sensitive="d", require=tc.KAnonymity(2)
    )
    found = linkage(out.table, {"born": born})
    assert (found.fallen, found.notes) == (4, ())


def test_short_values_are_found_under_their_masks() -> None:
    rows = {"zip": ["476", "4767", "52101", "5210"], "d": ["a", "a", "b", "b"]}
    out = tc.anonymity.anonymize(rows, quasi={"zip": tc.anonymity.mask(5)}, sensitive="d", require=tc.KAnonymity(2))
    assert {*read(out.table).column("zip").texts} == {"47***", "52***"}
    assert linkage(out.table, {"zip": ["476", "4767", "52101", "5210"]}).fallen == 4


def test_a_label_of_two_numbers_may_be_no_range_and_that_is_said() -> None:
    """Groups in another order were read as ranges of numbers, and nobody fell, without a note."""
    order = tc.anonymity.ordered(["1", "9", "2", "8"], [2])
    rows = {"lvl": ["1", "9", "2", "8"], "d": ["a", "a", "b", "b"]}
    out = tc.anonymity.anonymize(rows, quasi={"lvl": order}, sensitive="d", require=tc.KAnonymity(2))
    guessed = linkage(out.table, {"lvl": ["2"]})
    assert guessed.fallen == 0
    assert "2 of 2 published values of lvl name two ends" in guessed.notes[0]
    sure = linkage(out.table, {"lvl": ["2"]}, hierarchies={"lvl": order})
    assert (sure.fallen, sure.notes) == (1, ())


def test_values_that_cannot_be_compared_give_a_note_or_an_error() -> None:
    published = {"age": ["[20, 30)", "[20, 30)"], "d": ["a", "a"]}
    with pytest.raises(InvalidError, match="'age'") as refused:
        linkage(published, {"age": ["1980-01-05"]})
    assert refused.value.argument == "hierarchies"
    found = linkage(published, {"age": ["25", "unknown"]})
    assert found.fallen == 1
    assert "1 of 2 outside values of age could not be compared" in found.notes[0]
    assert linkage(published, {"age": ["25", "99", None]}).notes == ()


@pytest.mark.parametrize(
    ("published", "raw", "fits"),
    [
        ("1980", "1980-01-05", True),
        ("1980", "1981-01-05", False),
        ("1980-Q1", "1980-03-31", True),
        ("1980-Q1", "1980-04-01", False),
        ("1980s", "1989-12-31", True),
        ("1980s", "1990-01-01", False),
        ("1980s", "1984", True),
        ("1980-12", "1980-12-31", True),
        ("1980-1984", "1984-02-03", True),
        ("1980-01", "1980", True),  # the attacker knows only the year
        ("1980-01-05", "1980-01-05T10:00:00", True),
        ("1980-13", "1980-12-31", False),
        ("20-39", "39", True),
        ("39-20", "30", False),
        ("[20, 30)", "30", False),
        ("9 … 1", "5", True),
        ("47***", "476", True),
        ("47***", "47", False),
        ("47***", "48", False),
        ("4767*", "476", False),
        ("*****", "4", True),
        ("47*", "4767", False),
    ],
)
def test_any_reading_that_fits_does(published: str, raw: str, fits: bool) -> None:  # noqa: FBT001 - a case
    assert covers(published, raw) is fits


RULES: dict[str, HierarchyRule] = {
    "mask": tc.anonymity.mask(5),
    "dates": tc.anonymity.dates(),
    "intervals": tc.anonymity.intervals([7, 14, 140], start=3),
    "ordered": tc.anonymity.ordered([str(place) for place in range(-3, 20)], [2, 6]),
    "suppress": tc.anonymity.suppress(),
}


def drawn(kind: str, rng: np.random.Generator) -> str:
    if kind == "dates":
        return str(date(1979, 12, 20) + timedelta(days=int(rng.integers(0, 900))))
    if kind == "mask":
        return "".join(rng.choice(list("01a"), int(rng.integers(1, 8))))
    return str(rng.integers(-3, 20))


@pytest.mark.parametrize("kind", RULES)
def test_every_label_of_every_rule_covers_its_own_values_without_the_rule(kind: str) -> None:
    rng = np.random.default_rng(3)
    values = tuple(dict.fromkeys(drawn(kind, rng) for _ in range(150)))
    tree = RULES[kind].over(values)
    wrong = [(label, row[0]) for row in tree.rows for label in row if not covers(label, row[0])]
    assert wrong == []
    if kind in {"dates", "intervals"}:  # and does not cover other values
        others = [
            (low[level], high[0])
            for level in range(tree.height)
            for low in tree.rows
            for high in tree.rows
            if low[level] != high[level] and covers(low[level], high[0])
        ]
        assert others == []
