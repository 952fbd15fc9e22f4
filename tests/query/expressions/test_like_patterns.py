from __future__ import annotations

import pyarrow as pa
import pytest

import tacit as tc
from tacit.query.expressions.like_patterns import MOST_CHARACTERS, MOST_RUNS, check_pattern, is_plain


@pytest.mark.parametrize("pattern", ["a_" * 250, "%a" * 250, "a%_" * 166, "_" * 9_900, "%" * 9_900, "a" * 9_900, None])
def test_a_pattern_within_the_limits_is_allowed(pattern: str | None) -> None:
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", ["a_" * 251, "%a" * 251, "a%_" * 167])
def test_a_pattern_of_too_many_runs_is_refused(pattern: str) -> None:
    with pytest.raises(tc.RefusedError, match=f"the limit is {MOST_RUNS}"):
        check_pattern(pattern)


@pytest.mark.parametrize("middle", ["_", "a_", "a%_"])
def test_a_long_pattern_with_several_wildcards_is_refused(middle: str) -> None:
    rest = MOST_CHARACTERS - len(middle) - 2
    check_pattern(f"%{middle}{'a' * rest}%")
    with pytest.raises(tc.RefusedError, match="the limit is 1,000"):
        check_pattern(f"%{middle}{'a' * rest}b%")


def test_fixed_text_is_plain_however_long() -> None:
    assert is_plain("a" * 9_000 + "%")
    assert is_plain("%" + "a" * 9_000 + "%%")
    assert not is_plain("%a%_")


@pytest.mark.parametrize("operator", ["LIKE", "ILIKE", "NOT LIKE"])
def test_a_question_with_such_a_pattern_is_refused_before_it_is_charged(operator: str) -> None:
    people = pa.table({"id": [1, 2], "name": ["Ann", "Bob"]})
    db = tc.open(people, name="t", unit="id", max_groups=1, max_rows=1, budget=tc.PureDP(epsilon=1))
    with pytest.raises(tc.RefusedError, match="switches"):
        db.sql(f"SELECT count(*) FROM t WHERE name {operator} '{'a_' * 300}'", epsilon=0.1)  # noqa: S608 - ours
    assert db.spent == tc.PureDP(epsilon=0)
