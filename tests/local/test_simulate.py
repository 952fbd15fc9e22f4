"""Simulated surveys: reproducible, unbiased, as far from the truth as theory states, and drawn."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit import InvalidError
from tacit.local import GRR, OUE, Protocol, Reports, Simulation, Warner, simulate
from tacit.local.parameters import ORACLES

DRINKS = ["tea", "coffee", "water", "mate"]
PEOPLE = {"tea": 600, "coffee": 300, "mate": 100}
PROTOCOLS: list[Protocol] = [
    *(make(domain=DRINKS, epsilon=1) for make in ORACLES.values()),
    Warner(p=0.75, words=("yes", "no")),
    Warner(epsilon=1),
]


def population(oracle: Protocol) -> dict[Any, int]:
    return PEOPLE if len(oracle.domain) > 2 else {oracle.domain[0]: 300, oracle.domain[1]: 700}


@pytest.mark.parametrize("oracle", PROTOCOLS, ids=lambda oracle: type(oracle).__name__)
def test_every_protocol_finds_what_theory_says_and_a_seed_repeats_it(oracle: Protocol) -> None:
    """With a seed there is no chance in the test; a factor of 1.4 is beyond 4 standard deviations of 60 runs."""
    people = population(oracle)
    first, twin, other = (simulate(oracle, people, seed=seed, runs=60) for seed in (1, 1, 2))
    assert first.truth.tolist() == [people.get(value, 0) for value in oracle.domain]
    assert (first.found, first.covered) == (twin.found, twin.covered)
    np.testing.assert_array_equal(first.estimate.counts, twin.estimate.counts)
    assert not np.array_equal(first.estimate.counts, other.estimate.counts)
    assert 1 / 1.4 < first.found / first.predicted < 1.4
    assert first.covered > 0.9
    assert first.estimate.n == 1000


def test_without_a_seed_each_run_is_new() -> None:
    oracle = GRR(domain=DRINKS, epsilon=1)
    runs = [simulate(oracle, PEOPLE).estimate.counts.tolist() for _ in range(6)]
    assert len({tuple(counts) for counts in runs}) > 1  # equal by chance with probability below 1e-15


def test_people_are_values_or_counts() -> None:
    oracle = GRR(domain=DRINKS, epsilon=1)
    values = [value for value, count in PEOPLE.items() for _ in range(count)]
    for people in (values, np.array(values), pd.Series(values), PEOPLE, pd.Series(values).value_counts().to_dict()):
        assert simulate(oracle, people, seed=1).truth.tolist() == [600, 300, 0, 100]
    numbers = OUE(domain=3, epsilon=1)
    assert simulate(numbers, np.array([0, 2, 2]), seed=1).truth.tolist() == [1, 0, 2]
    assert simulate(numbers, {2: 5, 0: 0}, seed=1).truth.tolist() == [0, 0, 5]


def test_the_result_is_shown_and_drawn_and_holds_no_report() -> None:
    result = simulate(Warner(p=0.75, words=("yes", "no")), {"yes": 3000, "no": 7000}, seed=1)
    assert "10,000 people" in str(result)
    assert "by theory 86.6" in repr(result)
    chart = result.plot().to_dict()
    rows = [row for rows in chart["datasets"].values() for row in rows]
    assert {row["group"] for row in rows} == {"yes", "no"}
    assert sorted(row["count"] for row in rows if "count" in row) == [3000, 7000]
    assert not any(isinstance(getattr(result, name), Reports) for name in Simulation.__slots__)


@pytest.mark.parametrize(
    "wrong",
    [
        {"population": []},
        {"population": {}},
        {"population": {"tea": 0}},
        {"population": {"tea": -1}},
        {"population": {"tea": 1.5}},
        {"population": {"tea": nan}},
        {"population": {"secret": 3}},
        {"population": ["tea", "secret"]},
        {"population": {"tea": 10**30}},
        {"population": None},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": True},
        {"runs": 0},
        {"confidence": 1},
        {"confidence": nan},
        {"protocol": "OUE"},
    ],
)
def test_wrong_arguments_are_refused_without_repeating_a_value(wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"protocol": GRR(domain=DRINKS, epsilon=1), "population": PEOPLE, **wrong}
    with pytest.raises(InvalidError) as caught:
        simulate(arguments.pop("protocol"), arguments.pop("population"), **arguments)
    assert "secret" not in str(caught.value)
