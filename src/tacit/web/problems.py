"""Errors as application/problem+json (RFC 9457): a fact, a hint, and never a path, a trace or a value of the data.

| error | status |
|---|---|
| InvalidError, a body that does not fit its schema | 422 |
| RefusedError | 403 |
| BudgetError | 409 |
| SourceError | 502, with a constant text |
| LedgerError | 503, with a constant text |
| MissingPackageError | 501 |
| anything else | 500, with a constant text |

`kind` names the class of the error, so that `tc.connect` raises the same one. `unspent` is true if nothing was spent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from tacit.errors import (
    BudgetError,
    InternalError,
    InvalidError,
    LedgerError,
    MissingPackageError,
    RefusedError,
    SizeChangedError,
    SourceError,
    TacitError,
    TimeLimitError,
)
from tacit.query.policy.mistakes import PolicyError
from tacit.safe_text import as_json, visible
from tacit.web.roles import Role

MEDIA: Final = "application/problem+json"
LOGGER = logging.getLogger("tacit.web")

_LEDGER = "The ledger cannot be used now."
_LEDGER_HINT = "Try again in a minute. If it stays so, tell the administrator; the log of the server has the reason."
_SOURCE = "The data source is not available, and nothing was charged."
_CHARGED = "The data source failed after the query was charged, so the charge stands."
_SOURCE_HINT = "Tell the data steward."
_BUG = "The server failed. This is a bug."
_STATUSES: tuple[tuple[type[TacitError], int], ...] = (
    (MissingPackageError, 501),
    (InternalError, 500),
    (LedgerError, 503),
    (SourceError, 502),
    (BudgetError, 409),
    (RefusedError, 403),
    (InvalidError, 422),
)
_KINDS = ("BudgetError", "InternalError", "InvalidError", "LedgerError", "PolicyError", "RefusedError", "SourceError",
          "TimeLimitError", "SizeChangedError", "MissingPackageError", "TacitError")  # fmt: skip
_MOST_ERRORS = 20

Clean = Callable[[str], str]


class Problem(Exception):  # noqa: N818 - the standard's word
    """An error of the server itself: nobody signed in, a conflict, too many attempts."""

    def __init__(
        self,
        status: int,
        name: str,
        detail: str,
        *,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, str]] = (),
        unspent: bool = True,
    ) -> None:
        """Store the fields of the problem."""
        super().__init__(detail)
        self.status, self.name, self.detail, self.hint = status, name, detail, hint
        self.headers, self.errors, self.unspent = dict(headers or {}), errors, unspent


def content_of(error: BaseException, clean: Clean) -> tuple[int, dict[str, object], dict[str, str]]:
    """Return the status, the content and the headers of an error; `clean` removes paths from its text."""
    match error:
        case Problem():
            content = _content(
                error.status,
                name=error.name,
                detail=error.detail,
                hint=error.hint,
                unspent=error.unspent,
                errors=error.errors,
            )
            return error.status, content, error.headers
        case RequestValidationError():
            return 422, _content(422, name="invalid", detail=_SHAPE, hint=None, errors=_shape_errors(error)), {}
        case HTTPException():
            detail = _HTTP.get(error.status_code, HTTPStatus(error.status_code).phrase + ".")
            headers = dict(error.headers or {})
            return error.status_code, _content(error.status_code, name="http", detail=detail, hint=None), headers
        case TacitError():
            return _tacit(error, clean)
    LOGGER.error("error class=%s", type(error).__name__)
    LOGGER.debug("the trace of that error", exc_info=error)
    return 500, _content(500, name="bug", detail=_BUG, hint="Please report it.", unspent=False), {}


_SHAPE = "The request does not have the shape that the API describes."
_HTTP = {
    400: "The body could not be read.",
    404: "There is nothing at this address.",
    405: "This address does not have this method.",
    413: "The body is too large.",
}


def _tacit(error: TacitError, clean: Clean) -> tuple[int, dict[str, object], dict[str, str]]:
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    kind = next(each.__name__ for each in type(error).__mro__ if each.__name__ in _KINDS)
    detail, hint, headers = clean(error.message), None if error.hint is None else clean(error.hint), {}
    if isinstance(error, LedgerError):
        LOGGER.error("the ledger failed class=%s reason=%s", type(error).__name__, visible(error.message))
        detail, hint, headers = _LEDGER, _LEDGER_HINT, {"Retry-After": "60"}
    elif isinstance(error, SourceError) and not isinstance(error, (TimeLimitError, SizeChangedError)):
        LOGGER.error("a source failed class=%s unspent=%s", type(error).__name__, error.unspent)
        detail, hint = _SOURCE if error.unspent else _CHARGED, _SOURCE_HINT
    elif isinstance(error, InternalError):
        LOGGER.error("internal error class=%s", type(error).__name__)
        detail, hint = _BUG, "Please report it."
    name = _NAMES.get(kind, "error")
    unspent = error.unspent
    content = _content(status, name=name, detail=detail, hint=hint, unspent=unspent, errors=_mistakes(error), kind=kind)
    return status, content, headers


_NAMES = {
    "BudgetError": "budget",
    "RefusedError": "refused",
    "InvalidError": "invalid",
    "PolicyError": "policy",
    "LedgerError": "ledger",
    "SourceError": "source",
    "TimeLimitError": "time-limit",
    "SizeChangedError": "size-changed",
    "MissingPackageError": "missing-package",
    "InternalError": "bug",
}


def _content(
    status: int,
    *,
    name: object,
    detail: object,
    hint: object,
    errors: Sequence[Mapping[str, str]] = (),
    kind: str = "",
    unspent: object = True,
) -> dict[str, object]:
    more = {"hint": hint, "errors": list(errors) or None, "kind": kind or None}
    return {
        "type": f"urn:tacit:{name}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "unspent": bool(unspent),
        **{key: value for key, value in more.items() if value is not None},
    }


def _shape_errors(error: RequestValidationError) -> list[dict[str, str]]:
    """Return the fields that are wrong, and why. What was sent is not repeated."""
    return [
        {"field": visible(".".join(map(str, each["loc"])))[:200], "message": visible(str(each["msg"]))[:200]}
        for each in error.errors()[:_MOST_ERRORS]
    ]


def _mistakes(error: TacitError) -> list[dict[str, str]]:
    if isinstance(error, PolicyError):
        return [{"field": each.where, "message": visible(each.message), "line": str(each.line or "")}
                for each in error.mistakes]  # fmt: skip
    return [{"field": error.argument, "message": ""}] if isinstance(error, InvalidError) and error.argument else []


def response_of(error: BaseException, clean: Clean) -> Response:
    """Return the response of an error."""
    status, content, headers = content_of(error, clean)
    return Response(as_json(content), status, headers={**headers, "Cache-Control": "no-store"}, media_type=MEDIA)


# --- documentation ----------------------------------------------------------------------------------------------------

SCHEMA: Mapping[str, Any] = {
    "title": "Problem",
    "description": "An error, as application/problem+json.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "unspent"],
    "properties": {
        "type": {"type": "string", "description": "The kind of the problem.", "examples": ["urn:tacit:budget"]},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "description": "The status of the response."},
        "detail": {"type": "string", "description": "What happened."},
        "hint": {"type": "string", "description": "What to do."},
        "unspent": {"type": "boolean", "description": "Whether nothing was spent."},
        "kind": {"type": "string", "description": "The class of the error in Python."},
        "errors": {
            "type": "array",
            "description": "The fields or lines that are wrong.",
            "items": {
                "type": "object",
                "properties": {
                    "field": {"type": "string"},
                    "message": {"type": "string"},
                    "line": {"type": "string"},
                },
            },
        },
    },
}
"""The schema of a problem."""

_CONTENT = {"content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def documented(role: Role, method: str, more: Sequence[int] = ()) -> dict[int | str, dict[str, Any]]:
    """Return the problems that a route may answer with, for OpenAPI."""
    statuses = {400, 422, 500, 503, *more}
    statuses |= {401, 403} if role is not Role.PUBLIC else set()
    statuses |= {413} if method in ("POST", "PUT") else set()
    return {status: {"description": HTTPStatus(status).phrase, **_CONTENT} for status in sorted(statuses)}
