"""Expressions have the same values in Spark as in Python; many expressions share one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from contract.examples import varied
from contract.homes import arrow
from contract.plans import plan, table
from engines.expressions import KINDS, LIBRARY, POSSIBLE, VALUES, calls_of, expressions, kinds_of
from row_evaluator import evaluate
from row_values import Difference, differences, random_rows, with_places
from spark_session import frame_of, spark
from tacit.engines.spark.dialect import SPARK
from tacit.engines.spark.engine import SparkEngine, open_spark
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Value
from tacit.query.expressions.casts import CASTS
from tacit.query.expressions.functions import FUNCTIONS
from tacit.query.plan import Measure

DATA = random_rows(nul=True)
X, Y, I, S, B = (  # noqa: E741 - an integer column
    Column("x", "real"),
    Column("y", "real"),
    Column("i", "integer"),
    Column("s", "text"),
    Column("b", "boolean"),
)
TOGETHER = 24
FEW = settings(deadline=None, max_examples=2, derandomize=True, database=None, phases=[Phase.generate])


@pytest.fixture(scope="module", params=["files", "rows"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    """Spark compiles what it does with files; rows that it has at hand it interprets."""
    rows = arrow({**KINDS, "place": "integer"}, with_places(DATA))
    spark()
    if request.param == "files":
        file = tmp_path_factory.mktemp("rows") / "rows.parquet"
        pq.write_table(rows, file)
        opened = open_spark(f"spark:{file}")
    else:
        opened = open_spark(frame_of(rows))
    yield opened
    opened.close()


def wrong_values(source: SparkEngine, expressions: Sequence[Expression], slack: float = 0.0) -> list[Difference]:
    """Return the first wrong value of each expression; some expressions share a statement."""
    batches = [expressions[first : first + TOGETHER] for first in range(0, len(expressions), TOGETHER)]
    return [wrong for batch in batches for wrong in differences(source, DATA, batch, slack)]


@FEW
@given(varied(st.tuples(*(expressions(kind, 3) for kind in VALUES for _ in range(4)))))
def test_expressions_mean_in_sql_what_they_mean_in_python(source: SparkEngine, asked: tuple[Expression, ...]) -> None:
    assert not wrong_values(source, asked)


CALLS = [calls_of(name, kind, 0) for name in sorted(set(FUNCTIONS) - LIBRARY) for kind in kinds_of(name)]


@FEW
@given(varied(st.tuples(*CALLS)))
def test_a_function_means_in_sql_what_it_means_in_python(source: SparkEngine, asked: tuple[Expression, ...]) -> None:
    assert not wrong_values(source, asked)


def test_whether_a_result_is_null_is_told_likewise(source: SparkEngine) -> None:
    undefined = Call("subtract", (Call("divide", (X, Y), "real"), Call("multiply", (X, Y), "real")), "real")
    asked: list[Expression] = [
        Call("is_null", (undefined,), "boolean"),
        Call("less", (undefined, Constant(0.0, "real")), "boolean"),
        Call("coalesce", (undefined, Constant(1.0, "real")), "real"),
        Call("greatest", (undefined, X), "real"),
        Case(((Call("equal", (undefined, undefined), "boolean"), I),), None, "integer"),
        Cast(undefined, "integer"),
        undefined,
        *(Call("is_null", (Call(name, (X,), "real"),), "boolean") for name in ("sqrt", "ln", "floor", "round")),
    ]
    assert not wrong_values(source, asked)


def test_casts_mean_in_sql_what_they_mean_in_python(source: SparkEngine) -> None:
    columns = [Column(name, kind) for name, kind in KINDS.items()]
    assert not wrong_values(source, [Cast(one, other) for kind, other in CASTS for one in columns if one.kind == kind])


def test_logarithms_and_powers_agree_but_for_their_last_bits(source: SparkEngine) -> None:
    asked = [Call(name, (X, Y)[: len(FUNCTIONS[name].takes)], "real") for name in sorted(LIBRARY)]
    ones = [Call("power", (Constant(base, "real"), X), "real") for base in (1.0, -1.0, 2.0)]
    assert not wrong_values(source, [*asked, *ones], slack=1e-14)


BEYOND_ASCII = ["𐐀𐐨 ÀÉ", "ﬀ", "ᾳ", "ǰ", "Ꭰ", "\ud7ff\ue000", "a\nb", "a\r\n", "${spark.app.name}", "\\'"]


@pytest.mark.parametrize(
    "texts",
    [[*VALUES["text"][::3], *BEYOND_ASCII], pytest.param(VALUES["text"], marks=pytest.mark.long)],
    ids=["some", "all"],
)
def test_letters_and_patterns_beyond_ascii(source: SparkEngine, texts: list[Value]) -> None:
    constants = [Constant(text, "text") for text in texts]
    asked = [Call(name, (one,), "text") for name in ("lower", "upper") for one in constants]
    asked += [Call("equal", (S, one), "boolean") for one in constants]
    asked += [Call("like", (S, one), "boolean") for one in constants if one.value is not None]
    asked += [Call("replace", (S, one, Constant("\\1$0", "text")), "text") for one in constants]
    assert not wrong_values(source, asked)


def test_every_listed_function_can_be_written() -> None:
    assert set(SPARK.forms) == set(FUNCTIONS)
    assert {kind for kinds in POSSIBLE.values() for kind in kinds} == set(VALUES)


def test_layers_do_not_grow_into_each_other(source: SparkEngine) -> None:
    nested: Expression = X
    for _ in range(12):
        nested = Call("ln", (Call("divide", (Constant(1.0, "real"), nested), "real"),), "real")
    deep: Expression = Cast(B, "integer")
    for _ in range(30):
        deep = Call("negate", (deep,), "integer")
    assert not wrong_values(source, [nested, deep], slack=1e-9)
    where = Call("less", (nested, Constant(1.0, "real")), "boolean")
    asked = plan(table(unit=None, kinds=KINDS), Measure(value=None), where=where)
    assert source.measure(asked) == [[sum(evaluate(where, row) is True for row in DATA)]]
