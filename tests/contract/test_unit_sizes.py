"""Histograms of units by rows, by groups and with shares: every engine's integers are those of plain Python."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import nan
from typing import Literal

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from bounded import Row, is_null, on_grid, value_of
from contract.conftest import ENGINES
from contract.examples import examples
from contract.homes import joined
from contract.plans import NAME, A, Cells, X, call, cells, key, plan, plans, table
from contract.tables import KINDS, VALUES, Opener, rows
from policies import table_policy
from tacit.errors import InvalidError
from tacit.query.expressions import Constant, Expression, Kind, Value
from tacit.query.plan import Measure, Plan
from tacit.query.sql.parse import parse
from tacit.query.unit_sizes import (
    BINS,
    EDGES,
    LARGEST_SHARED,
    SHARE_BITS,
    SHOWN_BINS,
    SHOWN_EDGES,
    edges_of,
    limited_by,
    shown_plan,
    size_plan,
)

ROW: dict[str, Value] = {name: values[0] for name, values in VALUES.items()} | {"u": 1, "name": "a", "a": 1, "x": 1.0}
COUNT = Measure(value=None)
NONE_LISTED = key(NAME, "no such", "nor such")


def row(**values: Value) -> dict[str, Value]:
    return ROW | values


def answer(engine: Opener, asked: Plan, data: Sequence[Row]) -> list[list[int]]:
    with engine(KINDS, data) as opened:
        opened.check(asked)
        found = [list(integers) for integers in opened.measure(asked)]
    assert all(type(integer) is int for integers in found for integer in integers)
    return found


def share(measure: Measure, own: Sequence[Row]) -> int:
    """Return |V|·2^16 // (n·M) of a unit's rows, from its definition."""
    values = [value_of(measure, one) for one in own]
    there = [measure.sign * on_grid(measure, value) + measure.offset for value in values if not is_null(value)]
    total = sum(there) + (measure.absent or 0) * (len(values) - len(there))
    return abs(total) * 2**SHARE_BITS // (len(own) * max(map(abs, measure.extremes)))


def by_rows(units: Cells, edges: Sequence[int], measure: Measure | None = None) -> list[int]:
    sizes = [0] * (len(edges) + 1)
    for own in units.values():
        every = [one for some in own.values() for one in some]
        sizes[bisect_left(edges, len(every))] += 1 if measure is None else share(measure, every)
    return sizes


def by_groups(units: Cells, edges: Sequence[int] = SHOWN_EDGES) -> list[int]:
    sizes = [0] * (len(edges) + 1)
    for own in units.values():
        sizes[bisect_left(edges, len(own))] += 1
    return sizes


def by_limit(asked: Plan, data: Sequence[Row]) -> list[int]:
    """Return the histogram from which a reach is chosen: by groups if the plan counts units in several groups."""
    units, measured = cells(asked, data), [one for bundle in asked.bundles for one in bundle.measures]
    if asked.cells != 1 and all(one.per == "unit" for one in measured):
        return by_groups(units, EDGES)
    return by_rows(units, EDGES)


@st.composite
def one_signed(draw: st.DrawFn) -> Measure:
    """A measure of rows whose values have one sign, such as that of a sum."""
    low = draw(st.integers(0, 5) | st.sampled_from([0, 2**30, LARGEST_SHARED - 9]))
    high = low + draw(st.integers(1, 9))
    ends = draw(st.sampled_from([(low, high), (-high, -low)]))
    absent = draw(st.sampled_from([None, None, 0, ends[0], ends[1]]))
    sign: Literal[1, -1] = 1 if draw(st.booleans()) else -1
    return Measure(
        value=draw(st.sampled_from(NUMBERS)),
        step=Fraction(2) ** draw(st.integers(-3, 3)),
        low=min(sign * end for end in ends),
        high=max(sign * end for end in ends),
        sign=sign,
        absent=absent,
        fraction_bits=draw(st.integers(0, 12)),
    )


NUMBERS: list[Expression] = [X, A, call("abs", "real", X), call("modulo", "integer", A, Constant(7, "integer"))]


# --- random plans and rows ------------------------------------------------------------------------------------------


@examples(40, plans(reach=True), rows(40))
def test_units_by_rows_are_what_python_counts(engine: Opener, asked: Plan, data: list[Row]) -> None:
    assert answer(engine, size_plan(asked), data) == [by_limit(asked, data)]


@examples(40, plans(), rows(40), one_signed())
def test_shares_are_what_python_computes(engine: Opener, asked: Plan, data: list[Row], measure: Measure) -> None:
    assert answer(engine, size_plan(asked, measure), data) == [by_rows(cells(asked, data), EDGES, measure)]


