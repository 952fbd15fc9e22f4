from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import inf, nan

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tacit as tc
from bounded import REAL, UNIT, WHOLE, Row, key, measured, plan_of, policy
from tacit.errors import RefusedError
from tacit.guarantees.events import Neighbours
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.quantile import bins_of
from tacit.query.aggregates.statistic import Released
from tacit.query.expressions import Kind
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Bounds, Plan
from tacit.query.policy import TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.results.receipt import receipt
from tacit.query.results.resolution import coarse
from tacit.query.sql.parse import parse

SILENT = NoiseLaw(law="laplace", amount=Fraction(1, 1000), sensitivity=1, moving=1)
ROW = policy(unit=None)
KINDS: list[Kind] = ["integer", "real"]


def bounds(low: float, high: float) -> Bounds:
    return Fraction(repr(low)), Fraction(repr(high))


def median(q: Fraction = Fraction(1, 2), function: str = "quantile", *, ends: Bounds | None = None) -> Ask:
    return Ask(function=function, values=(REAL,), bounds=(ends or bounds(-1, 1),), parameter=q)


def noiseless(plan: Plan, rows: Sequence[Row]) -> float:
    """The estimate of a plan's first aggregate, without noise."""
    exact = measured(plan, rows)
    released = [
        Released(bundle, tuple(coarse(plan, bundle, bundle.measures[0], integers)), SILENT)
        for bundle, integers in zip(plan.bundles, exact, strict=True)
    ]
    ask = plan.aggregates[0].ask
    found = STATISTICS[ask.function].estimate(ask, [released[i] for i in plan.aggregates[0].bundles])
    assert found is not None
    return found


# --- bins -----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.floats(-1e300, 1e300), st.floats(0, 1e300), st.sampled_from(KINDS))
@example(low=4503599627366401.0, width=4095.0, kind="integer")  # the middles of bins are near 2^52
def test_bins_are_few_and_fill_the_bounds(low: float, width: float, kind: Kind) -> None:
    ends = (Fraction(low), Fraction(low) + Fraction(width))
    bins = bins_of(kind, ends)
    assert 1 <= bins.count <= 4096
    first, last = bins.ends(bins.count + 3)
    assert first[0] == float(bins.bounds[0])
    assert last[-1] == float(bins.bounds[1])
    assert (first <= last).all()
    assert (first[1:] >= last[:-1]).all()


def test_whole_numbers_have_a_bin_each_if_they_are_few() -> None:
    first, last = bins_of("integer", bounds(-3, 4000)).ends(4004)
    assert first.tolist() == last.tolist() == list(range(-3, 4001))


def test_many_whole_numbers_have_bins_of_whole_numbers() -> None:
    bins = bins_of("integer", bounds(0, 100_000))
    first, last = bins.ends(bins.count)
    assert (first[1:] == last[:-1] + 1).all()


@settings(deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1))
def test_a_value_lies_in_the_bin_that_it_is_counted_in(low: float, width: float, share: float) -> None:
    from tacit.query.expressions.functions import apply  # noqa: PLC0415

    value = min(max(low + share * width, low), low + width)
    bins = bins_of("real", (Fraction(low), Fraction(low + width)))
    number = apply("steps", [value, bins.exponent, bins.low, bins.high], "integer")
    assert isinstance(number, int)
    first, last = bins.ends(bins.count)
    assert first[number] <= value <= last[number]


# --- estimates without noise ------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=60), st.integers(1, 99))
def test_without_noise_a_quantile_is_that_of_the_rows_but_for_a_bin(values: list[float], hundredths: int) -> None:
    q = Fraction(hundredths, 100)
    ordered = sorted(min(max(value, -1.0), 1.0) for value in values)
    rank = q * len(ordered)
    low, high = ordered[max(int(rank) - 1, 0)], ordered[min(int(rank), len(ordered) - 1)]
    found = noiseless(plan_of(ROW, median(q)), [{"x": value} for value in values])
    width = 2.0 / 2048
    assert low - width <= found <= high + width


def test_nulls_and_nans_count_for_nothing_and_infinities_are_at_the_bounds() -> None:
    rows = [{"x": value} for value in (None, nan, inf, inf, -inf)]
    assert noiseless(plan_of(ROW, median(Fraction(2, 3) + Fraction(1, 10))), rows) == pytest.approx(1, abs=2e-3)
    assert noiseless(plan_of(ROW, median(Fraction(1, 10))), rows) == pytest.approx(-1, abs=2e-3)


def test_a_unit_with_many_rows_weighs_as_max_rows() -> None:
    table = policy(rows=2)
    rows = [{UNIT: 1, "x": -0.5}] * 100 + [{UNIT: unit, "x": 0.5} for unit in (2, 3, 4, 5)]
    assert noiseless(plan_of(table, median()), rows) == pytest.approx(0.5, abs=1e-3)


