"""The check of receipts: what it accepts, what it rejects, and that it shares nothing with pricing."""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import receipts_seen
import tacit as tc
from receipt_examples import APPROX, BOX, BY_TOWN, examples, people
from receipt_mutations import changed, leaves, mutations
from tacit.auditing import receipts
from tacit.auditing.receipts import verify_receipt

FOLDER = Path(receipts.__file__).parent
NAMES = (
    *("count", "count, change one", "sum, change one", "several", "gaussian", "small gaussian", "zcdp", "found groups"),
    *("median", "median in zcdp", "mode", "public size", "automatic reach", "automatic bounds", "cut", "margins"),
    *("limits", "marginals", "marginals, change one", "laplace marginals", "charge", "charge in zcdp", "declared"),
    *("computed", "synthetic rows", "classifier"),
)


def rejects(receipt: str | Mapping[str, Any]) -> bool:
    try:
        return not verify_receipt(receipt).holds
    except tc.InvalidError:
        return True


def test_the_names_are_those_of_the_examples() -> None:
    assert set(NAMES) == set(examples())


@pytest.mark.parametrize("name", NAMES)
def test_it_accepts_each_kind_and_rejects_every_mutation(name: str) -> None:
    receipt = examples()[name]
    check = verify_receipt(receipt)
    assert check.holds
    assert check.checked
    accepted = [(kind, path) for kind, path, mutated in mutations(receipt) if not rejects(mutated)]
    assert accepted == []


def test_there_are_far_more_than_200_mutations_of_many_classes() -> None:
    found = Counter(kind for name in NAMES for kind, _, _ in mutations(examples()[name]))
    assert found.total() > 3_500
    assert len(found) > 60


def test_the_promise_is_recomputed_not_compared() -> None:
    """A forged receipt agrees with itself: half the scale in the law, in its event and in the charge."""
    receipt = json.loads(json.dumps(examples()["count"]))
    (part,) = receipt["mechanisms"]
    event = json.loads(part["event"])
    part["scale"] = event["scale"] = str(Fraction(event["scale"]) / 2)
    part["event"] = json.dumps(event)
    receipt["privacy"]["charged"] = [part["event"]]
    assert verify_receipt(receipt).problems == (
        "the receipt.privacy: the charge costs ε = 1, but the promise is ε = 0.5",
    )


@pytest.mark.parametrize(
    ("name", "field", "value", "problem"),
    [
        ("count", "max_rows", 9, "reach_in_one_group is below 9"),
        ("several", "neighbours", "change one", "is below"),
        ("several", "reach", 4, "is below"),
        ("found groups", "max_groups", 3, "groups_a_unit_can_reach is not 3"),
        ("public size", "neighbours", "add/remove", "change one"),
    ],
)
def test_a_limit_that_lets_a_unit_add_more_is_found(name: str, field: str, value: object, problem: str) -> None:
    check = verify_receipt(changed(examples()[name], ("privacy", field), value))
    assert not check.holds
    assert problem in check.problems[0]


def test_more_noise_than_needed_is_accepted() -> None:
    """The promise stays true: a scale that is larger in the law and in its event, a larger promise."""
    receipt = json.loads(json.dumps(examples()["count"]))
    (part,) = receipt["mechanisms"]
    event = json.loads(part["event"])
    part["scale"] = event["scale"] = str(Fraction(event["scale"]) * 2)
    part["event"] = json.dumps(event)
    assert verify_receipt(receipt).holds
    receipt["privacy"]["promise"]["epsilon"] = 7
    assert verify_receipt(receipt).holds


@pytest.mark.parametrize("name", ["gaussian", "small gaussian"])
def test_gaussian_noise_has_little_room(name: str) -> None:
    """The δ of the noise is proved, so one percent less noise than the engine chose is rejected after a few percent."""
    receipt = json.loads(json.dumps(examples()[name]))
    assert any(part["law"] == "discrete gaussian" for part in receipt["mechanisms"])
    for part in receipt["mechanisms"]:
        event = json.loads(part["event"])
        part["variance"] = event["variance"] = str(Fraction(event["variance"]) * Fraction(92, 100))
        part["event"] = json.dumps(event)
    assert "no proof of δ" in verify_receipt(receipt).problems[0]


def test_a_declared_plan_that_is_charged_one_percent_less_is_rejected() -> None:
    receipt = json.loads(json.dumps(examples()["declared"]))
    plan = receipt["declared_plan"]
    event = json.loads(plan["charged"][0])
    assert event["event"] == "ApproxRelease"
    event["epsilon"] = str(Fraction(event["epsilon"]) * Fraction(99, 100))
    plan["charged"] = [json.dumps(event)]
    assert "composition" in verify_receipt(receipt).problems[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("synthetic rows", "the noise inside the release"),
        ("classifier", "the noise inside the release"),
        ("charge", "that the release has the guarantee that was charged"),
        ("public size", "that the query reads all rows"),
        ("automatic reach", "that the draw of the reach has the stated range"),
        ("declared", "the errors under"),
        ("count", "that the program measured and drew what the receipt says"),
    ],
)
def test_what_a_receipt_cannot_show_is_listed(name: str, text: str) -> None:
    assert any(line.startswith(text) for line in verify_receipt(examples()[name]).unchecked)


