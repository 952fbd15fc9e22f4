from __future__ import annotations

import copy
import hashlib
import pickle
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import table_policy
from tacit.errors import InvalidError
from tacit.query.expressions import Kind
from tacit.query.policy import ROW, ColumnPolicy, TablePolicy
from tacit.query.policy.build import digest, version
from tacit.query.policy.mistakes import Mistake, PolicyError, nearest

SCHEMA: dict[str, Kind] = {
    "person_id": "integer",
    "income": "real",
    "age": "integer",
    "region": "text",
    "urban": "boolean",
    "day": "date",
    "seen": "timestamp",
    "name": "text",
}
CSV: dict[str, Kind] = dict.fromkeys(SCHEMA, "text")


def survey(schema: dict[str, Kind] = SCHEMA, /, **arguments: Any) -> TablePolicy:  # noqa: ANN401 - bad types are the point
    usual: dict[str, Any] = {"unit": "person_id", "max_groups": 3, "max_rows": 5}
    return table_policy("survey", schema, **(usual | arguments))


def mistakes(schema: dict[str, Kind] = SCHEMA, /, **arguments: Any) -> list[tuple[str, str]]:  # noqa: ANN401
    with pytest.raises(PolicyError) as caught:
        survey(schema, **arguments)
    assert all(line is None for line, _, _ in caught.value.mistakes)
    return [(where, message) for _, where, message in caught.value.mistakes]


def mistake(schema: dict[str, Kind] = SCHEMA, /, **arguments: Any) -> tuple[str, str]:  # noqa: ANN401
    (only,) = mistakes(schema, **arguments)
    return only


def test_a_policy_holds_what_was_declared() -> None:
    policy = survey(
        bounds={"income": (0, 200_000.5)},
        keys={"region": ["north", "south", None], "urban": [True, False]},
        hidden=["name"],
        neighbours="change one",
    )
    assert (policy.name, policy.unit, policy.max_groups, policy.max_rows) == ("survey", "person_id", 3, 5)
    assert policy.neighbours == "change one"
    assert list(policy.columns) == list(SCHEMA)
    assert policy.columns["income"] == ColumnPolicy(kind="real", bounds=(Fraction(0), Fraction("200000.5")))
    assert policy.columns["region"] == ColumnPolicy(kind="text", keys=("north", "south", None))
    assert policy.columns["urban"].keys == (True, False)
    assert policy.columns["name"] == ColumnPolicy(kind="text", hidden=True)
    assert {column: facts.kind for column, facts in policy.columns.items()} == SCHEMA


def test_columns_cannot_be_changed() -> None:
    columns: Any = survey().columns
    with pytest.raises(TypeError):
        columns["name"] = ColumnPolicy(kind="text")


def test_where_each_row_is_a_unit_the_limits_are_one_whatever_is_given() -> None:
    cases: list[dict[str, Any]] = [{}, {"max_groups": 7, "max_rows": 9}, {"max_groups": None, "max_rows": -1}]
    for limits in cases:
        policy = table_policy("survey", SCHEMA, unit=ROW, **limits)
        assert (policy.unit, policy.max_groups, policy.max_rows) == (None, 1, 1)
    assert table_policy("survey", SCHEMA, unit=copy.deepcopy(ROW)).unit is None


def test_a_source_without_types_takes_them_from_what_is_declared() -> None:
    policy = survey(
        CSV,
        bounds={"income": (0, 100), "age": (0, 120)},
        keys={"region": ["a"], "urban": [True], "day": [date(2026, 1, 1)], "name": [1, 2]},
        types={"age": "integer", "seen": "timestamp"},
    )
    assert {column: facts.kind for column, facts in policy.columns.items()} == SCHEMA | {
        "person_id": "text",
        "name": "integer",
    }


def test_a_declared_type_overrides_the_schema() -> None:
    policy = survey(types={"age": "real", "region": "integer", "name": "text"}, hidden={"name"}, keys={"region": [1]})
    assert policy.columns["age"].kind == "real"
    assert policy.columns["region"] == ColumnPolicy(kind="integer", keys=(1,))
    assert policy.columns["name"] == ColumnPolicy(kind="text", hidden=True)


def test_the_unit_may_be_hidden() -> None:
    policy = survey(hidden=["person_id"])
    assert policy.unit == "person_id"
    assert policy.columns["person_id"].hidden


def test_numpy_numbers_are_whole_numbers() -> None:
    assert survey(max_groups=np.int32(2)).max_groups == 2


def test_there_is_no_default_unit() -> None:
    where, message = mistake(unit=None)
    assert where == "unit"
    assert "no default" in message
    assert "tacit.ROW" in message


@pytest.mark.parametrize(("unit", "part"), [("person", "mean 'person_id'?"), (5, "not 5"), ("", "no column ''")])
def test_the_unit_is_a_column(unit: object, part: str) -> None:
    where, message = mistake(unit=unit)
    assert where == "unit"
    assert part in message


