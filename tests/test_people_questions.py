"""Questions about people, not rows: subqueries that group by the unit, through the whole path of a database."""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

from datetime import date
from typing import Any

import pandas as pd
import pytest

import tacit as tc
from tacit.database import Database
from tacit.errors import ColumnNotFoundError, InvalidError, RefusedError, TacitError
from tacit.guarantees.events import Neighbours
from tacit.guarantees.filters import Budget
from tacit.query.plan import Plan

PEOPLE = 60
TOWNS = ["Bern", "Chur", "Genf"]
HUGE = 10**6
"""An ε so large that noise is 0 almost surely: the answers are those of plain SQL."""


def visits() -> pd.DataFrame:
    """Person p has p % 5 + 1 visits; person 0's day is in January, and every seventh person has an emergency."""
    rows = [
        {
            "person_id": person,
            "town": TOWNS[(person + visit) % 3],
            "day": date(2024, 1 + visit, 1 + person % 28),
            "cost": 10.0 * visit + 0.25,
            "minutes": 15 * visit,
            "emergency": person % 7 == 0 and visit == 0,
        }
        for person in range(PEOPLE)
        for visit in range(person % 5 + 1)
    ]
    return pd.DataFrame([*rows, {**rows[0], "person_id": None, "cost": 99.0}])


def opened(neighbours: Neighbours = "add/remove", budget: Budget | None = None, **more: Any) -> Database:  # noqa: ANN401 - arguments of tc.open
    policy: dict[str, Any] = {
        "name": "visits",
        "unit": "person_id",
        "keys": {"town": TOWNS},
        "bounds": {"cost": (0, 100), "day": (date(2024, 1, 1), date(2024, 12, 31))},
        "public": {"regions": pd.DataFrame({"place": TOWNS, "region": ["north", "east", "west"]})},
    }
    return tc.open(
        visits(),
        neighbours=neighbours,
        budget=budget or tc.ApproxDP(epsilon=10**9, delta=1e-3),
        **(policy | more),
    )


def rows(sql: str, db: Database | None = None, **more: Any) -> list[tuple[object, ...]]:  # noqa: ANN401 - arguments of db.sql
    with db or opened() as found:
        return [tuple(row) for row in found.sql(sql, epsilon=HUGE, **more).rows()]


VISITS = "SELECT person_id, count(*) AS v FROM visits GROUP BY person_id"
BERN, MATCHES = "town = 'Bern'", "lower(town) LIKE 'b%n%'"


def total_epsilon(guarantee: object) -> float:
    assert isinstance(guarantee, (tc.PureDP, tc.ApproxDP))
    return float(guarantee.epsilon)


def visits_where(condition: str) -> str:
    return VISITS.replace("GROUP", f"WHERE {condition} GROUP")


# --- ordinary questions ---------------------------------------------------------------------------------------------


def test_the_average_number_of_visits_of_a_person_needs_no_limit() -> None:
    ((average, middle, people),) = rows(f"SELECT avg(v), median(v), count(*) FROM ({VISITS})", bounds={"v": (0, 10)})
    assert (average, middle, people) == (3, 3, PEOPLE)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT v, count(*) FROM (" + VISITS + ") GROUP BY v", [(v, 12) for v in range(1, 6)]),
        (
            "SELECT CASE WHEN v > 2 THEN 'often' ELSE 'seldom' END AS k, count(*) FROM (" + VISITS + ") GROUP BY k",
            [("often", 36), ("seldom", 24)],
        ),
        (
            "SELECT avg(e) FROM (SELECT person_id, bool_or(emergency) AS e FROM visits GROUP BY person_id)",
            [(9 / 60,)],
        ),
        (
            "SELECT sum(e) FROM (SELECT max(CAST(emergency AS INTEGER)) AS e FROM visits GROUP BY person_id)",
            [(9,)],
        ),
        (
            "SELECT v, count(*) FROM (SELECT count(DISTINCT town) AS v FROM visits GROUP BY person_id) GROUP BY 1",
            [(0, 0), (1, 12), (2, 12), (3, 36)],
        ),
        (
            "SELECT month(d), count(*) FROM (SELECT max(day) AS d FROM visits GROUP BY person_id) GROUP BY 1 LIMIT 5",
            [(m, 12) for m in range(1, 6)],
        ),
        (
            "SELECT count(*) FROM (SELECT person_id FROM visits WHERE cost > 5 GROUP BY 1 HAVING count(*) >= 2)",
            [(36,)],
        ),
        ("SELECT count(DISTINCT person_id) FROM (" + VISITS + ") WHERE v > 1 AND person_id < 30", [(24,)]),
        (
            "SELECT avg(f) FROM (SELECT avg(cost) FILTER (WHERE cost < 9) AS f FROM visits GROUP BY person_id)",
            [(0.25,)],
        ),
    ],
)
def test_ordinary_questions_have_the_answers_of_plain_sql(sql: str, expected: list[tuple[object, ...]]) -> None:
    found = rows(sql, bounds={"v": (1, 5)} if VISITS in sql and "GROUP BY v" in sql else None)
    assert [tuple(map(_close, row)) for row in found] == [tuple(map(_close, row)) for row in expected]


