"""The client for browsers, run by node: the same bits make the same reports, and its reports estimate the truth."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import local_vectors
import tacit.local
from scripted import Scripted, seeded
from tacit import InvalidError
from tacit.local import (
    BLH,
    GRR,
    OLH,
    OUE,
    SUE,
    Hadamard,
    ProjectiveGeometry,
    Protocol,
    SubsetSelection,
    Warner,
    choose,
    protocol,
)
from tacit.local.base import _canonical
from tacit.local.choose import BROWSER
from tacit.local.parameters import ORACLES
from tacit.local.reports import NAMES
from tacit.local.response_law import inside

NODE = shutil.which("node")
with_node = pytest.mark.skipif(NODE is None, reason="there is no node here; see the Makefile for how to get it")
HERE = Path(__file__).parent
VECTORS = json.loads(local_vectors.FILE.read_text(encoding="utf-8"))
REPORTS = [report for case in VECTORS["cases"] for report in case["reports"]]
WORDS = ["tea", "coffee", "ünïcode ☕", "mate"]
COUNTS = [6000, 1000, 0, 3000]
# Standard errors. By Bernstein's inequality a sum of indicators with variance V ≥ 1,000 is further from its mean with
# probability at most 2·exp(-81/(2 + 6/√V)) < 1e-15; fewer than 100 are compared here.
FAR = 9.0


def ask(task: str, **request: object) -> Any:  # noqa: ANN401 - whatever the task answers
    """Ask node."""
    done = subprocess.run(  # noqa: S603 - our own script
        [str(NODE), str(HERE / "browser.mjs")],
        input=json.dumps({"task": task, **request}),
        text=True,
        encoding="utf-8",
        capture_output=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


def test_the_vectors_are_those_that_python_draws() -> None:
    assert local_vectors.FILE.read_text(encoding="utf-8") == local_vectors.text()


def test_python_reads_every_vector() -> None:
    for case in VECTORS["cases"]:
        total = protocol(case["parameters"]).aggregator()
        assert total.add_bytes(bytes.fromhex(report["message"]) for report in case["reports"]) == len(case["reports"])
        assert total.add_json_lines(report["line"] for report in case["reports"]) == len(case["reports"])
        assert total.dropped == 0


@with_node
def test_the_same_bits_make_the_same_reports_in_both_languages() -> None:
    answers = ask("vectors", cases=VECTORS["cases"])
    assert len(answers) == len(REPORTS)
    for answer, report in zip(answers, REPORTS, strict=True):
        assert answer == {"message": report["message"], "line": report["line"], "left": 0}


ALL: list[Protocol] = [
    *(make(domain=WORDS, epsilon=1) for make in ORACLES.values()),
    *(make(domain=30, epsilon=Fraction(5, 2)) for make in ORACLES.values()),
    Warner(p=0.75),
    Warner(epsilon=1, words=("yes", "no")),
    GRR(domain=WORDS, p=0.5),
    SUE(domain=WORDS, p=0.7),
    OUE(domain=WORDS, p=0.6, q=0.2),
    OUE(domain=WORDS, epsilon=1, p=0.3),
    BLH(domain=WORDS, p=Fraction(2, 3)),
    OLH(domain=WORDS, epsilon=1, buckets=7),
    OLH(domain=WORDS, p=0.5, buckets=3),
    SubsetSelection(domain=30, epsilon=1, size=2),
]


@with_node
def test_every_value_of_every_protocol_is_drawn_alike_from_shared_words() -> None:
    """60 reports of each protocol from words that Python used: node makes the same reports and needs as many words."""
    cases, expected = [], []
    for oracle in ALL:
        reports = []
        for number in range(60):
            place = number % oracle.domain_size
            bits = local_vectors.Recorded(Scripted(b"", seeded(number)))
            drawn = oracle._randomize(np.array([place]), bits)
            reports.append({"value": oracle.domain[place], "bits": bits.given.hex()})
            expected.append(drawn.to_bytes().hex())
        cases.append({"parameters": oracle.parameters(), "reports": reports})
    answers = ask("vectors", cases=cases)
    assert [answer["message"] for answer in answers] == expected
    assert {answer["left"] for answer in answers} == {0}


def test_the_browser_has_every_protocol_and_types_for_all_that_it_exports() -> None:
    folder = Path(tacit.local.__file__).parent / "browser"
    script = (folder / "tacit-local.js").read_text(encoding="utf-8")
    types = (folder / "tacit-local.d.ts").read_text(encoding="utf-8")
    codes = {name: int(code) for name, code in re.findall(r"^  (\w+): \{ code: (\d+),", script, re.MULTILINE)}
    assert codes == {name: code for code, name in NAMES.items()}
    assert set(codes) == {"Warner", *BROWSER} == set(re.findall(r'^  \| "(\w+)"', types, re.MULTILINE))
    exported = re.findall(r"^export (?:async )?function (\w+)", script, re.MULTILINE)
    assert exported == re.findall(r"^export function (\w+)", types, re.MULTILINE)
    assert json.loads((folder / "package.json").read_text(encoding="utf-8"))["types"] == "./tacit-local.d.ts"


@pytest.mark.parametrize("d", [2, 30, 1024, 70_000])
@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_what_is_chosen_for_browsers_is_in_the_client(d: int, epsilon: float) -> None:
    assert choose(domain_size=d, epsilon=epsilon, client="browser").protocol in BROWSER
    with pytest.raises(InvalidError, match="client"):
        choose(domain_size=d, epsilon=epsilon, client="fax")  # type: ignore[arg-type]


def far_off(oracle: Protocol, counts: list[int], drawn: object) -> bool:
    """Tell whether an estimate from node's reports is further from the counts than chance allows."""
    total = oracle.aggregator()
    lines = drawn if isinstance(drawn, str) else None
    if lines is None:
        assert isinstance(drawn, list)
        total.add_bytes(base64.b64decode(message) for message in drawn)
    else:
        total.add_json_lines(lines)
    assert (total.n, total.dropped) == (sum(COUNTS), 0)
    std = np.array([oracle.variance(n=total.n, frequency=count / total.n) ** 0.5 for count in counts])
    return bool((abs(total.estimate().counts - counts) > FAR * std).any())


