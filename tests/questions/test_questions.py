"""Ordinary questions, each answered as plain SQL answers it, or refused with advice that works.

The questions are in `office.toml`, `product.toml` and `health.toml`. At a huge ε the noise vanishes, and the limits of
`tables` cut nothing, so an answer must equal that of DuckDB for the same SQL.

* `ask` says the question in words, `sql` in SQL; `keys`, `bounds` and `delta` are options of the query.
* `tolerance` is the largest difference from DuckDB's answer, by default one part in a thousand. With `compare = false`
  only the names of the columns are compared, with `rows` only the number of rows.
* A question with `refused` names the error that it raises; `instead` is a query that is answered.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from contract.homes import arrow
from questions.tables import SETTINGS, Setting, opened
from tacit import errors
from tacit.database import Database

EPSILON = 1e8
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{subject}: {question['ask']}": (subject, question)
    for subject in SETTINGS
    for question in tomllib.loads((Path(__file__).parent / f"{subject}.toml").read_text("utf-8"))["question"]
}


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[tuple[str, str], Database]]:
    """Databases by engine and subject, opened when a question first needs them."""
    with ExitStack() as stack:

        class Opened(dict[tuple[str, str], Database]):
            def __missing__(self, key: tuple[str, str]) -> Database:
                engine, subject = key
                self[key] = stack.enter_context(opened(engine, SETTINGS[subject]))
                return self[key]

        yield Opened()


def test_there_are_sixty_questions() -> None:
    assert len(QUESTIONS) >= 60
    assert len({question["sql"] for _, question in QUESTIONS.values()}) == len(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_a_question_is_answered_or_refused_with_advice_that_works(
    engine: str, name: str, databases: dict[tuple[str, str], Database]
) -> None:
    _ask(engine, name, databases)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", QUESTIONS)
def test_spark_answers_it_too(name: str, databases: dict[tuple[str, str], Database]) -> None:
    _ask("spark", name, databases)


def _ask(engine: str, name: str, databases: dict[tuple[str, str], Database]) -> None:
    subject, question = QUESTIONS[name]
    db = databases[engine, subject]
    if "refused" in question:
        with pytest.raises(getattr(errors, question["refused"])) as caught:
            db.plan(question["sql"], epsilon=EPSILON, **_options(question))
        assert caught.value.hint
        _check(db, SETTINGS[subject], {**question, "sql": question["instead"]}, _options(question, "instead_"))
    else:
        _check(db, SETTINGS[subject], question, _options(question))


def _options(question: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    names = ("keys", "bounds", "delta")
    return {name: question[f"{prefix}{name}"] for name in names if f"{prefix}{name}" in question}


def _check(db: Database, setting: Setting, question: dict[str, Any], options: dict[str, Any]) -> None:
    """Ask a question, and compare the answer with that of plain SQL."""
    answer = db.sql(question["sql"], epsilon=EPSILON, **options)
    names, truth = _plain(setting, question["sql"])
    assert list(answer.table.names) == names
    if "rows" in question:
        assert len(answer.rows()) == question["rows"]
    elif question.get("compare", True):
        tolerance = question.get("tolerance")
        assert len(answer.rows()) == len(truth)
        for row, expected in zip(answer.rows(), truth, strict=True):
            assert all(_near(*pair, tolerance) for pair in zip(row, expected, strict=True)), (row, expected)


def _near(value: object, truth: object, tolerance: float | None) -> bool:
    if isinstance(truth, (int, float)) and not isinstance(truth, bool) and isinstance(value, (int, float)):
        return abs(value - truth) <= (max(1e-3 * abs(truth), 1e-6) if tolerance is None else tolerance)
    return _plain_value(value) == _plain_value(truth)


def _plain_value(value: object) -> object:
    """Return midnight as its date: engines and DuckDB differ in which of the two date_trunc returns."""
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return value.date()
    return value if not isinstance(value, date) else date(value.year, value.month, value.day)


def _plain(setting: Setting, sql: str) -> tuple[list[str], list[tuple[object, ...]]]:
    with duckdb.connect() as connection:
        connection.register(setting.table, arrow(setting.kinds, setting.rows))
        for name, shape in setting.public.items():
            connection.register(name, arrow(*shape))
        found = connection.execute(sql)
        return [column[0] for column in found.description or ()], found.fetchall()
