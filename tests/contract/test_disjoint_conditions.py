"""Conditions that are recognised as disjoint: on every engine no row satisfies two of them."""

from __future__ import annotations

import random
from itertools import combinations

from contract.tables import Opener
from row_conditions import GROUPS, KINDS, all_rows, condition, where
from row_values import row_values
from tacit.errors import TacitError
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Expression, Value
from tacit.query.expressions.disjoint_conditions import are_disjoint, cases

EACH = 8


def conditions() -> list[Expression]:
    """Return random conditions on each group of columns."""
    chance, found = random.Random(20260722), list[Expression]()  # noqa: S311 - test data
    for number, columns in enumerate(GROUPS, 1):
        while len(found) < EACH * number:
            try:
                found.append(where(condition(chance, columns)))
            except TacitError:  # such as two kinds of results in one CASE
                continue
    return found


def table() -> list[dict[str, Value]]:
    """Return all rows over the values of each group of columns; the other columns are NULL there."""
    nothing: dict[str, Value] = dict.fromkeys(KINDS)
    return [{**nothing, **row} for columns in GROUPS for row in all_rows(columns)]


def test_no_row_of_an_engine_satisfies_two_disjoint_conditions(engine: Opener) -> None:
    found, rows = conditions()[:: 4 if engine.name == "spark" else 1], table()  # Spark compiles each for a second
    values = row_values(engine, KINDS, rows, found)
    truths = [[row[index] for row in values] for index in range(len(found))]
    assert truths == [[evaluate(each, row) for row in rows] for each in found]
    known = [cases(each) for each in found]
    pairs = [
        (one, other) for one, other in combinations(range(len(found)), 2) if are_disjoint(known[one], known[other])
    ]
    assert len(pairs) > len(found) / 4
    for one, other in pairs:
        assert (True, True) not in set(zip(truths[one], truths[other], strict=True))
