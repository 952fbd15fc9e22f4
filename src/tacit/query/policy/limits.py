"""Limits of one unit that an analyst chooses for one query, in place of those of the policy.

Limits are a choice of accuracy, not of privacy: the noise of a query follows from the limits that its plan has, so any
limits have the guarantee that is charged. The receipt records them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, Literal

from tacit.errors import bad_value
from tacit.guarantees.exact import whole
from tacit.query.policy import TablePolicy
from tacit.query.policy.column_values import LARGEST_BOUND

AUTO: Final = "auto"
"""The reach that stands for a private choice (`pricing.reach_choice`)."""

_REQUIREMENT = f"a whole number from 1 to {LARGEST_BOUND:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a query; None keeps the limit of the policy, and the reach "auto" is to be chosen.

    >>> Limits(reach=20).reach
    20
    """

    reach: int | Literal["auto"] | None = None
    max_groups: int | None = None
    max_rows: int | None = None

    def __post_init__(self) -> None:
        """Check that each limit is a whole number in its range."""
        for name, value in self._given():
            if not 1 <= (whole(value) or 0) <= LARGEST_BOUND:
                raise bad_value(name, value, _REQUIREMENT + (', or "auto"' if name == "reach" else ""))

    @property
    def automatic(self) -> bool:
        """True if the reach is to be chosen."""
        return self.reach == AUTO

    def _given(self) -> list[tuple[str, int]]:
        values = [(each.name, getattr(self, each.name)) for each in fields(self)]
        chosen = [("reach", AUTO)] if self.automatic else []
        return [given for given in values if given[1] is not None and given not in chosen]

    def apply(self, table: TablePolicy) -> TablePolicy:
        """Return the policy of a table with these limits. If each row is a unit, no limit is needed, and none applies.

        >>> table = TablePolicy(name="t", unit="u", max_groups=3, max_rows=None, neighbours="add/remove")
        >>> Limits(reach=20).apply(table).reach
        20
        """
        if table.public or table.unit is None:
            return table
        changes = {name: int(value) for name, value in self._given()}
        return replace(table, **changes) if changes else table  # type: ignore[arg-type]  # all of these are whole
