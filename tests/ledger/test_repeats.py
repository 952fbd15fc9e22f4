"""Repeating a query is free. A new version of the data ends that, but not the spending."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ledgers import Site, again, ask
from tacit.errors import BudgetError, InvalidError, RefusedError
from tacit.ledger import Request
from tacit.ledger.replay import verify
from tacit.ledger.sql_ledger import SqlLedger


def answered(ledger: SqlLedger, request: Request, answer: str = "7") -> int:
    ticket = ledger.charge(request)
    assert ticket.answer is None
    ledger.finish(ticket.number, "answered", answer)
    return ticket.number


def test_the_same_question_again_is_free_and_says_the_same(site: Site) -> None:
    ledger = site.open(version="v1")
    number, records = answered(ledger, again("a"), "ü 7"), ledger.records()
    found = site.open(version="v1").charge(again("a"))
    assert (found.number, found.answer) == (number, "ü 7")
    assert found.head == records[number].link  # the receipt of the first answer
    assert ledger.records() == records
    assert ledger.spent.loss == Fraction(1, 10)


def test_what_is_recorded_can_be_asked_for_without_a_charge(site: Site) -> None:
    ledger = site.open(version="v1")
    assert ledger.recorded(again("a")) is None
    pending = ledger.charge(again("a", key="k"))
    assert ledger.recorded(again("a")) is None
    ledger.finish(pending.number, "answered", "7")
    records = ledger.records()
    assert ledger.recorded(again("a")) == ledger.charge(again("a"))
    assert ledger.recorded(ask(digest="a", key="k")) == ledger.charge(again("a"))
    for other in (ask(digest="a"), again("b"), again("a", analyst="bob")):
        assert ledger.recorded(other) is None
    with pytest.raises(RefusedError, match="another name"):
        ledger.recorded(ask(digest="b", key="k"))
    assert ledger.records() == records
    site.open().set_version("v2")
    with pytest.raises(RefusedError, match="not the version that was opened"):
        ledger.recorded(again("a"))


def test_it_is_charged_again_for_another_analyst_question_or_without_leave_to_repeat(site: Site) -> None:
    ledger = site.open(version="v1")
    answered(ledger, again("a", analyst="ann"))
    for other in (again("a"), again("a", analyst="bob"), again("b", analyst="ann"), ask(digest="a", analyst="ann")):
        assert ledger.charge(other).answer is None
    assert ledger.charge(again("a", analyst="ann")).answer == "7"
    assert ledger.spent.loss == Fraction(1, 2)
    assert verify(ledger).holds


def test_what_is_pending_or_failed_or_was_not_kept_is_charged_again(site: Site) -> None:
    ledger = site.open()
    pending = ledger.charge(again("a"))
    assert ledger.charge(again("a")).answer is None
    ledger.finish(pending.number, "failed", "a secret that no failure has")
    assert "secret" not in "".join(one.body for one in ledger.records())
    last = ledger.charge(again("a"))
    assert last.answer is None
    ledger.finish(last.number, "answered", None)
    assert ledger.charge(again("a")).answer is None
    huge = ledger.charge(again("b"))
    ledger.finish(huge.number, "answered", "7" * 20_000_001)
    assert ledger.charge(again("b")).answer is None
    assert ledger.spent.loss == Fraction(6, 10)
    assert verify(ledger).holds


def test_a_refused_question_gives_nothing_away_and_leaves_no_trace(site: Site) -> None:
    ledger = site.open()
    for _ in range(2):
        with pytest.raises(BudgetError):
            ledger.charge(again("a", "1.1", key="k"))
    assert len(ledger.records()) == 1
    assert ledger.charge(again("b", key="k")).answer is None  # the key is still free


def test_a_key_is_for_one_question(site: Site) -> None:
    ledger = site.open()
    number = answered(ledger, ask(digest="a", key="mine"))
    assert ledger.charge(ask(digest="a", key="mine")).number == number
    with pytest.raises(RefusedError, match=r"'mine'.*another query.*Nothing was spent"):
        ledger.charge(ask(digest="b", key="mine"))
    assert ledger.charge(ask(digest="b", key="mine", analyst="bob")).answer is None
    assert ledger.spent.loss == Fraction(2, 10)
    assert verify(ledger).holds


def test_another_version_ends_repeats_but_not_spending(site: Site) -> None:
    answered(site.open(version="v1"), again("a"))
    other = site.open(version="v2")
    assert other.spent.loss == Fraction(1, 10)
    assert other.charge(again("a")).answer is None
    assert other.spent.loss == Fraction(2, 10)
    back = site.open(version="v1")  # its recorded answer is still valid for it
    assert back.charge(again("a")).answer == "7"
    assert verify(back).holds


def test_who_has_the_data_of_another_version_open_is_refused(site: Site) -> None:
    old, any_version = site.open(version="v1"), site.open()
    site.open(version="v2")
    with pytest.raises(RefusedError, match=r"version 'v2'.* Open the data.*Nothing was spent\."):
        old.charge(ask())
    assert any_version.charge(ask()).answer is None


def test_other_units_have_a_fresh_budget_and_the_old_ones_none_of_it(site: Site) -> None:
    old, unnamed = site.open(version="2025"), site.open()
    limits = {"ann": old.budget}
    number = answered(old, again("a", "1", analyst="ann"))
    old.set_version("2026", disjoint=True)
    for stale in (old, unnamed):  # both opened the data of the old units
        with pytest.raises(RefusedError, match="2026"):
            stale.charge(ask())
    with pytest.raises(RefusedError, match="State the version"):
        site.open()
    with pytest.raises(RefusedError, match=r"'2025'.* its budget ended when version '2026'"):
        site.open(version="2025")
    new = site.open(version="2026", analysts=limits)
    assert new.spent.loss == new.spent_by("ann").loss == 0
    assert new.charge(again("a", "1", analyst="ann")).answer is None
    with pytest.raises(BudgetError):
        new.charge(ask("0.01"))
    assert [entry.since for entry in new.entries()] == [0, new.since]
    assert new.entries()[0].number == number
    assert verify(new).holds
    assert [one.fields["disjoint"] for one in new.records() if one.kind == "version"] == [False, True]


def test_what_was_asked_about_has_no_new_units(site: Site) -> None:
    ledger = site.open(version="v1")
    ledger.charge(ask("0.5"))
    for version in ("v1", "v2"):
        site.open(version=version)
    site.open(version="v2").charge(ask("0.25"))
    before = ledger.records()
    for version in ("v1", "v2"):
        with pytest.raises(RefusedError, match="already charged"):
            ledger.set_version(version, disjoint=True)
    assert ledger.records() == before
    site.open(version="v3")  # declared, but never charged
    ledger.set_version("v3", disjoint=True)
    again_declared = ledger.records()
    ledger.set_version("v3", disjoint=True)
    assert ledger.records() == again_declared  # once is enough
    assert site.open(version="v3").spent.loss == 0
    assert verify(site.open(version="v3")).holds


@pytest.mark.parametrize("version", ["", " v", "v\n1", "v\0", "\ud800", "v" * 201, 7])
def test_versions_have_names_that_can_be_read(site: Site, version: str) -> None:
    with pytest.raises(InvalidError, match="data_version"):
        site.open().set_version(version)
