"""`tacit compose`: the same totals as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tacit as tc
from cli_runs import run
from tacit.cli.compose_parts import read_parts
from tacit.guarantees.composition import Item


def test_the_total_is_that_of_python(tmp_path: Path) -> None:
    words = ("compose", "laplace:epsilon=0.1", "gaussian:sigma=20,sensitivity=1", "x100", "--delta", "1e-6", "--json")
    found = json.loads(run(tmp_path, *words).stdout)
    gaussian = tc.Gaussian(sensitivity=1, sigma=20)
    truth = tc.compose([tc.Laplace(sensitivity=1, epsilon=0.1), (gaussian, 100)]).epsilon(delta=1e-6)
    assert found["epsilon"] == {"lower": truth.lower, "upper": truth.upper}
    assert (found["delta"], found["rule"]) == (1e-6, "tight")
    assert found["parts"][1] == {"release": "Gaussian(sensitivity=1, sigma=20)", "uses": 100}


def test_the_composition_theorem_of_the_notes(tmp_path: Path) -> None:
    done = run(tmp_path, "compose", "epsilon=0.1", "epsilon=0.3")
    assert done.stdout == "ε = 0.4 at δ = 0\n"
    assert "Rule tight: exact." in done.stderr
    assert "1 × PureDP(epsilon=0.1)" in done.stderr
    assert "fixed before any answer" in done.stderr


def test_rules_and_delta_at_an_epsilon(tmp_path: Path) -> None:
    done = run(tmp_path, "compose", "epsilon=0.01", "x100", "--delta", "1e-6", "--rule", "advanced")
    assert done.stdout == "ε = 0.535703 at δ = 1e-06\n"  # ε√(2k·ln 1/δ) + kε(e^ε-1) = 0.5357024…, rounded up
    assert "Rule advanced: an upper bound." in done.stderr
    delta = run(tmp_path, "compose", "gdp:mu=1", "--epsilon", "1")
    assert delta.stdout.startswith("δ = 0.12693")
    assert "certified to be between" in delta.stderr


@pytest.mark.parametrize(
    ("word", "item"),
    [
        ("laplace:epsilon=0.1", tc.Laplace(sensitivity=1, epsilon=0.1)),
        ("LAPLACE:scale=10,sensitivity=2", tc.Laplace(sensitivity=2, scale=10)),
        ("gaussian:rho=0.1", tc.Gaussian(sensitivity=1, rho=0.1)),
        ("gaussian:epsilon=0.5,delta=1e-6", tc.Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6)),
        ("gaussian:σ=2,sensitivity=1.0", tc.Gaussian(sensitivity=1.0, sigma=2)),
        ("exponential:epsilon=1", tc.Exponential(sensitivity=1, epsilon=1)),
        ("permute-and-flip:epsilon=1", tc.PermuteAndFlip(sensitivity=1, epsilon=1)),
        ("noisy-max:epsilon=1", tc.NoisyMax(sensitivity=1, epsilon=1)),
        ("response:ε=1", tc.RandomizedResponse(epsilon=1)),
        ("epsilon=0.1", tc.PureDP(epsilon=0.1)),
        ("delta=1e-6,epsilon=0.1", tc.ApproxDP(epsilon=0.1, delta=1e-6)),
        ("rho=0.1", tc.ZCDP(rho=0.1)),
        ("alpha=8,epsilon=0.5", tc.RenyiDP(alpha=8, epsilon=0.5)),
        ("mu=1", tc.GaussianDP(mu=1)),
        ("zcdp:rho=0.1", tc.ZCDP(rho=0.1)),
    ],
)
def test_every_kind_of_part(word: str, item: Item) -> None:
    (part,) = read_parts([word])
    assert repr(part.item) == repr(item)
    assert part.uses == 1


def test_a_repetition_belongs_to_the_part_before_it() -> None:
    assert [part.uses for part in read_parts(["epsilon=1", "rho=1", "x20", "mu=1", "×3"])] == [1, 20, 3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x3"], "'x3' does not follow a release"),
        (["epsilon=1", "x3", "x4"], "'x4' does not follow a release"),
        (["epsilon=1", "x99999999999"], "PARTS must be"),
        (["lapace:epsilon=1"], "Did you mean 'laplace'?"),
        (["laplace:epsilonn=1"], "Did you mean 'epsilon'?"),
        (["laplace:epsilon=1,epsilon=2"], "occurs twice. Remove one of them."),
        (["gaussian:sigma=2"], "Write gaussian:sigma=2,sensitivity=1"),
        (["laplace"], "PARTS must be"),
        (["laplace:0.1"], "The number in 'laplace:0.1' has no name. Write laplace:epsilon=0.1."),
        (["zcdp:0.1"], "Write zcdp:rho=0.1."),
        (["0.1"], "Write epsilon=0.1."),
        (["renyi:2"], "PARTS must be"),
        (["laplace:epsilon=one"], "epsilon must be a number"),
        (["epsilon=-1"], "'epsilon=-1': epsilon must be"),
        (["epsilon=nan"], "epsilon must be"),
        (["sigma=2"], "Unknown release 'sigma=2'"),
        (["pure:rho=1"], "PureDP has no argument"),
        (["gaussian:sigma=2,sensitivity=1"], "no finite ε at δ = 0"),
        (["epsilon=1", "--delta", "1e-6", "--epsilon", "1"], "exclude each other"),
        (["epsilon=1", "--rule", "best"], "rule must be one of"),
        (["epsilon=1", "--delta", "2"], "delta must be"),
        (["rho=1", "--rule", "optimal", "--delta", "1e-6"], "cannot price"),
    ],
)
def test_bad_input(tmp_path: Path, words: list[str], message: str) -> None:
    done = run(tmp_path, "compose", *words)
    assert done.returncode == 2, done
    assert message in done.stderr
    assert done.stdout == ""
