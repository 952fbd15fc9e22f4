"""Policies: show, check and save."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Response
from pydantic import ConfigDict, Field, StrictBool, StrictStr

from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import DatasetName, Reply, TheServer, json_response
from tacit.web.services import policies
from tacit.web.services.asked import Body

router = guarded("policies")
_Policy = Annotated[StrictStr, Field(max_length=500_000)]


class Policy(Reply):
    """The text of a policy file, and its version."""

    dataset: str
    """The name of the dataset."""
    text: str
    """The text of the file, in TOML."""
    version: str
    """The SHA-256 of the text."""


class Draft(Body):
    """A draft of a policy."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"text": "budget = { epsilon = 1.0 }\n"}]}
    )

    text: _Policy
    """The draft, in TOML."""


class Comparison(Reply):
    """The mistakes of a draft, its difference from the file, and what it changes in the promise."""

    valid: bool
    """Whether the draft has no mistakes."""
    mistakes: list[dict[str, Any]]
    """The mistakes, each with its line and its place."""
    diff: str
    """The difference from the file, line by line."""
    changes: list[dict[str, Any]]
    """What the draft changes in the promise."""


class Saved(Body):
    """A draft to save, the version that it started from, and whether changes of the promise are intended."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"text": "budget = { epsilon = 1.0 }\n", "version": "0" * 64, "accept": False}]
        },
    )

    text: _Policy
    """The new text, in TOML."""
    version: Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")]
    """The version of the text that the draft started from."""
    accept: StrictBool = False
    """Whether changes of the promise are intended."""


@route(
    router,
    "GET",
    "/datasets/{dataset}/policy",
    role=Role.STEWARD,
    problems_of=(404,),
    response_model=Policy,
    summary="A policy",
)
def show(server: TheServer, dataset: DatasetName) -> Response:
    """Return the text of the policy file, and its version, which a save must name."""
    return json_response(policies.show(server, dataset))


@route(
    router,
    "POST",
    "/datasets/{dataset}/policy/check",
    role=Role.STEWARD,
    problems_of=(404, 502),
    response_model=Comparison,
    summary="Check a draft",
)
def check(server: TheServer, dataset: DatasetName, body: Draft) -> Response:
    """Return the mistakes of a draft, its difference from the file, and what it changes in the promise."""
    return json_response(policies.compare(server, dataset, body.text))


@route(
    router,
    "PUT",
    "/datasets/{dataset}/policy",
    role=Role.STEWARD,
    problems_of=(404, 409, 502),
    response_model=Policy,
    summary="Save a policy",
)
def save(server: TheServer, person: Caller, dataset: DatasetName, body: Saved) -> Response:
    """Replace the policy. Another steward's save in between is the conflict 409."""
    return json_response(policies.save(server, person, dataset, body.model_dump()))
