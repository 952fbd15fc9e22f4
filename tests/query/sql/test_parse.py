# ruff: noqa: S608 - queries are text
from __future__ import annotations

import logging
from datetime import date
from fractions import Fraction

import pytest
import sqlglot

from tacit.errors import InvalidError, RefusedError, TacitError
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Value
from tacit.query.key_tuples import Determined
from tacit.query.plan import Ask, Computed, Constantly, Grouped, Noisy, Order, Output, Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.grammar import ALLOWED
from tacit.query.sql.parse import parse
from tacit.query.sql.row_expressions import LISTED

SURVEY = TablePolicy(
    name="survey",
    unit="person_id",
    max_groups=3,
    max_rows=5,
    neighbours="add/remove",
    columns={
        "person_id": ColumnPolicy(kind="integer"),
        "region": ColumnPolicy(kind="text", keys=("north", "south")),
        "income": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(200_000))),
        "age": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(120))),
        "visits": ColumnPolicy(kind="integer"),
        "score": ColumnPolicy(kind="real"),
        "urban": ColumnPolicy(kind="boolean"),
        "note": ColumnPolicy(kind="text"),
        "day": ColumnPolicy(kind="date"),
        "at": ColumnPolicy(kind="timestamp"),
        "name": ColumnPolicy(kind="text", hidden=True),
        "Größe": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(5, 2))),
        "Pair": ColumnPolicy(kind="boolean"),
        "pair": ColumnPolicy(kind="boolean"),
    },
)
ROWS = TablePolicy(
    name="rows",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="change one",
    columns={"x": ColumnPolicy(kind="real", bounds=(Fraction(-1), Fraction(1)))},
)
TABLES = {"survey": SURVEY, "rows": ROWS}


def plan_of(sql: str, keys: dict[str, list[Value]] | None = None) -> Plan:
    return parse(sql, TABLES, keys=keys)


def say(part: Expression | Output | None) -> str:
    """Return an expression or output as a short text: (function argument …)."""
    match part:
        case Constant(value=value) | Constantly(value=value):
            return repr(value) if isinstance(value, (str, float)) else str(value)
        case Cast(operand=operand, kind=kind):
            return f"({kind} {say(operand)})"
        case Call(function=function) | Computed(function=function):
            return f"({' '.join([function, *(say(argument) for argument in part.arguments)])})"
        case Case(branches=branches, otherwise=otherwise):
            return f"(case {' '.join(f'{say(a)}→{say(b)}' for a, b in branches)} else {say(otherwise)})"
        case _:
            return say_leaf(part)


def say_leaf(part: Column | Noisy | Grouped | Determined | None) -> str:
    match part:
        case Column(name=name):
            return name
        case Noisy(place=place):
            return f"#{place}"
        case Grouped(place=place):
            return f"key{place}"
        case Determined(sql=sql):
            return f"public {sql}"
        case None:
            return "-"


def summary(plan: Plan) -> dict[str, object]:
    """Return the parts of a plan that are not empty, in short form."""
    order = [f"{say(item.by)}{' desc' * item.descending}{' first' * item.nulls_first}" for item in plan.order]
    whole: dict[str, object] = {
        "where": say(plan.where) if plan.where is not None else None,
        "keys": {key.name: say(key.expression) for key in plan.keys},
        "values": [list(key.listed) for key in plan.keys],
        "aggregates": [
            " ".join([aggregate.ask.function, *map(say, aggregate.ask.values)]) for aggregate in plan.aggregates
        ],
        "outputs": {name: say(output) for name, output in plan.outputs},
        "having": say(plan.having) if plan.having is not None else None,
        "order": order,
        "limit": plan.limit,
        "offset": plan.offset,
    }
    return {name: value for name, value in whole.items() if value not in (None, [], {}, 0)}


AGE = "(clamp age 0 120)"
INCOME = "(clamp income 0.0 200000.0)"
BY_REGION = {"keys": {"region": "region"}, "values": [["north", "south"]]}

