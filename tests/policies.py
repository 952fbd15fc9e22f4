"""Policies for tests: from arguments, and a policy file with its mistakes after a change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from tacit.query.expressions import Kind
from tacit.query.policy import TablePolicy
from tacit.query.policy.arguments import declare
from tacit.query.policy.build import build
from tacit.query.policy.declaration import Policy
from tacit.query.policy.file import load
from tacit.query.policy.mistakes import PolicyError

CLINIC = """\
# clinic.toml
budget = { epsilon = 3.0, delta = 1e-6 }
ledger = "clinic.ledger"
neighbours = "add/remove"

[tables.visits]
source = "visits.parquet"          # or "postgresql://…" + table, or a Spark table
unit = "patient_id"
max_groups = 3
max_rows = 5

[tables.visits.columns]
cost = { bounds = [0, 20_000] }
ward = { keys = ["A", "B", "C"] }
name = { hidden = true }
"""
SCHEMA: dict[str, Kind] = {"patient_id": "integer", "cost": "real", "ward": "text", "name": "text", "day": "date"}


def table_policy(
    name: object, schema: Mapping[str, Kind], *, unusable: Collection[str] = (), **declared: object
) -> TablePolicy:
    """Return the policy of a table that is declared in arguments, such as unit="id"."""
    return build(declare(None, None, name=name, **declared), schema, unusable)


class Folder:
    """A folder that holds one policy file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def opened(self, text: str | bytes, **environment: str) -> Policy:
        """Write the policy and load it."""
        file = self.path / "clinic.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(file, environment=environment)

    def wrong(self, text: str | bytes, **environment: str) -> list[tuple[int | None, str, str]]:
        """Write the policy and return its mistakes; there must be some."""
        with pytest.raises(PolicyError) as caught:
            self.opened(text, **environment)
        assert str(caught.value).splitlines()[1:] == [f"  {mistake}" for mistake in caught.value.mistakes]
        return [(line, where, message) for line, where, message in caught.value.mistakes]
