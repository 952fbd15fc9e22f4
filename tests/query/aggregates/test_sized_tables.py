"""Tables of counts that add up to a public number of rows: the fit, its error, and whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bounded import ask_for, key, plan_of, policy
from tacit.errors import InternalError, SizeChangedError
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.margins import Fit, as_table_count, subsets, whole_counts, whole_table, with_margins
from tacit.query.noise_law import Law, NoiseLaw, changed_integers, sensitivity
from tacit.query.noise_tails import gaussian_reach, laplace_reach
from tacit.query.plan import Aggregate, Plan
from tacit.query.pricing.price import Cost, price
from tacit.query.results.binned_noise import kept_integers
from tacit.query.results.noisy_integers import noisy_integers
from tacit.query.results.release import Release, release
from tacit.query.results.resolution import noise_inputs

Floats = npt.NDArray[np.float64]
SIZE = 40


def noise(scale: int, law: Law) -> NoiseLaw:
    return NoiseLaw(law=law, amount=Fraction(scale if law == "laplace" else scale**2), sensitivity=1, moving=1)


@st.composite
def fits(draw: st.DrawFn) -> Fit:
    """A fit of a table of three cells or more, with the rest or without."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    rest = draw(st.booleans())
    if prod(sizes) + rest < 3:
        sizes = (*sizes, 3)
    every = tuple(range(len(sizes)))
    law: Law = draw(st.sampled_from(["laplace", "gaussian"]))
    chosen = draw(st.sets(st.sampled_from([keys for keys in subsets(every) if keys]))) - {every}
    margins = [(keys, noise(draw(st.integers(1, 9)), law)) for keys in (*sorted(chosen), every)]
    return Fit(sizes, tuple(margins) + ((((), margins[-1][1]),) if rest else ()), 1, SIZE, rest)


def sums(sizes: Sequence[int], keys: Sequence[int]) -> Floats:
    """The matrix of a margin: one row for each of its cells, over the cells of the table."""
    cells = list(product(*map(range, sizes)))
    places = list(product(*(range(sizes[i]) for i in keys)))
    return np.array([[float(tuple(cell[i] for i in keys) == place) for cell in cells] for place in places])


def variance(law: NoiseLaw) -> float:
    return law.scale**2 * (2 if law.law == "laplace" else 1)


def least_squares(fit: Fit, integers: Sequence[Sequence[int]]) -> Floats:
    """The weighted least squares fit by linear algebra: the total is a constraint, or the rest a measurement."""
    cells = prod(fit.sizes)
    margins = fit.margins[:-1] if fit.rest else fit.margins
    matrix, right = np.zeros((cells, cells)), np.zeros(cells)
    for (keys, law), numbers in zip(margins, integers, strict=True):
        m = sums(fit.sizes, keys)
        matrix += m.T @ m / variance(law)
        right += m.T @ np.array(numbers[: len(m)], dtype=float) / variance(law)
    ones = np.ones(cells)
    if fit.rest:
        weight = 1 / variance(margins[-1][1])
        matrix += weight * np.outer(ones, ones)
        right += weight * ones * (SIZE - integers[-1][-1])
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    bordered = np.block([[matrix, ones[:, None]], [ones[None, :], np.zeros((1, 1))]])
    return np.asarray(np.linalg.solve(bordered, np.append(right, SIZE))[:-1], dtype=np.float64)


def numbers_for(fit: Fit, draw: st.DrawFn | None = None, value: int = 0) -> list[list[int]]:
    """Integers of the shape that a fit takes: one list for each bundle, with the rest at the end of the last."""
    margins = fit.margins[:-1] if fit.rest else fit.margins
    lengths = [prod(fit.sizes[i] for i in keys) for keys, _ in margins]
    lengths[-1] += fit.rest
    return [[value if draw is None else draw(st.integers(-50, 50)) for _ in range(length)] for length in lengths]


@st.composite
def measured_fits(draw: st.DrawFn) -> tuple[Fit, list[list[int]]]:
    fit = draw(fits())
    return fit, numbers_for(fit, draw)


@given(measured_fits())
@settings(deadline=None)
def test_the_fit_is_the_least_squares_fit_with_the_public_total(case: tuple[Fit, list[list[int]]]) -> None:
    fit, integers = case
    assert fit.table(integers).ravel() == pytest.approx(least_squares(fit, integers), abs=1e-8)


