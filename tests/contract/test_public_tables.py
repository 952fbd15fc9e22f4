"""The size of a public table, and the number of rows that share a value of a column, on every engine."""

from __future__ import annotations

from collections import Counter
from math import isnan

from contract.examples import examples
from contract.tables import KINDS, Opener, Row, rows
from tacit.query.expressions import Value


def is_missing(value: Value) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


@examples(40, rows())
def test_sizes_and_repetitions_are_what_python_counts(engine: Opener, held: list[Row]) -> None:
    with engine(KINDS, held) as opened:
        policy = opened.public(opened.name, KINDS)
    assert policy.size == len(held)
    for name in KINDS:
        counts = Counter(row[name] for row in held if not is_missing(row[name]))  # 0.0 and -0.0 are equal here too
        assert policy.columns[name].copies == max(counts.values(), default=0), name