def _close(value: object) -> object:
    return round(value, 2) if isinstance(value, float) else value


def test_rows_by_person_and_month_take_a_reach() -> None:
    monthly = "SELECT person_id, month(day) AS m, sum(cost) AS s FROM visits GROUP BY person_id, month(day)"
    sql = f"SELECT m, count(*) AS n, avg(s) AS s FROM ({monthly}) GROUP BY m HAVING count(*) > 0"
    with opened() as db, pytest.raises(InvalidError, match="needs a limit"):
        db.plan(sql, epsilon=1, bounds={"s": (0, 100)})
    expected = [(m, 72 - 12 * m, 10.0 * (m - 1) + 0.25) for m in range(1, 6)]
    found = rows(sql, reach=5, bounds={"s": (0, 100)})
    assert [(m, n, round(float(str(s)), 2)) for m, n, s in found] == expected
    most = f"SELECT avg(b) FROM (SELECT person_id, max(s) AS b FROM ({monthly}) GROUP BY person_id)"
    assert rows(most, bounds={"b": (0, 100)}) == [(pytest.approx(20.25, abs=0.01),)]


def test_a_public_table_joins_the_rows_of_people_and_their_rows() -> None:
    last = "SELECT person_id, max(town) AS town FROM visits GROUP BY person_id"
    sql = f"SELECT region, count(*) FROM ({last}) AS p JOIN regions ON p.town = regions.place GROUP BY region"
    with opened() as db:
        assert sum(int(str(n)) for _, n in rows(sql, db)) == PEOPLE
    inside = (
        "SELECT r, count(*) FROM (SELECT person_id, max(region) AS r FROM visits JOIN regions ON town = place "
        "GROUP BY person_id) GROUP BY r"
    )
    assert sum(int(str(n)) for _, n in rows(inside)) == PEOPLE


def test_instants_are_read_in_the_time_zone_of_the_policy() -> None:
    instants = pd.to_datetime(["2024-01-31 23:30", "2024-01-01 12:00", "2024-05-05 05:05"]).tz_localize("UTC")
    data = pd.DataFrame({"person_id": [1, 1, 2], "at": instants})
    db = tc.open(data, name="visits", unit="person_id", timezone="Europe/Zurich", budget=tc.PureDP(epsilon=10**9))
    sql = "SELECT month(t) AS m, count(*) AS n FROM (SELECT max(at) AS t FROM visits GROUP BY person_id) GROUP BY m"
    assert [row for row in rows(sql, db) if row[1]] == [(2, 1), (5, 1)]


def test_names_in_quotes_are_only_names() -> None:
    hostile = 'a"; DROP TABLE visits; --'
    quoted = '"' + hostile.replace('"', '""') + '"'
    sql = f"SELECT sum({quoted}) FROM (SELECT count(*) AS {quoted} FROM visits GROUP BY person_id)"
    assert rows(sql, bounds={hostile: (0, 10)}) == [(180,)]


# --- limits, bounds, groups and sizes -------------------------------------------------------------------------------


def test_bounds_are_chosen_privately() -> None:
    assert rows(f"SELECT avg(v) FROM ({VISITS})", bounds={"v": "auto"}) == [(3,)]
    with opened() as db:
        quote = db.plan(f"SELECT avg(v) FROM ({VISITS})", epsilon=1, bounds={"v": "auto"})
        assert quote.plan.table.unit is None


