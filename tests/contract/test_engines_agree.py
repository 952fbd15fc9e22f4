"""The same question on every engine: the exact integers are equal, one by one.

Where no unit exceeds max_groups nothing is chosen, and the integers are a function of the table alone. Questions are
drawn from the words of `contract.questions`, tables hold values that engines stumble over. Functions whose
last bits differ in Java (exp, ln, powers) are not among the words.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from contract.homes import joined
from contract.plans import added_up, cells
from contract.questions import SPELLINGS, UNITS, VALUES, Question, UnitKind, kinds_of, policy, questions
from contract.tables import Opener, Row
from contract.test_joins import SHAPES, SOURCES, Tables, joined_rows, policies
from contract.test_joins import VALUES as JOINED_VALUES
from contract.test_joins import question as question_of
from tacit.engines.sql.engine import StatementEngine
from tacit.errors import InvalidError, RefusedError
from tacit.query.histograms import Histograms
from tacit.query.plan import Plan
from tacit.query.policy import TablePolicy
from tacit.query.sql.parse import parse

SECRET = (3, 5)
EVERY_UNIT: list[UnitKind] = ["integer", "text", "real", "row"]
ROWS = 150
MANY = 10**6
"""As many groups as no unit has."""

QUESTIONS = 8
LONG = 500
"""How many questions are asked: in every run, and in the long one."""

Engines = dict[str, StatementEngine]


def table_of(unit: UnitKind) -> list[Row]:
    """A table that is the same in every run: all values of all columns, some rows several times."""
    chance = random.Random(unit)  # noqa: S311 - test data
    rows: list[Row] = []
    while len(rows) < ROWS:
        row = {"u": chance.choice(UNITS[unit]), **{name: chance.choice(values) for name, values in VALUES.items()}}
        rows += [row] * chance.choice([1, 1, 1, 4])
    return rows


@pytest.fixture(scope="module")
def engines(every_engine: dict[str, Opener]) -> Iterator[dict[UnitKind, Engines]]:
    """Every engine, open on the table of every kind of unit."""
    with ExitStack() as stack:
        yield {
            unit: {
                opener.name: stack.enter_context(opener(kinds_of(unit), table_of(unit)))
                for opener in every_engine.values()
            }
            for unit in EVERY_UNIT
        }


def everything(units: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    return np.arange(len(units))


def measured(engine: StatementEngine, plan: Plan) -> object:
    """Return everything that an engine returns: integers, and keys if groups are discovered."""
    if not plan.open:
        return [list(integers) for integers in engine.measure_with(plan, SECRET)]
    found = engine.find_with(plan, everything, SECRET)
    size = len(found.keys)
    integers = [
        [int(x) for x in one.of(0, size)] if isinstance(one, Histograms) else list(one) for one in found.integers
    ]
    return [tuple(key) for key in found.keys], integers


@st.composite
def asked(draw: st.DrawFn) -> tuple[UnitKind, Question, int]:
    unit = draw(st.sampled_from(EVERY_UNIT))
    found = draw(st.sampled_from([False, False, True]))
    rows = draw(st.sampled_from([1, 2, 10**6]))
    return unit, draw(questions(unit, frozenset(SPELLINGS), found=found)), rows


def agree(engines: dict[UnitKind, Engines], wanted: int) -> int:
    """Ask until so many questions were answered, each by every engine alike, or twice as many were asked."""
    answered = 0

    @settings(
        deadline=None,
        max_examples=2 * wanted,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(asked())
    def ask(one: tuple[UnitKind, Question, int]) -> None:
        nonlocal answered
        if answered == wanted:
            return
        unit, question, rows = one
        try:
            plan = parse(question.sql, {"t": policy(unit, "add/remove", MANY, rows)}, keys=question.keys)
            if any(measure.per == "value" for bundle in plan.bundles for measure in bundle.measures):
                # which values a unit brings, where it may not bring all, is each engine's own choice
                plan = parse(question.sql, {"t": policy(unit, "add/remove", MANY, MANY)}, keys=question.keys)
            for engine in engines[unit].values():
                engine.check(plan)
        except (InvalidError, RefusedError):
            return  # 2^62 grid steps and more
        answers = {name: measured(engine, plan) for name, engine in engines[unit].items()}
        first = answers["duckdb"]
        assert {name: answer for name, answer in answers.items() if answer != first} == {}, question.sql
        answered += 1

    ask()
    return answered


Joins = tuple[StatementEngine, Tables, dict[str, TablePolicy]]


@pytest.fixture(scope="module")
def joins() -> Iterator[Callable[[str], Joins]]:
    """Open an engine by its name, once, on the tables of `test_joins`; give also their rows and policies."""
    chance = random.Random(7)  # noqa: S311 - test data
    data = {
        table: [{column: chance.choice(JOINED_VALUES[column]) for column in shape} for _ in range(25)]
        for table, shape in SHAPES.items()
    }
    with ExitStack() as stack:

        @cache
        def opened(name: str) -> Joins:
            engine = stack.enter_context(joined(name, SHAPES, data, ("r", "c")))
            return engine, data, policies(engine, groups=MANY)

        yield opened


ON_SPARK = (
    "r JOIN v ON r.k = v.k AND v.n = r.z",
    "r RIGHT JOIN v ON v.x = r.w",
    "v JOIN r ON v.n = r.z AND v.x <= r.w",
    "v LEFT JOIN (SELECT k, coalesce(name, 'none') AS name, w + 1 AS w, z FROM r) AS r ON v.k = r.k",
    "v JOIN (SELECT lower(k) AS low, name, z, w FROM r WHERE z IS NOT NULL) AS r ON lower(v.k) = low",
    "v JOIN r ON CAST(v.k AS INTEGER) = r.z",
    "v LEFT JOIN r ON v.n = r.z LEFT JOIN c ON r.name = c.name",
    "v JOIN r ON v.k = r.k LEFT JOIN r AS r2 ON v.n = r2.z",
    "v LEFT JOIN p ON v.u = p.id AND p.y > 0 AND v.k = p.k LEFT JOIN r ON p.y = r.z",
    "v RIGHT JOIN p ON v.u = p.id JOIN r ON p.k = r.k",
    "p JOIN (SELECT v.u, v.n, v.x, r.name, r.z, r.w FROM v JOIN r ON v.k = r.k) AS r ON r.u = p.id",
)
"""The joins that Spark does in every run, each feature once, because each takes seconds; in a long run it does all."""


def joins_of(engine: str) -> list[ParameterSet]:
    """Return an engine's cases."""
    late = [] if engine != "spark" else [source for source in SOURCES if source not in ON_SPARK]
    return [pytest.param(engine, source, marks=[pytest.mark.long] * (source in late)) for source in SOURCES]


def test_the_joins_on_spark_are_some_of_all() -> None:
    assert set(ON_SPARK) < set(SOURCES)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "source"), [*joins_of("duckdb"), *joins_of("postgres"), *joins_of("spark")])
def test_joins_are_what_nested_loops_give_on_every_engine(
    joins: Callable[[str], Joins], name: str, source: str
) -> None:
    engine, data, known = joins(name)
    plan = parse(question_of(source), known)
    assert engine.measure_with(plan, SECRET) == added_up(plan, cells(plan, joined_rows(plan, data)))


def test_all_engines_give_the_same_integers(engines: dict[UnitKind, Engines]) -> None:
    assert agree(engines, QUESTIONS) == QUESTIONS


@pytest.mark.long
def test_all_engines_give_the_same_integers_to_five_hundred_questions(engines: dict[UnitKind, Engines]) -> None:
    assert agree(engines, LONG) == LONG