def test_bounds_of_no_width_give_the_bound() -> None:
    ask = median(ends=bounds(0.5, 0.5))
    plan = plan_of(ROW, ask)
    assert noiseless(plan, [{"x": 0.5}] * 3) == 0.5
    released = [Released(bundle, (0,) * bundle.width, SILENT) for bundle in plan.bundles]
    assert STATISTICS["quantile"].interval(ask, released, 0.95) == (0.5, 0.5)


def test_whole_numbers_stay_whole_but_in_interpolated_quantiles() -> None:
    assert STATISTICS["quantile"].kind(Ask(function="quantile", values=(WHOLE,))) == "real"
    for name in ("quantile_disc", "min", "max"):
        assert STATISTICS[name].kind(Ask(function=name, values=(WHOLE,))) == "integer"
        assert STATISTICS[name].kind(Ask(function=name, values=(REAL,))) == "real"


# --- privacy ----------------------------------------------------------------------------------------------------------

NUMBERS = [0, 4, 10, None]


def tables(unit: int, rows: int) -> list[list[Row]]:
    """All small tables of one unit's rows, in two groups."""
    one: list[list[Row]] = [[]]
    for count in range(1, rows + 1):
        one += [
            [{UNIT: unit, "k": k, "n": n} for k, n in chosen]
            for chosen in product(product("ab", NUMBERS), repeat=count)
            if list(map(repr, chosen)) == sorted(map(repr, chosen))
        ]
    return one


@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
@pytest.mark.parametrize(("groups", "rows"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_no_neighbour_moves_a_level_further_than_its_price_says(neighbours: Neighbours, groups: int, rows: int) -> None:
    table = policy(groups=groups, rows=rows, neighbours=neighbours)
    years = Ask(function="quantile", values=(WHOLE,), bounds=(bounds(0, 40),), parameter=Fraction(1, 2))
    plan = plan_of(table, years, keys=[key("k", "a", "b")])
    rest: list[Row] = [{UNIT: 9, "k": "a", "n": 4}]
    found = [vectors(plan, rest + own) for own in tables(1, 3)]
    pairs = product(found, found) if neighbours == "change one" else ((one, found[0]) for one in found)
    laplace, gaussian = price(plan, Cost(epsilon=1)).noise, price(plan, Cost(rho=1)).noise
    worst = [[0, 0, 0] for _ in plan.bundles]
    for one, other in pairs:
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            moves = [abs(a.get(i, 0) - b.get(i, 0)) for i in a.keys() | b.keys()]
            sizes = sum(moves), sum(move**2 for move in moves), sum(map(bool, moves))
            worst[place] = list(map(max, worst[place], sizes))
    for (l1, l2, count), first, second in zip(worst, laplace, gaussian, strict=True):
        assert l1 <= first.sensitivity
        assert l2 <= second.sensitivity
        assert count <= min(first.moving, second.moving)
    if groups * rows < 4:  # a unit has three rows at most here
        assert worst[-1][0] == laplace[-1].sensitivity  # and no less would do


def vectors(plan: Plan, rows: Sequence[Row]) -> list[dict[int, int]]:
    """Return the integers of each bundle before noise, without zeros."""
    return [
        {i: x for i, x in enumerate(coarse(plan, bundle, bundle.measures[0], integers)) if x}
        for bundle, integers in zip(plan.bundles, measured(plan, rows), strict=True)
    ]


def test_all_quantiles_of_a_value_share_one_price() -> None:
    one = parse("SELECT median(x) FROM t", {"t": ROW})
    asked = ", ".join(f"quantile_cont(x, 0.{i}) AS q{i}" for i in range(1, 10))
    ten = parse(f"SELECT {asked} FROM t", {"t": ROW})  # noqa: S608 - a question
    assert one.bundles == ten.bundles
    assert price(one, Cost(epsilon=1)).noise == price(ten, Cost(epsilon=1)).noise
    assert sum(bundle.weight for bundle in one.bundles) == 1


def test_gaussian_noise_is_certified_at_once_and_used_where_it_errs_less() -> None:
    table: TablePolicy = policy(groups=20, rows=1)
    plan = plan_of(table, median(), keys=[key("k", *"abcdefghijklmnopqrstuvwxyz")])
    found = price(plan, Cost(epsilon=1, delta=1e-6))
    assert found.noise[0].law == "gaussian"
    assert "0." in found.why


# --- the question -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "function", "share"),
    [
        ("median(x)", "quantile", Fraction(1, 2)),
        ("quantile_cont(x, 0.1)", "quantile", Fraction(1, 10)),
        ("quantile_cont(x, 1 / 4)", "quantile", Fraction(1, 4)),
        ("percentile_cont(0.9) WITHIN GROUP (ORDER BY x)", "quantile", Fraction(9, 10)),
        ("percentile_cont(0.9) WITHIN GROUP (ORDER BY x DESC)", "quantile", Fraction(1, 10)),
        ("quantile_cont(x, 0.9 ORDER BY x)", "quantile", Fraction(9, 10)),
        ("quantile_disc(x, 0.3)", "quantile_disc", Fraction(3, 10)),
        ("quantile(x, 0.3)", "quantile_disc", Fraction(3, 10)),
        ("percentile_disc(0.3) WITHIN GROUP (ORDER BY x)", "quantile_disc", Fraction(3, 10)),
        ("min(x)", "min", None),
        ("max(x)", "max", None),
        ("quantile_cont(x, 0)", "min", None),
        ("quantile(x, 1.0)", "max", None),
    ],
)
def test_spellings(sql: str, function: str, share: Fraction | None) -> None:
    plan = parse(f"SELECT {sql} AS a FROM t", {"t": ROW})  # noqa: S608 - a question
    assert [(one.ask.function, one.ask.parameter) for one in plan.aggregates] == [(function, share)]
    assert parse(plan.sql, {"t": ROW}).aggregates[0].ask == plan.aggregates[0].ask


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("quantile_cont(x, 1.5)", "from 0 to 1"),
        ("quantile_cont(x, -0.5)", "from 0 to 1"),
        ("quantile_cont(x, 'NaN'::double)", "from 0 to 1"),
        ("quantile_cont(x, NULL)", "from 0 to 1"),
        ("quantile_cont(x, x)", "from 0 to 1"),
        ("quantile_cont(x, [0.1, 0.9]) + 1", "cost as much as one"),
        ("quantile_cont(x)", "Write quantile_cont"),
        ("quantile_cont(x, 0.5 ORDER BY n)", "in the order of another"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY x, n)", "one value"),
        ("mode() WITHIN GROUP (ORDER BY x)", "are not public"),
        ("median(DISTINCT x)", "DISTINCT inside median"),
        ("median(sum(x))", "inside an aggregate"),
        ("median(k)", "takes numbers"),
        ("median(*)", "stands for rows"),
        ("min(x, 3)", "not supported"),
        ("median(exp(x) / x)", "needs bounds"),
        ("max(id)", "cannot be aggregated"),
    ],
)
def test_refusals(sql: str, says: str) -> None:
    with pytest.raises(RefusedError, match=says):
        parse(f"SELECT {sql} AS a FROM t", {"t": policy(groups=1, rows=1)})  # noqa: S608 - a question


