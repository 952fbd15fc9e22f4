"""Sign in and out, and who I am."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request, Response
from pydantic import ConfigDict, Field, StrictStr

from tacit.web import audit, people, security
from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import Reply, TheServer, json_response
from tacit.web.attempts import count_attempt, forget_failures
from tacit.web.credentials import Person, digest_of, end_session, start_session
from tacit.web.passwords import matches
from tacit.web.problems import Problem
from tacit.web.server import Server
from tacit.web.services.asked import Body

router = guarded("session")


class SignIn(Body):
    """A name and a password."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "ann", "password": "correct horse battery"}]}
    )

    name: Annotated[StrictStr, Field(max_length=64)]
    """The name of the person."""
    password: Annotated[StrictStr, Field(max_length=200)]
    """The password."""


class Me(Reply):
    """The person who is signed in. `csrf` is for the header X-CSRF-Token of requests with a cookie."""

    name: str
    """The name of the person."""
    role: str
    """The role: analyst, steward or admin."""
    via: str
    """How the person signed in: "token", "session" or "header"."""
    csrf: str | None
    """For the header X-CSRF-Token of requests with a cookie; null for tokens."""
    expires: int | None
    """When the session or the token ends, in seconds since 1970; null if a proxy signs in."""


def me_content(server: Server, person: Person) -> dict[str, object]:
    """Return who is signed in."""
    csrf = None if person.via == "token" else security.csrf_token(server.store.secret, person.credential)
    return {
        "name": person.name,
        "role": person.role.word,
        "via": person.via,
        "csrf": csrf,
        "expires": person.expires,
    }


def sign_in(server: Server, name: str, password: str, address: str) -> tuple[str, Person]:
    """Return the secret of a new session and its person; raise a problem for a wrong password or too many attempts."""
    count_attempt(server.store, name, address)
    found = people.role_and_password(server.store, name)
    if not matches(None if found is None else found[1], password) or found is None:
        audit.note(server.store, name, "sign in", outcome="refused")
        raise Problem(401, "wrong-password", "The name or the password is wrong.", hint="Check both, then try again.")
    forget_failures(server.store, name, address)
    secret, expires = start_session(server.store, name, server.settings.cookie_lifetime)
    audit.note(server.store, name, "sign in")
    return secret, Person(name, found[0], "session", digest_of(secret), expires)


def set_session_cookie(response: Response, secret: str, seconds: int, *, secure: bool) -> None:
    """Put the cookie of a session into a response."""
    response.set_cookie(
        security.cookie_name(secure=secure),
        secret,
        max_age=seconds,
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


@route(router, "POST", "/session", role=Role.PUBLIC, problems_of=(401, 403, 429), response_model=Me, summary="Sign in")
def start(request: Request, server: TheServer, body: SignIn) -> Response:
    """Sign in with a name and a password. The session is in a cookie; programs use tokens instead."""
    security.check_transport(request, server.settings)
    secret, person = sign_in(server, body.name, body.password, request.state.client)
    response = json_response(me_content(server, person))
    set_session_cookie(response, secret, server.settings.cookie_lifetime, secure=request.state.secure)
    return response


@route(router, "DELETE", "/session", role=Role.ANALYST, status=204, summary="Sign out", response_class=Response)
def end(request: Request, server: TheServer, person: Caller) -> Response:
    """End the session of this cookie. A token stays valid; remove it instead."""
    if person.via == "session":
        end_session(server.store, person.credential)
        server.identities.forget()
        audit.note(server.store, person.name, "sign out")
    response = Response(status_code=204)
    response.delete_cookie(
        security.cookie_name(secure=request.state.secure), path="/", secure=request.state.secure, httponly=True,
        samesite="strict",
    )  # fmt: skip
    return response


@route(router, "GET", "/me", role=Role.ANALYST, response_model=Me, summary="Who I am")
def me(server: TheServer, person: Caller) -> Response:
    """Return the name, the role and the CSRF token of the caller."""
    return json_response(me_content(server, person))