def test_the_answer_says_what_is_clipped_and_the_plan_how_many_rows_a_person_has() -> None:
    with opened() as db:
        quote = db.plan(f"SELECT avg(v) FROM ({VISITS})", epsilon=1, bounds={"v": (0, 2)})
        assert "The subquery has one row for each person_id, so no limits are needed." in str(quote)
        answer = db.sql(f"SELECT avg(v) FROM ({VISITS})", epsilon=1, bounds={"v": (0, 2)})
        assert "The column v is clipped to 0 … 2" in str(answer)
        privacy = answer.receipt["privacy"]
        assert isinstance(privacy, dict)
        assert privacy["unit"] == "all rows with one value of person_id"


def test_a_reach_is_chosen_reported_and_its_cut_measured_over_several_rows_a_person() -> None:
    sql = "SELECT count(*) AS n FROM (SELECT person_id, town, count(*) AS v FROM visits GROUP BY person_id, town)"
    assert rows(sql, reach="auto") == [(12 + 24 + 36 * 3,)]
    with opened() as db:
        report = db.limits(sql, epsilon=HUGE)
        assert report.reach == 3
        assert "give it to this query: reach=3" in str(report)
        with pytest.raises(InvalidError, match="a unit has one row"):
            db.limits(f"SELECT count(*) FROM ({VISITS})", epsilon=1)
        cut = db.sql(sql, epsilon=HUGE, reach=1, measure_cut=10)
        assert cut.rows()[0][0] == PEOPLE
        with pytest.raises(InvalidError, match="nothing is cut"):
            db.plan(f"SELECT count(*) FROM ({VISITS})", epsilon=1, measure_cut=10)


def test_groups_are_found_over_people() -> None:
    found = rows(f"SELECT v, count(*) AS n FROM ({VISITS}) GROUP BY v", delta=1e-6)
    assert found == [(v, 12) for v in range(1, 6)]


@pytest.mark.parametrize(
    ("sql", "public"),
    [
        (f"SELECT count(*) AS n FROM ({VISITS})", True),
        (f"SELECT count(*) AS n FROM ({VISITS} HAVING count(*) > 0)", False),
        ("SELECT count(*) AS n FROM (SELECT person_id FROM visits WHERE cost >= 0 GROUP BY person_id)", False),
        (f"SELECT count(*) AS n FROM ({VISITS}) WHERE v > 0", False),
        (
            "SELECT count(*) AS n FROM (SELECT person_id FROM visits JOIN regions ON town = place GROUP BY person_id)",
            False,
        ),
        ("SELECT count(*) AS n FROM (SELECT person_id FROM visits LEFT JOIN regions ON town = place GROUP BY 1)", True),
        (
            f"SELECT count(*) AS n FROM (SELECT person_id FROM ({visits_where('cost < 9')}) GROUP BY 1)",
            False,
        ),
    ],
)
def test_the_number_of_people_is_public_only_if_nobody_is_left_out(sql: str, public: bool) -> None:  # noqa: FBT001 - a case
    with opened("change one") as db:
        plan = db.plan(sql, epsilon=1).plan
        assert (plan.size == PEOPLE) is public
    with opened("add/remove") as db:
        assert db.plan(sql, epsilon=1).plan.size is None


def test_an_average_over_people_uses_their_public_number() -> None:
    sql = f"SELECT avg(v) AS a FROM ({VISITS})"
    with opened("change one") as db:
        plan = db.plan(sql, epsilon=1, bounds={"v": (0, 10)}).plan
        assert plan.size == PEOPLE
        assert [bundle.combined is not None for bundle in plan.bundles] == [True]
    with opened("change one") as db:
        assert rows(sql, db, bounds={"v": (0, 10)}) == [(3,)]


def test_a_second_private_table_makes_the_number_of_people_private() -> None:
    with opened("change one") as db:
        db._session.ledger.open_tables(["visits", "patients"])
        assert db.plan(f"SELECT count(*) FROM ({VISITS})", epsilon=1).plan.size is None


# --- disjoint questions ---------------------------------------------------------------------------------------------


