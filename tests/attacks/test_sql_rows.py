"""SQL that reaches a row, the system, or time: each trick is refused before the charge, and works on the textbook.

The textbook runs the text of a query and adds noise to numbers. `tests/query/sql` has the refusals with their hints,
`tests/query/sql/test_outer_query.py` and `tests/engines/duckdb/test_sandbox.py` those of queries over released values.
"""
# ruff: noqa: S608 - queries are text

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

import tacit as tc
from attacks.references import TextbookDatabase
from postgres_server import database
from tacit.database import Database

CANARY = "Semmelweis"
PEOPLE = 41
ROWS = pa.table(
    {
        "u": list(range(PEOPLE)),
        "x": [0.5] * (PEOPLE - 1) + [987_654.25],
        "g": ["a", "b"] * (PEOPLE // 2) + ["a"],
        "name": [f"person {number}" for number in range(PEOPLE - 1)] + [CANARY],
    }
)
PUBLIC = pa.table({"k": ["a", "b"], "weight": [1, 2]})
COUNTS = "(SELECT g, count(*) AS n FROM t GROUP BY g)"

SHOWN = {
    "a row": "SELECT * FROM t",
    "a column": "SELECT name FROM t",
    "from first": "FROM t SELECT name",
    "a table statement": "TABLE t",
    "DISTINCT": "SELECT DISTINCT name FROM t",
    "DISTINCT ON": "SELECT DISTINCT ON (g) name, g FROM t ORDER BY x DESC",
    "first": "SELECT first(name ORDER BY x DESC) FROM t",
    "last": "SELECT last(name) FROM t",
    "any_value": "SELECT any_value(name) FROM t WHERE u = 40",
    "max of text": "SELECT max(name) FROM t WHERE u = 40",
    "min of text": "SELECT min(name) FROM t WHERE u = 40",
    "arg_max of text": "SELECT arg_max(name, x) FROM t",
    "min_by": "SELECT min_by(name, -x) FROM t",
    "mode of text": "SELECT mode(name) FROM t WHERE u = 40",
    "list": "SELECT list(name) FROM t",
    "array_agg": "SELECT array_agg(name) FROM t",
    "string_agg": "SELECT string_agg(name, ',') FROM t",
    "histogram of text": "SELECT histogram(name) FROM t",
    "approx_top_k": "SELECT approx_top_k(name, 50) FROM t",
    "quantile_disc of text": "SELECT quantile_disc(name, 1) FROM t WHERE u = 40",
    "a struct": "SELECT max(struct_pack(x := x, name := name)) FROM t",
    "a whole row": "SELECT max(t) FROM t WHERE u = 40",
    "a JSON": "SELECT max(to_json(t)) FROM t WHERE u = 40",
    "COLUMNS": "SELECT max(COLUMNS('na.*')) FROM t WHERE u = 40",
    "a window": "SELECT first_value(name) OVER (ORDER BY x DESC) FROM t",
    "a window in a subquery": "SELECT max(r) FROM (SELECT first_value(name) OVER (ORDER BY x DESC) AS r FROM t)",
    "QUALIFY": "SELECT name FROM t QUALIFY row_number() OVER (ORDER BY x DESC) = 1",
    "a scalar subquery": "SELECT (SELECT name FROM t WHERE u = 40)",
    "a scalar subquery beside an aggregate": "SELECT count(*), (SELECT max(name) FROM t WHERE u = 40) FROM t",
    "a scalar subquery over released values": f"SELECT n, (SELECT max(name) FROM t WHERE u = 40) FROM {COUNTS}",
    "UNION": "SELECT count(*)::TEXT FROM t UNION ALL SELECT name FROM t",
    "UNION with released values": f"SELECT g FROM {COUNTS} UNION ALL SELECT name FROM t",
    "EXCEPT": "SELECT name FROM t EXCEPT SELECT 'a'",
    "a join with released values": f"SELECT q.n, t.name FROM {COUNTS} AS q JOIN t ON t.g = q.g",
    "LATERAL": f"SELECT q.g, r.name FROM {COUNTS} AS q, LATERAL (SELECT name FROM t WHERE t.g = q.g) AS r",
    "a recursive CTE": "WITH RECURSIVE r(i, name) AS (SELECT 40, name FROM t WHERE u = 40 UNION SELECT i - 1, name "
    "FROM r "
    "WHERE i > 39) SELECT * FROM r",
    "a CTE": "WITH q AS (SELECT name FROM t WHERE u = 40) SELECT name FROM q",
    "unnest": "SELECT unnest(list(name)) FROM t",
    "a lambda": "SELECT list_transform(list(name), lambda v: v || v) FROM t",
    "PIVOT": "PIVOT (SELECT name FROM t WHERE u = 40) ON name USING count(*)",
    "groups of persons": "SELECT u, name FROM t GROUP BY u, name",
    "groups by text": "SELECT name, count(*) FROM t GROUP BY name",
    "ROLLUP by text": "SELECT name, count(*) FROM t GROUP BY ROLLUP (name)",
    "GROUP BY ALL": "SELECT name, count(*) FROM t GROUP BY ALL",
    "a column alias list": "SELECT max(d) FROM t AS z(a, b, c, d) WHERE a = 40",
    "a sample": "SELECT name FROM t USING SAMPLE 100%",
    "ORDER BY and LIMIT": "SELECT name FROM t ORDER BY x DESC LIMIT 1",
    "SUMMARIZE": "SUMMARIZE t",
    "a query as text": "SELECT * FROM query('SELECT name FROM t')",
    "a table as text": "SELECT name FROM query_table('t')",
    "a qualified name": "SELECT t.name FROM t",
}
"""Queries whose answer has a name, on an engine without protection."""

SYSTEM = {
    "settings": "SELECT * FROM duckdb_settings()",
    "tables": "SELECT * FROM duckdb_tables()",
    "columns": "SELECT * FROM duckdb_columns()",
    "the catalog": "SELECT * FROM information_schema.columns",
    "sqlite_master": "SELECT * FROM sqlite_master",
    "a file": "SELECT * FROM read_text('/etc/hostname')",
    "a file of lines": "SELECT * FROM read_csv('/etc/passwd', header = false, delim = ':', ignore_errors = true)",
    "a file by name": "SELECT * FROM '/etc/passwd.csv'",
    "a glob": "SELECT * FROM glob('/etc/host*')",
    "a setting": "SELECT current_setting('threads')",
    "a setting beside an aggregate": "SELECT count(*), current_setting('threads') FROM t",
    "a variable": "SELECT getvariable('a')",
    "the version": "SELECT version(), count(*) FROM t",
    "a pragma": "PRAGMA version",
    "a pragma as a function": "SELECT * FROM pragma_version()",
    "a call": "CALL pragma_version()",
    "SHOW": "SHOW TABLES",
    "DESCRIBE": "DESCRIBE t",
    "EXPLAIN": "EXPLAIN SELECT count(*) FROM t",
    "EXPLAIN ANALYZE": "EXPLAIN ANALYZE SELECT count(*) FROM t",
    "SET": "SET threads = 1",
    "ATTACH": "ATTACH ':memory:' AS other",
    "CREATE": "CREATE TABLE copied AS SELECT * FROM t",
    "CREATE MACRO": "CREATE MACRO f(a) AS a + 1",
    "LOAD": "LOAD nothing_of_this_name",
    "two statements": "SELECT count(*) FROM t; SELECT name FROM t",
    "a transaction": "BEGIN TRANSACTION",
    "PREPARE": "PREPARE p AS SELECT name FROM t",
    "a sequence": "SELECT nextval('s'), count(*) FROM t",
    "a random number": "SELECT count(*) FROM t WHERE random() < 0.5",
    "a random identifier": "SELECT count(*) FROM t WHERE uuid() IS NOT NULL",
    "a sample of rows": "SELECT count(*) FROM t TABLESAMPLE 50%",
    "a sample of ten rows": "SELECT count(*) FROM t USING SAMPLE 10",
    "row numbers": "SELECT count(*) FROM t WHERE rowid = 40",
    "FOR UPDATE": "SELECT count(*) FROM t FOR UPDATE",
    "a range": "SELECT count(*) FROM range(10)",
    "series": "SELECT count(*) FROM t, generate_series(1, 1000)",
}
"""Statements, functions and tables of the system, and numbers that another run would not repeat."""

ROWS_OF_OTHERS = {
    "a scalar subquery": "SELECT count(*) FROM t WHERE x > (SELECT avg(x) FROM t)",
    "a correlated subquery": "SELECT count(*) FROM t AS a WHERE x < (SELECT max(x) FROM t AS b WHERE b.u <> a.u)",
    "EXISTS": "SELECT count(*) FROM t AS a WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.name = 'Semmelweis')",
    "IN": "SELECT count(*) FROM t WHERE g IN (SELECT g FROM t WHERE name = 'Semmelweis')",
    "ANY": "SELECT count(*) FROM t WHERE g = ANY (SELECT g FROM t WHERE name = 'Semmelweis')",
    "a subquery in SELECT": "SELECT sum((SELECT max(b.x) FROM t AS b)) FROM t",
    "a subquery in HAVING": "SELECT g, count(*) FROM t GROUP BY g HAVING max(x) > (SELECT avg(x) FROM t)",
    "a subquery in ORDER BY": "SELECT g, count(*) FROM t GROUP BY g ORDER BY (SELECT max(x) FROM t)",
    "a subquery in LIMIT": "SELECT g, count(*) FROM t GROUP BY g LIMIT (SELECT count(*) FROM t WHERE u = 40)",
    "a window in WHERE": "SELECT count(*) FROM (SELECT max(x) OVER () AS m FROM t) AS q WHERE m > 900000",
    "rank": "SELECT count(*) FROM (SELECT rank() OVER (ORDER BY x DESC) AS r, u FROM t) AS q WHERE r = 1",
    "LIMIT inside": "SELECT sum(x) FROM (SELECT x FROM t ORDER BY x DESC LIMIT 1) AS q",
    "an aggregate inside": "SELECT count(*) FROM t, (SELECT max(x) AS m FROM t) AS q WHERE q.m > 900000",
    "a join with itself": "SELECT count(*) FROM t AS a JOIN t AS b ON a.g = b.g",
    "a comma join with itself": "SELECT count(*) FROM t AS a, t AS b",
    "a cross join": "SELECT count(*) FROM t CROSS JOIN (SELECT u FROM t) AS q",
    "a natural join": "SELECT count(*) FROM t NATURAL JOIN (SELECT g FROM t) AS q",
    "a semi join": "SELECT count(*) FROM t SEMI JOIN (SELECT g FROM t WHERE name = 'Semmelweis') AS q USING (g)",
    "an anti join": "SELECT count(*) FROM t ANTI JOIN (SELECT g FROM t WHERE name = 'Semmelweis') AS q USING (g)",
    "a positional join": "SELECT count(*) FROM t POSITIONAL JOIN (SELECT u AS v FROM t) AS q",
    "an asof join": "SELECT count(*) FROM t ASOF JOIN (SELECT x, u AS v FROM t) AS q ON t.x >= q.x",
    "a lateral join": "SELECT sum(m) FROM t AS a, LATERAL (SELECT max(b.x) AS m FROM t AS b WHERE b.g = a.g) AS q",
    "two copies": "SELECT count(*) FROM (SELECT * FROM t UNION ALL SELECT * FROM t) AS q",
    "a correlated name": "SELECT count(*) FROM t WHERE u = (SELECT a.u FROM (SELECT 40 AS u) AS a)",
}
"""Queries in which rows of others decide what one person's row does, so that one person can move an answer far."""

EVERY = [*SHOWN.values(), *SYSTEM.values(), *ROWS_OF_OTHERS.values()]
NAMES = [*SHOWN, *SYSTEM, *(f"others: {name}" for name in ROWS_OF_OTHERS)]


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with tc.open(
        ROWS,
        name="t",
        unit="u",
        max_groups=1,
        max_rows=1,
        bounds={"x": (0, 1)},
        keys={"g": ["a", "b"]},
        hidden=["name"],
        public={"p": PUBLIC},
        budget=tc.PureDP(epsilon=10**6),
    ) as opened:
        yield opened


@pytest.mark.parametrize("sql", EVERY, ids=NAMES)
def test_a_trick_is_refused_before_the_charge(db: Database, sql: str) -> None:
    for text in (sql, sql.replace("SELECT", "SELECT /* SELECT count(*) FROM t */", 1), f"{sql} -- ;", f"({sql})"):
        for ask in (db.plan, db.sql):
            with pytest.raises((tc.RefusedError, tc.InvalidError)) as caught:
                ask(text, epsilon=1)
            assert "987654" not in str(caught.value)
            assert CANARY not in str(caught.value).replace(f"'{CANARY}'", "") or CANARY in sql
    assert db.ledger.spent.loss == 0


@pytest.fixture
def textbook() -> TextbookDatabase:
    return TextbookDatabase(ROWS)


@pytest.mark.parametrize("name", [name for name in SHOWN if name != "approx_top_k"])
def test_the_textbook_shows_the_name(textbook: TextbookDatabase, name: str) -> None:
    rows = textbook.answer(SHOWN[name], 1) if name != "PIVOT" else textbook.connection.sql(SHOWN[name]).columns
    assert CANARY in repr(rows)


def test_the_textbook_runs_what_the_system_offers() -> None:
    answered = set()
    for name, sql in SYSTEM.items():
        try:
            TextbookDatabase(ROWS).connection.execute(sql).fetchall()
        except duckdb.Error:
            continue
        answered.add(name)
    assert len(answered) > 20
    assert {"settings", "tables", "a random number", "a sample of rows", "SET", "CREATE"} <= answered


def test_one_row_moves_answers_of_the_textbook_far() -> None:
    """Without her row, the number of rows that other rows choose changes by more than any noise for a count."""
    both = TextbookDatabase(ROWS), TextbookDatabase(ROWS.slice(0, PEOPLE - 1))
    far = []
    for name, sql in ROWS_OF_OTHERS.items():
        numbers = [float(str(next(iter(db.answer(sql, 50)), ("", 0))[-1] or 0)) for db in both]
        far += [name] if abs(numbers[0] - numbers[1]) > 10 else []
    assert len(far) > 12
    assert {"EXISTS", "IN", "a join with itself", "a window in WHERE"} <= set(far)


# --- PostgreSQL -----------------------------------------------------------------------------------------------------

ON_POSTGRES = [
    "SELECT max(t::text) FROM t WHERE u = 40",
    "SELECT max(row_to_json(t)::text) FROM t WHERE u = 40",
    "SELECT name FROM ONLY t",
    'SELECT max(name COLLATE "C") FROM t WHERE u = 40',
    "SELECT json_agg(t)::text FROM t",
    "SELECT (array_agg(name ORDER BY x DESC))[1] FROM t",
    "SELECT most_common_vals::text FROM pg_stats WHERE tablename = 't' UNION SELECT name FROM t",
    "SELECT DISTINCT ON (g) name FROM t ORDER BY g, x DESC",
]
OF_THE_SERVER = [
    "SELECT query_to_xml('SELECT name FROM t', true, false, '')::text",
    "SELECT table_to_xml('t', true, false, '')::text",
    "SELECT pg_read_file('/etc/hostname')",
    "SELECT count(*) FROM t WHERE pg_sleep(0.01) IS NULL",
    "SELECT count(*) FROM t WHERE CASE WHEN u = 40 THEN pg_sleep(1) IS NOT NULL ELSE true END",
    "SELECT version()",
    "SELECT current_user, count(*) FROM t",
    "SELECT set_config('work_mem', '64kB', false)",
    "SELECT count(*) FROM pg_stats",
    "SELECT count(*) FROM pg_class",
    "SELECT count(*) FROM t WHERE ctid = '(0,41)'",
    "SELECT count(*) FROM t WHERE xmin::text <> ''",
    "SELECT count(*) FROM t TABLESAMPLE BERNOULLI (50)",
    "SELECT pg_backend_pid(), count(*) FROM t",
    "SELECT count(*) FROM generate_series(1, 10)",
    "SELECT lo_get(1)",
    "COPY t TO PROGRAM 'cat'",
    "COPY t TO STDOUT",
    "DO $$ BEGIN RAISE EXCEPTION 'x'; END $$",
    "LISTEN x",
    "VACUUM t",
    "EXPLAIN (ANALYZE) SELECT count(*) FROM t",
]


def test_tricks_on_postgresql_are_refused_and_work_without_tacit() -> None:
    with database() as place:
        kinds = {"u": "integer", "x": "real", "g": "text", "name": "text"}
        place.fill("t", kinds, ROWS.to_pylist())  # type: ignore[arg-type]  # kinds
        with tc.open(
            place.reader, table="t", unit="u", max_groups=1, max_rows=1, hidden=["name"], budget=tc.PureDP(epsilon=9)
        ) as db:
            for sql in [*ON_POSTGRES, *OF_THE_SERVER, *SHOWN.values(), *ROWS_OF_OTHERS.values()]:
                with pytest.raises((tc.RefusedError, tc.InvalidError)):
                    db.sql(sql, epsilon=1)
            assert db.ledger.spent.loss == 0
        assert all(CANARY in repr(place.run(sql)) for sql in ON_POSTGRES)
        assert place.run("SELECT version(), count(*) FROM t")[0][1] == PEOPLE
