"""The integers of regressions, skewness, `bool_or` and `arg_max`: on every engine those that Python computes."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

from bounded import Row, measured
from contract.tables import Opener
from tacit.query.expressions import Kind
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

KINDS: dict[str, Kind] = {"u": "integer", "g": "text", "x": "real", "n": "integer", "b": "boolean"}
SQL = (
    "SELECT b, regr_slope(x, n) AS s, regr_r2(x, n) AS r, skewness(x) AS k, bool_or(x > 3) AS o, bool_and(n < 5) AS a, "
    "arg_max(g, sum(x)) AS m, arg_min(g, sum(n - 5)) AS l, arg_min(g, count(n)) AS c FROM t GROUP BY b"
)


def plan() -> Plan:
    columns = {
        "u": ColumnPolicy(kind="integer"),
        "g": ColumnPolicy(kind="text", keys=("a", "b", "é")),
        "x": ColumnPolicy(kind="real", bounds=(Fraction(-1), Fraction(10))),
        "n": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(10))),
        "b": ColumnPolicy(kind="boolean"),
    }
    table = TablePolicy(name="t", unit="u", max_groups=2, max_rows=2, neighbours="add/remove", columns=columns)
    return parse(SQL, {"t": table})


def rows() -> list[Row]:
    xs = [3.3, -0.5, 10.0, 99.0, inf, -inf, nan, None, 0.1, 7.25]
    ns = [0, 10, 3, -7, None, 5, 12]
    return [
        {
            "u": number // 3 % 17,
            "g": ["a", "b", "é", "z", None][number % 5],
            "x": xs[number % len(xs)],
            "n": ns[number % len(ns)],
            "b": [True, False][number % 4 == 0],
        }
        for number in range(70)
    ]


def test_engines_measure_what_python_measures(engine: Opener) -> None:
    asked, data = plan(), rows()
    with engine(KINDS, data) as source:
        found = source.measure_with(asked, (1, 2))
    assert [list(integers) for integers in found] == measured(asked, data)
