"""The cut of a reach: no unit moves it further than claimed, answer and cut add up, and their intervals hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import erfc, exp, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import find, given, reject
from hypothesis import strategies as st
from scipy.stats import binom

from contract.questions import REACHED, Trial, trials
from contract.test_questions import BRIEF, SEARCH, SECRET, Error, asked, in_bundles, measured, oversteps
from policies import table_policy
from scripted import Scripted, seeded
from tacit.engines.duckdb.engine import DuckDBEngine, open_duckdb
from tacit.engines.sql.statement import SOURCE
from tacit.errors import InvalidError
from tacit.guarantees.events import Neighbours
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.cut import (
    _both_weights,
    _spread,
    _value,
    cut_share,
    is_cut,
    uncut_error,
    uncut_estimate,
    uncut_interval,
    with_cut,
)
from tacit.query.aggregates.measure_sharing import without_sharing
from tacit.query.aggregates.statistic import Released
from tacit.query.noise_law import NoiseLaw, changed_integers, sensitivity
from tacit.query.plan import Bundle, Noisy, Plan
from tacit.query.policy import ROW, ColumnPolicy, TablePolicy
from tacit.query.pricing.price import Cost, Price, price
from tacit.query.pricing.solve import solve
from tacit.query.sql.parse import parse

BOUNDS = {"x": (-4, 4), "p": (0, 5), "m": (-6, -1), "r": (-0.5, 1.5)}
QUERY = "SELECT g, count(*) AS n, count(x) AS c, sum(x) AS x, sum(p) AS p, sum(m) AS m, sum(r) AS r FROM t GROUP BY g"
SCHEMA: dict[str, Any] = {"u": "integer", "g": "text", "x": "integer", "p": "integer", "m": "integer", "r": "real"}
ARROW = {"integer": pa.int64(), "text": pa.string(), "real": pa.float64()}
VALUES: list[dict[str, Any]] = [
    {"x": 4, "p": 5, "m": -6, "r": 1.5},
    {"x": -9, "p": 1, "m": 3, "r": -0.3},
    dict.fromkeys(("x", "p", "m", "r")),
]
KINDS_OF_ROWS: list[dict[str, Any]] = [{"g": g, **values} for g in ("a", "b") for values in VALUES]
BACKGROUND: list[dict[str, Any]] = [{"u": 2, **KINDS_OF_ROWS[0]}] * 3 + [{"u": None, **KINDS_OF_ROWS[1]}] * 7
"""A unit of three rows, and rows without a unit."""

TENTH = Fraction(1, 10)
Row = dict[str, Any]


def policy(reach: int | None, neighbours: Neighbours = "add/remove", **more: object) -> TablePolicy:
    limits: dict[str, Any] = {"unit": "u", "max_groups": None, "max_rows": None, "reach": reach} | more
    return table_policy("t", SCHEMA, bounds=BOUNDS, keys={"g": ["a", "b"]}, neighbours=neighbours, **limits)


def cut_plan(
    reach: int, cap: int, neighbours: Neighbours = "add/remove", query: str = QUERY, share: Fraction = TENTH
) -> Plan:
    return with_cut(parse(query, {"t": policy(reach, neighbours)}), cap, share)


@cache
def engine() -> DuckDBEngine:
    return open_duckdb(arrow([]), threads=1)


def arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in SCHEMA.items()})


def integers(plan: Plan, rows: Sequence[Row]) -> list[list[int]]:
    engine()._connection.register(SOURCE, arrow(rows))
    return engine().measure_with(plan, (1, 2))


UNITS = [list(rows) for count in range(7) for rows in combinations_with_replacement(KINDS_OF_ROWS, count)]
"""All possible rows of one unit: up to six of these rows, in any combination."""


@cache
def moved(reach: int, cap: int) -> list[list[tuple[int, int]]]:
    """Return what every possible unit adds to the two cells of a table with other rows, for each measure.

    All these tables are measured at once: each has two separate cells and a separate unit.
    """
    keys = [f"{number} {g}" for number in range(len(UNITS)) for g in ("a", "b")]
    table = replace(policy(reach), columns={**policy(reach).columns, "g": ColumnPolicy(kind="text", keys=tuple(keys))})
    plan = with_cut(parse(QUERY, {"t": table}), cap, TENTH)
    others, own = (
        [row | {"u": unit + number, "g": f"{number} {row['g']}"} for number, rows in enumerate(some) for row in rows]
        for some, unit in (([BACKGROUND] * len(UNITS), 10**6), (UNITS, 1))
    )
    nobody = [row | {"u": None} for row in own]
    before, after = integers(plan, [*others, *nobody]), integers(plan, [*others, *nobody, *own])
    changes = [[y - x for x, y in zip(*both, strict=True)] for both in zip(before, after, strict=True)]
    return [list(zip(change[::2], change[1::2], strict=True)) for change in changes]


def vectors(reach: int, cap: int, index: int) -> set[tuple[int, int]]:
    return set(moved(reach, cap)[index])


def moves(plan: Plan, possible: set[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield the L1 norm, the squared L2 norm and the number of changed integers between all neighbours."""
    others = [(0, 0)] if plan.table.neighbours == "add/remove" else list(possible)
    for one in possible:
        for other in others:
            change = [abs(a - b) for a, b in zip(one, other, strict=True)]
            yield sum(change), sum(x * x for x in change), sum(x > 0 for x in change)


def worst(plan: Plan, possible: set[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(map(max, zip(*moves(plan, possible), strict=True)))


def claims(plan: Plan, bundle: Bundle) -> tuple[int, int, int]:
    return (
        sensitivity(plan, bundle, "laplace"),
        sensitivity(plan, bundle, "gaussian"),
        changed_integers(plan, bundle),
    )


@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
@pytest.mark.parametrize(("reach", "cap"), [(1, 3), (2, 4)])
def test_no_unit_of_any_small_table_moves_a_cut_further_than_claimed(
    reach: int, cap: int, neighbours: Neighbours
) -> None:
    plan = cut_plan(reach, cap, neighbours)
    cuts = [index for index, bundle in enumerate(plan.bundles) if is_cut(bundle)]
    assert len(cuts) == 6
    first = sum(len(bundle.measures) for bundle in plan.bundles[: cuts[0]])
    for number, index in enumerate(cuts):
        bundle = plan.bundles[index]
        found, claimed = worst(plan, vectors(reach, cap, first + number)), claims(plan, bundle)
        assert all(x <= y for x, y in zip(found, claimed, strict=True)), (index, found, claimed)
        if (reach, cap) == (2, 4):  # four rows have the weight 1/2 each, so the bound is attained
            assert found[0] == claimed[0]


@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
def test_planted_errors_are_found(neighbours: Neighbours) -> None:
    plan = cut_plan(1, 3, neighbours)
    cuts = [index for index, bundle in enumerate(plan.bundles) if is_cut(bundle)]
    first = sum(len(bundle.measures) for bundle in plan.bundles[: cuts[0]])
    count, mixed = (first + place for place in (0, 2))
    claimed = claims(plan, plan.bundles[cuts[0]])
    uncapped = worst(plan, vectors(1, 10**6, count))  # the weight (n - R)/n, without the cap
    assert uncapped[0] > claimed[0]
    fewer = replace(plan.bundles[cuts[0]], contribution=1 << 20, total=1 << 20)  # one row fewer
    assert worst(plan, vectors(1, 3, count))[0] > claims(plan, fewer)[0]
    if neighbours == "change one":
        signed = replace(plan.bundles[cuts[2]], nonnegative=True)
        assert worst(plan, vectors(1, 3, mixed))[1] > claims(plan, signed)[1]


def with_its_cut(trial: Trial, more: int = 2) -> Plan:
    plan = asked(trial)
    assert plan.table.reach is not None
    return with_cut(plan, plan.table.reach + more, TENTH)


ALONE = REACHED.map(lambda limits: (None, None, limits[2]))


def check(trial: Trial, error: Error, more: int) -> bool:
    """Return whether some neighbour moves a bundle further than claimed; refused plans are not examples."""
    try:
        plan = with_its_cut(trial, more)
        before = measured(trial.unit, error.measured(plan), trial.rows, SECRET)
    except InvalidError:
        return False
    claimed = error.claimed(plan)
    after = (measured(trial.unit, error.measured(plan), rows, SECRET) for rows in trial.neighbours)
    return any(oversteps(claimed, before, each) for each in after)


@BRIEF
@given(trials(["integer", "text"], of={"count", "sum", "avg"}, limits=ALONE), st.integers(1, 4))
def test_no_unit_moves_the_cut_of_any_query_further_than_its_price_says(trial: Trial, more: int) -> None:
    try:
        with_its_cut(trial, more)
    except InvalidError:
        reject()
    assert not check(trial, Error(), more)


ERRORS = {
    "no cap is measured": Error(
        measured=lambda plan: in_bundles(
            plan, lambda b: replace(b, measures=tuple(replace(m, beyond=m.beyond and 10**6) for m in b.measures))
        )
    ),
    "a change is claimed to be a removal": Error(
        claimed=lambda plan: replace(plan, table=replace(plan.table, neighbours="add/remove"))
    ),
    "half of the contribution is claimed": Error(
        claimed=lambda plan: in_bundles(
            plan,
            lambda b: replace(b, contribution=b.contribution // 2, total=(b.total or 2) // 2) if is_cut(b) else b,
        )
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_planted_error_in_a_random_query_is_found(name: str) -> None:
    find(
        trials(["integer"], of={"count"}, limits=ALONE),
        lambda trial: check(trial, ERRORS[name], 1),
        settings=SEARCH,
    )


# --- answer and cut -------------------------------------------------------------------------------------------------


def exact_cells(plan: Plan, rows: Sequence[Row]) -> list[list[Released]]:
    """Return each cell's integers without noise."""
    law = NoiseLaw(law="laplace", amount=Fraction(1, 100), sensitivity=1, moving=1)
    found = iter(integers(plan, rows))
    bundles = [[next(found) for _ in bundle.measures] for bundle in plan.bundles]
    return [
        [
            Released(bundle, [numbers[cell] for numbers in some], law)
            for bundle, some in zip(plan.bundles, bundles, strict=True)
        ]
        for cell in range(2)
    ]


def clipped(name: str) -> Callable[[Row], Fraction | None]:
    low, high = map(Fraction, BOUNDS[name])
    return lambda row: None if row[name] is None else min(max(Fraction(row[name]), low), high)


AMOUNTS: dict[str, Callable[[Row], Fraction | None]] = {
    "n": lambda _: Fraction(1),
    "c": lambda row: None if row["x"] is None else Fraction(1),
    **{name: clipped(name) for name in BOUNDS},
}
"""The amount of a row in each column of `QUERY`; None if it has no value."""


def truncated_at(cap: int, rows: Sequence[Row], group: str, column: str) -> Fraction:
    """Return a column of the query if a unit counts as at most `cap` rows; a row without a unit does not count."""
    total = Fraction(0)
    for unit in {row["u"] for row in rows} - {None}:
        own = [row for row in rows if row["u"] == unit]
        amounts = [AMOUNTS[column](row) for row in own if row["g"] == group]
        total += min(Fraction(1), Fraction(cap, len(own))) * sum(amount for amount in amounts if amount is not None)
    return total


@pytest.mark.parametrize(
    "query", [QUERY, "SELECT g, count(*) AS n, count(x) AS c, sum(x) AS x, avg(x) AS a FROM t GROUP BY g"]
)
@pytest.mark.parametrize("cap", [6, 8, 100])
def test_answer_and_cut_without_noise_are_the_table_truncated_at_the_cap(query: str, cap: int) -> None:
    rng = np.random.default_rng(cap)
    rows = [{"u": int(rng.zipf(1.5)) % 9, **KINDS_OF_ROWS[rng.integers(6)]} for _ in range(200)]
    rows = [row | {"r": None if row["r"] is None else float(rng.normal())} for row in [*rows, *BACKGROUND]]
    plan = cut_plan(5, cap, query=query)
    for group, cell in zip("ab", exact_cells(plan, rows), strict=True):
        for name, output in plan.outputs:
            aggregate = plan.aggregates[output.place] if isinstance(output, Noisy) else None
            if aggregate is None or aggregate.cut is None:
                continue
            answer, cut = cell[aggregate.bundles[0]], cell[aggregate.cut]
            weights = [
                abs(weight) for some in _both_weights(aggregate.ask, answer.bundle, cut.bundle) for weight in some
            ]
            step = cut.bundle.measures[0].step
            lost = len(rows) * (sum(weights) + (step / 2 if name == "r" else 0))
            expected = truncated_at(cap, rows, group, name)
            assert abs(_value(aggregate.ask, answer, cut) - expected) <= lost < Fraction(1, 100)
            assert uncut_estimate(aggregate, answer, cut) == pytest.approx(float(expected), abs=0.51)


# --- intervals ------------------------------------------------------------------------------------------------------

COSTS = {
    "ε": Cost(epsilon=1),
    "ε and δ": Cost(epsilon=Fraction(1, 2), delta=1e-6),
    "ρ": Cost(rho=Fraction(1, 100)),
    "a large ε": Cost(epsilon=10**6),
}
RELEASES = 2000


def drawn(plan: Plan, terms: Price, exact: Sequence[Sequence[int]], seed: int) -> Iterator[list[Released]]:
    """Yield one cell of many releases: fixed exact integers with fresh noise."""
    bits = Scripted(rest=seeded(seed))
    noise = [
        law.draw_array(RELEASES * b.width, bits).tolist() for b, law in zip(plan.bundles, terms.noise, strict=True)
    ]
    for number in range(RELEASES):
        yield [
            Released(bundle, [x + some[number * bundle.width + place] for place, x in enumerate(numbers)], law)
            for bundle, numbers, some, law in zip(plan.bundles, exact, noise, terms.noise, strict=True)
        ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize(
    "query", ["SELECT count(*) AS n, sum(r) AS s FROM t", "SELECT count(*) AS n, sum(x) AS s, avg(x) AS a FROM t"]
)
def test_intervals_hold_the_table_up_to_the_cap(query: str, cost: str) -> None:
    """The seed is fixed; a new seed fails with a probability of at most 1e-3 for each column."""
    plan = cut_plan(3, 40, query=query)
    rows = [{"u": unit, **KINDS_OF_ROWS[place % 2]} for unit in range(12) for place in range(3 * unit)]
    found = iter(integers(plan, rows))
    exact = [[next(found)[0] for _ in bundle.measures] for bundle in plan.bundles]
    terms = price(plan, COSTS[cost])
    truth = {
        "n": len(rows),
        "s": sum(AMOUNTS["r" if "r" in query.split("AS s", maxsplit=1)[0] else "x"](row) or 0 for row in rows),
    }
    for place, name in enumerate(truth):
        aggregate, hits, tight = plan.aggregates[place], 0, 0
        assert aggregate.cut is not None
        for released in drawn(plan, terms, exact, seed=place):
            pair = released[aggregate.bundles[0]], released[aggregate.cut]
            low, high = uncut_interval(aggregate, *pair, 0.95)
            hits += low <= truth[name] <= high
            tight += abs(float(_value(aggregate.ask, *pair) - truth[name])) <= 0.8 * (high - low) / 2
        assert hits >= binom.ppf(1e-3, RELEASES, 0.95)
        if cost != "a large ε":  # there the ends of a count are rounded outward by more than the noise
            assert hits <= binom.ppf(1 - 1e-6, RELEASES, 0.96)
            assert tight < binom.ppf(1e-3, RELEASES, 0.95)  # an interval of 0.8 times the width does not


def test_the_error_of_a_plan_is_half_the_width_of_its_interval() -> None:
    plan = cut_plan(3, 40, query="SELECT count(*) AS n, sum(r) AS s FROM t")
    terms = price(plan, Cost(epsilon=1))
    released = next(drawn(plan, terms, [[0] * bundle.width for bundle in plan.bundles], seed=1))
    for index, aggregate in enumerate(plan.aggregates):
        assert aggregate.cut is not None
        low, high = uncut_interval(aggregate, released[aggregate.bundles[0]], released[aggregate.cut], 0.95)
        assert (high - low) / 2 == pytest.approx(uncut_error(plan, terms.noise, index, 0.95), rel=0.01)


def law(kind: str, amount: Fraction) -> NoiseLaw:
    return NoiseLaw(law=kind, amount=amount, sensitivity=1, moving=1)  # type: ignore[arg-type]


def exact_tail(parts: Sequence[tuple[Fraction, NoiseLaw]], t: float) -> float:
    """Return Pr[|Σ w·noise| > t] for two integers, from their probabilities."""
    grids = []
    for weight, noise in parts:
        most = 60 * int(noise.scale + 1)
        k = np.arange(-most, most + 1)
        p = (
            np.exp(-np.abs(k) / float(noise.amount))
            if noise.law == "laplace"
            else np.exp(-k * k / 2 / float(noise.amount))
        )
        grids.append((float(weight) * k, p / p.sum()))
    (x, p), (y, q) = grids
    return float(np.sum(np.outer(p, q)[np.abs(x[:, None] + y[None, :]) > t * (1 + 1e-12)]))


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "amounts", [(Fraction(1, 5), Fraction(1, 3)), (Fraction(2), Fraction(3)), (Fraction(1), Fraction(30))]
)
@pytest.mark.parametrize(
    "weights", [(Fraction(1), Fraction(1)), (Fraction(1, 4), Fraction(1)), (Fraction(3), Fraction(1, 7))]
)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - Fraction(1, 10**7)])
def test_the_spread_of_two_noises_covers_their_exact_law(
    kind: str, amounts: tuple[Fraction, ...], weights: tuple[Fraction, ...], confidence: float | Fraction
) -> None:
    parts = tuple((weight, law(kind, amount)) for weight, amount in zip(weights, amounts, strict=True))
    assert exact_tail(parts, _spread(parts, confidence)) <= 1 - confidence


def test_the_spread_is_close_to_the_continuous_law() -> None:
    ends: dict[str, Callable[[float], float]] = {
        "laplace": lambda t: (9 * exp(-t / 3000) - 4 * exp(-t / 2000)) / 5,
        "gaussian": lambda t: erfc(t / sqrt(2 * 13e6)),
    }
    for kind, tail in ends.items():
        scales = [3000, 2000] if kind == "laplace" else [3000**2, 2000**2]
        t = _spread(tuple((Fraction(1), law(kind, Fraction(scale))) for scale in scales), 0.95)
        assert tail(t) == pytest.approx(0.05, rel=0.005)
        assert tail(t) <= 0.05


# --- shares, weights and refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cost", [cost for name, cost in COSTS.items() if name != "a large ε"])
@pytest.mark.parametrize("share", [TENTH, Fraction(1, 3), Fraction(9, 10)])
def test_the_cuts_get_their_share_evenly(share: Fraction, cost: Cost) -> None:
    plan = cut_plan(3, 40, share=share)
    terms = price(plan, cost)
    cuts = [part for part, bundle in zip(terms.shares, plan.bundles, strict=True) if is_cut(bundle)]
    assert sum(cuts) == cut_share(plan) == share
    assert len(set(cuts)) == 1
    assert sum(terms.shares) == 1
    offered = ZCDP(rho=0.01) if cost.rho else ApproxDP(epsilon=0.5, delta=1e-6) if cost.delta else PureDP(epsilon=1)
    assert terms.guarantee == offered


@pytest.mark.parametrize("cost", [Cost(error=50), Cost(error=50, delta=1e-6)])
def test_errors_are_met_and_the_cut_keeps_its_share(cost: Cost) -> None:
    query = "SELECT count(*) AS n, sum(x) AS s FROM t"
    plan, terms = solve(cut_plan(3, 40, query=query), cost, confidence=0.95)
    alone, cheaper = solve(parse(query, {"t": policy(3)}), cost, confidence=0.95)
    assert cut_share(plan) == TENTH
    epsilon, without = (float(each.guarantee.epsilon) for each in (terms, cheaper))  # type: ignore[arg-type]
    assert epsilon == pytest.approx(without / 0.9, rel=0.2)
    assert without < epsilon
    for solved, noise in ((plan, terms.noise), (alone, cheaper.noise)):
        for aggregate in solved.aggregates:
            laws, bundles = [noise[i] for i in aggregate.bundles], [solved.bundles[i] for i in aggregate.bundles]
            assert STATISTICS[aggregate.ask.function].error(aggregate.ask, bundles, laws, 0.95, None) <= 50


def test_a_plan_without_sharing_keeps_its_cut() -> None:
    plan = cut_plan(3, 40, query="SELECT count(*) AS n, sum(x) AS s, avg(x) AS a FROM t", share=Fraction(1, 5))
    alone = without_sharing(plan)
    assert (alone.cap, cut_share(alone)) == (40, Fraction(1, 5))
    assert [aggregate.cut for aggregate in alone.aggregates] == [3, 4, None]
    assert next(bundle for bundle in alone.bundles if is_cut(bundle)).measures == plan.bundles[1].measures


def test_equal_cuts_are_measured_once() -> None:
    plan = cut_plan(3, 40, query="SELECT count(*) AS n, count(*) AS m, 2 * sum(x) AS s, sum(p) AS p FROM t")
    assert [aggregate.cut for aggregate in plan.aggregates if aggregate.ask.function == "count"] == [
        len(plan.bundles) - 2
    ]
    assert [aggregate.cut is None for aggregate in plan.aggregates if "x" in aggregate.sql] == [True]


@pytest.mark.parametrize(("cap", "bits"), [(100, 20), (10**6, 20), (10**9, 16)])
def test_the_grid_of_a_cut_leaves_room_for_its_noise(cap: int, bits: int) -> None:
    plan = cut_plan(3, cap, query="SELECT count(*) AS n, sum(p) AS p, sum(r) AS r FROM t")
    cuts = [bundle for bundle in plan.bundles if is_cut(bundle)]
    assert cuts[0].measures[0].fraction_bits == bits
    for bundle in cuts:
        (measure,) = bundle.measures
        largest = max(map(abs, measure.extremes))
        assert bundle.contribution == bundle.total == (cap - 3) * largest << measure.fraction_bits
    price(plan, Cost(epsilon=10))


@pytest.mark.parametrize(
    ("table", "query", "cap", "message"),
    [
        (policy(None, unit=ROW), "SELECT count(*) AS n FROM t", 9, "each row is a unit"),
        (policy(None, max_rows=3), "SELECT count(*) AS n FROM t", 9, "the query has no reach"),
        (policy(3, max_rows=3), "SELECT count(*) AS n FROM t", 9, "the query has max_rows"),
        (policy(3, max_groups=1), "SELECT g, count(*) AS n FROM t GROUP BY g", 9, "the query has max_groups"),
        (policy(3, max_groups=1), "SELECT x, count(*) AS n FROM t GROUP BY x", 3, "the query has max_groups"),
        (policy(3, max_groups=1), "SELECT r, count(*) AS n FROM t GROUP BY r", 9, "the groups are found in the data"),
        (policy(3), "SELECT count(*) AS n FROM t", 3, "above the reach, which is 3"),
        (policy(3), "SELECT count(*) AS n FROM t", 2, "above the reach, which is 3"),
        (policy(3), "SELECT avg(x) AS a FROM t", 9, "no column that is a count"),
        (policy(3), "SELECT sum(x) / count(*) AS a FROM t", 9, "no column that is a count"),
        (policy(3), "SELECT count(DISTINCT u) AS a FROM t", 9, "no column that is a count"),
    ],
)
def test_other_plans_are_refused(table: TablePolicy, query: str, cap: int, message: str) -> None:
    with pytest.raises(InvalidError, match=message) as caught:
        with_cut(parse(query, {"t": table}), cap, TENTH)
    assert caught.value.argument == "measure_cut"
    assert caught.value.hint


def test_max_groups_that_leaves_out_no_group_does_not_matter() -> None:
    plan = with_cut(parse("SELECT count(*) AS n FROM t", {"t": policy(3, max_groups=1)}), 9, TENTH)
    assert plan.cap == 9


def test_texts_of_plans_without_a_cut_are_those_of_earlier_versions() -> None:
    plan = parse(QUERY, {"t": policy(3)})
    assert "beyond" not in repr(plan)
    assert "cut=" not in repr(plan)
    assert repr(plan.aggregates[0]).endswith("sql='count(*)')")
    assert repr(plan.bundles[0].measures[0]).endswith("fraction_bits=20, bins=1)")
    assert "beyond=9" in repr(with_cut(plan, 9, TENTH))
    assert repr(with_cut(plan, 9, TENTH)) != repr(with_cut(plan, 8, TENTH))
