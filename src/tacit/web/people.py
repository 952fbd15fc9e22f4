"""People: their names, roles and passwords.

A name is also the analyst's name in every ledger. A person who was removed keeps their history: if the name is added
again, it is the same person.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from unicodedata import is_normalized

from sqlalchemy import Connection, delete, select, update

from tacit.errors import InvalidError, RefusedError, bad_value, show_name
from tacit.web.passwords import check_password, hashed
from tacit.web.roles import Role, read_role
from tacit.web.store import WebStore, insert_new, now
from tacit.web.tables import PEOPLE, SESSIONS, TOKENS

_NAME = re.compile(r"[\w.@+-](?:[\w .@+'-]{0,62}[\w.@+-])?")


@dataclass(frozen=True, slots=True)
class Account:
    """A person as an administrator sees them."""

    name: str
    role: Role
    has_password: bool
    created: int


def check_person(name: object) -> str:
    """Return a name that a person may have, or raise InvalidError.

    >>> check_person("Ann Lee")
    'Ann Lee'
    """
    if not isinstance(name, str) or not is_name(name):
        raise bad_value("name", name, "a name of up to 64 letters, digits and . _ - + @ '")
    return name


def is_name(name: str) -> bool:
    """Return whether a person may have a name."""
    return _NAME.fullmatch(name) is not None and is_normalized("NFC", name)


def add(store: WebStore, name: str, role: str, password: str | None = None) -> None:
    """Add a person; without a password they sign in through a proxy, or use tokens."""
    row = {
        "name": check_person(name),
        "role": read_role(role).word,
        "password": None if password is None else hashed(check_password(password)),
        "active": 1,
    }
    with store.writing() as connection:
        if insert_new(connection, PEOPLE, {**row, "created": now()}):
            return
        again = update(PEOPLE).where(PEOPLE.c.name == name, PEOPLE.c.active == 0).values(**row)
        if connection.execute(again).rowcount == 0:
            raise RefusedError(f"{show_name(name)} exists already.", hint="Change the role or the password instead.")


def change(store: WebStore, name: str, *, role: str | None = None, password: str | None = None) -> None:
    """Change a role or a password. All sessions of the person end; with a new password their tokens end too."""
    values: dict[str, object] = {}
    if role is not None:
        values["role"] = read_role(role).word
    if password is not None:
        values["password"] = hashed(check_password(password))
    if not values:
        raise InvalidError(
            "Neither a role nor a password is given.", argument="role", hint="Give a role or a password."
        )
    with store.writing() as connection:
        _require_other_admin(connection, name, values.get("role"))
        connection.execute(update(PEOPLE).where(PEOPLE.c.name == name).values(**values))
        connection.execute(delete(SESSIONS).where(SESSIONS.c.person == name))
        if password is not None:
            connection.execute(delete(TOKENS).where(TOKENS.c.person == name))


def remove(store: WebStore, name: str) -> None:
    """Remove a person with their sessions and tokens. Their charges stay in the ledgers."""
    with store.writing() as connection:
        _require_other_admin(connection, name, "removed")
        connection.execute(update(PEOPLE).where(PEOPLE.c.name == name).values(active=0, password=None))
        connection.execute(delete(SESSIONS).where(SESSIONS.c.person == name))
        connection.execute(delete(TOKENS).where(TOKENS.c.person == name))


def _require_other_admin(connection: Connection, name: str, role: object) -> None:
    """Raise an error for an unknown name, and if the last administrator would lose the role."""
    active = connection.execute(select(PEOPLE.c.name, PEOPLE.c.role).where(PEOPLE.c.active == 1)).all()
    roles = {row.name: row.role for row in active}
    if name not in roles:
        raise unknown(name)
    admins = [each for each, one in roles.items() if one == Role.ADMIN.word]
    if role not in (None, Role.ADMIN.word) and admins == [name]:
        raise RefusedError(f"{show_name(name)} is the last administrator.", hint="Make somebody else one first.")


def unknown(name: str) -> InvalidError:
    """Return the error for a name that nobody has."""
    return InvalidError(f"There is no person {show_name(name)}.", argument="name", hint="Check the spelling.")


def everybody(store: WebStore) -> list[Account]:
    """Return all people, by name."""
    with store.reading() as connection:
        rows = connection.execute(select(PEOPLE).where(PEOPLE.c.active == 1).order_by(PEOPLE.c.name)).all()
    return [Account(row.name, read_role(row.role), row.password is not None, row.created) for row in rows]


def role_and_password(store: WebStore, name: str) -> tuple[Role, str | None] | None:
    """Return the role and the hash of the password of an active person; None for anybody else."""
    with store.reading() as connection:
        row = connection.execute(select(PEOPLE).where(PEOPLE.c.name == name, PEOPLE.c.active == 1)).first()
    return None if row is None else (read_role(row.role), row.password)
