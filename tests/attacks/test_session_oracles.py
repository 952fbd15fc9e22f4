"""Plans, refusals, prices, intervals and the objects of answers: an analyst sees them without paying.

All of it must be a function of public facts and of released numbers. So it is compared on databases that have nothing
in common but their schema, where a function of the data would differ.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from known_bad import PlansFromData, RawBesideNoise, SpreadOfData, disjoint_by_text
from tacit.database import Database

SCHEMA = {"id": "int64", "x": "Int64", "g": "string", "word": "string", "k": "Int64", "label": "string"}


def frame(rows: int, **columns: Any) -> pd.DataFrame:  # noqa: ANN401
    base = {"id": range(rows), "x": 1, "g": "a", "word": "q", "k": 7, "label": "yes"}
    return pd.DataFrame({**base, **columns}, index=range(rows)).astype(SCHEMA)


WORLDS = {
    "ordinary": frame(40, x=[0, 1] * 20, g=["a", "b"] * 20, k=range(40), label=["yes", "no"] * 20),
    "empty": frame(0),
    "beyond all bounds, one person, missing values": pd.concat(
        [
            frame(500, x=10**15, g="zz", word=[f"w{i}" for i in range(500)], k=-(10**15), label="maybe"),
            frame(1000, id=0, x=9, word="secret"),
            frame(500, x=None, g=None, word=None, k=None, label=None),
        ]
    ),
}


def opened(rows: pd.DataFrame, **more: Any) -> Database:  # noqa: ANN401
    return tc.open(
        rows,
        name="t",
        unit="id",
        max_groups=2,
        max_rows=2,
        bounds={"x": (0, 10)},
        keys={"g": ["a", "b"], "label": ["yes", "no"]},
        budget=tc.ApproxDP(epsilon=10, delta=1e-3),
        **more,
    )


COUNT = "SELECT count(*) AS n FROM t"
BY_GROUP = "SELECT g, avg(x) AS a, count(*) AS n, median(x) AS m FROM t GROUP BY g"
QUESTIONS: dict[str, Callable[[Database], object]] = {
    "a count": lambda db: db.plan(COUNT, epsilon=1),
    "a count for an error": lambda db: db.plan(COUNT, error=5),
    "groups": lambda db: db.plan(BY_GROUP, epsilon=1),
    "groups for errors, with a size that is assumed": lambda db: db.plan(BY_GROUP, error={"n": 9}, assume=100),
    "found groups": lambda db: db.plan("SELECT word, count(*) AS n FROM t GROUP BY word", epsilon=1, delta=1e-6),
    "a chosen reach": lambda db: db.plan(COUNT, epsilon=1, delta=1e-6, reach="auto"),
    "chosen bounds": lambda db: db.plan("SELECT sum(k) AS s FROM t", epsilon=1, bounds={"k": "auto"}),
    "a computation": lambda db: db.plan(f"SELECT max(n) AS m FROM ({BY_GROUP}) AS q", epsilon=1),  # noqa: S608 - its own subset
    "one person": lambda db: db.plan(f"{COUNT} WHERE id = 0 AND word = 'secret'", epsilon=1),
    "two declared": lambda db: tc.declare([db.plan(COUNT, epsilon=1), db.plan(BY_GROUP, epsilon=1)]),
    "limits": lambda db: db.limits(COUNT, epsilon=0.1, plan=True),
    "bounds": lambda db: db.bounds("k", epsilon=0.1, plan=True),
    "a description": lambda db: db.describe("x", "g", epsilon=1, plan=True),
    "marginals": lambda db: db.marginals([("g", "label")], epsilon=1, plan=True),
    "synthetic rows": lambda db: db.synthesize(100, columns=["g", "label"], epsilon=1, delta=1e-9, plan=True),
    "a classifier": lambda db: db.classify("label", ["g", "x"], epsilon=1, delta=1e-6, plan=True),
    "no bounds": lambda db: db.sql("SELECT sum(k) AS s FROM t", epsilon=1),
    "an unknown column": lambda db: db.sql("SELECT sum(secret) AS s FROM t", epsilon=1),
    "a key that nobody may read": lambda db: db.sql("SELECT id FROM t", epsilon=1),
    "too expensive": lambda db: db.sql(COUNT, epsilon=1000),
    "too accurate": lambda db: db.sql(COUNT, error=1e-6),
    "too many found groups": lambda db: db.sql("SELECT word, k, count(*) AS n FROM t GROUP BY ALL", epsilon=1),
}


def seen(db: Database, question: Callable[[Database], Any]) -> str:
    """Return all that an analyst sees of a plan or a refusal, and the budget afterwards."""
    try:
        plan = question(db)
        shown = [type(plan).__name__, str(plan), plan._repr_html_(), str(plan.cost), *_parts(plan)]
    except tc.TacitError as error:
        shown = [type(error).__name__, str(error), repr(error.__dict__)]
    return "\n".join([*shown, str(db.spent), str(db.left)])


def _parts(plan: Any) -> Iterator[str]:  # noqa: ANN401
    for name in ("plan", "price", "work", "error", "notes"):
        if hasattr(plan, name):
            yield repr(getattr(plan, name))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_plan_or_a_refusal_says_nothing_of_the_data(name: str) -> None:
    """On three databases it is exactly the same, and nothing is spent."""
    views = set()
    for rows in WORLDS.values():
        with opened(rows) as db:
            views.add(seen(db, QUESTIONS[name]))
            assert db.ledger.spent.loss == 0
    assert len(views) == 1


def test_a_planner_that_looks_at_the_data_falls() -> None:
    records = [rows.to_dict("records") for rows in WORLDS.values()]
    assert len({PlansFromData(rows).plan("g", "a") for rows in records}) == 3


# --- a recorded answer is all that is known of the data --------------------------------------------------------------

ANSWERS: dict[str, Callable[[Database], Any]] = {
    "a count": lambda db: db.sql(COUNT, epsilon=0.5),
    "groups": lambda db: db.sql(BY_GROUP, epsilon=0.5),
    "found groups": lambda db: db.sql("SELECT word, count(*) AS n FROM t GROUP BY word", epsilon=5, delta=1e-6),
    "a chosen reach": lambda db: db.sql("SELECT sum(x) AS s FROM t", epsilon=0.5, delta=1e-6, reach="auto"),
    "a computation": lambda db: db.sql(f"SELECT n + 1 AS m FROM ({COUNT}) AS q", epsilon=0.5),  # noqa: S608 - as above
}


@pytest.mark.parametrize("name", ANSWERS)
def test_intervals_notes_and_the_receipt_are_functions_of_what_was_released(name: str, tmp_path: Any) -> None:  # noqa: ANN401
    """The record is read again beside other data of the same declared version: everything shown is the same."""
    texts = set()
    for index, rows in enumerate([WORLDS["ordinary"], *WORLDS.values()]):
        with opened(rows, ledger=tmp_path / "l", data_version="v1") as db:
            answer = ANSWERS[name](db)
            assert answer.repeated == bool(index)
            tables = [answer.intervals(confidence).rows() for confidence in (0.5, 0.95, 0.999)]
            texts.add(repr((tables, answer.rows(), answer.notes, answer.to_csv(), answer.cost, answer.receipt)))
            assert db.ledger.spent.loss <= 5
            assert answer.rows()
    assert len(texts) == 1


def test_an_interval_from_the_spread_of_the_rows_tells_the_rows_apart() -> None:
    assert SpreadOfData([1.0] * 100, 1).interval() != SpreadOfData([0.0, 2.0] * 50, 1).interval()


# --- the objects behind an answer ------------------------------------------------------------------------------------

EXACT = 7919
"""The number of rows, which no answer may hold: a prime, so that no product or sum of parameters is equal to it."""

_CODE = (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType, FrameType)


def numbers_in(found: object) -> list[float]:
    """Return the numbers that can be reached from an object by its attributes, items and arrays."""
    todo, visited, numbers = [found], {id(found)}, list[float]()
    while todo:
        value = todo.pop()
        if isinstance(value, (int, float)):
            numbers.append(value)
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
            numbers += value.ravel().tolist()
        for part in gc.get_referents(value):
            if id(part) not in visited and not isinstance(part, _CODE):
                visited.add(id(part))
                todo.append(part)
    return numbers


def holds(found: object, secret: int) -> bool:
    """Return whether an answer holds a number, among fewer than 500."""
    numbers = numbers_in(found)
    assert len(numbers) < 500
    return secret in numbers


HELD: dict[str, Callable[[Database], object]] = {
    "a count": lambda db: db.sql(COUNT, epsilon=1e-4),
    "groups": lambda db: db.sql(BY_GROUP, epsilon=1e-4),
    "a quantile": lambda db: db.sql("SELECT median(x) AS m FROM t", epsilon=1e-4),
    "found groups": lambda db: db.sql("SELECT word, count(*) AS n FROM t GROUP BY word", epsilon=1e-4, delta=1e-6),
    "a crosstab": lambda db: db.crosstab("g", "label", epsilon=1e-4),
    "marginals": lambda db: db.marginals([("g", "label")], epsilon=1e-4),
    "synthetic rows": lambda db: db.synthesize(10, columns=["g", "label"], epsilon=1e-4, delta=1e-9),
    "limits": lambda db: db.limits(COUNT, epsilon=1e-4),
    "an item set": lambda db: db.itemsets(columns=["g", "label"], k=2, epsilon=1e-4, delta=1e-9),
}


@pytest.mark.filterwarnings("ignore:No dependence between columns:UserWarning")
@pytest.mark.parametrize("name", HELD)
def test_no_exact_number_is_left_in_an_answer(name: str) -> None:
    """An answer that is pickled, shown by a debugger or sent to an error tracker holds released numbers alone.

    At ε = 1e-4 a released number is equal to a given one with probability below 5e-5. An answer has fewer than 500
    numbers, so it holds the exact number by chance with probability below 0.025, and eight of eight below 1e-12.
    """
    with opened(frame(EXACT)) as db:
        assert not all(holds(HELD[name](db), EXACT) for _ in range(8))
    assert all(holds(RawBesideNoise(EXACT, 1e-4), EXACT) for _ in range(8))


# --- disjoint questions ----------------------------------------------------------------------------------------------

NASTY = [
    {"i": i, "x": x, "w": w}
    for i, x in enumerate([0.0, -0.0, 1.0, 1.5, -1.0, float("nan"), float("inf"), float("-inf"), 1e-320, None])
    for w in ("a", "A", "a ", "ä", "", "1", "1.0", "a%", "A\u0308", None)
]
CONDITIONS = [
    *(f"x {sign} {number}" for sign in ("=", "<>", "<", "<=", ">", ">=") for number in ("0", "1", "1.5", "-0.0")),
    *(f"CAST(x AS INTEGER) = {number}" for number in (0, 1, 2)),
    *(f"round(x) = {number}" for number in (0, 1, 2)),
    *(f"abs(x) = {number}" for number in ("0", "1", "1.5")),
    *(f"w = '{text}'" for text in ("a", "A", "a ", "ä", "", "1", "1.0")),
    *(f"lower(w) = '{text}'" for text in ("a", "ä", "")),
    *(f"trim(w) = '{text}'" for text in ("a", "A")),
    *(f"w LIKE '{pattern}'" for pattern in ("a%", "A%", "a_", "%a", "")),
    *(f"w < '{text}'" for text in ("a", "b")),
    "w >= 'a'",
    "w IN ('a', '1', NULL)",
    "w NOT IN ('a', '1')",
    "x IS NULL",
    "x IS NOT NULL",
    "w IS NULL",
    "CAST(w AS DOUBLE) = 1",
    "CAST(w AS DOUBLE) < 1",
    "length(w) = 1",
    "length(w) = 2",
    "coalesce(x, 1) = 1",
    "coalesce(x, 1) > 1",
    "CASE WHEN x > 0 THEN w = 'a' ELSE w = 'A' END",
    "x > 0 AND w = 'a'",
    "x > 0 OR w = 'a'",
    "NOT (x > 0 OR w = 'a')",
    "x % 2 = 1",
    "x % 2 = 0",
    "-x > 0",
    "x + 1 > 1",
]


def members(db: Database, condition: str) -> frozenset[int]:
    """Return the rows that satisfy a condition, by counts whose noise is 0 but with probability e^-100000 each."""
    counts = db.sql(f"SELECT i, count(*) AS n FROM t WHERE {condition} GROUP BY i", epsilon=10**5)  # noqa: S608 - as above
    return frozenset(int(str(row)) for row, n in counts.rows() if n)


def test_conditions_that_one_row_satisfies_are_never_priced_as_disjoint() -> None:
    """The discount for disjoint questions, attacked by NaN, signed zeros, casts, letters of both cases and NULL."""
    rows = pd.DataFrame(NASTY).assign(i=range(len(NASTY)))
    keys = {"i": list(range(len(NASTY)))}
    with tc.open(rows, name="t", unit=tc.ROW, keys=keys, budget=tc.PureDP(epsilon=10**9)) as db:
        where = {text: members(db, text) for text in CONDITIONS}
        plans = {text: db.plan(f"{COUNT} WHERE {text}", epsilon=1) for text in CONDITIONS}
        found = 0
        for index, first in enumerate(CONDITIONS):
            for second in CONDITIONS[index + 1 :]:
                if where[first] & where[second]:
                    assert not tc.declare([plans[first], plans[second]], delta=0).disjoint, (first, second)
                elif index % 8 == 0:
                    found += bool(tc.declare([plans[first], plans[second]], delta=0).disjoint)
        assert found > 20
        wrong = [(a, b) for a in CONDITIONS for b in CONDITIONS if disjoint_by_text(a, b) and where[a] & where[b]]
        assert ("x = 0", "x = -0.0") in wrong
