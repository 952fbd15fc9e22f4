"""The public number of rows from a database: the notes' figures, exact counts, tables that add up, changed tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from math import log, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from cli_runs import run
from postgres_server import database as postgres
from tacit.database import Database
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.engines.sql.statement import SOURCE
from tacit.errors import SizeChangedError
from tacit.ledger import Request, Ticket
from tacit.ledger.memory import MemoryLedger
from tacit.ledger.sql_ledger import SqlLedger
from tacit.query.results.release import Release

N = 5133
RACES = ["White", "Black", "Native American", "Asian", "Pacific Islander", "Multi-race"]


def consumers(rows: int = N) -> pd.DataFrame:
    """A survey like that of the notes: incomes up to 400,000, expenditures up to 50,000, six races, urban or rural."""
    numbers = np.arange(rows)
    return pd.DataFrame(
        {
            "income": 80.0 * (numbers % 5000),
            "expenditures": 10.0 * (numbers % 5001),
            "race": [RACES[n % 7 % 6] for n in range(rows)],
            "urban": numbers % 15 > 0,
        }
    )


def opened(data: object | None = None, **more: Any) -> Database:  # noqa: ANN401 - arguments of tc.open
    policy: dict[str, Any] = {
        "name": "ce",
        "unit": tc.ROW,
        "neighbours": "change one",
        "bounds": {"income": (0, 400_000), "expenditures": (0, 50_000)},
        "keys": {"race": RACES},
        "required": ["income", "expenditures", "race", "urban"],
        "budget": tc.PureDP(epsilon=10),
    }
    return tc.open(consumers() if data is None else data, **(policy | more))


def grow(db: Database, rows: int) -> None:
    """Let the source of a database have another number of rows from now on."""
    engine = db._tables["ce"][1]
    assert isinstance(engine, DuckDBEngine)
    engine._connection.register(SOURCE, consumers(rows))


def counts(answer: Release) -> list[int]:
    return [int(str(row[-1])) for row in answer.rows()]


# --- the notes -------------------------------------------------------------------------------------------------------


def test_the_error_of_the_mean_income_is_that_of_the_notes() -> None:
    """(b - a)/n/ε·ln 20 = 400,000/5,133/0.1·2.9957 = 2,334.49."""
    plan = opened().plan("SELECT avg(income) AS income FROM ce", epsilon=0.1)
    assert f"{plan.error['income']:,.2f}" == "2,334.49"
    assert plan.error["income"] == pytest.approx(400_000 / N / 0.1 * log(20), rel=1e-6)
    assert "n = 5,133 is public here, since each row is a unit and neighbours have the same number" in str(plan)


def test_four_statistics_have_the_errors_of_the_notes() -> None:
    four = "SELECT avg(income) AS a, avg(expenditures) AS b, var_pop(income) AS c, var_pop(expenditures) AS d FROM ce"
    plan = opened().plan(four, epsilon=0.1)
    assert [f"{error:.4g}" for error in plan.error.values()] == ["9338", "1167", "3.734e+09", "5.835e+07"]
    for name, width in (("c", 400_000), ("d", 50_000)):
        assert plan.error[name] == pytest.approx(width**2 * (N - 1) / N**2 / 0.025 * log(20), rel=1e-6)


def test_a_mean_salary_within_500_costs_what_the_notes_say() -> None:
    salaries = pd.DataFrame({"salary": range(0, 200_000, 200)})
    db = opened(salaries, bounds={"salary": (0, 200_000)}, keys=None, required=["salary"])
    plan = db.plan("SELECT avg(salary) AS salary FROM ce", error=500)
    assert isinstance(plan.cost, tc.PureDP)
    assert f"{plan.cost.epsilon:.4g}" == "1.198"
    assert plan.cost.epsilon >= 200_000 / 1000 / 500 * log(20) > plan.cost.epsilon * 0.9999
    assert plan.error["salary"] <= 500


@pytest.mark.parametrize("ask", ["sql", "count", "crosstab"])
def test_six_races_add_up_to_all_consumers(ask: str) -> None:
    db = opened()
    answers = {
        "sql": lambda: db.sql("SELECT race, count(*) AS n FROM ce GROUP BY race", epsilon=0.1),
        "count": lambda: db.count(by="race", epsilon=0.1),
        "crosstab": lambda: db.crosstab("race", epsilon=0.1),
    }
    answer = answers[ask]()
    assert [row[0] for row in answer.rows()] == RACES
    assert sum(counts(answer)) == N
    truth = consumers().race.value_counts()
    for race, count, *_ in answer.rows():
        assert abs(int(str(count)) - truth[race]) < 20 / 1 * 40  # noise of scale 20; each misses with probability e^-40


def test_the_error_of_a_mean_is_half_of_that_without_the_public_number() -> None:
    frame = consumers()
    both = [opened(frame, required=required) for required in (["income"], [])]
    errors = [db.plan("SELECT avg(income) AS a FROM ce", epsilon=0.1, assume=N).error["a"] for db in both]
    assert errors[1] == pytest.approx(2 * errors[0], rel=1e-6)


def test_answers_are_near_the_statistics_of_the_table() -> None:
    frame = consumers()
    items = [
        "avg(income)",
        "sum(income)",
        "var_samp(income)",
        "stddev_pop(expenditures)",
        "covar_pop(income, expenditures)",
    ]
    answer = opened(frame).sql(f"SELECT {', '.join(items)} FROM ce", epsilon=4)  # noqa: S608 - of a test
    truth = [
        frame.income.mean(),
        frame.income.sum(),
        frame.income.var(),
        frame.expenditures.std(ddof=0),
        frame[["income", "expenditures"]].cov(ddof=0).iloc[0, 1],
    ]
    (row,) = answer.intervals(confidence=0.999999999999).rows()
    for index, value in enumerate(truth):
        low, high = row[3 * index + 1], row[3 * index + 2]
        assert isinstance(low, float)
        assert isinstance(high, float)
        assert low - 1e-3 <= value <= high + 1e-3


# --- counts are exact and free ---------------------------------------------------------------------------------------


def test_a_count_of_all_rows_is_exact_and_costs_nothing() -> None:
    db = opened()
    answer = db.sql("SELECT count(*) AS n, count(income) AS m FROM ce")
    assert answer.rows() == [(N, N)]
    assert answer.cost == tc.PureDP(epsilon=0)
    assert db.spent == tc.PureDP(epsilon=0)
    assert [entry.outcome for entry in db.ledger.entries()] == ["answered"]
    assert db.count().rows() == [(N,)]
    assert "costs ε = 0" in str(db.plan("SELECT count(*) AS n FROM ce"))


@pytest.mark.parametrize("cost", [{"epsilon": 0.5}, {"error": 10}, {"error": {"n": 1}}])
def test_a_cost_that_is_offered_for_it_is_not_spent(cost: dict[str, Any]) -> None:
    db = opened()
    assert db.sql("SELECT count(*) AS n FROM ce", **cost).rows() == [(N,)]
    assert db.spent == tc.PureDP(epsilon=0)


def test_it_is_free_for_a_spent_budget_and_in_zcdp_too() -> None:
    db = opened(budget=tc.ZCDP(rho=0.1))
    db.sql("SELECT avg(income) AS a FROM ce", rho=0.1)
    assert db.count().rows() == [(N,)]
    assert (db.count().cost, db.left) == (tc.ZCDP(rho=0), tc.ZCDP(rho=0))


def test_a_wrong_cost_of_it_is_still_an_error() -> None:
    db = opened()
    with pytest.raises(tc.InvalidError, match="rho cannot be used"):
        db.sql("SELECT count(*) AS n FROM ce", rho=0.5)
    with pytest.raises(tc.InvalidError, match="not a noisy column of the answer"):
        db.sql("SELECT count(*) AS n FROM ce", error={"m": 5})


def test_another_query_still_needs_a_cost() -> None:
    with pytest.raises(tc.InvalidError, match="The query has no cost"):
        opened().sql("SELECT avg(income) AS a FROM ce")


def test_a_count_and_a_mean_leave_all_of_epsilon_to_the_mean() -> None:
    db = opened()
    alone = db.plan("SELECT avg(income) AS a FROM ce", epsilon=0.1)
    both = db.plan("SELECT count(*) AS n, avg(income) AS a, avg(income) * count(*) AS s FROM ce", epsilon=0.1)
    assert both.error == {"n": 0, "a": alone.error["a"], "s": pytest.approx(N * alone.error["a"])}
    ((_, _, _, _, low, high, _, least, most),) = db.sql(both.plan.sql, epsilon=0.1).intervals().rows()
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert (least, most) == pytest.approx((low * N, high * N))


def test_a_declared_list_may_hold_exact_counts() -> None:
    db = opened()
    free = db.plan("SELECT count(*) AS n FROM ce")
    assert [answer.rows() for answer in tc.declare([free, free]).ask()] == [[(N,)], [(N,)]]
    declared = tc.declare([free, db.plan("SELECT avg(income) AS a FROM ce", epsilon=0.5)])
    assert declared.together.loss == Fraction(1, 2)
    assert declared.ask()[0].rows() == [(N,)]


# --- missing values --------------------------------------------------------------------------------------------------


def test_a_missing_value_of_a_required_column_is_read_as_its_constant() -> None:
    frame = pd.DataFrame(
        {"income": [100.0, None, nan, 50.0], "age": [None, 30.0, 40.0, 50.0], "race": ["b", None, "?", "c"]}
    )
    db = opened(
        frame,
        bounds={"income": (-10, 100), "age": (18, 90)},
        types={"age": "integer"},
        keys={"race": ["a", "b", "c"]},
        required=["income", "age", "race"],
        budget=tc.PureDP(epsilon=10**7),
    )
    ((income, age, n),) = db.sql("SELECT avg(income), avg(age), count(income) FROM ce", epsilon=10**6).rows()
    assert (income, age, n) == pytest.approx((150 / 4, (18 + 30 + 40 + 50) / 4, 4), abs=1e-3)
    races = db.sql("SELECT race, count(*) AS n FROM ce GROUP BY race", epsilon=10**6).rows()
    assert races == [("a", 2), ("b", 1), ("c", 1)]
    where = db.sql("SELECT count(*) AS n FROM ce WHERE income = 0 AND race = 'a'", epsilon=10**6)
    assert where.rows() == [(1,)]  # the constant is read in every query; '?' is not listed, but it is not missing


def test_it_is_read_so_under_the_other_relation_too() -> None:
    frame = pd.DataFrame({"income": [100.0, None]})
    db = opened(
        frame,
        neighbours="add/remove",
        keys=None,
        bounds={"income": (0, 100)},
        required=["income"],
        budget=tc.PureDP(epsilon=10**7),
    )
    assert db.sql("SELECT avg(income) AS a FROM ce", epsilon=10**6).rows()[0][0] == pytest.approx(50, abs=0.01)
    assert db.plan("SELECT count(*) AS n FROM ce", epsilon=1).error["n"] > 0


def test_a_plan_says_what_required_would_save() -> None:
    text = str(opened(required=["race"]).plan("SELECT avg(income) AS a, count(*) AS n FROM ce", epsilon=0.1))
    assert (
        'If income is never missing, declare required=["income"] (policy: required = true): the error then halves.'
        in text
    )
    assert "required = true" in text
    assert "missing values" not in str(opened().plan("SELECT avg(income) AS a FROM ce", epsilon=0.1))


# --- tables that add up ----------------------------------------------------------------------------------------------


def test_a_table_shows_the_rows_in_no_other_cell() -> None:
    db = opened(required=["income"], keys={"race": RACES[:4]}, budget=tc.PureDP(epsilon=10**5))
    answer = db.crosstab("race", "urban", epsilon=10**4)
    *_, last = answer.rows()
    assert last[:2] == (None, None)
    assert sum(counts(answer)) == N
    frame = consumers()
    assert last[2] == (~frame.race.isin(RACES[:4])).sum()
    assert "The last row (NULL) counts all remaining rows: " in str(answer)
    margin = answer.margin("race").rows()
    assert [row[0] for row in margin] == [*RACES[:4], None]
    assert sum(int(str(row[1])) for row in margin) == N
    assert answer.margin().rows() == [(N, float(N), float(N))]


def test_a_histogram_adds_up_with_the_values_beyond_its_bins() -> None:
    db = opened(budget=tc.PureDP(epsilon=10**5))
    answer = db.histogram("income", bins=[0, 100_000, 200_000], epsilon=10**4)
    assert [row[0] for row in answer.rows()] == ["[0, 100000)", "[100000, 200000]", None]
    income = consumers().income
    assert counts(answer) == [
        (income < 100_000).sum(),
        ((income >= 100_000) & (income <= 200_000)).sum(),
        (income > 200_000).sum(),
    ]


def test_with_a_condition_nothing_adds_up_and_nothing_is_added() -> None:
    db = opened(budget=tc.PureDP(epsilon=10**5))
    answer = db.histogram("income", bins=[0, 100_000, 200_000], where="urban", epsilon=10**4)
    assert len(answer.rows()) == 2
    assert db.plan("SELECT race, count(*) AS n FROM ce WHERE urban GROUP BY race", epsilon=1).plan.size is None


def test_two_groups_share_one_noise() -> None:
    db = opened()
    for sql in (
        "SELECT urban, count(*) AS n FROM ce GROUP BY urban",
        "SELECT income > 9 AS k, count(*) AS n FROM ce GROUP BY k",
    ):
        plan = db.plan(sql, epsilon=0.1)
        assert plan.error["n"] == 30  # as a count of one of them with WHERE
        assert sum(counts(db.sql(sql, epsilon=0.1))) == N


# --- records ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda db: db.sql("SELECT avg(income) AS a, var_pop(income) AS v, count(*) AS n FROM ce", epsilon=0.5),
        lambda db: db.sql("SELECT race, count(*) AS n FROM ce GROUP BY race", epsilon=0.5),
        lambda db: db.crosstab("race", "urban", epsilon=0.5),
        lambda db: db.histogram("income", bins=[0, 10_000], epsilon=0.5),
        lambda db: db.sql("SELECT avg(income) AS a FROM ce", epsilon=0.5, bounds={"income": "auto"}),
    ],
)
def test_a_repeated_answer_is_the_same_and_free(ask: Any, tmp_path: Path) -> None:  # noqa: ANN401 - a query
    with opened(ledger=tmp_path / "a.ledger", data_version="v1") as db:
        first, spent = ask(db), db.spent
        again = ask(db)
        assert (again.repeated, again.rows(), db.spent) == (True, first.rows(), spent)
        assert again.intervals().rows() == first.intervals().rows()
        assert isinstance(db.ledger, SqlLedger)
        assert tc.ledger.verify(db.ledger).holds


def test_a_receipt_has_the_public_number() -> None:
    receipt = opened().sql("SELECT avg(income) AS a, count(*) AS n FROM ce", epsilon=0.1).receipt
    assert json.loads(json.dumps(receipt)) == receipt
    size = receipt["public_size"]
    assert isinstance(size, dict)
    assert (size["of"], size["number"], size["exact"]) == ("rows", N, ["count(*)"])
    mechanisms: Any = receipt["mechanisms"]
    assert mechanisms[0]["combined"] == {"integer": "Σd", "rows": N, "divided_by": 1}
    other = opened(neighbours="add/remove").sql("SELECT count(*) AS n FROM ce", epsilon=0.1).receipt
    assert "public_size" not in other


# --- tables that change ----------------------------------------------------------------------------------------------

MEAN = "SELECT avg(income) AS a FROM ce"


@pytest.mark.parametrize("stored", [False, True])
def test_another_number_under_one_data_version_is_refused_and_nothing_is_spent(stored: bool, tmp_path: Path) -> None:  # noqa: FBT001
    ledger = tmp_path / "a.ledger" if stored else None
    db = opened(ledger=ledger, data_version="v1")
    db.sql(MEAN, epsilon=0.5)
    spent = db.spent
    for rows in (N + 1, N - 1):
        grow(db, rows)
        for ask in (db.plan, db.sql):
            with pytest.raises(tc.RefusedError, match=f"has {rows:,} rows, but it had 5,133") as refused:
                ask(MEAN, epsilon=0.5)
            assert "Nothing was spent." in str(refused.value)
    assert db.spent == spent
    where = db.sql("SELECT avg(income) AS a FROM ce WHERE urban", epsilon=0.5)  # it does not use the number
    assert len(where.rows()) == 1
    grow(db, N)
    assert len(db.sql(MEAN, epsilon=0.6).rows()) == 1
    db.close()
    if stored:
        newer = opened(consumers(N + 1), ledger=ledger, data_version="v2")
        assert newer.count().rows() == [(N + 1,)]
        assert isinstance(newer.ledger, SqlLedger)
        assert tc.ledger.verify(newer.ledger).holds
        newer.close()
        with opened(consumers(N + 1), ledger=ledger, data_version="v1") as again, pytest.raises(tc.RefusedError):
            again.count()


def test_without_a_data_version_each_query_uses_the_number_at_its_time() -> None:
    db = opened()
    assert db.count().rows() == [(N,)]
    grow(db, N + 7)
    assert db.count().rows() == [(N + 7,)]
    assert f"n = {N + 7:,} is public" in str(db.plan(MEAN, epsilon=0.5))
    assert sum(counts(db.sql("SELECT race, count(*) AS n FROM ce GROUP BY race", epsilon=0.5))) == N + 7


class Growing(MemoryLedger):
    """A ledger during whose charge the table grows."""

    db: Database

    def charge(self, request: Request) -> Ticket:
        ticket = super().charge(request)
        grow(self.db, N + 1)
        return ticket


@pytest.mark.parametrize(
    "sql", [MEAN, "SELECT race, count(*) AS n FROM ce GROUP BY race", "SELECT var_samp(income) AS v FROM ce"]
)
def test_a_table_that_grows_after_the_charge_is_not_answered_and_stays_charged(sql: str) -> None:
    ledger = Growing(tc.PureDP(epsilon=10), "change one")
    ledger.db = db = opened(ledger=ledger)
    with pytest.raises(SizeChangedError, match="Rows were added or removed") as changed:
        db.sql(sql, epsilon=0.5)
    assert "Nothing was spent" not in str(changed.value)
    assert (changed.value.__cause__, changed.value.__context__) == (None, None)
    assert db.spent == tc.PureDP(epsilon=0.5)
    assert [entry.outcome for entry in db.ledger.entries()] == ["failed"]
    assert len(db.plan(sql, epsilon=0.5).error) == 1


def test_a_table_on_a_server_that_grew_is_refused() -> None:
    with postgres() as place:
        rows: Sequence[dict[str, float]] = [{"income": float(n)} for n in range(10)]
        place.fill("ce", {"income": "real"}, rows)
        policy: dict[str, Any] = {"bounds": {"income": (0, 10)}, "keys": None, "required": ["income"], "table": "ce"}
        with opened(place.reader, data_version="v1", **policy) as db:
            assert db.count().rows() == [(10,)]
            place.run("INSERT INTO ce VALUES (3.0)")
            with pytest.raises(tc.RefusedError, match="has 11 rows, but it had 10"):
                db.sql(MEAN, epsilon=1)
        with opened(place.reader, **policy) as db:
            assert db.count().rows() == [(11,)]


def test_a_closed_database_reads_no_number() -> None:
    db = opened()
    db.close()
    with pytest.raises(tc.RefusedError, match="The database is closed"):
        db.plan(MEAN, epsilon=1)


def test_the_command_line_says_what_is_public_and_refuses_a_table_that_grew(tmp_path: Path) -> None:
    consumers(50).to_parquet(tmp_path / "ce.parquet")
    (tmp_path / "p.toml").write_text(
        'budget = { epsilon = 1 }\nledger = "p.ledger"\nneighbours = "change one"\ndata_version = "v1"\n'
        '[tables.ce]\nsource = "ce.parquet"\neach_row = true\n'
        "[tables.ce.columns]\nincome = { bounds = [0, 400_000], required = true }\n"
    )
    planned = run(tmp_path, "plan", "p.toml", "SELECT count(*) AS n FROM ce")
    assert "n = 50 is public here" in planned.stdout
    assert "Only the public number n was read, and nothing was spent." in planned.stderr
    free = run(tmp_path, "query", "p.toml", "SELECT count(*) AS n FROM ce", "--json")
    assert json.loads(free.stdout)["rows"] == [{"n": 50, "n_low": 50.0, "n_high": 50.0}]
    shown = run(tmp_path, "plan", "p.toml", "SELECT avg(income) AS a FROM ce", "--epsilon", "0.5", "--json")
    assert json.loads(shown.stdout)["public_size"] == 50
    consumers(51).to_parquet(tmp_path / "ce.parquet")
    refused = run(tmp_path, "query", "p.toml", "SELECT avg(income) AS a FROM ce", "--epsilon", "0.5")
    assert refused.returncode == 3
    assert "has 51 rows, but it had 50" in refused.stderr


# --- where the number is not public ----------------------------------------------------------------------------------


def test_lines_of_csv_may_be_skipped_so_their_number_is_not_public(tmp_path: Path) -> None:
    consumers(50).to_csv(tmp_path / "ce.csv", index=False)
    with opened(str(tmp_path / "ce.csv"), types={"urban": "boolean"}) as db:
        plan = db.plan("SELECT count(*) AS n, avg(income) AS a FROM ce", epsilon=1)
        assert plan.plan.size is None
        assert "n is not used: tacit skips bad lines of a CSV file" in str(plan)
        assert len(db.histogram("income", bins=[0, 10], epsilon=1).rows()) == 1
    consumers(50).to_parquet(tmp_path / "ce.parquet")
    with opened(str(tmp_path / "ce.parquet")) as db:
        assert db.count().rows() == [(50,)]


def people(units: int) -> pd.DataFrame:
    return pd.DataFrame({"who": [n % units for n in range(3 * units)], "x": 1.0})


def test_the_number_of_units_is_exact_if_there_is_one_private_table(tmp_path: Path) -> None:
    policy: dict[str, Any] = {"unit": "who", "reach": 3, "bounds": {"x": (0, 2)}, "keys": None, "required": ["x"]}
    with opened(people(40), **policy) as db:
        assert db.sql("SELECT count(DISTINCT who) AS n FROM ce").rows() == [(40,)]
        plan = db.plan("SELECT count(DISTINCT who) AS n FROM ce")
        assert (
            "n = 40 is public here, since there is one private table and neighbours have the same number of units"
            in str(plan)
        )
        with pytest.raises(tc.InvalidError, match="The query has no cost"):
            db.sql("SELECT count(*) AS n FROM ce")
    shared = tmp_path / "people.ledger"
    with opened(people(40), name="ce", ledger=shared, **policy) as db:
        assert db.plan("SELECT count(DISTINCT who) AS n FROM ce").plan.size == 40
        assert db.spent == tc.PureDP(epsilon=0)
        with pytest.raises(tc.RefusedError, match=ALONE):
            opened(people(30), name="other", ledger=shared, **policy)
        with pytest.raises(tc.RefusedError, match=ALONE):
            opened(people(30), name="other", ledger=db.ledger, **policy)
        opened(consumers(5), name="rows", ledger=shared).close()  # its units are its rows: nobody can leave ce for it


ALONE = "'other' cannot join a ledger that has had table 'ce' alone: .*open all private tables with it from the start"
"""A released number of units must stay public: a unit could otherwise leave the first table for a second one."""


def test_a_second_table_of_units_cannot_join_a_ledger_in_memory() -> None:
    policy: dict[str, Any] = {"unit": "who", "reach": 3, "keys": None, "bounds": None, "required": ()}
    ledger = MemoryLedger(tc.PureDP(epsilon=10), "change one")
    with opened(people(40), ledger=ledger, **policy) as db:
        assert db.plan("SELECT count(DISTINCT who) AS n FROM ce").plan.size == 40
        with pytest.raises(tc.RefusedError, match=ALONE):
            opened(people(30), name="other", ledger=ledger, **policy)
        with opened(people(40), name=" CE", ledger=ledger, **policy) as again:
            assert again.plan('SELECT count(DISTINCT who) AS n FROM " CE"').plan.size == 40


def test_tables_that_were_opened_together_have_no_public_number_of_units(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        people(9).to_parquet(tmp_path / f"{name}.parquet")

    def write(*names: str) -> Path:
        lines = ['budget = { epsilon = 9 }\nneighbours = "change one"\nledger = "p.ledger"']
        lines += [f'[tables.{name}]\nsource = "{name}.parquet"\nunit = "who"\nreach = 3' for name in names]
        (tmp_path / "p.toml").write_text("\n".join(lines))
        return tmp_path / "p.toml"

    for names in (("a", "b"), ("a",), ("a", "c")):  # two tables from the start: a third one may come
        with tc.open(write(*names)) as db:
            assert db.plan("SELECT count(DISTINCT who) AS n FROM a", epsilon=1).plan.size is None


def test_two_tables_of_rows_each_have_a_public_number(tmp_path: Path) -> None:
    for name, rows in (("a", 5), ("b", 7)):
        consumers(rows).to_parquet(tmp_path / f"{name}.parquet")
    policy = "\n".join(
        [
            'budget = { epsilon = 1 }\nneighbours = "change one"',
            *(f'[tables.{name}]\nsource = "{name}.parquet"\neach_row = true' for name in ("a", "b")),
            "[tables.a.columns]\nincome = { bounds = [0, 400_000], required = true }",
        ]
    )
    (tmp_path / "both.toml").write_text(policy)
    with tc.open(tmp_path / "both.toml") as db:
        assert (db.count(table="a").rows(), db.count(table="b").rows()) == ([(5,)], [(7,)])
        assert db.plan("SELECT avg(income) AS m FROM a", epsilon=1).plan.size == 5


def test_a_unit_that_counts_as_one_row_has_the_mean_of_the_notes() -> None:
    policy: dict[str, Any] = {"unit": "who", "max_rows": 1, "bounds": {"x": (0, 2)}, "keys": None, "required": ["x"]}
    with opened(people(40), **policy) as db:
        plan = db.plan("SELECT avg(x) AS a, count(*) AS n FROM ce", epsilon=0.5)
        assert plan.error["a"] == pytest.approx(2 / 40 / 0.5 * log(20), rel=1e-4)
        assert plan.error["n"] == 0
