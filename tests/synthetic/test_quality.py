"""The quality mode: what it takes from rows against brute force, its price, its fit and its draws."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np
import pytest

from tacit.arrays import Ints
from tacit.errors import InternalError
from tacit.guarantees.events import Neighbours
from tacit.synthetic.coded_rows import ArrayRows
from tacit.synthetic.latent_model import LatentModel
from tacit.synthetic.latent_rows import draw_rows
from tacit.synthetic.quality import QualityModel, quality_content, quality_model
from tacit.synthetic.quality_noise import Purse, bounded_range, l1, l2_squared, score, whole_counts

RELATIONS: list[Neighbours] = ["add/remove", "change one"]
SIZES, REACH, SCALE = (2, 3), 2, 4
CELLS = [(a, b) for a in range(SIZES[0]) for b in range(SIZES[1])]


def rows_of(rows: list[tuple[tuple[int, int], int]]) -> ArrayRows:
    codes = np.array([codes for codes, _ in rows], dtype=np.uint16).reshape(len(rows), len(SIZES))
    weights = np.array([weight for _, weight in rows], dtype=np.int64)
    return ArrayRows(codes, weights, SIZES, scale=SCALE, reach=REACH)


Rows: TypeAlias = list[tuple[tuple[int, int], int]]


def units() -> list[Rows]:
    """Return the rows that one unit may add: none, one, or several whose weights add up to reach times scale."""
    whole = REACH * SCALE
    pairs: list[Rows] = [[(a, whole // 2), (b, whole - whole // 2)] for a in CELLS for b in CELLS]
    single: list[Rows] = [[(cell, weight)] for cell in CELLS for weight in (SCALE, whole)]
    return [[], *single, *pairs]


def table_rows(count: int, seed: int) -> tuple[ArrayRows, Ints]:
    """Return made-up rows of four columns: the first three depend on each other."""
    random = np.random.default_rng(seed)
    a = random.integers(0, 3, count)
    b = np.where(random.random(count) < 0.7, a, random.integers(0, 3, count))
    c = np.where(random.random(count) < 0.8, (a + b) % 2, random.integers(0, 2, count))
    codes = np.stack([a, b, c, random.integers(0, 5, count)], axis=1).astype(np.uint16)
    return ArrayRows(codes, np.ones(count, dtype=np.int64), (3, 3, 2, 5)), codes.astype(np.int64)


@pytest.mark.parametrize("relation", RELATIONS)
def test_tables_and_scores_move_as_far_as_stated(relation: Neighbours) -> None:
    """All units beside fixed rows, for each table, against several predictions."""
    rest, random = [((0, 1), 3), ((1, 2), 8)], np.random.default_rng(3)
    pairs = [([], unit) for unit in units()] if relation == "add/remove" else list(product(units(), units()))
    squared = moved = 0
    for columns in ((0,), (1,), (0, 1)):
        cells = int(np.prod([SIZES[column] for column in columns]))
        predictions = [np.zeros(cells, dtype=np.int64), random.integers(0, 12, cells)]
        for before, after in pairs:
            one, other = (rows_of(rest + unit).counts(columns) for unit in (before, after))
            squared = max(squared, int(((one - other) ** 2).sum()))
            for predicted in predictions:
                moved = max(moved, abs(score(one, predicted, 5) - score(other, predicted, 5)))
    assert squared == l2_squared(rows_of(rest), relation)
    assert moved <= l1(rows_of(rest), relation)
    assert moved >= REACH * SCALE


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rho", [Fraction(1, 10**6), Fraction(1, 50), Fraction(3)])
def test_the_draws_of_a_release_cost_at_most_rho(
    relation: Neighbours, rho: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The price is added up from what was really drawn: variances and the ε of choices."""
    rows, _ = table_rows(400, 1)
    costs: list[Fraction] = []
    measure, choose = Purse.measure, Purse.choose

    def measured(self: Purse, columns: tuple[int, ...], part: Fraction) -> None:
        before = len(self.measured)
        measure(self, columns, part)
        costs.extend(l2_squared(rows, relation) / (2 * table.variance) for table in self.measured[before:])

    def chosen(self: Purse, scores: list[int], part: Fraction) -> int:
        costs.append(bounded_range(part) ** 2 / 8)
        return choose(self, scores, part)

    monkeypatch.setattr(Purse, "measure", measured)
    monkeypatch.setattr(Purse, "choose", chosen)
    content = quality_content(rows, rows.sizes, rho=rho, neighbours=relation, target=2)
    assert 0.9 * rho < sum(costs) <= rho
    assert Fraction(str(content["spent"])) == sum(costs)