@pytest.mark.parametrize("argument", ["max_groups", "max_rows"])
def test_limits_are_whole_numbers_and_may_wait_for_a_question_that_needs_them(argument: str) -> None:
    assert getattr(survey(**{argument: None}), argument) is None
    for bad in (0, -1, 1.0, 2.5, True, "3", 10**9 + 1, float("nan"), [1]):
        where, message = mistake(**{argument: bad})
        assert where == argument
        assert "a whole number from 1 to 1,000,000,000" in message


@pytest.mark.parametrize("argument", ["bounds", "keys", "types"])
def test_unknown_columns_are_told_the_nearest_name(argument: str) -> None:
    good: dict[str, object] = {"bounds": (0, 1), "keys": [1], "types": "integer"}
    where, message = mistake(**{argument: {"AGE": good[argument]}})
    assert where == f"{argument}['AGE']"
    assert message == "is about a column that does not exist; did you mean 'age'?"
    where, message = mistake(**{argument: {5: good[argument]}})
    assert where == f"{argument}['5']"


def test_unknown_hidden_columns_too() -> None:
    where, message = mistake(hidden=["nmae"])
    assert where == "hidden['nmae']"
    assert message.endswith("did you mean 'name'?")


@pytest.mark.parametrize("argument", ["bounds", "keys", "types"])
@pytest.mark.parametrize("bad", [5, "age", ["age"], {"age"}])
def test_what_is_said_of_columns_is_a_mapping(argument: str, bad: object) -> None:
    where, message = mistake(**{argument: bad})
    assert where == argument
    assert "a mapping from column names" in message


@pytest.mark.parametrize("bad", ["name", 5, [1], None])
def test_hidden_is_a_list_of_names(bad: object) -> None:
    where, message = mistake(hidden=bad)
    assert where == "hidden"
    assert "a list of column names" in message


def test_a_hidden_column_has_neither_bounds_nor_keys() -> None:
    reported = mistakes(hidden=["age"], bounds={"age": (0, 1)}, keys={"age": [1]})
    assert [where for where, _ in reported] == ["bounds['age']", "keys['age']"]
    assert all("hidden column" in message for _, message in reported)


def test_types_are_kinds() -> None:
    for bad in ("int", "INTEGER", 5, int, ["integer"]):
        where, message = mistake(types={"age": bad})
        assert where == "types['age']"
        assert "one of integer, real, text, boolean, date, timestamp" in message


def test_bounds_and_keys_must_fit_the_kind() -> None:
    assert "two dates, the earlier one first" in mistake(bounds={"day": (0, 1)})[1]
    assert "two dates" in mistake(bounds={"day": (date(2021, 1, 1), date(2020, 1, 1))})[1]
    assert "two finite numbers" in mistake(bounds={"income": (date(2020, 1, 1), date(2021, 1, 1))})[1]
    assert "kind text" in mistake(bounds={"age": (0, 1)}, types={"age": "text"})[1]
    assert "kind boolean" in mistake(keys={"urban": [1, 0]})[1]
    assert "kind integer" in mistake(keys={"age": [True]})[1]
    assert "kind real" in mistake(CSV, bounds={"age": (0, 9)}, keys={"age": ["a"]})[1]


def test_names_that_differ_only_by_case_are_named_both() -> None:
    where, message = mistake({**SCHEMA, "Income": "real"}, hidden=["Income"])
    assert where == "schema"
    assert "'income' and 'Income'" in message


def test_neighbours_is_one_of_two() -> None:
    for bad in ("add", None, 5, ["add/remove"]):
        assert mistake(neighbours=bad)[0] == "neighbours"


def test_a_table_has_columns_and_a_name() -> None:
    with pytest.raises(PolicyError, match="at least one column"):
        table_policy("t", {}, unit=ROW)
    for bad in ("", "a\nb", "a\0", None, 5):
        with pytest.raises(PolicyError, match="name must be a text"):
            table_policy(bad, SCHEMA, unit=ROW)


def test_everything_is_reported_at_once() -> None:
    reported = mistakes(
        {**SCHEMA, "NAME": "text"},
        unit="persn_id",
        max_groups=None,
        max_rows=0,
        bounds={"incom": (1, 0), "income": (0, float("inf")), "day": (0, 1)},
        keys={"region": ["a", "a"], "urban": []},
        hidden=["nobody", "income"],
        types={"age": "int"},
        neighbours="both",
    )
    assert [where for where, _ in reported] == [
        "schema",
        "unit",
        "max_rows",
        "neighbours",
        "bounds['incom']",
        "hidden['nobody']",
        "bounds['incom']",
        "bounds['income']",
        "types['age']",
        "keys['region']",
        "keys['urban']",
        "bounds['day']",
    ]


def test_the_error_is_an_invalid_error_that_crosses_processes() -> None:
    error = PolicyError(
        "The policy of 'x'", [Mistake(None, "unit", "is required"), Mistake(7, "keys", "did you mean?")]
    )
    assert isinstance(error, InvalidError)
    assert str(error).splitlines() == [
        "The policy of 'x' has 2 mistakes:",
        "  unit is required.",
        "  line 7: keys did you mean?",
    ]
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(again) is PolicyError
    assert (str(again), again.mistakes) == (str(error), error.mistakes)
    assert again.mistakes[1] == (7, "keys", "did you mean?")


