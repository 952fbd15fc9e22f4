"""A ledger is begun once; where none was begun, looking for one makes none."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest

import tacit as tc
from ledgers import Places, Shelf, ask
from tacit.errors import LedgerError
from tacit.ledger.open_ledger import read_ledger, require_ledger
from tacit.ledger.sql_ledger import DurableLedger


def test_it_says_whether_it_was_begun_just_now(shelf: Shelf) -> None:
    first, second = shelf.opened(), shelf.opened()
    assert (first.begun, second.begun) == (True, False)
    first.charge(ask())
    assert shelf.opened().begun is False
    assert read_ledger(shelf.place).begun is False


@pytest.mark.parametrize("look", [read_ledger, require_ledger])
def test_where_none_was_begun_nothing_was_ever_spent(shelf: Shelf, look: type) -> None:
    with pytest.raises(LedgerError, match=r"There is no ledger .* yet, so nothing was ever spent through it"):
        look(shelf.place)
    if shelf.is_file:
        assert not Path(shelf.place).exists()
    assert shelf.opened().begun
    require_ledger(shelf.place)


def test_an_empty_file_is_no_ledger_yet(places: Places) -> None:
    shelf = places("sqlite")
    Path(shelf.place).touch()
    with pytest.raises(LedgerError, match="nothing was ever spent"):
        require_ledger(shelf.place)
    assert shelf.opened().begun


def test_in_python_nothing_is_said(folder: Path) -> None:
    visits = pd.DataFrame({"patient": range(10)})
    place = folder / "clinic.ledger"
    terms = {"unit": "patient", "max_groups": 1, "max_rows": 1, "name": "visits"}
    found = []
    with warnings.catch_warnings(action="error"):
        for _ in range(2):
            with tc.open(visits, budget=tc.PureDP(epsilon=1), ledger=place, **terms) as db:  # type: ignore[arg-type]
                assert isinstance(db.ledger, DurableLedger)
                found.append(db.ledger.begun)
    assert found == [True, False]
