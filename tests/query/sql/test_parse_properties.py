# ruff: noqa: S608 - queries are text
from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import TacitError
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Call, Case, Cast, Expression, Value, columns, walk
from tacit.query.expressions.casts import CASTS
from tacit.query.expressions.functions import FUNCTIONS
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

SURVEY = TablePolicy(
    name="survey",
    unit="person_id",
    max_groups=3,
    max_rows=5,
    neighbours="add/remove",
    columns={
        "person_id": ColumnPolicy(kind="integer"),
        "region": ColumnPolicy(kind="text", keys=("north", "south")),
        "income": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(200_000))),
        "age": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(120))),
        "visits": ColumnPolicy(kind="integer"),
        "score": ColumnPolicy(kind="real"),
        "urban": ColumnPolicy(kind="boolean"),
        "note": ColumnPolicy(kind="text"),
        "day": ColumnPolicy(kind="date"),
    },
)

NUMBERS = st.recursive(
    st.sampled_from(
        ["age", "income", "visits", "score", "1", "2.5", "-3", "0", "1e300", "NULL", "length(note)", "year(day)"]
    ),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "-", "floor", "round", "sqrt", "ln", "exp", "sign"]), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["least", "greatest", "coalesce", "nullif"]), inner, inner),
        st.builds("clamp({}, -5, 50)".format, inner),
        st.builds("CASE WHEN {} > {} THEN {} ELSE {} END".format, inner, inner, inner, inner),
        st.builds("CAST({} AS {})".format, inner, st.sampled_from(["INTEGER", "DOUBLE", "BOOLEAN", "TEXT"])),
    ),
    max_leaves=6,
)
DATA = st.fixed_dictionaries(
    {
        "age": st.none() | st.integers(-(2**63), 2**63 - 1),
        "income": st.none() | st.floats(),
        "visits": st.none() | st.integers(-(2**63), 2**63 - 1),
        "score": st.none() | st.floats(),
        "note": st.none() | st.text("ab1 ", max_size=3),
        "day": st.none() | st.dates(),
    }
)


@given(NUMBERS, NUMBERS, DATA)
def test_an_accepted_query_is_typed_total_and_within_its_bounds(x: str, y: str, row: dict[str, Value]) -> None:
    try:
        plan = parse(f"SELECT sum({x}) AS s FROM survey WHERE {y} > 1", {"survey": SURVEY})
    except TacitError:
        return
    [aggregate] = plan.aggregates
    [summed], [bounds] = aggregate.ask.values, aggregate.ask.bounds
    assert plan.where is not None
    for expression in (summed, plan.where):
        check_kinds(expression)
        assert columns(expression) <= set(SURVEY.columns)
    value = evaluate(summed, row)
    if value is not None:
        low, high = bounds
        slack = 1e-9 * (1 + max(abs(low), abs(high)))
        assert low - slack <= value <= high + slack  # type: ignore[operator]
    assert evaluate(plan.where, row) in (True, False, None)


ALIKE = ("number", "any", "moment", "quantity")


def check_kinds(expression: Expression) -> None:
    """Check that every call has arguments of the kinds that its function takes, and that every cast is listed."""
    for part in walk(expression):
        if isinstance(part, Cast):
            assert (part.operand.kind, part.kind) in CASTS
        if isinstance(part, Call):
            function = FUNCTIONS[part.function]
            assert function.fits(len(part.arguments))
            takes = [function.takes_at(index) for index in range(len(part.arguments))]
            pairs = [(argument.kind, want) for argument, want in zip(part.arguments, takes, strict=True)]
            assert len({kind for kind, want in pairs if want in ALIKE}) <= 1
            assert all(kind == want for kind, want in pairs if want not in ALIKE)
        if isinstance(part, Case):
            assert {result.kind for _, result in part.branches} == {part.kind}
            assert {test.kind for test, _ in part.branches} == {"boolean"}


WORDS = st.sampled_from(
    """SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT WITH AS ( ) , * + - / = < > . ; count sum avg survey region age
    urban 'x' 1 2.5 NULL AND OR NOT IN BETWEEN CASE WHEN THEN ELSE END CAST INTEGER DISTINCT UNION JOIN ON OVER EXCLUDE
    REPLACE [ ] { } :: -> ? $1 ALL EXISTS VALUES INTERVAL FILTER USING SAMPLE LATERAL""".split()  # noqa: SIM905 - words
)


@given(st.lists(WORDS, max_size=25))
def test_any_text_is_a_plan_or_a_tacit_error(words: list[str]) -> None:
    text = " ".join(words)
    for sql in (text, f"SELECT count(*) FROM survey {text}", f"SELECT {text} FROM survey"):
        with suppress(TacitError):
            parse(sql, {"survey": SURVEY})