@examples(40, plans(), rows(40))
def test_units_by_groups_are_what_python_counts(engine: Opener, asked: Plan, data: list[Row]) -> None:
    assume(asked.listed > 1)
    units, found = cells(asked, data), answer(engine, shown_plan(asked), data)
    assert found[-1] == by_groups(units)
    assert found[:-1] == ([] if limited_by(asked) == "groups" else [by_rows(units, SHOWN_EDGES)])


@examples(24, plans(unit="name"), rows(40), one_signed())
def test_units_that_are_named_by_text(engine: Opener, asked: Plan, data: list[Row], measure: Measure) -> None:
    units = cells(asked, data)
    assert answer(engine, size_plan(asked), data) == [by_limit(asked, data)]
    assert answer(engine, size_plan(asked, measure), data) == [by_rows(units, EDGES, measure)]


@examples(24, plans(), rows(30), rows(30), rows(30), st.none() | one_signed())
def test_a_unit_adds_at_most_one_to_one_bin(
    engine: Opener, asked: Plan, others: list[Row], own: list[Row], instead: list[Row], measure: Measure | None
) -> None:
    """One unit more changes one bin by at most 2^fraction_bits; other rows of a unit change two bins by that."""
    sized, most = size_plan(asked, measure), 1 if measure is None else 2**SHARE_BITS
    assert sized.bundles[0].contribution == most
    rest = [one for one in others if one["u"] != 3]
    tables = [rest, [*rest, *({**one, "u": 3} for one in own)], [*rest, *({**one, "u": 3} for one in instead)]]
    without, first, second = ([x for part in answer(engine, sized, data) for x in part] for data in tables)
    for found in (first, second):
        moved = [b - a for a, b in zip(without, found, strict=True)]
        assert all(0 <= change <= most for change in moved)
        assert sum(change != 0 for change in moved) <= 1
    assert sum(abs(b - a) for a, b in zip(first, second, strict=True)) <= 2 * most


# --- known tables ---------------------------------------------------------------------------------------------------


def test_every_size_is_in_the_bin_of_the_least_edge_that_reaches_it(engine: Opener) -> None:
    data = [row(u=size) for size in range(1, 71) for _ in range(size)]
    (found,) = answer(engine, size_plan(plan(table(), COUNT)), data)
    assert found[:22] == [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 6, 0]
    assert (sum(found), len(found)) == (70, BINS)


def test_rows_without_a_unit_a_listed_key_or_a_true_condition(engine: Opener) -> None:
    kept = [row(), row(), row(u=2), row(u=4, name="b")]
    left_out = [row(u=None)] * 9 + [row(name="z")] * 3 + [row(name=None), row(u=3, name="z"), row(x=-2.0), row(x=nan)]
    where = call("greater", "boolean", X, Constant(0.0, "real"))
    asked = plan(table(groups=1, rows=1), COUNT, keys=[key(NAME, "a", "b")], where=where)
    data = [*kept, *left_out]
    above = by_rows(cells(asked, data), EDGES)
    (found,) = answer(engine, size_plan(asked), data)
    assert found == above
    assert sum(found) == 3


def test_units_are_counted_by_their_groups_if_a_query_counts_units_alone(engine: Opener) -> None:
    data = [
        *[row(name="a")] * 5,
        *(row(u=2, name=name) for name in "abcabz"),
        *(row(u=3, name=name) for name in ("b", None, "z")),
        row(u=4, name="z"),
    ]
    asked = plan(table(), Measure(value=None, per="unit"), keys=[key(NAME, "a", "b", "c", "d")])
    (found,) = answer(engine, size_plan(asked), data)
    assert (found[:4], len(found)) == ([2, 0, 1, 0], BINS)
    assert answer(engine, shown_plan(asked), data) == [[2, 0, 1] + [0] * (SHOWN_BINS - 3)]


def test_tables_without_rows_units_or_listed_keys(engine: Opener) -> None:
    asked = plan(table(), COUNT, keys=[NONE_LISTED])
    for question, data in (
        (plan(table(), COUNT), []),
        (plan(table(), COUNT), [row(u=None)] * 4),
        (asked, [row(), row(u=2)]),
    ):
        assert answer(engine, size_plan(question), data) == [[0] * BINS]
    assert answer(engine, shown_plan(asked), [row()]) == [[0] * SHOWN_BINS] * 2


