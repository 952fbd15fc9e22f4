"""Error, coverage and time of `db.marginals` on Adult; run as `python bench/high_dimensional_marginals.py`.

All 1- and 2-way tables of the nine columns of ARX's Adult, 80 % of the rows, three seeds of the split, δ = 1e-9. The
public domain comes from the hierarchy files beside the data, and age is in 16 bins of five years from 15 to 95. TV2 is
the mean over all 2-way tables of half the sum of |p - p̂|. Nothing was chosen on Adult: the grids of the fit without
negative counts were chosen on `generated_rows`, whose figures come first.

`--large` times the release of all pairs of 20 columns of 10,000,000 generated rows, beside the engine's scan.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from report import Part, Verdict, table, verdict_table, write_section

import tacit as tc
from tacit.database import Database
from tacit.synthetic.marginals import Marginals

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult"
SEEDS, SHARE, DELTA = (1, 2, 3), 0.8, 1e-9
TARGETS = {"1": 0.031, "10": 0.005}
EPSILONS = ("0.1", "1", "10")
AGES = list(range(15, 96, 5))

TEXT = """\
## Marginals of Adult

All 1- and 2-way tables of nine columns ({cells:.3g} cells in the joint domain), {train:,} of {rows:,} rows,
δ = 1e-9, means of {seeds} seeds. TV2 is the mean over all pairs of half the sum of |p - p̂|; the fit has no negative
counts. Seconds are CPU time of this process: one `db.marginals` with its reading, and one fit. Coverage is that of
the 95 % intervals over all cells of all pairs before they are cut at 0. Command:
`python bench/high_dimensional_marginals.py`."""


def adult() -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return Adult and the public values of its columns of text."""
    frame = pd.read_csv(ADULT / "adult.csv", sep=";")
    keys = {}
    for name in frame.columns.drop("age"):
        with (ADULT / f"adult_hierarchy_{name}.csv").open(encoding="utf-8") as file:
            keys[str(name)] = [row[0] for row in csv.reader(file, delimiter=";") if row]
    return frame, keys


