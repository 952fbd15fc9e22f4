"""The credentials of callers: API tokens, sessions of browsers, and names that a proxy states.

A token or a cookie is 256 random bits. The database has their SHA-256 hash. A worker remembers a credential for
`auth_cache` seconds (5 by default), so a token that was removed on another worker can work that much longer.

**Clocks.** A credential is valid from its creation to its expiry, by the clock of the machine that checks it. If the
clock jumps forward, sessions end early and people sign in again. If it is set back by more than five minutes,
credentials that were made after the time that it shows are refused. So no jump makes one valid for longer than its
lifetime plus five minutes of that clock.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from time import monotonic
from typing import Literal

from sqlalchemy import Connection, Table, delete, insert, select
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from tacit.errors import bad_value, show_name
from tacit.web import people
from tacit.web.problems import Problem
from tacit.web.roles import Role, read_role
from tacit.web.security import check_transport, cookie_name
from tacit.web.store import WebStore, now
from tacit.web.tables import PEOPLE, SESSIONS, TOKENS

PREFIX = "tacit_"
SKEW = 300
"""The seconds by which the clocks of machines may differ."""

DAYS = 90
_MOST_DAYS = 366
_MOST_TOKENS = 50
_LARGEST_CACHE = 10_000


@dataclass(frozen=True, slots=True)
class Person:
    """The caller, and their credential: a token, the session of a browser, or a header of a trusted proxy."""

    name: str
    role: Role
    via: Literal["token", "session", "header"]
    credential: str
    expires: int | None


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """A token without its secret."""

    id: str
    person: str
    label: str
    created: int
    expires: int


class Identities:
    """Find the person of a credential; remember it for some seconds."""

    def __init__(self, store: WebStore, seconds: float) -> None:
        """Store the database and the number of seconds."""
        self._store, self._seconds = store, seconds
        self._known: dict[str, tuple[Person, float]] = {}
        self._lock = Lock()

    def forget(self) -> None:
        """Forget everybody, after a change in this process."""
        with self._lock:
            self._known.clear()

    def remembered(self, key: str) -> Person | None:
        """Return a person who was found lately, and whose credential has not expired."""
        with self._lock:
            person, until = self._known.get(key, (None, 0.0))
        fresh = person is not None and monotonic() < until and (person.expires is None or now() < person.expires)
        return person if fresh else None

    def find(self, table: Table, digest: str) -> Person | None:
        """Return the person of a hash in the table of tokens or sessions; None if it is unknown or has expired."""
        with self._store.reading() as connection:
            joined = select(table.c.created, table.c.expires, PEOPLE.c.name, PEOPLE.c.role)
            joined = joined.join(PEOPLE, PEOPLE.c.name == table.c.person)
            row = connection.execute(joined.where(table.c.digest == digest, PEOPLE.c.active == 1)).first()
        if row is None or not row.created - SKEW <= now() < row.expires:
            return None
        via: Literal["token", "session"] = "token" if table is TOKENS else "session"
        return self._remember(_key(table, digest), Person(row.name, read_role(row.role), via, digest, row.expires))

    def vouched(self, name: str) -> Person | None:
        """Return the person whom a proxy names, if there is one."""
        found = people.role_and_password(self._store, name)
        key = f"header {name}"
        return None if found is None else self._remember(key, Person(name, found[0], "header", key, None))

    def _remember(self, key: str, person: Person) -> Person:
        with self._lock:
            if len(self._known) >= _LARGEST_CACHE:
                self._known.clear()
            self._known[key] = person, monotonic() + self._seconds
        return person


async def authenticate(request: Request) -> Person:
    """Return who calls; raise the problem 401 for nobody, and 403 for a credential over plain HTTP."""
    state = request.app.state.server
    identities: Identities = state.identities
    key, find = _credential(request, identities)
    if key is None or find is None:
        raise _nobody("You are not signed in.", "Sign in, or send a token: Authorization: Bearer …")
    check_transport(request, state.settings)
    person = identities.remembered(key) or await run_in_threadpool(find)
    if person is None:
        raise _nobody("The token or session is unknown, has expired or was ended.", "Sign in again, or make a token.")
    return person


def _nobody(detail: str, hint: str) -> Problem:
    return Problem(401, "not-signed-in", detail, hint=hint, headers={"WWW-Authenticate": 'Bearer realm="tacit"'})


def _credential(request: Request, identities: Identities) -> tuple[str | None, Callable[[], Person | None] | None]:
    """Return under what the request's credential is remembered, and what finds its person."""
    settings = request.app.state.server.settings
    authorization = request.headers.get("authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        digest = digest_of(token.strip() if scheme.lower() == "bearer" else "")
        return _key(TOKENS, digest), lambda: identities.find(TOKENS, digest)
    peer = request.client.host if request.client else ""
    if settings.trust_header and peer in settings.trusted_proxies:
        names = request.headers.getlist(settings.trust_header)
        if len(names) > 1:
            raise _nobody("The header of the proxy came twice.", "The proxy must replace what a client sends.")
        if names and (name := names[0]):
            return f"header {name}", lambda: identities.vouched(name)
    cookie = request.cookies.get(cookie_name(secure=request.state.secure))
    if cookie is None:
        return None, None
    digest = digest_of(cookie)
    return _key(SESSIONS, digest), lambda: identities.find(SESSIONS, digest)


def _key(table: Table, digest: str) -> str:
    """Return under what a worker remembers a credential, so that a token is never taken for a cookie."""
    return f"{table.name} {digest}"


def digest_of(secret: str) -> str:
    """Return the hash under which a secret is stored."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def start_session(store: WebStore, name: str, seconds: int) -> tuple[str, int]:
    """Store a new session; return its secret and its expiry. Sessions that have expired are deleted."""
    secret, created = secrets.token_urlsafe(32), now()
    row = {"digest": digest_of(secret), "person": name, "created": created, "expires": created + seconds}
    with store.writing() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.expires <= created))
        connection.execute(insert(SESSIONS).values(**row))
    return secret, created + seconds


def end_session(store: WebStore, digest: str) -> None:
    """End a session."""
    with store.writing() as connection:
        connection.execute(delete(SESSIONS).where(SESSIONS.c.digest == digest))


def make_token(store: WebStore, name: str, label: str = "", days: int = DAYS) -> tuple[TokenFacts, str]:
    """Store a new token of a person; return it with its secret, which is shown once."""
    if not 1 <= days <= _MOST_DAYS:
        raise bad_value("days", days, f"a whole number from 1 to {_MOST_DAYS}")
    if len(label) > 100 or not label.isprintable():  # noqa: PLR2004 - letters
        raise bad_value("label", label, "up to 100 printable characters")
    secret, created = PREFIX + secrets.token_urlsafe(32), now()
    facts = TokenFacts(secrets.token_hex(8), name, label, created, created + days * 86_400)
    with store.writing() as connection:
        connection.execute(delete(TOKENS).where(TOKENS.c.expires <= created))
        _check_room(connection, name)
        row = {"id": facts.id, "person": name, "label": label, "created": created, "expires": facts.expires}
        connection.execute(insert(TOKENS).values(**row, digest=digest_of(secret)))
    return facts, secret


def _check_room(connection: Connection, name: str) -> None:
    if connection.execute(select(PEOPLE.c.name).where(PEOPLE.c.name == name, PEOPLE.c.active == 1)).first() is None:
        raise people.unknown(name)
    if len(connection.execute(select(TOKENS.c.id).where(TOKENS.c.person == name)).all()) >= _MOST_TOKENS:
        raise Problem(409, "too-many-tokens", f"{show_name(name)} has {_MOST_TOKENS} tokens.", hint="Remove some.")


def tokens_of(store: WebStore, name: str | None = None) -> list[TokenFacts]:
    """Return the tokens of a person, or of everybody, oldest first."""
    query = select(TOKENS).order_by(TOKENS.c.created, TOKENS.c.id)
    with store.reading() as connection:
        rows = connection.execute(query if name is None else query.where(TOKENS.c.person == name)).all()
    return [TokenFacts(row.id, row.person, row.label, row.created, row.expires) for row in rows]


def remove_token(store: WebStore, token: str, name: str | None = None) -> bool:
    """Remove a token by its id, of one person or of anybody; return whether there was one."""
    query = delete(TOKENS).where(TOKENS.c.id == token)
    with store.writing() as connection:
        return connection.execute(query if name is None else query.where(TOKENS.c.person == name)).rowcount > 0
