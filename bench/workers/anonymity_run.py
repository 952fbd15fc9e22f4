"""Run one contestant on the Adult table, and print its results and times as JSON.

Usage: anonymity_run.py CONTESTANT FOLDER. Times are processor seconds of one thread. tacit first runs once without the
clock, to compile its kernels. The clock does not include reading files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

NAMES = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
]
EIGHT = [name for name in NAMES if name != "occupation"]
K, LIMIT = 5, 0.04


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function and its seconds of processor time."""
    begin = process_time()
    result = run()
    return result, process_time() - begin


def tacit(rows: pd.DataFrame, folder: str) -> dict[str, float]:
    """Run the search, the partitions and the check of tacit."""
    import tacit as tc  # noqa: PLC0415 - installed in its environment only
    from tacit.anonymity.candidates import solution_loss  # noqa: PLC0415
    from tacit.anonymity.optimal import search  # noqa: PLC0415
    from tacit.anonymity.partitions import local, mondrian  # noqa: PLC0415
    from tacit.anonymity.problem import state_problem  # noqa: PLC0415
    from tacit.anonymity.roles import Roles  # noqa: PLC0415
    from tacit.anonymity.tables import read  # noqa: PLC0415

    trees = {name: tc.anonymity.hierarchy(f"{folder}/adult_hierarchy_{name}.csv") for name in NAMES}
    table = read(rows)

    def problem_of(names: list[str], *require: Any, mean: str = "geometric") -> Any:  # noqa: ANN401
        sensitive = () if "occupation" in names else ("occupation",)
        quasi = {name: trees[name] for name in names}
        return state_problem(table, Roles(tuple(names), sensitive, None, ()), quasi, require, "loss", mean)

    nine, flat = problem_of(NAMES, tc.KAnonymity(K)), problem_of(NAMES, tc.KAnonymity(K), mean="arithmetic")
    search(nine, 0), mondrian(nine, strict=True), local(flat)
    answers: dict[str, float] = {}
    for share in (0.0, LIMIT, 1.0):
        result, answers[f"seconds at {share:.0%}"] = timed(lambda share=share: search(nine, int(share * len(rows))))  # type: ignore[misc]
        answers[f"loss at {share:.0%}"], answers[f"suppressed rows at {share:.0%}"] = (
            result.certificate.loss,
            result.suppressed,
        )
    for name, model in (("distinct 3", tc.LDiversity(3)), ("t = 0.2", tc.TCloseness(0.2))):
        result, answers[f"seconds with {name}"] = timed(
            lambda model=model: search(problem_of(EIGHT, tc.KAnonymity(K), model), int(LIMIT * len(rows)))  # type: ignore[misc]
        )
        answers[f"loss with {name}"] = result.certificate.loss
    (split, _), answers["seconds of local"] = timed(lambda: local(flat))
    answers["loss of local"] = solution_loss(flat, split)
    (split, _), answers["seconds of mondrian"] = timed(lambda: mondrian(flat, strict=True))
    answers["loss of mondrian"] = solution_loss(flat, split)
    answers |= hundredfold(nine)
    ask = {"quasi": EIGHT, "sensitive": "occupation"}
    report, answers["seconds of check"] = timed(lambda: tc.anonymity.check(rows, **ask))  # type: ignore[arg-type]
    return answers | {"k": report.k, "t": report.t or 0.0, "entropy l": report.entropy_l or 0.0}


def hundredfold(problem: Any) -> dict[str, float]:  # noqa: ANN401 - installed in its environment only
    """Search and partition 100 times as many rows: a resample with a tenth of the cells drawn from their column."""
    from tacit.anonymity.optimal import search  # noqa: PLC0415
    from tacit.anonymity.partitions import mondrian  # noqa: PLC0415

    draw, rows = np.random.default_rng(1), 100 * problem.rows
    indices, columns, key = draw.integers(0, problem.rows, rows), [], np.zeros(rows, dtype=np.int64)
    for codes, tree in zip(problem.codes, problem.trees, strict=True):
        replaced = draw.random(rows) < 0.1
        column = codes[indices]
        column[replaced] = codes[draw.integers(0, problem.rows, int(replaced.sum()))]
        columns.append(column)
        key = key * len(tree.rows) + column
    large = replace(problem, codes=tuple(columns), rows=rows)
    _, search_seconds = timed(lambda: search(large, int(LIMIT * rows)))
    _, sort = timed(lambda: np.sort(key))
    _, split = timed(lambda: mondrian(large, strict=True))
    return {
        "seconds at 4%, hundredfold": search_seconds,
        "seconds of mondrian, hundredfold": split,
        "seconds of one sort": sort,
    }


def pycanon(rows: pd.DataFrame, folder: str) -> dict[str, float]:
    """Compute k, l and t."""
    del folder
    from pycanon import anonymity  # type: ignore[import-not-found]  # noqa: PLC0415 - installed in its environment only

    def run() -> tuple[float, float, float]:
        entropy = anonymity.entropy_l_diversity(rows, EIGHT, ["occupation"])
        return anonymity.k_anonymity(rows, EIGHT), anonymity.t_closeness(rows, EIGHT, ["occupation"]), entropy

    (k, t, entropy), seconds = timed(run)
    return {"k": k, "t": t, "entropy l": entropy, "seconds of check": seconds}


def anjana(rows: pd.DataFrame, folder: str) -> dict[str, float]:
    """Recode for k-anonymity with the same limit."""
    from anjana.anonymity import k_anonymity  # type: ignore[import-not-found]  # noqa: PLC0415 - installed in its environment only

    trees = {name: dict(pd.read_csv(f"{folder}/adult_hierarchy_{name}.csv", sep=";", header=None)) for name in NAMES}
    out, seconds = timed(lambda: k_anonymity(rows, [], NAMES, K, 100 * LIMIT, trees))
    suppressed, total = len(rows) - len(out), 1.0
    for name, tree in trees.items():
        m = len(tree[0])
        leaves = {label: sum(label in set(row) for row in zip(*tree.values(), strict=True)) for label in set(out[name])}
        total *= 1 + (sum((leaves[label] - 1) / (m - 1) for label in out[name]) + suppressed) / len(rows)
    return {
        "seconds at 4%": seconds,
        "suppressed rows at 4%": float(suppressed),
        "loss at 4%": total ** (1 / len(NAMES)) - 1,
    }


def anonypy(rows: pd.DataFrame, folder: str) -> dict[str, float]:
    """Partition at medians."""
    del folder
    import anonypy as library  # type: ignore[import-not-found]  # noqa: PLC0415 - installed in its environment only

    frame = rows[[*EIGHT, "occupation"]].copy()
    for name in frame.columns:
        if name != "age":
            frame[name] = frame[name].astype("category")
    keeper = library.Preserver(frame, EIGHT, "occupation")
    _, seconds = timed(lambda: keeper.anonymize_k_anonymity(k=K))
    return {"seconds of mondrian": seconds}


if __name__ == "__main__":
    name, folder = sys.argv[1:]
    people = pd.read_csv(f"{folder}/adult.csv.xz", sep=";")
    contestants = {"tacit": tacit, "pycanon": pycanon, "anjana": anjana, "anonypy": anonypy}
    print(json.dumps({key: float(value) for key, value in contestants[name](people, folder).items()}))
