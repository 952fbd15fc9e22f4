"""LIKE on Spark: what Python says of every text and pattern, in a time that no row decides."""

from __future__ import annotations

import random
from time import perf_counter

import pytest

from spark_session import spark
from tacit.engines.spark_dialect import SPARK
from tacit.engines.spark_functions import like_expression
from tacit.engines.statements.words import column
from tacit.errors import InvalidError
from tacit.query.expressions import Call, Column, Constant
from tacit.query.functions_text import like

CHANCE = random.Random(3)  # noqa: S311 - test data
LETTERS = ["a", "b", "%", "_", "\\", ".", "\n", "é", "😀", "(", "'", '"', "$", "]", "\r", "\u2028"]


def word(most: int) -> str:
    return "".join(CHANCE.choice(LETTERS) for _ in range(CHANCE.randrange(most)))


def fits(pairs: list[tuple[str, str]]) -> list[bool]:
    """Return what Spark says of texts and patterns, each pattern a column of one statement."""
    texts = list(dict.fromkeys(text for text, _ in pairs))
    patterns = list(dict.fromkeys(pattern for _, pattern in pairs))
    form = SPARK.forms["like"]
    columns = [
        SPARK.text(form.write(_call(pattern), [column("s"), column("s")])) + f" AS c{i}"
        for i, pattern in enumerate(patterns)
    ]
    frame = spark().createDataFrame([(text,) for text in texts], "s STRING")
    rows = frame.selectExpr("s", *columns).collect()
    found = {row["s"]: row for row in rows}
    return [bool(found[text][f"c{patterns.index(pattern)}"]) for text, pattern in pairs]


def _call(pattern: str) -> Call:
    return Call("like", (Column("s", "text"), Constant(pattern, "text")), "boolean")


def test_every_pattern_fits_what_it_fits_in_python() -> None:
    patterns = ["", "%", "_", "%%", "%_", "_%", "a%", "%a", "a%b", "%a%b%", "a_b", "\\", "%\\%"]
    patterns += [word(7) for _ in range(60)]
    texts = ["", "a", "ab", "aab", "a\nb", "\\", "é😀", *(word(9) for _ in range(60))]
    pairs = [(text, pattern) for text in texts for pattern in patterns]
    assert fits(pairs) == [like(text, pattern) for text, pattern in pairs]


@pytest.mark.parametrize("pattern", ["%a" * 12 + "Z", "_" * 9900, "%" * 9900 + "Z", "%a_" * 100 + "Z", "a" * 9900])
def test_no_row_decides_how_long_it_takes_or_ends_java(pattern: str) -> None:
    fits([("a", "a")])  # the first statement of a session takes longer than others
    start = perf_counter()
    assert fits([("a" * 9899, pattern), ("b", pattern)]) == [False, False]
    assert perf_counter() - start < 30
    assert spark().range(3).count() == 3


def test_a_pattern_that_alternates_too_often_is_refused() -> None:
    like_expression("a_" * 250)
    with pytest.raises(InvalidError, match="at most 500 runs"):
        like_expression("a_" * 251)
