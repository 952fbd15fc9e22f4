"""The sensitivity of the pair tables by brute force, and a fit against known tables."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from tacit.arrays import Ints
from tacit.guarantees.events import Neighbours
from tacit.synthetic.coded_rows import ArrayRows, Counts
from tacit.synthetic.pair_fit import draw_rows, fit, on_simplex, tree, weights_of
from tacit.synthetic.pair_tables import Columns, noise_of, noisy_tables, tables_of

SIZES = (2, 3, 2)


def moves(relation: Neighbours, reach: int, scale: int) -> int:
    """Return the squared L2 moves of all tables over all units of up to 3 rows; other units cancel."""
    cells = list(product(*(range(size) for size in SIZES)))
    units = [unit for rows in range(4) for unit in combinations_with_replacement(cells, rows)]
    adds = np.array(sorted({unit_vector(unit, reach, scale) for unit in units}))
    zero = np.zeros((1, adds.shape[1]), dtype=np.int64)
    others = zero if relation == "add/remove" else adds
    return max(int(((adds - other) ** 2).sum(axis=1).max()) for other in others)


def unit_vector(unit: tuple[tuple[int, ...], ...], reach: int, scale: int) -> tuple[int, ...]:
    weight = min(scale, scale * reach // len(unit)) if unit else 0
    codes = np.array(unit, dtype=np.uint16).reshape(len(unit), len(SIZES))
    rows = ArrayRows(codes, np.full(len(unit), weight), SIZES, scale=scale, reach=reach)
    return tuple(np.concatenate([rows.counts(table).ravel() for table in tables_of(3)]).tolist())


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
@pytest.mark.parametrize(("reach", "scale"), [(1, 1), (2, 3)])
def test_the_sensitivity_is_the_largest_move_of_any_unit(relation: Neighbours, reach: int, scale: int) -> None:
    noise = noise_of(SIZES, rho=Fraction(1, 3), scale=scale, reach=reach, neighbours=relation)
    assert moves(relation, reach, scale) == noise.l2_squared
    assert noise.l2_squared / (2 * noise.variance) == Fraction(1, 3)


def test_a_unit_whose_rows_are_not_cut_is_found() -> None:
    unit = ((0, 0, 0),) * 2
    codes, uncut = np.array(unit, dtype=np.uint16), np.full(2, 1)
    vector = [ArrayRows(codes, uncut, SIZES).counts(table).ravel() for table in tables_of(3)]
    noise = noise_of(SIZES, rho=Fraction(1), scale=1, reach=1, neighbours="add/remove")
    assert int((np.concatenate(vector) ** 2).sum()) > noise.l2_squared


def dependent_rows(n: int = 20_000) -> Ints:
    generator = np.random.default_rng(5)
    first = generator.integers(0, 2, n)
    second = np.where(generator.random(n) < 0.8, first, generator.integers(0, 3, n))
    third = np.where(generator.random(n) < 0.7, second % 2, generator.integers(0, 2, n))
    return np.stack([first, second, third], axis=1)


def exact_tables(rows: Ints) -> dict[Columns, Counts]:
    coded = ArrayRows(rows.astype(np.uint16), np.ones(len(rows), dtype=np.int64), SIZES)
    return {table: coded.counts(table) for table in tables_of(3)}


def test_the_fit_of_exact_counts_is_the_counts() -> None:
    rows = dependent_rows()
    tables = exact_tables(rows)
    model = fit(tables, SIZES, variance=0.0)
    assert model.total == pytest.approx(len(rows))
    for table, shares in model.pairs.items():  # a thousandth of the product is mixed in
        assert 0.5 * np.abs(shares - tables[table] / len(rows)).sum() < 1e-3


def test_noise_above_every_signal_gives_independent_columns() -> None:
    tables = exact_tables(dependent_rows(50))
    model = fit(tables, SIZES, variance=1e9)
    assert model.independent
    for (a, b), shares in model.pairs.items():
        assert np.allclose(shares, np.outer(model.columns[a], model.columns[b]))


def test_the_tree_has_the_dependent_pairs() -> None:
    assert sorted(map(sorted, tree(fit(exact_tables(dependent_rows()), SIZES, 0.0), 0))) == [[0, 1], [1, 2]]


def test_weights_agree_with_all_pairs() -> None:
    model = fit(exact_tables(dependent_rows()), SIZES, 0.0)
    every = np.array(list(product(*(range(size) for size in SIZES))))
    weights = weights_of(model, every, passes=200)
    for (a, b), shares in model.pairs.items():
        found = np.zeros_like(shares)
        np.add.at(found, (every[:, a], every[:, b]), weights / weights.sum())
        assert np.abs(found - shares).sum() < 2e-3


def test_rows_have_the_shares_of_the_table() -> None:
    rows = dependent_rows()
    model = fit(exact_tables(rows), SIZES, 0.0)
    made = draw_rows(model, 20_000, root=0, candidates=50_000, passes=5, generator=np.random.default_rng(1))
    for table, counts in exact_tables(made).items():
        assert 0.5 * np.abs(counts - exact_tables(rows)[table]).sum() / 20_000 < 0.02
    assert draw_rows(model, 0, root=0, candidates=10, passes=1, generator=np.random.default_rng(1)).shape == (0, 3)


def test_constant_and_empty_tables_are_fitted() -> None:
    nothing = {table: np.zeros([SIZES[c] for c in table], dtype=np.int64) for table in tables_of(3)}
    model = fit(nothing, SIZES, 4.0)
    assert draw_rows(model, 7, root=2, candidates=10, passes=3, generator=np.random.default_rng(1)).shape == (7, 3)
    one = fit({(0,): np.array([5])}, (1,), 4.0)
    assert not draw_rows(one, 3, root=0, candidates=5, passes=1, generator=np.random.default_rng(1)).any()


def test_the_noise_has_its_variance() -> None:
    """2,400 draws: the mean square leaves ±0.2 (6.9 standard errors of 0.029) with probability 1e-11."""
    rows = ArrayRows(np.zeros((0, 3), dtype=np.uint16), np.zeros(0, dtype=np.int64), SIZES)
    noise = noise_of(SIZES, rho=Fraction(1, 1000), scale=1, reach=1, neighbours="add/remove")
    draws = np.concatenate([each.ravel() for _ in range(150) for each in noisy_tables(rows, noise).values()])
    ratio = float((draws.astype(float) ** 2).mean() / noise.variance)
    assert 0.8 < ratio < 1.2
    assert not 0.8 < ratio * 1.5 < 1.2


def test_the_projection_is_the_nearest_distribution() -> None:
    grid = [np.array(p) / 20 for p in product(range(21), repeat=3) if sum(p) == 20]
    for values in ([0.75, 0.5, -0.25], [0.2, 0.3, 0.1], [-1.0, -2.0, 0.4]):
        found = on_simplex(np.array(values))
        assert found.sum() == pytest.approx(1)
        assert ((found - values) ** 2).sum() <= min(((point - values) ** 2).sum() for point in grid) + 1e-12
