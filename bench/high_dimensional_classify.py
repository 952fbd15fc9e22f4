"""AUROC and seconds of `db.classify` on Adult, and its time beside the engine's scan on many generated rows.

Adult: 30,162 rows; salary from eight columns, with age in 16 five-year bins; a public domain of 1.44e8 cells. Each of
five splits fits on 80 % and ranks the other 20 %. The constants of the classifier were chosen on generated tables
(`tacit.learn.fitting` says which), and not on Adult.
"""

from __future__ import annotations

import lzma
import sys
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from report import Verdict, machine, table, verdict_table, write_section
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import tacit as tc
from tacit.synthetic.domain import domain_of

ADULT = Path(__file__).resolve().parent.parent / "tests" / "data" / "adult" / "adult.csv.xz"
TARGET, SPLITS, DRAWS, DELTA = "salary-class", 5, 4, 1e-6
TARGETS = {0.1: 0.865, 0.5: 0.874, 1.0: 0.875, 4.0: 0.876}
AGES = [float(edge) for edge in range(15, 100, 5)]
LARGE = (2_000_000, 20)

INTRODUCTION = """\
## Classifiers

`db.classify` on Adult (30,162 rows, eight features, age in {bins} bins): the mean of {splits} splits with
{draws} draws of noise each, fitted on 80 % and tested on the other 20 %; ± is the standard deviation of the mean over
{splits} splits from draw to draw. With δ the noise is Gaussian, at δ = {delta}. Seconds are of the whole call: check,
charge, scan, fit; the slowest fit. scikit-learn's logistic regression on the same codes, without privacy, has an
AUROC of {plain:.4f}."""


def adult() -> pd.DataFrame:
    """Return Adult as a frame."""
    return pd.read_csv(BytesIO(lzma.decompress(ADULT.read_bytes())), sep=";")


def splits(frame: pd.DataFrame) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return the halves of each split: for the fit, and for the test."""
    found = []
    for seed in range(SPLITS):
        order, cut = np.random.default_rng(seed).permutation(len(frame)), len(frame) * 4 // 5
        found.append((frame.iloc[order[:cut]].reset_index(drop=True), frame.iloc[order[cut:]]))
    return found


def fit(
    train: pd.DataFrame, keys: dict[str, list[str]], epsilon: float, delta: float | None
) -> tuple[object, float, float]:
    """Return a classifier, and the wall-clock and processor seconds of its fit."""
    budget = tc.ApproxDP(epsilon=100, delta=1e-3)
    with tc.open(train, unit=tc.ROW, keys=keys, required=list(train.columns), budget=budget) as db:
        start, processor = perf_counter(), process_time()
        model = db.classify(TARGET, bins={"age": AGES}, epsilon=epsilon, delta=delta)
        return model, perf_counter() - start, process_time() - processor


def auroc(model: object, test: pd.DataFrame, classes: list[str]) -> float:
    """Return the area under the curve of the scores of a model on other rows."""
    return float(roc_auc_score(test[TARGET] == classes[1], model.decision_function(test)))  # type: ignore[attr-defined]


def plain(halves: list[tuple[pd.DataFrame, pd.DataFrame]], classes: list[str]) -> float:
    """Return the mean AUROC of logistic regression without privacy on the same codes."""
    scores = []
    for train, test in halves:
        coded = [
            half.assign(age=np.clip((half["age"] - 15) // 5, 0, 15)).drop(columns=TARGET) for half in (train, test)
        ]
        peer = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=2_000))
        peer.fit(coded[0], train[TARGET] == classes[1])
        scores.append(roc_auc_score(test[TARGET] == classes[1], peer.decision_function(coded[1])))
    return float(np.mean(scores))


def measured() -> tuple[list[list[str]], list[Verdict], float]:
    """Return the rows of the table, the verdicts, and the AUROC without privacy."""
    frame = adult()
    classes = sorted(frame[TARGET].unique())
    keys = {name: sorted(frame[name].unique()) for name in frame.columns if name != "age"}
    halves, rows, verdicts = splits(frame), [], []
    fit(halves[0][0], keys, 1.0, DELTA)  # warm imports
    for delta in (DELTA, None):
        for epsilon, target in TARGETS.items():
            pairs = [(fit(train, keys, epsilon, delta), test) for train, test in halves for _ in range(DRAWS)]
            runs, scores = [run for run, _ in pairs], [auroc(run[0], test, classes) for run, test in pairs]
            mean, wall, cpu = float(np.mean(scores)), max(run[1] for run in runs), max(run[2] for run in runs)
            methods = ", ".join(sorted({run[0].method for run in runs}))  # type: ignore[attr-defined]
            cost = f"ε = {epsilon:g}" + (f", δ = {delta:g}" if delta else "")
            rows.append(
                [
                    cost,
                    f"{mean:.4f}",
                    f"{np.std(np.reshape(scores, (SPLITS, DRAWS)).mean(axis=0)):.4f}",
                    methods,
                    f"{wall:.2f}",
                    f"{cpu:.2f}",
                ]
            )
            if delta:
                verdicts.append(Verdict(f"AUROC, {cost}", f"≥ {target}", f"{mean:.4f}", round(mean, 4) >= target))
                verdicts.append(Verdict(f"processor seconds, {cost}", "< 1", f"{cpu:.2f}", cpu < 1))
    return rows, verdicts, plain(halves, classes)


def large(size: int, columns: int) -> str:
    """Return how the time of a fit splits into scan and fit, on generated rows of a Parquet file."""
    random, path = np.random.default_rng(0), Path(__file__).parent / ".data" / f"classify-{size}-{columns}.parquet"
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        hidden = random.normal(size=size)
        data = {
            f"c{place}": np.clip(hidden + random.normal(size=size) * 2 + 4, 0, 8).astype(int)
            for place in range(columns)
        }
        pd.DataFrame({**data, "y": hidden + random.normal(size=size) > 0}).to_parquet(path)
    keys = {f"c{place}": list(range(9)) for place in range(columns)}
    with tc.open(str(path), unit=tc.ROW, keys=keys, budget=tc.ApproxDP(epsilon=100, delta=1e-3)) as db:
        session = db._session  # noqa: SLF001 - the scan alone has no public name
        (name,) = session.tables
        domain = domain_of(session.tables[name])
        start = perf_counter()
        session.engine(name).read_codes(domain.coded, lambda *_: None)
        scan = perf_counter() - start
        seconds = {}
        for method in ("naive Bayes", "logistic regression"):
            start = perf_counter()
            db.classify("y", epsilon=1, delta=DELTA, method=method)
            seconds[method] = perf_counter() - start
    parts = "; ".join(f"{method} {each:.1f} s" for method, each in seconds.items())
    rows = f"{size:,} generated rows of a Parquet file, {columns} features"
    return f"{rows}: {parts}; the scan of the codes alone {scan:.1f} s."


def main() -> None:
    """Measure, print and write the section."""
    rows, verdicts, without = measured()
    size = int(sys.argv[1]) if len(sys.argv) > 1 else LARGE[0]
    versions = {name: version(name) for name in ("duckdb", "numpy", "scikit-learn", "tacit")}
    text = "\n\n".join(
        [
            INTRODUCTION.format(bins=len(AGES) - 1, splits=SPLITS, draws=DRAWS, delta=DELTA, plain=without),
            machine(versions),
            table(["cost", "AUROC", "± by noise", "method", "seconds", "processor"], rows),
            large(size, LARGE[1]),
            verdict_table(verdicts),
        ]
    )
    print(text)
    write_section("high_dimensional_classify", text)


if __name__ == "__main__":
    main()
