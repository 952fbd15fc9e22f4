"""The cost and the expected errors of a high-dimensional release: the answer of a verb with `plan=True`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.guarantees.events import Event
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.formatting import spell
from tacit.query.memory_need import size_text
from tacit.safe_text import html_lines, visible


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan:
    """The cost of a release and its expected errors; nothing was read or spent.

    Attributes:
        question: what would be released.
        cost: the cost of the release.
    """

    question: str
    cost: PureDP | ApproxDP | ZCDP
    error: Mapping[str, float] = field(default_factory=dict)
    """The error that is expected of each part of the answer, by its name."""
    memory: int = 0
    """The bytes that the release needs in this process."""
    notes: tuple[str, ...] = ()
    """Sentences on how the release works and what limits it."""
    events: tuple[Event, ...] = ()
    """What the ledger would charge."""

    @property
    def lines(self) -> list[str]:
        """The plan in sentences."""
        errors = [f"expected error of {name}: {error:,.4g}" for name, error in self.error.items()]
        need = [f"memory: about {size_text(self.memory)}"] if self.memory else []
        return [f"{self.question}", f"cost: {spell(self.cost)}", *errors, *need, *self.notes]

    def to_dict(self) -> dict[str, object]:
        """Return the plan as JSON."""
        return {
            "question": self.question,
            "cost": spell(self.cost),
            "error": dict(self.error),
            "memory": self.memory,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        """Return the plan in sentences."""
        return "\n".join(map(visible, self.lines))

    def _repr_html_(self) -> str:
        """Return the plan as HTML, for notebooks."""
        return html_lines(self.lines)
