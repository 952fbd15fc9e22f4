"""Synthetic rows of Adult, and the time of a release of ten million rows; writes the section of RESULTS.md.

    python bench/high_dimensional_rows.py [fast] [quality] [large]

Adult: all nine columns, 80/20 split by a seed, δ = 1e-9, a public domain of 1.44e8 cells (age in 16 bins of five
years), means of three seeds. TV_k is the mean over all k-way marginals of ½Σ|p - p̂| against the training rows. AUROC is
that of HistGradientBoostingClassifier of scikit-learn, trained on the synthetic rows and tested on the real test rows;
the target is the salary class. Every release runs in a fresh process, through a database, with one thread; its CPU time
is that of `db.synthesize` without opening the database. The constants of the fast mode were chosen on generated
tables alone. Those of the quality mode too, but Adult was looked up about four times meanwhile, and one design change
followed such a look (see `tacit.synthetic.quality`).

Large: ten million rows of 20 columns with 2 to 16 values in a Parquet file. The ratio compares the release with one
statement of DuckDB that scans the same columns and groups by one of them at a time.
"""

from __future__ import annotations

import csv
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
from io import TextIOWrapper
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from report import Verdict, machine, table, verdict_table, write_section

from tacit.version import VERSION

Codes = npt.NDArray[np.int64]
ADULT = Path(__file__).parent.parent / "tests" / "data" / "adult" / "adult.csv.xz"
DATA = Path(__file__).parent / ".data"
TARGET, SEEDS, EPSILONS = "salary-class", (0, 1, 2), (0.1, 1, 10)
EDGES = [15 + 5 * place for place in range(17)]
WANTED: dict[str, dict[str, tuple[float, float, float]]] = {
    "fast": {
        "TV2": (0.095, 0.033, 0.024),
        "TV3": (0.165, 0.075, 0.062),
        "AUROC": (0.78, 0.86, 0.88),
        "CPU s": (1, 1, 1),
    },
    "quality": {
        "TV2": (0.083, 0.028, 0.0108),
        "TV3": (0.148, 0.064, 0.031),
        "AUROC": (0.85, 0.87, 0.888),
        "CPU s": (29, 83, 195),
    },
}
LARGE_ROWS, LARGE_COLUMNS, MOST_MEGABYTES = 10_000_000, 20, 300


def adult() -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns and the rows."""
    with lzma.open(ADULT) as packed:
        rows = list(csv.reader(TextIOWrapper(packed), delimiter=";"))
    return rows[0], rows[1:]


def split(rows: list[list[str]], seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Return 80 % of the rows for training and the others for tests."""
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = int(0.8 * len(rows))
    return [rows[place] for place in order[:cut]], [rows[place] for place in order[cut:]]


def release(mode: str, epsilon: float, seed: int) -> dict[str, Any]:
    """Make synthetic rows in this process; return them with the CPU time and the memory."""
    import pyarrow as pa  # noqa: PLC0415 - not in the process that measures

    import tacit as tc  # noqa: PLC0415 - not in the process that measures

    names, rows = adult()
    training = split(rows, seed)[0]
    columns = {name: [row[place] for row in training] for place, name in enumerate(names)}
    keys = {name: sorted({row[place] for row in rows}) for place, name in enumerate(names) if name != "age"}
    ages = pa.array(list(map(int, columns.pop("age"))))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    db = tc.open(
        pa.table({"age": ages, **columns}),
        unit=tc.ROW,
        keys=keys,
        bounds={"age": (15, 95)},
        required=names,
        budget=tc.ApproxDP(epsilon=100, delta=1e-6),
        threads=1,
    )
    start = time.process_time()
    made = db.synthesize(mode=mode, target=TARGET, columns=names, bins={"age": EDGES}, epsilon=epsilon, delta=1e-9)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "peak": peak / 1e3, "before": before / 1e3, "rows": made.rows()}


