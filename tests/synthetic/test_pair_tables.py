"""The sensitivity of noisy tables by brute force, and their fit against known tables."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from synthetic_tables import EXACT, SIZES, dependent_rows, exact_tables
from tacit.arrays import Ints
from tacit.guarantees.events import Neighbours
from tacit.synthetic.coded_rows import ArrayRows
from tacit.synthetic.pair_fit import fit, on_simplex, tree
from tacit.synthetic.pair_tables import (
    Columns,
    Law,
    cells_of,
    noisy_tables,
    pairs_of,
    singles_of,
    table_noise,
    triples_of,
)
from tacit.synthetic.row_distance import sum_noise, sum_of_distances, tables_of

TABLES: dict[str, list[Columns]] = {
    "columns": singles_of(3),
    "pairs": pairs_of(3),
    "triples": triples_of(3, 1),
    "total": [()],
}


def vectors(tables: list[Columns], reach: int, scale: int) -> Ints:
    """Return the counts of all units of up to 3 rows; the other units of neighbours cancel."""
    cells = list(product(*(range(size) for size in SIZES)))
    units = [unit for rows in range(4) for unit in combinations_with_replacement(cells, rows)]
    return np.array(sorted({unit_vector(unit, tables, reach, scale) for unit in units}))


def unit_vector(unit: tuple[tuple[int, ...], ...], tables: list[Columns], reach: int, scale: int) -> tuple[int, ...]:
    rows = rows_of(unit, reach, scale)
    return tuple(np.concatenate([rows.counts(table).ravel() for table in tables]).tolist())


def rows_of(unit: tuple[tuple[int, ...], ...], reach: int, scale: int) -> ArrayRows:
    weight = min(scale, scale * reach // len(unit)) if unit else 0
    codes = np.array(unit, dtype=np.uint16).reshape(len(unit), len(SIZES))
    return ArrayRows(codes, np.full(len(unit), weight), SIZES, scale=scale, reach=reach)


def largest_move(adds: Ints, relation: Neighbours, law: Law) -> int:
    """Return the squared L2 norm, or the L1 norm, of the largest move by one unit."""
    others = np.zeros((1, adds.shape[1]), dtype=np.int64) if relation == "add/remove" else adds
    moves = (adds - other for other in others)
    return max(int((move**2 if law == "gaussian" else abs(move)).sum(axis=1).max()) for move in moves)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("relation", ["add/remove", "change one"])
@pytest.mark.parametrize(("reach", "scale"), [(1, 1), (2, 3)])
@pytest.mark.parametrize("name", TABLES)
def test_the_sensitivity_bounds_the_move_of_every_unit(
    law: Law, relation: Neighbours, reach: int, scale: int, name: str
) -> None:
    """The total cannot move by both units of a change; all other sensitivities are reached."""
    tables = TABLES[name]
    noise = table_noise(law, Fraction(1, 3), len(tables), steps=reach * scale, neighbours=relation)
    moved = largest_move(vectors(tables, reach, scale), relation, law)
    assert moved == noise.sensitivity or (name == "total" and moved < noise.sensitivity)
    assert noise.cost <= Fraction(1, 3)
    assert float(noise.cost) == pytest.approx(1 / 3, rel=1e-6)


def test_a_unit_whose_rows_are_not_cut_is_found() -> None:
    codes, uncut = np.zeros((2, 3), dtype=np.uint16), np.full(2, 1)
    vector = np.concatenate([ArrayRows(codes, uncut, SIZES).counts(table).ravel() for table in pairs_of(3)])
    for law, moved in (("gaussian", (vector**2).sum()), ("laplace", vector.sum())):
        noise = table_noise(law, Fraction(1), 3, steps=1, neighbours="add/remove")  # type: ignore[arg-type]  # a law
        assert int(moved) > noise.sensitivity


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_the_sum_of_distances_moves_by_at_most_its_sensitivity(relation: Neighbours, ways: int) -> None:
    """All units of up to two rows beside some fixed rows, and random targets."""
    reach, scale, random = 2, 3, np.random.default_rng(4)
    tables = tables_of(SIZES, ways)
    cells = list(product(*(range(size) for size in SIZES)))
    units = [unit for rows in range(3) for unit in combinations_with_replacement(cells, rows)]
    rest = rows_of(tuple(cells[::5]), 9, scale)
    noise = sum_noise("laplace", Fraction(1), len(tables), steps=reach * scale, neighbours=relation)
    base = {table: rest.counts(table) for table in tables}
    largest = 0
    for _ in range(10):
        targets = {table: random.integers(-3, 9, base[table].shape) for table in tables}
        sums = [
            sum(int(abs(base[t] + rows_of(unit, reach, scale).counts(t) - targets[t]).sum()) for t in tables)
            for unit in units
        ]
        before = sum(int(abs(base[t] - targets[t]).sum()) for t in tables)
        largest = max(
            largest, max(sums) - min(sums) if relation == "change one" else max(abs(s - before) for s in sums)
        )
    assert noise.sensitivity / 3 < largest <= noise.sensitivity


def test_the_sum_of_distances_is_that_of_its_definition() -> None:
    rows = ArrayRows(np.array([[0, 1], [1, 2], [1, 2]], dtype=np.uint16), np.array([1, 1, 1]), (2, 3))
    assert sum_of_distances(rows, {(0,): np.array([3, 0]), (0, 1): np.zeros((2, 3), dtype=np.int64)}) == 2 + 2 + 3


def test_the_fit_of_exact_counts_is_the_counts() -> None:
    rows = dependent_rows()
    tables = exact_tables(rows, triples_of(3, 0))
    model = fit(tables, SIZES, EXACT)
    assert model.total == pytest.approx(len(rows))
    for table, shares in {**model.pairs, **model.triples}.items():  # a thousandth of the product is mixed in
        assert 0.5 * np.abs(shares - tables[table] / len(rows)).sum() < 2e-3
    assert set(model.triples) == {(0, 1, 2)}
    assert all(error == 0 for error in model.errors.values())


def test_noise_above_every_signal_gives_independent_columns() -> None:
    model = fit(exact_tables(dependent_rows(50)), SIZES, {1: 1e9, 2: 1e9})
    assert not model.dependent
    for (a, b), shares in model.pairs.items():
        assert np.allclose(shares, np.outer(model.columns[a], model.columns[b]))


def test_the_tree_has_the_dependent_pairs() -> None:
    assert sorted(map(sorted, tree(fit(exact_tables(dependent_rows()), SIZES, EXACT), 0))) == [[0, 1], [1, 2]]


@pytest.mark.parametrize("variance", [100.0, 10_000.0])
def test_the_expected_distance_is_near_the_true_one(variance: float) -> None:
    """The mean over 40 fits of noisy tables; clipping at 0 makes the true distance smaller."""
    random, rows = np.random.default_rng(8), dependent_rows()
    exact = exact_tables(rows)
    expected, true = [], []
    for _ in range(40):
        noisy = {table: counts + np.rint(random.normal(0, variance**0.5, counts.shape)).astype(np.int64)
                 for table, counts in exact.items()}  # fmt: skip
        model = fit(noisy, SIZES, {1: variance, 2: variance})
        expected += [model.errors[pair] for pair in pairs_of(3)]
        true += [0.5 * float(np.abs(model.pairs[pair] - exact[pair] / len(rows)).sum()) for pair in pairs_of(3)]
    assert 0.5 * np.mean(expected) < np.mean(true) < 1.5 * np.mean(expected)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_noise_has_its_variance(law: Law) -> None:
    """4,800 draws of kurtosis at most 6: the mean square leaves ±0.25 (7.7 standard errors) with probability 1e-13."""
    rows = ArrayRows(np.zeros((0, 3), dtype=np.uint16), np.zeros(0, dtype=np.int64), SIZES)
    noise = table_noise(law, Fraction(1, 1000), 3, steps=1, neighbours="add/remove")
    cells = cells_of(pairs_of(3), SIZES)
    repeats = 4_800 // cells
    draws = [each.ravel() for _ in range(repeats) for each in noisy_tables(rows, pairs_of(3), noise).values()]
    ratio = float((np.concatenate(draws).astype(float) ** 2).mean() / noise.variance)
    assert 0.75 < ratio < 1.25
    assert not 0.75 < ratio * 2 < 1.25


def test_the_projection_is_the_nearest_distribution() -> None:
    grid = [np.array(p) / 20 for p in product(range(21), repeat=3) if sum(p) == 20]
    for values in ([0.75, 0.5, -0.25], [0.2, 0.3, 0.1], [-1.0, -2.0, 0.4]):
        found = on_simplex(np.array(values))
        assert found.sum() == pytest.approx(1)
        assert ((found - values) ** 2).sum() <= min(((point - values) ** 2).sum() for point in grid) + 1e-12