GOLDEN: list[tuple[str, dict[str, object]]] = [
    ("SELECT count(*) AS n FROM survey", {"aggregates": ["count"], "outputs": {"n": "#0"}}),
    ("select COUNT(*) from SURVEY;", {"aggregates": ["count"], "outputs": {"count_star()": "#0"}}),
    ("FROM survey SELECT count(1)", {"aggregates": ["count"], "outputs": {"count(1)": "#0"}}),
    ("(SELECT count() AS n FROM survey)", {"aggregates": ["count"], "outputs": {"n": "#0"}}),
    ("SELECT count(note) FROM survey", {"aggregates": ["count note"], "outputs": {"count(note)": "#0"}}),
    (
        "SELECT count(DISTINCT person_id) AS people FROM survey",
        {"aggregates": ["count_units"], "outputs": {"people": "#0"}},
    ),
    (
        "SELECT region, avg(income) AS income FROM survey GROUP BY region",
        {**BY_REGION, "aggregates": [f"avg {INCOME}"], "outputs": {"region": "key0", "income": "#0"}},
    ),
    ("SELECT mean(age) FROM survey", {"aggregates": [f"avg {AGE}"], "outputs": {"mean(age)": "#0"}}),
    (
        "SELECT sum(income) / count(*) AS ratio FROM survey WHERE age >= 18 AND urban",
        {
            "where": "(and (greater_equal age 18) urban)",
            "aggregates": [f"sum {INCOME}", "count"],
            "outputs": {"ratio": "(divide #0 #1)"},
        },
    ),
    (
        "SELECT region r, count(*) n FROM survey GROUP BY 1 HAVING n>9 ORDER BY n DESC, r NULLS FIRST LIMIT 5 OFFSET 2",
        {
            "keys": {"r": "region"},
            "values": [["north", "south"]],
            "aggregates": ["count"],
            "outputs": {"r": "key0", "n": "#0"},
            "having": "(greater #0 9)",
            "order": ["#0 desc", "key0 first"],
            "limit": 5,
            "offset": 2,
        },
    ),
    (
        "SELECT floor(age / 50) * 50 AS bin, count(*) AS n FROM survey GROUP BY bin ORDER BY 1",
        {
            "keys": {"bin": "(multiply (floor (divide (real age) 50.0)) 50.0)"},
            "values": [[0.0, 50.0, 100.0]],
            "aggregates": ["count"],
            "outputs": {"bin": "key0", "n": "#0"},
            "order": ["key0"],
        },
    ),
    (
        "SELECT age // 50, count(*) AS n FROM survey GROUP BY age // 50",
        {
            "keys": {"(age // 50)": "(integer (floor (divide (real age) 50.0)))"},
            "values": [[0, 1, 2]],
            "aggregates": ["count"],
            "outputs": {"(age // 50)": "key0", "n": "#0"},
        },
    ),
    (
        "SELECT CASE WHEN income < 1e4 THEN 'low' ELSE 'high' END AS level, count(*) AS n FROM survey GROUP BY level",
        {
            "keys": {"level": "(case (less income 10000.0)→'low' else 'high')"},
            "values": [["high", "low"]],
            "aggregates": ["count"],
            "outputs": {"level": "key0", "n": "#0"},
        },
    ),
    (
        "SELECT quarter(day) AS q, urban, count(*) AS n FROM survey GROUP BY q, urban",
        {
            "keys": {"q": "(quarter day)", "urban": "urban"},
            "values": [[1, 2, 3, 4], [False, True]],
            "aggregates": ["count"],
            "outputs": {"q": "key0", "urban": "key1", "n": "#0"},
        },
    ),
    (
        """WITH adults AS (SELECT *, income / 12 AS monthly FROM survey WHERE age >= 18),
        some AS (SELECT region AS r, monthly FROM adults WHERE monthly > 9)
        SELECT r, avg(monthly) FROM some GROUP BY r""",
        {
            "where": "(and (greater_equal age 18) (greater (divide income 12.0) 9.0))",
            "keys": {"r": "region"},
            "values": [["north", "south"]],
            "aggregates": [f"avg (divide {INCOME} 12.0)"],
            "outputs": {"r": "key0", "avg(monthly)": "#0"},
        },
    ),
    (
        "SELECT sum(a) FROM (SELECT age + 1 FROM survey) AS s(a)",
        {"aggregates": [f"sum (add {AGE} 1)"], "outputs": {"sum(a)": "#0"}},
    ),
    (
        "WITH survey AS (SELECT age * 2 AS age FROM survey WHERE urban) SELECT sum(age) AS s FROM survey",
        {"where": "urban", "aggregates": [f"sum (multiply {AGE} 2)"], "outputs": {"s": "#0"}},
    ),
    (
        "SELECT sum(age) AS s FROM (SELECT * REPLACE (age * 2 AS age) FROM survey)",
        {"aggregates": [f"sum (multiply {AGE} 2)"], "outputs": {"s": "#0"}},
    ),
    (
        "SELECT sum(clamp(TRY_CAST(note AS DOUBLE), 0, 9.5)) AS s FROM survey",
        {"aggregates": ["sum (clamp (real note) 0.0 9.5)"], "outputs": {"s": "#0"}},
    ),
    (
        "SELECT sum(CASE WHEN urban THEN 1 ELSE 0 END) AS n, avg(urban::INT) AS share FROM survey",
        {
            "aggregates": ["sum (case urban→1 else 0)", "avg (integer urban)"],
            "outputs": {"n": "#0", "share": "#1"},
        },
    ),
    (
        "SELECT round(avg(income), 2) AS a, a * 2 AS b, CASE WHEN count(*) > 9 THEN 'many' END AS c FROM survey",
        {
            "aggregates": [f"avg {INCOME}", "count"],
            "outputs": {
                "a": "(round #0 2)",
                "b": "(multiply (round #0 2) 2.0)",
                "c": "(case (greater #1 9) 'many')",
            },
        },
    ),
    (
        """SELECT count(*) AS n FROM survey WHERE note ILIKE 'A%' AND day >= '2024-01-01' AND age NOT IN (1, 2)
        AND visits BETWEEN 1 AND 5 AND score IS NOT NULL""",
        {
            "where": "(and (like (lower note) 'a%') (greater_equal day 2024-01-01) (not (in age 1 2)) "
            "(and (greater_equal visits 1) (less_equal visits 5)) (not (is_null score)))",
            "aggregates": ["count"],
            "outputs": {"n": "#0"},
        },
    ),
    (
        "SELECT count(*) AS n FROM survey WHERE visits + 1 > 5 OR -visits < 0.5 OR visits % 7 = 0",
        {
            "where": "(or (greater (add (real visits) 1.0) 5.0) (less (negate (real visits)) 0.5) "
            "(equal (modulo visits 7) 0))",
            "aggregates": ["count"],
            "outputs": {"n": "#0"},
        },
    ),
    (
        """SELECT count(*) AS n FROM survey WHERE date_trunc('hour', at) = '2024-05-01 10:00'
        AND extract(isodow FROM day) < 6 AND note || '!' = concat(note, '!') AND coalesce(urban, NULL) IS TRUE""",
        {
            "where": "(and (equal (date_trunc 'hour' at) 2024-05-01 10:00:00) "
            "(less (add (modulo (add (weekday day) 6) 7) 1) 6) "
            "(equal (concat note '!') (concat (coalesce note '') '!')) "
            "(coalesce (coalesce urban None) False))",
            "aggregates": ["count"],
            "outputs": {"n": "#0"},
        },
    ),
    (
        'SELECT avg("Größe") AS a, sum(größe) AS s FROM survey AS s1 WHERE S1."Größe" > 1',
        {
            "where": "(greater Größe 1.0)",
            "aggregates": ["avg (clamp Größe 0.0 2.5)", "sum (clamp Größe 0.0 2.5)"],
            "outputs": {"a": "#0", "s": "#1"},
        },
    ),
    (
        "SELECT count(*) AS n FROM survey WHERE person_id = 7",
        {"where": "(equal person_id 7)", "aggregates": ["count"], "outputs": {"n": "#0"}},
    ),
    (
        "SELECT sum(x * x) AS s FROM rows",
        {"aggregates": ["sum (multiply (clamp x -1.0 1.0) (clamp x -1.0 1.0))"], "outputs": {"s": "#0"}},
    ),
]


