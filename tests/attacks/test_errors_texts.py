"""Messages as oracles: no error, log, record or warning holds a value of the data, and no failure is free.

The textbook converts a value and lets the error through, and its text quotes the value.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit as tc
from attacks.references import TextbookDatabase
from tacit.database import Database
from tacit.errors import SourceError

CANARY = "Semmelweis"
NUMBER = 81_549_300_613
LONE = "\ud800" + CANARY

MIXED: Any = [1.0, CANARY]
NUMBER_AND_TEXT: Any = [NUMBER, "x"]

RAISED: dict[str, Callable[[], object]] = {
    "Laplace, text": lambda: tc.Laplace(sensitivity=1.0, epsilon=1).release(CANARY),
    "Laplace, texts": lambda: tc.Laplace(sensitivity=1.0, epsilon=1).release(MIXED),
    "Laplace, a number among texts": lambda: tc.Laplace(sensitivity=1, epsilon=1).release(NUMBER_AND_TEXT),
    "Laplace, a float for an integer": lambda: tc.Laplace(sensitivity=1, epsilon=1).release(NUMBER + 0.5),
    "Laplace, too large": lambda: tc.Laplace(sensitivity=1.0, epsilon=1).release(NUMBER * 1e30),
    "Laplace, integers too large": lambda: tc.Laplace(sensitivity=1, epsilon=1).release([NUMBER, 2**70]),
    "Laplace, NaN": lambda: tc.Laplace(sensitivity=1.0, epsilon=1, outputs=2).release([float(NUMBER), np.nan]),
    "Laplace, another length": lambda: tc.Laplace(sensitivity=1.0, epsilon=1, outputs=3).release([float(NUMBER)] * 2),
    "Gaussian, ragged": lambda: tc.Gaussian(sensitivity=1, sigma=1).release([[NUMBER], [1, 2]]),
    "Exponential, NaN": lambda: tc.Exponential(sensitivity=1, epsilon=1).choose({CANARY: np.nan}),
    "Exponential, a candidate twice": lambda: tc.Exponential(sensitivity=1, epsilon=1).choose(
        [(CANARY, 1), (CANARY, 2)]
    ),
    "NoisyMax, too large": lambda: tc.NoisyMax(sensitivity=1.0, epsilon=1).choose([NUMBER * 1e30, 1.0]),
    "AboveThreshold": lambda: tc.AboveThreshold(sensitivity=1, epsilon=1, threshold=1).query(NUMBER + 0.5),
    "RandomizedResponse": lambda: tc.RandomizedResponse(epsilon=1).release([CANARY, CANARY]),
    "SmoothMedian": lambda: tc.SmoothMedian(bounds=(0, 1), epsilon=1, delta=1e-6).release(MIXED),
    "mean of texts": lambda: tc.mean([CANARY, "2"], bounds=(0, 1), epsilon=1),
    "sum of a mixture": lambda: tc.sum([1, CANARY], bounds=(0, 1), epsilon=1),
    "count of a mixture": lambda: tc.histogram([1, CANARY, 2.5], bins=[0, 1], epsilon=1),
    "local GRR": lambda: tc.local.GRR(domain=["a", "b"], epsilon=1).randomize([CANARY]),
    "local OLH": lambda: tc.local.OLH(domain=list(range(10)), epsilon=1).randomize([NUMBER]),
    "a frame of objects": lambda: tc.open(
        pd.DataFrame({"x": [1, CANARY, {NUMBER: 2}]}), unit=tc.ROW, budget=tc.PureDP(epsilon=1)
    ).sql("SELECT sum(x) AS s FROM data", epsilon=1),
}


def told(error: BaseException) -> str:
    """Return all that an error can print or be asked: its text, its attributes, notes, causes and contexts."""
    parts, seen = [], set[int]()
    waiting: list[BaseException] = [error]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        parts += [str(each), repr(each), repr(vars(each)), repr(each.args)]
        waiting += [other for other in (each.__cause__, each.__context__) if other is not None]
    return "\n".join(parts)


def holds_canary(text: str) -> bool:
    return CANARY in text or str(NUMBER) in text or f"{NUMBER:,}" in text


@pytest.mark.parametrize("name", RAISED)
def test_no_error_repeats_a_value(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A refused value is data. Some of these calls are not refused, and then they have no error."""
    caplog.set_level(logging.DEBUG)
    text = ""
    try:
        RAISED[name]()
    except tc.TacitError as error:
        text = told(error)
    assert not holds_canary(text + caplog.text)


