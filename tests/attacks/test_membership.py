"""Membership inference: who is in the data, by counts, means, found groups, marginals, synthetic rows and classifiers.

Each of 576 canaries is in the data if a fair coin says so. The release is made once, and the attacker ranks the
canaries by a score. `tc.audit_one_run` turns the right guesses into a lower bound on ε with confidence 1 - 1e-12, so a
false alarm of one test has probability at most 1e-12. The bound may not exceed the ε of the charge; exact counts,
copied rows, groups that show by being there and a model that has learned rows by heart exceed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from known_bad import copied_rows, exact_counts, fitted_table, noisy_existing_groups
from tacit.auditing.one_run import OneRunReport
from tacit.database import Database

WORDS = [f"v{number:02d}" for number in range(24)]
CANARIES = [(a, b, "yes" if (i + j) % 3 else "no") for i, a in enumerate(WORDS) for j, b in enumerate(WORDS)]
EPSILON, DELTA = 1.0, 1e-17
Row = tuple[str, str, str]
Rows = Sequence[Row]


def opened(rows: Rows) -> Database:
    frame = pd.DataFrame([*rows], columns=["a", "b", "label"]).assign(x=1, cell=[a + b for a, b, _ in rows])
    return tc.open(
        frame.astype({"cell": "string"}),
        name="t",
        unit=tc.ROW,
        bounds={"x": (-1, 1)},
        keys={"a": WORDS, "b": WORDS, "label": ["no", "yes"]},
        budget=tc.ApproxDP(epsilon=EPSILON, delta=DELTA),
    )


def shown(rows: Rows, release: Callable[[Database], Any]) -> Any:  # noqa: ANN401 - what an attacker sees
    """Make a release at the whole budget."""
    with opened(rows) as db:
        output = release(db)
        assert float(db.ledger.spent.loss) == EPSILON
    return output


def by_cell(table: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the first number of each cell."""
    return {(row[0], row[1]): row[2] for row in table.itertuples(index=False)}


def counts(rows: Rows) -> Mapping[Any, float]:
    sql = "SELECT a, b, count(*) AS n FROM t GROUP BY a, b"
    return shown(rows, lambda db: by_cell(db.sql(sql, epsilon=EPSILON).to_pandas()))  # type: ignore[no-any-return]


def sums(rows: Rows) -> Mapping[Any, float]:
    sql = "SELECT a, b, sum(x) AS s FROM t GROUP BY a, b"
    return shown(rows, lambda db: by_cell(db.sql(sql, epsilon=EPSILON).to_pandas()))  # type: ignore[no-any-return]


def means(rows: Rows) -> Mapping[Any, float]:
    sql = "SELECT a, b, avg(x) AS m FROM t GROUP BY a, b"
    return shown(rows, lambda db: by_cell(db.sql(sql, epsilon=EPSILON).to_pandas().fillna(0)))  # type: ignore[no-any-return]


def found_groups(rows: Rows) -> Mapping[Any, float]:
    sql = "SELECT cell, count(*) AS n FROM t GROUP BY cell"
    table = shown(rows, lambda db: db.sql(sql, epsilon=EPSILON, delta=DELTA).rows())
    return {(cell[:3], cell[3:]): n for cell, n in table}


def marginals(rows: Rows) -> Mapping[Any, float]:
    return shown(rows, lambda db: by_cell(db.marginals([("a", "b")], epsilon=EPSILON)["a", "b"].to_pandas()))  # type: ignore[no-any-return]


def synthetic(mode: str) -> Callable[[Rows], Mapping[Any, float]]:
    def drawn(db: Database) -> Mapping[Any, float]:
        rows = db.synthesize(3000, columns=["a", "b"], mode=mode, epsilon=EPSILON, delta=DELTA)
        return Counter(zip(rows["a"], rows["b"], strict=True))

    return lambda rows: shown(rows, drawn)


def classifier(rows: Rows) -> Mapping[Any, float]:
    """Return the likelihood that the model gives to the label of each canary."""

    def likelihoods(db: Database) -> Mapping[Any, float]:
        model = db.classify("label", ["a", "b"], epsilon=EPSILON, delta=DELTA)
        chances = model.predict_proba(pd.DataFrame(CANARIES, columns=["a", "b", "label"])[["a", "b"]])
        place = {name: index for index, name in enumerate(model.classes_)}
        return {row[:2]: float(each[place[row[2]]]) for row, each in zip(CANARIES, chances, strict=True)}

    return shown(rows, likelihoods)  # type: ignore[no-any-return]


def model_by_heart(rows: Rows) -> Mapping[Any, float]:
    model = fitted_table(rows)
    return {row[:2]: model(row) for row in CANARIES}


@dataclass(frozen=True)
class Case:
    """A release of tacit, and one that falls to the same attack."""

    release: Callable[[Rows], Mapping[Any, float]]
    known_bad: Callable[[Rows], Mapping[Any, float]]


def _pairs(rows: Rows) -> list[Any]:
    return [row[:2] for row in rows]


CASES = {
    "counts": Case(counts, lambda rows: exact_counts(_pairs(rows))),
    "sums": Case(sums, lambda rows: exact_counts(_pairs(rows))),
    "means": Case(means, lambda rows: exact_counts(_pairs(rows))),
    "found groups": Case(found_groups, lambda rows: dict.fromkeys(noisy_existing_groups(_pairs(rows), EPSILON), 1.0)),
    "marginals": Case(marginals, lambda rows: exact_counts(_pairs(rows))),
    "fast synthetic rows": Case(synthetic("fast"), lambda rows: Counter(copied_rows(_pairs(rows), 3000))),
    "good synthetic rows": Case(synthetic("quality"), lambda rows: Counter(copied_rows(_pairs(rows), 3000))),
    "a classifier": Case(classifier, model_by_heart),
}
LONG = {"good synthetic rows"}


def attacked(release: Callable[[Rows], Mapping[Any, float]]) -> OneRunReport:
    """Return what the attack proves."""

    def score(output: Any, canary: Any) -> float:  # noqa: ANN401
        return float(output.get(canary[:2], 0.0))

    mechanism: Any = release
    order = np.random.default_rng().permutation(len(CANARIES))
    canaries = [CANARIES[index] for index in order]
    return tc.audit_one_run(mechanism, canaries, score=score, epsilon=EPSILON, delta=DELTA, confidence=1 - 1e-12)


@pytest.mark.filterwarnings("ignore:No dependence between columns:UserWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in CASES]
)
def test_the_attacker_learns_no_more_than_was_charged(name: str) -> None:
    assert attacked(CASES[name].release).verdict == "no violation found"
    assert attacked(CASES[name].known_bad).violates


def test_the_attack_finds_a_quarter_of_the_noise() -> None:
    """The attack is not blind: it finds noisy counts that have four times the ε."""

    def at_four(rows: Rows) -> Mapping[Any, float]:
        noise = tc.Laplace(sensitivity=1, epsilon=4)
        exact = exact_counts(_pairs(rows))
        drawn = np.asarray(noise.release([exact[row[:2]] for row in CANARIES]))
        return {row[:2]: float(n) for row, n in zip(CANARIES, drawn, strict=True)}

    assert attacked(at_four).violates
