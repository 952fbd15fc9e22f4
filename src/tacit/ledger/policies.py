"""The part of a policy that a ledger records: the privacy unit of each table, and the bounds that charges relied on.

A record writes a unit as an object with one tag, `{"column": NAME}` or `{"row": true}`. So no column name can be
confused with `tc.ROW`. Bounds are written under `bounds.NAME`; no other part of a policy starts with `bounds.`.
A table with instants has the part `timezone`: another zone gives the same query another meaning.

Version 0.1.0 wrote a unit as text: the name of a column, or `each row` for `tc.ROW`. A column called `each row` and
`tc.ROW` therefore have the same text. tacit reads such a record as follows:

* Any other text is the column of that name.
* If the table has no column called `each row`, the text means `tc.ROW`.
* If the table has such a column, the record does not show for which of the two the budget was spent. The ledger opens
  only with `accept`: the steward states which unit it always had. tacit has no other source for this and assumes
  neither.

When such a ledger is opened, tacit records the tagged form once. From then on the unit is fixed, and `accept` cannot
change it. Version 0.1.0 does not know the tagged form and refuses it as a changed unit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tacit.errors import RefusedError, show_name
from tacit.guarantees.events import Neighbours

PolicyPart: TypeAlias = str | Mapping[str, str | bool]
"""One part of a recorded policy: text, or the tagged form of a unit."""

RecordedPolicy: TypeAlias = Mapping[str, Mapping[str, PolicyPart]]
"""The recorded parts of each table's policy."""

_ROW: Mapping[str, str | bool] = {"row": True}
_ROW_TEXT = "each row"
_NAMES_WITH_ROW_TEXT = frozenset({_ROW_TEXT, ""})  # 0.1.0 also wrote a column with an empty name like tc.ROW
_FIXED = ("unit", "neighbours")


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The facts about one table on which its guarantee depends.

    `unit` is the column that names the privacy units, or None if each row is a unit. `columns` are the names of all
    columns of the table. They are not recorded; they only help to read a unit that version 0.1.0 recorded. `timezone`
    is the zone in which instants are read; None if no column has instants, or no query can use them.
    """

    unit: str | None
    neighbours: Neighbours
    bounds: Mapping[str, str] = field(default_factory=dict)
    columns: Collection[str] = ()
    timezone: str | None = None

    def parts(self) -> dict[str, PolicyPart]:
        """Return the parts that a record has for this table."""
        unit: PolicyPart = _ROW if self.unit is None else {"column": self.unit}
        bounds = {f"bounds.{name}": text for name, text in self.bounds.items()}
        zone = {} if self.timezone is None else {"timezone": self.timezone}
        return {"unit": unit, "neighbours": self.neighbours, **bounds, **zone}


Policies: TypeAlias = Mapping[str, Promise]
"""The promise for each table. The unit and the neighbour relation can never change."""


def read_policy(recorded: object) -> RecordedPolicy:
    """Return the recorded parts of each table's policy; raise TypeError if they do not have the shape of such parts.

    >>> read_policy({"visits": {"unit": {"row": True}}})
    {'visits': {'unit': {'row': True}}}
    """
    if isinstance(recorded, dict) and all(_are_parts(parts) for parts in recorded.values()):
        return recorded
    raise TypeError("not a recorded policy")


def _are_parts(parts: object) -> bool:
    return isinstance(parts, dict) and "unit" in parts and all(map(_is_part, parts.values()))


def _is_part(part: object) -> bool:
    if isinstance(part, dict):
        return all(isinstance(tag, (str, bool)) for tag in part.values())
    return isinstance(part, str)


def under_recorded_names(policies: Policies, recorded: RecordedPolicy) -> Policies:
    """Return policies under the recorded names of their tables, because SQL ignores the case of table names.

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


def check_population(known: Collection[str], added: Collection[str]) -> None:
    """Raise RefusedError if a second table of units would join the only one of a ledger under "change one".

    The number of units over all private tables is public under "change one". While a ledger has one table whose units
    are named by a column, that is the number of its units, and plans and answers publish it, also at no cost. With a
    second table a unit could leave the first one for it, so the published number would not have been public.

    Args:
        known: the tables of the ledger whose units are named by a column.
        added: such tables of the policy that is opened.
    """
    names = {_folded(name) for name in known}
    new = [name for name in added if _folded(name) not in names]
    if len(names) == 1 and new:
        raise RefusedError(
            f"Table {show_name(new[0])} cannot join a ledger that has had table {show_name(min(known))} alone: under "
            "'change one' the number of its units may have been published as the number of all units.",
            hint="Create a new ledger, and open all private tables with it from the start.",
        )


