"""Every input of the corpora keeps the rule: interesting inputs, and every input that once broke it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuzz import web_target
from fuzz.targets import TARGETS, check_of, corpus


@pytest.fixture(autouse=True, scope="module")
def _site() -> Iterator[None]:
    yield
    web_target.close()


@pytest.mark.parametrize("target", TARGETS)
def test_every_input_of_the_corpus_keeps_the_rule(target: str) -> None:
    check, inputs = check_of(target), corpus(target)
    assert len(inputs) > 30
    for name, data in inputs.items():
        try:
            check(data)
        except Exception as error:
            error.add_note(f"The input is tests/fuzz/corpus/{target}/{name}.")
            raise
