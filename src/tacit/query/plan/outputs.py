"""The outputs of a plan: functions of released values, of keys and of constants, and their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tacit.query.expressions import Kind, Value
from tacit.query.key_tuples import Determined


@dataclass(frozen=True, slots=True)
class Noisy:
    """An output: the released aggregate at this index of the plan."""

    place: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Grouped:
    """An output: the key at this index of the plan."""

    place: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Constantly:
    """An output: a constant."""

    value: Value
    kind: Kind


@dataclass(frozen=True, slots=True)
class Computed:
    """An output: a function of released values. It is post-processing, which costs nothing."""

    function: str
    arguments: tuple[Output, ...]
    kind: Kind


Output: TypeAlias = Noisy | Grouped | Determined | Constantly | Computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One term of ORDER BY, over released values."""

    by: Output
    descending: bool
    nulls_first: bool
