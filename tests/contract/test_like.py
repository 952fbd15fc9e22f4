"""LIKE on every engine: what Python says of every text and pattern."""

from __future__ import annotations

import random
from time import perf_counter

import pytest

from contract.tables import Opener
from row_values import row_values
from tacit.query.expressions import Call, Column, Constant, Expression, Value
from tacit.query.expressions.like_patterns import check_pattern
from tacit.query.expressions.text import like

CHANCE = random.Random(3)  # noqa: S311 - test data
LETTERS = ["a", "b", "%", "_", "\\", ".", "\n", "é", "😀", "(", "'", '"', "$", "]", "\r", "\u2028", "\t", "*", "{"]
TEXT = Column("s", "text")


def word(most: int) -> str:
    return "".join(CHANCE.choice(LETTERS) for _ in range(CHANCE.randrange(most)))


def fits(engine: Opener, texts: list[Value], patterns: list[str]) -> list[tuple[Value, ...]]:
    """Return for each text what an engine says of every pattern."""
    asked: list[Expression] = [Call("like", (TEXT, Constant(one, "text")), "boolean") for one in patterns]
    return row_values(engine, {"s": "text"}, [{"s": text} for text in texts], asked)


def expected(texts: list[Value], patterns: list[str]) -> list[tuple[Value, ...]]:
    return [tuple(like(text, one) if isinstance(text, str) else None for one in patterns) for text in texts]


def test_a_pattern_fits_the_texts_that_it_fits_in_python(engine: Opener) -> None:
    plain = ["", "%", "_", "%%", "%_", "_%", "a%", "%a", "a%b", "a_b", "\\", "%\\%", "%é%", "😀%"]
    several = ["%a%b%", "a%b%c", "%_%", "%__%", "%a_b%", "%é_😀%", "\\%_%\\", "a%\n%b", "%.%.%", "%_a%_a%b", "a%%_%%"]
    patterns = plain + several + [word(9) for _ in range(60)]
    texts: list[Value] = [None, "", "a", "ab", "aab", "a\nb", "\\", "é😀", "a\\xb", "a\\", "éa😀", "a.b.c"]
    texts += [word(12) for _ in range(80)]
    assert fits(engine, texts, patterns) == expected(texts, patterns)


LONG_PATTERNS = [
    "%_a" * 5 + "%b",
    "%a" * 12 + "Z",
    "%a" * 249 + "Z",
    "_" * 9_900,
    "%" * 9_900 + "Z",
    "%a_" * 100 + "Z",
    "%a" + "_" * 900 + "%Z",
    "a" * 9_900,
    "%" + "a" * 9_899 + "%",
]


@pytest.mark.long
@pytest.mark.parametrize("pattern", LONG_PATTERNS, ids=lambda pattern: f"{pattern[:6]}-{len(pattern)}")
def test_a_chosen_row_does_not_decide_how_long_a_match_takes(engine: Opener, pattern: str) -> None:
    """A matcher that tries all combinations takes about 10^18 steps for the first pattern, years beyond the limit."""
    check_pattern(pattern)
    fits(engine, ["a"], ["a"])  # the first statement of a session takes longer than others
    texts: list[Value] = ["a" * 9_899, "ab" * 4_000, "b"]
    start = perf_counter()
    assert fits(engine, texts, [pattern]) == expected(texts, [pattern])
    assert perf_counter() - start < 30