@pytest.mark.parametrize(("sql", "expected"), GOLDEN)
def test_queries_become_the_expected_plans(sql: str, expected: dict[str, object]) -> None:
    assert summary(plan_of(sql)) == expected


def test_a_plan_keeps_its_policy_and_the_query_without_comments() -> None:
    plan = plan_of("SELECT /* secret */ count(*) -- of people\nFROM survey;")
    assert plan.table is SURVEY
    assert plan.sql == "SELECT COUNT(*) FROM survey"
    assert plan_of(plan.sql).outputs == plan.outputs


def test_an_aggregate_that_is_named_twice_is_measured_once() -> None:
    plan = plan_of(
        "SELECT count(*), avg(income) AS a, count(*) + 1, COUNT(*) FROM survey HAVING avg(income) > 0 ORDER BY count(*)"
    )
    assert [aggregate.ask.function for aggregate in plan.aggregates] == ["count", "avg"]
    assert plan.order == (Order(by=Noisy(0, "integer"), descending=False, nulls_first=False),)


def test_equal_bundles_are_shared_by_index() -> None:
    plan = plan_of("SELECT count(*), count(1), sum(age), sum(age + 0), sum(AGE) FROM survey")
    assert [aggregate.bundles for aggregate in plan.aggregates] == [(0,), (0,), (1,)]  # count(*) and sum(age) share one
    assert len(plan.bundles) == 2


