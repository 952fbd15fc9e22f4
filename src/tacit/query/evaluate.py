"""The value of an expression on one row, and of an output in one cell, by the meanings in `expressions.functions`.

Rows here are combinations of public keys, never rows of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tacit.errors import InternalError, show_name
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Value, children
from tacit.query.expressions.casts import cast
from tacit.query.expressions.functions import apply, of_kind
from tacit.query.key_tuples import Determined
from tacit.query.plan import Computed, Constantly, Grouped, Noisy, Output


def evaluate(expression: Expression, row: Mapping[str, Value]) -> Value:
    """Return the value of an expression on one row, which maps columns to values.

    >>> tens = Call("divide", (Column("age", "real"), Constant(10.0, "real")), "real")
    >>> evaluate(Call("floor", (tens,), "real"), {"age": 47.0}), evaluate(tens, {"age": None})
    (4.0, None)
    """
    leaves = [part for part in _inner_first(expression, {}) if isinstance(part, Column)]
    return evaluator(expression, leaves)([row[leaf.name] for leaf in leaves])


def evaluator(expression: Expression, leaves: Sequence[Expression]) -> Callable[[Sequence[Value]], Value]:
    """Return a function from the values of some parts of an expression to the expression's value.

    Every column must be a leaf or below a leaf. Parts are computed one after the other, without recursion.
    """
    inputs = {leaf: index for index, leaf in enumerate(leaves)}
    parts = _inner_first(expression, inputs)
    indices = {id(part): index for index, part in enumerate(parts)}
    leaf_indices = [_leaf_index(part, inputs) for part in parts]
    operands = [
        [indices[id(child)] for child in children(part)] if leaf_index is None else []
        for part, leaf_index in zip(parts, leaf_indices, strict=True)
    ]

    def run(values: Sequence[Value]) -> Value:
        known: list[Value] = []
        for part, leaf_index, inner in zip(parts, leaf_indices, operands, strict=True):
            if leaf_index is None:
                known.append(_step(part, [known[index] for index in inner]))
            else:
                known.append(of_kind(values[leaf_index], part.kind))
        return known[-1]

    return run


def _inner_first(expression: Expression, leaves: Mapping[Expression, int]) -> list[Expression]:
    """Return the distinct parts of an expression, each after its operands, without the parts below a leaf."""
    ordered: dict[int, Expression] = {}
    waiting: list[tuple[Expression, bool]] = [(expression, False)]
    while waiting:
        part, ready = waiting.pop()
        if id(part) in ordered:
            continue
        if ready or _leaf_index(part, leaves) is not None:
            ordered[id(part)] = part
            continue
        waiting.append((part, True))
        waiting.extend((child, False) for child in children(part))
    return list(ordered.values())


def _leaf_index(part: Expression, leaves: Mapping[Expression, int]) -> int | None:
    """Return the index of a part among the leaves, or None. A part of another class is not hashed: it may be deep."""
    return leaves[part] if any(type(leaf) is type(part) for leaf in leaves) and part in leaves else None


def _step(part: Expression, values: list[Value]) -> Value:
    """Return the value of one part from the values of its operands."""
    match part:
        case Constant(value=value):
            return value
        case Cast(operand=operand, kind=kind):
            return cast(values[0], operand.kind, kind)
        case Call(function=function, kind=kind):
            return apply(function, values, kind)
        case Case(kind=kind):
            return of_kind(choose(values), kind)
        case Column(name=name):
            raise InternalError(f"the column {show_name(name)} has no value.")


def choose(values: Sequence[Value]) -> Value:
    """Return the result of a CASE from condition, result, condition, result, …, and ELSE if the number is odd.

    >>> choose([None, "a", True, "b", "c"]), choose([False, "a"])
    ('b', None)
    """
    for index in range(0, len(values) - 1, 2):
        if values[index] is True:
            return values[index + 1]
    return values[-1] if len(values) % 2 else None


def evaluate_output(output: Output, estimates: Sequence[Value], keys: Sequence[Value]) -> Value:
    """Return the value of an output in one cell from the released aggregates and the cell's keys.

    Besides the listed functions, an output may use "cast", to its kind, and "case", with the arguments of `choose`. The
    parser limits the depth of outputs.

    >>> ratio = Computed("divide", (Noisy(0, "real"), Noisy(1, "integer")), "real")
    >>> evaluate_output(ratio, [10.0, 4], []), evaluate_output(ratio, [10.0, 0], [])
    (2.5, None)
    """
    match output:
        case Noisy(place=place, kind=kind):
            return of_kind(estimates[place], kind)
        case Grouped(place=place, kind=kind):
            return of_kind(keys[place], kind)
        case Determined(kind=kind):
            return of_kind(output.value(keys), kind)
        case Constantly(value=value):
            return value
        case Computed(function=function, arguments=arguments, kind=kind):
            values = [evaluate_output(argument, estimates, keys) for argument in arguments]
            if function == "case":
                return of_kind(choose(values), kind)
            return cast(values[0], arguments[0].kind, kind) if function == "cast" else apply(function, values, kind)