@with_node
@pytest.mark.parametrize("form", ["line", "report"])
@pytest.mark.parametrize(
    "oracle",
    [
        Warner(p=0.75, words=("yes", "no")),
        OLH(domain=WORDS, epsilon=2),
        Hadamard(domain=WORDS, epsilon=1),
        SubsetSelection(domain=WORDS, epsilon=1),
        ProjectiveGeometry(domain=WORDS, epsilon=1),
    ],
    ids=lambda oracle: type(oracle).__name__,
)
def test_what_node_draws_estimates_the_truth(oracle: Protocol, form: str) -> None:
    counts = [7000, 3000] if isinstance(oracle, Warner) else COUNTS
    drawn = ask("draw", parameters=oracle.parameters(), counts=counts, form=form)
    assert not far_off(oracle, counts, drawn)
    assert far_off(oracle, counts[::-1], drawn)  # the check has power


@with_node
def test_a_large_domain_is_drawn_in_pieces() -> None:
    """More bits than the browser gives at once; every bit of OUE is a separate coin."""
    oracle = OUE(domain=20_001, epsilon=1)
    total = oracle.aggregator()
    messages = ask("draw", parameters=oracle.parameters(), counts=[0] * 20_000 + [20], form="report")
    assert total.add_bytes(base64.b64decode(message) for message in messages) == 20
    ones = int(total._cells.sum())
    mean, std = 20 * (20_000 * oracle.q + 0.5), (20 * 20_001 * oracle.q * (1 - oracle.q)) ** 0.5
    assert abs(ones - mean) < FAR * std


def changed(text: str, **fields: object) -> str:
    return json.dumps({**json.loads(text), **fields}, sort_keys=True, separators=(",", ":"))


