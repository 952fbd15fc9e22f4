from __future__ import annotations

import math

import pytest

from tacit.errors import InternalError
from tacit.query.evaluate import choose, evaluate, evaluate_output, evaluator
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression
from tacit.query.plan import Computed, Constantly, Grouped, Noisy

AGE, NAME = Column("age", "integer"), Column("name", "text")


def test_columns_constants_casts_and_calls_are_evaluated() -> None:
    half = Call("divide", (Cast(AGE, "real"), Constant(2.0, "real")), "real")
    assert evaluate(half, {"age": 7}) == 3.5
    assert evaluate(half, {"age": None}) is None


def test_nan_in_a_real_column_is_null() -> None:
    x = Column("x", "real")
    assert evaluate(x, {"x": math.nan}) is None
    assert evaluate(Call("is_null", (x,), "boolean"), {"x": math.nan}) is True


def test_case_takes_the_first_true_branch_and_skips_null_conditions() -> None:
    over = Call("greater", (AGE, Constant(17, "integer")), "boolean")
    expression = Case(((over, Constant("adult", "text")),), Constant("other", "text"), "text")
    assert [evaluate(expression, {"age": age}) for age in (18, 17, None)] == ["adult", "other", "other"]
    open_ended = Case(((over, Constant("adult", "text")),), None, "text")
    assert [evaluate(open_ended, {"age": age}) for age in (18, 17)] == ["adult", None]


def test_choose_reads_conditions_and_results_in_turn() -> None:
    assert choose([False, 1, True, 2, True, 3, 4]) == 2
    assert choose([False, 1, None, 2, 4]) == 4
    assert choose([False, 1, None, 2]) is None


def test_depth_is_no_matter() -> None:
    expression: Expression = AGE
    for _ in range(5001):
        expression = Call("negate", (expression,), "integer")
    assert evaluate(expression, {"age": 3}) == -3


def test_parts_that_are_shared_are_computed_once() -> None:
    expression: Expression = Constant(1, "integer")
    for _ in range(60):
        expression = Call("least", (expression, expression), "integer")  # 2^60 paths, 61 parts
    assert evaluate(expression, {}) == 1


def test_a_part_may_replace_its_operands() -> None:
    over = Call("greater", (AGE, Constant(17, "integer")), "boolean")
    run = evaluator(Call("not", (over,), "boolean"), [over])
    assert [run([truth]) for truth in (True, False, None)] == [False, True, None]


def test_a_column_without_a_value_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="age"):
        evaluator(Call("negate", (AGE,), "integer"), [])([])


def test_outputs_are_computed_from_estimates_and_keys() -> None:
    count, total, region = Noisy(0, "integer"), Noisy(1, "real"), Grouped(0, "text")
    ratio = Computed("divide", (total, Noisy(0, "real")), "real")
    assert evaluate_output(ratio, [4, 10.0], ["north"]) == 2.5
    assert evaluate_output(ratio, [0, 10.0], ["north"]) is None
    assert evaluate_output(region, [4, 10.0], ["north"]) == "north"
    assert evaluate_output(Constantly("x", "text"), [], []) == "x"
    assert evaluate_output(Computed("add", (count, Constantly(1, "integer")), "integer"), [4, 0.0], []) == 5


def test_a_real_output_of_a_whole_number_is_a_float() -> None:
    assert type(evaluate_output(Noisy(0, "real"), [4], [])) is float
    assert type(evaluate_output(Computed("add", (Noisy(0, "integer"), Noisy(0, "integer")), "real"), [4], [])) is float


def test_outputs_may_be_cast_and_chosen() -> None:
    many = Computed("greater", (Noisy(0, "integer"), Constantly(10, "integer")), "boolean")
    label = Computed("case", (many, Constantly("many", "text"), Constantly("few", "text")), "text")
    assert [evaluate_output(label, [n], []) for n in (11, 10)] == ["many", "few"]
    assert evaluate_output(Computed("cast", (Noisy(0, "real"),), "integer"), [2.5], []) == 3
    assert evaluate_output(Computed("case", (many, Noisy(0, "integer")), "integer"), [1], []) is None
