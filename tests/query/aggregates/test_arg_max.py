"""`arg_max` and `arg_min`: their totals, what one unit reveals in all small tables, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import log

import pytest

from bounded import Row, contributions
from oracles_selection import exponential, permute_and_flip, real_weights
from tacit.errors import RefusedError
from tacit.guarantees.events import Neighbours
from tacit.query.choice_law import ChoiceLaw, choice_law
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse

VALUES = ("a", "b", "c")
COLUMNS = {
    "u": ColumnPolicy(kind="integer"),
    "v": ColumnPolicy(kind="text", keys=VALUES),
    "x": ColumnPolicy(kind="integer", bounds=(Fraction(-2), Fraction(3))),
    "wide": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(200))),
    "free": ColumnPolicy(kind="text"),
}


def plan(sql: str, relation: Neighbours = "add/remove", *, unit: bool = True) -> Plan:
    table = TablePolicy(
        name="t", unit="u" if unit else None, max_groups=1, max_rows=2, neighbours=relation, columns=COLUMNS
    )
    return parse(f"SELECT {sql} AS a FROM t", {"t": table})  # noqa: S608 - a test's own text


def totals(made: Plan, units: Sequence[Sequence[Row]]) -> list[int]:
    """The integers from which a value is drawn, by the plain semantics of measures."""
    (bundle,) = made.bundles
    sums = [0] * len(VALUES)
    for rows in units:
        integers = [x for measure in bundle.measures for x in contributions(measure, rows, made.table.rows)]
        sums = [a + b for a, b in zip(sums, integers[: len(VALUES)], strict=True)]
    return sums


def test_totals_are_the_counts_and_sums_of_each_value() -> None:
    rows: list[Row] = [
        {"u": 1, "v": v, "x": x} for v, x in (("a", 3), ("b", -2), ("b", 9), (None, 3), ("z", 3), ("a", None))
    ]
    units = [[row] for row in rows]
    for sql, expected in (
        ("arg_max(v, count(*))", [2, 2, 0]),
        ("arg_max(v, count(x))", [1, 2, 0]),
        ("arg_min(v, sum(x))", [3, 1, 0]),
    ):
        made = plan(sql)
        one = 1 << made.bundles[0].measures[0].fraction_bits
        assert totals(made, units) == [one * each for each in expected], sql
        assert made.bundles[0].least is sql.startswith("arg_min")
    assert plan("arg_max(v, count(*))").bundles == plan("mode(v)").bundles


def test_the_same_rows_count_for_every_value() -> None:
    """A unit with rows of all values adds no more than its limit to all totals together."""
    made = plan("arg_max(v, sum(x))")
    rows: list[Row] = [{"v": v, "x": 3} for v in VALUES for _ in range(4)]
    assert sum(map(abs, totals(made, [rows]))) <= made.bundles[0].contribution
    assert sum(map(abs, totals(made, [rows[:2]]))) == made.bundles[0].contribution  # attained


ROWS: list[Row] = [{"v": v, "x": x} for v, x in product(("a", "b", "z"), (-2, 3, None))]
UNITS = [list(rows) for size in (1, 2, 3) for rows in combinations_with_replacement(ROWS, size)]
OTHERS: list[list[list[Row]]] = [[], [[{"v": "a", "x": 3}]] * 3, [[{"v": "b", "x": -2}], [{"v": "c", "x": 3}]]]


def largest_loss(made: Plan, law: ChoiceLaw) -> float:
    """Return the largest loss of a choice over all pairs of neighbours, from its exact probabilities."""
    draw = exponential if law.in_rho else permute_and_flip
    known: dict[tuple[int, ...], tuple[Fraction, ...]] = {}

    def chances(units: Sequence[Sequence[Row]]) -> tuple[Fraction, ...]:
        scores = tuple(-x if law.least else x for x in totals(made, units))
        if scores not in known:
            known[scores] = draw(real_weights([Fraction(x) for x in scores], 1 / law.amount))
        return known[scores]

    worst = 0.0
    for others in OTHERS:
        tables = [chances([*others, unit]) for unit in UNITS]
        ends = [chances(others)] if made.table.neighbours == "add/remove" else list(set(tables))
        for one in set(tables):
            for other in ends:
                worst = max(worst, *(abs(log(p / q)) for p, q in zip(one, other, strict=True)))
    return worst


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
@pytest.mark.parametrize("sql", ["arg_max(v, sum(x))", "arg_min(v, sum(x))", "arg_min(v, count(x))"])
def test_no_unit_reveals_more_than_epsilon_in_all_small_tables(sql: str, relation: Neighbours) -> None:
    made = plan(sql, relation)
    law = choice_law(made, made.bundles[0], epsilon=Fraction(1))
    worst = largest_loss(made, law)
    assert worst <= 1 + 1e-12
    assert worst > 0.5  # the scale is not far larger than needed


def test_the_least_total_is_drawn_for_arg_min() -> None:
    for sql, best in (("arg_max(v, sum(x))", 1), ("arg_min(v, sum(x))", 2)):
        made = plan(sql)
        law = choice_law(made, made.bundles[0], epsilon=Fraction(100))
        assert law.choose_all([10**12, 2 * 10**12, -(10**12)] * 2) == [best, best]


def test_the_shortfall_of_a_sum_is_in_its_own_unit() -> None:
    made = plan("arg_max(v, sum(x))")
    law = choice_law(made, made.bundles[0], epsilon=Fraction(1))
    assert law.shortfall(Fraction(1, 20)) == pytest.approx(2 * 3 * log(2 / 0.05))  # rows · max|x| · ln((m-1)/β)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("arg_max(v, x)", "would show the v of one row"),
        ("arg_max(v, avg(x))", "compares counts and sums"),
        ("arg_max(v, count(DISTINCT x))", "compares counts and sums"),
        ("arg_max(u, count(*))", "unit column"),
        ("arg_max(v, count(u))", "unit column"),
        ("arg_max(v, sum(u))", "unit column"),
        ("arg_max(free, count(*))", "not public"),
        ("arg_max(wide, sum(x))", "would compare 201 sums; the limit is 100"),
        ("arg_max(v, sum(sum(x)))", "inside an aggregate"),
        ("arg_max(mode(v), count(*))", "inside an aggregate"),
        ("arg_max(v, sum(length(free)))", "needs bounds"),
    ],
)
def test_other_forms_are_refused(sql: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why.replace("(", r"\(").replace(")", r"\)")):
        plan(sql)
