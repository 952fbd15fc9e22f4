"""The whole API against its own description, by schemathesis: no 5xx, no status and no shape that is not described."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tacit.web.services import catalog
from web.conftest import Site

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = int(os.environ.get("TACIT_TEST_EXAMPLES", "1"))
UNTESTED = {
    ("DELETE", "/api/v1/users/{name}"),
    ("DELETE", "/api/v1/session"),
    ("GET", "/api/v1/jobs/{question}/events"),
}
"""They would remove the callers, or last 25 s; other tests send them."""


def fuzz(site: Site, name: str, examples: int) -> Counter[tuple[str, int]]:
    """Send generated requests to every route as one person, check each response, and count them."""
    description = site.request("GET", "/openapi.json", None).json()
    sent: Counter[tuple[str, int]] = Counter()
    operations: Any = schemathesis.openapi.from_dict(description).get_all_operations()
    for result in operations:
        operation = result.ok()
        if (operation.method.upper(), operation.path) not in UNTESTED:
            _fuzz_one(site, name, operation, examples, sent)
    return sent


def _fuzz_one(site: Site, name: str, operation: Any, examples: int, sent: Counter[tuple[str, int]]) -> None:  # noqa: ANN401 - schemathesis's own
    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:  # noqa: ANN401 - as above
        given_headers = {"Authorization": f"Bearer {site.tokens[name]}"}
        request = case.as_transport_kwargs(base_url="http://tacit.test", headers=given_headers)
        request.pop("cookies", None)
        if "data" in request:
            request["content"] = request.pop("data")
        response = site.client.request(**request)
        sent[operation.path, response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    check()


@pytest.mark.parametrize("name", ["ann", "ada"])
def test_the_api_does_what_its_description_says(site: Site, name: str) -> None:
    sent = fuzz(site, name, 5 * EXAMPLES)
    statuses = Counter(status for (_, status), count in sent.items() for _ in range(count))
    assert sum(statuses.values()) > 100
    assert statuses[200] > 5
    assert statuses[422] > 5, "some requests that do not fit the description, so that its problems are checked"


@pytest.mark.long
@pytest.mark.parametrize("name", ["ann", "sue", "ada"])
def test_the_api_does_what_its_description_says_in_long(site: Site, name: str) -> None:
    fuzz(site, name, 200 * EXAMPLES)


def test_a_response_of_another_shape_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "datasets", lambda *_: [{"name": 3}])
    with pytest.raises(BaseExceptionGroup, match="violates schema"):
        fuzz(site, "ada", 2)


def test_the_description_has_examples_that_work(site: Site) -> None:
    content = site.request("GET", "/openapi.json", None).json()
    bodies = {name: each["examples"] for name, each in content["components"]["schemas"].items() if "examples" in each}
    assert {"Asked", "AskedLimits", "AskedBounds", "NewJob", "SignIn", "NewUser", "NewToken"} <= set(bodies)
    for example in bodies["Asked"]:
        assert site.post("/datasets/survey/plans", example).status_code == 200
    assert all(each["summary"] for path in content["paths"].values() for each in path.values())
