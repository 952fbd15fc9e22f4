"""The counts by value from which a mode is drawn: on every engine those that Python counts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

import pytest

from contract.tables import Opener
from tacit.query.expressions import Kind, Value
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

KINDS: dict[str, Kind] = {
    "u": "integer",
    "b": "boolean",
    "s": "text",
    "i": "integer",
    "x": "real",
    "d": "date",
    "m": "timestamp",
}
TEXTS: list[Value] = ["b", "a", "", "A", "é", "e\u0301", "it's", "日本", "aa", " a", "zz", "null", "\U0010ffff"]
KEYS: dict[str, list[Value]] = {
    "s": TEXTS,
    "i": [7, -1, 2**53 + 1, 2**53, 0, -(2**63)],
    "x": [0.5, 0.0, -2.5, 1e308, 5e-324],
    "b": [True, False],
    "d": [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)],
    "m": [datetime(2024, 2, 29, 23, 59, 59, 999999), datetime(1970, 1, 1)],  # noqa: DTZ001 - kinds have no zone
}
OTHERS: dict[str, list[Value]] = {
    "s": [None, "B", "a ", "no"],
    "i": [None, 8, 2**53 + 2],
    "x": [None, float("nan"), float("inf"), -0.0],
    "b": [None],
    "d": [None, date(2024, 3, 1)],
    "m": [None, datetime(1970, 1, 1, 0, 0, 1)],  # noqa: DTZ001 - as above
}


def plan(columns: Sequence[str], *, unit: bool) -> Plan:
    known = {name: ColumnPolicy(kind=kind, keys=tuple(KEYS.get(name, ())) or None) for name, kind in KINDS.items()}
    table = TablePolicy(
        name="t",
        unit="u" if unit else None,
        max_groups=2 if unit else None,
        max_rows=3 if unit else None,
        neighbours="add/remove",
        columns=known,
    )
    modes = ", ".join(f"mode({name}) AS c{index}" for index, name in enumerate(columns))
    return parse(f"SELECT b, {modes} FROM t GROUP BY b", {"t": table})  # noqa: S608 - a test's own text


def rows() -> list[dict[str, Value]]:
    """Return rows that have every value, each another number of times; units have one to three rows."""
    made: list[dict[str, Value]] = []
    for number in range(60):
        row: dict[str, Value] = {"u": number // 3}
        for place, name in enumerate(KEYS):
            values = [*KEYS[name], *OTHERS[name]]
            row[name] = values[(number * (place + 1) + number // 7) % len(values)]
        made.append(row)
    return made


def expected(data: Sequence[dict[str, Value]], name: str) -> list[int]:
    """Return the counts of a column's values, for b false and then true; the engine sorts the groups like this."""
    return [
        sum(row["b"] is group and row[name] is not None and row[name] == value for row in data)
        for group in KEYS["b"]
        for value in KEYS[name]
    ]


@pytest.mark.parametrize("unit", [False, True])
def test_rows_are_counted_by_value(engine: Opener, *, unit: bool) -> None:
    """No unit has more than three rows or two groups, so limits change nothing but the grid of the counts."""
    columns, data = ["s", "i", "x", "d", "m"], rows()
    if engine.name == "spark":
        columns = ["s", "x"]  # each is a statement
    with engine(KINDS, data) as source:
        asked = plan(columns, unit=unit)
        measured = source.measure_with(asked, (1, 2))
    for name, bundle, counts in zip(columns, asked.bundles, measured, strict=True):
        unit_of = 1 << bundle.measures[0].fraction_bits
        assert [count / unit_of for count in counts] == expected(data, name), name
