"""Accepted SQL that tries to raise the sensitivity: joins that multiply rows, tricks with the unit column, nesting.

One person has 40 rows with huge values in all groups. The exact integers of each query are measured with and without
that person; they must move by no more than the noise is made for. The same queries, run as they are, move by far more.
`tests/contract/test_questions.py` searches the same with random queries.
"""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tacit as tc
from attacks.references import TextbookDatabase
from tacit.database import Database
from tacit.engines.sql.engine import StatementEngine
from tacit.query.noise_law import sensitivity
from tacit.query.plan import Plan

HER, HER_ROWS = 1, 40
ROWS = pa.table(
    {
        "u": [HER] * HER_ROWS + list(range(2, 20)) + [None] * 6,
        "x": [1e9, 1e9, 1e9, -1e9] * (HER_ROWS // 4) + [0.5] * 18 + [1e12] * 6,
        "g": ["a", "b", "c", "d"] * 10 + ["a"] * 18 + ["b"] * 6,
        "k": [1] * (HER_ROWS + 24),
        "n": list(range(HER_ROWS)) + [3] * 24,
    }
)
WITHOUT_HER = ROWS.filter(pc.or_kleene(pc.not_equal(ROWS["u"], HER), pc.is_null(ROWS["u"])))
WITHOUT_NOBODY = ROWS.filter(pc.is_valid(ROWS["u"]))
PUBLIC = pa.table({"k": [1, 1, 1, 1, 2], "w": [5, 6, 7, 8, 9]})
SECRET = (3, 5)

TRICKS = {
    "count": "SELECT count(*) AS n FROM t",
    "sum of huge values": "SELECT sum(x) AS s FROM t",
    "sum of values times a constant": "SELECT sum(x * 1000000) AS s FROM t",
    "sum of a power": "SELECT sum(power(x, 3)) AS s FROM t",
    "sum of an exponential": "SELECT sum(exp(x * 100)) AS s FROM t",
    "sum of a clamp": "SELECT sum(clamp(x * x, 0, 10)) AS s FROM t",
    "CASE": "SELECT sum(CASE WHEN x > 100 THEN 1000 ELSE 0 END) AS s FROM t",
    "one aggregate many times": "SELECT sum(x) AS a, sum(-x) AS b, sum(x * 2) AS c, avg(x) AS d, count(*) AS e, "
    "count(x) AS f FROM t",
    "a join that multiplies": "SELECT count(*) AS n FROM t JOIN p ON t.k = p.k",
    "a join that multiplies twice": "SELECT count(*) AS n FROM t JOIN p AS a ON t.k = a.k JOIN p AS b ON t.k = b.k",
    "a left join": "SELECT count(*) AS n FROM t LEFT JOIN p ON t.k = p.k AND p.w > 5",
    "a sum over a join": "SELECT sum(clamp(w, 0, 9)) AS s FROM t JOIN p ON t.k = p.k",
    "a product over a join": "SELECT sum(w * x) AS s FROM t JOIN p ON t.k = p.k",
    "distinct values of a join": "SELECT count(DISTINCT n * 10 + w) AS n FROM t JOIN p ON t.k = p.k",
    "a computed unit": "SELECT count(*) AS n FROM (SELECT u + n AS u, x FROM t) AS q",
    "a constant unit": "SELECT count(*) AS n FROM (SELECT 7 AS u, x FROM t) AS q",
    "units that change names": "SELECT sum(clamp(u, 0, 1)) AS s FROM (SELECT n AS u, x AS k FROM t) AS q",
    "another column under the name of the unit": "SELECT count(DISTINCT u) AS n FROM (SELECT n AS u FROM t) AS q",
    "units without the column": "SELECT sum(x) AS s FROM (SELECT x, g FROM t) AS q",
    "groups": "SELECT g, count(*) AS n, sum(x) AS s FROM t GROUP BY g",
    "groups of a condition": "SELECT x > 100 AS big, count(*) AS n FROM t GROUP BY big",
    "groups of a bin": "SELECT floor(clamp(n, 0, 40)) AS b, count(*) AS n FROM t GROUP BY b",
    "different values": "SELECT count(DISTINCT n) AS n FROM t",
    "different reals": "SELECT count(DISTINCT x + n) AS n FROM t",
    "different persons": "SELECT count(DISTINCT u) AS n FROM t",
    "persons with many rows": "SELECT count(*) AS n FROM (SELECT u, count(*) AS c FROM t GROUP BY u) WHERE c > 5",
    "persons and groups": "SELECT count(*) AS n FROM (SELECT u, g, count(*) AS c FROM t GROUP BY u, g) AS q",
    "sums of persons": "SELECT sum(clamp(s, 0, 5)) AS s FROM (SELECT u, sum(x) AS s FROM t GROUP BY u)",
    "persons twice": "SELECT sum(clamp(m, 0, 5)) AS s FROM (SELECT u, max(c) AS m FROM "
    "(SELECT u, g, count(*) AS c FROM t GROUP BY u, g) AS q GROUP BY u) AS r",
    "persons and a join": "SELECT count(*) AS n FROM (SELECT u, count(*) AS c FROM t GROUP BY u) AS q "
    "JOIN p ON q.c = p.w",
    "a condition on the person": "SELECT count(*) AS n FROM t WHERE u = 1",
    "a condition on the person in a subquery": "SELECT sum(x) AS s FROM (SELECT * FROM t WHERE u = 1) AS q",
    "a condition on public rows": "SELECT count(*) AS n FROM t WHERE k IN (SELECT k FROM p)",
    "EXISTS": "SELECT count(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM p WHERE p.k = t.k AND p.w > 6)",
    "mode": "SELECT mode(g) AS m FROM t",
    "arg_max": "SELECT arg_max(g, count(*)) AS m FROM t",
    "median": "SELECT median(x) AS m, quantile_cont(x, 0.1) AS q FROM t",
    "min and max": "SELECT min(x) AS a, max(x) AS b FROM t",
    "spread": "SELECT var_pop(x) AS v, stddev(x) AS s, skewness(x) AS k FROM t",
    "pairs": "SELECT corr(x, x * 2) AS c, regr_slope(x, 1 - x) AS r, covar_pop(x, x) AS v FROM t",
    "histogram": "SELECT histogram(x, [0.1, 0.7, 2]) AS h FROM t",
    "a filter": "SELECT sum(x) FILTER (WHERE n > 3) AS s, count(*) FILTER (WHERE x > 5) AS n FROM t",
    "quoted names": 'SELECT sum("x") AS "count(*)" FROM "t" AS "u" WHERE "u"."u" = 1',
    "a name of another case": "SELECT SUM(X) AS S FROM T WHERE U = 1",
    "comments": "SELECT /* 1 */ sum(/* k */ x) -- n\n AS s FROM t /* WHERE */ WHERE u = /* 2 */ 1",
    "a CTE with the name of the table": "WITH t AS (SELECT * FROM t) SELECT count(*) AS n FROM t",
    "CTEs in a row": "WITH a AS (SELECT * FROM t), b AS (SELECT * FROM a), c AS (SELECT x * 2 AS x FROM b) "
    "SELECT sum(x) AS s FROM c",
    "text as numbers": "SELECT sum(clamp(CAST(CAST(n AS TEXT) AS BIGINT), 0, 3)) AS s FROM t WHERE n > '3'",
}

MOVES_RAW = [
    "count",
    "sum of huge values",
    "sum of values times a constant",
    "sum of a power",
    "CASE",
    "a join that multiplies",
    "a join that multiplies twice",
    "a left join",
    "distinct values of a join",
    "a computed unit",
    "a constant unit",
    "groups",
    "different values",
    "units without the column",
    "a condition on the person",
    "a condition on public rows",
    "another column under the name of the unit",
    "CTEs in a row",
    "quoted names",
]


def opened(rows: pa.Table, limits: dict[str, int]) -> Database:
    return tc.open(
        rows,
        name="t",
        unit="u",
        bounds={"x": (0, 1)},
        keys={"g": ["a", "b", "c", "d"]},
        public={"p": PUBLIC},
        budget=tc.ApproxDP(epsilon=10**9, delta=0.1),
        **limits,  # type: ignore[arg-type]  # numbers
    )


LIMITS = [{"max_groups": 2, "max_rows": 3}, {"reach": 5}, {"max_groups": 2, "max_rows": 3, "reach": 4}]
Trio = tuple[Database, Database, Database]


@pytest.fixture(scope="module", params=LIMITS, ids=str)
def tables(request: pytest.FixtureRequest) -> Iterator[Trio]:
    """Return the table, the table without her, and the table without rows that have no unit."""
    with (
        opened(ROWS, request.param) as every,
        opened(WITHOUT_HER, request.param) as without,
        opened(WITHOUT_NOBODY, request.param) as units,
    ):
        yield every, without, units


def integers(db: Database, plan: Plan) -> list[list[int]]:
    """Return the exact integers of a query, with one choice of groups for all tables."""
    engine = db._tables["t"][1]
    assert isinstance(engine, StatementEngine)
    return [[int(cell) for cell in each] for each in engine.measure_with(plan, SECRET)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TRICKS)
def test_a_person_moves_no_query_beyond_its_noise(tables: Trio, name: str) -> None:
    plan = tables[0].plan(TRICKS[name], epsilon=1).plan
    every, without, units = (iter(integers(db, plan)) for db in tables)
    for bundle in plan.bundles:
        moved = 0
        for _ in bundle.measures:
            before, after, same = next(every), next(without), next(units)
            moved += sum(abs(one - other) for one, other in zip(before, after, strict=True))
            assert before == same  # rows without a unit count for nothing
        assert moved <= sensitivity(plan, bundle, "laplace")


def numbers(rows: list[tuple[object, ...]]) -> float:
    return sum(float(cell) for row in rows for cell in row if isinstance(cell, (int, float)))


@pytest.mark.parametrize("name", MOVES_RAW)
def test_she_moves_the_same_query_of_the_textbook_by_more(name: str) -> None:
    """The textbook adds noise for a row that counts once."""
    books = []
    for rows in (ROWS, WITHOUT_HER):
        book = TextbookDatabase(rows)
        book.connection.register("p", PUBLIC)
        books.append(numbers(book.answer(TRICKS[name], 1000)))
    assert abs(books[0] - books[1]) > 5


# --- what is chosen by released values ------------------------------------------------------------------------------

CHOICES = [
    "SELECT g, count(*) AS n FROM t GROUP BY g HAVING count(*) > 10",
    "SELECT g, count(*) AS n FROM t GROUP BY g HAVING sum(x) > 10",
    "SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY n DESC LIMIT 1",
    "SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY sum(x) LIMIT 1",
    "SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY count(DISTINCT u) DESC LIMIT 2 OFFSET 1",
    "SELECT g FROM (SELECT g, count(*) AS n FROM t GROUP BY g) AS q WHERE n > 10",
    "SELECT g, rank() OVER (ORDER BY count(*)) AS r FROM t GROUP BY g",
]


@pytest.mark.parametrize("sql", CHOICES)
def test_clauses_choose_by_noisy_values(sql: str) -> None:
    """With ε = 1e-6, noise decides: 45 answers are all equal with probability below 1e-12. The textbook has one."""
    rows = pa.table({"u": list(range(2000)), "x": [1.0] * 2000, "g": ["a"] * 1999 + ["b"]})
    with tc.open(
        rows,
        name="t",
        unit="u",
        max_groups=1,
        max_rows=1,
        bounds={"x": (0, 1)},
        keys={"g": ["a", "b"]},
        budget=tc.PureDP(epsilon=1),
    ) as db:
        chosen = set[str]()
        for _ in range(45):
            chosen.add(repr([(row[0], row[1:] if "rank" in sql else "") for row in db.sql(sql, epsilon=1e-6).rows()]))
            if len(chosen) > 1:
                break
    assert len(chosen) > 1
    book = TextbookDatabase(rows)
    assert len({repr([row[0] for row in book.answer(sql, 1e-6)]) for _ in range(5)}) == 1


# --- nesting --------------------------------------------------------------------------------------------------------

NESTED = {
    "parentheses": lambda depth: f"SELECT count(*) AS n FROM t WHERE {'(' * depth}u = 1{')' * depth}",
    "NOT": lambda depth: f"SELECT count(*) AS n FROM t WHERE {'NOT ' * depth}u = 1",
    "minus": lambda depth: f"SELECT count(*) AS n FROM t WHERE {'- ' * depth}u = 1",
    "sums": lambda depth: f"SELECT count(*) AS n FROM t WHERE {'u + ' * depth}1 > 0",
    "AND": lambda depth: f"SELECT count(*) AS n FROM t WHERE {'u = 1 AND ' * depth}true",
    "functions": lambda depth: f"SELECT count(*) AS n FROM t WHERE {'abs(' * depth}u{')' * depth} = 1",
    "CASE": lambda depth: f"SELECT sum({'CASE WHEN u = 1 THEN 1 ELSE ' * depth}0{' END' * depth}) AS n FROM t",
    "subqueries": lambda depth: f"SELECT count(*) AS n FROM {'(SELECT * FROM ' * depth}t{') AS q' * depth}",
    "CTEs": lambda depth: (
        "WITH c0 AS (SELECT * FROM t)"
        + "".join(f", c{i + 1} AS (SELECT * FROM c{i})" for i in range(depth))
        + f" SELECT count(*) AS n FROM c{depth}"
    ),
    "items": lambda depth: f"SELECT {', '.join(f'count(*) + {i} AS n{i}' for i in range(depth))} FROM t",
    "IN": lambda depth: f"SELECT count(*) AS n FROM t WHERE u IN ({', '.join(map(str, range(depth)))})",
    "brackets": lambda depth: f"SELECT count(*) AS n FROM t WHERE u = {'[' * depth}1{']' * depth}",
    "comments": lambda depth: f"SELECT count(*) AS n FROM t {'/* ' * depth}{'*/ ' * depth}",
    "unions": lambda depth: " UNION ALL ".join(["SELECT count(*) AS n FROM t"] * depth),
    "casts": lambda depth: f"SELECT count(*) AS n FROM t WHERE u{'::BIGINT' * depth} = 1",
}


@pytest.fixture(scope="module")
def one_table() -> Iterator[Database]:
    with opened(ROWS, LIMITS[0]) as db:
        yield db


@pytest.mark.sampled(2)
@pytest.mark.parametrize("depth", [20, 300, 4000])
@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_is_refused_or_answered_and_never_fails(one_table: Database, name: str, depth: int) -> None:
    """A parser that recurses without a limit ends in another error, or ends the process."""
    sql = NESTED[name](depth)
    try:
        one_table.plan(sql, epsilon=1)
    except (tc.RefusedError, tc.InvalidError) as error:
        text = str(error)
    else:
        text = ""
    assert len(text) < 1000