def tables_of_units(recorded: RecordedPolicy) -> list[str]:
    """Return the recorded tables whose units are named by a column."""
    return [name for name, parts in recorded.items() if _tagged(parts.get("unit")) != _ROW]


def is_current(recorded: RecordedPolicy, policies: Policies) -> bool:
    """Return whether these policies are recorded in the present format."""
    return all(recorded.get(name) == promise.parts() for name, promise in policies.items())


def changes_of(name: str, recorded: RecordedPolicy, promise: Promise) -> list[Change]:
    """Return the differences between a table's policy and the recorded one; a new table has no differences."""
    before = recorded.get(name)
    if before is None:
        return []
    now = promise.parts()
    if _is_ambiguous(before.get("unit"), promise):
        return [Change(_ambiguous(name), acceptable=True), *_differences(name, {**before, "unit": now["unit"]}, now)]
    return _differences(name, before, now)


def recorded_changes(before: RecordedPolicy, after: RecordedPolicy) -> list[str]:
    """Return what one policy record changed: new tables, parts that differ, and units that 0.1.0 had recorded."""
    texts = [f"new table {name}" for name in after if name not in before]
    for name in (name for name in after if name in before):
        was, unit = before[name], after[name]["unit"]
        if isinstance(was.get("unit"), str):
            texts.append(f"unit of {name}: {_shown(unit)}")
            was = {**was, "unit": unit}
        texts += [change.text for change in _differences(name, was, after[name])]
    return texts


def _differences(
    name: str, before: Mapping[str, PolicyPart | None], now: Mapping[str, PolicyPart | None]
) -> list[Change]:
    was = {**before, "unit": _tagged(before.get("unit"))}
    return [
        Change(f"{part} of {name}: {_shown(was.get(part))} became {_shown(now.get(part))}", part not in _FIXED)
        for part in sorted({*was, *now})
        if was.get(part) != now.get(part)
    ]


def _is_ambiguous(recorded: PolicyPart | None, promise: Promise) -> bool:
    """Return whether a unit that 0.1.0 recorded may be tc.ROW or a column of this table."""
    return recorded == _ROW_TEXT and not _NAMES_WITH_ROW_TEXT.isdisjoint(promise.columns)


def _tagged(recorded: PolicyPart | None) -> PolicyPart | None:
    """Return a recorded unit that is not ambiguous in the present format."""
    if not isinstance(recorded, str):
        return recorded
    return _ROW if recorded == _ROW_TEXT else {"column": recorded}


def _ambiguous(name: str) -> str:
    return (
        f"the unit of {name} was recorded by tacit 0.1.0 as 'each row', which may be tc.ROW or a column of that name; "
        "accept only the unit that this ledger always had"
    )


def _shown(part: PolicyPart | None) -> str:
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
            f"The policy changed a part that can never change after a charge ({'; '.join(fixed)}).",
            hint="Restore it in the policy, or create a new ledger for other data.",
        )
    if changes and not accept:
        raise RefusedError(
            f"The policy changed since the last charge ({'; '.join(change.text for change in changes)}).",
            hint="If the change is intended, accept it: `tacit ledger accept POLICY`, or accept=True in Python.",
        )


def check_fixed(before: RecordedPolicy, after: RecordedPolicy) -> None:
    """Raise RefusedError if a policy record changes a unit or a neighbour relation.

    The text 'each row' of version 0.1.0 may become tc.ROW or a column; the steward accepted that.
    """
    changes: list[Change] = []
    for name in (name for name in before if name in after):
        now = {**after[name], "unit": _tagged(after[name].get("unit"))}
        was = {**before[name], "unit": now["unit"]} if before[name].get("unit") == _ROW_TEXT else before[name]
        changes += [change for change in _differences(name, was, now) if not change.acceptable]
    check_changes(changes, accept=True)
