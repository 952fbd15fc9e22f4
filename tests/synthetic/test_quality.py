"""A quality release from rows to synthetic rows: its cost, its edges, and that fits read released numbers only."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.arrays import Ints
from tacit.guarantees.events import Neighbours
from tacit.synthetic.coded_rows import ArrayRows
from tacit.synthetic.quality import QualityModel, quality_content, quality_model

SIZES = (3, 2, 1, 4, 2)


def dependent(n: int, seed: int = 5) -> Ints:
    random = np.random.default_rng(seed)
    first = random.integers(0, 3, n)
    second = np.where(random.random(n) < 0.8, first % 2, random.integers(0, 2, n))
    fourth = np.where(random.random(n) < 0.7, first + second, random.integers(0, 4, n))
    last = second ^ (random.random(n) < 0.1)
    return np.stack([first, second, np.zeros(n, dtype=np.int64), fourth, last], axis=1)


def coded(rows: Ints, sizes: tuple[int, ...] = SIZES, scale: int = 1, reach: int = 1) -> ArrayRows:
    return ArrayRows(rows.astype(np.uint16), np.full(len(rows), scale), sizes, scale=scale, reach=reach)


def released(
    rows: ArrayRows, rho: Fraction, relation: Neighbours = "add/remove", target: int | None = None
) -> tuple[dict[str, Any], QualityModel]:
    content = quality_content(rows, rows.sizes, rho=rho, neighbours=relation, target=target, seconds=2.0)
    content = json.loads(json.dumps(content))
    return content, quality_model(content, rows.sizes)


def tables_off(made: Ints, true: Ints, sizes: tuple[int, ...]) -> float:
    """Return the largest distance in total variation of all pairs."""
    worst = 0.0
    for a in range(len(sizes)):
        for b in range(a):
            first, second = (
                np.bincount(x[:, a] * sizes[b] + x[:, b], minlength=sizes[a] * sizes[b]) for x in (made, true)
            )
            worst = max(worst, float(0.5 * np.abs(first / len(made) - second / len(true)).sum()))
    return worst


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
@pytest.mark.parametrize("target", [None, 0, 2])
@pytest.mark.parametrize("rho", [Fraction(1, 10**4), Fraction(1, 100), Fraction(50)])
def test_a_release_spends_at_most_rho_and_nearly_all(relation: Neighbours, target: int | None, rho: Fraction) -> None:
    rows = coded(dependent(500))
    content, model = released(rows, rho, relation, target)
    spent = Fraction(content["spent"])
    assert rho * Fraction(999, 1000) < spent <= rho
    moves = 2 if relation == "change one" else 1
    tables = content["tables"]
    assert sum(Fraction(moves, 2) / Fraction(each["variance"]) for each in tables) <= spent
    assert model.draw(20, np.random.default_rng(1)).shape == (20, 5)


def test_choices_are_paid_for() -> None:
    sizes = (2,) * 12
    rows = coded(np.random.default_rng(3).integers(0, 2, (400, 12)), sizes)
    content, _ = released(rows, Fraction(1, 10))
    tables = content["tables"]
    pairs = {tuple(each["columns"]) for each in tables if len(each["columns"]) == 2}
    assert len(pairs) == 48  # of 66
    noise = sum(Fraction(1, 2) / Fraction(each["variance"]) for each in tables)
    choices = Fraction(content["spent"]) - noise
    assert Fraction(5, 1000) < choices < Fraction(1, 100)


def test_rows_with_little_noise_have_the_tables_of_the_data() -> None:
    true = dependent(4_000)
    _, model = released(coded(true), Fraction(100))
    made = model.draw(4_000, np.random.default_rng(1))
    assert tables_off(made, true, SIZES) < 0.01
    assert abs(model.total - 4_000) < 10
    assert not model.notes
    random = np.random.default_rng(2)
    independent = np.stack([random.permutation(column) for column in true.T], axis=1)
    assert tables_off(independent, true, SIZES) > 0.2


def test_three_columns_that_only_agree_together_are_found() -> None:
    random = np.random.default_rng(4)
    first = random.integers(0, 2, (8_000, 3))
    true = np.column_stack([first, first[:, 0] ^ first[:, 1] ^ first[:, 2]])[:, [0, 1, 3]]
    true[:, 2] = true[:, 0] ^ true[:, 1]
    _, model = released(coded(true, (2, 2, 2)), Fraction(20))
    table = model.latent.table([0, 1, 2])
    assert table[0, 0, 0] + table[0, 1, 1] + table[1, 0, 1] + table[1, 1, 0] > 0.97


def test_conditional_rows_have_their_codes_and_their_law() -> None:
    true = dependent(8_000)
    _, model = released(coded(true), Fraction(100))
    made = model.draw(3_000, np.random.default_rng(1), {1: 1, 2: 0})
    assert (made[:, 1] == 1).all()
    some = true[true[:, 1] == 1]
    for column in (0, 3, 4):
        shares = [np.bincount(x[:, column], minlength=SIZES[column]) / len(x) for x in (made, some)]
        assert np.abs(shares[0] - shares[1]).max() < 0.03


def test_equal_contents_give_equal_models() -> None:
    content, model = released(coded(dependent(2_000)), Fraction(1))
    again = quality_model(content, SIZES)
    assert all(np.array_equal(a, b) for a, b in zip(model.latent.chances, again.latent.chances, strict=True))
    assert np.array_equal(model.latent.weights, again.latent.weights)


def test_a_limit_of_time_changes_no_draw() -> None:
    rows, parts = coded(dependent(500)), []
    for seconds in (None, 0.001, 1e9):
        content = quality_content(rows, SIZES, rho=Fraction(50), neighbours="add/remove", seconds=seconds)
        tables: Any = content["tables"]
        parts.append(([(each["columns"], len(each["values"])) for each in tables], content["spent"]))
    assert any(len(columns) == 3 for columns, _ in parts[0][0])
    assert parts[0][0] == parts[1][0] == parts[2][0]
    assert all(Fraction(50) * Fraction(99, 100) < Fraction(str(spent)) <= 50 for _, spent in parts)


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        (np.zeros((50, 1)), (1,)),
        (np.zeros((50, 3)), (1, 1, 1)),
        (np.ones((50, 1)), (3,)),
        (np.zeros((0, 3)), (2, 5, 3)),
        (np.zeros((1, 3)), (2, 5, 3)),
        (np.full((40, 3), 1), (10_000, 2, 3_000)),
        (np.full((40, 2), 2), (40_000, 30_000)),
    ],
)
@pytest.mark.parametrize("rho", [Fraction(1, 10**60), Fraction(1, 10**12), Fraction(1), Fraction(10**9)])
def test_every_domain_and_cost_gives_rows(rows: Ints, sizes: tuple[int, ...], rho: Fraction) -> None:
    content, model = released(coded(rows, sizes, scale=2**16, reach=3), rho, "change one", 0)
    assert Fraction(content["spent"]) <= rho
    made = model.draw(30, np.random.default_rng(1))
    assert made.shape == (30, len(sizes))
    assert (made >= 0).all()
    assert (made < np.array(sizes)).all()
    assert model.draw(0, np.random.default_rng(1)).shape == (0, len(sizes))
    assert (model.draw(5, np.random.default_rng(1), {0: 0})[:, 0] == 0).all()
    assert np.isfinite(model.total)
    assert model.total >= 0


def test_a_cost_that_hides_everything_is_noted() -> None:
    _, model = released(coded(dependent(50)), Fraction(1, 10**12))
    assert model.notes == ("The noise hides the dependences of columns, so they are drawn independently or nearly so.",)


def test_progress_rises_to_the_end() -> None:
    seen: list[float] = []
    quality_content(
        coded(dependent(100)),
        SIZES,
        rho=Fraction(1, 10),
        neighbours="add/remove",
        progress=lambda share, _: seen.append(share),
    )
    assert seen == sorted(seen)
    assert len(seen) > 1
    assert 0 <= seen[0] <= seen[-1] <= 1
