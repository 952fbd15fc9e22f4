"""The ledger: every charge, each analyst's share, limits of analysts, and the check of the chain."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Response
from pydantic import ConfigDict, Field

from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import (
    Amounts,
    DatasetName,
    Most,
    NumberCursor,
    Page,
    PersonName,
    Reply,
    TheServer,
    json_response,
)
from tacit.web.services import ledgers
from tacit.web.services.asked import Amount, Body

router = guarded("ledger")


class Charge(Reply):
    """A charge: who asked what and when, and its cost."""

    number: int
    """The number of the charge."""
    time: str
    """When, as the ledger records it."""
    analyst: str
    """Who asked; empty for nobody."""
    question: str
    """The query or the note."""
    outcome: str
    """"pending", "answered", "failed", or "charged" for a release outside SQL."""
    cost: Amounts
    """What it cost, rounded up."""
    spent: Amounts
    """The total after it, rounded up."""


class LedgerPage(Page):
    """The state of a ledger, and a page of its charges, newest first."""

    budget: Amounts
    """The budget of all."""
    left: Amounts
    """What is left of it."""
    head: str
    """The link of the last record in the chain."""
    charges: list[Charge]
    """The charges of this page."""


class Overview(Reply):
    """Every ledger: what was spent and what is left."""

    ledgers: list[dict[str, Any]]
    """Each dataset with its budget, what was spent and what is left."""


class Shares(Reply):
    """The spending of each analyst, and the budget left for each."""

    analysts: list[dict[str, Any]]
    """Each analyst with what was spent, the limit, and what is left."""


class Report(Reply):
    """The result of a check of the chain and all totals."""

    holds: bool
    """Whether the chain and all totals are right."""
    records: int
    """The number of records."""
    wrong: int | None
    """The first record that is wrong; null if none is."""
    why: str
    """What is wrong, in a sentence."""


class Receipts(Body):
    """Receipts to look for in the ledger."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"receipts": []}]})

    receipts: Annotated[list[dict[str, Any]], Field(max_length=100, default_factory=list)]
    """The receipts of answers, whose charges the ledger must contain."""


class Limit(Body):
    """The budget of one analyst, under the budget of all; 0 refuses every question."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"epsilon": 0.5}]})

    epsilon: Amount | None = None
    """ε of the limit, for a budget in ε."""
    rho: Amount | None = None
    """ρ of the limit, for a budget in zCDP."""
    delta: Amount | None = None
    """δ of the limit."""


@route(router, "GET", "/ledger", role=Role.STEWARD, response_model=Overview, summary="All ledgers")
def overview(server: TheServer) -> Response:
    """Return what was spent and what is left of each dataset."""
    return json_response({"ledgers": ledgers.overview(server)})


@route(
    router,
    "GET",
    "/datasets/{dataset}/ledger",
    role=Role.STEWARD,
    problems_of=(404,),
    response_model=LedgerPage,
    summary="The charges of a dataset",
)
def charges(server: TheServer, dataset: DatasetName, limit: Most = 50, cursor: NumberCursor = None) -> Response:
    """Return every charge of everybody, newest first, with the exact cost of each rounded up."""
    return json_response(ledgers.charges(server, dataset, None if cursor is None else int(cursor), limit))


@route(
    router,
    "GET",
    "/datasets/{dataset}/ledger/analysts",
    role=Role.STEWARD,
    problems_of=(404,),
    response_model=Shares,
    summary="What each analyst spent",
)
def analysts(server: TheServer, dataset: DatasetName) -> Response:
    """Return what each analyst has spent, their limit, and what is left for them."""
    return json_response({"analysts": ledgers.shares(server, dataset)})


@route(
    router,
    "POST",
    "/datasets/{dataset}/ledger/verify",
    role=Role.STEWARD,
    problems_of=(404,),
    response_model=Report,
    summary="Verify a ledger",
)
def verify(server: TheServer, dataset: DatasetName, body: Receipts) -> Response:
    """Compute all totals again, check that no record was changed, and find the charges of receipts."""
    return json_response(ledgers.check(server, dataset, body.receipts))


@route(
    router,
    "PUT",
    "/datasets/{dataset}/ledger/analysts/{name}",
    role=Role.ADMIN,
    problems_of=(404, 409),
    response_model=Shares,
    summary="Limit an analyst",
)
def limit_analyst(server: TheServer, person: Caller, dataset: DatasetName, name: PersonName, body: Limit) -> Response:
    """Set the limit of one analyst, under the budget of all."""
    return json_response({"analysts": ledgers.set_limit(server, person, dataset, name, body.model_dump())})


@route(
    router,
    "DELETE",
    "/datasets/{dataset}/ledger/analysts/{name}",
    role=Role.ADMIN,
    problems_of=(404, 409),
    response_model=Shares,
    summary="End the limit of an analyst",
)
def unlimit_analyst(server: TheServer, person: Caller, dataset: DatasetName, name: PersonName) -> Response:
    """Remove the limit of one analyst; the budget of all still holds."""
    return json_response({"analysts": ledgers.set_limit(server, person, dataset, name, None)})
