"""Generated inputs keep the rule: SQL from a grammar, policies from their keys, and changed inputs of the corpora."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from fuzz import web_target
from fuzz.strategies import STRATEGIES
from fuzz.targets import TARGETS, check_of

EXAMPLES = int(os.environ.get("TACIT_TEST_EXAMPLES", "1"))


@pytest.fixture(autouse=True, scope="module")
def _site() -> Iterator[None]:
    yield
    web_target.close()


def run(target: str, examples: int) -> None:
    check = check_of(target)

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STRATEGIES[target])
    def keeps_the_rule(data: bytes) -> None:
        check(data)

    keeps_the_rule()


@pytest.mark.parametrize("target", TARGETS)
def test_generated_inputs_keep_the_rule(target: str) -> None:
    run(target, 25 * EXAMPLES)


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_many_generated_inputs_keep_the_rule(target: str) -> None:
    run(target, 3000 * EXAMPLES)
