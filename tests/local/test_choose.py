from __future__ import annotations

import subprocess
import sys
from math import nan, sqrt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit as tc
from local_protocols import Make, every_oracle
from tacit import InvalidError
from tacit.local import GRR, OUE, ProjectiveGeometry, Warner, choose, plot_errors
from tacit.local.parameters import ORACLES

# The choice


@pytest.mark.parametrize("d", [2, 3, 10, 128, 1024, 70_000])
@pytest.mark.parametrize("epsilon", [0.1, 1, 2.5, 5, 12])
def test_nothing_errs_less_than_what_is_chosen(d: int, epsilon: float) -> None:
    choice = choose(domain_size=d, epsilon=epsilon, n=1000)
    least = min(sqrt(make(domain=d, epsilon=epsilon).variance(n=1000)) for make in ORACLES.values())
    assert least <= choice.std <= 1.02 * least
    assert [option.std for option in choice.table] == sorted(option.std for option in choice.table)
    assert {option.protocol for option in choice.table} == set(ORACLES)
    assert choice.why.startswith(choice.protocol)
    made = choice.make()
    assert type(made).__name__ == choice.protocol
    assert sqrt(made.variance(n=1000)) == choice.std


def test_what_is_chosen_where() -> None:
    assert choose(domain_size=2, epsilon=1).protocol == "GRR"
    assert choose(domain_size=8, epsilon=4).protocol == "GRR"
    assert choose(domain_size=65_536, epsilon=1).protocol == "ProjectiveGeometry"
    one = choose(domain_size=256, epsilon=1, max_report_bytes=1)
    assert one.make().report_bytes == 1
    assert "left out" in one.why
    with pytest.raises(InvalidError, match="at least"):
        choose(domain_size=100_000, epsilon=1, max_report_bytes=1)


def test_a_choice_makes_its_protocol_for_a_list() -> None:
    choice = choose(domain_size=3, epsilon=0.1)
    assert choice.make(["a", "b", "c"]).domain == ("a", "b", "c")
    with pytest.raises(InvalidError, match="chosen for 3"):
        choice.make(["a", "b"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"domain_size": 1},
        {"domain_size": 0},
        {"domain_size": 2.5},
        {"epsilon": 0},
        {"epsilon": 51},
        {"epsilon": nan},
        {"n": 0},
        {"max_report_bytes": 0},
    ],
)
def test_wrong_numbers_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidError):
        choose(**{"domain_size": 10, "epsilon": 1, **wrong})  # type: ignore[arg-type]


def test_errors_are_drawn_against_epsilon_and_domain_size() -> None:
    by_epsilon = plot_errors(epsilons=[0.5, 1, 2], domain_size=64).to_dict()
    by_size = plot_errors(domain_sizes=[2, 16, 128], epsilon=1).to_dict()
    assert by_epsilon["title"]["text"] == "Variance of a rare value, d = 64"
    assert by_size["title"]["text"] == "Variance of a rare value, ε = 1"
    with pytest.raises(InvalidError):
        plot_errors(epsilons=[1], domain_sizes=[2])


# Arguments of every protocol


@every_oracle
@pytest.mark.parametrize(
    "domain",
    [
        [],
        ["a"],
        0,
        1,
        -3,
        2**24 + 1,
        ["a", "a"],
        [1, True],
        [0.0, 0],
        [nan, 1.0],
        [None, "a"],
        "ab",
        2.0,
        None,
        {"a": 1, "b": 2},
        [[1], [2]],
        [2**60, 1],
        ["\ud800", "a"],
    ],
    ids=repr,
)
def test_a_wrong_domain_is_refused(make: Make, domain: object) -> None:
    with pytest.raises(InvalidError, match="domain"):
        make(domain=domain, epsilon=1)


@every_oracle
@pytest.mark.parametrize("epsilon", [0, -1, nan, float("inf"), 50.001, "1", None, True])
def test_a_wrong_epsilon_is_refused(make: Make, epsilon: object) -> None:
    with pytest.raises(InvalidError, match="epsilon"):
        make(domain=10, epsilon=epsilon)


