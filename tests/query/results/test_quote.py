"""Quotes: the cost and the expected errors of a query before it is charged."""

from __future__ import annotations

import html
from dataclasses import replace
from fractions import Fraction

import pytest

from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.pricing.price import Cost, price
from tacit.query.results.quote import Quote
from tacit.query.results.release import release
from tacit.query.sql.parse import parse

TABLE = TablePolicy(
    name="t",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={
        "x": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(10))),
        "region": ColumnPolicy(kind="text", keys=("north", "south")),
        "level": ColumnPolicy(kind="text", keys=("low", None)),
    },
)


def planned(sql: str, *, confidence: float = 0.95, assume: int | None = None) -> Quote:
    plan = parse(sql, {"t": TABLE})
    return Quote(plan, price(plan, Cost(epsilon=1)), confidence, assume)


def test_sums_of_multiples_have_their_error_by_the_union_bound() -> None:
    asked = planned(
        "SELECT count(*) AS n, sum(x) AS s, sum(x) - 2 * count(*) + 7 AS mix, -sum(x) / 4 AS part, "
        "count(*) * 1.5 AS more, count(*) - count(*) AS none, sum(x) / count(*) AS ratio, 5 AS five FROM t"
    )
    both = planned("SELECT count(*) AS n, sum(x) AS s FROM t", confidence=0.975)
    assert asked.error["mix"] == pytest.approx(both.error["s"] + 2 * both.error["n"])
    assert asked.error["part"] == pytest.approx(asked.error["s"] / 4)
    assert asked.error["more"] == pytest.approx(asked.error["n"] * 1.5)
    assert asked.error["none"] == 0
    assert asked.unknown == ("ratio",)
    assert "five" not in asked.error
    assert "ratio: the error is not known before" in str(asked)


def test_the_error_of_a_sum_is_half_the_interval_that_comes_with_the_answer() -> None:
    asked = planned("SELECT sum(x) - 2 * count(*) AS mix FROM t")
    exact = [[100] for bundle in asked.plan.bundles for _ in bundle.measures]
    ((_, low, high),) = release(asked.plan, asked.price, exact, {}).intervals().rows()
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert (high - low) / 2 == pytest.approx(asked.error["mix"], rel=0.05)  # sums are rounded outward to whole numbers


def test_an_error_that_depends_on_the_size_of_a_group_says_so() -> None:
    worst = str(planned("SELECT avg(x) AS m, count(*) AS n FROM t"))
    assert (
        "m: off by at most 10 with 95% confidence (the worst case; for the error in a group of N units, add assume=N"
        in worst
    )
    assert "n: off by at most" in worst
    assert "confidence (the worst case" not in worst.split("n: off")[1]
    assumed = str(planned("SELECT avg(x) AS m FROM t", assume=1000))
    assert "if there are 1,000 rows with a value" in assumed
    present = str(planned("SELECT avg(coalesce(x, 0)) AS m FROM t", assume=1000))
    assert "if there are 1,000 rows\n" in f"{present}\n"


def test_the_groups_and_what_is_left_out_are_said() -> None:
    said = str(planned("SELECT region, level, count(*) FROM t GROUP BY region, level"))
    assert "Groups: 2 values of region and 2 values of level. Rows with another region or level, and" in said
    assert "rows where region is NULL" in said
    assert "level is NULL" not in said
    assert "not counted" not in str(planned("SELECT count(*) FROM t"))


def test_it_is_short_on_one_line_and_whole_in_a_notebook() -> None:
    asked = planned('SELECT count(*) AS n, sum(x) / count(*) AS "<r>" FROM t')
    assert repr(asked).startswith("<Quote: costs ε = 1; n ± ")
    assert repr(asked).endswith("<r> ± ?>")
    assert "<r>" not in asked._repr_html_()
    assert "costs ε = 1." in asked._repr_html_()
    wide = planned("SELECT " + ", ".join(f"count(*) AS n{i}" for i in range(100)) + " FROM t")  # noqa: S608 - a question is text
    assert len(repr(wide)) < 200


def test_groups_that_are_found_are_said_to_be() -> None:
    free = replace(TABLE, columns={**TABLE.columns, "note": ColumnPolicy(kind="text")})
    plan = parse("SELECT region, note, count(*) AS n FROM t GROUP BY region, note", {"t": free})
    said = str(Quote(plan, price(plan, Cost(epsilon=1, delta=1e-6)), 0.95, None))
    assert "Groups: 2 values of region. Rows with another region, and" in said
    assert "Groups of note are found in the data, privately" in said


AT_MOST_3_ROWS = "as at most 3 rows a group (more are scaled down to that)."


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "SELECT region, count(*) FROM t GROUP BY region",
            f"Each unit (column 'who') counts in at most 2 groups and {AT_MOST_3_ROWS}",
        ),
        (
            "SELECT count(*) FROM t",
            f"Each unit (column 'who') counts {AT_MOST_3_ROWS}",
        ),
        (
            "SELECT region, count(DISTINCT who) FROM t GROUP BY region",
            "Each unit (column 'who') counts in at most 2 groups.",
        ),
        (
            "SELECT count(DISTINCT x) FROM t",
            "Each unit (column 'who') counts with at most 3 different values a group.",
        ),
    ],
)
def test_how_much_of_a_unit_counts_is_said(sql: str, said: str) -> None:
    columns = {**TABLE.columns, "who": ColumnPolicy(kind="integer")}
    plan = parse(sql, {"t": replace(TABLE, unit="who", max_groups=5, max_rows=3, columns=columns)})
    one = Quote(plan, price(plan, Cost(epsilon=1)), 0.95, None)
    assert said in str(one).splitlines()
    assert html.escape(said) in one._repr_html_()
    assert "counts" not in str(planned(sql.replace("who", "x")))
