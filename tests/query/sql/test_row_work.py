"""The public bound on the work of one private row: its count, and refusals before the charge."""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

import pytest

import tacit as tc
from policies import table_policy
from tacit.engines.duckdb.engine import DuckDBEngine
from tacit.errors import RefusedError
from tacit.query.expressions import Kind
from tacit.query.plan import Plan
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.sql.parse import parse
from tacit.query.sql.row_work import MOST_ROWS, MOST_STEPS, row_work

KINDS: dict[str, Kind] = {"person": "integer", "k": "text", "v": "real", "name": "text"}
PEOPLE = table_policy("t", KINDS, unit="person", max_groups=2, max_rows=2, bounds={"v": (0, 1)})


def public(name: str, *, size: int, copies: int) -> TablePolicy:
    columns = {
        "k": ColumnPolicy(kind="text", copies=copies),
        "a": ColumnPolicy(kind="integer", copies=1),
        "unread": ColumnPolicy(kind="text"),
    }
    return TablePolicy(
        name=name, unit=None, max_groups=1, max_rows=1, neighbours="add/remove", columns=columns, public=True, size=size
    )


def plan_of(sql: str, *, size: int = 40, copies: int = 10) -> Plan:
    return parse(sql, {"t": PEOPLE, "p": public("p", size=size, copies=copies)})


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("t", 1),
        ("t JOIN p ON t.k = p.k", 10),
        ("p JOIN t ON t.k = p.k", 10),
        ("t LEFT JOIN p ON t.k = p.k", 10),
        ("t JOIN p ON lower(t.k) = lower(p.k)", 40),  # two values may become one
        ("t JOIN p ON t.v = p.a", 40),  # cast to a real, where two integers may be equal
        ("t JOIN p ON t.k = p.unread", 40),
        ("t JOIN p ON t.k = p.k AND t.person = p.a", 1),
        ("t JOIN p ON t.person > p.a", 40),
        ("t JOIN p AS p1 ON t.k = p1.k JOIN p AS p2 ON t.k = p2.k", 100),
        ("t JOIN (SELECT p1.k, p2.a FROM p AS p1 JOIN p AS p2 ON p1.k = p2.k) AS q ON t.k = q.k", 100),
        ("t LEFT JOIN p AS p1 ON t.person = p1.a LEFT JOIN p AS p2 ON p1.k = p2.k", 10),
    ],
)
def test_a_row_becomes_at_most_the_product_of_what_matches(source: str, rows: int) -> None:
    assert row_work(plan_of(f"SELECT count(*) AS n FROM {source}")).rows == rows


def test_an_empty_public_table_leaves_one_row_to_a_left_join() -> None:
    assert row_work(plan_of("SELECT count(*) AS n FROM t LEFT JOIN p ON t.k = p.k", size=0, copies=0)).rows == 1


@pytest.mark.parametrize("copies", [MOST_ROWS, MOST_ROWS + 1])
def test_the_limit_on_rows_is_exact_and_named(copies: int) -> None:
    sql = "SELECT count(*) AS n FROM t JOIN p ON t.k = p.k"
    if copies == MOST_ROWS:
        assert row_work(plan_of(sql, size=5000, copies=copies)).rows == MOST_ROWS
    else:
        with pytest.raises(RefusedError, match=r"could become 1,001 joined rows \(1,001 of 'p'\); the limit is 1,000"):
            plan_of(sql, size=5000, copies=copies)


def test_many_small_joins_multiply() -> None:
    joins = " ".join(f"JOIN p AS p{i} ON p{i}.k = t.k" for i in range(10))
    with pytest.raises(RefusedError, match=r"could become 1,024 joined rows"):
        plan_of(f"SELECT count(*) AS n FROM t {joins}", copies=2)


def steps(sql: str, *, copies: int = 1) -> int:
    return row_work(plan_of(sql, copies=copies)).steps


def test_each_option_of_a_list_counts() -> None:
    short, long = (steps(f"SELECT count(*) AS n FROM t WHERE person IN ({','.join(map(str, range(n)))})") for n in (10, 110))  # fmt: skip # noqa: E501
    assert long - short == 100


def test_a_pattern_multiplies_the_length_of_its_text() -> None:
    short = steps("SELECT count(*) AS n FROM t WHERE name LIKE '%a_b%'")
    long = steps("SELECT count(*) AS n FROM t WHERE name LIKE '%a_b%c_d%'")
    assert long - short == 400  # four characters more for each of 100
    assert steps("SELECT count(*) AS n FROM t WHERE name LIKE 'abcd%'") < short / 10  # one pass


def test_a_change_of_case_costs_more_than_a_comparison() -> None:
    plain, lower = (steps(f"SELECT count(*) AS n FROM t WHERE {name} = 'x'") for name in ("name", "lower(name)"))
    assert lower > plain + 4_000


def test_rows_of_public_tables_are_limited_over_all_joins() -> None:
    sql = "SELECT count(*) AS n FROM t JOIN p AS p1 ON t.k = p1.k JOIN p AS p2 ON t.k = p2.k"
    assert row_work(plan_of(sql, size=5_000_000, copies=1)).public_rows == 10_000_000
    with pytest.raises(RefusedError, match=r"joins 10,000,002 rows of public tables; the limit is 10,000,000"):
        plan_of(sql, size=5_000_001, copies=1)


