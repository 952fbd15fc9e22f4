from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.cli import questions
from tacit.errors import InvalidError, NoSourceError

PEOPLE = pd.DataFrame({"id": range(100), "region": ["a", "b"] * 50})
REGIONS = pd.DataFrame({"region": ["a", "b"], "size": ["large", "small"]})
TERMS: dict[str, Any] = {
    "unit": "id",
    "max_groups": 1,
    "max_rows": 1,
    "keys": {"region": ["a", "b"]},
    "budget": tc.PureDP(epsilon=100),
}
JOINED = "SELECT size, count(*) AS n FROM people JOIN regions USING (region) GROUP BY size"


def test_variables_are_filled_in_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDDEN_PLACE", str(tmp_path / "hunter2"))
    (tmp_path / "hunter2").mkdir()
    PEOPLE.to_csv(tmp_path / "hunter2" / "people.csv", index=False)
    REGIONS.to_csv(tmp_path / "hunter2" / "regions.csv", index=False)
    public = {"regions": "${HIDDEN_PLACE}/regions.csv"}
    with tc.open("${HIDDEN_PLACE}/people.csv", public=public, **TERMS) as db:
        answer = db.sql(JOINED, epsilon=50)
    assert {row[0]: row[1] for row in answer.rows()} == pytest.approx({"large": 50, "small": 50}, abs=5)
    assert "hunter2" not in str(answer.receipt)
    for wrong in (
        {"source": "${HIDDEN_PLACE}/none.csv"},
        {"source": PEOPLE, "public": {"r": "${HIDDEN_PLACE}/no.csv"}},
    ):
        with pytest.raises(NoSourceError, match="HIDDEN_PLACE") as caught:
            tc.open(**wrong, **TERMS)
        assert "hunter2" not in str(caught.value)


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_PLACE", raising=False)
    for wrong in ({"source": "${NO_SUCH_PLACE}/x.csv"}, {"source": PEOPLE, "public": {"r": "${NO_SUCH_PLACE}"}}):
        with pytest.raises(InvalidError, match="NO_SUCH_PLACE, not set"):
            tc.open(**wrong, **TERMS)
    with pytest.raises(InvalidError, match="begins no such name") as caught:
        tc.open("postgresql://reader:hunter2${@db/clinic", **TERMS)
    assert "hunter2" not in str(caught.value)


def test_a_table_is_not_called_what_a_variable_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIDDEN_FILE", str(tmp_path / "hunter2.csv"))
    PEOPLE.to_csv(tmp_path / "hunter2.csv", index=False)
    with tc.open("${HIDDEN_FILE}", **TERMS) as db:
        assert "hunter2" not in str(db.sql("SELECT count(*) FROM data", epsilon=1).receipt)


def test_init_fills_variables_in_and_writes_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HIDDEN_FILE", str(tmp_path / "hunter2.csv"))
    PEOPLE.to_csv(tmp_path / "hunter2.csv", index=False)
    questions.init("${HIDDEN_FILE}", None)
    text = capsys.readouterr().out
    assert tomllib.loads(text)["tables"]["data"]["source"] == "${HIDDEN_FILE}"
    assert "This source has no types" in text
    assert "hunter2" not in text
