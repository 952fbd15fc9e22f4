"""The rule finds what it should: each kind of broken rule, planted in a call or in a target, is noticed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import tacit
from fuzz import event_target, rule, sql_target, web_target
from fuzz.rule import BrokenRuleError, Refusal, check_resources, check_text, value_or_refusal
from fuzz.targets import check_of, corpus
from fuzz.test_generated import run
from tacit.engines.sql.engine import StatementEngine
from tacit.errors import InternalError, InvalidError
from tacit.web.services import catalog


def failing(error: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


def test_values_and_listed_errors_pass() -> None:
    assert value_or_refusal(lambda: 3) == 3
    refused = value_or_refusal(failing(InvalidError("Unknown column 'x'.", hint="Name a column.")))
    assert isinstance(refused, Refusal)


def test_another_error_passes_to_the_fuzzer() -> None:
    with pytest.raises(KeyError):
        value_or_refusal(failing(KeyError("x")))


@pytest.mark.parametrize(
    "error",
    [
        InternalError("a sum is wrong."),
        InvalidError("Traceback (most recent call last): x"),
        InvalidError(f"Cannot read {Path(tacit.__file__).parents[1] / 'x.py'}."),
        InvalidError("The value is <Plan object at 0x7f00>."),
        InvalidError("sqlglot cannot read it."),
        InvalidError("The value is Xq7."),
        InvalidError("x" * (rule.MOST_TEXT + 1)),
    ],
)
def test_a_text_that_breaks_the_rule_is_noticed(error: InvalidError) -> None:
    with pytest.raises(BrokenRuleError):
        value_or_refusal(failing(error), secrets=["Xq7"])


def test_a_message_may_repeat_the_input() -> None:
    check_text("Unknown column 'sqlglot'.", given="SELECT sqlglot")


def test_time_and_memory_are_bounded() -> None:
    check_resources(rule.MOST_SECONDS / 2, rule.MOST_MEMORY // 2)
    with pytest.raises(BrokenRuleError, match="processor time"):
        check_resources(rule.MOST_SECONDS + 1, 0)
    with pytest.raises(BrokenRuleError, match="memory"):
        check_resources(0, rule.MOST_MEMORY + 1)


def test_a_query_that_fails_on_a_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatementEngine, "measure", failing(InvalidError("It failed.")))
    with pytest.raises(BrokenRuleError, match="fails on a row"):
        sql_target.check(b"@SELECT count(*) FROM survey")


def test_an_unchecked_policy_of_a_ledger_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    event_target.check(corpus("event")["head-policy-null"])
    monkeypatch.setattr("tacit.ledger.schema.read_policy", lambda recorded: recorded)
    with pytest.raises(TypeError):
        event_target.check(corpus("event")["head-policy-null"])


def test_an_unchecked_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.query.results.answer_codec.check_keys", lambda *_: None)
    with pytest.raises(IndexError):
        event_target.check(corpus("event")["answer-without-key"])


def test_generated_policies_reach_the_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.query.policy.file.dotted_key", failing(KeyError("planted")))
    with pytest.raises((KeyError, BaseExceptionGroup)):
        run("policy", 25)


def test_a_server_error_and_a_leak_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    request = corpus("web")["datasets"]
    try:
        monkeypatch.setattr(catalog, "datasets", failing(KeyError("planted")))
        with pytest.raises(BrokenRuleError, match="500"):
            check_of("web")(request)
        monkeypatch.setattr(catalog, "datasets", lambda *_: [{"name": web_target.FILE_VALUE}])
        with pytest.raises(BrokenRuleError):
            check_of("web")(request)
    finally:
        web_target.close()
