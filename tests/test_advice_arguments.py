"""The advice of refusals in Python works: a call that follows it is answered, or raises nothing.

Each row has a call that is refused, words of its advice, and a call that follows it.
"""

# ruff: noqa: ARG005 - every call takes the database

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database

VISITS = pd.DataFrame(
    {
        "person": [1, 1, 2, 3, 4, 5, 6, 6] * 50,
        "ward": ["A", "B"] * 200,
        "cost": [1.5, 2.0, 3.0, 9.0] * 100,
        "score": [1, 2] * 200,
        "note": ["x", "y"] * 200,
    }
)
WARDS = pd.DataFrame({"ward": ["A", "B"], "floor": [1, 2]})


def opened(**more: object) -> Database:
    terms = {"unit": "person", "bounds": {"cost": (0, 10)}, "keys": {"ward": ["A", "B"]}, "reach": 3, **more}
    return tc.open(VISITS, **{"name": "visits", "public": {"wards": WARDS}, "budget": tc.PureDP(epsilon=1e9), **terms})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with opened() as database:
        yield database


ALL = "SELECT count(*) FROM visits"
SCORES = "SELECT sum(score) FROM visits"
SHARES = "SELECT ward, n / sum(n) OVER () FROM (SELECT ward, count(*) AS n FROM visits GROUP BY ward)"


def _found(db: Database) -> tuple[float, float]:
    low, high, *_ = db.bounds("score", epsilon=9)
    return float(str(low)), float(str(high))


