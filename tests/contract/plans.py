"""Random plans, and what they measure by brute force."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from bounded import contributions
from contract.tables import KINDS, Row
from row_evaluator import evaluate
from tacit.query.expressions import Call, Case, Column, Constant, Expression, Kind, Value
from tacit.query.plan import Bundle, Key, Measure, Plan
from tacit.query.policy import ColumnPolicy, TablePolicy

U, NAME, A, X = Column("u", "integer"), Column("name", "text"), Column("a", "integer"), Column("x", "real")
B, D, M = Column("b", "boolean"), Column("d", "date"), Column("m", "timestamp")
ONE = Constant(1, "integer")
MOST = 2**62

Cells = Mapping[Value, Mapping[int, Sequence[Row]]]
"""The rows of each unit in each cell, by the cell's number."""


def table(
    *,
    unit: str | None = "u",
    groups: int | None = 1,
    rows: int | None = 1,
    reach: int | None = None,
    kinds: Mapping[str, Kind] = KINDS,
) -> TablePolicy:
    return TablePolicy(
        name="t",
        unit=unit,
        max_groups=groups,
        max_rows=rows,
        reach=reach,
        neighbours="add/remove",
        columns={name: ColumnPolicy(kind=kind) for name, kind in kinds.items()},
    )


def plan(policy: TablePolicy, *measures: Measure, keys: Sequence[Key] = (), where: Expression | None = None) -> Plan:
    """A plan of one bundle, with the largest contribution that the measures allow."""
    limited = policy.max_rows is not None or policy.reach is not None
    size = sum(contribution_of(measure, policy.rows if limited else 1) for measure in measures)
    total = None if policy.reach is None else sum(total_of(measure, policy.reach) for measure in measures)
    bundle = Bundle(measures=measures, contribution=size, nonnegative=False, total=total)
    return Plan(sql="", table=policy, where=where, keys=tuple(keys), bundles=(bundle,), aggregates=(), outputs=())


def contribution_of(measure: Measure, max_rows: int) -> int:
    return (1 if measure.per == "unit" else max_rows * max(map(abs, measure.extremes))) << measure.fraction_bits


def total_of(measure: Measure, reach: int) -> int:
    return reach * (1 if measure.per == "unit" else max(map(abs, measure.extremes))) << measure.fraction_bits


def key(expression: Expression, *values: Value) -> Key:
    return Key(name="key", expression=expression, values=values)


def call(function: str, kind: Kind, *arguments: Expression) -> Call:
    return Call(function, arguments, kind)


def present(value: Expression) -> Expression:
    """1 where a value is there, as `count(x)` asks."""
    there = call("not", "boolean", call("is_null", "boolean", value))
    return Case(((there, ONE),), None, "integer")


def is_unit(unit: Value) -> Measure:
    """Return the measure that counts one particular unit in a cell."""
    return Measure(
        value=Case(((call("equal", "boolean", U, Constant(unit, "integer")), ONE),), None, "integer"), per="unit"
    )


LARGE = call("multiply", "real", X, Constant(1e300, "real"))
VALUES: list[Expression] = [X, A, LARGE, call("abs", "real", X), call("modulo", "integer", A, Constant(7, "integer"))]
REMAINDER = call("abs", "integer", call("modulo", "integer", A, Constant(7, "integer")))
"""A number from 0 to 6."""

PRESENT: list[Expression] = [*VALUES, NAME, B, D, M]


@st.composite
def measures(draw: st.DrawFn, max_rows: int) -> Measure:
    """A measure whose contribution stays within 2^62."""
    fine = draw(st.integers(0, 20))
    match draw(st.sampled_from(["row", "present", "value", "value", "value", "units", "units with", "bins", "bins"])):
        case "row":
            return Measure(value=None, fraction_bits=fine)
        case "present":
            return Measure(value=present(draw(st.sampled_from(PRESENT))), fraction_bits=fine)
        case "units":
            return Measure(value=None, per="unit")
        case "units with":
            return Measure(value=draw(st.sampled_from(PRESENT)), per="unit")
        case "bins":
            return draw(bins(fine))
        case _:
            return draw(sums(max_rows, fine))


@st.composite
def bins(draw: st.DrawFn, fine: int) -> Measure:
    """Rows counted by bins: of a value's steps, or of a number that is there already; some bins stay empty."""
    low = draw(st.integers(-5, 5) | st.sampled_from([-(2**40), 2**40]))
    count = draw(st.integers(2, 40))
    exponent = draw(st.integers(-4, 6) | st.sampled_from([-1000, 60]))
    ends = (Constant(part, "integer") for part in (exponent, low, low + count - 1))
    value = draw(st.sampled_from([call("steps", "integer", draw(st.sampled_from(VALUES)), *ends), REMAINDER]))
    more = draw(st.integers(0, 3)) if value != REMAINDER else 0
    return Measure(value=value, fraction_bits=fine, bins=7 if value == REMAINDER else count + more)


