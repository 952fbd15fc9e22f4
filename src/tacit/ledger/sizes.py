"""Public sizes of tables: a table has one number of rows or units under a declared version of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.errors import RefusedError, show_name
from tacit.guarantees.exact import whole
from tacit.ledger import TableSize
from tacit.ledger.records import Head, Tables, WrongRecordError, size_name


def add_size(head: Head, number: int, body: Mapping[str, Any], tables: Tables) -> Head:
    """Apply a record of kind "size"."""
    version, table, size = str(body["version"]), str(body["table"]), body["size"]
    if not version or whole(size) is None or size < 0:
        raise WrongRecordError("It has no data version, or its size is not a whole number ≥ 0.")
    if tables.request(size_name(version, table)) is not None:
        raise WrongRecordError("The size of this table was recorded before for this data version.")
    tables.set_request(size_name(version, table), number, str(size))
    return head


def new_sizes(sizes: Sequence[TableSize], tables: Tables) -> list[dict[str, object]]:
    """Return the bodies of records for sizes that are not recorded yet; raise RefusedError if one was different."""
    bodies: dict[str, dict[str, object]] = {}
    for each in sizes:
        name = size_name(each.version, each.table)
        recorded = recorded_size(each.version, each.table, tables)
        known = bodies[name]["size"] if name in bodies else recorded
        if known is not None and known != each.size:
            raise other_size(each, int(str(known)))
        if recorded is None:
            bodies[name] = {"version": each.version, "table": each.table, "size": each.size}
    return list(bodies.values())


def recorded_size(version: str, table: str, tables: Tables) -> int | None:
    """Return the recorded size of a table under a version, or None."""
    known = tables.request(size_name(version, table))
    return None if known is None else int(known[1])


def other_size(now: TableSize, recorded: int) -> RefusedError:
    """Return the refusal of a table whose public size changed under one version of the data."""
    return RefusedError(
        f"Table {show_name(now.table)} has {now.size:,} {now.noun}, but it had {recorded:,} when data version "
        f"{show_name(now.version)} was queried before.",
        hint="If the data changed, give them a new data_version. Otherwise restore them.",
    )
