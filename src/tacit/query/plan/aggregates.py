"""The aggregates of a plan: what is asked, and the bundles that it is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from tacit.query.expressions import Expression
from tacit.query.plan.field_text import field_text
from tacit.query.rank_target import Draw

Bounds: TypeAlias = tuple[Fraction, Fraction]
"""The lower and the upper bound of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """An aggregate function with its values, their bounds, and its parameter, such as the q of a quantile.

    For a table that adds up, `sizes` are the numbers of values of its keys. `size` is the public number of rows or
    units that the aggregate uses; with `rest`, one more cell of the table has the rows in no other cell. `draw` says
    how a quantile is drawn.
    """

    function: str
    values: tuple[Expression, ...] = ()
    bounds: tuple[Bounds, ...] = ()
    parameter: Fraction | None = None
    sizes: tuple[int, ...] = ()
    size: int | None = None
    rest: bool = False
    draw: Draw | None = None

    def __repr__(self) -> str:
        """Return all fields, but the last three only if they are set, because ledgers hold hashes of this text."""
        return field_text(self, "size", "rest", "draw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One aggregate of the query, its SQL text, and the indices of the bundles that it is computed from.

    `cut` is the index of the bundle that measures the rows that its reach cuts; None if they are not measured.
    """

    ask: Ask
    bundles: tuple[int, ...]
    sql: str
    cut: int | None = None

    def __repr__(self) -> str:
        """Return all fields, but `cut` only if there is one, because ledgers hold hashes of this text."""
        return field_text(self, "cut")
