"""The number of rows that share their values, on every engine: `tc.anonymity.check` reads it from a database."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date
from math import isnan

import pytest

from contract.tables import KINDS, VALUES, Opener, Row
from tacit.errors import ColumnNotFoundError
from tacit.query.expressions import Value

CHANCE = random.Random(11)  # noqa: S311 - test data
DATA: list[Row] = [{name: CHANCE.choice(values) for name, values in VALUES.items()} for _ in range(300)]


def told(value: Value) -> Value:
    """Return a value as a tally has it: NaN and the empty text are missing, -0.0 is 0.0, and dates are text."""
    if value == "" or (isinstance(value, float) and isnan(value)):
        return None
    if isinstance(value, date):
        return str(value)
    return 0.0 if isinstance(value, float) and value == 0 else value


@pytest.mark.parametrize("columns", [["name"], ["a", "x"], ["b", "d"], ["m"], ["name", "b", "u"]], ids="-".join)
def test_rows_are_counted_by_their_very_values(engine: Opener, columns: list[str]) -> None:
    with engine(KINDS, DATA) as opened:
        found = {tuple(map(told, row[:-1])): int(row[-1]) for row in opened.tally(columns)}
    assert found == Counter(tuple(told(row[name]) for name in columns) for row in DATA)


def test_persons_are_counted_once_and_nobody_is_one_of_them(engine: Opener) -> None:
    with engine(KINDS, DATA) as opened:
        found = {told(name): int(count) for name, count in opened.tally(["name"], different="u")}
    want = {told(row["name"]): set[Value]() for row in DATA}
    for row in DATA:
        want[told(row["name"])].add(row["u"])
    assert found == {name: len(units) for name, units in want.items()}


def test_an_empty_table_has_no_rows_to_share(engine: Opener) -> None:
    with engine(KINDS, []) as opened:
        assert list(opened.tally(["name", "x"])) == []


def test_a_column_that_is_not_there_is_named(engine: Opener) -> None:
    with engine(KINDS, []) as opened, pytest.raises(ColumnNotFoundError, match="'nobody'"):
        opened.tally(["name", "nobody"])