def test_min_and_max_say_what_they_are() -> None:
    plan = parse("SELECT min(x), max(x), median(x) FROM t", {"t": ROW})
    said = receipt(plan, price(plan, Cost(epsilon=1)), {})["notes"]
    assert isinstance(said, dict)
    assert list(said) == ["min(x)", "max(x)"]
    assert "cannot be released privately" in said["min(x)"]


def test_the_error_is_known_for_an_assumed_number_of_rows() -> None:
    plan = parse("SELECT median(x) AS a FROM t", {"t": ROW})
    noise, ask = price(plan, Cost(epsilon=1)).noise, plan.aggregates[0].ask
    errors = [STATISTICS["quantile"].error(ask, plan.bundles, noise, 0.95, n) for n in (None, 1, 1000, 10**6)]
    assert errors[:2] == [2.0, 2.0]
    assert 2.0 > errors[2] > errors[3] > 0


# --- through the engine -----------------------------------------------------------------------------------------------


def test_quantiles_by_group_from_a_table() -> None:
    rows = 30_000
    data = pd.DataFrame({"k": ["a", "b", "c"] * rows, "u": range(3 * rows)})
    data["n"] = pd.array([1, 50, None] * rows, dtype="Int64")
    data["x"] = [0.1, 0.7, None] * rows
    asked = "SELECT k, median(x) AS m, quantile_disc(n, 0.9) AS q, count(*) AS c FROM t GROUP BY k"
    for unit, more in ((tc.ROW, {}), ("u", {"max_groups": 1, "max_rows": 1})):
        with tc.open(
            data,
            name="t",
            unit=unit,
            bounds={"x": (0, 1), "n": (0, 120)},
            keys={"k": ["a", "b", "c", "none"]},
            budget=tc.PureDP(epsilon=10),
            **more,  # type: ignore[arg-type]
        ) as db:
            answer = db.sql(asked, epsilon=2)
            (_, a, q, _), (_, b, r, _), *empty = answer.rows()
            assert [a, b] == pytest.approx([0.1, 0.7], abs=1e-3)
            assert (q, r) == (1, 50)
            assert all(0 <= one[1] <= 1 and 0 <= one[2] <= 120 for one in empty)  # type: ignore[operator]
            assert "95%" in str(answer) or "95 %" in str(answer)
