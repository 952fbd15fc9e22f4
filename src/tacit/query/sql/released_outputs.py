"""Expressions over released values as outputs of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tacit.errors import InternalError
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression
from tacit.query.key_tuples import Determined
from tacit.query.plan import Computed, Constantly, Grouped, Noisy, Output


def output_of(expression: Expression, outputs: Mapping[Expression, Output]) -> Output:
    """Return an expression over released values as an output."""
    if expression in outputs:
        return outputs[expression]
    match expression:
        case Constant(value=value, kind=kind):
            return Constantly(value, kind)
        case Cast(operand=operand, kind="real") if operand.kind == "integer":
            return _as_real(output_of(operand, outputs))
        case Cast(operand=operand, kind=kind):
            return Computed("cast", (output_of(operand, outputs),), kind)
        case Call(function=function, arguments=arguments, kind=kind):
            return Computed(function, tuple(output_of(argument, outputs) for argument in arguments), kind)
        case Case(branches=branches, otherwise=otherwise, kind=kind):
            parts = [part for branch in branches for part in branch] + ([] if otherwise is None else [otherwise])
            return Computed("case", tuple(output_of(part, outputs) for part in parts), kind)
        case Column():
            raise InternalError("an output reads a column that is not released.")


def _as_real(output: Output) -> Output:
    """Return a whole number as a real: the same output of another kind, so that its interval stays known."""
    match output:
        case Noisy(place=place):
            return Noisy(place, "real")
        case Grouped(place=place):
            return Grouped(place, "real")
        case Determined():
            return replace(output, kind="real")
        case Constantly(value=value):
            return Constantly(value, "real")
        case Computed(function=function, arguments=arguments):
            return Computed(function, arguments, "real")
