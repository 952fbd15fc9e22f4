"""Baskets of every engine: supports by hand, the keyed cuts over neighbouring tables, and rows as baskets."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from contract.tables import Opener
from tacit.engines.sql.engine import StatementEngine
from tacit.query.expressions import Kind
from tacit.query.policy import TablePolicy
from tacit.synthetic.basket_source import BasketColumns, Reading, StoredBaskets, reading_of
from tacit.synthetic.baskets import Baskets

KINDS: dict[str, Kind] = {"u": "integer", "b": "text", "i": "text", "n": "integer"}
SECRET = (7, 11)
Rows = list[dict[str, Any]]
ROWS: Rows = [
    *({"u": 1, "b": "x", "i": item, "n": 1} for item in ("milk", "bread", "milk", "Milk")),
    *({"u": 1, "b": "y", "i": item, "n": 2} for item in ("bread", "beer")),
    *({"u": 2, "b": "x", "i": item, "n": 3} for item in ("milk", "bread", None)),
    {"u": None, "b": "x", "i": "milk", "n": 4},
    {"u": 3, "b": None, "i": "milk", "n": 5},
    {"u": 3, "b": "z", "i": "é", "n": None},
    {"u": 4, "b": "z", "i": "wine", "n": 7},
]
"""Unit 1 has two baskets, the others one; a repeated item, NULL items, baskets and units do not count."""


def policy(unit: object = "u") -> TablePolicy:
    """Return the policy of the table; it is opened on one row, because the engine under test reads the others."""
    frame = pd.DataFrame({"u": [1], "b": ["x"], "i": ["milk"], "n": [1]})
    database = tc.open(
        frame,
        unit=unit,  # type: ignore[arg-type]  # a name or tc.ROW
        reach=None if unit is tc.ROW else 9,
        budget=tc.PureDP(epsilon=1),
    )
    return next(iter(database._session.tables.values()))


def read(opened: StatementEngine, reading: Reading, secret: tuple[int, int] = SECRET) -> list[tuple[object, ...]]:
    """Return all baskets as sorted tuples of items."""
    opened.check_baskets(reading.source)
    stored = StoredBaskets(reading)
    opened.read_baskets_with(reading.source, stored.absorb, secret)
    baskets, labels = stored.baskets()
    return named(baskets, labels)


def named(baskets: Baskets, labels: tuple[object, ...]) -> list[tuple[object, ...]]:
    spans = zip(baskets.starts[:-1].tolist(), baskets.starts[1:].tolist(), strict=True)
    found = [tuple(labels[code] for code in baskets.codes[start:stop].tolist()) for start, stop in spans]
    assert all(len(set(one)) == len(one) for one in found)
    return sorted((tuple(sorted(one, key=str)) for one in found), key=str)


@pytest.mark.parametrize("keys", [None, ["milk", "bread", "beer", "absent"]])
def test_baskets_are_those_of_the_rows(engine: Opener, keys: list[str] | None) -> None:
    reading = reading_of(policy(), BasketColumns(item="i", basket="b", keys=keys), None)
    whole = [("Milk", "bread", "milk"), ("beer", "bread"), ("bread", "milk"), ("wine",), ("é",)]
    listed = [("beer", "bread"), ("bread", "milk"), ("bread", "milk")]
    with engine(KINDS, ROWS) as opened:
        assert read(opened, reading) == sorted(whole if keys is None else listed, key=str)


def test_all_rows_of_a_unit_are_one_basket(engine: Opener) -> None:
    reading = reading_of(policy(), BasketColumns(item="i"), None)
    expected = [("Milk", "beer", "bread", "milk"), ("bread", "milk"), ("milk", "é"), ("wine",)]
    with engine(KINDS, ROWS) as opened:
        assert read(opened, reading) == sorted(expected, key=str)
        assert reading.reach == 1


def test_whole_numbers_are_items(engine: Opener) -> None:
    reading = reading_of(policy(), BasketColumns(item="n", keys=[1, 2, 3]), None)
    with engine(KINDS, ROWS) as opened:
        assert read(opened, reading) == [(1, 2), (3,)]


def test_a_cut_keeps_exactly_the_limits_and_never_sees_another_unit(engine: Opener) -> None:
    """For every unit of a table: without it, the baskets are those of the others, under the same key.

    So a unit that comes or goes brings or takes its own kept baskets alone: at most `reach`, each of at most `most`.
    """
    rows: Rows = [
        {"u": unit, "b": f"b{basket}", "i": f"i{(unit * 3 + basket + item) % 7}", "n": 1}
        for unit in range(4)
        for basket in range(unit + 1)
        for item in range(1 + (unit + 2 * basket) % 5)
    ]
    own: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        own[row["u"]][row["b"]].add(row["i"])
    reading = reading_of(policy(), BasketColumns(item="i", basket="b", reach=2, most=3), None)
    with engine(KINDS, rows) as opened:
        whole = read(opened, reading)
        again = {tuple(read(opened, reading, (7, 11 + turn))) for turn in range(6)}
    assert len(again) > 1  # the key decides
    kept: dict[int, list[tuple[object, ...]]] = {}
    for unit, baskets in own.items():
        with engine(KINDS, [row for row in rows if row["u"] == unit]) as opened:
            kept[unit] = read(opened, reading)
        assert len(kept[unit]) == min(2, len(baskets))
        sizes = sorted(min(3, len(items)) for items in baskets.values())
        assert sorted(map(len, kept[unit])) in [sizes, *(sorted(some) for some in _pairs(sizes))]
        assert all(any(set(one) <= items for items in baskets.values()) for one in kept[unit])
        with engine(KINDS, [row for row in rows if row["u"] != unit]) as opened:
            rest = read(opened, reading)
        assert sorted([*rest, *kept[unit]], key=str) == whole
    assert sorted((one for unit in own for one in kept[unit]), key=str) == whole


def _pairs(sizes: list[int]) -> list[list[int]]:
    return [[a, b] for place, a in enumerate(sizes) for b in sizes[place + 1 :]]


@pytest.mark.parametrize("unit", ["u", tc.ROW])
def test_rows_are_baskets_of_one_item_a_column(engine: Opener, unit: object) -> None:
    with_keys = tc.open(
        pd.DataFrame({"u": [1], "b": ["x"], "i": ["milk"], "n": [1]}),
        unit=unit,  # type: ignore[arg-type]  # as above
        reach=None if unit is tc.ROW else 2,
        keys={"b": ["x", "y"], "i": ["milk", "bread"]},
        budget=tc.PureDP(epsilon=1),
    )
    table = next(iter(with_keys._session.tables.values()))
    reading = reading_of(table, BasketColumns(columns=["b", "i", "n"], bins={"n": [0, 3, 9]}), None)
    with engine(KINDS, ROWS) as opened:
        found = read(opened, reading)
    if unit is tc.ROW:
        assert len(found) == len(ROWS)
        assert found.count(("b=x", "i=milk", "n=[0, 3)")) == 2
        assert found.count(("n=[3, 9]",)) == 1  # u=4: neither z nor wine is listed
        assert found.count(()) == 1  # u=3: nothing of é and NULL is listed
    else:
        assert len(found) == 2 + 2 + 2 + 1  # each unit keeps two rows
        assert ("n=[3, 9]",) in found