def declared_cost(first: str, second: str) -> float:
    with opened(budget=tc.PureDP(epsilon=100)) as db:
        plans = [db.plan(sql, epsilon=1) for sql in (first, second)]
        return total_epsilon(tc.declare(plans, delta=0).cost)


def test_disjoint_questions_about_people_cost_one_only_over_the_same_subquery() -> None:
    few, many = (f"SELECT count(*) FROM ({VISITS}) WHERE v {test}" for test in ("<= 2", "> 2"))
    assert declared_cost(few, many) == 1
    in_bern = f"SELECT count(*) FROM ({visits_where(BERN)}) WHERE v > 2"
    assert declared_cost(few, in_bern) == 2  # a person can be in both: with few visits in Bern, and many in all
    several = "SELECT count(*) FROM (SELECT person_id, town FROM visits GROUP BY person_id, town) WHERE town {} 'Bern'"
    with opened(budget=tc.PureDP(epsilon=100), reach=3) as db:
        plans = [db.plan(several.format(sign), epsilon=1) for sign in ("=", "<>")]
        assert total_epsilon(tc.declare(plans, delta=0).cost) == 2


# --- refusals, each with advice that works when followed --------------------------------------------------------------

GROUPED = "SELECT count(*) FROM (SELECT {} FROM visits GROUP BY {})"
REFUSED: list[tuple[str, str, str]] = [
    (f"SELECT avg(v) FROM ({VISITS})", "v has no bounds", f"SELECT avg(clamp(v, 0, 9)) FROM ({VISITS})"),
    (
        GROUPED.format("sum(minutes / 7) AS s", "person_id"),
        "needs bounds of each value",
        GROUPED.format("sum(clamp(minutes / 7, 0, 90)) AS s", "person_id"),
    ),
    (
        GROUPED.format("person_id, town", "person_id"),
        "neither in GROUP BY nor in an aggregate",
        GROUPED.format("person_id, max(town) AS town", "person_id"),
    ),
    (GROUPED.format("*", "person_id"), "Name the columns", GROUPED.format("person_id", "person_id")),
    (
        GROUPED.format("median(cost) AS m", "person_id"),
        "median is not supported inside",
        GROUPED.format("avg(cost) AS m", "person_id"),
    ),
    (
        GROUPED.format("max(count(*)) AS m", "person_id"),
        "inside an aggregate",
        GROUPED.format("count(*) AS m", "person_id"),
    ),
    (
        GROUPED.format("person_id + 1 AS p", "person_id"),
        "computes with the unit",
        GROUPED.format("person_id", "person_id"),
    ),
    (
        GROUPED.format("count(person_id) AS n", "person_id"),
        "count of the unit column",
        GROUPED.format("count(*) AS n", "person_id"),
    ),
    (
        GROUPED.format("count(*) AS n", "person_id, person_id % 2"),
        "expression of the unit",
        GROUPED.format("count(*) AS n", "person_id"),
    ),
    (
        GROUPED.format(f"count(*) AS {'x' * 61}", "person_id"),
        "short alias",
        GROUPED.format("count(*) AS x", "person_id"),
    ),
    (
        f"SELECT person_id, count(*) FROM ({VISITS}) GROUP BY person_id",
        "GROUP BY the unit",
        f"SELECT count(*) FROM ({VISITS})",
    ),
    (
        f"SELECT sum(person_id) FROM ({VISITS})",
        "cannot be aggregated",
        f"SELECT count(DISTINCT person_id) FROM ({VISITS})",
    ),
    (
        f"SELECT count(*) FROM (SELECT person_id FROM (SELECT person_id FROM ({VISITS}) GROUP BY 1) GROUP BY 1)",
        "more than 2 deep",
        f"SELECT count(*) FROM (SELECT person_id FROM ({VISITS}) GROUP BY 1)",
    ),
    (
        f"SELECT count(*) FROM ({VISITS}) AS p JOIN visits AS w ON p.person_id = w.person_id",
        "cannot be joined with a private table",
        f"SELECT count(*) FROM ({VISITS})",
    ),
    (
        "SELECT count(*) FROM visits a WHERE cost > (SELECT avg(cost) FROM visits b WHERE a.person_id = b.person_id)",
        "GROUP BY the unit column there",
        f"SELECT count(*) FROM ({VISITS} HAVING avg(cost) > 5)",
    ),
    (
        "SELECT count(*) FROM (SELECT region, count(*) AS n FROM regions GROUP BY region)",
        "public table",
        f"SELECT count(*) FROM ({VISITS})",
    ),
]