def nudged(oracle: Protocol, field: str, shift: int) -> str:
    """Return parameters with one chance moved by so many 2^-64, under a digest that is right for them."""
    parts = json.loads(oracle.parameters())
    parts[field] = str(int(parts[field]) + shift)
    return signed(parts)


def signed(parts: dict[str, object]) -> str:
    """Return parameters with the digest that is right for them, as a dishonest server would."""
    bare = {key: value for key, value in parts.items() if key != "digest"}
    digest = hashlib.sha256(_canonical(bare).encode()).digest()[:16].hex()
    return _canonical({**bare, "digest": digest})


@with_node
def test_parameters_that_claim_a_smaller_epsilon_than_they_draw_with_are_refused() -> None:
    """The most that is allowed passes, and one 2^-64 more does not: the bound is exact."""
    cases: list[tuple[Protocol, str, int]]
    cases = [(GRR(domain=d, epsilon=e), "keep", 1) for d in (2, 5, 1000) for e in (0.01, 1, 7)]
    cases += [(OLH(domain=100, epsilon=e), "keep", 1) for e in (0.5, 1, 5)]
    cases += [(OUE(domain=100, epsilon=e), "raise", -1) for e in (0.5, 1, 5)]
    cases += [(Warner(epsilon=1), "keep", 1), (Warner(epsilon=1, words=("yes", "no")), "keep", 1)]
    cases += [(make(domain=100, epsilon=e), "keep", 1) for make in NEW for e in (0.5, 1, 5)]
    right = ask("attempt", pairs=[(signed(json.loads(oracle.parameters())), value(oracle)) for oracle, *_ in cases])
    wrong = ask("attempt", pairs=[(nudged(*case), value(case[0])) for case in cases])
    assert all(isinstance(answer, int) for answer in right)
    assert all("keep to their epsilon" in str(answer) for answer in wrong), wrong


NEW = (BLH, Hadamard, SubsetSelection, ProjectiveGeometry)


@with_node
def test_own_chances_must_be_those_that_are_drawn_with() -> None:
    cases: list[tuple[Protocol, str, int]] = [
        (Warner(p=0.75), "keep", -1),
        (GRR(domain=4, p=0.5), "keep", -1),
        (SUE(domain=4, p=0.7), "keep", -1),
        (OUE(domain=4, p=0.6, q=0.2), "keep", -1),
        (OUE(domain=4, p=0.6, q=0.2), "raise", 1),
    ]
    right = ask("attempt", pairs=[(oracle.parameters(), value(oracle)) for oracle, *_ in cases])
    wrong = ask("attempt", pairs=[(nudged(*case), value(case[0])) for case in cases])
    assert all(isinstance(answer, int) for answer in right)
    assert all("that is the one drawn with" in str(answer) for answer in wrong), wrong


@with_node
def test_a_field_that_is_not_prime_is_refused_even_if_the_odds_are_right() -> None:
    """The lines of F_4 would need another arithmetic: with that of whole numbers modulo 4 the law is not private."""
    parts = json.loads(ProjectiveGeometry(domain=5, epsilon=1).parameters())
    wrong = {**parts, "field": 4, "dimension": 2, "keep": str(inside(Fraction(1), 1, 5))}
    assert "a projective space over a prime field" in ask("attempt", pairs=[(signed(wrong), 0)])[0]


def value(oracle: Protocol) -> object:
    return oracle.domain[0]


@with_node
def test_a_law_upside_down_is_refused_too() -> None:
    parts = json.loads(GRR(domain=4, epsilon=1).parameters())
    answer = ask("attempt", pairs=[(signed({**parts, "keep": "1"}), 0)])
    assert "keep to their epsilon" in answer[0]


