"""The keys by which a plan groups its rows."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import InternalError, show_name
from tacit.query.expressions import Expression, Value
from tacit.query.plan.field_text import field_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A group key: its name in the result, its expression over a row, and its public values, in order.

    A key without values is open: partition selection discovers its values. `default` is the index of the value under
    which rows with other values count; None if they do not count.
    """

    name: str
    expression: Expression
    values: tuple[Value, ...] | None
    default: int | None = None

    def __repr__(self) -> str:
        """Return all fields, but `default` only if there is one, because ledgers hold hashes of this text."""
        return field_text(self, "default")

    @property
    def listed(self) -> tuple[Value, ...]:
        """The values of the key; an InternalError if it is open."""
        if self.values is None:
            raise InternalError(f"the key {show_name(self.name)} has no listed values.")
        return self.values
