"""Health, metrics, and the description of the API."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse

from tacit.errors import TacitError
from tacit.web.access import Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import Reply, TheServer, json_response
from tacit.web.problems import Problem
from tacit.web.server import Server

router = guarded("health", prefix="")


class Health(Reply):
    """The state of the server."""

    status: str
    """"ok" if the process runs, "ready" if the database and all ledgers can be read."""


@route(router, "GET", "/openapi.json", role=Role.PUBLIC, response_model=Reply, summary="The description of the API")
def openapi(request: Request) -> Response:
    """Return the description of the API in OpenAPI."""
    return json_response(request.app.openapi())


@route(router, "GET", "/healthz", role=Role.PUBLIC, response_model=Health, summary="Does it run")
def healthz() -> Response:
    """Return that the process runs. It touches nothing else."""
    return json_response({"status": "ok"})


@route(router, "GET", "/readyz", role=Role.PUBLIC, response_model=Health, summary="Is it ready")
def readyz(server: TheServer) -> Response:
    """Return whether the database and every ledger can be read."""
    _check_ready(server)
    return json_response({"status": "ready"})


def _check_ready(server: Server) -> None:
    """Raise the problem 503 if something cannot be read; its text does not say what."""
    try:
        if server.workshop.stopping.is_set():
            raise Problem(503, "stopping", "The server is stopping.")  # noqa: TRY301 - caught below
        with server.store.reading():
            pass
        for dataset in server.datasets.values():
            with dataset.use() as one:
                _ = one.ledger.head
    except (TacitError, Problem):
        raise Problem(503, "not-ready", "The server is not ready.", headers={"Retry-After": "5"}) from None


@route(router, "GET", "/metrics", role=Role.ADMIN, response_class=PlainTextResponse, summary="Metrics")
def metrics(server: TheServer) -> Response:
    """Return the counters of all workers and the budgets left, in Prometheus' text format."""
    return PlainTextResponse(
        server.metrics.text(server.datasets, server.workshop.busy), media_type="text/plain; version=0.0.4"
    )