Call = Callable[[Database], object]
ADVICE: list[tuple[Call, str, Call]] = [
    (lambda db: db.sql(ALL), "epsilon=0.5", lambda db: db.sql(ALL, epsilon=0.5)),
    (lambda db: db.sql(ALL, rho=0.1), "Use epsilon.", lambda db: db.sql(ALL, epsilon=0.1)),
    (
        lambda db: db.sql(ALL, epsilon=1, error=3),
        "Give error alone",
        lambda db: db.sql(ALL, error=30),
    ),
    (
        lambda db: db.sql(SCORES, epsilon=1),
        "give bounds (--bounds) to the query",
        lambda db: db.sql(SCORES, epsilon=1, bounds={"score": (0, 5)}),
    ),
    (
        lambda db: db.sql(SCORES, error=9, bounds={"score": "auto"}),
        "Give epsilon or rho instead of error",
        lambda db: db.sql(SCORES, epsilon=9, bounds={"score": "auto"}),
    ),
    (
        lambda db: db.sql(SCORES, error=9, bounds={"score": "auto"}),
        "find bounds with db.bounds",
        lambda db: db.sql(SCORES, error=900, bounds={"score": _found(db)}),
    ),
    (
        lambda db: db.sql(ALL, epsilon=1, bounds={"cost": "auto"}),
        "Leave it out.",
        lambda db: db.sql(ALL, epsilon=1),
    ),
    (
        lambda db: db.sql(SHARES, error=3),
        "give a cost instead",
        lambda db: db.sql(SHARES, epsilon=3),
    ),
    (
        lambda db: db.sql(SHARES, epsilon=3, reach="auto"),
        "leave the option out",
        lambda db: db.sql(SHARES, epsilon=3),
    ),
    (
        lambda db: db.sql("SELECT note, count(*) FROM visits GROUP BY note", epsilon=1, keys={"nota": ["x"]}),
        "names of the query's GROUP BY items",
        lambda db: db.sql("SELECT note, count(*) FROM visits GROUP BY note", epsilon=1, keys={"note": ["x"]}),
    ),
    (
        lambda db: db.sql("SELECT median(cost) FROM visits", error=1),
        "assume=1000",
        lambda db: db.sql("SELECT median(cost) FROM visits", error=1, assume=1000),
    ),
    (
        lambda db: db.sql("SELECT mode(ward) FROM visits", error=1),
        "Use epsilon= instead",
        lambda db: db.sql("SELECT mode(ward) FROM visits", epsilon=1),
    ),
    (
        lambda db: db.sql("SELECT count(*) AS n, sum(cost) AS s FROM visits", error={"n": 9}),
        "Give an error for every aggregate",
        lambda db: db.sql("SELECT count(*) AS n, sum(cost) AS s FROM visits", error={"n": 9, "s": 90}),
    ),
    (
        lambda db: db.sql("SELECT count(*) AS n FROM visits", error={"m": 9}),
        "Give errors for n",
        lambda db: db.sql("SELECT count(*) AS n FROM visits", error={"n": 9}),
    ),
    (
        lambda db: db.histogram("cost", 3, epsilon=1, measure_cut=9),
        "db.sql with measure_cut",
        lambda db: (db.count(by="ward", epsilon=1, measure_cut=9), db.sql(ALL, epsilon=1, measure_cut=9)),
    ),
    (
        lambda db: db.sql("SELECT avg(cost) FROM visits", epsilon=1, measure_cut=9),
        "select such a column",
        lambda db: db.sql("SELECT count(*), sum(cost) FROM visits", epsilon=1, measure_cut=9),
    ),
    (
        lambda db: db.sql(ALL, epsilon=1, share=0.2),
        "Add one of them",
        lambda db: db.sql(ALL, epsilon=1, reach="auto", share=0.2),
    ),
    *(
        (
            lambda db, more=more: db.crosstab("note", epsilon=1, **more),
            "keys={'note': [...]}",
            lambda db: db.crosstab("note", epsilon=1, keys={"note": ["x", "y"]}),
        )
        for more in ({}, {"max_groups": 2}, {"delta": 1e-9, "max_groups": 2})
    ),
    (lambda db: db.count(wher="cost > 3", epsilon=1), "'where'", lambda db: db.count(where="cost > 3", epsilon=1)),  # type: ignore[call-overload]  # misspelled
    (
        lambda db: db.crosstab("note", epsilon=1, max_groups=2),
        "keys=",
        lambda db: db.crosstab("note", epsilon=1, keys={"note": ["x"]}),
    ),
    (lambda db: db.crosstab(epsilon=1), "Name the columns", lambda db: db.crosstab("ward", epsilon=1)),
    (
        lambda db: db.histogram("score", 3, epsilon=1),
        "edges of the bins",
        lambda db: db.histogram("score", [0, 1, 5], epsilon=1),
    ),
    (
        lambda db: db.quantile("cost", [], epsilon=1),
        "a number from 0 to 1, or several",
        lambda db: (db.quantile("cost", 0.5, epsilon=1), db.quantile("cost", [0.2, 0.5], epsilon=1)),
    ),
    (lambda db: db.bounds("person", epsilon=1), "Name another column.", lambda db: db.bounds("score", epsilon=1)),
    (
        lambda db: db.bounds("note", epsilon=1),
        "CAST(x AS DOUBLE)",
        lambda db: db.bounds("CAST(note AS DOUBLE)", epsilon=1),
    ),
    (lambda db: db.count(table="wards", epsilon=1), "visits", lambda db: db.count(table="visits", epsilon=1)),
    (
        lambda db: float(db.sql("SELECT mode(ward) FROM visits", epsilon=1)),
        "r.value",
        lambda db: db.sql("SELECT mode(ward) FROM visits", epsilon=1).value,
    ),
    (
        lambda db: db.sql(ALL, epsilon=1).to_dict(confidence=0.9),
        "intervals=True",
        lambda db: db.sql(ALL, epsilon=1).to_dict(intervals=True, confidence=0.9),
    ),
    (
        lambda db: tc.mean([1.0, 2.0], epsilon=1),
        "bounds=(0, 100)",
        lambda db: tc.mean([1.0, 2.0], bounds=(0, 100), epsilon=1),
    ),
    (
        lambda db: tc.mean([1, 2] * 99, epsilon=1),
        "bounds='auto'",
        lambda db: tc.mean([1, 2] * 99, bounds="auto", epsilon=1),
    ),
    (
        lambda db: tc.mean([1.0, 2.0], bounds=(0, 9)),
        "epsilon=0.5, or rho=0.01",
        lambda db: (tc.mean([1.0], bounds=(0, 9), epsilon=0.5), tc.mean([1.0], bounds=(0, 9), rho=0.01)),
    ),
    (
        lambda db: tc.histogram([1.0, 2.0], epsilon=1),
        "Give one of them.",
        lambda db: tc.histogram([1.0, 2.0], bins=[0, 1, 3], epsilon=1),
    ),
    (
        lambda db: tc.declare([db.plan(SHARES, epsilon=1)]),
        "Declare its private aggregates",
        lambda db: tc.declare([db.plan("SELECT ward, count(*) FROM visits GROUP BY ward", epsilon=1)]),
    ),
    (lambda db: db.limits(ALL, error=3), "Give epsilon or rho.", lambda db: db.limits(ALL, epsilon=1)),
    (lambda db: opened(budget=None), "tacit.PureDP(epsilon=1)", lambda db: opened(budget=tc.PureDP(epsilon=1)).close()),
    (
        lambda db: opened(reach=None).plan(ALL, epsilon=1),
        "Pass reach=",
        lambda db: (
            opened(reach=None).plan(ALL, epsilon=1, reach=2),
            opened(reach=2).plan(ALL, epsilon=1),
            opened(reach=None).plan(ALL, epsilon=1, reach="auto"),
        ),
    ),
    (
        lambda db: db.sql("SELECT count(*) FROM visits WHERE ward = $w", epsilon=1),
        'params={"w": …}',
        lambda db: db.sql("SELECT count(*) FROM visits WHERE ward = $w", epsilon=1, params={"w": "A"}),
    ),
]


@pytest.mark.parametrize(("refused", "words", "instead"), ADVICE, ids=[words for _, words, _ in ADVICE])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_call_that_follows_the_advice_is_answered(db: Database, refused: Call, words: str, instead: Call) -> None:
    with pytest.raises(tc.TacitError) as refusal:
        refused(db)
    assert words in f"{refusal.value.hint}", str(refusal.value)
    instead(db)
