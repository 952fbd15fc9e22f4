"""Ridge regression from pair counts against scikit-learn's linear discriminant on the rows."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score

from tacit.learn.pair_ridge import Pairs, class_tables, naive_bayes_from_pairs, ridge_from_pairs
from tacit.learn.private_sums import Layout
from tacit.synthetic.coded_rows import ArrayRows, Codes

SIZES = (3, 5, 2, 3)  # the target, of two classes and a code that does not count, is the last
LAYOUT = Layout((0, 1, 2), 3, SIZES[:3], (0, 1, -1))


def people(size: int) -> Codes:
    random = np.random.default_rng(2)
    one, three = random.integers(0, 3, size), random.integers(0, 2, size)
    two = np.clip(one + random.integers(0, 3, size), 0, 4)  # correlated with one
    y = (random.random(size) < expit(-1.5 + one - 0.3 * two + three)).astype(int)
    return np.stack([one, two, three, y], axis=1).astype(np.uint16)


def pairs_of(codes: Codes, noise: float) -> tuple[Pairs, dict[tuple[int, int], float]]:
    random, rows = np.random.default_rng(3), ArrayRows(codes, np.ones(len(codes), dtype=np.int64), SIZES)
    exact = {pair: rows.counts(pair) for pair in combinations(range(4), 2)}
    noisy = {pair: table + random.normal(0, noise, table.shape) for pair, table in exact.items()}
    return noisy, dict.fromkeys(noisy, max(noise, 1e-6) ** 2)


def scores(codes: Codes, weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights[0][codes[:, :3].astype(int) + LAYOUT.starts[:3]].sum(axis=1))


def test_without_noise_it_is_the_linear_discriminant() -> None:
    codes = people(20_000)
    found = ridge_from_pairs(*pairs_of(codes, 0.0), SIZES, 3)
    hot = np.concatenate([np.eye(size)[codes[:, place]][:, 1:] for place, size in enumerate(SIZES[:3])], axis=1)
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(hot, codes[:, 3])
    expected = peer.decision_function(hot)
    ours = scores(codes, found.weights) + found.intercepts[0]
    assert np.abs(ours - expected).max() < 0.02
    assert abs(found.rows - 20_000) < 1


@pytest.mark.parametrize("noise", [5.0, 30.0])
def test_noise_lowers_the_rank_little(noise: float) -> None:
    codes = people(20_000)
    exact = scores(codes, ridge_from_pairs(*pairs_of(codes, 0.0), SIZES, 3).weights)
    noisy = scores(codes, ridge_from_pairs(*pairs_of(codes, noise), SIZES, 3).weights)
    y = codes[:, 3]
    assert roc_auc_score(y, noisy) > roc_auc_score(y, exact) - 0.01


def test_naive_bayes_needs_the_pairs_of_the_target_only() -> None:
    codes = people(20_000)
    pairs, variances = pairs_of(codes, 1.0)
    some = {pair: table for pair, table in pairs.items() if 3 in pair}
    found = naive_bayes_from_pairs(some, variances, LAYOUT)
    assert roc_auc_score(codes[:, 3], scores(codes, found.weights)) > 0.6


def test_class_tables_are_the_counts_by_class() -> None:
    codes = people(500)
    tables = class_tables(*pairs_of(codes, 0.0), LAYOUT)
    for cls in (0, 1):
        expected = [
            np.bincount(codes[codes[:, 3] == cls, place], minlength=size) for place, size in enumerate(SIZES[:3])
        ]
        assert np.allclose(tables.counts[cls], np.concatenate(expected))


def test_only_noise_gives_finite_weights() -> None:
    empty = people(0)
    found = ridge_from_pairs(*pairs_of(empty, 50.0), SIZES, 3)
    assert np.isfinite(found.weights).all()
    assert np.isfinite(found.intercepts).all()
