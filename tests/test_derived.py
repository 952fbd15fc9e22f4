"""Queries that compute with private aggregates, through `tc.open`: answers, charges, records, refusals, failures."""
# ruff: noqa: S608 - questions are text

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from sqlglot import parse_one

import tacit as tc
from tacit.database import Database
from tacit.deriving import _enlarged, _recorded
from tacit.engines.duckdb import sandbox
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import InvalidError, RefusedError
from tacit.guarantees.filters import Spent
from tacit.ledger.sql_ledger import SqlLedger
from tacit.query.aggregates.tree_summary import SummarizedTree
from tacit.query.noise_law import NoiseLaw
from tacit.query.pricing.joint_price import JointPrice
from tacit.query.pricing.price import Cost, Price
from tacit.query.results import answer_codec
from tacit.query.results.derived_intervals import separate_intervals
from tacit.query.results.derived_release import DerivedRelease
from tacit.query.results.noise_draws import draws, seeded
from tacit.query.results.release import Release
from tacit.quotes import DerivedQuote

EXACT = 10.0**9
"""With this ε no noise is left."""
REGIONS = ["east", "north", "south", "west"]
VISITS = pd.DataFrame(
    {
        "person": [i % 60 for i in range(240)],
        "region": [REGIONS[min(i % 7, 3)] for i in range(240)],
        "urban": [i % 3 == 0 for i in range(240)],
        "cost": [(i * 37) % 101 for i in range(240)],
    }
)
AREAS = pd.DataFrame({"region": ["north", "south", "east", "nowhere"], "area": [10.0, 20.0, 40.0, 1.0]})
T = "WITH t AS (SELECT region, count(*) AS n FROM visits GROUP BY region) "
U = T.rstrip() + ", u AS (SELECT region, sum(cost) AS s FROM visits WHERE urban GROUP BY region) "
SHARES = T + "SELECT region, n, n / sum(n) OVER () AS share, rank() OVER (ORDER BY n DESC) AS place FROM t"


def opened(epsilon: float = EXACT * 1000, **more: Any) -> Database:  # noqa: ANN401 - passed on
    return tc.open(
        VISITS,
        name="visits",
        **{
            "unit": tc.ROW,
            "bounds": {"cost": (0, 100)},
            "keys": {"region": REGIONS},
            "public": {"areas": AREAS},
            "budget": tc.ApproxDP(epsilon=epsilon, delta=1e-3),
            **more,
        },
    )


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with opened() as made:
        yield made


def truth(sql: str) -> list[tuple[object, ...]]:
    """Return the result of a query over the table itself."""
    with duckdb.connect() as connection:
        connection.register("visits", VISITS)
        connection.register("areas", AREAS)
        return [rounded(row) for row in connection.execute(sql).fetchall()]


