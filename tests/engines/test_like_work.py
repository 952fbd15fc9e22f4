"""The work of LIKE by its structure: no engine's own matcher gets `_` with several %, and quantifiers do not nest."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import duckdb
import pytest

from tacit.engines.duckdb.dialect import DUCKDB
from tacit.engines.postgres.dialect import POSTGRES
from tacit.engines.spark.dialect import SPARK
from tacit.engines.sql.builder import column, literal
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.functions import atomic_expression, automaton_expression
from tacit.query.expressions import Call, Column, Constant
from tacit.query.expressions.like_patterns import check_pattern

SEVERAL = [
    "%_a" * 5 + "%b",
    "%a_b%",
    "a%b_%c",
    "%a%_%",
    "_%_%_",
    "_" + "%a" * 249,
    "%a" + "_" * 990 + "%b",
    "%_(a+)+%*",
]
PLAIN = ["", "abc", "abc%", "%abc", "%abc%", "a%c", "a_c", "_%", "%", "%a%b%"]


def written(dialect: Dialect, pattern: str) -> str:
    call = Call("like", (Column("s", "text"), Constant(pattern, "text")), "boolean")
    return dialect.text(dialect.forms["like"].write(call, [column("s"), literal(pattern, "text")]))


@pytest.mark.parametrize("pattern", SEVERAL)
@pytest.mark.parametrize("dialect", [DUCKDB, SPARK], ids=["duckdb", "spark"])
def test_a_pattern_with_several_wildcards_is_not_left_to_the_engines_matcher(dialect: Dialect, pattern: str) -> None:
    check_pattern(pattern)
    assert not re.search(r"\bI?LIKE\b", written(dialect, pattern))


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES], ids=["duckdb", "postgres"])
@pytest.mark.parametrize("pattern", PLAIN)
def test_a_plain_pattern_is_the_engines_own(dialect: Dialect, pattern: str) -> None:
    assert re.search(r"\bLIKE\b", written(dialect, pattern))


@pytest.mark.parametrize("pattern", SEVERAL)
def test_duckdb_plans_no_like_of_several_wildcards(pattern: str) -> None:
    """Its optimiser turns some regular expressions into LIKE."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS s")
        connection.execute("PRAGMA explain_output = 'optimized_only'")
        statement = f"SELECT count(*) FROM t WHERE {written(DUCKDB, pattern)}"  # noqa: S608 - ours
        ((_, plan),) = connection.execute(f"EXPLAIN {statement}").fetchall()
        connection.execute(statement)  # RE2 takes the expression
    assert "regexp_full_match" in plan.casefold()
    assert "~~" not in plan


def quantifiers(tree: object, depth: int = 0) -> Iterator[tuple[int, bool]]:
    """Return how many quantifiers without an end each quantifier is inside of, and whether it has an end itself."""
    if isinstance(tree, tuple) and len(tree) == 2 and str(tree[0]) in {"MAX_REPEAT", "MIN_REPEAT"}:
        _, most, body = tree[1]
        endless = str(most) == "MAXREPEAT"
        yield depth, not endless
        yield from quantifiers(body, depth + endless)
    elif isinstance(tree, (tuple, list)) or hasattr(tree, "data"):
        for part in getattr(tree, "data", tree):  # type: ignore[attr-defined]  # a tuple, a list or a pattern
            yield from quantifiers(part, depth)


@pytest.mark.parametrize("pattern", SEVERAL)
def test_no_quantifier_is_inside_another(pattern: str) -> None:
    for expression in (atomic_expression(pattern).replace(r"\z", r"\Z"), automaton_expression(pattern)):
        listed = list(quantifiers(re._parser.parse(expression)))  # type: ignore[attr-defined,unused-ignore]  # of the standard library
        assert listed
        assert all(depth == 0 for depth, _ in listed)
        assert len(listed) <= len(pattern)


def test_a_quantifier_inside_another_is_seen() -> None:
    assert max(depth for depth, _ in quantifiers(re._parser.parse("(?>(?:a+)*)"))) == 1  # type: ignore[attr-defined,unused-ignore]  # as above


@pytest.mark.parametrize("pattern", SEVERAL)
def test_an_atomic_expression_enters_no_group_again(pattern: str) -> None:
    """Outside of atomic groups one quantifier without an end is left, whose match is the last choice."""
    expression = atomic_expression(pattern)
    assert re.sub(r"\(\?>.*?(?<!\\)\)", "", expression, flags=re.DOTALL).count(".*") <= 1


AIMED = f"""
import pyarrow as pa
import tacit as tc
db = tc.open(pa.table({{"u": range(100)}}), name="t", unit="u", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1))
aimed = "CASE WHEN u = 42 THEN '{"a" * 9_000}' ELSE '' END"
db.sql(f"SELECT count(*) AS n FROM t WHERE {{aimed}} LIKE '{"%_a" * 5}%b'", epsilon=0.5)
"""  # noqa: S608 - ours


@pytest.mark.long
def test_a_pattern_aimed_at_a_row_is_answered_in_a_minute() -> None:
    """A matcher that tries all combinations takes about 10^17 steps, and DuckDB cannot be interrupted within a row."""
    subprocess.run([sys.executable, "-c", AIMED], check=True, timeout=60)  # noqa: S603 - ours
