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
    """The name of the dataset."""
    tables: list[str]
    """The names of its tables."""
    budget: Amounts
    """The budget of all."""
    left: Amounts
    """What is left for the caller."""
    left_in_all: Amounts
    """What is left of the budget of all."""
    spent: Amounts
    """The total that all analysts have spent."""
    limit: Amounts | None
    """The limit of the caller; null without one."""
    currency: str
    """The class of the budget, such as PureDP."""


class DatasetList(Reply):
    """All datasets."""

    datasets: list[Dataset]
    """The datasets."""


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