def test_bounds_of_an_aggregate_are_those_that_are_proved() -> None:
    plan = plan_of(
        "SELECT sum(age), sum(income / 4 - 5), avg(least(greatest(score, 0), 10)), sum(abs(age - 60)) FROM survey"
    )
    assert [aggregate.ask.bounds[0] for aggregate in plan.aggregates] == [
        (Fraction(0), Fraction(120)),
        (Fraction(-5), Fraction(49_995)),
        (Fraction(0), Fraction(10)),
        (Fraction(0), Fraction(60)),
    ]


def test_a_redefined_column_does_not_keep_its_bounds() -> None:
    with pytest.raises(RefusedError, match="visits has no bounds"):
        plan_of("SELECT sum(age) FROM (SELECT age * visits AS age FROM survey)")
    with pytest.raises(RefusedError, match="score has no bounds"):
        plan_of("WITH t AS (SELECT * REPLACE (score AS income) FROM survey) SELECT avg(income) FROM t")
    doubled = plan_of("SELECT sum(income) FROM (SELECT income * 1000 AS income FROM survey)")
    assert doubled.aggregates[0].ask.bounds[0] == (Fraction(0), Fraction(200_000_000))


def test_columns_are_clamped_inside_aggregates_and_raw_elsewhere() -> None:
    plan = plan_of("SELECT age, sum(age) FROM survey WHERE age > 10 GROUP BY age")
    assert (say(plan.where), say(plan.keys[0].expression)) == ("(greater age 10)", "age")
    assert say(plan.aggregates[0].ask.values[0]) == AGE


def test_integers_stay_integers_where_64_bits_are_proved_to_suffice() -> None:
    kinds = {
        aggregate.sql: aggregate.ask.values[0].kind
        for aggregate in plan_of(
            "SELECT sum(age * age), sum(age + visits % 5), sum(clamp(visits, 0, 9)), sum(clamp(visits + 1, 0, 9)), "
            "sum(age * 1.5), sum(age / 1), sum(length(left(note, 3)) % 4) FROM survey"
        ).aggregates
        if aggregate.ask.values
    }
    assert list(kinds.values()) == ["integer", "integer", "integer", "real", "real", "real", "integer"]