def generated_rows(seed: int, count: int = 25_000, columns: int = 10) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return rows of a random tree: each column depends on an earlier one, with skewed conditional laws."""
    random = np.random.default_rng(seed)
    sizes = [int(size) for size in random.choice([2, 2, 3, 5, 7, 10, 15, 20, 40], columns)]
    codes = np.zeros((count, columns), dtype=np.int64)
    for column, size in enumerate(sizes):
        base = random.dirichlet(np.full(size, random.uniform(0.2, 1)))
        parent, strength = int(random.integers(0, max(1, column))), float(random.uniform(1, 30))
        values = [0] if column == 0 else range(sizes[parent])
        for value in values:
            rows = codes[:, parent] == value if column else np.ones(count, dtype=bool)
            law = random.dirichlet(strength * base + 1e-3) if column else base
            codes[rows, column] = random.choice(size, int(rows.sum()), p=law)
    texts = {f"c{column}": [f"v{value}" for value in range(size)] for column, size in enumerate(sizes)}
    return pd.DataFrame({name: np.array(values)[codes[:, i]] for i, (name, values) in enumerate(texts.items())}), texts


def open_rows(frame: pd.DataFrame, keys: dict[str, list[str]]) -> Database:
    """Open rows; each row is a unit, and missing values have no code."""
    bounds = {"age": (15, 95)} if "age" in frame else {}
    return tc.open(
        frame,
        unit=tc.ROW,
        keys=keys,
        required=list(frame.columns),
        bounds=bounds,
        budget=tc.ApproxDP(epsilon=1000, delta=1e-3),
    )


def exact(frame: pd.DataFrame, keys: dict[str, list[str]], names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the exact counts of a marginal."""
    codes, sizes = [], []
    for name in names:
        if name == "age":
            codes.append(np.clip((frame["age"].to_numpy() - 15) // 5, 0, 15))
            sizes.append(16)
        else:
            codes.append(pd.Categorical(frame[name], categories=keys[name]).codes)
            sizes.append(len(keys[name]))
    flat = np.ravel_multi_index(tuple(np.asarray(each) for each in codes), tuple(sizes))
    return np.bincount(flat, minlength=prod(sizes)).reshape(sizes).astype(float)


def errors(m: Marginals, frame: pd.DataFrame, keys: dict[str, list[str]]) -> tuple[float, float, float]:
    """Return TV2 of the unbiased counts and of the fit, and the share of cells whose interval covers the truth."""
    fit, raw, ours, covered, cells = m.nonnegative(), [], [], 0, 0
    for names in combinations(frame.columns, 2):
        true, noisy, fitted = exact(frame, keys, names), m[names].counts, fit.counts(names)
        covered += int((np.abs(noisy - true) <= m[names].error).sum())
        cells += true.size
        raw.append(np.abs(noisy / noisy.sum() - true / true.sum()).sum() / 2)
        ours.append(np.abs(fitted / fitted.sum() - true / true.sum()).sum() / 2)
    return float(np.mean(raw)), float(np.mean(ours)), covered / cells


def measured(frame: pd.DataFrame, keys: dict[str, list[str]], epsilon: str) -> list[float]:
    """Release all 1- and 2-way tables; return the errors, and the seconds of the release and of the fit."""
    bins = {"age": AGES} if "age" in frame else None
    with open_rows(frame, keys) as db:
        start = time.process_time()
        m = db.marginals(ways=2, bins=bins, epsilon=epsilon_of(epsilon), delta=DELTA)
        released = time.process_time()
        m.nonnegative()
        fitted = time.process_time()
    return [*errors(m, frame, keys), released - start, fitted - released]


def epsilon_of(text: str) -> float:
    """Return ε as a number."""
    return float(text)


def part() -> Part:
    """Measure the generated tables and Adult."""
    frame, keys = adult()
    rows, verdicts = [], []
    for epsilon in EPSILONS:
        found = np.mean([measured(*generated_rows(100 + seed), epsilon) for seed in SEEDS], axis=0)
        rows.append(["generated trees", epsilon, *shown(found)])
    for epsilon in EPSILONS:
        found = np.mean([measured(train(frame, seed), keys, epsilon) for seed in SEEDS], axis=0)
        rows.append(["Adult", epsilon, *shown(found)])
        if epsilon in TARGETS:
            target = TARGETS[epsilon]
            verdicts.append(
                Verdict(f"TV2 at ε = {epsilon}", f"≤ {target}", f"{found[1]:.4f}", bool(found[1] <= target))
            )
            seconds = found[3] + found[4]
            verdicts.append(Verdict(f"CPU seconds at ε = {epsilon}", "< 1", f"{seconds:.2f}", bool(seconds < 1)))
            covers = f"{100 * found[2]:.1f} %"
            verdicts.append(Verdict(f"coverage at ε = {epsilon}", "94 to 96 %", covers, bool(0.94 <= found[2] <= 0.96)))
    header = ["table", "ε", "TV2 unbiased", "TV2 of the fit", "coverage", "release s", "fit s"]
    cells = prod(len(values) for values in keys.values()) * 16
    text = TEXT.format(cells=cells, train=int(SHARE * len(frame)), rows=len(frame), seeds=len(SEEDS))
    return Part(f"{text}\n\n{table(header, rows)}\n\n{verdict_table(verdicts)}", verdicts)


def train(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return 80 % of the rows."""
    order = np.random.default_rng(seed).permutation(len(frame))
    return frame.iloc[order[: int(SHARE * len(frame))]].reset_index(drop=True)


def shown(found: Sequence[float]) -> Iterator[str]:
    """Return the cells of a row of the table."""
    raw, fit, covered, released, fitted = found
    return iter([f"{raw:.4f}", f"{fit:.4f}", f"{100 * covered:.1f} %", f"{released:.2f}", f"{fitted:.2f}"])


def large(count: int = 10_000_000, columns: int = 20, values: int = 10) -> str:
    """Return one line: the seconds of all pairs of a large table, and of the engine's scan alone."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{i}": random.integers(0, values, count).astype(np.int32) for i in range(columns)})
    keys = {name: list(range(values)) for name in frame.columns}
    with tc.open(frame, unit=tc.ROW, keys=keys, required=list(keys), budget=tc.ApproxDP(epsilon=9, delta=1e-3)) as db:
        engine = db._session.engine("data")  # noqa: SLF001 - the scan alone is not public
        from tacit.synthetic.domain import domain_of  # noqa: PLC0415 - only here

        coded = domain_of(db.tables["data"]).coded
        start, wall = time.process_time(), time.perf_counter()
        engine.read_codes(coded, lambda *_: None)
        scan, scanned = time.process_time() - start, time.perf_counter() - wall
        start, wall = time.process_time(), time.perf_counter()
        db.marginals(ways=2, epsilon=1, delta=1e-9)
        whole, seconds = time.process_time() - start, time.perf_counter() - wall
    return (
        f"{count:,} rows, {columns} columns: {whole:.1f} CPU s ({seconds:.1f} s) for all pairs; the scan alone takes "
        f"{scan:.1f} CPU s ({scanned:.1f} s): ratio {whole / scan:.2f}"
    )


if __name__ == "__main__":
    if "--large" in sys.argv[1:]:
        print(large())
    else:
        report = part().text
        print(report)
        write_section("high_dimensional_marginals", report)
