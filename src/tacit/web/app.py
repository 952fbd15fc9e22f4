"""`create_app`: the routes, and what is opened and closed with them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from tacit.version import VERSION
from tacit.web import problems
from tacit.web.access import check_routes
from tacit.web.api import ROUTERS
from tacit.web.log import start_log
from tacit.web.pages import PAGES
from tacit.web.pages.page import problem_page, wants_page
from tacit.web.security import SecurityMiddleware
from tacit.web.server import Server, open_server
from tacit.web.settings import ServerSettings, read_settings

_DESCRIPTION = (
    "Ask private data questions with differential privacy. Sign in with `Authorization: Bearer TOKEN`. Errors are "
    "application/problem+json. Charges take an Idempotency-Key. Times are in seconds since 1970."
)


def create_app(settings: ServerSettings, opened: Server | None = None) -> FastAPI:
    """Return the application. It opens the datasets when it starts, and closes them when it stops.

    Args:
        settings: the settings.
        opened: what was opened for it before, if it was.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        server = open_server(settings) if opened is None else opened
        app.state.server = server
        restore = _note_stop(server)
        try:
            yield
        finally:
            restore()
            server.close()

    app = FastAPI(
        title="tacit",
        version=VERSION,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    for router in (*PAGES, *ROUTERS):
        app.router.routes.extend(router.routes)
    app.add_middleware(SecurityMiddleware, settings=settings)
    app.add_exception_handler(HTTPException, _not_found)
    app.add_exception_handler(Exception, _not_found)
    _describe(app)
    check_routes(app)
    return app


def worker() -> FastAPI:
    """Return the application of a worker, whose settings are in its environment."""
    settings = read_settings()
    start_log(settings.log_level, settings.log_format)
    return create_app(settings)


async def _not_found(request: Request, error: Exception) -> Response:
    """Return the problem of a request without a route."""
    server: Server = request.app.state.server
    response = problems.response_of(error, server.clean)
    server.metrics.note(_method(request.method), "(no route)", response.status_code, 0.0, None)
    return problem_page(request, response) if wants_page(request) else response


def _method(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"


def _describe(app: FastAPI) -> None:
    """Add the schema of problems and the ways to sign in to the description of the API."""
    original = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            content = original()
            parts = content.setdefault("components", {})
            parts.setdefault("schemas", {})["Problem"] = dict(problems.SCHEMA)
            parts["securitySchemes"] = {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "__Host-tacit"},
            }
            app.openapi_schema = content
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _note_stop(server: Server) -> Callable[[], None]:
    """Let SIGTERM and SIGINT end streams of events at once; the server's own handler runs too."""
    if threading.current_thread() is not threading.main_thread() or os.name == "nt":
        return lambda: None
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def stop(number: int, frame: FrameType | None) -> None:
        server.workshop.stopping.set()
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in before:
        signal.signal(number, stop)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore
