"""The sensitivity with every combination of limits: by brute force over all small tables of one unit.

One unit's integers depend on its rows alone. So all neighbours are known from its integers for all its possible rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounded import REAL, WHOLE, Row, ask_for, bounds, key, plan_of, policy
from contract.weighted import of_unit, row_weight
from tacit.guarantees.events import Neighbours
from tacit.query.noise_law import Law, changed_integers, sensitivity
from tacit.query.plan import Ask, Bundle, Plan
from tacit.query.policy import TablePolicy

MIXED, POSITIVE = bounds(-1, 1), bounds(0, 2)
BOTH = Ask(function="covar_pop", values=(REAL, WHOLE), bounds=(MIXED, POSITIVE))
ASKS = {
    "count": ask_for("count"),
    "count of a column": ask_for("count", REAL),
    "units": ask_for("count_units"),
    "sum of both signs": ask_for("sum", REAL, MIXED),
    "sum of unequal signs": ask_for("sum", REAL, bounds(-1, 3)),
    "sum": ask_for("sum", WHOLE, POSITIVE),
    "average": ask_for("avg", REAL, MIXED),
    "variance": ask_for("var_pop", REAL, MIXED),
    "median": ask_for("quantile", WHOLE, POSITIVE),
    "covariance": BOTH,
    "correlation": replace(BOTH, function="corr"),
    "values": ask_for("count_distinct", WHOLE),
}
LIMITS = [limits for limits in product((None, 1, 2), (None, 1, 2), (None, 1, 2, 3)) if limits[1] or limits[2]]
"""max_groups, max_rows and reach."""

FEW = [(None, None, 2), (2, None, 3), (None, 2, 3), (2, 1, 2), (2, 2, None)]
"""Of these, for aggregates whose values take long to compute."""

KEYS = [key("k", "a", "b", "c")]
ROWS: list[Row] = [
    *({"k": k, "x": x, "n": n} for k in "ab" for x, n in ((-1.0, 0), (1.0, 2), (None, None))),
    {"k": "c", "x": 1.0, "n": 1},
]


@cache
def possible_rows() -> list[tuple[Row, ...]]:
    """All rows of a unit, up to three of them, and four rows that are equal."""
    return [
        *(some for size in range(4) for some in combinations_with_replacement(ROWS, size)),
        *((row,) * 4 for row in ROWS),
    ]


def kept(plan: Plan, rows: tuple[Row, ...]) -> Iterator[dict[int, list[Row]]]:
    """Yield all choices of cells that a unit may keep."""
    own: dict[int, list[Row]] = {}
    for row in rows:
        if plan.keys:
            own.setdefault("abc".index(str(row["k"])), []).append(row)
        else:
            own.setdefault(0, []).append(row)
    some = min(plan.groups, len(own))
    for cells in combinations_with_replacement(own, some):
        if len(set(cells)) == some:
            yield {cell: own[cell] for cell in cells}


def vector(plan: Plan, bundle: Bundle, own: dict[int, list[Row]]) -> list[int]:
    found = []
    for measure in bundle.measures:
        integers = of_unit(plan, measure, own)
        bins = [[integers.get(cell * measure.bins + j, 0) for j in range(measure.bins)] for cell in range(plan.listed)]
        found += [sum(each[i : i + bundle.block]) for each in bins for i in range(0, measure.bins, bundle.block)]
    return found


def values_of(plan: Plan, own: dict[int, list[Row]]) -> Iterator[list[int]]:
    """Yield the numbers of different values in each cell; the largest choices are enough."""
    table = plan.table
    sizes = {cell: len({row["n"] for row in rows} - {None}) for cell, rows in own.items()}
    most = {cell: min(size, table.max_rows or size) for cell, size in sizes.items()}
    for chosen in product(*(range(size + 1) for size in most.values())):
        if sum(chosen) == min(sum(most.values()), table.reach or sum(most.values())):
            yield [dict(zip(most, chosen, strict=True)).get(cell, 0) for cell in range(plan.listed)]


@cache
def vectors(name: str, limits: tuple[int | None, int | None, int | None], *, grouped: bool) -> list[np.ndarray]:
    """All vectors of integers of one unit, for each bundle of a plan."""
    plan = plan_for(name, limits, "add/remove", grouped=grouped)
    found: list[set[tuple[int, ...]]] = [set() for _ in plan.bundles]
    for rows in possible_rows():
        for own in kept(plan, rows):
            for index, bundle in enumerate(plan.bundles):
                if bundle.measures[0].per == "value":
                    found[index].update(map(tuple, values_of(plan, own)))
                else:
                    found[index].add(tuple(vector(plan, bundle, own)))
    return [np.array(sorted(some), dtype=object) for some in found]


def plan_for(
    name: str, limits: tuple[int | None, int | None, int | None], neighbours: Neighbours, *, grouped: bool
) -> Plan:
    groups, rows, reach = limits
    table = policy(groups=groups, rows=rows, reach=reach, neighbours=neighbours)
    return plan_of(table, ASKS[name], keys=KEYS if grouped else ())


def furthest(units: np.ndarray, neighbours: Neighbours, law: Law) -> int:
    """Return the largest distance of the answers with and without a unit, or with one and another."""
    power = 1 if law == "laplace" else 2
    if neighbours == "add/remove":
        return int((np.abs(units) ** power).sum(axis=1).max())
    return max(int((np.abs(units - one) ** power).sum(axis=1).max()) for one in units)


@pytest.mark.parametrize("grouped", [False, True], ids=["whole", "grouped"])
@pytest.mark.parametrize("name", ASKS)
def test_no_unit_moves_an_aggregate_further_than_the_plan_says(name: str, *, grouped: bool) -> None:
    some = FEW if ASKS[name].function in ("corr", "covar_pop", "var_pop") else LIMITS
    for limits, neighbours in product(some, ("add/remove", "change one")):
        plan = plan_for(name, limits, neighbours, grouped=grouped)  # type: ignore[arg-type]
        for bundle, units in zip(plan.bundles, vectors(name, limits, grouped=grouped), strict=True):
            for law in ("laplace", "gaussian"):
                found = furthest(units, neighbours, law)  # type: ignore[arg-type]
                assert found <= sensitivity(plan, bundle, law), (limits, neighbours, law)
            most = int((units != 0).sum(axis=1).max())
            assert most <= changed_integers(plan, bundle)


@pytest.mark.parametrize(("neighbours", "times"), [("add/remove", 1), ("change one", 2)])
@pytest.mark.parametrize("name", ["count", "sum", "average", "sum of both signs"])
def test_the_bound_is_attained_with_a_reach_alone(name: str, neighbours: Neighbours, times: int) -> None:
    for reach in (1, 2, 3):
        limits = (None, None, reach)
        plan = plan_for(name, limits, neighbours, grouped=True)
        (units,) = vectors(name, limits, grouped=True)
        claimed = sensitivity(plan, plan.bundles[0], "laplace")
        assert furthest(units, neighbours, "laplace") == claimed == times * (plan.bundles[0].total or 0)


def test_a_changed_unit_moves_one_sum_by_the_width_of_its_bounds_times_the_reach() -> None:
    plan = plan_for("sum of unequal signs", (None, None, 2), "change one", grouped=False)
    (bundle,) = plan.bundles
    step = bundle.measures[0].step / (1 << bundle.measures[0].fraction_bits)
    assert sensitivity(plan, bundle, "laplace") * step == 2 * 4
    assert sensitivity(plan, bundle, "gaussian") * step**2 == (2 * 4) ** 2


def box(g: int | None, m: int | None, r: int | None, cells: int) -> tuple[int, int]:
    """Return L1 and L2 squared of a count, from the formulas of the specification."""
    many = min(cells, g or cells)
    ones = [x for x in (r, m and many * m) if x]
    twos = [x for x in (r and r * r, m and r and m * r, m and many * m * m) if x]
    return min(ones), min(twos)


@pytest.mark.parametrize("limits", [*LIMITS, (5, 7, 11), (2, 7, 100), (100, 1, 10**9), (None, None, 10**9)])
def test_the_bounds_of_a_count_are_those_of_the_specification(
    limits: tuple[int | None, int | None, int | None],
) -> None:
    plan = plan_for("count", limits, "add/remove", grouped=True)
    (bundle,) = plan.bundles
    weight = 1 << bundle.measures[0].fraction_bits
    found = [sensitivity(plan, bundle, "laplace"), sensitivity(plan, bundle, "gaussian")]
    assert found == [size * weight ** (1 + power) for power, size in enumerate(box(*limits, 3))]


# --- a reach of G·M never cuts more than max_groups = G and max_rows = M ---------------------------------------------


def counted(table: TablePolicy, cells: list[int], kept_cells: list[int]) -> Fraction:
    """Return as how many rows a unit counts, in exact arithmetic, from its rows in each cell."""
    own = [cells[i] for i in kept_cells]
    return sum((n * row_weight(table, sum(own), n) for n in own), Fraction(0))


@given(
    st.lists(st.integers(1, 40), max_size=12), st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False)
)
def test_a_reach_cuts_no_more_rows_than_the_box_inside_it(cells: list[int], g: int, m: int, draw: object) -> None:
    chosen = draw.sample(range(len(cells)), min(g, len(cells)))  # type: ignore[attr-defined]
    ball = counted(policy(groups=None, rows=None, reach=g * m), cells, list(range(len(cells))))
    inside = counted(policy(groups=g, rows=m), cells, chosen)
    assert ball == min(sum(cells), g * m)
    assert inside <= ball


def test_so_it_is_for_every_small_unit_at_equal_laplace_noise() -> None:
    for g, m in product(range(1, 4), range(1, 4)):
        ball, inside = ((None, None, g * m), (g, m, None))
        plans = [plan_for("count", limits, "add/remove", grouped=True) for limits in (ball, inside)]
        scales = [
            Fraction(sensitivity(plan, plan.bundles[0], "laplace"), 1 << plan.bundles[0].measures[0].fraction_bits)
            for plan in plans
        ]
        assert scales == [g * m, min(g, 3) * m]
        for rows in possible_rows():
            cells = list(Counter(row["k"] for row in rows).values())
            largest = sorted(range(len(cells)), key=lambda i: -cells[i])[:g]
            assert counted(plans[1].table, cells, largest) <= counted(plans[0].table, cells, list(range(len(cells))))