@pytest.mark.parametrize(("sql", "reason", "better"), REFUSED)
def test_a_refusal_costs_nothing_and_its_advice_works(sql: str, reason: str, better: str) -> None:
    with opened(reach=3) as db:
        with pytest.raises(TacitError, match=reason.replace("(", r"\(")) as error:
            db.sql(sql, epsilon=1)
        assert error.value.unspent
        assert db.spent == tc.ApproxDP(epsilon=0, delta=0)
        assert db.sql(better, epsilon=1).rows()


def test_bounds_of_an_unknown_column_list_those_of_the_subquery() -> None:
    with opened() as db:
        with pytest.raises(ColumnNotFoundError, match="'w'"):
            db.plan(f"SELECT avg(v) FROM ({VISITS})", epsilon=1, bounds={"w": (0, 1)})
        with pytest.raises(InvalidError, match=r"bounds\['v'\]"):
            db.plan(f"SELECT avg(v) FROM ({VISITS})", epsilon=1, bounds={"v": (5, 1)})


def test_a_row_that_is_a_unit_cannot_be_grouped_further() -> None:
    db = tc.open(visits(), name="visits", unit=tc.ROW, budget=tc.PureDP(epsilon=1))
    with db, pytest.raises(RefusedError, match="are not public"):
        db.plan(f"SELECT count(*) FROM ({VISITS})", epsilon=1)


# --- work and records -----------------------------------------------------------------------------------------------


def test_the_work_of_a_row_includes_that_of_the_subquery() -> None:
    with opened() as db:
        plain = db.plan(f"SELECT count(*) FROM ({VISITS})", epsilon=1).work
        tested = db.plan(f"SELECT count(*) FROM ({visits_where(MATCHES)})", epsilon=1).work
        assert tested.steps > plain.steps + 5_000
        patterns = " OR ".join(f"lower(town) LIKE '%{n}%x%y%'" for n in range(500))
        with pytest.raises(RefusedError, match="steps"):
            db.plan(f"SELECT count(*) FROM ({visits_where(patterns)})", epsilon=1)
        joined = "SELECT person_id FROM visits JOIN regions ON town = place GROUP BY person_id"
        assert db.plan(f"SELECT count(*) FROM ({joined})", epsilon=1).work.public_rows == 3


def test_a_plan_without_a_subquery_has_the_text_of_older_versions() -> None:
    with opened(reach=1) as db:
        plain: Plan = db.plan("SELECT count(*) FROM visits", epsilon=1).plan
        assert "units=" not in repr(plain)
        one, other = (
            db.plan(f"SELECT count(*) FROM ({VISITS}{more})", epsilon=1).plan for more in ("", " HAVING true")
        )
        assert repr(one) != repr(other)


def test_a_repeated_question_is_free_and_a_different_subquery_is_not() -> None:
    with opened(data_version="1") as db:
        sql = f"SELECT count(*) FROM ({VISITS}) WHERE v > 1"
        assert db.sql(sql, epsilon=1).rows() == db.sql(sql, epsilon=1).rows()
        assert total_epsilon(db.spent) == 1
        db.sql(sql.replace("GROUP", "WHERE cost > 1 GROUP"), epsilon=1)
        assert total_epsilon(db.spent) == 2


def test_aliases_of_aliases_are_refused_before_they_take_long() -> None:
    items = ", ".join(["count(*) AS a0", *(f"a{i} + a{i} AS a{i + 1}" for i in range(40))])
    with opened() as db, pytest.raises(RefusedError, match="more than 4,000 parts"):
        db.plan(f"SELECT count(*) FROM (SELECT person_id, {items} FROM visits GROUP BY person_id)", epsilon=1)


def test_a_count_of_each_person_is_never_missing() -> None:
    people = "(SELECT person_id, count(*) AS v FROM visits GROUP BY person_id)"
    answer = opened().sql(f"SELECT v, count(*) AS n FROM {people} GROUP BY v", epsilon=1, bounds={"v": (1, 5)})
    assert answer.notes == ["Rows with another v are not counted."]