def test_a_column_named_in_another_case_is_found_unless_it_is_quoted_or_ambiguous() -> None:
    assert say(plan_of("SELECT count(*) FROM survey WHERE URBAN").where) == "urban"
    assert say(plan_of('SELECT count(*) FROM survey WHERE "Pair"').where) == "Pair"
    assert say(plan_of("SELECT count(*) FROM survey WHERE pair").where) == "pair"
    with pytest.raises(InvalidError, match="Did you mean 'urban'"):
        plan_of('SELECT count(*) FROM survey WHERE "URBAN"')
    with pytest.raises(RefusedError, match="ambiguous"):
        plan_of("SELECT count(*) FROM survey WHERE PAIR")


def test_keys_may_be_listed_with_the_query() -> None:
    plan = plan_of("SELECT note AS n, count(*) FROM survey GROUP BY n", {"n": ["a", "b", None]})
    assert plan.keys[0].values == ("a", "b", None)
    by_text = plan_of("SELECT year(day), count(*) FROM survey GROUP BY YEAR(day)", {"year( day )": [2023, 2024]})
    assert by_text.keys[0].values == (2023, 2024)
    by_column = plan_of("SELECT region AS r, count(*) FROM survey GROUP BY region", {"region": ["west"]})
    assert by_column.keys[0].values == ("west",)
    dates = plan_of("SELECT day, count(*) FROM survey GROUP BY day", {"day": [date(2024, 1, 1)]})
    assert dates.keys[0].values == (date(2024, 1, 1),)


def test_keys_that_belong_to_nothing_are_a_mistake() -> None:
    with pytest.raises(InvalidError, match="regoin") as mistake:
        plan_of("SELECT region, count(*) FROM survey GROUP BY region", {"regoin": ["west"]})
    assert mistake.value.argument == "keys"


def test_a_key_need_not_be_shown_and_may_be_computed_with() -> None:
    plan = plan_of("SELECT upper(region) AS u, count(*) FROM survey GROUP BY region, urban ORDER BY region || 'x'")
    assert summary(plan)["outputs"] == {"u": "(upper key0)", "count_star()": "#0"}
    assert [say(item.by) for item in plan.order] == ["(concat key0 'x')"]
    inner = plan_of("SELECT floor(age / 50) * 50 AS b, count(*) FROM survey GROUP BY floor(age / 50)")
    assert summary(inner)["outputs"] == {"b": "(multiply key0 50.0)", "count_star()": "#0"}


def test_an_alias_means_the_output_in_order_by_and_the_column_in_group_by() -> None:
    plan = plan_of("SELECT urban, sum(age) AS age, count(*) AS urban FROM survey GROUP BY urban ORDER BY age, urban")
    assert say(plan.keys[0].expression) == "urban"
    assert [say(item.by) for item in plan.order] == ["#0", "#1"]


def test_released_integers_need_no_proof_and_reals_keep_their_intervals() -> None:
    plan = plan_of(
        "SELECT count(*) * 100 AS a, count(*) / 2 AS b, CAST(count(*) AS DOUBLE) AS c, count(*) + 0.5 AS d FROM survey"
    )
    assert [output for _, output in plan.outputs] == [
        Computed("multiply", (Noisy(0, "integer"), Constantly(100, "integer")), "integer"),
        Computed("divide", (Noisy(0, "real"), Constantly(2.0, "real")), "real"),
        Noisy(0, "real"),
        Computed("add", (Noisy(0, "real"), Constantly(0.5, "real")), "real"),
    ]


def test_outputs_are_called_as_duckdb_calls_them_and_no_two_alike() -> None:
    plan = plan_of("SELECT COUNT(*), count(*), Sum(age) / 2, REGION, region FROM survey GROUP BY region")
    assert [name for name, _ in plan.outputs] == [
        "count_star()",
        "count_star()_1",
        "(sum(age) / 2)",
        "region",
        "region_1",
    ]