def test_most_of_these_calls_are_refused() -> None:
    refused = 0
    for call in RAISED.values():
        try:
            call()
        except tc.TacitError:
            refused += 1
    assert refused >= len(RAISED) - 5


def test_the_textbook_repeats_the_value() -> None:
    for wrong in (lambda: float(CANARY), lambda: np.array([CANARY]).astype(float)):
        with pytest.raises(ValueError, match=CANARY):
            wrong()
    db = TextbookDatabase(pa.table({"s": [CANARY]}))
    with pytest.raises(Exception, match=CANARY) as caught:
        db.answer("SELECT sum(CAST(s AS BIGINT)) FROM t", 1)
    assert holds_canary(told(caught.value))
    assert db.spent == 0


# --- an engine that fails after the charge --------------------------------------------------------------------------


def failing(message: str) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise RuntimeError(message)

    return fail


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    rows = pa.table({"person": list(range(10)), "x": [1.0] * 10})
    with tc.open(
        rows,
        name="t",
        unit="person",
        max_groups=1,
        max_rows=1,
        bounds={"x": (0, 1)},
        budget=tc.ApproxDP(epsilon=10**6, delta=0.1),
        ledger=tmp_path / "t.ledger",
    ) as opened:
        yield opened


QUESTIONS = ["SELECT count(*) AS n FROM t", "SELECT median(x) AS m FROM t", "SELECT x, count(*) AS n FROM t GROUP BY x"]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_an_engine_that_fails_says_nothing_and_stays_charged(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, sql: str
) -> None:
    caplog.set_level(logging.DEBUG)
    engine = db._tables["t"][1]
    texts = []
    for message in (f"Could not convert {CANARY} to INT64 in row {NUMBER}", "out of memory", ""):
        for method in ("measure", "find"):
            monkeypatch.setattr(engine, method, failing(message))
        before = db.ledger.spent.loss
        with pytest.raises(SourceError) as caught:
            db.sql(sql, epsilon=1, delta=1e-6 if "GROUP" in sql else None)
        assert db.ledger.spent.loss == before + 1
        assert not holds_canary(told(caught.value))
        assert not holds_canary("".join(traceback.format_exception(caught.value)))
        assert "Nothing was spent" not in str(caught.value)
        texts.append(told(caught.value))
    assert len(set(texts)) == 1
    assert not holds_canary(caplog.text)
    assert not holds_canary(repr(db.ledger.entries()) + str(db.ledger) + repr(db))
    assert {entry.outcome for entry in db.ledger.entries()} == {"failed"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_a_reading_that_is_stopped_stays_charged(
    db: Database, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def stop(*_: object, **__: object) -> object:
        raise error(CANARY)

    monkeypatch.setattr(db._tables["t"][1], "measure", stop)
    with pytest.raises((SourceError, KeyboardInterrupt, SystemExit)):
        db.sql("SELECT count(*) AS n FROM t", epsilon=1)
    assert db.ledger.spent.loss == 1
    assert not holds_canary(repr(db.ledger.entries()))


def test_text_that_is_not_unicode_fails_with_a_constant_text_and_a_charge() -> None:
    """This is a known weakness: that the query fails tells that such a text exists. It tells no more, and it costs."""
    texts = []
    for lone in (LONE, "\udfff"):
        frame = pd.DataFrame({"person": range(3), "s": pd.Series(["a", "b", lone], dtype=object)})
        with tc.open(frame, name="t", unit="person", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=9)) as db:
            try:
                db.sql("SELECT count(*) AS n FROM t WHERE s = 'a'", epsilon=1)
            except tc.TacitError as error:
                texts.append(told(error))
            assert db.ledger.spent.loss == 1
    assert len(set(texts)) <= 1
    assert not any(map(holds_canary, texts))


def test_a_file_with_broken_values_says_nothing_of_them(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(b"person,s\n1," + CANARY.encode() + b"\n2,\xff\xfe" + CANARY.encode() + b'\n3,"' + CANARY.encode())
    text = ""
    try:
        with tc.open(file, unit="person", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=9)) as db:
            db.sql("SELECT count(DISTINCT s) AS n FROM t", epsilon=1)
    except tc.TacitError as error:
        text = told(error)
    assert not holds_canary(text)
