"""Errors of synthetic rows of quality; run as `python bench/high_dimensional_quality.py [adult | generated]`.

It prints the mean over seeds of TV2 and TV3, the mean over all pairs or triples of columns of half of the L1 distance
to the shares of the training rows, and the AUROC of scikit-learn's HistGradientBoosting that is trained on as many
synthetic rows and tested on real rows that were left out. CPU seconds are those of one process, from the rows to
the synthetic rows, with one thread. Similar tables chose the constants of `tacit.synthetic`. Adult is the
check, but not an untouched one: see `tacit.synthetic.quality`.

`network`: a Bayesian network of up to three parents with skewed values. `classes`: 12 latent classes. Columns have 2
to 40 codes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import csv
import json
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from tacit.synthetic.coded_rows import ArrayRows
from tacit.synthetic.cost import rho_of
from tacit.synthetic.quality import quality_content, quality_model

Integers: TypeAlias = npt.NDArray[np.int64]
Table: TypeAlias = tuple[Integers, tuple[int, ...], int]
"""Rows of codes, the number of codes of each column, and the target."""
FOLDERS = [Path(__file__).parents[levels] / "shared" / "data" / "adult" for levels in (1, 2)]
DELTA = Fraction(1, 10**9)


def adult() -> Table:
    """Return Adult, with age in 16 bins of five years."""
    path = next(folder / "adult.csv" for folder in FOLDERS if folder.is_dir())
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    columns, sizes = list[list[int]](), list[int]()
    for name in rows[0]:
        if name == "age":
            columns.append([min(max((int(row[name]) - 15) // 5, 0), 15) for row in rows])
            sizes.append(16)
        else:
            codes = {value: code for code, value in enumerate(sorted({row[name] for row in rows}))}
            columns.append([codes[row[name]] for row in rows])
            sizes.append(len(codes))
    return np.array(columns, dtype=np.int64).T, tuple(sizes), list(rows[0]).index("salary-class")


def _sizes(random: np.random.Generator, columns: int) -> tuple[int, ...]:
    return tuple(int(size) for size in np.round(np.exp(random.uniform(np.log(2), np.log(40), columns))))


def _drawn(random: np.random.Generator, chances: npt.NDArray[np.float64]) -> Integers:
    steps = np.cumsum(chances, axis=1)
    places = random.random((len(chances), 1)) * steps[:, -1:]
    return np.asarray((places > steps).sum(axis=1).clip(max=chances.shape[1] - 1), dtype=np.int64)


def network(seed: int, rows: int = 25_000, columns: int = 9) -> Table:
    """Return rows of a random Bayesian network; the target is the column of the fewest codes."""
    random = np.random.default_rng(seed)
    sizes = _sizes(random, columns)
    found = np.zeros((rows, columns), dtype=np.int64)
    order = random.permutation(columns)
    for place, column in enumerate(order):
        parents = random.choice(order[:place], min(place, int(random.integers(1, 4))), replace=False)
        logits = np.tile(np.log(random.dirichlet(np.full(sizes[column], 0.4)) + 1e-3), (rows, 1))
        for parent in parents:
            effect = random.normal(size=(sizes[parent], 2)) @ random.normal(size=(2, sizes[column]))
            logits += (effect * random.uniform(0.2, 1.0))[found[:, parent]]
        if len(parents) > 1:
            a, b = parents[:2]
            logits += 0.4 * random.normal(size=(sizes[a], sizes[b], sizes[column]))[found[:, a], found[:, b]]
        found[:, column] = _drawn(random, np.exp(logits - logits.max(axis=1, keepdims=True)))
    return found, sizes, int(np.argmin(sizes))


def classes(seed: int, rows: int = 25_000, columns: int = 9) -> Table:
    """Return rows of 12 latent classes; the target is the column of the fewest codes."""
    random = np.random.default_rng(seed)
    sizes = _sizes(random, columns)
    hidden = random.choice(12, rows, p=random.dirichlet(np.ones(12)))
    found = np.zeros((rows, columns), dtype=np.int64)
    for column, size in enumerate(sizes):
        base = random.dirichlet(np.full(size, 0.5))
        chances = np.array([random.dirichlet(base * random.uniform(2, 30) + 1e-3) for _ in range(12)])
        found[:, column] = _drawn(random, chances[hidden])
    return found, sizes, int(np.argmin(sizes))


def distance(first: Integers, second: Integers, sizes: tuple[int, ...], ways: int) -> float:
    """Return the mean distance in total variation of all marginals of some number of columns."""
    found = []
    for columns in combinations(range(len(sizes)), ways):
        shape = [sizes[column] for column in columns]
        shares = [
            np.bincount(np.ravel_multi_index([rows[:, column] for column in columns], shape), minlength=np.prod(shape))
            / len(rows)
            for rows in (first, second)
        ]
        found.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(found))


def auroc(train: Integers, test: Integers, target: int) -> float:
    """Return the AUROC of gradient boosting for the most frequent class against the others."""
    features = [column for column in range(train.shape[1]) if column != target]
    positive = np.bincount(test[:, target]).argmax()
    if len(set((train[:, target] == positive).tolist())) == 1:
        return 0.5
    model = HistGradientBoostingClassifier(random_state=0).fit(train[:, features], train[:, target] == positive)
    return float(roc_auc_score(test[:, target] == positive, model.predict_proba(test[:, features])[:, 1]))


def run(table: Table, epsilon: str, seed: int) -> tuple[float, float, float, float]:
    """Return TV2, TV3, AUROC and CPU seconds of one release from 80 % of the rows."""
    codes, sizes, target = table
    order = np.random.default_rng(1_000 + seed).permutation(len(codes))
    cut = int(0.8 * len(codes))
    train, test = codes[order[:cut]], codes[order[cut:]]
    rows = ArrayRows(train.astype(np.uint16), np.ones(len(train), dtype=np.int64), sizes)
    rho = rho_of(Fraction(epsilon), DELTA)
    start = time.process_time()
    content = quality_content(rows, sizes, rho=rho, neighbours="add/remove", target=target)
    made = quality_model(json.loads(json.dumps(content)), sizes).draw(cut, np.random.default_rng())
    seconds = time.process_time() - start
    return distance(made, train, sizes, 2), distance(made, train, sizes, 3), auroc(made, test, target), seconds


def lines(tables: Callable[[int], Table], seeds: int = 3) -> Iterator[str]:
    """Yield one line for each ε: the means over seeds."""
    for epsilon in ("0.1", "1", "10"):
        results = [run(tables(seed), epsilon, seed) for seed in range(seeds)]
        tv2, tv3, area, seconds = np.mean(results, axis=0)
        yield f"epsilon {epsilon}: TV2 {tv2:.4f}, TV3 {tv3:.4f}, AUROC {area:.4f}, {seconds:.1f} CPU s"


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["generated", "adult"]
    for name, tables in (("network", network), ("classes", classes), ("adult", lambda _: adult())):
        if (name if name == "adult" else "generated") in wanted:
            print(name)
            for line in lines(tables):
                print(" ", line, flush=True)