def test_different_values_are_told_apart_as_they_are_and_not_clamped() -> None:
    for sql, counted in (("age", Column("age", "integer")), ("income", Column("income", "real"))):
        (aggregate,) = plan_of(f"SELECT count(DISTINCT {sql}) FROM survey").aggregates
        assert aggregate.ask == Ask(function="count_distinct", values=(counted,))
    (aggregate,) = plan_of("SELECT count(DISTINCT x) FROM rows").aggregates
    assert aggregate.ask.function == "count_distinct"
    (aggregate,) = plan_of("SELECT count(DISTINCT person_id) FROM survey").aggregates
    assert aggregate.ask == Ask(function="count_units")


@pytest.mark.parametrize(
    ("sql", "function"),
    [
        ("var_pop(age)", "var_pop"),
        ("var_samp(age)", "var_samp"),
        ("variance(age)", "var_samp"),
        ("stddev_pop(age)", "stddev_pop"),
        ("stddev_samp(age)", "stddev_samp"),
        ("stddev(age)", "stddev_samp"),
        ("covar_pop(age, income)", "covar_pop"),
        ("covar_samp(age, income)", "covar_samp"),
        ("corr(age, income)", "corr"),
    ],
)
def test_spreads_by_their_names_in_duckdb(sql: str, function: str) -> None:
    (aggregate,) = plan_of(f"SELECT {sql} FROM survey").aggregates
    assert aggregate.ask.function == function
    assert len(aggregate.ask.values) == len(aggregate.ask.bounds) == 1 + sql.count(",")


def test_variances_and_deviations_of_one_value_share_their_sums() -> None:
    plan = plan_of("SELECT var_pop(age), var_samp(age), stddev(age), stddev_pop(age) FROM survey")
    assert (len(plan.bundles), len(plan.aggregates)) == (1, 4)


def test_a_cte_hides_a_table_only_where_it_is_in_sight() -> None:
    inside = "SELECT count(*) FROM (WITH rows AS (SELECT urban FROM survey) SELECT * FROM rows)"
    assert plan_of(inside).table is SURVEY
    outside = "SELECT count(*) FROM rows, (WITH rows AS (SELECT urban FROM survey) SELECT * FROM rows)"
    with pytest.raises(RefusedError, match="Joins"):
        plan_of(outside)
    assert plan_of("WITH other AS (SELECT * FROM survey) SELECT count(*) FROM rows").table is ROWS


def test_hidden_columns_are_left_out_of_a_star() -> None:
    with pytest.raises(InvalidError, match="Unknown column 'name'"):
        plan_of("SELECT count(name) FROM (SELECT * FROM survey)")


def test_a_thousand_columns_are_supported() -> None:
    names = [f"c{i}" for i in range(1000)]
    column = ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(1)))
    wide = TablePolicy(
        name="wide", unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns=dict.fromkeys(names, column)
    )
    plan = parse(f"SELECT {', '.join(f'avg({name})' for name in names)} FROM wide", {"wide": wide})
    assert len(plan.outputs) == len(plan.aggregates) == 1000


def test_long_chains_of_and_or_and_in_are_supported() -> None:
    ands = " AND ".join(f"visits <> {i}" for i in range(500))
    where = plan_of(f"SELECT count(*) AS n FROM survey WHERE {ands}").where
    assert isinstance(where, Call)
    assert len(where.arguments) == 500
    listed = ", ".join(str(i) for i in range(3000))
    assert plan_of(f"SELECT count(*) AS n FROM survey WHERE visits IN ({listed})").where is not None


def test_the_lists_of_nodes_agree() -> None:
    assert set(ALLOWED) >= LISTED


def test_the_parsers_warnings_do_not_repeat_the_query(caplog: pytest.LogCaptureFixture) -> None:
    warned = "WITH c AS (SELECT 1) SET age = 1 SELECT count(*) FROM c"
    with caplog.at_level(logging.WARNING), pytest.raises(TacitError):
        plan_of(warned)
    assert not caplog.records
    with caplog.at_level(logging.WARNING), pytest.raises(sqlglot.ParseError):
        sqlglot.parse(warned, dialect="duckdb")
    assert caplog.records  # only tacit silences them