def test_a_thousand_columns_with_a_thousand_misspellings_are_quick() -> None:
    schema: dict[str, Kind] = {f"column_{number}": "real" for number in range(1_000)}
    with pytest.raises(PolicyError) as caught:
        table_policy("wide", schema, unit=ROW, bounds={f"colum_{number}": (0, 1) for number in range(1_000)})
    assert len(caught.value.mistakes) == 1_000
    assert sum("did you mean" in listed.message for listed in caught.value.mistakes) == 20


@pytest.mark.parametrize(
    ("names", "hint"), [(["a"], "; there is only 'a'"), ([], ""), ([str(number) for number in range(9)], "")]
)
def test_a_hint_lists_a_few_names(names: list[str], hint: str) -> None:
    assert nearest("unlike", names) == hint


NAMES = st.text(min_size=1, max_size=8)


@settings(deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=6, unique_by=str.lower), st.data())
def test_any_names_will_do(names: list[str], data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from(names))
    hidden = data.draw(st.lists(st.sampled_from(names), unique=True))
    bounds = {name: (0, 1) for name in names if name not in hidden}
    policy = table_policy(
        "t", dict.fromkeys(names, "text"), unit=unit, max_groups=1, max_rows=1, bounds=bounds, hidden=hidden
    )
    assert list(policy.columns) == names
    assert [name for name, column in policy.columns.items() if column.hidden] == [
        name for name in names if name in hidden
    ]
    assert all(policy.columns[name].bounds == (Fraction(0), Fraction(1)) for name in bounds)


def test_the_version_depends_on_the_content_alone() -> None:
    first = survey(bounds={"age": (0, 120), "income": (0, 0.1)}, keys={"day": [date(2026, 1, 1)]})
    second = survey(bounds={"income": (0, Fraction(1, 10)), "age": [0, 120.0]}, keys={"day": (date(2026, 1, 1),)})
    assert version(first) == version(second)
    assert len(version(first)) == 64
    changes: list[dict[str, Any]] = [
        {"max_rows": 6},
        {"unit": "age"},
        {"bounds": {"age": (0, 121)}},
        {"keys": {"region": ["a", "b"]}},
        {"keys": {"region": ["b", "a"]}},
        {"hidden": ["name"]},
        {"types": {"age": "real"}},
        {"neighbours": "change one"},
        {"keys": {"name": ["2026-01-01"]}},
        {"keys": {"name": [date(2026, 1, 1)]}},
    ]
    versions = [version(survey(**change)) for change in changes]
    assert len({version(survey()), *versions}) == len(changes) + 1


def test_the_version_is_the_same_for_ever() -> None:
    policy = table_policy(
        "t", {"u": "integer", "x": "real"}, unit="u", max_groups=1, max_rows=2, bounds={"x": (0, 0.5)}
    )
    canonical = (
        '{"columns":{"u":{"bounds":null,"hidden":false,"keys":null,"kind":"integer"},'
        '"x":{"bounds":["0","1/2"],"hidden":false,"keys":null,"kind":"real"}},'
        '"max_groups":1,"max_rows":2,"name":"t","neighbours":"add/remove","unit":"u"}'
    )
    assert version(policy) == hashlib.sha256(canonical.encode()).hexdigest()


def test_dates_texts_and_numbers_do_not_meet_in_a_digest() -> None:
    values: list[object] = [date(2026, 1, 1), "2026-01-01", 1, True, 1.5, "1", None, Fraction(3, 2)]
    assert len({digest([value]) for value in values}) == len(values)
    with pytest.raises(TypeError):
        digest({1, 2})


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [
        ("day", "integer", "must be text, date or timestamp, because the source has date there"),
        ("income", "text", "must be integer or real, because the source has real there"),
        ("seen", "boolean", "must be date or timestamp, because the source has timestamp there"),
    ],
)
def test_a_type_as_which_the_source_cannot_be_read_is_refused_at_once(column: str, kind: Kind, message: str) -> None:
    assert mistake(types={column: kind}) == (f"types[{column!r}]", message)
    good: Kind = "integer" if column == "income" else "date"
    assert survey(types={column: good}).columns[column].kind == good


def test_a_column_that_cannot_be_used_is_told_from_one_that_is_not_there() -> None:
    with pytest.raises(PolicyError) as caught:
        table_policy("t", SCHEMA, unit="tags", hidden=["tags"], bounds={"tagz": (0, 1)}, unusable=["tags"])
    where = {mistake.where: mistake.message for mistake in caught.value.mistakes}
    assert "'tags' has a type that cannot be used" in where["unit"]
    assert "is about a column that has a type that cannot be used" in where["hidden['tags']"]
    assert "does not exist" in where["bounds['tagz']"]


def test_dates_as_bounds_of_numbers_are_called_dates() -> None:
    where, message = mistake(bounds={"income": (date(2025, 1, 1), date(2025, 12, 31))})
    assert where == "bounds['income']"
    assert message == "must be two finite numbers, the lower one first, not dates, because the column is of kind real"
