"""A ledger is created once, and reading a missing ledger does not create it."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest

import tacit as tc
from ledgers import Site, Sites, ask
from tacit.errors import LedgerError
from tacit.ledger.open_ledger import read_ledger, require_ledger
from tacit.ledger.sql_ledger import SqlLedger


def test_it_says_whether_it_was_begun_just_now(site: Site) -> None:
    first, second = site.open(), site.open()
    assert (first.created, second.created) == (True, False)
    first.charge(ask())
    assert site.open().created is False
    assert read_ledger(site.location).created is False


@pytest.mark.parametrize("look", [read_ledger, require_ledger])
def test_where_none_was_begun_nothing_was_ever_spent(site: Site, look: type) -> None:
    with pytest.raises(LedgerError, match=r"does not exist yet, so nothing was ever spent through it"):
        look(site.location)
    if site.is_file:
        assert not Path(site.location).exists()
    assert site.open().created
    require_ledger(site.location)


def test_an_empty_file_is_no_ledger_yet(sites: Sites) -> None:
    site = sites("sqlite")
    Path(site.location).touch()
    with pytest.raises(LedgerError, match="nothing was ever spent"):
        require_ledger(site.location)
    assert site.open().created


def test_in_python_nothing_is_said(folder: Path) -> None:
    visits = pd.DataFrame({"patient": range(10)})
    location = folder / "clinic.ledger"
    terms = {"unit": "patient", "max_groups": 1, "max_rows": 1, "name": "visits"}
    found = []
    with warnings.catch_warnings(action="error"):
        for _ in range(2):
            with tc.open(visits, budget=tc.PureDP(epsilon=1), ledger=location, **terms) as db:  # type: ignore[arg-type]
                assert isinstance(db.ledger, SqlLedger)
                found.append(db.ledger.created)
    assert found == [True, False]
