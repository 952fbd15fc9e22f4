"""Required columns: their constants, mistakes, versions, in arguments and in files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from policies import CLINIC, SCHEMA, Folder, table_policy
from tacit.errors import InvalidError
from tacit.opening import open as opened
from tacit.query.expressions import Kind, Value
from tacit.query.policy import ROW, ColumnPolicy
from tacit.query.policy.build import build, version
from tacit.query.policy.mistakes import PolicyError
from tacit.query.results.render import public_facts

TABLE: dict[str, Kind] = {
    "who": "integer",
    "income": "real",
    "age": "integer",
    "region": "text",
    "urban": "boolean",
    "day": "date",
}


def mistakes(**arguments: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - bad types are the point
    with pytest.raises(PolicyError) as caught:
        table_policy("t", TABLE, **({"unit": ROW} | arguments))
    return [(where, message) for _, where, message in caught.value.mistakes]


def ends(low: int, high: int) -> tuple[Fraction, Fraction]:
    return Fraction(low), Fraction(high)


@pytest.mark.parametrize(
    ("column", "constant"),
    [
        (ColumnPolicy(kind="real"), 0.0),
        (ColumnPolicy(kind="integer"), 0),
        (ColumnPolicy(kind="integer", bounds=ends(-5, 5)), 0),
        (ColumnPolicy(kind="integer", bounds=(Fraction(1, 2), Fraction(9))), 1),
        (ColumnPolicy(kind="real", bounds=ends(-9, -4)), -4.0),
        (ColumnPolicy(kind="real", bounds=(Fraction(1, 2), Fraction(9))), 0.5),
        (ColumnPolicy(kind="boolean"), False),
        (ColumnPolicy(kind="boolean", keys=(True, False)), True),
        (ColumnPolicy(kind="text", keys=(None, "b", "a")), "b"),
        (ColumnPolicy(kind="integer", keys=(7, 8), bounds=ends(0, 9)), 7),
    ],
)
def test_the_constant_is_the_first_key_or_the_number_nearest_to_zero(column: ColumnPolicy, constant: Value) -> None:
    assert column.stand_in == constant
    assert type(column.stand_in) is type(constant)


def test_required_columns_are_declared_by_name() -> None:
    policy = table_policy(
        "t", TABLE, unit="who", max_rows=1, required=["income", "urban", "region"], keys={"region": ["a", "b"]}
    )
    assert [name for name, column in policy.columns.items() if column.required] == ["income", "region", "urban"]
    assert public_facts(policy.columns["region"]) == "keys a, b; required: a missing value is read as a"


@pytest.mark.parametrize(
    ("arguments", "where", "message"),
    [
        ({"required": ["incme"]}, "required['incme']", "does not exist; did you mean 'income'?"),
        ({"required": "income"}, "required", "must be a list of column names"),
        ({"required": [5]}, "required", "must be a list of column names"),
        ({"required": ["day"]}, "required['day']", "needs keys"),
        ({"required": ["region"]}, "required['region']", "needs keys"),
        ({"required": ["urban"], "keys": {"urban": [None]}}, "required['urban']", "needs a key that is not NULL"),
        ({"required": ["income"], "hidden": ["income"]}, "required['income']", "is about a hidden column"),
        ({"required": ["who"], "unit": "who", "max_rows": 1}, "required['who']", "is about the unit column"),
    ],
)
def test_mistakes_are_reported_at_the_argument(arguments: dict[str, Any], where: str, message: str) -> None:
    ((place, found),) = mistakes(**arguments)
    assert place == where
    assert message in found


def test_only_required_columns_change_the_version_and_the_text_of_a_policy() -> None:
    plain, required = (table_policy("t", TABLE, unit=ROW, required=names) for names in ([], ["income"]))
    assert version(plain) != version(required)
    assert "required" not in repr(plain)
    assert "required=True" in repr(required)


def test_a_file_declares_required_columns(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    cost = "cost = { bounds = [0, 20_000] }"
    assert cost in CLINIC
    with_key = CLINIC.replace(cost, "cost = { bounds = [0, 20_000], required = true }")
    without = CLINIC.replace(cost, "cost = { bounds = [0, 20_000], required = false }")
    assert build(folder.opened(with_key).tables["visits"], SCHEMA).columns["cost"].required
    assert folder.opened(without).version == folder.opened(CLINIC).version != folder.opened(with_key).version


def test_a_file_reports_required_columns_without_a_constant_when_the_schema_is_known(tmp_path: Path) -> None:
    policy = CLINIC.replace("name = { hidden = true }", "name = { required = true }")
    declared = Folder(tmp_path).opened(policy).tables["visits"]
    with pytest.raises(PolicyError, match=r"columns\.name\.required needs keys"):
        build(declared, {**SCHEMA, "name": "text"})
    assert build(declared, {**SCHEMA, "name": "boolean"}).columns["name"].required


def test_required_cannot_be_combined_with_a_policy_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="cannot be combined with other declarations: required"):
        opened(tmp_path / "clinic.toml", required=["cost"])
