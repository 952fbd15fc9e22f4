"""Conditions see raw rows, values are clamped, and ranges hold; checked by brute force over raw values."""

# ruff: noqa: S608 - queries are text
from __future__ import annotations

from fractions import Fraction
from itertools import product

import pandas as pd
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import tacit as tc
from tacit.errors import RefusedError
from tacit.query.evaluate import evaluate
from tacit.query.plan import Measure
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

LOW, HIGH = 0, 10
WITHIN = {name: ColumnPolicy(kind="integer", bounds=(Fraction(LOW), Fraction(HIGH))) for name in ("x", "y")}
TABLE = TablePolicy(name="t", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns=WITHIN)
RAW = (None, -99, -1, 0, 1, 5, 9, 10, 11, 42, 999)


def measured(aggregate: str) -> Measure:
    return parse(f"SELECT {aggregate} FROM t", {"t": TABLE}).bundles[0].measures[0]


def value(measure: Measure, x: int | None, y: int | None = None) -> object:
    assert measure.value is not None
    return evaluate(measure.value, {"x": x, "y": y})


def clamp(x: int | None) -> int | None:
    return None if x is None else min(max(x, LOW), HIGH)


def over(x: int | None, limit: int) -> bool:
    return x is not None and x > limit


CASES = [
    ("CASE WHEN x > 10 THEN 1 ELSE 0 END", lambda x: int(over(x, 10))),
    ("CASE WHEN x > 10 THEN x ELSE 0 END", lambda x: clamp(x) if over(x, 10) else 0),
    ("if(x > 41, 1, 0)", lambda x: int(over(x, 41))),
    ("CAST(x > 41 AS INTEGER)", lambda x: None if x is None else int(x > 41)),
    ("CASE x WHEN 999 THEN NULL ELSE x END", lambda x: None if x == 999 else clamp(x)),
    ("nullif(x, 999)", lambda x: None if x == 999 else clamp(x)),
    ("CASE WHEN coalesce(x > 41, false) THEN 2 ELSE x END", lambda x: 2 if over(x, 41) else clamp(x)),
    ("CASE WHEN NOT (x BETWEEN 0 AND 10) THEN 1 ELSE 0 END", lambda x: int(x is not None and not 0 <= x <= 10)),
    ("CASE WHEN x IN (42, -99) THEN 1 ELSE 0 END", lambda x: int(x in (42, -99))),
    ("CASE WHEN CAST(x AS TEXT) LIKE '-%' THEN 1 ELSE 0 END", lambda x: int(x is not None and x < 0)),
    ("CASE WHEN CAST(x AS BOOLEAN) THEN 1 ELSE 0 END", lambda x: int(bool(x))),
    (
        "x + CASE WHEN x + 1 > 11 THEN 1 ELSE 0 END",
        lambda x: None if x is None else min(max(x, LOW), HIGH) + int(x > 10),
    ),
    ("abs(x)", clamp),
    ("x", clamp),
]


@pytest.mark.parametrize(("expression", "truth"), CASES, ids=[expression for expression, _ in CASES])
def test_conditions_see_raw_values_and_results_are_clamped(expression: str, truth: object) -> None:
    measure = measured(f"sum({expression})")
    for x in RAW:
        assert value(measure, x) == truth(x), x  # type: ignore[operator]


def test_a_subquery_passes_on_raw_conditions_and_clamped_values() -> None:
    source = "(SELECT x > 41 AS high, CASE WHEN x > 41 THEN x ELSE 0 END AS v FROM t)"
    plan = parse(f"SELECT sum(CASE WHEN high THEN 1 ELSE 0 END), sum(v) FROM {source}", {"t": TABLE})
    first, second = (bundle.measures[0] for bundle in plan.bundles)
    assert [value(first, x) for x in (41, 42)] == [0, 1]
    assert [value(second, x) for x in (41, 42)] == [0, HIGH]


NUMBERS = st.recursive(
    st.sampled_from(["x", "y", "0", "3", "-7", "20"]),
    lambda part: st.one_of(
        st.builds("({} {} {})".format, part, st.sampled_from("+-*"), part),
        st.builds("CASE WHEN {} {} {} THEN {} ELSE {} END".format, part, st.sampled_from("<>="), part, part, part),
        st.builds("CASE {} WHEN {} THEN {} ELSE {} END".format, part, part, part, part),
        st.builds("nullif({}, {})".format, part, part),
        st.builds("coalesce({}, {})".format, part, part),
        st.builds("CAST(({} > {}) AS INTEGER)".format, part, part),
        st.builds("least({}, {})".format, part, part),
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(NUMBERS)
def test_the_proved_range_holds_for_all_raw_values(expression: str) -> None:
    try:
        plan = parse(f"SELECT sum({expression}) FROM t", {"t": TABLE})
    except RefusedError:  # of an expression that is always NULL
        reject()
    ask = plan.aggregates[0].ask
    (low, high), expression_of_sum = ask.bounds[0], ask.values[0]
    for x, y in product(RAW, RAW):
        result = evaluate(expression_of_sum, {"x": x, "y": y})
        assert result is None or (isinstance(result, (int, float)) and low <= result <= high)


def test_where_a_case_and_a_group_agree_on_values_beyond_the_bounds() -> None:
    """Noise of scale 1/50: a count moves by 1 with probability below 1e-21."""
    data = pd.DataFrame({"x": [1, 50, 99, 100, 101, 150, 250]})
    db = tc.open(data, name="t", unit=tc.ROW, bounds={"x": (0, 100)}, budget=tc.PureDP(epsilon=1000))

    def ask(sql: str) -> list[tuple[object, ...]]:
        return list(db.sql(sql, epsilon=50).rows())

    assert ask("SELECT count(*) FROM t WHERE x > 100") == [(3,)]
    assert ask("SELECT sum(CASE WHEN x > 100 THEN 1 ELSE 0 END) FROM t") == [(3,)]
    assert ask("SELECT CASE WHEN x > 100 THEN 'hi' ELSE 'lo' END AS k, count(*) FROM t GROUP BY k") == [
        ("hi", 3),
        ("lo", 4),
    ]
    assert ask("SELECT x > 100 AS k, count(*) FROM t GROUP BY k") == [(False, 4), (True, 3)]
    bins = ask("SELECT floor(x / 50) AS k, count(*) FROM t GROUP BY k")
    assert bins == [(0.0, 1), (1.0, 2), (2.0, 2)]  # 150 and 250 have bins that are not listed
