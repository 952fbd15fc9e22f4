"""Datasets: their tables, their columns, and the budget left."""

from __future__ import annotations

from fastapi import Response

from tacit.web.access import Caller, Role, route
from tacit.web.access import router as guarded
from tacit.web.api.common import Amounts, DatasetName, Reply, TheServer, json_response
from tacit.web.services import catalog

router = guarded("datasets")


class Dataset(Reply):
    """A dataset: its tables, its budget, and what is left for the caller."""

    name: str
    tables: list[str]
    budget: Amounts
    left: Amounts
    left_in_all: Amounts
    spent: Amounts
    limit: Amounts | None
    currency: str


class DatasetList(Reply):
    """All datasets."""

    datasets: list[Dataset]


@route(router, "GET", "/datasets", role=Role.ANALYST, response_model=DatasetList, summary="All datasets")
def datasets(server: TheServer, person: Caller) -> Response:
    """Return what there is, and what is left for the caller."""
    return json_response({"datasets": catalog.datasets(server, person)})


@route(
    router,
    "GET",
    "/datasets/{dataset}",
    role=Role.ANALYST,
    problems_of=(404,),
    response_model=Dataset,
    summary="One dataset",
)
def dataset(server: TheServer, person: Caller, dataset: DatasetName) -> Response:
    """Return the tables of a dataset with their columns, units, limits, bounds and keys."""
    return json_response(catalog.dataset(server, person, dataset))