@pytest.mark.parametrize("p", [0, 0.5, 0.3, 1, 1.5, nan, "x", True])
def test_a_wrong_coin_is_refused(p: object) -> None:
    with pytest.raises(InvalidError):
        Warner(p=p)  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="exactly one"):
        Warner(p=0.75, epsilon=1)
    with pytest.raises(InvalidError, match="exactly one"):
        Warner()


@every_oracle
def test_a_value_outside_the_domain_is_refused_without_being_named(make: Make) -> None:
    numbers, words = make(domain=5, epsilon=1), make(domain=["a", "b"], epsilon=1)
    for wrong in (
        5,
        [-1],
        [0, 7777],
        [1.5],
        [True],
        ["a"],
        [None],
        [nan],
        np.array([2**63], dtype=np.uint64),
        [10**30],
        np.zeros((2, 2), int),
    ):
        with pytest.raises(InvalidError) as caught:
            numbers.randomize(wrong)
        assert "7777" not in str(caught.value)
    for other in ("c", ["a", "ccc"], [None], [["a"]], b"a", 3, nan):
        with pytest.raises(InvalidError) as caught:
            words.randomize(other)
        assert "ccc" not in str(caught.value)


def test_columns_of_all_kinds_are_values() -> None:
    words, numbers = OUE(domain=["a", "b"], epsilon=1), OUE(domain=5, epsilon=1)
    for column in (
        ["a", "b"],
        ("a", "b"),
        np.array(["a", "b"]),
        pd.Series(["a", "b"]),
        pl.Series(["a", "b"]),
        iter("ab"),
    ):
        assert len(words.randomize(column)) == 2
    for given in (
        [4, 0],
        np.array([4, 0], dtype=np.uint8),
        pd.Series([4, 0]),
        pl.Series([4, 0]),
        pa.array([4, 0]),
        range(2),
    ):
        assert len(numbers.randomize(given)) == 2
    assert len(GRR(domain=[1, 2.5, "x"], epsilon=1).randomize(np.array([1, 2.5]))) == 2
    assert len(words.randomize("a")) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"n": 0}, {"n": 1.5}, {"n": 10, "frequency": -0.1}, {"n": 10, "frequency": 1.1}, {"n": 10, "frequency": nan}],
)
def test_wrong_arguments_of_the_variance_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidError):
        OUE(domain=5, epsilon=1).variance(**wrong)  # type: ignore[arg-type]


def test_a_protocol_is_fixed_and_shows_how_it_was_made() -> None:
    oracle = OUE(domain=5, epsilon=0.1)
    with pytest.raises(AttributeError, match="frozen"):
        oracle._keep = 7
    assert repr(oracle) == "OUE(domain=5, epsilon=0.1)"
    assert repr(GRR(domain=["a", "b"], epsilon=1)) == "GRR(domain=['a', 'b'], epsilon=1)"
    assert repr(Warner(p=0.75)) == "Warner(p=0.75)"


def test_reports_of_one_person_compose() -> None:
    total = tc.compose([(OUE(domain=5, epsilon=0.5), 4)])
    assert total.epsilon(delta=0).upper == pytest.approx(2)


def test_projective_grids_stay_small() -> None:
    for d in (2, 100, 65_536, 1 << 20):
        for epsilon in (0.1, 1, 5, 50):
            oracle = ProjectiveGeometry(domain=d, epsilon=epsilon)
            assert oracle.field**oracle.dimension <= 1 << 26


def test_neither_tacit_nor_one_report_loads_the_compiler() -> None:
    code = (
        "import sys, tacit as tc; assert 'tacit.local' not in sys.modules; local = tc.local;"
        "[kind(domain=100, epsilon=1).randomize([3]) for kind in (local.OUE, local.OLH, local.SubsetSelection)];"
        "assert 'numba' not in sys.modules and 'duckdb' not in sys.modules and 'altair' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own line
