"""The policy loader: a TOML file to a policy, and with a schema to the policies of its tables.

The input is the file. Besides the loader, the editor of the workbench reads it: a stored policy must not break a page.

* Every file is a policy, or is refused with a list of mistakes whose lines exist.
* A comment at the end changes neither the version nor the fields.
* No message has the value of an environment variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fuzz.rule import Refusal, require, value_or_refusal
from tacit.query.expressions import Kind
from tacit.query.policy.build import build, version
from tacit.query.policy.declaration import Policy, TableDeclaration
from tacit.query.policy.file import parse
from tacit.query.policy.mistakes import PolicyError
from tacit.web.pages.policy_fields import fields_of, with_setting, with_values

FILE = Path("clinic.toml")
SECRET = "Xq7_environment_value"  # noqa: S105 - no password
ENVIRONMENT: Mapping[str, str] = {"CLINIC": SECRET, "EMPTY": "", "URL": f"postgresql://u:{SECRET}@h/d"}
SCHEMA: Mapping[str, Kind] = {
    "patient_id": "integer",
    "cost": "real",
    "visits": "integer",
    "ward": "text",
    "name": "text",
    "urgent": "boolean",
    "day": "date",
    "seen": "timestamp",
    "zoned": "timestamp",
}
_COMMENT = b"\n# the end\n"


def check(data: bytes) -> None:
    """Load a policy, build its tables, and edit it."""
    given = data.decode("utf-8", "replace")
    policy = value_or_refusal(lambda: parse(data, FILE, environment=ENVIRONMENT), secrets=[SECRET], given=given)
    if isinstance(policy, Refusal):
        _check_lines(policy, data.count(b"\n") + 1)
    else:
        _check_policy(policy, data, given)
    _check_fields(given)


def _check_lines(refusal: Refusal, lines: int) -> None:
    """Check that each mistake is at a line of the file."""
    require(isinstance(refusal.error, PolicyError), "A policy is refused without a list of its mistakes.")
    mistakes = refusal.error.mistakes if isinstance(refusal.error, PolicyError) else ()
    require(mistakes, "A policy is refused without a mistake.")
    require(
        all(each.line is None or 1 <= each.line <= lines for each in mistakes), "A mistake is beyond the last line."
    )


def _check_policy(policy: Policy, data: bytes, given: str) -> None:
    """Check what a policy is used for: its version, its places, its settings and its tables."""
    again = parse(data + _COMMENT, FILE, environment=ENVIRONMENT)
    require(again.version == policy.version, "A comment changes the version of a policy.")
    value_or_refusal(lambda: policy.engine_settings({}, ENVIRONMENT), secrets=[SECRET], given=given)
    value_or_refusal(lambda: policy.ledger_location(ENVIRONMENT), given=given)
    for declaration in (*policy.tables.values(), *policy.public.values()):
        _check_table(declaration, given)


def _check_table(declaration: TableDeclaration, given: str) -> None:
    value_or_refusal(lambda: declaration.location(ENVIRONMENT), given=given)
    _check_built(declaration, SCHEMA, ["zoned"], given)
    _check_built(declaration, dict.fromkeys(SCHEMA, "text"), [], given)


def _check_built(declaration: TableDeclaration, schema: Mapping[str, Kind], zoned: list[str], given: str) -> None:
    """Build the policy of a table over a schema."""
    private = replace(declaration, public=False)
    built = value_or_refusal(lambda: build(private, schema, ["picture"], zoned), secrets=[SECRET], given=given)
    if not isinstance(built, Refusal):
        value_or_refusal(lambda: version(built))


def _check_fields(given: str) -> None:
    """Check the editor of the workbench: writing the same values, and one more, keeps the other fields."""
    fields = value_or_refusal(lambda: fields_of(given))
    require(not isinstance(fields, Refusal), "The editor refuses a text.")
    if isinstance(fields, Refusal) or not fields:
        return
    same = with_values(given, {field.name: field.text for field in fields})
    names = [field.path for field in fields]
    require([field.path for field in fields_of(same)] == names, "Writing the same values changes the fields.")
    value_or_refusal(lambda: with_setting(given, ("tables", "visits", "columns", "new", "type"), '"text"'))
