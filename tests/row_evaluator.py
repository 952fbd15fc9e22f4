"""The value of an expression on many rows, by `tacit.query.evaluate`: the order of its parts is found once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tacit.query.evaluate import evaluator
from tacit.query.expressions import Column, Expression, Value, walk

Run = Callable[[Sequence[Value]], Value]
_MOST = 500
_prepared: dict[int, tuple[Expression, list[str], Run]] = {}
"""By identity, with the expression, so that no other has its number: 0.0 and -0.0 are equal, and differ as texts."""


def evaluate(expression: Expression, row: Mapping[str, Value]) -> Value:
    """Return the value of an expression on one row, which maps columns to values."""
    if id(expression) not in _prepared:
        if len(_prepared) == _MOST:
            _prepared.clear()
        leaves = list(dict.fromkeys(part for part in walk(expression) if isinstance(part, Column)))
        _prepared[id(expression)] = expression, [leaf.name for leaf in leaves], evaluator(expression, leaves)
    _, names, run = _prepared[id(expression)]
    return run([row[name] for name in names])
