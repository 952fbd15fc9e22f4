"""Parts that the routes share: the server, responses in JSON, and types of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from tacit.safe_text import as_json
from tacit.web.server import Server


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


TheServer = Annotated[Server, Depends(_server)]
DatasetName = Annotated[str, Path(max_length=100, description="The name of a dataset.", examples=["survey"])]
QuestionId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$", description="The id of a question.")]
PersonName = Annotated[str, Path(max_length=64, description="The name of a person.", examples=["ann"])]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,100}$",
        description="A name of this request that you choose. The same key is charged once, and shows the same answer.",
    ),
]
Most = Annotated[int, Query(ge=1, le=200, description="The most lines of one page.")]
QuestionCursor = Annotated[
    str | None, Query(pattern=r"^[0-9]{1,15}-[0-9a-f]{32}$", description="`next` of the page before.")
]
NumberCursor = Annotated[str | None, Query(pattern=r"^[0-9]{1,15}$", description="`next` of the page before.")]
DatasetFilter = Annotated[str | None, Query(max_length=100, description="Only of this dataset.")]
Confidence = Annotated[float | None, Query(gt=0, lt=1, description="The confidence of the intervals.")]


class Reply(BaseModel):
    """A response; more fields may be added later."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)


Amounts = dict[str, float]
"""A guarantee or an amount by the names of its numbers: epsilon, rho, delta."""


class Page(Reply):
    """A page of a list: its items, and the cursor of the next page if there is one."""

    next: str | None
    """The cursor of the next page; null on the last one."""


def json_response(content: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response in JSON; infinity and NaN are null."""
    shown = dict(headers or {})
    return Response(as_json(dict(content)), status, headers=shown, media_type="application/json")


def outcome_response(status: int, content: Mapping[str, Any]) -> Response:
    """Return the response of a question, which is a problem or an answer."""
    media = "application/json" if status < 400 else "application/problem+json"  # noqa: PLR2004 - errors
    return Response(as_json(dict(content)), status, media_type=media)
