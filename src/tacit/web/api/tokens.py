"""API tokens of the caller."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import Path, Response
from pydantic import ConfigDict, Field, StrictInt, StrictStr

from tacit.web import audit, credentials
from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import Reply, TheServer, json_response
from tacit.web.problems import Problem
from tacit.web.services.asked import Body

router = guarded("tokens")
TokenId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="The id of a token.")]


class NewToken(Body):
    """A label and a lifetime."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"label": "notebook", "days": 30}]})

    label: Annotated[StrictStr, Field(max_length=100)] = ""
    """The purpose of the token."""
    days: Annotated[StrictInt, Field(ge=1, le=366)] = credentials.DAYS
    """The lifetime in days."""


class Token(Reply):
    """A token without its secret."""

    id: str
    """The id of the token, which is not its secret."""
    person: str
    """The name of the person."""
    label: str
    """The purpose of the token."""
    created: int
    """When it was made, in seconds since 1970."""
    expires: int
    """When it ends, in seconds since 1970."""


class MadeToken(Token):
    """A new token with its secret, which is shown once."""

    token: str
    """The secret, to be sent as `Authorization: Bearer …`."""


class Tokens(Reply):
    """The tokens of the caller."""

    tokens: list[Token]
    """The tokens."""


@route(router, "GET", "/tokens", role=Role.ANALYST, response_model=Tokens, summary="My tokens")
def tokens(server: TheServer, person: Caller) -> Response:
    """Return the caller's tokens, without their secrets."""
    return json_response({"tokens": [asdict(each) for each in credentials.tokens_of(server.store, person.name)]})


@route(
    router,
    "POST",
    "/tokens",
    role=Role.ANALYST,
    status=201,
    problems_of=(409,),
    response_model=MadeToken,
    summary="Make a token",
)
def make(server: TheServer, person: Caller, body: NewToken) -> Response:
    """Make a token with the caller's role. Its secret is shown once."""
    facts, secret = credentials.make_token(server.store, person.name, body.label, body.days)
    audit.note(server.store, person.name, "make token", detail=facts.id)
    return json_response({**asdict(facts), "token": secret}, 201)


@route(
    router,
    "DELETE",
    "/tokens/{token}",
    role=Role.ANALYST,
    status=204,
    problems_of=(404,),
    response_class=Response,
    summary="Remove a token",
)
def remove(server: TheServer, person: Caller, token: TokenId) -> Response:
    """Remove one of the caller's tokens. Other workers may take it for some seconds more."""
    if not credentials.remove_token(server.store, token, person.name):
        raise Problem(404, "no-token", "You have no such token.", hint="GET /api/v1/tokens lists yours.")
    server.identities.forget()
    audit.note(server.store, person.name, "remove token", detail=token)
    return Response(status_code=204)
