"""Seals: a ledger that was moved admits nothing more at its old place. `relocation` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tacit.errors import LedgerError
from tacit.ledger.records import FORMAT, SEAL, Head, Tables, WrongRecordError


def check_not_sealed(head: Head, name: str) -> None:
    """Raise LedgerError if a ledger was moved: it admits nothing more."""
    if head.moved_to:
        raise LedgerError(
            f"Ledger {name} is sealed: it was moved to {head.moved_to}.",
            hint="Name the new place, in the policy or in tc.open. If the move was interrupted, finish it: "
            "`tacit ledger move OLD NEW`.",
        )


def seal(head: Head, number: int, body: Mapping[str, Any], tables: Tables) -> Head:
    """Apply a record of kind "seal"."""
    place, token = body["to"], body["token"]
    if not (isinstance(place, str) and place and isinstance(token, str) and token):
        raise WrongRecordError("It names no place or no token.")
    tables.set_request(SEAL, number, token)
    return replace(head, moved_to=place, format=FORMAT)


def continue_after_seal(head: Head, _number: int, body: Mapping[str, Any], tables: Tables) -> Head:
    """Apply a record of kind "moved"."""
    last = tables.request(SEAL)
    if not head.moved_to or last is None or last[1] != body["token"]:
        raise WrongRecordError("It does not follow a seal with its token.")
    return replace(head, moved_to="")
