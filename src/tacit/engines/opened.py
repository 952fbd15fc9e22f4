"""One of several sources that are opened together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """One of several sources: itself, which of its tables, how a policy writes it, and whether it is public."""

    source: object
    table: str | None = None
    written: str | None = None
    public: bool = False