@given(fits(), st.data())
@settings(deadline=None, max_examples=60)
def test_the_error_of_a_cell_is_the_quantile_of_its_own_combination_of_noises(fit: Fit, data: st.DataObject) -> None:
    margin = data.draw(st.sampled_from(list(subsets(range(len(fit.sizes))))))
    zero = numbers_for(fit)
    base = fit.table(zero)
    weights, scales = [], []
    for place, bundle in enumerate(zero):
        law = fit.margins[place][1]
        for index in range(len(bundle)):
            moved = [list(numbers) for numbers in zero]
            moved[place][index] = 1
            change = (sums(fit.sizes, margin) @ (fit.table(moved) - base).ravel())[0]
            weights.append(abs(change))
            scales.append(law.scale * abs(change))
    if max(weights) < 1e-12:
        assert fit.reach(margin, 0.05) == 0
        return
    if fit.margins[0][1].law == "laplace":
        bound = laplace_reach(np.array(scales), np.ones(len(scales)), 0.05)
    else:
        bound = gaussian_reach(float(np.sum(np.square(scales))), 0.05)
    assert fit.reach(margin, 0.05) == pytest.approx(bound + max(weights) / 2, rel=1e-3)


# --- plans ------------------------------------------------------------------------------------------------------------


def table_plan(values: int, *, rest: bool, function: str = "table_count", more: int = 1) -> Plan:
    """A count by one key, or by two, whose cells add up to 40 rows."""
    keys = [key("k", *map(str, range(values))), *([key("m", *"xyz"[:more])] if more > 1 else [])]
    plan = as_table_count(plan_of(policy(unit=None, neighbours="change one"), ask_for("count"), keys=keys))
    (aggregate,) = plan.aggregates
    ask = replace(aggregate.ask, function=function, size=SIZE, rest=rest)
    complete = plan if rest else replace(plan, keys=tuple(replace(each, default=0) for each in plan.keys))
    return replace(complete, aggregates=(replace(aggregate, ask=ask),), size=SIZE, rest=rest)


def counts_of(answer: Release) -> list[int]:
    """The last column of an answer."""
    counts = [row[-1] for row in answer.rows()]
    return [count for count in counts if isinstance(count, int)]


CASES = [(2, False), (1, True), (3, False), (2, True), (5, True)]


@pytest.mark.parametrize(("values", "rest"), CASES)
def test_no_changed_row_moves_the_counts_further_than_their_sensitivity(values: int, rest: bool) -> None:  # noqa: FBT001
    plan = table_plan(values, rest=rest)
    cells = plan.measured_cells
    ways = [tuple(counts) for counts in product(range(4), repeat=cells) if sum(counts) == 3]
    plan = replace(plan, size=3)
    (bundle,) = plan.bundles
    for law, power in (("laplace", 1), ("gaussian", 2)):
        farthest = 0
        for one in ways:
            for leaves, enters in product(range(cells), repeat=2):
                if one[leaves] and leaves != enters:
                    other = list(one)
                    other[leaves] -= 1
                    other[enters] += 1
                    first, second = (noise_inputs(plan, [list(counts)])[0][0] for counts in (one, other))
                    drawn = slice(1) if plan.halves else slice(None)
                    farthest = max(
                        farthest, sum(abs(a - b) ** power for a, b in zip(first[drawn], second[drawn], strict=True))
                    )
        assert farthest == sensitivity(plan, bundle, law)  # type: ignore[arg-type]
    assert changed_integers(plan, bundle) == (1 if plan.halves else 2)


def test_two_cells_have_half_the_noise_of_a_histogram() -> None:
    both = table_plan(2, rest=False)
    assert (both.halves, price(both, Cost(epsilon=0.1)).noise[0].scale) == (True, 10)
    three = table_plan(3, rest=False)
    assert (three.halves, price(three, Cost(epsilon=0.1)).noise[0].scale) == (False, 20)


def test_two_cells_share_one_noise() -> None:
    """With noise of scale 10 on each, twenty pairs would add up to the size with probability below 1e-20."""
    plan = table_plan(2, rest=False)
    for _ in range(20):
        ((noisy,),) = noisy_integers(plan, price(plan, Cost(epsilon=0.1)), [[SIZE - 1, 1]], 2)
        assert sum(kept_integers(noisy)) == SIZE


