"""Tables for every engine: rows in plain Python, with columns of every kind, and values that engines stumble over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime
from math import inf, nan

from hypothesis import strategies as st

from tacit.engines.sql.engine import StatementEngine
from tacit.query.expressions import Kind, Value

Row = Mapping[str, Value]


Open = Callable[[Mapping[str, Kind], Sequence[Row]], AbstractContextManager[StatementEngine]]


@dataclass(frozen=True)
class Opener:
    """Puts rows where an engine reads them, and opens the engine."""

    name: str
    open: Open

    def __call__(self, kinds: Mapping[str, Kind], rows: Sequence[Row]) -> AbstractContextManager[StatementEngine]:
        return self.open(kinds, rows)


KINDS: dict[str, Kind] = {
    "u": "integer",
    "name": "text",
    "a": "integer",
    "x": "real",
    "b": "boolean",
    "d": "date",
    "m": "timestamp",
}

UNITS: list[Value] = [None, 0, 1, 2, 3, -1, 2**63 - 1, -(2**63)]
NAMES: list[Value] = [None, "", "a", "A", "é", "e\u0301", "it's", 'a "b"', "%", "日本", " a", "null"]
INTEGERS: list[Value] = [None, 0, 1, -1, 2, 7, 99, -99, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
REALS: list[Value] = [
    *(None, nan, inf, -inf, 0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 0.49999999999999994, -0.49999999999999994, 1e308, -1e308),
    *(5e-324, -5e-324, 2.0**52 + 1, -(2.0**52) - 1, 2.0**53 + 2, 1e-310, 1e19, 0.1, 100.0),
]
DATES: list[Value] = [
    None,
    date(1, 1, 1),
    date(9999, 12, 31),
    date(2024, 2, 29),
    date(1900, 2, 28),
    date(1970, 1, 1),
    date(2023, 12, 31),
    date(2021, 1, 3),
]
TIMES: list[Value] = [None, *(datetime(day.year, day.month, day.day, 23, 59, 59, 999999) for day in DATES if isinstance(day, date))]  # fmt: skip # noqa: DTZ001, E501 - no zone on purpose

VALUES: dict[str, list[Value]] = {
    "u": UNITS,
    "name": NAMES,
    "a": INTEGERS,
    "x": REALS,
    "b": [None, False, True],
    "d": DATES,
    "m": TIMES,
}


def rows(most: int = 24) -> st.SearchStrategy[list[dict[str, Value]]]:
    """Random rows of few units."""
    columns = {name: st.sampled_from(values) for name, values in VALUES.items()}
    columns["x"] |= st.floats(width=64)
    columns["a"] |= st.integers(-(2**63), 2**63 - 1)
    return st.lists(st.fixed_dictionaries(columns), max_size=most)