@with_node
def test_malformed_parameters_and_values_are_refused_without_being_repeated() -> None:
    text, hashed = GRR(domain=WORDS, epsilon=1).parameters(), OLH(domain=9, epsilon=1).parameters()
    pairs = [
        ("", "tea"),
        ("null", "tea"),
        ("[]", "tea"),
        (text[:-2], "tea"),
        (changed(text, format="x"), "tea"),
        (changed(text, version=2), "tea"),
        (changed(text, protocol="constructor"), "tea"),
        (changed(text, digest="0" * 32), "tea"),
        (changed(text, digest=7), "tea"),
        (changed(text, domain=["tea"]), "tea"),
        (changed(text, domain=["tea", "tea"]), "tea"),
        (changed(text, domain={"size": 2.5}), 1),
        (changed(text, domain=None), 1),
        (changed(text, domain=[*WORDS[1:], "tea"]), "tea"),
        (changed(text, keep="-1"), "tea"),
        (changed(text, keep=str(1 << 64)), "tea"),
        (changed(text, keep=0.5), "tea"),
        (changed(text, epsilon="51"), "tea"),
        (changed(text, epsilon="0"), "tea"),
        (changed(text, epsilon="1/0"), "tea"),
        (changed(text, epsilon=1), "tea"),
        (changed(hashed, buckets=1), 0),
        (changed(hashed, prime=7), 0),
        (text, "secret"),
        (text, None),
        (text, 0),
        (hashed, 9),
        (hashed, -1),
        (hashed, 1.5),
        (hashed, "1"),
    ]
    for answer in ask("attempt", pairs=pairs):
        assert str(answer).startswith("RangeError: tacit-local needs ")
        assert str(answer).endswith("; nothing was drawn.")
        assert "secret" not in str(answer)


@with_node
def test_only_the_fields_and_values_that_python_writes_are_drawn_with() -> None:
    """With correct digests: a different field for each person would distinguish people."""
    grr, oue, warner = (
        json.loads(each.parameters()) for each in (GRR(domain=3, epsilon=1), OUE(domain=3, epsilon=1), Warner(p=0.75))
    )
    blocks, plane, sets = (
        json.loads(make(domain=9, epsilon=1).parameters()) for make in (Hadamard, ProjectiveGeometry, SubsetSelection)
    )
    wrong = [
        ({**grr, "user": "alice"}, 0),
        ({**grr, "p": "1/2"}, 0),
        ({**grr, "raise": "1"}, 0),
        ({**grr, "domain": {"size": 3, "more": 1}}, 0),
        ({**grr, "domain": [{}, None, 1]}, 1),
        ({**grr, "domain": ["a", None, "b"]}, "a"),
        ({**grr, "domain": ["a", ["x"], "b"]}, "a"),
        ({**grr, "domain": [1, True, "b"]}, "b"),
        ({**oue, "keep2": "1"}, 0),
        ({key: value for key, value in oue.items() if key != "raise"}, 0),
        ({**warner, "p": "2/3"}, True),
        ({**warner, "p": "5"}, True),
        ({**warner, "p": None}, True),
        ({**warner, "domain": [True, False]}, True),
        ({**warner, "domain": {"size": 2}}, 1),
        ({**warner, "domain": ["yes", "yes"]}, "yes"),
        ({**warner, "domain": ["yes", " "]}, "yes"),
        ({**warner, "domain": ["yes", 1]}, "yes"),
        ({**blocks, "order": 3}, 0),
        ({**blocks, "order": 2}, 0),
        ({**blocks, "blocks": 0}, 0),
        ({**blocks, "blocks": 1.5}, 0),
        ({**plane, "field": 4}, 0),
        ({**plane, "field": 1}, 0),
        ({**plane, "dimension": 1}, 0),
        ({**plane, "dimension": 40}, 0),
        ({**sets, "size": 0}, 0),
        ({**sets, "size": 9}, 0),
        ({**sets, "p": "1/2"}, 0),
    ]
    for answer in ask("attempt", pairs=[(signed(parts), value_) for parts, value_ in wrong]):
        assert str(answer).startswith("RangeError: tacit-local needs ")
    right = [(grr, 0), (oue, 0), (warner, True), (blocks, 0), (plane, 0), (sets, 0)]
    assert all(isinstance(answer, int) for answer in ask("attempt", pairs=[(signed(p), v) for p, v in right]))