@pytest.mark.parametrize(("values", "rest"), CASES)
@pytest.mark.parametrize("function", ["table_count", "sized_group_count"])
@pytest.mark.parametrize("cost", [Cost(epsilon=0.1), Cost(rho=0.01)])
def test_released_counts_add_up_to_the_public_size(values: int, rest: bool, function: str, cost: Cost) -> None:  # noqa: FBT001
    if rest and function != "table_count":
        return
    plan = table_plan(values, rest=rest, function=function)
    exact = [SIZE - plan.measured_cells + 1, *([1] * (plan.measured_cells - 1))]
    for _ in range(20):
        answer = release(plan, price(plan, cost), [exact], {})
        counts = counts_of(answer)
        assert sum(counts) == SIZE
        assert len(counts) == plan.measured_cells
        assert function != "table_count" or min(counts) >= 0
        for low, high in ((row[-2], row[-1]) for row in answer.intervals().rows()):
            assert 0 <= low <= high <= SIZE  # type: ignore[operator]


def test_counts_by_sql_may_be_negative_so_that_they_are_not_biased() -> None:
    plan = table_plan(5, rest=False, function="sized_group_count")
    terms = price(plan, Cost(epsilon=0.1))
    counts = [count for _ in range(30) for count in counts_of(release(plan, terms, [[SIZE, 0, 0, 0, 0]], {}))]
    assert min(counts) < 0  # each of 120 empty cells is negative with probability about 1/2


@pytest.mark.parametrize(("values", "rest"), [(6, False), (2, False), (2, True)])
def test_intervals_are_right_as_often_as_they_say(values: int, rest: bool) -> None:  # noqa: FBT001
    """The first cell of 1,000 releases, at 80 %; a valid interval fails with probability below 1e-12.

    Intervals of half that length would be right 60 % of the time at most, which is found.
    """
    plan = table_plan(values, rest=rest)
    terms, exact = price(plan, Cost(epsilon=0.1)), [1000] * plan.measured_cells
    plan = replace(plan, size=sum(exact), aggregates=(with_size(plan.aggregates[0], sum(exact)),))
    right, short = 0, 0
    for _ in range(1000):
        answer = release(plan, terms, [exact], {})
        _, _, low, high = answer.intervals(confidence=0.8).rows()[0]
        assert isinstance(low, float)
        assert isinstance(high, float)
        right += low <= 1000 <= high
        short += abs((low + high) / 2 - 1000) <= (high - low) / 4
    least = binom.ppf(1e-12, 1000, 0.8)
    assert right >= least > short


def with_size(aggregate: Aggregate, size: int) -> Aggregate:
    return replace(aggregate, ask=replace(aggregate.ask, size=size))


@pytest.mark.parametrize("exact", [[30, 9, 0], [30, 11, 0]])
def test_counts_of_a_table_that_changed_are_refused(exact: list[int]) -> None:
    plan = table_plan(3, rest=False)
    with pytest.raises(SizeChangedError):
        release(plan, price(plan, Cost(epsilon=1)), [exact], {})


def test_two_cells_under_the_other_relation_are_refused() -> None:
    plan = replace(table_plan(2, rest=False), table=policy(unit=None))
    with pytest.raises(InternalError, match="public only if neighbours change one unit"):
        price(plan, Cost(epsilon=1))


def test_a_known_total_is_not_measured_as_a_margin() -> None:
    known = with_margins(table_plan(3, rest=False, more=3), "gaussian")
    assert () not in [bundle.over for bundle in known.bundles]
    free = with_margins(table_plan(3, rest=True, more=3), "gaussian")
    assert free.bundles[-1].over is None
    assert len(with_margins(table_plan(2, rest=False), "gaussian").bundles) == 1


def test_the_error_of_six_cells_is_smaller_than_that_of_one_noise_of_the_histogram() -> None:
    plan = table_plan(6, rest=False)
    law = price(plan, Cost(epsilon=0.1)).noise[0]
    error = STATISTICS["table_count"].error(plan.aggregates[0].ask, plan.bundles, [law], 0.95, None)
    alone = law.quantile(Fraction(1, 20))
    assert 0.85 * alone < error < 0.95 * alone  # the variance is 5/6 of it


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8), st.integers(-300, 300))
def test_whole_counts_are_next_to_the_fit_and_add_up(numbers: list[float], shift: int) -> None:
    fitted = np.array(numbers)
    total = round(float(fitted.sum()))
    counts = whole_counts(fitted, total)
    assert counts.sum() == total
    assert np.abs(counts - fitted).max() <= 1.0000001
    moved = np.array([shift, *numbers])
    assert whole_table(moved, 7).sum() == 7
    assert whole_table(moved, 7).min() >= 0
