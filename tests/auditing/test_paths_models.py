"""Audits of releases of many columns in one run each: marginals, synthetic rows, classifiers, itemsets.

Every canary is a unit with more rows than count, and no other canary has its value in one column. A fair coin says
whether it is in the table. Under "change one" the coin says which of two values the unit has. The theorem of
`auditing.one_run` needs only that neighbours differ in one coin, so it holds for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from auditing.audits import ERROR, Path, Record, Sides, check
from tacit.auditing.one_run import OneRunReport
from tacit.database import Database
from tacit.guarantees.events import Neighbours

ROWS = 6
Scores = Callable[[Any], Sequence[float]]
"""Return a score of each value of the column `a`."""


def table(values: Sequence[int], units: Sequence[int]) -> Mapping[str, Sequence[float]]:
    """Return a table in which each unit has six rows; `b` is 1 throughout, and `n` at its upper bound."""
    rows = [(unit, value) for unit, value in zip(units, values, strict=True) for _ in range(ROWS)]
    return {"u": [u for u, _ in rows], "a": [a for _, a in rows], "b": [1] * len(rows), "n": [9.0] * len(rows)}


def opened(rows: Mapping[str, object], values: int, neighbours: Neighbours, **policy: Any) -> Database:  # noqa: ANN401 - of tc.open
    return tc.open(
        rows,
        **{
            "name": "t",
            "unit": "u",
            "reach": 2,
            "keys": {"a": list(range(values)), "b": [0, 1]},
            "bounds": {"n": (-3, 9)},
            "neighbours": neighbours,
            "budget": tc.ApproxDP(epsilon=1000, delta=0.5),
            **policy,
        },
    )


@dataclass(frozen=True)
class Model:
    """A release of a table, and what it says about each value of `a`."""

    release: Callable[[Database], Any]
    scores: Scores
    epsilon: float = 2.0
    delta: float = 0.0
    canaries: int = 1_000
    policy: tuple[tuple[str, object], ...] = ()


def counts(*names: str) -> Scores:
    def of(answer: Any) -> Sequence[float]:  # noqa: ANN401 - marginals
        rows = answer[names].rows()
        sums: dict[int, float] = {}
        for *keys, count, _, _ in rows:
            if str(keys[0]).isdigit():
                sums[int(keys[0])] = sums.get(int(keys[0]), 0.0) + (count if len(keys) == 1 or keys[1] == "1" else 0.0)
        return [sums[value] for value in sorted(sums)]

    return of


def frequencies(answer: Any, most: int) -> Sequence[float]:  # noqa: ANN401 - synthetic rows
    values = [value for value in answer["a"] if value is not None]
    return list(np.bincount(np.array(values, dtype=np.int64), minlength=most))


def supports(answer: Any, most: int) -> Sequence[float]:  # noqa: ANN401 - itemsets
    found = {items[0]: support for items, support, *_ in answer.rows() if len(items) == 1}
    return [found.get(value, -np.inf) for value in range(most)]


def odds(answer: Any, most: int) -> Sequence[float]:  # noqa: ANN401 - a classifier
    return list(answer.predict_proba(pd.DataFrame({"a": list(range(most))}))[:, 1])


def weights(answer: Any, most: int) -> Sequence[float]:  # noqa: ANN401 - a classifier
    return list(answer.predict_proba(pd.DataFrame({"a": [0] * most, "n": [9.0] * most}))[:, 1])


NO_DELTA = 1e-17
"""A δ that is below the error of an audit, which is paid for all canaries together."""

RHO = 0.05
EPSILON_OF_RHO = tc.compose([tc.ZCDP(rho=RHO)]).epsilon(delta=NO_DELTA).upper

MODELS = {
    "marginals": Model(lambda db: db.marginals(["a"], epsilon=2), counts("a"), canaries=4_000),
    "marginals of pairs": Model(
        lambda db: db.marginals(["a", ("a", "b")], epsilon=2), counts("a", "b"), canaries=4_000
    ),
    "marginals in rho": Model(
        lambda db: db.marginals(["a", ("a", "b")], rho=RHO),
        counts("a", "b"),
        epsilon=EPSILON_OF_RHO,
        delta=NO_DELTA,
        policy=(("budget", tc.ZCDP(rho=100)),),
    ),
    "crosstab": Model(lambda db: db.crosstab("a", epsilon=2), lambda answer: [row[-1] for row in answer.rows()]),
    "synthetic rows": Model(
        lambda db: db.synthesize(20_000, columns=["a"], epsilon=2), partial(frequencies, most=2_000)
    ),
    "synthetic rows of pairs": Model(
        lambda db: db.synthesize(20_000, columns=["a", "b"], epsilon=2), partial(frequencies, most=2_000)
    ),
    "naive Bayes": Model(lambda db: db.classify("b", ["a"], epsilon=2), partial(odds, most=2_000)),
    "itemsets": Model(
        lambda db: db.itemsets(item="a", k=200, most=1, epsilon=2), partial(supports, most=200), canaries=100
    ),
}


def canaries(model: Model, neighbours: Neighbours, seed: int | None = None) -> OneRunReport:
    """Audit one release. Canary i has the value 2i; under "change one" a canary that is not in has 2i + 1."""
    size = 2 * model.canaries

    def run(included: Sequence[object]) -> Sequence[float]:
        chosen = {int(str(canary)) for canary in included}
        units = range(model.canaries)
        values = [2 * unit + (unit not in chosen) for unit in units]
        kept = [unit for unit in units if neighbours == "change one" or unit in chosen]
        rows = table([values[unit] for unit in kept], kept)
        with opened(rows, size, neighbours, **dict(model.policy)) as database:
            return model.scores(model.release(database))

    def score(scores: object, canary: object) -> float:
        found, place = scores, 2 * int(str(canary))
        assert isinstance(found, Sequence | np.ndarray)
        assert len(found) == size
        return float(found[place]) - (float(found[place + 1]) if neighbours == "change one" else 0.0)

    return tc.audit_one_run(
        run,
        range(model.canaries),
        score=score,
        epsilon=model.epsilon,
        delta=model.delta,
        confidence=1 - ERROR,
        seed=seed,
    )


RELATIONS: tuple[Neighbours, ...] = ("add/remove", "change one")
INDEPENDENT = "ignore:No dependence between columns exceeds the noise"


@pytest.mark.filterwarnings(INDEPENDENT)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_no_release_of_many_columns_exceeds_its_claim(
    name: str, neighbours: Neighbours, record_property: Record
) -> None:
    model = MODELS[name]
    report = canaries(model, neighbours)
    row = {"claim": float(model.epsilon), "delta": float(model.delta), "bound": float(report.epsilon_lower)}
    record_property("audit", {"path": f"{name}, {neighbours}", "pairs": 1, **row, "runs": report.canaries})
    assert report.epsilon_lower <= model.epsilon, report


def test_a_third_of_the_noise_of_marginals_would_be_seen() -> None:
    wasteful = Model(lambda db: db.marginals(["a"], epsilon=6), counts("a"), epsilon=2)
    assert canaries(wasteful, "add/remove", seed=1).epsilon_lower > 2


LOW: dict[str, object] = {"a": 0, "b": 0, "n": -3.0}
HIGH: dict[str, object] = {"a": 1, "b": 1, "n": 9.0}
OTHERS: list[dict[str, object]] = [{"u": unit, **(HIGH if unit % 2 else LOW)} for unit in range(2, 6)]


def frame(kind: Mapping[str, object] | None) -> Mapping[str, list[object]]:
    """Return a table with four units, and a fifth one with six rows of a kind."""
    rows: list[dict[str, object]] = [*OTHERS, *([] if kind is None else ROWS * [{"u": 1, **kind}])]
    return {name: [row[name] for row in rows] for name in ("u", "a", "b", "n")}


def model_of(answer: Any) -> tuple[float, ...]:  # noqa: ANN401 - a classifier
    return (*np.ravel(answer.weights).tolist(), *np.ravel(answer.intercepts).tolist())


def tables_of(answer: Any) -> tuple[float, ...]:  # noqa: ANN401 - marginals
    return tuple(count for *_, count, _, _ in answer["a", "b"].rows())


def shares_of(answer: Any) -> tuple[float, ...]:  # noqa: ANN401 - synthetic rows
    return tuple(float(answer["a"].count(value)) for value in (0, 1)) + tuple(
        float(answer["b"].count(value)) for value in (0, 1)
    )


DELTA, BUDGET = 0.05, (("budget", tc.ZCDP(rho=10**6)),)
EPSILON_HERE = tc.compose([tc.ZCDP(rho=0.5)]).epsilon(delta=DELTA).upper

REPEATED = {
    "marginals": (Model(lambda db: db.marginals(["a", ("a", "b")], epsilon=2), tables_of), 1_500),
    "marginals in rho": (
        Model(
            lambda db: db.marginals(["a", ("a", "b")], rho=0.5),
            tables_of,
            epsilon=EPSILON_HERE,
            delta=DELTA,
            policy=BUDGET,
        ),
        1_500,
    ),
    "naive Bayes": (Model(lambda db: db.classify("b", ["a"], epsilon=2), model_of), 1_500),
    "a classifier in rho": (
        Model(
            lambda db: db.classify("b", ["a", "n"], bins={"n": [-3, 3, 9]}, rho=0.5),
            model_of,
            epsilon=EPSILON_HERE,
            delta=DELTA,
            policy=BUDGET,
        ),
        1_500,
    ),
    "synthetic rows": (Model(lambda db: db.synthesize(50, columns=["a", "b"], epsilon=2), shares_of), 1_000),
    "synthetic rows of quality": (
        Model(
            lambda db: db.synthesize(50, columns=["a", "b"], rho=0.5, mode="quality"),
            shares_of,
            epsilon=EPSILON_HERE,
            delta=DELTA,
            policy=BUDGET,
        ),
        300,
    ),
    "itemsets": (
        Model(
            lambda db: db.itemsets(item="a", k=2, most=1, epsilon=2),
            lambda answer: tuple(float(s) for _, s, *_ in sorted(answer.rows())),
        ),
        1_000,
    ),
}


@pytest.mark.long
@pytest.mark.filterwarnings(INDEPENDENT)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("name", REPEATED)
def test_no_release_exceeds_its_claim_in_many_runs(name: str, neighbours: Neighbours, record_property: Record) -> None:
    model, runs = REPEATED[name]
    other = None if neighbours == "add/remove" else LOW

    def side(kind: Mapping[str, object] | None, runs: int) -> list[object]:
        policy = {"budget": tc.PureDP(epsilon=10**6), **dict(model.policy)}
        with opened(frame(kind), 2, neighbours, **policy) as database:
            return [model.scores(model.release(database)) for _ in range(runs)]

    def draw(runs: int) -> list[Sides]:
        return [(side(HIGH, runs), side(other, runs))]

    path = Path(
        name=f"{name}, again and again, {neighbours}", draw=draw, epsilon=model.epsilon, delta=model.delta, runs=runs
    )
    check(path, record_property)
