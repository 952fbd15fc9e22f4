"""`tacit user`: the people of a server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from getpass import getpass
from typing import TYPE_CHECKING

from tacit import opening
from tacit.cli.output import put, put_json, say
from tacit.cli.output_tables import make_table, put_table
from tacit.errors import InvalidError, MissingPackageError, NoLedgerError, RefusedError
from tacit.ledger.open_ledger import require_ledger
from tacit.query.policy import file as policy_file

if TYPE_CHECKING:
    from tacit.web.store import WebStore


@contextmanager
def opened_store(policy: str, location: str | None) -> Iterator[WebStore]:
    """Open the database of the people of a server: that of the policy's ledger, or a separate one.

    A ledger that does not exist yet is created, because people are in its database.
    """
    try:
        from tacit.web.store import WebStore  # noqa: PLC0415 - heavy
    except ImportError as missing:
        raise MissingPackageError(missing.name or "fastapi", "tacit user", extra="web") from None
    if not location:
        location = policy_file.load(policy).ledger_location()
        if location is None:
            raise RefusedError(
                "The policy has no ledger.",
                hint='Add a line such as ledger = "policy.ledger" above the first table of the policy.',
            )
        try:
            require_ledger(location)
        except NoLedgerError:
            opening.open(policy).close()
            say("Created the ledger of the policy, in whose database the people are.")
    store = WebStore(location)
    try:
        yield store
    finally:
        store.close()


def add(policy: str, name: str, role: str, store: str | None, *, no_password: bool) -> None:
    """Add a person, with a password from the terminal or from standard input."""
    from tacit.web import audit, people  # noqa: PLC0415 - heavy

    password = None if no_password else _password()
    with opened_store(policy, store) as opened:
        people.add(opened, name, role, password)
        audit.note(opened, "(shell)", "add person", detail=f"{name}: {role}")
    say(f"Added {name} as {role}.")


def _password() -> str:
    """Return a password: typed twice on a terminal, else the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass("Password: ", stream=sys.stderr)
    if getpass("The same again: ", stream=sys.stderr) != password:
        raise InvalidError("The two passwords differ.", argument="password", hint="Try again.")
    return password


def show(policy: str, store: str | None, *, json: bool) -> None:
    """Print all people."""
    from tacit.web import people  # noqa: PLC0415 - heavy

    with opened_store(policy, store) as opened:
        everybody = people.everybody(opened)
    if json:
        listed = [{"name": each.name, "role": each.role.word, "has_password": each.has_password} for each in everybody]
        put_json({"users": listed})
        return
    rows = [(each.name, each.role.word, "yes" if each.has_password else "no", _day(each.created)) for each in everybody]
    put_table(make_table(("name", "role", "password", "since"), rows))


def _day(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")


def remove(policy: str, name: str, store: str | None) -> None:
    """Remove a person with their sessions and tokens."""
    from tacit.web import audit, people  # noqa: PLC0415 - heavy

    with opened_store(policy, store) as opened:
        people.remove(opened, name)
        audit.note(opened, "(shell)", "remove person", detail=name)
    say(f"Removed {name}. Running servers forget their tokens within some seconds.")


def token(policy: str, name: str, store: str | None, *, label: str, days: int) -> None:
    """Make a token for a person, and print it."""
    from tacit.web import audit  # noqa: PLC0415 - heavy
    from tacit.web.credentials import make_token  # noqa: PLC0415 - heavy

    with opened_store(policy, store) as opened:
        facts, secret = make_token(opened, name, label, days)
        audit.note(opened, "(shell)", "make token", detail=f"{name}: {facts.id}")
    put(secret)
    say(f"The token of {name} is shown only here. It ends on {_day(facts.expires)}.")
