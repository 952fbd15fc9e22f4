"""`tacit ledger`: what was spent and by whom; checking, copying and changing a ledger."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from tacit.cli import ledger_show
from tacit.cli.ledger_accept import changes
from tacit.cli.show import SCHEMA, put, say
from tacit.errors import InvalidError, LedgerError, RefusedError, show
from tacit.ledger import check_name, history
from tacit.ledger.backup import export, load
from tacit.ledger.open_ledger import read_ledger, require_ledger
from tacit.ledger.replay import verify
from tacit.ledger.sql_ledger import SqlLedger
from tacit.query.formatting import spell
from tacit.query.policy import file as policy_file
from tacit.safe_text import as_json

ACTIONS = ("show", "verify", "export", "import", "accept", "renew")
_REFUSED = 3


def run(  # noqa: PLR0913 - one for each option
    policy: str,
    action: str,
    *,
    file: str | None,
    receipts: Sequence[str],
    ledger: str | None,
    disjoint: bool,
    delta: float | None,
    chart: str | None,
    json: bool,
) -> int:
    """Do one thing with the ledger of a policy."""
    said = policy_file.load(policy)
    place = ledger or said.ledger_location()
    if place is None:
        raise RefusedError(
            'The policy has no ledger; nothing was changed. Add a line such as ledger = "policy.ledger" above its '
            "first table."
        )
    match action:
        case "show":
            return _with(place, lambda book: ledger_show.show(book, delta=delta, chart=chart, json=json))
        case "verify":
            return _with(place, lambda book: _verify(book, receipts, json=json))
        case "export":
            return _with(place, _export)
        case "import":
            return _import(file, place)
        case "accept":
            return _accept(policy, place)
        case "renew":
            return _with(place, lambda book: _renew(book, said.data_version, disjoint=disjoint))
    raise InvalidError("action", show(action), f"one of {', '.join(ACTIONS)}")


def _with(place: str, do: Callable[[SqlLedger], int]) -> int:
    book = read_ledger(place)
    try:
        return do(book)
    finally:
        book.close()


def _verify(book: SqlLedger, receipts: Sequence[str], *, json: bool) -> int:
    """Compute the chain and all totals again."""
    report = verify(book, [_receipt(file) for file in receipts])
    if json:
        said = {"schema": SCHEMA, "holds": report.holds, "records": report.records}
        print(as_json({**said, "wrong": report.wrong, "why": report.why}))
    else:
        put(str(report))
    return 0 if report.holds else _REFUSED


def _receipt(file: str) -> dict[str, object]:
    """Return a receipt from a file: itself, or what `tacit query --json` printed."""
    try:
        said = json_module.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidError("receipt", show(file), "a file with a receipt in JSON") from None
    found = said.get("receipt", said) if isinstance(said, dict) else None
    if not isinstance(found, dict):
        raise InvalidError("receipt", show(file), "a file with a receipt in JSON")
    return found


def _export(book: SqlLedger) -> int:
    for line in export(book):
        print(line)
    return 0


def _import(file: str | None, place: str) -> int:
    if file is None:
        raise InvalidError("file", "none", "given: the JSON lines that `tacit ledger … export` printed")
    try:
        lines = sys.stdin if file == "-" else Path(file).read_text(encoding="utf-8").splitlines()
        report = load(lines, place)
    except (OSError, UnicodeError):
        raise LedgerError(f"The file {show(file)} cannot be read. Nothing was written.") from None
    say(str(report))
    return 0 if report.holds else _REFUSED


def _accept(policy: str, place: str) -> int:
    """Record a changed budget, changed bounds or a changed limit of an analyst, and say what changed."""
    from tacit import opening  # noqa: PLC0415 - heavy

    require_ledger(place)
    with opening.open(policy, ledger=place, accept=True) as db:
        book = cast("SqlLedger", db.ledger)
        accepted = "; ".join(changes(book.records(), book.opened_after))
        done = f"Accepted: {accepted}." if accepted else "Nothing to accept."
        say(f"{done} Left: {spell(db.left)} of {spell(book.budget)}.")
    return 0


def _renew(book: SqlLedger, version: str, *, disjoint: bool) -> int:
    """Record another version of the data, with a fresh budget if its units are others."""
    check_name(version, "data_version")
    if not version:
        raise RefusedError('The policy declares no data_version; nothing was changed. Add: data_version = "2026-01"')
    if not disjoint:
        raise RefusedError(
            "A new version of the data has the old budget, since a unit is all its rows in all versions; nothing was "
            "changed. Only if no unit was in any version before, say so: --disjoint-units"
        )
    book.set_version(version, disjoint=True)
    say(f"The data are {version} now, of other units. Left: {spell(history.left(book))}.")
    return 0
