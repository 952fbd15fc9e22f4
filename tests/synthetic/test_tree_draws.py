"""Rows drawn along a tree against closed forms: tables, conditional laws, and the parts of a sample."""

from itertools import product

import numpy as np
import pytest

from synthetic_tables import EXACT, SIZES, dependent_rows, exact_tables
from tacit.arrays import Floats, Ints
from tacit.synthetic.pair_fit import fit, tree
from tacit.synthetic.pair_tables import Columns, triples_of
from tacit.synthetic.singular_values import shrunk
from tacit.synthetic.tree_draws import LARGEST_PART, TreeLaw, parts_of


def law_of(rows: Ints, *, triples: bool = False) -> TreeLaw:
    model = fit(exact_tables(rows, triples_of(3, 0) if triples else []), SIZES, EXACT)
    return TreeLaw(model.columns, model.pairs, tree(model, 0), model.triples or model.pairs)


def shares_of(rows: Ints) -> Floats:
    return np.bincount(np.ravel_multi_index(tuple(rows.T), SIZES), minlength=12).reshape(SIZES) / len(rows)


def test_rows_have_the_shares_of_the_tables() -> None:
    """The parts make the error of 20,000 rows far smaller than the sampling error of independent draws (about 0.01)."""
    rows = dependent_rows()
    made = law_of(rows).draw(20_000, np.random.default_rng(1))
    for table, counts in exact_tables(made).items():
        assert 0.5 * np.abs(counts - exact_tables(rows)[table]).sum() / 20_000 < 0.003


def test_rows_are_conditional_on_what_is_given() -> None:
    """The triple is the whole law, so the conditional law of two columns is known.

    Each of 4 shares of 40,000 rows leaves ±0.02 (8 standard errors) with a probability below 1e-14, besides the
    error of the fit, which is at most 0.003.
    """
    rows = dependent_rows()
    law, random = law_of(rows, triples=True), np.random.default_rng(3)
    whole = shares_of(rows)
    for column, code in ((0, 1), (1, 0), (2, 1)):
        made = law.draw(40_000, random, {column: code})
        assert (made[:, column] == code).all()
        wanted = np.take(whole, code, axis=column) / np.take(whole, code, axis=column).sum()
        found = np.take(shares_of(made), code, axis=column)
        assert np.abs(found - wanted).max() < 0.023
        uncut = np.take(whole, code, axis=column).sum()
        assert uncut < 0.95  # the unconditional law would have failed


def test_messages_give_the_conditional_law_of_the_tree() -> None:
    """Candidates alone, against the product of the tree's conditional shares; ±0.02 is at least 8 standard errors."""
    law = law_of(dependent_rows())
    joint = np.zeros(SIZES)
    for codes in product(*(range(size) for size in SIZES)):
        chance = law.columns[0][codes[0]]
        for parent, child in law.edges:
            table = law.pairs[min(parent, child), max(parent, child)]
            table = table if parent < child else table.T
            chance *= table[codes[parent], codes[child]] / table[codes[parent]].sum()
        joint[codes] = chance
    made = law.candidates(40_000, np.random.default_rng(2), {2: 0, 1: 1})
    assert (made[:, 2] == 0).all()
    assert (made[:, 1] == 1).all()
    wanted = joint[:, 1, 0] / joint[:, 1, 0].sum()
    assert np.abs(np.bincount(made[:, 0], minlength=2) / 40_000 - wanted).max() < 0.02


def test_codes_without_a_share_can_be_given() -> None:
    law = TreeLaw([np.array([1.0, 0.0]), np.array([0.5, 0.5])], {(0, 1): np.array([[0.5, 0.5], [0.0, 0.0]])}, [(0, 1)],
                  {(0, 1): np.array([[0.5, 0.5], [0.0, 0.0]])})  # fmt: skip
    made = law.draw(50, np.random.default_rng(1), {0: 1})
    assert (made[:, 0] == 1).all()
    assert made.shape == (50, 2)


@pytest.mark.parametrize("n", [1, 99, 100, 12_345, 3 * LARGEST_PART + 1])
def test_parts_add_up(n: int) -> None:
    parts = list(parts_of(n))
    assert sum(parts) == n
    assert max(parts) <= LARGEST_PART
    assert min(parts) >= 1


def test_no_rows_can_be_drawn() -> None:
    assert law_of(dependent_rows()).draw(0, np.random.default_rng(1)).shape == (0, 3)


def test_many_tables_of_extreme_ratios_do_not_overflow() -> None:
    columns = [np.array([0.999, 0.001])] * 30
    table = np.outer(columns[0], columns[0])
    far = np.array([[0.0005, 0.0], [0.0, 0.9995]])
    pairs: dict[Columns, Floats] = {(a, b): table for a in range(30) for b in range(a + 1, 30)}
    law = TreeLaw(columns, pairs, [(0, each) for each in range(1, 30)], dict.fromkeys(pairs, far))
    made = law.draw(200, np.random.default_rng(1))
    assert made.shape == (200, 30)


@pytest.mark.parametrize(("rows", "columns", "rank"), [(8, 12, 1), (1, 20, 1), (6, 6, 6)])
def test_shrinking_removes_noise(rows: int, columns: int, rank: int) -> None:
    """The squared error of the estimate is below that of the noise, near the expected error, and 0 for pure noise."""
    random = np.random.default_rng(6)
    errors, expected, raw = [], [], []
    for _ in range(60):
        signal = random.normal(size=(rows, rank)) @ random.normal(size=(rank, columns))
        noisy = signal + random.normal(size=(rows, columns))
        estimate, error = shrunk(noisy, 1.0, rows, columns)
        errors.append(((estimate - signal) ** 2).sum())
        raw.append(((noisy - signal) ** 2).sum())
        expected.append(error)
    assert np.mean(errors) < 0.95 * np.mean(raw)
    assert 0.5 < np.mean(errors) / np.mean(expected) < 2
    assert shrunk(np.full((3, 3), 1e-3), 1.0, 2, 2)[0].any() == np.False_
