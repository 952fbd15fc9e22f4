"""Moving a ledger: at most one of two places admits charges, whenever the process is killed."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from threading import Thread
from time import sleep

import pytest

from children import ended, forked
from ledgers import ONE, Site, Sites, again, ask
from tacit.errors import LedgerError, NoLedgerError
from tacit.guarantees.values import PureDP
from tacit.ledger import Request, Ticket, relocation
from tacit.ledger.backup import export, load
from tacit.ledger.open_ledger import create_ledger, open_ledger, read_ledger
from tacit.ledger.records import Record, record
from tacit.ledger.relocation import move
from tacit.ledger.replay import replay, verify

PLACES = [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "sqlite"), ("postgresql", "postgresql")]
STEPS = ("_last_seal", "_reserve", "_rehearse", "_seal", "_copy", "_verified")


@pytest.fixture(params=PLACES, ids=" to ".join)
def places(request: pytest.FixtureRequest, sites: Sites) -> tuple[Site, Site]:
    """A ledger with a charge of 0.25 and an answer, and an empty place."""
    old, new = (sites(kind) for kind in request.param)
    ledger = old.open(version="1")
    ticket = ledger.charge(again("d", "0.25"))
    ledger.finish(ticket.number, "answered", "42")
    return old, new


def admits(site: Site) -> bool:
    """Return whether a place that is not empty admits a charge of nothing, by opening it as analysts do."""
    try:
        read_ledger(site.location).close()
    except NoLedgerError:
        return False
    except LedgerError as error:
        assert "reserved" in str(error)  # noqa: PT017 - the only other reason
    try:
        ledger = open_ledger(site.location, ONE, "add/remove", version="1")
    except LedgerError as error:
        assert "sealed" in str(error) or "reserved" in str(error)  # noqa: PT017 - nothing else is expected
        return False
    ledger.charge(Request(question="free", events=()))
    ledger.close()
    return True


def test_the_new_ledger_continues_and_the_old_one_is_sealed(places: tuple[Site, Site]) -> None:
    old, new = places
    opened = old.open(version="1")
    before = opened.records()
    assert move(old.location, new.location).holds
    assert not admits(old)
    for use in (
        lambda: opened.charge(ask()),
        lambda: opened.recorded(again("d", "0.25")),
        lambda: opened.finish(2, "failed"),
        lambda: opened.set_budget(PureDP(epsilon=2)),
        lambda: old.open(version="1"),
    ):
        with pytest.raises(LedgerError, match="sealed: it was moved to") as caught:
            use()
        assert str(new.location).rpartition("/")[2].partition("?")[0] in str(caught.value)
    assert opened.spent.loss == Fraction(1, 4)
    assert verify(opened).holds
    ledger = new.open(version="1")
    assert [record.kind for record in ledger.records()[len(before) :]] == ["seal", "moved"]
    assert ledger.records()[: len(before)] == before
    assert ledger.charge(again("d", "0.25")).answer == "42"
    ledger.charge(ask("0.75"))
    assert ledger.spent.loss == 1
    assert verify(ledger).holds


def test_a_ledger_can_be_moved_again_and_a_finished_move_repeated(sites: Sites) -> None:
    first, second, third = (sites(kind) for kind in ("sqlite", "postgresql", "sqlite"))
    first.open().charge(ask("0.5"))
    for _ in range(2):
        assert move(first.location, second.location).holds
    assert move(second.location, third.location).holds
    third.open().charge(ask("0.5"))
    assert move(first.location, second.location).holds  # it was moved there, though it is elsewhere by now
    assert [admits(site) for site in (first, second, third)] == [False, False, True]
    lines = list(export(third.open()))
    assert {line[:11] for line in lines} == {'{"body":"{\\', '{"format":3'}
    copy = sites("sqlite")
    assert load(lines, copy.location).holds
    assert load(list(export(read_ledger(first.location))), sites("sqlite").location).holds


def test_a_sealed_copy_is_sealed_too(sites: Sites) -> None:
    old, new, copy = sites("sqlite"), sites("sqlite"), sites("sqlite")
    old.open().charge(ask("0.5"))
    move(old.location, new.location)
    load(list(export(read_ledger(old.location))), copy.location)
    assert not admits(copy)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_each_step(places: tuple[Site, Site], step: str, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = places
    original: Callable[..., object] = getattr(relocation, step)

    def stop(*arguments: object, **options: object) -> object:
        if when == "after":
            original(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    with monkeypatch.context() as patched:
        patched.setattr(relocation, step, stop)
        assert ended(forked(lambda: move(old.location, new.location))) == -signal.SIGKILL
    is_sealed = STEPS.index(step) + (when == "after") > STEPS.index("_seal")
    is_copied = STEPS.index(step) + (when == "after") > STEPS.index("_copy")
    assert (admits(old), admits(new)) == (not is_sealed, is_copied)
    assert move(old.location, new.location).holds
    assert (admits(old), admits(new)) == (False, True)
    assert new.open(version="1").spent.loss == Fraction(1, 4)


@pytest.mark.parametrize("times", [6, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("kinds", PLACES[:2], ids=" to ".join)
def test_killed_at_random_moments(sites: Sites, kinds: tuple[str, str], times: int) -> None:
    moments = random.Random(20261118)  # noqa: S311 - moments, not secrets
    for _ in range(times):
        old, new = (sites(kind) for kind in kinds)
        old.open(version="1").charge(ask("0.25"))
        child = forked(lambda old=old, new=new: move(old.location, new.location))  # type: ignore[misc]
        sleep(moments.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        ended(child)
        assert admits(old) + admits(new) <= 1
        assert move(old.location, new.location).holds
        assert (admits(old), admits(new)) == (False, True)


def test_charges_during_a_move_are_in_the_new_ledger(places: tuple[Site, Site]) -> None:
    old, new = places
    ledger, tickets, errors = old.open(version="1"), list[Ticket](), list[str]()

    def spend() -> None:
        try:
            while True:
                tickets.append(ledger.charge(ask("0.0001")))
        except LedgerError as error:
            errors.append(str(error))

    thread = Thread(target=spend)
    thread.start()
    while len(tickets) < 3:
        sleep(0.001)
    move(old.location, new.location)
    thread.join()
    assert ["sealed" in error for error in errors] == [True]
    receipts = [{"ledger_entry": ticket.number, "ledger_link": ticket.head} for ticket in tickets]
    moved = new.open(version="1")
    assert verify(moved, receipts).holds
    assert moved.spent.loss == Fraction(1, 4) + len(tickets) * Fraction(1, 10_000)


def test_a_sealed_ledger_is_continued_at_its_own_place_only(places: tuple[Site, Site], sites: Sites) -> None:
    old, new = places
    other, elsewhere = sites("sqlite"), sites("postgresql")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(relocation, "_copy", lambda *_: None)
        with pytest.raises(LedgerError):  # the place has a token and no ledger
            move(old.location, new.location)
    assert (admits(old), admits(new)) == (False, False)
    for wrong in (other, elsewhere):
        with pytest.raises(LedgerError, match=r"already sealed for .* Finish that move\..*--lost"):
            move(old.location, wrong.location)
        with pytest.raises(NoLedgerError):
            read_ledger(wrong.location)
    assert move(old.location, elsewhere.location, lost=True).holds
    with pytest.raises(LedgerError, match="already sealed"):
        move(old.location, new.location)
    assert [admits(site) for site in (old, new, elsewhere)] == [False, False, True]
    assert verify(elsewhere.open(version="1")).holds


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_sealed_ledger_is_not_the_place_that_it_was_moved_to(kind: str, sites: Sites) -> None:
    old, new = sites(kind), sites("sqlite")
    old.open().close()
    assert move(old.location, new.location).holds
    with pytest.raises(LedgerError, match="already exists and is not empty"):
        move(old.location, old.location)


def test_a_file_that_has_the_ledger_cannot_be_declared_lost(sites: Sites) -> None:
    old, new, other = (sites("sqlite") for _ in range(3))
    old.open(version="1").close()
    assert move(old.location, new.location).holds
    with pytest.raises(LedgerError, match=r"is not lost: the ledger was moved there\. Nothing was moved"):
        move(old.location, other.location, lost=True)
    assert [admits(site) for site in (old, new, other)] == [False, True, False]
    Path(new.location).write_bytes(b"not a database any more" * 400)
    assert move(old.location, other.location, lost=True).holds
    assert admits(other)


def test_a_place_that_is_not_empty_is_refused(places: tuple[Site, Site]) -> None:
    old, new = places
    new.open().charge(ask("0.1"))
    for place in (new, old):
        with pytest.raises(LedgerError, match=r"already exists and is not empty\. Nothing was moved"):
            move(old.location, place.location)
    assert admits(old)


def test_a_corrupt_ledger_is_not_moved(places: tuple[Site, Site]) -> None:
    old, new = places
    old.run("UPDATE tacit_records SET body = replace(body, 'q', 'p') WHERE kind = 'charge'")
    with pytest.raises(LedgerError, match=r"fails verification at record \d. .*Nothing was moved"):
        move(old.location, new.location)
    assert (admits(old), admits(new)) == (True, False)


def test_a_missing_permission_is_found_before_the_seal(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = sites("sqlite"), sites("postgresql")
    old.open(version="1")

    def refuse(*arguments: object) -> None:
        create_ledger(*arguments)  # type: ignore[arg-type]
        raise LedgerError("The disk is full.")

    monkeypatch.setattr(relocation, "create_ledger", refuse)
    with pytest.raises(LedgerError, match="full"):
        move(old.location, new.location)
    assert admits(old)


def test_older_versions_refuse_a_sealed_ledger_and_its_rules_are_replayed(sites: Sites) -> None:
    old, new = sites("sqlite"), sites("sqlite")
    old.open()
    assert old.run("SELECT format FROM tacit_head") == [(2,)]  # an older version can use it
    move(old.location, new.location)
    assert [site.run("SELECT format FROM tacit_head") for site in (old, new)] == [[(3,)], [(3,)]]
    records = read_ledger(new.location).records()
    begin, seal, moved = records
    for wrong in ([begin, moved], [begin, seal, seal, moved, moved]):
        state, report = replay(_chained(wrong), "")
        assert state is None
        assert "seal with its token" in report.why
    state, report = replay(_chained([begin, seal, begin]), "")
    assert state is None
    assert "sealed" in report.why


def _chained(records: list[Record]) -> list[Record]:
    """Return records with numbers and links that are right."""
    chained: list[Record] = []
    for number, old in enumerate(records):
        previous = chained[-1].link if chained else ""
        chained.append(record(number, old.kind, old.fields, previous))
    return chained
