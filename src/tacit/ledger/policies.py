"""The part of a policy that a ledger records: whose privacy a charge promised, and the bounds it relied on.

A record writes a unit as an object with one tag, `{"column": NAME}` or `{"row": true}`, so that no column's name can
be read as `tc.ROW`. Bounds are written under `bounds.NAME`; no other part begins with `bounds.`.

Version 0.1.0 wrote a unit as text: a column's name, or `each row` for `tc.ROW`. Both a column called `each row` and
`tc.ROW` therefore have one text. Such a record is read as follows:

* Any other text is the column of that name.
* If the table has no column called `each row`, the text means `tc.ROW`.
* If the table has such a column, the record does not tell which of the two the budget was spent for. The ledger opens
  only with `accept`: the steward states which unit it always had. Nothing else can tell, and neither is assumed.

When a ledger is opened, the tagged form is recorded once, and the unit is fixed from then on: no `accept` changes it.
Version 0.1.0 does not know the tagged form and refuses it as a changed unit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tacit.errors import RefusedError
from tacit.guarantees.events import Neighbours

Part: TypeAlias = str | Mapping[str, str | bool]
"""One part of a recorded policy: text, or the tagged form of a unit."""

Recorded: TypeAlias = Mapping[str, Mapping[str, Part]]
"""What records say of each table."""

_ROW: Mapping[str, str | bool] = {"row": True}
_ROW_TEXT = "each row"
_NAMES_WITH_ROW_TEXT = frozenset({_ROW_TEXT, ""})  # 0.1.0 wrote a column without a name like tc.ROW, too
_FIXED = ("unit", "neighbours")


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the guarantee for one table rests on.

    `unit` is the column that names the privacy units, None where each row is a unit. `columns` are the names of all
    columns of the table; they are not recorded, and only help to read a unit that version 0.1.0 recorded.
    """

    unit: str | None
    neighbours: Neighbours
    bounds: Mapping[str, str] = field(default_factory=dict)
    columns: Collection[str] = ()

    def parts(self) -> dict[str, Part]:
        """Return what a record says of the table."""
        unit: Part = _ROW if self.unit is None else {"column": self.unit}
        bounds = {f"bounds.{name}": text for name, text in self.bounds.items()}
        return {"unit": unit, "neighbours": self.neighbours, **bounds}


Policies: TypeAlias = Mapping[str, Promise]
"""For each table, what its guarantee rests on; the unit and the neighbour relation can never change."""


def under_recorded_names(policies: Policies, recorded: Recorded) -> Policies:
    """Return policies under the names that records have for their tables: SQL does not tell names apart by case.

    >>> promise = Promise(unit=None, neighbours="add/remove")
    >>> list(under_recorded_names({"Visits ": promise, "new": promise}, {"visits": promise.parts()}))
    ['visits', 'new']
    """
    known = {_folded(name): name for name in recorded} | {name: name for name in recorded}
    return {known.get(name, known.get(_folded(name), name)): promise for name, promise in policies.items()}


def _folded(name: str) -> str:
    return name.strip().casefold()


class Change(NamedTuple):
    """A difference between a recorded policy and the present one, and whether `accept` may allow it."""

    text: str
    acceptable: bool


def is_current(recorded: Recorded, policies: Policies) -> bool:
    """Return whether records have exactly these policies, in the form that is written now."""
    return all(recorded.get(name) == promise.parts() for name, promise in policies.items())


def changes_of(name: str, recorded: Recorded, promise: Promise) -> list[Change]:
    """Return how one table's policy differs from the recorded one; a table that is not recorded has no changes."""
    before = recorded.get(name)
    if before is None:
        return []
    now = promise.parts()
    if _is_ambiguous(before.get("unit"), promise):
        return [Change(_ambiguous(name), acceptable=True), *_differences(name, {**before, "unit": now["unit"]}, now)]
    return _differences(name, before, now)


def recorded_changes(before: Recorded, after: Recorded) -> list[str]:
    """Return what one record of policies changed: new tables, parts that differ, units that 0.1.0 had recorded."""
    found = [f"new table {name}" for name in after if name not in before]
    for name in (name for name in after if name in before):
        was, unit = before[name], after[name]["unit"]
        if isinstance(was.get("unit"), str):
            found.append(f"unit of {name}: {_shown(unit)}")
            was = {**was, "unit": unit}
        found += [change.text for change in _differences(name, was, after[name])]
    return found


def _differences(name: str, before: Mapping[str, Part], now: Mapping[str, Part]) -> list[Change]:
    was = {**before, "unit": _tagged(before.get("unit"))}
    return [
        Change(f"{part} of {name}: {_shown(was.get(part))} became {_shown(now.get(part))}", part not in _FIXED)
        for part in sorted({*was, *now})
        if was.get(part) != now.get(part)
    ]


def _is_ambiguous(recorded: Part | None, promise: Promise) -> bool:
    """Return whether a unit that 0.1.0 recorded may be tc.ROW or a column of this table."""
    return recorded == _ROW_TEXT and not _NAMES_WITH_ROW_TEXT.isdisjoint(promise.columns)


def _tagged(recorded: Part | None) -> Part | None:
    """Return a recorded unit that is not ambiguous in the form that is written now."""
    if not isinstance(recorded, str):
        return recorded
    return _ROW if recorded == _ROW_TEXT else {"column": recorded}


def _ambiguous(name: str) -> str:
    return (
        f"the unit of {name} was recorded by tacit 0.1.0 as 'each row', which may be tc.ROW or a column of that name; "
        "accept only the unit that this ledger always had"
    )


def _shown(part: Part | None) -> str:
    match part:
        case None:
            return "none"
        case {"column": column}:
            return f"column {column!r}"
        case {"row": True}:
            return "tc.ROW"
    return str(part)


def check_changes(changes: Sequence[Change], *, accept: bool) -> None:
    """Raise RefusedError for a change that is never allowed, or that was not accepted."""
    fixed = [change.text for change in changes if not change.acceptable]
    if fixed:
        raise RefusedError(
            f"The policy changed in what can never change, since the budget was spent for it ({'; '.join(fixed)}). "
            "Nothing was spent. Put it back, or begin a new ledger for other data."
        )
    if changes and not accept:
        raise RefusedError(
            f"The policy changed since the last charge ({'; '.join(change.text for change in changes)}). Nothing was "
            "spent. If that is meant, accept it: `tacit ledger POLICY accept`, or accept=True in Python."
        )