@st.composite
def sums(draw: st.DrawFn, max_rows: int, fine: int) -> Measure:
    most = MOST // (max_rows << fine)
    first = draw(st.integers(-100, 100) | st.integers(-(2**70), 2**70))
    width = draw(st.integers(0, min(100, most)) | st.integers(0, most))
    sign = draw(st.sampled_from([1, -1]))
    ends = sorted((sign * first, sign * (first + width)))
    # v must stay within ±most, so the offset takes the ends back to 0
    slack = most - width
    offset = draw(st.integers(-ends[1] - min(slack, 5), -ends[0] + min(slack, 5)) | st.just(-ends[0]))
    if max(abs(ends[0] + offset), abs(ends[1] + offset)) > most:
        offset = -ends[0]
    absent = draw(st.none() | st.integers(-most, most) | st.just(0))
    if absent is not None and draw(st.booleans()):
        sign, offset = 0, draw(st.just(0) | st.integers(-min(most, 9), min(most, 9)))
    return Measure(
        value=draw(st.sampled_from(VALUES)),
        absent=absent,
        step=Fraction(2) ** draw(st.integers(-6, 6) | st.sampled_from([-1070, -130, -62, 62, 66, 1000])),
        low=first,
        high=first + width,
        sign=sign,  # type: ignore[arg-type]
        offset=offset,
        fraction_bits=fine,
    )


SEVENTHS = call("modulo", "integer", A, Constant(7, "integer"))
HUNDREDTHS = call("modulo", "integer", A, Constant(100, "integer"))
LENGTH = call("length", "integer", NAME)
KEYS: list[st.SearchStrategy[Key]] = [
    st.lists(st.sampled_from([None, "", "a", "é", "it's", "no such"]), min_size=1, max_size=4, unique=True).map(
        lambda values: key(NAME, *values)
    ),
    st.sampled_from([key(B, *(False, True)), key(B, *(True, None)), key(D, date(2024, 2, 29), None, date(1, 1, 1))]),
    st.sampled_from([key(X, 0.0, 0.5, -2.5), key(X, None, 100.0, 1e308), key(LENGTH, 0, 1, 2, 3)]),
    st.sampled_from([key(SEVENTHS, *range(-6, 7)), key(HUNDREDTHS, *range(-99, 100)), key(HUNDREDTHS, None, 0, 1)]),
]

WHERES: list[Expression | None] = [
    None,
    None,
    call("greater", "boolean", X, Constant(-1.0, "real")),
    call("or", "boolean", B, call("is_null", "boolean", X)),
    call("not_equal", "boolean", NAME, Constant("a", "text")),
]


@st.composite
def plans(draw: st.DrawFn, *, unit: str | None = "u", groups: int | None = None, reach: bool = False) -> Plan:
    """A plan with up to two keys, so with up to some thousand cells. With `reach`, other limits may be absent."""
    max_rows = draw(st.integers(1, 4) | st.just(10**9))
    keys = [draw(one) for one in draw(st.lists(st.sampled_from(KEYS), max_size=2))]
    policy = table(unit=unit, groups=groups or draw(st.integers(1, 4)), rows=max_rows)
    largest = max_rows if max_rows < 5 else 10**9
    if reach:
        most, largest = draw(st.none() | st.integers(1, 4)), draw(st.integers(1, 6) | st.just(10**9))
        policy = replace(policy, max_rows=most, reach=largest)
    asked = draw(st.lists(measures(largest), min_size=1, max_size=4))
    return plan(policy, *asked, keys=keys, where=draw(st.sampled_from(WHERES)))


def cells(asked: Plan, rows: Sequence[Row]) -> Cells:
    """Return the rows that count, by unit and cell; a row without a unit column is its own unit."""
    numbers = {values: place for place, values in enumerate(product(*(one.listed for one in asked.keys)))}
    found: dict[Value, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for place, row in enumerate(rows):
        unit = place if asked.table.unit is None else row[asked.table.unit]
        number = numbers.get(tuple(evaluate(one.expression, row) for one in asked.keys))
        if unit is None or number is None or (asked.where is not None and evaluate(asked.where, row) is not True):
            continue
        found[unit][number].append(row)
    return found


def added_up(asked: Plan, found: Cells) -> list[list[int]]:
    """Return for each measure the sum over units, in each cell, of the unit's integer."""
    measures_ = [measure for bundle in asked.bundles for measure in bundle.measures]
    totals = [[0] * (asked.listed * measure.bins) for measure in measures_]
    for kept in found.values():
        for number, rows in kept.items():
            for total, measure in zip(totals, measures_, strict=True):
                for one, integer in enumerate(contributions(measure, rows, asked.table.max_rows or 1)):
                    total[number * measure.bins + one] += integer
    return totals