def coded(names: list[str], rows: list[Any], keys: dict[str, dict[str, int]]) -> Codes:
    """Return rows as codes; ages by their bins."""
    parts = [
        [min(max((int(row[place]) - 15) // 5, 0), 15) if name == "age" else keys[name][row[place]] for row in rows]
        for place, name in enumerate(names)
    ]
    return np.array(parts, dtype=np.int64).T


def distance(true: Codes, made: Codes, sizes: list[int], ways: int) -> float:
    """Return the mean total variation distance of all marginals of so many columns."""
    found = []
    for columns in combinations(range(len(sizes)), ways):
        shape = [sizes[column] for column in columns]
        shares = [
            np.bincount(np.ravel_multi_index([rows[:, c] for c in columns], shape), minlength=int(np.prod(shape)))
            / len(rows)
            for rows in (true, made)
        ]
        found.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(found))


def auroc(made: Codes, test: Codes, target: int) -> float:
    """Return the area under the curve on real rows of a classifier that was trained on made rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - heavy
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415 - heavy

    others = [column for column in range(made.shape[1]) if column != target]
    features = list(range(len(others)))
    model = HistGradientBoostingClassifier(categorical_features=features, random_state=0)
    model.fit(made[:, others], made[:, target])
    return float(roc_auc_score(test[:, target], model.predict_proba(test[:, others])[:, 1]))


def in_process(*arguments: str) -> dict[str, Any]:
    """Run this script in a fresh process and return the JSON that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run([sys.executable, __file__, "--out", str(out), *arguments], check=True, env=environment)
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def measured(mode: str) -> list[dict[str, float]]:
    """Return the mean figures of each ε."""
    names, rows = adult()
    keys = {
        name: {value: place for place, value in enumerate(sorted({row[column] for row in rows}))}
        for column, name in enumerate(names)
    }
    sizes, target = [16 if name == "age" else len(keys[name]) for name in names], names.index(TARGET)
    figures = []
    for epsilon in EPSILONS:
        found = []
        for seed in SEEDS:
            done = in_process("release", mode, str(epsilon), str(seed))
            training, test = (coded(names, part, keys) for part in split(rows, seed))
            made = coded(names, done["rows"], keys)
            tv = {f"TV{ways}": distance(training, made, sizes, ways) for ways in (2, 3)}
            cost = {"CPU s": done["seconds"], "MB": done["peak"], "MB before": done["before"]}
            found.append({**tv, "AUROC": auroc(made, test, target), **cost})
        figures.append({name: float(np.mean([each[name] for each in found])) for name in found[0]})
        print(mode, epsilon, figures[-1], flush=True)
    return figures


def large_file() -> Path:
    """Return the file of ten million rows, which is made once."""
    import duckdb  # noqa: PLC0415 - heavy

    file = DATA / "ten_million_rows.parquet"
    if not file.exists():
        DATA.mkdir(exist_ok=True)
        sizes = [2 + (place * 7) % 15 for place in range(LARGE_COLUMNS)]
        cells = ", ".join(f"(hash(i * {place + 3} + (i % {3 + place})) % {size})::INTEGER AS c{place}"
                          for place, size in enumerate(sizes))  # fmt: skip
        duckdb.sql(f"COPY (SELECT {cells} FROM range({LARGE_ROWS}) t(i)) TO '{file}' (FORMAT parquet)")  # noqa: S608
    return file


def large() -> dict[str, float]:
    """Return the times of a release of ten million rows, and of one scan that groups by each column in turn."""
    import duckdb  # noqa: PLC0415 - heavy

    import tacit as tc  # noqa: PLC0415 - not in the process that measures

    file = large_file()
    names = [f"c{place}" for place in range(LARGE_COLUMNS)]
    keys = {name: list(range(2 + (place * 7) % 15)) for place, name in enumerate(names)}
    sets = ", ".join(f"({name})" for name in names)
    connection = duckdb.connect()
    connection.sql("SET threads = 2")
    best: dict[str, float] = {}
    for _ in range(2):
        start = [time.perf_counter(), time.process_time()]
        connection.sql(f"SELECT {', '.join(names)}, count(*) FROM '{file}' GROUP BY GROUPING SETS ({sets})").fetchall()  # noqa: S608
        scan = {"scan s": time.perf_counter() - start[0], "scan CPU s": time.process_time() - start[1]}
        db = tc.open(str(file), unit=tc.ROW, keys=keys, required=names, budget=tc.ApproxDP(epsilon=9, delta=1e-6), threads=2)  # fmt: skip  # noqa: E501
        start = [time.perf_counter(), time.process_time()]
        db.synthesize(100_000, epsilon=1, delta=1e-9)
        done = {"release s": time.perf_counter() - start[0], "release CPU s": time.process_time() - start[1]}
        best = {name: min(value, best.get(name, value)) for name, value in {**scan, **done}.items()}
    return best


def verdicts(mode: str, figures: list[dict[str, float]]) -> list[Verdict]:
    """Return the targets of a mode and whether they are met."""
    found = []
    for name, goals in WANTED[mode].items():
        for epsilon, goal, each in zip(EPSILONS, goals, figures, strict=True):
            met = each[name] >= goal if name == "AUROC" else each[name] <= goal
            sign = "≥" if name == "AUROC" else "≤"
            found.append(Verdict(f"{mode}, ε {epsilon}: {name}", f"{sign} {goal}", f"{each[name]:.4g}", met))
    if mode == "fast":
        most = max(each["MB"] for each in figures)
        found.append(Verdict("fast: peak memory of the process, MB", f"≤ {MOST_MEGABYTES}", f"{most:.0f}", most <= MOST_MEGABYTES))  # fmt: skip  # noqa: E501
    return found


def section(modes: list[str], *, with_large: bool) -> str:
    """Measure, and return the text of the section."""
    results = {mode: measured(mode) for mode in modes}
    every = [verdict for mode, figures in results.items() for verdict in verdicts(mode, figures)]
    header = ["mode and ε", "TV2", "TV3", "AUROC", "CPU s", "MB"]
    rows = [
        [
            f"{mode}, {epsilon}",
            *(f"{each[name]:.4f}" for name in header[1:4]),
            f"{each['CPU s']:.2f}",
            f"{each['MB']:.0f}",
        ]
        for mode, figures in results.items()
        for epsilon, each in zip(EPSILONS, figures, strict=True)
    ]
    text = [
        "## Synthetic rows",
        " ".join((__doc__ or "").split("\n\n")[2].split()),
        machine({"tacit": VERSION, "numpy": np.__version__}),
        verdict_table(every),
        table(header, rows),
    ]
    if with_large:
        found = in_process("large")
        wall, cpu = (found[f"release {unit}"] / found[f"scan {unit}"] for unit in ("s", "CPU s"))
        text.append("### Ten million rows of 20 columns\n")
        text.append(table(["", "wall s", "CPU s"], [
            ["one scan, GROUP BY each column in turn", f"{found['scan s']:.2f}", f"{found['scan CPU s']:.2f}"],
            ["fast synthetic rows", f"{found['release s']:.2f}", f"{found['release CPU s']:.2f}"],
        ]))  # fmt: skip
        text.append(f"The release takes {cpu:.1f} times the CPU time of the scan and {wall:.1f} times its wall time.")
    return "\n\n".join(text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--out"]:
        path, task, *rest = sys.argv[2:]
        result = large() if task == "large" else release(rest[0], float(rest[1]), int(rest[2]))
        Path(path).write_text(json.dumps(result))
    else:
        given = sys.argv[1:] or ["fast", "quality", "large"]
        page = section([mode for mode in WANTED if mode in given], with_large="large" in given)
        write_section("synthetic rows", page)
        print(page)
