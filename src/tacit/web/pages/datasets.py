"""Datasets: their tables, the budget left for the person, and the questions that are possible."""

from __future__ import annotations

from fastapi import Request, Response

from tacit.web.access import Caller, Role, route
from tacit.web.api.common import DatasetName, TheServer
from tacit.web.pages import same
from tacit.web.pages.page import page_router, render
from tacit.web.pages.simple import groups_of, measures_of
from tacit.web.services import catalog

router = page_router()


@route(router, "GET", "/", role=Role.ANALYST, response_class=Response)
def home(request: Request, server: TheServer, person: Caller) -> Response:
    """Show all datasets."""
    return render(request, "datasets.html", {"datasets": catalog.datasets(server, person)})


@route(router, "GET", "/datasets/{dataset}", role=Role.ANALYST, problems_of=(404,), response_class=Response)
def dataset(request: Request, server: TheServer, person: Caller, dataset: DatasetName) -> Response:
    """Show the tables of a dataset: units, limits, columns, bounds and keys."""
    content = catalog.dataset(server, person, dataset)
    tables = [
        {**table, "measures": len(measures_of(table)), "groups": [each["name"] for each in groups_of(table)]}
        for table in content["schema"]
    ]
    shown = {"dataset": content, "tables": tables, "same": same.of_dataset(request, content)}
    return render(request, "dataset.html", shown)
