"""Sums that are consistent with their margins: against least squares by another algorithm, and their sensitivity."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tacit.errors import RefusedError
from tacit.query.aggregates.margins import Fit, Fitted
from tacit.query.aggregates.measure_sharing import without_sharing
from tacit.query.aggregates.table_sum import with_all_margins
from tacit.query.noise_law import sensitivity
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.results.answer_codec import from_text, to_text
from tacit.query.results.release import release
from tacit.query.results.resolution import noise_inputs
from tacit.query.sql.parse import parse

SIZES = (3, 2)


def table(unit: str | None = None, **limits: int) -> TablePolicy:
    return TablePolicy(
        name="t",
        unit=unit,
        neighbours="add/remove",
        columns={
            "u": ColumnPolicy(kind="integer"),
            "g": ColumnPolicy(kind="integer", keys=(0, 1, 2)),
            "h": ColumnPolicy(kind="integer", keys=(0, 1)),
            "x": ColumnPolicy(kind="integer", bounds=(Fraction(-2), Fraction(5))),
        },
        **({"max_groups": 1, "max_rows": 1} | limits),  # type: ignore[arg-type]  # whole numbers
    )


def planned(select: str, policy: TablePolicy | None = None) -> Plan:
    parsed = parse(f"SELECT g, h, {select} FROM t GROUP BY g, h", {"t": policy or table()})  # noqa: S608 - text
    return with_all_margins(without_sharing(parsed), "laplace")


PLAN = planned("count(*) AS n, sum(x) AS s")
TERMS = price(PLAN, Cost(epsilon=1))


def exact(counts: list[int], sums: list[int]) -> list[list[int]]:
    """Return the integers of every measure of the plan: counts, and sums in steps."""
    found: list[list[int]] = []
    for bundle in PLAN.bundles:
        measure = bundle.measures[0]
        cells = counts if measure.value is None else [int(value / measure.step) for value in sums]
        found.append([value << measure.fraction_bits for value in cells])
    return found


def test_every_aggregate_measures_its_own_margins() -> None:
    assert [aggregate.ask.function for aggregate in PLAN.aggregates] == ["table_count", "table_sum"]
    used = [index for aggregate in PLAN.aggregates for index in aggregate.bundles]
    assert sorted(used) == list(range(len(PLAN.bundles)))
    assert all(PLAN.bundles[aggregate.bundles[-1]].over is None for aggregate in PLAN.aggregates)


def test_the_fit_of_a_sum_is_weighted_least_squares() -> None:
    """The fit against numpy.linalg.lstsq on the measured margins, weighted by their precision."""
    aggregate = PLAN.aggregates[1]
    bundles = [PLAN.bundles[index] for index in aggregate.bundles]
    laws = [TERMS.noise[index] for index in aggregate.bundles]
    random = np.random.default_rng(5)
    rows, measured, weights = [], [], []
    integers = []
    for bundle, law in zip(bundles, laws, strict=True):
        over = (0, 1) if bundle.over is None else bundle.over
        numbers = []
        for values in product(*(range(SIZES[key]) for key in over)):
            rows.append(
                [float(all(cell[key] == v for key, v in zip(over, values, strict=True))) for cell in np.ndindex(SIZES)]
            )
            numbers.append(int(random.integers(-100, 100)))
        measured += numbers
        weights += [1 / law.scale] * len(numbers)
        integers.append(numbers)
    weight = np.array(weights)[:, None]
    expected, *_ = np.linalg.lstsq(np.array(rows) * weight, np.array(measured) * weight[:, 0], rcond=None)
    fitted = Fit.of(aggregate.ask, bundles, laws).table(integers).ravel() * (1 << bundles[0].measures[0].fraction_bits)
    assert np.allclose(fitted, expected)


def test_released_sums_and_counts_add_up_and_are_near_the_truth() -> None:
    counts, sums = [10, 20, 30, 40, 50, 60], [-7, 11, 100, 55, -20, 200]
    terms = price(PLAN, Cost(epsilon=10**9))
    answer = release(PLAN, terms, exact(counts, sums), {})
    assert [cell.estimates[0] for cell in answer.cells] == counts
    assert [cell.estimates[1] for cell in answer.cells] == sums
    for cell in answer.cells:
        assert all(isinstance(cell.released[aggregate.bundles[-1]], Fitted) for aggregate in PLAN.aggregates)


def test_a_recorded_answer_is_the_same() -> None:
    answer = release(PLAN, TERMS, exact([10, 20, 30, 40, 50, 60], [-7, 11, 100, 55, -20, 200]), {})
    again = from_text(to_text(answer), PLAN, TERMS, {})
    assert again.rows() == answer.rows()
    assert again.intervals().rows() == answer.intervals().rows()


@pytest.mark.parametrize(
    "policy", [table(), table("u", max_groups=2, max_rows=2), table("u", max_groups=6, max_rows=1)]
)
def test_no_unit_moves_a_margin_by_more_than_its_sensitivity(policy: TablePolicy) -> None:
    """All contributions of one unit within its limits: the L1 change of every margin of the sum."""
    plan = planned("sum(x) AS s", policy)
    groups = 1 if policy.unit is None else policy.max_groups or 1
    rows = 1 if policy.unit is None else policy.max_rows or 1
    cells = 6
    (aggregate,) = plan.aggregates
    largest = dict.fromkeys(aggregate.bundles, 0)
    measure = plan.bundles[0].measures[0]
    step = int(1 / measure.step) << measure.fraction_bits
    for change in product((-2 * rows, 0, 5 * rows), repeat=cells):
        if sum(value != 0 for value in change) > groups:
            continue
        moved = noise_inputs(plan, [[value * step for value in change] for _ in plan.bundles])
        for index in aggregate.bundles:
            largest[index] = max(largest[index], sum(abs(int(value)) for value in moved[index][0]))
    for index, most in largest.items():
        assert most <= sensitivity(plan, plan.bundles[index], "laplace")
    assert largest[aggregate.bundles[-1]] == sensitivity(plan, plan.bundles[aggregate.bundles[-1]], "laplace")


def test_intervals_of_sums_cover_the_truth() -> None:
    """One cell of 1,200 releases: below 0.91 or above 0.985 with probability below 1e-8."""
    sums, covered, runs = [-7, 11, 100, 55, -20, 200], 0, 1_200
    for _ in range(runs):
        answer = release(PLAN, TERMS, exact([10] * 6, sums), {})
        column = answer.columns()[3].ends
        assert column is not None
        assert column[3] is not None
        covered += column[3][0] <= sums[3] <= column[3][1]
    assert 0.91 <= covered / runs <= 0.985


def test_other_aggregates_have_no_margins() -> None:
    for select in ("median(x)", "count(DISTINCT x)", "avg(x)"):
        with pytest.raises(RefusedError, match="ROLLUP, CUBE"):
            planned(select)


def test_a_weight_of_each_aggregate_is_the_same() -> None:
    totals = [sum(PLAN.bundles[index].weight for index in aggregate.bundles) for aggregate in PLAN.aggregates]
    assert totals[0] == pytest.approx(float(totals[1]), abs=0.01)
    assert replace(PLAN, bundles=PLAN.bundles) == PLAN
