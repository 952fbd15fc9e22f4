"""People, for administrators."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import Response
from pydantic import ConfigDict, Field, StrictStr

from tacit.web import audit, credentials, people
from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import PersonName, Reply, TheServer, json_response
from tacit.web.api.tokens import MadeToken, NewToken
from tacit.web.people import Account
from tacit.web.problems import Problem
from tacit.web.server import Server
from tacit.web.services.asked import Body

router = guarded("users")
RoleWord = Literal["analyst", "steward", "admin"]
_Password = Annotated[StrictStr, Field(max_length=200)]


class NewUser(Body):
    """A new person. Without a password they sign in through a proxy, or use tokens."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "eve", "role": "analyst", "password": "several random words"}]},
    )

    name: Annotated[StrictStr, Field(min_length=1, max_length=64)]
    """The name, which is that of the analyst in every ledger."""
    role: RoleWord
    """The role."""
    password: _Password | None = None
    """The password; without one, the person signs in through a proxy or uses tokens."""


class ChangedUser(Body):
    """A new role, a new password, or both."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "steward"}]})

    role: RoleWord | None = None
    """The new role; null leaves it."""
    password: _Password | None = None
    """The new password; null leaves it."""


class User(Reply):
    """A person."""

    name: str
    """The name of the person."""
    role: RoleWord
    """The role."""
    has_password: bool
    """Whether the person can sign in with a password."""
    created: int
    """When the person was added, in seconds since 1970."""


class Users(Reply):
    """All people."""

    users: list[User]
    """The people."""


def users_content(server: Server) -> dict[str, object]:
    """Return all people, by name."""
    return {"users": [_user(each) for each in people.everybody(server.store)]}


def _user(account: Account) -> dict[str, object]:
    return {**asdict(account), "role": account.role.word}


def _one(server: Server, name: str) -> dict[str, object]:
    return next(_user(each) for each in people.everybody(server.store) if each.name == name)


@route(router, "GET", "/users", role=Role.ADMIN, response_model=Users, summary="All people")
def users(server: TheServer) -> Response:
    """Return all people with their roles."""
    return json_response(users_content(server))


@route(router, "POST", "/users", role=Role.ADMIN, status=201, response_model=User, summary="Add a person")
def add(server: TheServer, person: Caller, body: NewUser) -> Response:
    """Add a person. Their name is that of the analyst in every ledger."""
    people.add(server.store, body.name, body.role, body.password)
    audit.note(server.store, person.name, "add person", detail=f"{body.name}: {body.role}")
    return json_response(_one(server, body.name), 201)


@route(
    router,
    "PUT",
    "/users/{name}",
    role=Role.ADMIN,
    problems_of=(404,),
    response_model=User,
    summary="Change a person",
)
def change(server: TheServer, person: Caller, name: PersonName, body: ChangedUser) -> Response:
    """Change a role or a password. The person's sessions end; with a new password, their tokens end too."""
    _require(server, name)
    people.change(server.store, name, role=body.role, password=body.password)
    server.identities.forget()
    what = " and ".join(filter(None, [body.role, "password" if body.password else None]))
    audit.note(server.store, person.name, "change person", detail=f"{name}: {what}")
    return json_response(_one(server, name))


@route(
    router,
    "DELETE",
    "/users/{name}",
    role=Role.ADMIN,
    status=204,
    problems_of=(404,),
    response_class=Response,
    summary="Remove a person",
)
def remove(server: TheServer, person: Caller, name: PersonName) -> Response:
    """Remove a person with their sessions and tokens. Their charges stay in the ledgers."""
    _require(server, name)
    people.remove(server.store, name)
    server.identities.forget()
    audit.note(server.store, person.name, "remove person", detail=name)
    return Response(status_code=204)


@route(
    router,
    "POST",
    "/users/{name}/tokens",
    role=Role.ADMIN,
    status=201,
    problems_of=(404, 409),
    response_model=MadeToken,
    summary="Make a token for a person",
)
def make_token(server: TheServer, person: Caller, name: PersonName, body: NewToken) -> Response:
    """Make a token for a person. Its secret is shown once."""
    _require(server, name)
    facts, secret = credentials.make_token(server.store, name, body.label, body.days)
    audit.note(server.store, person.name, "make token", detail=f"{name}: {facts.id}")
    return json_response({**asdict(facts), "token": secret}, 201)


def _require(server: Server, name: str) -> None:
    if not people.is_name(name) or people.role_and_password(server.store, name) is None:
        raise Problem(404, "no-person", "There is no such person.", hint="GET /api/v1/users lists all.")