def test_a_sampled_event_and_disjoint_queries_are_listed_as_not_checked() -> None:
    sampled = tc.events.PoissonSampled(rate=Fraction(1, 10), of=tc.events.PureRelease(epsilon=Fraction(1)))
    receipt = people().charge(sampled, note="a sample").receipt
    assert "the price of PoissonSampled in ε" in verify_receipt(receipt).unchecked
    db = people(unit=tc.ROW, reach=None)
    texts = ("SELECT count(*) FROM data WHERE age = 1", "SELECT count(*) FROM data WHERE age = 2")
    plan = tc.declare([db.plan(text, epsilon=0.5) for text in texts])
    (first, _) = plan.ask()
    assert any("disjoint rows" in line for line in verify_receipt(first.receipt).unchecked)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "null", "[1]", "3", '"text"', '{"a": 1}', '{"receipt": 3}', '{"promise": {"epsilon": 1}}'),
        *('{"mechanisms": NaN}', '{"mechanisms": Infinity}', '{"mechanisms": [], "mechanisms": []}'),
        "[" * 100_000,
        '{"mechanisms":' * 5_000,
        '{"events": ' + "9" * 1_000_000 + "}",
    ],
)
def test_what_is_not_a_receipt_is_an_error(text: str) -> None:
    with pytest.raises(tc.InvalidError, match="receipt"):
        verify_receipt(text)


def test_a_very_long_text_and_values_that_json_has_not_are_errors() -> None:
    with pytest.raises(tc.InvalidError, match="50 million characters"):
        verify_receipt(" " * 50_000_001)
    for value in (float("nan"), {1}, b"bytes"):
        with pytest.raises(tc.InvalidError, match="cannot be written as JSON"):
            verify_receipt({"mechanisms": value})


@pytest.mark.parametrize("number", ["1e999", "9" * 3_999, "1e-999", "-1", "0"])
@pytest.mark.parametrize("path", [("privacy", "reach"), ("privacy", "promise", "epsilon"), ("mechanisms", 0, "scale")])
def test_huge_and_tiny_numbers_end_in_an_answer(number: str, path: tuple[str | int, ...]) -> None:
    text = json.dumps(changed(examples()["several"], path, "PUT")).replace('"PUT"', number)
    larger = path[-1] == "epsilon" and number in ("1e999", "9" * 3_999)
    assert rejects(text) is not larger or "out of range" in verify_receipt(text).problems[0]


VALUES: list[object] = [
    *(
        "many",
        None,
        [],
        {},
        -1,
        0,
        1,
        10**30,
        10**3990,
        1e308,
        1e-308,
        0.5,
        True,
        "1/2",
        "1e300",
        [1],
        [1, 2],
        {"a": 1},
    ),
    *('{"epsilon":"1/2","event":"PureRelease","version":1}', '{"rho":"1","event":"ZCDPRelease","version":1}'),
    '{"delta":"1/2","epsilon":"1/2","event":"ApproxRelease","version":1}',
    '{"coordinates":1,"event":"DiscreteLaplaceNoise","l1":"1/3","scale":"10","version":1}',
    '{"coordinates":1,"event":"DiscreteGaussianNoise","l2_squared":1,"variance":"1/1000000","version":1}',
    '{"event":"GaussianNoise","l2":"1","sigma":"1","version":1}',
    '{"event":"PoissonSampled","of":{"epsilon":"1","event":"PureRelease","version":1},"rate":"1/2","version":1}',
]


@given(st.data())
def test_any_values_end_in_an_answer_or_in_an_error_of_tacit(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in NAMES if name != "declared"]))
    receipt = examples()[name]
    for _ in range(data.draw(st.integers(1, 3))):
        paths = [path for path, _ in leaves(receipt) if path]
        receipt = changed(receipt, data.draw(st.sampled_from(paths)), data.draw(st.sampled_from(VALUES)))
    assert rejects(receipt) in (True, False)


def test_an_answer_in_json_holds_its_receipt() -> None:
    assert verify_receipt(json.dumps({"rows": [], "receipt": examples()["count"]})).holds


def test_the_check_is_small_and_imports_no_pricing() -> None:
    """It may use the events and errors of tacit, and its own modules; see also its number of lines of code."""
    lines = 0
    for file in FOLDER.glob("receipt*.py"):
        source = file.read_text(encoding="utf-8")
        tree = ast.parse(source)
        imported = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        names = {node.module for node in imported if isinstance(node, ast.ImportFrom)}
        names |= {each.name for node in imported if isinstance(node, ast.Import) for each in node.names}
        ours = {str(name) for name in names if str(name).startswith("tacit")}
        assert {name for name in ours if not name.startswith("tacit.auditing")} <= {
            *("tacit.errors", "tacit.guarantees", "tacit.guarantees.events")
        }
        assert not {"numpy", "scipy", "mpmath"} & names
        lines += _lines_of_code(source, tree)
    assert lines <= 765


def _lines_of_code(source: str, tree: ast.Module) -> int:
    """Return the number of lines that are neither blank, comments nor docstrings."""
    owners = [node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))]
    texts = [node.body[0] for node in owners if ast.get_docstring(node) is not None]
    silent = {line for text in texts for line in range(text.lineno, (text.end_lineno or 0) + 1)}
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type not in layout]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - silent)


def test_receipts_of_other_tests_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook of `receipts_seen` reports a receipt whose noise is too small."""
    receipts_seen.see(changed(examples()["count"], ("privacy", "promise", "epsilon"), 0.1))
    (problem,) = receipts_seen.problems()
    assert "the charge costs ε = 0.5" in problem
    monkeypatch.setattr("tacit.query.results.receipt._measure", lambda _: {})
    _ = people(**BOX).sql(BY_TOWN.format("count(*) AS n"), epsilon=0.51).receipt
    (problem,) = receipts_seen.problems()
    assert "there is no of of type str" in problem


def test_found_groups_with_gaussian_values_hold() -> None:
    found = people(APPROX, **BOX, keys=None)
    answer = found.sql(BY_TOWN.format("sum(age), sum(pay), avg(age)"), epsilon=0.2, delta=1e-3)
    assert verify_receipt(answer.receipt).holds
