"""What of a policy a ledger remembers: what its promise rests on, and whether that changed since the last charge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.errors import RefusedError

Policies = Mapping[str, Mapping[str, str]]
"""For each table, what the promise rests on, as text by name; `unit` and `neighbours` can never change."""

_FIXED = ("unit", "neighbours")


def changes_of(name: str, before: Mapping[str, Mapping[str, str]], now: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what is different in one table's policy: what it is, and how it is said."""
    was = before.get(name)
    if was is None:
        return []
    return [
        (part, f"{part} of {name}: {was.get(part, 'none')} became {now.get(part, 'none')}")
        for part in sorted({*was, *now})
        if was.get(part) != now.get(part)
    ]


def check_changes(changes: Sequence[tuple[str, str]], *, accept: bool) -> None:
    """Raise RefusedError for a change that can never be, or that was not accepted."""
    fixed = [said for part, said in changes if part in _FIXED]
    if fixed:
        raise RefusedError(
            f"The policy changed in what can never change, since the budget was spent for it ({'; '.join(fixed)}). "
            "Nothing was spent. Put it back, or begin a new ledger for other data."
        )
    if changes and not accept:
        raise RefusedError(
            f"The policy changed since the last charge ({'; '.join(said for _, said in changes)}). Nothing was spent. "
            "If that is meant, accept it: `tacit ledger POLICY accept`, or accept=True in Python."
        )