def test_shares_of_values_that_are_missing_negative_or_beyond_the_bounds(engine: Opener) -> None:
    data = [
        *(row(x=x) for x in (4.0, 4.0)),
        *(row(u=2, x=x) for x in (4.0, None)),
        *(row(u=3, x=x) for x in (nan, None, None, 2.0)),
        *(row(u=4, x=x) for x in (None, nan)),
        *(row(u=5, x=x) for x in (-1e300, 1e300)),
        row(u=6, x=float("inf")),
    ]
    one = 2**SHARE_BITS
    up = Measure(value=X, low=0, high=4)
    (found,) = answer(engine, size_plan(plan(table(), COUNT), up), data)
    assert found[:5] == [one, one + one // 2 + 0 + one // 2, 0, one // 8, 0]
    down = Measure(value=X, low=-4, high=0)
    (found,) = answer(engine, size_plan(plan(table(), COUNT), down), [row(x=-4.0), row(u=2, x=-1.0), row(u=2, x=3.0)])
    assert found[:3] == [one, one // 8, 0]


def test_products_past_64_bits_are_exact_and_larger_values_are_refused(engine: Opener) -> None:
    most = LARGEST_SHARED
    data = [row(a=most - place) for place in range(1000)] + [row(u=2, a=-5)] * 3 + [row(u=3, a=most)] * 2
    sums = Measure(value=A, low=0, high=most)
    (found,) = answer(engine, size_plan(plan(table(), COUNT), sums), data)
    expected = sum(most - place for place in range(1000)) * 2**SHARE_BITS // (1000 * most)
    assert (found[1], found[2], found[bisect_left(EDGES, 1000)]) == (2**SHARE_BITS, 0, expected)
    assert expected == 2**SHARE_BITS - 1
    with pytest.raises(InvalidError, match="more than 2\\^62 steps"):
        answer(engine, size_plan(plan(table(), COUNT), replace(sums, high=most + 1)), data)


def test_every_histogram_has_its_edges() -> None:
    sized, shown = size_plan(plan(table(), COUNT)), shown_plan(plan(table(), COUNT, keys=[key(NAME, "a", "b")]))
    assert edges_of(sized.bundles[0].measures[0]) == EDGES
    assert [edges_of(bundle.measures[0]) for bundle in shown.bundles] == [SHOWN_EDGES] * 2
    assert EDGES[:10] == (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
    assert SHOWN_EDGES[:8] == (1, 2, 3, 4, 6, 8, 12, 16)
    assert EDGES[-1] == SHOWN_EDGES[-1] == 2**40
    assert list(EDGES) == sorted(set(EDGES))
    assert list(SHOWN_EDGES) == sorted(set(SHOWN_EDGES) & set(EDGES))


# --- joins ----------------------------------------------------------------------------------------------------------

SHAPES: dict[str, dict[str, Kind]] = {
    "v": {"u": "integer", "k": "text", "x": "real"},
    "r": {"k": "text", "name": "text"},
}
TABLES: dict[str, list[dict[str, Value]]] = {
    "v": [
        {"u": u, "k": k, "x": x}
        for u, ks, x in ((1, "aab", 1.0), (2, "bz", 4.0), (3, ["z", None], None), (None, "a", 1.0), (4, "a", 2.0))
        for k in ks
    ],
    "r": [{"k": k, "name": name} for k, name in (("a", "A"), ("a", "B"), ("b", "B"), ("b", None), ("c", "C"))],
}
JOINS: Mapping[str, tuple[list[int], int]] = {
    "SELECT r.name, sum(v.x) AS s FROM v JOIN r ON v.k = r.k GROUP BY r.name": ([6, 2, 2], 3),
    "SELECT sum(v.x) AS s FROM v LEFT JOIN r ON v.k = r.k": ([6, 3, 2, 2], 4),
    "SELECT sum(v.x) AS s FROM v JOIN r ON v.k = r.k WHERE r.name = 'B'": ([3, 1, 1], 3),
}
"""A question, and the rows of its units."""


@pytest.mark.parametrize("name", ENGINES)
def test_rows_are_those_of_the_join(name: str) -> None:
    with joined(name, SHAPES, TABLES, {"r"}) as opened:
        policy = table_policy("v", SHAPES["v"], unit="u", reach=2, bounds={"x": (0, 4)})
        tables = {"v": policy, "r": opened.public("r", SHAPES["r"])}
        for question, (sizes, units) in JOINS.items():
            asked = parse(question, tables)
            (found,) = opened.measure(size_plan(asked))
            expected = [0] * BINS
            for size in sizes:
                expected[bisect_left(EDGES, size)] += 1
            assert (list(found), sum(found)) == (expected, units)
        measure = parse("SELECT sum(v.x) AS s FROM v JOIN r ON v.k = r.k", tables).bundles[0].measures[0]
        (shares,) = opened.measure(size_plan(parse(next(iter(JOINS)), tables), measure))
        one = 2**SHARE_BITS
        assert [shares[bisect_left(EDGES, size)] for size in (2, 6)] == [one + one // 2, one // 4]
