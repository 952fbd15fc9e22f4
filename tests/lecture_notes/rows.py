"""The rows: a number, the statement of the notes, a page of the docs, and a check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tacit

Check = Callable[[], None]

LAST = 93
EXEMPT = {39: "full RAPPOR with repeated collection"}
"""The row that tacit does not have."""

tc: Any = tacit
"""The package without its types, for names that this version may not have."""


@dataclass(frozen=True, slots=True)
class Row:
    """One concept, example or figure of the notes."""

    number: int
    statement: str
    page: str
    check: Check
    present: bool

    @property
    def test(self) -> str:
        """The place of the check."""
        folder, _, module = self.check.__module__.rpartition(".")
        return f"tests/{folder}/{module}.py::{self.check.__name__}"


ROWS: dict[int, Row] = {}


def row(number: int, statement: str, page: str, *, present: bool = True) -> Callable[[Check], Check]:
    """Register a check.

    Args:
        number: the number of the row.
        statement: what the notes say.
        page: the page that explains it, under docs/, or README.md.
        present: False if this version does not have the names that the check uses; the check must then fail.
    """

    def register(check: Check) -> Check:
        if number in ROWS or number in EXEMPT:
            raise ValueError(f"row {number} exists twice")
        ROWS[number] = Row(number, statement, page, check, present)
        return check

    return register


def table() -> str:
    """Return all rows as a Markdown table."""
    lines = ["| row | the notes | page | test |", "|---|---|---|---|"]
    for number in range(1, LAST + 1):
        if number in EXEMPT:
            lines.append(f"| {number} | {EXEMPT[number]} | | not in tacit |")
        else:
            each = ROWS[number]
            lines.append(f"| {number} | {each.statement} | {each.page} | {each.test} |")
    return "\n".join(lines)