def test_a_purse_refuses_a_draw_beyond_rho() -> None:
    rows, _ = table_rows(50, 2)
    purse = Purse(rows, "add/remove", Fraction(1))
    purse.measure((0,), Fraction(3, 4))
    with pytest.raises(InternalError):
        purse.measure((1,), Fraction(1, 2))
    with pytest.raises(InternalError):
        purse.choose([1, 2], Fraction(1, 2))


def test_predictions_are_whole_and_bounded() -> None:
    assert whole_counts(np.array([0.5, 0.25, 0.25]), 10.0, 2).tolist() == [10, 5, 5]
    assert whole_counts(np.array([1.0]), -3.0, 2).tolist() == [0]
    assert whole_counts(np.array([1.0]), float("inf"), 2**16).tolist() == [2**56]
    assert bounded_range(Fraction(1, 3)) ** 2 / 8 <= Fraction(1, 3)


def test_a_fit_to_exact_tables_has_these_tables() -> None:
    rows, codes = table_rows(4_000, 4)
    content = json.loads(json.dumps(quality_content(rows, rows.sizes, rho=Fraction(10**6), neighbours="add/remove")))
    model = quality_model(content, rows.sizes)
    assert model.total == pytest.approx(4_000, abs=1)
    drawn = model.draw(4_000, np.random.default_rng(5))
    for columns in ((0, 1), (0, 2), (1, 2), (0, 1, 2)):
        shape = tuple(rows.sizes[column] for column in columns)
        exact, made = (
            np.bincount(np.ravel_multi_index(tuple(each[:, list(columns)].T), shape), minlength=int(np.prod(shape)))
            for each in (codes, drawn)
        )
        assert 0.5 * np.abs(exact - made).sum() / 4_000 < 0.02
    independent = np.outer(np.bincount(codes[:, 0]), np.bincount(codes[:, 1])) / 4_000
    pairs = np.bincount(codes[:, 0] * 3 + codes[:, 1], minlength=9).reshape(3, 3)
    assert 0.5 * np.abs(pairs - independent).sum() / 4_000 > 0.2, "the check above would find lost dependences"


def test_draws_follow_the_model_and_what_is_given() -> None:
    """Closed form: given x₁ = v, class k has the weight w_k·θ_k1(v)."""
    model = LatentModel(
        np.array([0.25, 0.75]), (np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]))
    )
    rows = draw_rows(model, 40_000, np.random.default_rng(6))
    assert rows.shape == (40_000, 2)
    exact = np.array([[0.1125 + 0.0, 0.1125 + 0.075, 0.075], [0.0125, 0.0125 + 0.3, 0.3]])
    found = np.bincount(rows[:, 0] * 3 + rows[:, 1], minlength=6).reshape(2, 3) / 40_000
    assert np.abs(found - exact).max() < 0.01
    given = QualityModel(model, 1.0, ()).draw(10_000, np.random.default_rng(7), {0: 1})
    assert set(given[:, 0].tolist()) == {1}
    shares = np.bincount(given[:, 1], minlength=3) / 10_000
    assert np.abs(shares - exact[1] / exact[1].sum()).max() < 0.02


@pytest.mark.parametrize(
    ("sizes", "count"), [((3,), 50), ((1, 1), 50), ((1, 4), 50), ((2, 2), 0), ((90, 60, 2), 300)], ids=str
)
def test_odd_tables_have_rows(sizes: tuple[int, ...], count: int) -> None:
    """One column, constant columns, no rows, and tables that are too large to measure."""
    random = np.random.default_rng(8)
    codes = np.stack([random.integers(0, size, count) for size in sizes], axis=1).astype(np.uint16)
    rows = ArrayRows(codes, np.ones(count, dtype=np.int64), sizes)
    content = quality_content(rows, sizes, rho=Fraction(1, 2), neighbours="change one")
    model = quality_model(json.loads(json.dumps(content)), sizes)
    made = model.draw(20, np.random.default_rng(9))
    assert made.shape == (20, len(sizes))
    assert (made >= 0).all()
    assert (made < np.array(sizes)).all()


def test_noise_that_hides_everything_gives_independent_columns_and_a_note() -> None:
    rows, _ = table_rows(200, 10)
    content = quality_content(rows, rows.sizes, rho=Fraction(1, 10**9), neighbours="add/remove", target=0)
    model = quality_model(content, rows.sizes)
    assert any("independent" in note for note in model.notes)
    assert len(model.draw(10, np.random.default_rng(11))) == 10
