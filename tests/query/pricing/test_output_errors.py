"""Errors of ratios and other functions before an answer: against brute force, and against simulated answers.

A simulation of 2,000 answers rejects an error that holds with probability 95 % with probability at most `FALSE_ALARM`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf, isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bounded import ask_for, plan_of, policy
from evidence import FALSE_ALARM
from query.results.test_intervals import LEAVES, larger
from tacit.query.aggregates import estimates
from tacit.query.aggregates.statistic import Interval, Released
from tacit.query.evaluate import evaluate_output
from tacit.query.expressions import columns
from tacit.query.plan import Measure, Noisy, Output, Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing import output_errors
from tacit.query.pricing.output_errors import Tolerance, _row_counts, _tolerance, output_error
from tacit.query.pricing.price import Cost, price
from tacit.query.results.quote import Quote
from tacit.query.sql.parse import parse

TABLE = TablePolicy(
    name="t",
    unit="u",
    max_groups=1,
    max_rows=4,
    neighbours="add/remove",
    columns={
        "u": ColumnPolicy(kind="integer"),
        "x": ColumnPolicy(kind="integer", bounds=(Fraction(-2), Fraction(10))),
        "urban": ColumnPolicy(kind="boolean"),
    },
)
SELECT = (
    "SELECT round(avg(x), 2) AS mean, sum(x) / count(DISTINCT u) AS each, "
    "count(*) FILTER (WHERE urban) / count(*) AS share, 100 * sum(x) / nullif(count(*), 0) AS cents FROM t"
)


def quoted(sql: str, assume: int | None = None, table: TablePolicy = TABLE, epsilon: float = 1) -> Quote:
    plan = parse(sql, {"t": table})
    return Quote(plan, price(plan, Cost(epsilon=epsilon)), 0.95, assume)


# --- brute force -----------------------------------------------------------------------------------------------------

PLAN = plan_of(policy(unit=None), *(ask_for("count"),) * 3)
RANGES = st.tuples(st.floats(-50, 50), st.floats(0, 30)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def bound(output: Output, ranges: Mapping[int, Interval], errors: Sequence[float]) -> Tolerance | None:
    """The bound of an output whose aggregates have these ranges and errors."""
    places = {id(aggregate): index for index, aggregate in enumerate(PLAN.aggregates)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_errors, "_true_range", lambda aggregate, _size: ranges[places[id(aggregate)]])
        return _tolerance(PLAN, output, dict(enumerate(errors)), (None, (0.0, inf)))


def off_by(output: Output, truth: list[float], noise: list[float]) -> float | None:
    """Return how far noise moves an output; None if it is NULL without or with noise."""
    before = evaluate_output(output, truth, [7.0])
    after = evaluate_output(output, [a + b for a, b in zip(truth, noise, strict=True)], [7.0])
    return abs(after - before) if isinstance(before, (int, float)) and isinstance(after, (int, float)) else None


SHARES = st.lists(st.floats(0, 1), min_size=3, max_size=3)
SIDES = st.lists(st.floats(-1, 1) | st.sampled_from([-1.0, 1.0]), min_size=3, max_size=3)


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(
        LEAVES.filter(lambda leaf: not hasattr(leaf, "place") or isinstance(leaf, Noisy)), larger, max_leaves=6
    ),
    st.lists(RANGES, min_size=3, max_size=3),
    st.lists(st.floats(0, 20), min_size=3, max_size=3),
    SHARES,
    SIDES,
)
def test_no_function_is_further_off_than_its_bound(
    output: Output, ranges: list[Interval], errors: list[float], shares: list[float], sides: list[float]
) -> None:
    found = bound(output, dict(enumerate(ranges)), errors)
    truth = [low + (high - low) * share for (low, high), share in zip(ranges, shares, strict=True)]
    truth = [min(max(point, low), high) for point, (low, high) in zip(truth, ranges, strict=True)]
    noise = [side * error for side, error in zip(sides, errors, strict=True)]
    actual = off_by(output, truth, noise)
    if found is None or not isfinite(found.error) or actual is None:
        return
    size = max(1.0, found.error, *(abs(end) for end in found.ends if isfinite(end)))
    assert actual <= found.error + 1e-9 * size


def test_the_brute_force_finds_a_ratio_whose_denominator_has_no_noise() -> None:
    ratio = parse("SELECT sum(x) / count(*) AS r FROM t", {"t": TABLE}).outputs[0][1]
    ranges, errors = {0: (90.0, 100.0), 1: (10.0, 10.0)}, [1.0, 2.0]
    right, wrong = bound(ratio, ranges, errors), bound(ratio, ranges, [1.0, 0.0])
    worst = max(off_by(ratio, [100.0, 10.0], [a, b]) or 0 for a in (-1.0, 1.0) for b in (-2.0, 2.0))
    assert right is not None
    assert wrong is not None
    assert wrong.error < worst <= right.error


@pytest.mark.parametrize(
    ("sql", "known"),
    [
        ("count(*) / (count(*) - 1000)", False),  # the denominator may be 0
        ("sum(x) / count(*)", True),
        ("ln(count(*))", True),
        ("exp(count(*))", False),
        ("sqrt(count(*)) + floor(avg(x))", True),
        ("coalesce(sum(x) / count(*), 0)", True),
        ("CASE WHEN count(*) > 5 THEN 1 ELSE 0 END", False),
        ("clamp(sum(x) / sum(x), 0, 1)", False),
        ("greatest(avg(x), 0) * 2 + abs(avg(x))", True),
        ("count(*) % 7", False),
    ],
)
def test_which_functions_have_a_bound(sql: str, known: bool) -> None:  # noqa: FBT001 - a table of cases
    asked = quoted(f"SELECT {sql} AS r FROM t", assume=1000, epsilon=5)  # noqa: S608 - a question is text
    assert (asked.error.get("r") is not None) == known
    assert asked.unknown == (() if known else ("r",))


def test_the_rows_of_a_group_are_covered_without_gaps() -> None:
    ranges = list(_row_counts(50, TABLE))
    assert (ranges[0][0], ranges[-1][1]) == (50, 200)
    assert all(a[1] == b[0] for a, b in pairwise(ranges))
    assert all(high / low <= 1.0200001 for low, high in ranges)
    assert list(_row_counts(50, policy(unit=None))) == [(50, 50)]
    assert list(_row_counts(None, TABLE)) == [(0, inf)]


# --- simulated answers -----------------------------------------------------------------------------------------------


def exact(plan: Plan, rows: Sequence[tuple[int, bool]], units: int) -> list[list[int]]:
    """The exact integers of each bundle, for rows (x, urban) of units with at most four rows each."""

    def integer(measure: Measure, x: int, *, urban: bool) -> int:
        if measure.value is None:
            return 1
        if "urban" in columns(measure.value):
            return int(urban)
        return measure.sign * x + measure.offset if measure.sign else 0

    return [
        [
            (units if measure.per == "unit" else sum(integer(measure, x, urban=urban) for x, urban in rows))
            << measure.fraction_bits
            for measure in bundle.measures
        ]
        for bundle in plan.bundles
    ]


CASES = [
    ("one row a unit", 400, [(10, True)] * 400),
    ("four rows a unit, at the bound", 300, [(10, True)] * 1200),
    ("mixed", 500, [(-2, False), (10, True), (3, True)] * 500),
]


@pytest.mark.parametrize(("units", "rows"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_answers_are_off_by_no_more_than_the_plan_says(units: int, rows: list[tuple[int, bool]]) -> None:
    asked, runs = quoted(SELECT, assume=units), 2000
    plan, errors, integers = asked.plan, asked.error, exact(asked.plan, rows, units)
    sums, share = sum(x for x, _ in rows), sum(urban for _, urban in rows) / len(rows)
    truth = {"mean": round(sums / len(rows), 2), "each": sums / units, "share": share, "cents": 100 * sums / len(rows)}
    within = dict.fromkeys(truth, 0)
    noise = [law.draw(runs * len(some)) for law, some in zip(asked.price.noise, integers, strict=True)]
    for run in range(runs):
        drawn = [each[run * len(some) : (run + 1) * len(some)] for each, some in zip(noise, integers, strict=True)]
        released = [
            Released(bundle, [x + k for x, k in zip(some, more, strict=True)], law)
            for bundle, some, more, law in zip(plan.bundles, integers, drawn, asked.price.noise, strict=True)
        ]
        values = estimates(plan, released)
        for name, output in plan.outputs:
            value = evaluate_output(output, values, ())
            within[name] += isinstance(value, (int, float)) and abs(value - truth[name]) <= errors[name] + 1e-9
    for name, hits in within.items():
        assert binom.cdf(hits, runs, 0.95) > FALSE_ALARM, name


def test_without_an_assumption_a_ratio_has_no_error_and_the_plan_says_what_to_give() -> None:
    asked = quoted(SELECT)
    assert asked.unknown == ("each", "share", "cents")
    assert asked.error == {"mean": 12}
    assert (
        "each, share and cents: the error is not known before (for the error in a group of N units, add assume=N"
        in str(asked)
    )
    known = quoted(SELECT, assume=1000)
    assert known.unknown == ()
    for text in (str(known), known._repr_html_()):
        assert "if there are 1,000 units" in text
    assert known.error["share"] < quoted(SELECT, assume=500).error["share"] / 2
    few = quoted(SELECT, assume=3)
    assert few.unknown == ("each", "share", "cents")
    assert "assume=" not in str(few)


def test_an_error_of_keys_and_constants_counts_no_noise() -> None:
    asked = quoted("SELECT sum(x) * 3 + 5 AS a, round(sum(x), -1) AS b, sum(x) AS s FROM t")
    assert asked.error["a"] == pytest.approx(3 * asked.error["s"])
    assert asked.error["s"] <= asked.error["b"] < asked.error["s"] + 10
    assert asked.error["b"] % 10 == 0
    assert output_error(asked.plan, Noisy(0, "real"), {0: 2.0}, None) == 2
