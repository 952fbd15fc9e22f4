"""A question as it was put: its text, its own keys, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.guarantees.exact import Number
from tacit.query.expressions import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a question may cost, as it was said: ε and δ, or ρ, or the error that it shall have."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    error: Number | Mapping[str, Number] | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything that a plan and its price are computed from, so that both can be computed again."""

    query: str
    keys: Mapping[str, Sequence[Value]] | None
    cost: Cost
