from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.query.evaluate import evaluate
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Value
from tacit.query.expressions.ranges import prove_range

X, Y, FREE, TRUTH, DAY = (
    Column("x", "real"),
    Column("y", "real"),
    Column("free", "real"),
    Column("truth", "boolean"),
    Column("day", "date"),
)
BOUNDS = {"x": (Fraction(-2), Fraction(5)), "y": (Fraction(1, 2), Fraction(3))}


def real(value: float) -> Constant:
    return Constant(value, "real")


def call(name: str, *arguments: Expression) -> Call:
    return Call(name, arguments, "real")


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        (X, -2, 5),
        (real(0.1), Fraction(1, 10), Fraction(1, 10)),
        (call("add", X, Y), Fraction(-3, 2), 8),
        (call("subtract", X, Y), -5, Fraction(9, 2)),
        (call("multiply", X, Y), -6, 15),
        (call("multiply", X, X), -10, 25),
        (call("divide", X, Y), -4, 10),
        (call("negate", X), -5, 2),
        (call("abs", X), 0, 5),
        (call("abs", Y), Fraction(1, 2), 3),
        (call("sign", X), -1, 1),
        (call("sign", Y), -1, 1),  # of a real, whose last bit decides
        (call("sign", FREE), -1, 1),
        (call("floor", Y), 0, 3),
        (call("ceil", Y), 1, 3),
        (call("round", Y), 1, 3),
        (call("round", call("divide", Y, real(7.0)), Constant(1, "integer")), Fraction(1, 10), Fraction(2, 5)),
        (call("modulo", X, Y), -2, 3),
        (call("modulo", FREE, Y), -3, 3),
        (call("modulo", Y, real(10.0)), 0, 3),
        (Call("modulo", (Cast(X, "integer"), Constant(3, "integer")), "integer"), -2, 2),
        (call("power", X, real(2.0)), 0, 25),
        (call("power", X, real(3.0)), -8, 125),
        (call("power", X, real(0.0)), 1, 1),
        (call("clamp", FREE, real(0.0), real(10.0)), 0, 10),
        (call("clamp", X, real(0.0), real(10.0)), 0, 5),
        (call("least", call("greatest", FREE, real(0.0)), real(10.0)), 0, 10),
        (call("greatest", call("least", FREE, real(10.0)), real(0.0)), 0, 10),
        (call("least", X, real(1.0)), -2, 1),
        (call("coalesce", X, Y), -2, 5),
        (call("coalesce", X, real(9.0)), -2, 9),
        (call("nullif", X, real(0.0)), -2, 5),
        (call("sqrt", call("floor", Y)), 0, None),
        (Case(((TRUTH, X), (TRUTH, real(7.0))), None, "real"), -2, 7),
        (Case(((TRUTH, X),), Constant(None, "real"), "real"), -2, 5),
        (Case(((TRUTH, X),), real(-9.0), "real"), -9, 5),
        (Cast(TRUTH, "integer"), 0, 1),
        (Cast(Call("less", (X, FREE), "boolean"), "real"), 0, 1),
        (Cast(Y, "integer"), 1, 3),
        (Call("month", (DAY,), "integer"), 1, 12),
        (Call("weekday", (DAY,), "integer"), 0, 6),
    ],
)
def test_ranges_are_as_tight_as_by_hand(expression: Expression, low: Fraction, high: Fraction | None) -> None:
    ends = prove_range(expression, BOUNDS)
    assert ends is not None
    assert ends[0] == low
    assert high is None or ends[1] == high


@pytest.mark.parametrize(
    "expression",
    [
        FREE,
        call("add", X, FREE),
        call("divide", Y, X),
        call("divide", X, FREE),
        call("least", X, FREE),
        call("greatest", X, FREE),
        call("coalesce", X, FREE),
        call("abs", FREE),
        call("exp", call("multiply", X, real(1000.0))),
        call("ln", X),
        call("power", X, real(0.5)),
        call("power", X, Y),
        call("power", real(2.0), real(2000.0)),
        Case(((TRUTH, X),), FREE, "real"),
        Cast(Column("text", "text"), "integer"),
        Call("length", (Column("text", "text"),), "integer"),
        Column("text", "text"),
        Constant(None, "real"),
    ],
)
def test_what_cannot_be_proved_is_none(expression: Expression) -> None:
    assert prove_range(expression, BOUNDS) is None


def test_least_of_values_that_may_be_null_can_be_the_larger_one() -> None:
    assert prove_range(call("least", X, Y), BOUNDS) == (Fraction(-2), Fraction(5))  # y may be NULL, then it is x


def test_repeated_powers_stay_small() -> None:
    expression: Expression = call("divide", X, real(3.0))
    for _ in range(40):
        expression = call("power", expression, real(64.0))
    assert prove_range(expression, BOUNDS) is None
    shrinking: Expression = call("divide", real(1.0), real(3.0))
    for _ in range(10):
        shrinking = call("multiply", shrinking, shrinking)
    ends = prove_range(shrinking, {})
    assert ends is not None
    assert 0 <= ends[1] < Fraction(1, 10**100)
    assert ends[1].denominator.bit_length() <= 1100


_ONE = ["negate", "abs", "sign", "floor", "ceil", "round", "sqrt", "ln", "exp"]
_TWO = ["add", "subtract", "multiply", "divide", "modulo", "least", "greatest", "coalesce", "nullif"]


def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    numbers = st.floats(-20, 20).map(real)
    return st.one_of(
        st.builds(call, st.sampled_from(_ONE), inner),
        st.builds(call, st.sampled_from(_TWO), inner, inner),
        st.builds(lambda a, n: call("power", a, real(float(n))), inner, st.integers(0, 5)),
        st.builds(lambda a, n: call("round", a, Constant(n, "integer")), inner, st.integers(-2, 2)),
        st.builds(lambda a, low: call("clamp", a, real(low), real(low + 3.0)), inner, st.floats(-9, 9)),
        st.builds(lambda a, b: Case(((Call("less", (a, b), "boolean"), a),), b, "real"), inner, inner),
        st.builds(lambda a: Cast(Cast(a, "integer"), "real"), inner),
        numbers,
    )


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(st.sampled_from([X, Y, real(2.0)]), grown, max_leaves=8)


@given(EXPRESSIONS, st.floats(-2, 5) | st.none(), st.floats(0.5, 3) | st.none())
def test_no_value_leaves_its_range(expression: Expression, x: float | None, y: float | None) -> None:
    ends = prove_range(expression, BOUNDS)
    value: Value = evaluate(expression, {"x": x, "y": y})
    if ends is None or value is None:
        return
    slack = 1e-9 * (1 + max(abs(end) for end in ends))  # doubles round, ranges do not
    assert ends[0] - slack <= value <= ends[1] + slack  # type: ignore[operator]
