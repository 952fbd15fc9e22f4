"""Tables that add up: the fit against general least squares, its error by simulation, whole numbers, neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom

from bounded import Row, ask_for, key, measured, plan_of, policy
from tacit.guarantees.events import Neighbours
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.margins import Fit, as_table_count, best_shares, subsets, whole_table, with_margins
from tacit.query.expressions import Column
from tacit.query.noise_law import Law, NoiseLaw, sensitivity
from tacit.query.plan import Key, Plan
from tacit.query.pricing.price import Cost, price
from tacit.query.results.release import release
from tacit.query.results.resolution import coarse

Floats = npt.NDArray[np.float64]
Keys = tuple[int, ...]
FALSE_ALARM = 1e-12


def noise(scale: float, law: Law = "laplace") -> NoiseLaw:
    amount = Fraction(scale) if law == "laplace" else Fraction(scale) ** 2
    return NoiseLaw(law=law, amount=amount, sensitivity=1, moving=1)


def matrix(sizes: Sequence[int], keys: Keys) -> Floats:
    """The sums of a margin, one row each, over the cells of the table."""
    rows = []
    for places in product(*(range(sizes[i]) for i in keys)):
        cells = np.zeros(sizes)
        index: list[slice | int] = [slice(None)] * len(sizes)
        for i, place in zip(keys, places, strict=True):
            index[i] = place
        cells[tuple(index)] = 1
        rows.append(cells.ravel())
    return np.array(rows)


@st.composite
def fits(draw: st.DrawFn) -> Fit:
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    every = tuple(range(len(sizes)))
    chosen = draw(st.sets(st.sampled_from(list(subsets(every))))) | {every}
    law: Law = draw(st.sampled_from(["laplace", "gaussian"]))
    return Fit(sizes, tuple((keys, noise(draw(st.integers(1, 9)), law)) for keys in sorted(chosen)))


def spread(law: NoiseLaw) -> float:
    return law.scale * (sqrt(2) if law.law == "laplace" else 1)


@given(fits(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_fit_is_that_of_weighted_least_squares(fit: Fit, random: object) -> None:
    rng = np.random.default_rng(abs(hash(str(random))) % 2**32)
    integers = [rng.integers(-50, 50, len(matrix(fit.sizes, keys))).tolist() for keys, _ in fit.margins]
    sums = np.vstack([matrix(fit.sizes, keys) / spread(law) for keys, law in fit.margins])
    seen = np.concatenate([np.array(own) / spread(law) for own, (_, law) in zip(integers, fit.margins, strict=True)])
    expected = np.linalg.lstsq(sums, seen, rcond=None)[0].reshape(fit.sizes)
    assert np.allclose(fit.table(integers), expected, atol=1e-8)


@given(fits())
@settings(max_examples=60, deadline=None)
def test_the_variance_of_every_margin_is_that_of_the_inverse_of_the_normal_equations(fit: Fit) -> None:
    sums = np.vstack([matrix(fit.sizes, keys) / spread(law) for keys, law in fit.margins])
    covariance = np.linalg.inv(sums.T @ sums)
    for margin in subsets(range(len(fit.sizes))):
        cells = matrix(fit.sizes, margin)
        expected = np.diag(cells @ covariance @ cells.T)
        found = 0.0
        for place, (keys, law) in enumerate(fit.margins):
            for same in subsets(keys):
                many = np.prod([fit.sizes[i] - 1 for i in keys if i not in same])
                found += float(many) * (fit._weight(place, margin, same) * spread(law)) ** 2
        assert np.allclose(expected, found)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_no_shares_are_better_than_the_best(law: Law) -> None:
    """Against a search over all shares of three margins, in hundredths, and for more margins against many starts."""
    found = total((6,), best_shares((6,), tuple((keys, 1.0) for keys in subsets((0,))), law), law)
    every = [{(): Fraction(i, 100), (0,): Fraction(100 - i, 100)} for i in range(100)]
    assert found <= 1.0005 * min(total((6,), shares, law) for shares in every)
    sizes = (4, 3)
    found = total(sizes, best_shares(sizes, tuple((keys, 1.0) for keys in subsets((0, 1))), law), law)
    rng = np.random.default_rng(5)
    for _ in range(20):
        better = minimize(_total_of, rng.normal(size=4), args=(sizes, law), method="Nelder-Mead").fun
        assert found <= 1.002 * better


def _total_of(logits: Floats, sizes: Sequence[int], law: Law) -> float:
    return total(sizes, _shares(logits), law)


def _shares(logits: Floats) -> dict[Keys, Fraction]:
    share = np.exp(logits) / np.exp(logits).sum()
    return {keys: Fraction(float(part)) for keys, part in zip(subsets((0, 1)), share, strict=True)}


def total(sizes: Sequence[int], shares: Mapping[Keys, Fraction], law: Law) -> float:
    """The sum of squared errors of all cells of all margins at ε or precision 1, by linear algebra."""
    rows = []
    for keys, share in shares.items():
        if share > Fraction(1, 10**9):
            variance = 2 / float(share) ** 2 if law == "laplace" else 1 / float(share)
            rows.append(matrix(sizes, keys) / sqrt(variance))
    sums = np.vstack(rows)
    if np.linalg.matrix_rank(sums) < np.prod(sizes):
        return float("inf")
    covariance = np.linalg.inv(sums.T @ sums)
    margins = np.vstack([matrix(sizes, keys) for keys in subsets(range(len(sizes)))])
    return float(np.trace(margins @ covariance @ margins.T))


@given(st.lists(st.floats(-30, 60), min_size=1, max_size=12))
def test_whole_tables_are_whole_never_negative_keep_the_total_and_are_nearest(values: list[float]) -> None:
    fitted = np.array(values)
    found = whole_table(fitted)
    wanted = max(round(float(fitted.sum())), 0)
    assert found.sum() == wanted
    assert found.min() >= 0
    # the nearest point of the simplex moves all cells that stay above 0 by one amount, and no cell below 0 by less
    moved = fitted - found
    kept = found > 1
    if kept.any():
        assert moved[kept].max() - moved[kept].min() <= 2
        assert (moved[found == 0] <= moved[kept].max() + 2).all()


# --- neighbours -------------------------------------------------------------------------------------------------


def table_plan(neighbours: Neighbours, groups: int, rows: int, law: Law, unit: str | None = "id") -> Plan:
    keys: list[Key] = [key("k", "a", "b"), Key(name="n", expression=Column("n", "integer"), values=(0, 1, 2))]
    plan = plan_of(policy(groups=groups, rows=rows, neighbours=neighbours, unit=unit), ask_for("count"), keys=keys)
    every = with_margins(as_table_count(plan), law)
    alone = [replace(plan.bundles[0], over=keys) for keys in ((), (0,), (1,))]
    return replace(every, bundles=(*alone, plan.bundles[0]))  # all margins, whatever their shares


some_rows = st.lists(
    st.builds(
        lambda unit, k, n: {"id": unit, "k": k, "n": n, "x": 0.0},
        st.integers(0, 2),
        st.sampled_from("ab"),
        st.integers(0, 2),
    ),
    max_size=9,
)


@given(
    some_rows, some_rows, st.integers(1, 6), st.integers(1, 3), st.sampled_from(["add/remove", "change one"]), st.data()
)
@settings(max_examples=150, deadline=None)
def test_no_neighbour_moves_a_margin_further_than_its_sensitivity(
    rows: list[Row], other: list[Row], groups: int, most: int, neighbours: Neighbours, data: st.DataObject
) -> None:
    plan = table_plan(neighbours, groups, most, "laplace")
    unit = data.draw(st.integers(0, 2))
    rest = [row for row in rows if row["id"] != unit]
    new: list[Row] = [] if neighbours == "add/remove" else [{**row, "id": unit} for row in other]
    integers = zip(measured(plan, rows), measured(plan, rest + new), strict=True)
    for bundle, (one, two) in zip(plan.bundles, integers, strict=True):
        sums = [np.array(coarse(plan, bundle, bundle.measures[0], side)) for side in (one, two)]
        gap = np.abs(sums[0] - sums[1])
        assert gap.sum() <= sensitivity(plan, bundle, "laplace")
        assert (gap**2).sum() <= sensitivity(plan, bundle, "gaussian")


def test_a_margin_that_claimed_the_tables_own_sensitivity_would_be_found() -> None:
    plan = table_plan("add/remove", 3, 1, "gaussian")
    rows: list[Row] = [{"id": 1, "k": "a", "n": n, "x": 0.0} for n in range(3)]
    moved = coarse(plan, plan.bundles[0], plan.bundles[0].measures[0], measured(plan, rows)[0])
    assert moved == [3]
    assert sensitivity(plan, plan.bundles[0], "gaussian") == 9 > sensitivity(plan, plan.bundles[-1], "gaussian") == 3


# --- the whole way ----------------------------------------------------------------------------------------------


def answer(plan: Plan, exact: list[int], **cost: float) -> Floats:
    """The fitted whole table of one release."""
    found = release(plan, price(plan, Cost(**cost)), [exact] * len(plan.bundles), {})
    return np.array([row[-1] for row in found.rows()], dtype=np.float64)


SIZES = (3, 4, 5)


def cube(*, margins: bool, law: Law) -> Plan:
    keys = [key(f"k{i}", *map(str, range(n))) for i, n in enumerate(SIZES)]
    plan = as_table_count(plan_of(policy(unit=None), ask_for("count"), keys=keys))
    return with_margins(plan, law) if margins else plan


def squares(table: Floats, truth: Floats) -> float:
    """The sum of squared errors of all cells of all margins."""
    axes = range(len(SIZES))
    gaps = [
        (table.reshape(SIZES) - truth.reshape(SIZES)).sum(axis=tuple(i for i in axes if i not in keys))
        for keys in subsets(axes)
    ]
    return float(sum(np.sum(np.square(gap)) for gap in gaps))


@pytest.mark.parametrize(("law", "cost"), [("laplace", {"epsilon": 1.0}), ("gaussian", {"rho": 0.5})])
def test_all_margins_of_a_cube_err_less_together_than_each_alone(law: Law, cost: dict[str, float]) -> None:
    """Each margin alone gets an eighth of the budget, ε or ρ; over 40 releases."""
    rng = np.random.default_rng(3)
    truth = rng.poisson(60, 60)
    plan, (name, size) = cube(margins=True, law=law), next(iter(cost.items()))
    together = sum(squares(answer(plan, truth.tolist(), **cost), truth.astype(np.float64)) for _ in range(40))
    alone = 0.0
    for keys in subsets(range(3)):
        shape = [SIZES[i] for i in keys]
        margin = truth.reshape(SIZES).sum(axis=tuple(i for i in range(3) if i not in keys)).ravel().tolist()
        listed = [key(f"k{i}", *map(str, range(SIZES[i]))) for i in keys]
        one = plan_of(policy(unit=None), ask_for("count"), keys=listed)
        for _ in range(40):
            paid = price(one, Cost(**{name: size / 8}))
            found = release(one, paid, [margin], {}).rows()
            alone += float(np.sum(np.square(np.array([row[-1] for row in found], dtype=float) - np.array(margin))))
        assert len(margin) == np.prod(shape, dtype=int)
    assert together < (0.2 if law == "laplace" else 0.6) * alone


@pytest.mark.parametrize(("law", "cost"), [("laplace", {"epsilon": 0.5}), ("gaussian", {"rho": 0.05})])
def test_intervals_of_cells_and_margins_cover_as_often_as_they_say(law: Law, cost: dict[str, float]) -> None:
    plan, truth = cube(margins=True, law=law), list(range(200, 260))
    paid, runs, inside = price(plan, Cost(**cost)), 400, {"cell": 0, "k0": 0, "all": 0}
    for _ in range(runs):
        found = release(plan, paid, [truth] * len(plan.bundles), {})
        (one,) = found.plan.aggregates
        low, high = STATISTICS["table_count"].interval(one.ask, found.cells[7].released, 0.95)
        inside["cell"] += low <= truth[7] <= high
        *_, low, high = found.margin("k0").rows()[1]  # type: ignore[assignment]
        inside["k0"] += low <= sum(truth[20:40]) <= high
        *_, low, high = found.margin().rows()[0]  # type: ignore[assignment]
        inside["all"] += low <= sum(truth) <= high
    for hits in inside.values():
        assert binom.cdf(hits, runs, 0.95) > FALSE_ALARM
        assert binom.sf(hits - 1, runs, 0.96) > FALSE_ALARM


@pytest.mark.parametrize("cost", [{"epsilon": 1.0}, {"epsilon": 3.0}, {"rho": 2.0}])
def test_intervals_cover_where_noise_hardly_spans_a_step(cost: dict[str, float]) -> None:
    """Whole noise is tied to its grid: the continuous law alone would cover 79 to 93 % here."""
    keys = [key("k", *"abcde")]
    plan, truth, runs = as_table_count(plan_of(policy(unit=None), ask_for("count"), keys=keys)), [500] * 5, 3000
    paid, inside = price(plan, Cost(**cost)), 0
    for _ in range(runs // 5):
        found = release(plan, paid, [truth], {})
        inside += sum(low <= 500 <= high for *_, low, high in found.intervals(0.95).rows())  # type: ignore[operator]
    assert binom.cdf(inside, runs, 0.95) > FALSE_ALARM


@pytest.mark.parametrize("values", ["a", "ab"])
def test_a_key_with_one_value_changes_no_interval(values: str) -> None:
    table = policy(unit=None)
    alone = with_margins(as_table_count(plan_of(table, ask_for("count"), keys=[key("k", *values)])), "laplace")
    beside = with_margins(
        as_table_count(plan_of(table, ask_for("count"), keys=[key("k", *values), key("m", "x")])), "laplace"
    )
    errors = []
    for plan in (alone, beside):
        paid, (one,) = price(plan, Cost(epsilon=1)), plan.aggregates
        errors.append(STATISTICS["table_count"].error(one.ask, plan.bundles, paid.noise, 0.95, None))
    assert errors == pytest.approx([3.5, 3.5], rel=0.01)


def test_the_tables_own_counts_add_up_to_its_margins() -> None:
    plan = cube(margins=True, law="gaussian")
    found = release(plan, price(plan, Cost(rho=0.01)), [[5] * 60] * len(plan.bundles), {})
    rows = found.rows()
    for value, count, low, high in found.margin("k2").rows():
        assert count == sum(row[-1] for row in rows if row[2] == value)  # type: ignore[misc]
        assert low <= high  # type: ignore[operator]
    assert found.margin().rows()[0][0] == sum(row[-1] for row in rows)  # type: ignore[misc]
    assert all(isinstance(row[-1], int) and row[-1] >= 0 for row in rows)
