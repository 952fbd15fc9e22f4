"""The text of a part of a plan, which the digests of ledgers are made of."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def field_text(value: DataclassInstance, *optional: str) -> str:
    """Return the text that a dataclass prints, without optional fields that have their default."""
    names = [
        each.name for each in fields(value) if each.name not in optional or getattr(value, each.name) != each.default
    ]
    return f"{type(value).__qualname__}({', '.join(f'{name}={getattr(value, name)!r}' for name in names)})"
