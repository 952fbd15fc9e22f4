"""GROUP BY ALL and lists of quantiles are the queries that name every group and every quantile."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sqlglot

from tacit.errors import RefusedError
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.item_expansions import expand_items
from tacit.query.sql.names import to_sql
from tacit.query.sql.parse import parse

TABLE = TablePolicy(
    name="t",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={
        "x": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(9))),
        "g": ColumnPolicy(kind="text", keys=("a", "b")),
    },
)


def expanded(sql: str) -> str:
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    assert isinstance(tree, sqlglot.exp.Select)
    expand_items(tree)
    return to_sql(tree)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("SELECT g, count(*) FROM t GROUP BY ALL", "SELECT g, count(*) FROM t GROUP BY 1"),
        ("SELECT sum(x), g FROM t GROUP BY ALL", "SELECT sum(x), g FROM t GROUP BY 2"),
        ("SELECT count(*) FROM t GROUP BY ALL", "SELECT count(*) FROM t"),
        ("SELECT g, 7, sum(x) / count(*) FROM t GROUP BY ALL", "SELECT g, 7, sum(x) / count(*) FROM t GROUP BY 1"),
        (
            "SELECT upper(g) AS g, x > 3, count(*) FROM t GROUP BY ALL",
            "SELECT upper(g) AS g, x > 3, count(*) FROM t GROUP BY 1, 2",
        ),
        (
            "SELECT g, rank() OVER (ORDER BY g) FROM t GROUP BY ALL",
            "SELECT g, rank() OVER (ORDER BY g) FROM t GROUP BY 1",
        ),
        ("SELECT quantile_cont(x, [0.25, 0.5]) FROM t", "SELECT quantile_cont(x, 0.25), quantile_cont(x, 0.5) FROM t"),
        (
            "SELECT quantile_disc(x, [0.1]) AS q, g FROM t GROUP BY 2 ORDER BY 2",
            'SELECT quantile_disc(x, 0.1) AS "q_0.1", g FROM t GROUP BY 2 ORDER BY 2',
        ),
        (
            "SELECT quantile(x, [0, 0.5]) AS q, g FROM t GROUP BY 2 ORDER BY 1, 2",
            'SELECT quantile(x, 0) AS "q_0", quantile(x, 0.5) AS "q_0.5", g FROM t GROUP BY 3 ORDER BY 1, 3',
        ),
        (
            "SELECT quantile_cont(x, [0.1, 0.9]), g FROM t GROUP BY ALL",
            "SELECT quantile_cont(x, 0.1), quantile_cont(x, 0.9), g FROM t GROUP BY 3",
        ),
    ],
)
def test_a_short_form_is_its_full_form(short: str, full: str) -> None:
    found, named = (sqlglot.parse_one(sql, dialect="duckdb") for sql in (expanded(short), full))
    assert to_sql(found).replace('"', "") == to_sql(named).replace('"', "")
    if "OVER" not in short:
        first, second = (parse(sql, {"t": TABLE}) for sql in (short, full))
        assert (first.keys, first.bundles, first.order) == (second.keys, second.bundles, second.order)
        assert [name for name, _ in first.outputs] == [name for name, _ in second.outputs]


@pytest.mark.parametrize(
    "sql", ["SELECT *, count(*) FROM t GROUP BY ALL", "SELECT quantile_cont(x, [0.1, 0.9]) + 1 FROM t"]
)
def test_other_short_forms_stay_and_are_refused(sql: str) -> None:
    assert expanded(sql) == to_sql(sqlglot.parse_one(sql, dialect="duckdb"))
    with pytest.raises(RefusedError):
        parse(sql, {"t": TABLE})
