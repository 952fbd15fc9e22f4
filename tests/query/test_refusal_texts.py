"""Hints for queries with a small mistake."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.errors import ColumnNotFoundError, InvalidError, RefusedError
from tacit.query.policy import ColumnPolicy, TablePolicy
from tacit.query.refusals import _BY_ARGUMENT, _BY_NODE, sql_spelling, unknown_column
from tacit.query.sql.parse import parse

ADULT = TablePolicy(
    name="adult",
    unit=None,
    max_groups=1,
    max_rows=1,
    neighbours="add/remove",
    columns={
        "age": ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction(120))),
        "marital-status": ColumnPolicy(kind="text", keys=("single", "married")),
        "hours per week": ColumnPolicy(kind="integer", bounds=(Fraction(0), Fraction(99))),
        "sex": ColumnPolicy(kind="text", keys=("Male", "Female")),
    },
)


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT count(marital-status) FROM adult", 'needs double quotes: "marital-status"'),
        ('SELECT count("marital-statu") FROM adult', 'Did you mean "marital-status"\\?'),
        ("SELECT avg(hours) FROM adult", 'needs double quotes: "hours per week"'),
        ('SELECT count(*) FROM adult WHERE sex = "Male"', "single quotes: 'Male'"),
        ("SELECT avg(agee) FROM adult", "Did you mean 'age'"),
        ("selct count(*) FROM adult", "Did you mean SELECT"),
        ("hello", "starts with 'hello'"),
    ],
)
def test_a_mistake_gets_the_hint_that_helps(sql: str, hint: str) -> None:
    with pytest.raises(InvalidError, match=hint) as caught:
        parse(sql, {"adult": ADULT})
    assert caught.value.argument == "sql"
    assert caught.value.hint is not None


def test_a_group_by_a_column_that_an_alias_hides_gets_the_position_as_hint() -> None:
    hidden = "SELECT floor(age / 10) AS age, count(*) FROM adult GROUP BY age"
    with pytest.raises(RefusedError, match=r"refers to the column of that name.*Write GROUP BY 1"):
        parse(hidden, {"adult": ADULT})
    assert len(parse(hidden.replace("GROUP BY age", "GROUP BY 1"), {"adult": ADULT}).keys[0].listed) == 13
    shown = "SELECT upper(sex) AS sex, count(*) FROM adult GROUP BY sex"
    assert parse(shown, {"adult": ADULT}).keys[0].values == ("Male", "Female")


def test_functions_are_spelled_as_sql_writes_them() -> None:
    assert [sql_spelling(name) for name in ("add", "is_null", "less_equal", "round")] == ["+", "IS NULL", "<=", "round"]


def test_long_names_are_cut() -> None:
    assert len(str(unknown_column("x" * 10_000, ["a"], in_quotes=True))) < 400


def test_the_tables_hold_a_reason_without_its_period_and_a_hint_with_it() -> None:
    for reason, hint in (*_BY_ARGUMENT.values(), *_BY_NODE.values()):
        assert not reason.endswith(".")
        assert not hint or hint.endswith(".")


def test_an_unknown_column_lists_the_columns_that_exist() -> None:
    with pytest.raises(ColumnNotFoundError) as caught:
        parse("SELECT avg(zzz) FROM adult", {"adult": ADULT})
    assert (caught.value.name, caught.value.columns) == ("zzz", tuple(ADULT.columns))
    assert '"hours per week"' in str(caught.value.hint)