def rounded(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(round(float(x), 3) if isinstance(x, (int, float)) and not isinstance(x, bool) else x for x in row)


QUERIES = [
    SHARES,
    T + "SELECT region, n FROM t UNION ALL SELECT 'all', sum(n) FROM t",
    T + "SELECT region, n FROM t WHERE n > (SELECT avg(n) FROM t) ORDER BY n DESC, region",
    T + "SELECT region, n FROM t QUALIFY rank() OVER (ORDER BY n DESC) <= 2",
    T + "SELECT * FROM t ORDER BY n DESC, region LIMIT 2 OFFSET 1",
    T + "SELECT max(n) - min(n) AS span, count(*) AS groups FROM t",
    U + "SELECT region, n, s, s / n AS each FROM t FULL JOIN u USING (region)",
    U + "SELECT t.region, s FROM t LEFT JOIN u ON t.region = u.region WHERE t.region <> 'east'",
    T + "SELECT t.region, n / area AS density FROM t JOIN areas USING (region)",
    T + "SELECT areas.region, n FROM areas LEFT JOIN t ON t.region = areas.region",
    T + "PIVOT t ON region USING sum(n)",
    T + "SELECT * FROM t PIVOT (sum(n) FOR region IN ('north', 'south'))",
    T + "SELECT a.region AS one, b.region AS other, a.n - b.n AS more FROM t AS a, t AS b WHERE a.region < b.region",
    T + "SELECT region, sum(n) OVER (ORDER BY region) AS running, lag(n) OVER (ORDER BY region) AS before FROM t",
    T + "SELECT CASE WHEN region IN ('east', 'west') THEN 'x' ELSE 'y' END AS part, sum(n) AS n FROM t GROUP BY 1",
    T + "SELECT region, i FROM t, range(3) AS r(i)",
    T + "SELECT region, x FROM t, (VALUES (1), (2)) AS v(x)",
    "SELECT region, count(*) AS n, n / sum(n) OVER () AS share FROM visits GROUP BY region",
    "SELECT region, count(*) AS n FROM visits GROUP BY region QUALIFY row_number() OVER (ORDER BY n DESC, region) = 1",
    "SELECT region AS r, sum(cost) AS s, sum(sum(cost)) OVER () AS total FROM visits WHERE urban GROUP BY r",
    "SELECT region, urban, count(*) AS n, sum(cost) AS s FROM visits GROUP BY ROLLUP (region, urban)",
    "SELECT region, urban, avg(cost) AS m FROM visits GROUP BY CUBE (region, urban)",
    "SELECT region, urban, count(*) FROM visits GROUP BY GROUPING SETS ((region), (urban), ())",
    "SELECT region, grouping(region) AS g, count(cost) AS n FROM visits GROUP BY ROLLUP (region)",
    "SELECT n FROM (SELECT count(*) AS n FROM visits) UNION ALL SELECT sum(cost) FROM visits",
    "WITH r AS (SELECT * FROM visits WHERE cost < 50), a AS (SELECT count(*) AS n FROM r) SELECT n / 2 AS half FROM a",
    "SELECT (SELECT count(*) FROM visits WHERE urban) / (SELECT count(*) FROM visits) AS part",
    "SELECT region, urban, count(*) AS n FROM visits GROUP BY ALL",
    "SELECT region, count(*) AS n, 100 * n / sum(n) OVER () AS share FROM visits GROUP BY ALL",
    "SELECT part, max(n) AS n FROM (SELECT urban AS part, region, count(*) AS n FROM visits GROUP BY ALL) GROUP BY ALL",
    "SELECT " + " + ".join(["(SELECT count(*) FROM visits)"] * 40) + " AS n",
]


@pytest.mark.parametrize("sql", QUERIES)
def test_without_noise_an_answer_is_that_of_the_same_sql_on_the_table(db: Database, sql: str) -> None:
    answer = db.sql(sql, epsilon=EXACT)
    expected = truth(sql)
    ordered = "ORDER BY n DESC" in sql.rpartition(")")[2]
    found = [rounded(row) for row in answer.rows()]
    assert (found if ordered else sorted(found, key=repr)) == (expected if ordered else sorted(expected, key=repr))


def test_an_answer_has_one_charge_and_all_its_releases(db: Database) -> None:
    before = len(db.ledger.entries())
    answer = db.sql(U + "SELECT region, n, s FROM t JOIN u USING (region)", epsilon=2)
    assert isinstance(answer, DerivedRelease)
    assert len(db.ledger.entries()) == before + 1
    assert answer.cost == tc.PureDP(epsilon=2)
    assert list(answer.released) == ["t", "u"]
    assert [each.cost for each in answer.released.values()] == [tc.PureDP(epsilon=1)] * 2
    assert answer.released["t"].table.columns[1] == answer.table.columns[1]
    receipt = answer.receipt
    assert receipt["privacy"]["promise"] == {"epsilon": 2.0}  # type: ignore[index]  # a mapping
    assert [each["name"] for each in receipt["released"]] == ["t", "u"]  # type: ignore[attr-defined]  # a list
    assert "visits" not in receipt["computed"]["sql"]  # type: ignore[index]  # a mapping
    json.dumps(receipt)


def test_the_same_private_aggregate_twice_is_charged_once() -> None:
    with opened(10) as db:
        same = "SELECT region, count(*) AS n FROM visits GROUP BY region"
        answer = db.sql(f"SELECT a.n - b.n AS zero FROM ({same}) AS a JOIN ({same}) AS b USING (region)", epsilon=1)
        assert {row[0] for row in answer.rows()} == {0}
        assert db.spent.epsilon == 1


def test_aggregates_of_disjoint_rows_are_priced_as_one() -> None:
    with opened(10) as db:
        parts = [f"SELECT count(*) AS n FROM visits WHERE cost {sign} 50" for sign in ("<", ">=")]
        plan = db.plan(" UNION ALL ".join(parts), epsilon=1)
        assert isinstance(plan, DerivedQuote)
        assert plan.cost == tc.PureDP(epsilon=1)
        assert [each.cost for each in plan.inner] == [tc.PureDP(epsilon=1)] * 2


def test_disjoint_rows_that_are_read_in_several_states_are_charged_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that changes between two reads could be in both answers."""
    monkeypatch.setattr(DuckDBEngine, "keeps_state", False)
    with opened(10) as db:
        parts = [f"SELECT count(*) AS n FROM visits WHERE cost {sign} 50" for sign in ("<", ">=")]
        plan = db.plan(" UNION ALL ".join(parts), epsilon=1)
        assert isinstance(plan, DerivedQuote)
        assert [each.cost for each in plan.inner] == [tc.PureDP(epsilon=0.5)] * 2


def counts(number: int) -> str:
    return " UNION ALL ".join(f"SELECT {i} AS k, count(*) AS n FROM visits WHERE cost <> {i}" for i in range(number))


def test_a_delta_that_saves_nothing_is_not_spent() -> None:
    with opened(10) as db:
        assert db.plan(counts(3), epsilon=0.3, delta=1e-6).cost == tc.PureDP(epsilon=0.3)


@pytest.mark.long
def test_with_a_delta_many_aggregates_compose_within_the_cost() -> None:
    with opened(10) as db:
        plan = db.plan(counts(12), epsilon=0.5, delta=1e-4)
        assert isinstance(plan, DerivedQuote)
        assert plan.cost.epsilon <= 0.5  # type: ignore[operator]  # ε and δ
        assert plan.cost.delta <= 1e-4  # type: ignore[union-attr]  # as above
        assert sum(each.cost.epsilon for each in plan.inner) > 0.55  # type: ignore[misc]  # as above
        db.sql(counts(12), epsilon=0.5, delta=1e-4)
        assert db.spent.epsilon <= 0.5  # type: ignore[operator]  # a budget in ε


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_parts_are_enlarged_only_while_their_joint_price_is_within_the_cost(power: float) -> None:
    """The joint price of two plans as a function of their parts, here the factor to some power times 0.4."""

    def priced(factor: Fraction) -> tuple[list[Price], JointPrice]:
        loss = Fraction(repr(0.4 * float(factor) ** power))
        spent = Spent(currency="basic", loss=loss, delta=Fraction(0))
        return [], JointPrice(events=(), together=spent, apart=spent)

    _, joint = _enlarged(priced(Fraction(1)), priced, Cost(epsilon=1), 4)
    best = min(0.4 * 4**power, 1)
    assert 0.9 * best <= joint.together.loss <= 1


def test_a_budget_without_delta_is_not_charged_a_delta() -> None:
    with opened(budget=tc.PureDP(epsilon=10)) as db, pytest.raises(InvalidError, match="no δ"):
        db.sql(SHARES, epsilon=0.01, delta=1e-3)


def test_a_budget_in_rho_is_split() -> None:
    with opened(budget=tc.ZCDP(rho=1)) as db:
        answer = db.sql(U + "SELECT region, n, s FROM t JOIN u USING (region)", rho=0.5)
        assert answer.cost == tc.ZCDP(rho=0.5)
        assert db.spent == tc.ZCDP(rho=0.5)


def test_plans_of_plain_queries_are_not_split(db: Database) -> None:
    assert not isinstance(db.plan("SELECT region, count(*) AS n FROM visits GROUP BY region", epsilon=1), DerivedQuote)


# --- intervals --------------------------------------------------------------------------------------------------------


def ends(answer: DerivedRelease) -> dict[str, bool]:
    return {column.name: column.ends is not None for column in answer.columns()}


def derived(db: Database, sql: str, **options: Any) -> DerivedRelease:  # noqa: ANN401 - passed on
    answer = db.sql(sql, **({"epsilon": 1} | options))
    assert isinstance(answer, DerivedRelease)
    return answer


def test_which_columns_have_intervals_and_why_others_do_not(db: Database) -> None:
    answer = derived(db, SHARES.replace("FROM t", ", max(n) OVER () AS most, abs(n) AS size FROM t"))
    assert ends(answer) == {
        "region": False, "n": True, "share": True, "place": False, "most": True, "size": False
    }  # fmt: skip
    assert set(answer.without_interval) == {"place", "size"}
    assert "place has no interval" in str(answer)
    inner = answer.released["t"]
    released = dict(zip(inner.table.columns[0], inner.columns()[1].ends or (), strict=True))
    assert dict(zip(answer.table.columns[0], answer.columns()[1].ends or (), strict=True)) == released


def test_simulated_intervals_are_the_quantiles_of_draws(db: Database) -> None:
    """The sandbox against NumPy, on the same draws."""
    answer = derived(db, SHARES)
    inner = answer.released["t"]
    drawn = draws(inner, ["n"], 999, seeded([inner]))
    assert drawn is not None
    whole = np.rint(drawn[0])
    expected = separate_intervals(whole / whole.sum(axis=0), 0.95)
    by_region = dict(zip((cell.keys[0] for cell in inner.cells), expected, strict=True))
    found = dict(zip(answer.table.columns[0], answer.columns()[2].ends or (), strict=True))
    assert set(found) == set(REGIONS)
    for region, pair in found.items():
        assert pair == pytest.approx(by_region[region])


def test_after_a_choice_intervals_hold_for_all_groups_together(db: Database) -> None:
    plain, chosen = derived(db, SHARES), derived(db, SHARES + " ORDER BY n DESC LIMIT 2")

    def width(answer: DerivedRelease, place: int) -> float:
        pairs = answer.columns()[place].ends or ()
        return float(np.mean([pair[1] - pair[0] for pair in pairs if pair is not None]))

    assert width(chosen, 1) > 1.2 * width(plain, 1)
    assert width(chosen, 2) > 1.2 * width(plain, 2)
    assert "for all rows that could have been shown" in str(chosen)


def test_sums_after_a_choice_have_no_interval(db: Database) -> None:
    answer = derived(db, T + "SELECT sum(n) AS total FROM t WHERE n > 10")
    assert answer.without_interval == {"total": "it is not a sum, a difference or a ratio of released values"}


def test_rows_that_look_alike_have_no_simulated_interval(db: Database) -> None:
    answer = derived(db, T + "SELECT n + 1 AS m FROM t")
    assert answer.without_interval == {"m": "no exact columns tell its rows apart"}


def test_a_maximum_has_the_range_of_intervals_that_hold_together(db: Database) -> None:
    answer = derived(db, T + "SELECT max(n) AS most FROM t")
    ((low, high),) = answer.columns()[0].ends or ()  # type: ignore[misc]  # not None
    inner = answer.released["t"].intervals(1 - 0.05 / 4)
    assert (low, high) == (max(inner.columns[2]), max(inner.columns[3]))  # type: ignore[type-var]  # numbers


def test_totals_of_a_cube_have_narrower_intervals_than_sums_of_cells(db: Database) -> None:
    cube = derived(db, "SELECT region, urban, count(*) AS n FROM visits GROUP BY CUBE (region, urban)")
    rows = dict(zip(zip(*cube.table.columns[:2], strict=True), cube.columns()[2].ends or (), strict=True))
    total = rows[None, None]
    cells = [pair for keys, pair in rows.items() if None not in keys]
    assert total is not None
    assert all(pair is not None for pair in cells)
    assert total[1] - total[0] < sum(pair[1] - pair[0] for pair in cells if pair is not None)
    values = dict(zip(zip(*cube.table.columns[:2], strict=True), cube.table.columns[2], strict=True))
    for region in REGIONS:
        assert values[region, None] == values[region, True] + values[region, False]  # type: ignore[operator]  # numbers
    assert values[None, None] == sum(values[region, None] for region in REGIONS)  # type: ignore[misc]  # numbers


def test_one_aggregate_under_two_names_is_drawn_once(db: Database) -> None:
    """Two independent draws would make the interval of the sum too narrow, by a factor of 1.4."""
    sql = "SELECT region, count(*) + count(1) AS s, 2 * count(*) AS d FROM visits GROUP BY ROLLUP (region)"
    columns = derived(db, sql).columns()
    assert columns[1].ends is not None
    assert columns[1].ends == columns[2].ends


NOT_SMOOTH = [
    "sum((n - 60) ** 2)",
    "sqrt(sum((n - 60) ** 2) / 4)",
    "sum(sqrt(power(n - 60, 2)))",
    "avg(n * n) - avg(n) * avg(n)",
    "sum(power(n / 240, 2))",
]


@pytest.mark.parametrize("expression", NOT_SMOOTH)
def test_functions_that_are_not_linear_have_no_interval(db: Database, expression: str) -> None:
    answer = derived(db, T + f"SELECT {expression} AS x FROM t")
    assert answer.columns()[0].ends is None
    assert answer.without_interval == {"x": "it is not a sum, a difference or a ratio of released values"}


def test_sums_of_rounded_values_have_safe_intervals(db: Database) -> None:
    answer = derived(db, T + "SELECT sum(round(n, -2)) AS x, sum(CAST(n / 100 AS INTEGER)) AS y FROM t")
    assert set(answer.methods().values()) == {"computed; its interval is propagated from intervals that hold together"}
    counts = VISITS.groupby("region").size()
    for column, true in zip(answer.columns(), (sum(100 * round(n / 100) for n in counts), 1), strict=True):
        ((low, high),) = column.ends or ()  # type: ignore[misc]  # not None
        assert low <= true <= high


def test_a_rounded_share_has_the_rounded_interval_of_the_share(db: Database) -> None:
    answer = derived(db, T + "SELECT region, n / sum(n) OVER () AS a, round(n / sum(n) OVER (), 3) AS b FROM t")
    for whole, shown in zip(answer.columns()[1].ends or (), answer.columns()[2].ends or (), strict=True):
        assert shown == pytest.approx(whole, abs=0.0006)


def test_found_groups_have_no_simulated_interval_of_their_count_of_units() -> None:
    with opened(keys=None) as db:
        answer = derived(db, SHARES, epsilon=10, delta=1e-4)
        assert "about the groups that were found" in str(answer)
        assert ends(answer)["n"]
        assert answer.without_interval["share"] == "one of the released values in it has no noise that can be simulated"


@pytest.mark.parametrize("dropped", [False, True])
def test_quantiles_beside_a_count_do_not_prevent_its_interval(
    db: Database, monkeypatch: pytest.MonkeyPatch, *, dropped: bool
) -> None:
    if dropped:
        monkeypatch.setattr("tacit.query.aggregates.tree_summary.MOST_BYTES", 0)
    tree = ", ".join(f"quantile_cont(cost, 0.{digit}) AS q{digit}" for digit in range(1, 8))
    inner = f"SELECT region, count(*) AS n, {tree} FROM visits GROUP BY region"
    answer = db.sql(f"SELECT region, n / 2 AS half, q5 + 1 AS q FROM ({inner})", epsilon=1)
    assert isinstance(answer, DerivedRelease)
    (released,) = answer.releases.values()
    assert {type(law) for law in released.price.noise} == {NoiseLaw}  # a tree, whose noise is added
    assert isinstance(released.cells[0].released[-1], SummarizedTree) == dropped
    half, q = answer.columns()[1:]
    for value, pair in zip(half.values, half.ends or (), strict=True):
        assert pair is not None
        assert isinstance(value, float)
        assert pair[0] < value < pair[1]
    assert q.ends is not None
    assert "half" in str(answer)


def test_an_answer_has_as_many_rows_as_its_table(db: Database) -> None:
    answer = db.sql(SHARES, epsilon=1)
    assert (len(answer), bool(answer)) == (len(answer.table), True) == (4, True)
    assert len(db.sql(T + "SELECT max(n) AS m FROM t", epsilon=1)) == 1


def test_the_record_is_written_only_if_it_is_stored_and_is_compact(monkeypatch: pytest.MonkeyPatch) -> None:
    written, to_text = list[str](), answer_codec.to_text

    def noted(answer: Release) -> str:
        written.append(to_text(answer))
        return written[-1]

    monkeypatch.setattr(answer_codec, "to_text", noted)
    opened().sql(U + "SELECT sum(n) AS n, sum(s) AS s FROM t JOIN u USING (region)", epsilon=1)
    assert not written
    db = opened(data_version="1")
    answer = db.sql(U + "SELECT sum(n) AS n, sum(s) AS s FROM t JOIN u USING (region)", epsilon=1)
    assert isinstance(answer, DerivedRelease)
    assert written == [to_text(each) for each in answer.releases.values()]
    record = _recorded(list(answer.releases.values()))
    assert json.loads(record) == {"released": [json.loads(each) for each in written[:2]]}
    assert len(record) <= sum(map(len, written[:2])) + len('{"released":[,]}')


def test_other_confidences_and_conversions(db: Database) -> None:
    answer = derived(db, SHARES)
    wide, narrow = answer.intervals(0.99), answer.intervals(0.5)
    place = wide.names.index("share_low")
    assert all(w < n for w, n in zip(wide.columns[place], narrow.columns[place], strict=True))  # type: ignore[operator]  # numbers
    assert len(answer.to_pandas()) == len(answer.to_polars()) == answer.to_arrow().num_rows == 4
    assert len(answer) == 4
    assert sorted(answer["region"]) == REGIONS  # type: ignore[type-var]  # texts
    assert "share_low" in answer.to_csv(intervals=True)
    assert float(db.sql(T + "SELECT sum(n) AS total FROM t", epsilon=EXACT)) == 240
    assert "share" in answer._repr_html_()
    assert repr(answer).startswith("<Release: 4 rows of region, n, share, place;")
    assert answer.plot() is not None


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"error": 5}, "error"),
        ({"epsilon": 1, "reach": "auto"}, "reach"),
        ({"epsilon": 1, "bounds": {"cost": "auto"}}, "bounds"),
        ({"epsilon": 1, "measure_cut": 100}, "measure_cut"),
        ({"epsilon": 1, "keys": {"nosuch": ["a"]}}, "keys"),
        ({}, "epsilon or rho"),
    ],
)
def test_options_of_one_aggregate_are_refused(options: dict[str, Any], argument: str) -> None:
    with opened(5, unit="person", max_groups=2, reach=3) as db:
        with pytest.raises(InvalidError, match=r"Nothing was spent\.") as raised:
            db.sql(SHARES, **options)
        assert raised.value.argument == argument
        assert not db.ledger.entries()


def test_keys_are_given_to_the_aggregate_that_groups_by_them() -> None:
    with opened(keys=None) as db:
        sql = (
            T + ", w AS (SELECT urban, count(*) AS k FROM visits GROUP BY urban) SELECT region, k FROM t, w WHERE urban"
        )
        answer = db.sql(sql, epsilon=EXACT, keys={"region": ["north", "south"]})
        assert sorted(str(row[0]) for row in answer.rows()) == ["north", "south"]


def test_a_computation_cannot_be_declared(db: Database) -> None:
    with pytest.raises(InvalidError, match="computes with private aggregates"):
        tc.declare([db.plan(SHARES, epsilon=1)])


def test_intervals_false_and_limits_reach_the_aggregates() -> None:
    with opened(unit="person", max_groups=4, max_rows=4) as db:
        sql = "SELECT m + 1 AS more FROM (SELECT median(cost) AS m FROM visits)"
        answer = derived(db, sql, epsilon=5, intervals=False)
        assert answer.without_interval
        plan = db.plan(SHARES, epsilon=1, max_rows=2)
        assert isinstance(plan, DerivedQuote)
        assert plan.inner[0].plan.table.max_rows == 2
        assert "at most 2 rows a group" in str(plan)


# --- refusals and failures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "outer",
    [
        "SELECT nosuch FROM t",
        "SELECT [n] AS x FROM t",
        "SELECT region::INT AS x FROM t",
        "SELECT n + region FROM t",
        "SELECT sum(n), region FROM t",
        "SELECT n FROM t, range(100000000) AS a, range(100000000) AS b",
        "SELECT sum(a.range * b.range) FROM t, range(100000000) AS a, range(100000000) AS b",
        "SELECT * FROM read_csv('/etc/passwd'), t",
        "SELECT getenv('HOME') FROM t",
        "SELECT n FROM t, visits",
        "SELECT n, cost FROM t JOIN visits USING (region)",
        "SELECT n FROM t WHERE n > (SELECT max(cost) OVER () FROM visits)",
        "SELECT " + "(" * 40 + "n" + ")" * 40 + " FROM t",
    ],
)
def test_a_computation_that_cannot_run_is_refused_before_the_charge(db: Database, outer: str) -> None:
    before = len(db.ledger.entries())
    with pytest.raises((RefusedError, InvalidError), match=r"Nothing was spent\."):
        db.sql(T + outer, epsilon=1)
    assert len(db.ledger.entries()) == before


@pytest.mark.parametrize(
    ("outer", "reason"),
    [
        ("SELECT CASE WHEN n > 20 THEN n * 9000000000000000000 END AS x FROM t", "Out of Range"),
        ("SELECT CASE WHEN n > 20 THEN region::INT END AS x FROM t", "Conversion"),
    ],
)
def test_a_computation_that_fails_after_the_charge_returns_the_released_tables(
    db: Database, outer: str, reason: str
) -> None:
    before = len(db.ledger.entries())
    with pytest.warns(UserWarning, match="was charged and its private aggregates were released"):
        answer = db.sql(T + outer, epsilon=1)
    assert isinstance(answer, DerivedRelease)
    assert reason in str(answer)
    assert answer.result is None
    assert [row[0] for row in answer.rows()] == REGIONS
    assert answer.receipt["computed"]["failed"]  # type: ignore[index]  # a mapping
    assert "north" in answer._repr_html_()
    assert len(db.ledger.entries()) == before + 1


def test_a_computation_that_takes_too_long_after_the_charge_returns_the_released_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The dry run is short because the dummies have small numbers; here it is left out."""
    endless = "SELECT sum(a.range * b.range) AS x FROM released_1, range(1000000) AS a, range(1000000) AS b"
    with opened(5) as db:
        plan = db.plan(SHARES, epsilon=1)
        assert isinstance(plan, DerivedQuote)
        monkeypatch.setattr(sandbox.Sandbox.run, "__defaults__", (0.5,))
        outer = replace(plan.outer, tree=parse_one(endless, dialect="duckdb"))
        answer = db._session.answer(replace(plan, outer=outer))
        assert isinstance(answer, DerivedRelease)
        assert answer.failure is not None
        assert "took more than" in answer.failure
        assert len(answer.rows()) == 4
        assert len(db.ledger.entries()) == 1


def test_a_process_that_dies_after_the_charge_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(5) as db:
        plan = db.plan(SHARES, epsilon=1)

        def fails(*_: object) -> None:
            raise OSError("no process")

        monkeypatch.setattr(sandbox.Sandbox, "open", fails)
        answer = db._session.answer(plan)
        assert isinstance(answer, DerivedRelease)
        assert answer.failure == "the process that computes it could not be used"
        assert len(answer.rows()) == 4


def test_a_computation_that_is_interrupted_after_the_charge_returns_the_released_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with opened(5) as db:
        plan = db.plan(SHARES, epsilon=1)

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(sandbox.Sandbox, "run", interrupted)
            answer = db._session.answer(plan)
        assert isinstance(answer, DerivedRelease)
        assert answer.failure == "it was interrupted"
        assert len(answer.rows()) == 4
        assert len(db.ledger.entries()) == 1
        assert db.sql(SHARES, epsilon=1).warnings == []


def test_nothing_private_is_read_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(5) as db:

        def read(*_: object) -> None:
            raise AssertionError("a private row was read")

        monkeypatch.setattr(DuckDBEngine, "measure", read)
        monkeypatch.setattr(DuckDBEngine, "find", read)
        db.plan(U + "SELECT region, n, s FROM t JOIN u USING (region) JOIN areas USING (region)", epsilon=1)
        with pytest.raises(RefusedError):
            db.sql(T + "SELECT nosuch FROM t", epsilon=1)


# --- records ----------------------------------------------------------------------------------------------------------


def test_a_repeated_query_is_free_and_has_the_same_answer(tmp_path: Path) -> None:
    path = tmp_path / "VISITS.parquet"
    VISITS.to_parquet(path)
    ledger = tmp_path / "v.ledger"
    policy = tmp_path / "p.toml"
    policy.write_text(
        f"""budget = {{ epsilon = 5 }}
ledger = "{ledger}"
data_version = "1"
[tables.visits]
source = "{path}"
unit = "person"
max_groups = 8
max_rows = 4
[tables.visits.columns]
region = {{ keys = {json.dumps(REGIONS)} }}
cost = {{ bounds = [0, 100] }}
"""
    )
    cube = "SELECT region, urban, count(*) AS n, sum(cost) AS s FROM visits GROUP BY CUBE (region, urban)"
    with tc.open(policy) as db:
        first = [db.sql(sql, epsilon=1) for sql in (SHARES, cube)]
    with tc.open(policy) as db:
        again = [db.sql(sql, epsilon=1) for sql in (SHARES, cube)]
        assert db.spent.epsilon == 2
        assert all(answer.repeated for answer in again)
        assert [sorted(map(repr, answer.rows())) for answer in again] == [
            sorted(map(repr, answer.rows())) for answer in first
        ]
        assert sorted(map(repr, again[0].intervals().rows())) == sorted(map(repr, first[0].intervals().rows()))
        other = db.sql(SHARES.replace("rank", "dense_rank"), epsilon=1)
        assert not other.repeated
        assert isinstance(db.ledger, SqlLedger)
        tc.ledger.verify(db.ledger, [answer.receipt for answer in (*again, other)])


def test_a_named_request_is_answered_once() -> None:
    with opened(5) as db:
        first, again = (db.sql(SHARES, epsilon=1, request="mine") for _ in range(2))
        assert again.repeated
        assert again.rows() == first.rows()
        assert db.spent.epsilon == 1
        with pytest.raises(tc.TacitError):
            db.sql(SHARES + " ORDER BY n", epsilon=1, request="mine")


def test_a_plan_shows_every_release_with_its_cost_and_error(db: Database) -> None:
    text = str(db.plan(U + "SELECT region, n, s / n AS each FROM t JOIN u USING (region)", epsilon=2))
    for part in (
        "costs ε = 2",
        "split over 2 private aggregates",
        "t: SELECT region",
        "u: SELECT region",
        "costs ε = 1",
    ):
        assert part in text
    assert "each: computed; its interval is simulated" in text
    plan = db.plan(SHARES, epsilon=1)
    assert set(plan.error) == {"n"}
    assert set(plan.unknown) == {"share", "place"}


ALL_N = "count(*) AS n, sum(count(*)) OVER () AS s FROM visits"
LATE = "CASE WHEN region = 'east' THEN 'z' ELSE region END"
BY_REGION = "FROM visits GROUP BY region"
SMALL = "WITH a AS (SELECT * FROM visits WHERE cost < 10)"
LARGE = "WITH a AS (SELECT * FROM visits WHERE cost >= 10)"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT coalesce(region, 'all') AS region, count(*) AS n FROM visits GROUP BY ROLLUP (region)",
        f"SELECT CASE WHEN region = 'east' THEN 'north' ELSE region END AS region, {ALL_N} GROUP BY region",
        f"SELECT urban AS region, region AS urban, {ALL_N} GROUP BY region, urban ORDER BY region",
        "SELECT region, sum(cost) AS cost FROM visits GROUP BY ROLLUP (region) HAVING cost > 1750",
        "SELECT region, avg(cost) FILTER (WHERE urban) AS m, count(*) AS n FROM visits GROUP BY CUBE (region)",
        f"SELECT region, count(*) FILTER (WHERE cost > 50) AS k, {ALL_N} GROUP BY region",
        "SELECT urban, cost > 50 AS c, count(*) AS n FROM visits GROUP BY ROLLUP (urban, (cost > 50))",
        f"{SMALL}, b AS (SELECT * FROM a) SELECT m FROM ({LARGE} SELECT n AS m FROM (SELECT count(*) AS n FROM b))",
        f"SELECT {LATE} AS region, {ALL_N} GROUP BY region ORDER BY region || '' LIMIT 1",
        f"SELECT {LATE} AS region, {ALL_N} GROUP BY region ORDER BY (region) LIMIT 1",
        f"WITH a AS (SELECT {LATE} AS region, count(*) AS n {BY_REGION} ORDER BY region || '' LIMIT 1) SELECT * FROM a",
    ],
)
def test_names_refer_to_the_columns_and_ctes_that_duckdb_uses(db: Database, sql: str) -> None:
    with duckdb.connect() as connection:
        connection.register("visits", VISITS)
        expected = connection.execute(sql).fetchall()
    assert sorted(map(repr, db.sql(sql, epsilon=EXACT).rows())) == sorted(map(repr, expected))


def test_a_note_of_all_private_aggregates_is_printed_once() -> None:
    lost = "Rows with another region, and rows where region is NULL, are not counted."
    one = opened().sql(SHARES, epsilon=1)
    assert [note for note in one.notes if "region" in note] == [lost]
    both = opened().sql(U + "SELECT t.region, n, s FROM t JOIN u ON t.region = u.region", epsilon=1)
    assert [note for note in both.notes if "not counted" in note] == [lost]
    clipped = [note for note in both.notes if "clipped" in note]
    assert all(note.startswith("u: ") for note in clipped)
