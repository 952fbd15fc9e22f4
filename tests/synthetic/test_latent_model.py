"""Latent-class models against sums over all cells, the fit against brute force, and rows against their model."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.arrays import Floats
from tacit.synthetic.latent_fit import Fit, NoisyTable
from tacit.synthetic.latent_model import LatentModel
from tacit.synthetic.latent_rows import draw_rows, gaps_of

SIZES = (2, 3, 4)


def some_model(classes: int = 5, sizes: tuple[int, ...] = SIZES) -> LatentModel:
    random = np.random.default_rng(8)
    chances = tuple(random.dirichlet(np.full(size, 0.7), classes) for size in sizes)
    return LatentModel(random.dirichlet(np.ones(classes)), chances)


def law(model: LatentModel) -> Floats:
    """Return the probability of every cell, one by one."""
    found = np.zeros(model.sizes)
    for cell in product(*(range(size) for size in model.sizes)):
        for k, weight in enumerate(model.weights):
            found[cell] += weight * np.prod([c[k, code] for c, code in zip(model.chances, cell, strict=True)])
    return found


def test_tables_are_the_sums_of_the_law() -> None:
    model = some_model()
    whole = law(model)
    for number in (1, 2, 3):
        for columns in combinations(range(3), number):
            rest = tuple(set(range(3)) - set(columns))
            assert np.allclose(model.table(columns), whole.sum(axis=rest))


def test_conditioning_is_bayes_rule() -> None:
    model = some_model()
    whole = law(model)
    for code in range(3):
        assert np.allclose(law(model.given({1: code}))[:, code], whole[:, code] / whole[:, code].sum())
    both = law(model.given({0: 1, 2: 3}))
    assert np.allclose(both[1, :, 3], whole[1, :, 3] / whole[1, :, 3].sum())
    assert np.isclose(both.sum(), both[1, :, 3].sum())


def test_codes_without_probability_leave_the_other_columns() -> None:
    chances = (np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.1, 0.9]]))
    model = LatentModel(np.array([0.5, 0.5]), chances).given({0: 1})
    assert np.allclose(law(model), np.array([[0, 0], [0.3, 0.7]]))


def test_information_is_that_of_the_class_and_the_columns() -> None:
    same = LatentModel(np.array([0.5, 0.5]), (np.array([[0.2, 0.8], [0.2, 0.8]]),))
    assert same.information == pytest.approx(0)
    apart = LatentModel(np.array([0.5, 0.5]), (np.eye(2), np.eye(2)))
    assert apart.information == pytest.approx(2 * np.log(2))


def objective(fit: Fit, model: LatentModel) -> float:
    errors = sum(
        float(((fit.total * model.table(t.columns).ravel() - t.values) ** 2).sum()) / (2 * t.variance)
        for t in fit.tables
    )
    return errors + fit.alpha * fit.total * model.information


def tables_of(whole: Floats, total: float, variance: float, numbers: tuple[int, ...]) -> list[NoisyTable]:
    found = []
    for number in numbers:
        for columns in combinations(range(whole.ndim), number):
            rest = tuple(set(range(whole.ndim)) - set(columns))
            found.append(NoisyTable(columns, total * whole.sum(axis=rest).ravel(), variance))
    return found


def started(tables: list[NoisyTable], alpha: float, classes: int, sizes: tuple[int, ...] = SIZES) -> Fit:
    return Fit(sizes, tables, 1_000.0, classes, alpha, [np.full(size, 1 / size) for size in sizes])


@pytest.mark.parametrize("wide", [2_000, 0])
@pytest.mark.parametrize("numbers", [(1,), (2,), (3,), (1, 2, 3)])
def test_slopes_are_those_of_the_objective(
    numbers: tuple[int, ...], wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.synthetic.latent_fit.WIDE", wide)
    fit = started(tables_of(law(some_model()), 1_000.0, 50.0, numbers), 0.2, 3)
    random = np.random.default_rng(2)
    fit._logits = random.standard_normal(fit._logits.shape)
    fit._log_weights = random.standard_normal(3)
    slopes = fit._slopes()
    for values, slope in zip((fit._logits, fit._log_weights), slopes, strict=True):
        for place in np.ndindex(values.shape):
            ends = []
            for step in (1e-5, -1e-5):
                values[place] += step
                ends.append(objective(fit, fit.model()) / fit.total)
                values[place] -= step
            assert slope[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=2e-3, abs=2e-4)


def test_exact_tables_are_met() -> None:
    whole = law(some_model())
    fit = started(tables_of(whole, 1_000.0, 1.0, (2,)), 1e-6, 30)
    fit.run(1_500)
    for columns in combinations(range(3), 2):
        (rest,) = set(range(3)) - set(columns)
        assert np.abs(fit.model().table(columns) - whole.sum(axis=rest)).max() < 2e-3


def test_the_fit_is_the_best_of_searches_from_many_starts() -> None:
    """Two columns of two codes and two classes: the objective is minimised by brute force over its five numbers."""
    noisy = np.array([30.0, 10.0, 12.0, 48.0])
    fit = Fit((2, 2), [NoisyTable((0, 1), noisy, 40.0)], 100.0, 8, 0.02, [np.full(2, 0.5)] * 2)
    fit.run(1_500)

    def value(numbers: Floats) -> float:
        shares = 1 / (1 + np.exp(-numbers))
        chances = tuple(np.stack([part, 1 - part], axis=1) for part in (shares[1:3], shares[3:5]))
        return objective(fit, LatentModel(np.array([shares[0], 1 - shares[0]]), chances))

    random = np.random.default_rng(3)
    best = min(minimize(value, random.standard_normal(5) * 2, method="Nelder-Mead").fun for _ in range(30))
    assert objective(fit, fit.model()) <= best + 1e-2
    independent = LatentModel(np.ones(1), (np.array([[0.41, 0.59]]), np.array([[0.42, 0.58]])))
    assert objective(fit, independent) > best + 1


def test_pure_noise_gives_independent_columns() -> None:
    random = np.random.default_rng(6)
    flat = np.full(SIZES, 1 / 24)
    tables = [
        NoisyTable(t.columns, t.values + 20 * random.standard_normal(t.values.size), 400.0)
        for t in tables_of(flat, 1_000.0, 1.0, (1, 2))
    ]
    fit = started(tables, 0.3 * 20**-0.7, 20)
    fit.run(500)
    assert fit.model().information < 0.01
    loose = started(tables, 1e-4, 20)
    loose.run(500)
    assert loose.model().information > 0.05


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1_000])
def test_rows_have_the_columns_of_their_model(n: int) -> None:
    model = some_model()
    rows = draw_rows(model, n, np.random.default_rng(4))
    assert rows.shape == (n, 3)
    for column, size in enumerate(SIZES):
        counts = np.bincount(rows[:, column], minlength=size)
        assert np.abs(counts - n * model.table([column])).max() <= len(model.weights) + 1


def test_pairs_and_triples_of_rows_are_nearer_than_independent_rows() -> None:
    model = some_model(20, (4, 5, 6, 3))
    n, random = 5_000, np.random.default_rng(4)
    rows = draw_rows(model, n, random)
    cells = random.multinomial(n, law(model).ravel())
    independent = np.stack(np.unravel_index(np.repeat(np.arange(cells.size), cells), model.sizes), axis=1)
    squares = [float((gaps_of(model, each).values ** 2).mean()) for each in (rows, independent)]
    assert squares[0] < squares[1] / 10


def test_gaps_are_counts_less_expected_counts() -> None:
    model = some_model()
    rows = np.array([[0, 1, 2], [1, 2, 3], [1, 2, 0]])
    gaps = gaps_of(model, rows)
    start = gaps.pairs[1, 2]
    table = gaps.values[start : start + 12].reshape(3, 4) + 3 * model.table([1, 2])
    assert np.allclose(table, np.array([[0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]]))


def test_exchanges_track_the_gaps() -> None:
    from tacit.synthetic.row_kernels import exchange  # noqa: PLC0415 - numba is slow to import

    model = some_model(6, (3, 4, 2, 5))
    random = np.random.default_rng(9)
    rows = np.stack([random.permutation(column) for column in draw_rows(model, 200, random).T], axis=1)
    columns = [np.sort(rows[:, c]) for c in range(4)]
    gaps = gaps_of(model, rows)
    before = float((gaps.values**2).sum())
    done = exchange(
        rows, np.array(model.sizes), gaps, random.integers(0, 4, 4_000), random.integers(0, 200, (2, 4_000))
    )
    assert done > 50
    assert np.allclose(gaps.values, gaps_of(model, rows).values)
    assert float((gaps.values**2).sum()) < before / 4
    assert all(np.array_equal(np.sort(rows[:, c]), columns[c]) for c in range(4))


def test_rows_of_one_generator_are_repeatable_and_of_another_differ() -> None:
    model = some_model()
    first, again, other = (draw_rows(model, 100, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