def test_duckdb_does_not_cut_public_tables_by_private_keys() -> None:
    """Without the row of the extreme key DuckDB would read one public row, with it all of them."""
    pd = pytest.importorskip("pandas")
    db = tc.open(
        pd.DataFrame({"person": [1, 2], "k": [0, 99]}),
        name="t",
        unit="person",
        max_groups=1,
        max_rows=1,
        public={"p": pd.DataFrame({"k": range(100)})},
        budget=tc.PureDP(epsilon=1),
    )
    _, engine = db._tables["t"]
    assert isinstance(engine, DuckDBEngine)
    (disabled,) = engine._connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()[0]
    assert {"statistics_propagation", "join_filter_pushdown"} <= set(disabled.split(","))
    known = {name for (name,) in engine._connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    # it plans nested expressions over a join in exponential time
    assert {"partial_aggregate_pushdown"} & known <= set(disabled.split(","))


def test_joined_rows_multiply_steps() -> None:
    sql = "SELECT sum(v) AS s FROM t JOIN p ON t.k = p.k"
    one, ten, twenty = (steps(sql, copies=copies) for copies in (1, 10, 20))
    assert twenty - ten == 10 * (ten - one) / 9 > 0


def test_a_shared_part_is_computed_once_and_each_aggregate_counts() -> None:
    first = steps("SELECT sum(v * 0.3 + 0.1) AS s FROM t")
    chain = "WITH a AS (SELECT v * 0.3 + 0.1 AS x FROM t) SELECT sum(x) AS s, sum(x * x) AS q FROM a"
    assert steps(chain) < 2 * first + 8
    many = steps("SELECT " + ", ".join(f"count(CASE WHEN v > {i} THEN 1 END) AS n{i}" for i in range(50)) + " FROM t")
    assert many > 50


def test_separate_statements_repeat_the_condition() -> None:
    listed = ", ".join(map(str, range(100)))
    single = steps(f"SELECT count(DISTINCT v) AS a FROM t WHERE person IN ({listed})")
    both = steps(f"SELECT count(DISTINCT v) AS a, count(DISTINCT v + 1) AS b FROM t WHERE person IN ({listed})")
    assert both - single > 100


LONG = ", ".join(f"'{i:0100d}'" for i in range(800))
NESTED = "replace(" * 15 + "name || '%d'" + ", 'a', 'b')" * 15
AIMED = {
    "a list on every joined row": f"SELECT count(*) AS n FROM t JOIN p ON t.k = p.k WHERE name IN ({LONG})",
    "a pattern on a long text": f"SELECT count(*) AS n FROM t JOIN p ON t.k = p.k WHERE '{'a' * 9000}' || name LIKE '{'%_a' * 60}'",  # noqa: E501
    "nested functions": "SELECT "
    + ", ".join(f"sum(clamp(length({NESTED % i}), 0, 9)) AS s{i}" for i in range(60))
    + " FROM t JOIN p ON t.k = p.k",
    "many aggregates": "SELECT "
    + ", ".join(f"count(DISTINCT name || '{i}') AS n{i}" for i in range(150))
    + " FROM t JOIN p ON t.k = p.k",
}


@pytest.mark.parametrize("sql", AIMED.values(), ids=AIMED.keys())
def test_aimed_work_is_refused_with_the_public_limit(sql: str) -> None:
    with pytest.raises(RefusedError, match=r"One private row could take .* steps.*; the limit is 1,000,000"):
        plan_of(sql, size=1000, copies=1000)


def test_the_steps_of_an_accepted_query_are_within_the_limit() -> None:
    for copies in (1, 10, 100, 1000):
        for sql in AIMED.values():
            try:
                plan = plan_of(sql, size=1000, copies=copies)
            except RefusedError:
                continue
            assert row_work(plan).steps <= MOST_STEPS


def test_a_query_aimed_at_one_person_is_refused_before_the_charge_with_or_without_her() -> None:
    """A public key occurs 200 times and is joined twice by alias: 40,000 rows for one person, 0 without her."""
    pd = pytest.importorskip("pandas")
    calendar = pd.DataFrame({"k": ["x"] * 200, "a": range(200)})
    messages = []
    for people in ([1, 2, 42], [1, 2]):
        rows = pd.DataFrame({"person": people, "k": ["x"] * len(people)})
        db = tc.open(
            rows, name="t", unit="person", max_groups=1, max_rows=1, public={"p": calendar}, budget=tc.PureDP(epsilon=1)
        )
        sql = "SELECT count(*) AS n FROM t JOIN p AS a ON a.k = t.k JOIN p AS b ON b.k = t.k WHERE person = 42"
        with pytest.raises(RefusedError) as refusal:
            db.sql(sql, epsilon=1e-9)
        messages.append(str(refusal.value))
        assert db.spent == tc.PureDP(epsilon=0)
    assert len(set(messages)) == 1
    assert "40,000 joined rows" in messages[0]


def test_the_plan_names_the_limit() -> None:
    pd = pytest.importorskip("pandas")
    db = tc.open(
        pd.DataFrame({"person": [1], "k": ["x"]}),
        name="t",
        unit="person",
        max_groups=1,
        max_rows=1,
        public={"p": pd.DataFrame({"k": ["x", "x", "y"], "a": [1, 2, 3]})},
        budget=tc.PureDP(epsilon=1),
    )
    plan = db.plan("SELECT count(*) AS n FROM t JOIN p USING (k)", epsilon=0.1)
    assert plan.work.rows == 2
    line = "Work for one private row: at most 2 joined rows (limit 1,000), at most"
    assert line in str(plan)
    assert line in plan._repr_html_()
    assert "limit" not in str(db.plan("SELECT count(*) AS n FROM t", epsilon=0.1))
