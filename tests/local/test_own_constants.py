"""Surveys with their own p', q', g or k: ε follows from the law that is drawn, and the optimum is that of the notes."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from math import exp, nan
from typing import Any

import numpy as np
import pytest

from laws import MP, mpf
from local_protocols import law, one_report, outputs
from tacit import InvalidError
from tacit.local import (
    BLH,
    GRR,
    OLH,
    OUE,
    SUE,
    Protocol,
    SubsetSelection,
    Warner,
    local_hashing,
    plot_optimum,
    protocol,
)
from tacit.local.optimum import Tunable
from tacit.local.response_law import ONE

Build = Callable[[], Protocol]

DERIVED: list[Build] = [
    lambda: Warner(p=Fraction(2, 3), words=("yes", "no")),
    lambda: GRR(domain=4, p=0.5),
    lambda: GRR(domain=5, p=Fraction(1, 3)),
    lambda: SUE(domain=4, p=0.7),
    lambda: OUE(domain=4, p=0.5, q=0.2),
    lambda: OUE(domain=3, p=Fraction(9, 10), q=Fraction(1, 7)),
    lambda: BLH(domain=4, p=0.7),
    lambda: OLH(domain=4, p=0.5, buckets=3),
]
CHOSEN: list[Build] = [
    lambda: OUE(domain=4, epsilon=1, p=0.3),
    lambda: OUE(domain=4, epsilon=2, p=Fraction(4, 5)),
    lambda: OLH(domain=4, epsilon=1, buckets=5),
    lambda: OLH(domain=4, epsilon=2, buckets=2),
    lambda: SubsetSelection(domain=6, epsilon=1, size=1),
    lambda: SubsetSelection(domain=6, epsilon=1, size=5),
]


@pytest.fixture(autouse=True)
def small_prime(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Hash over 13 points where all hash functions are enumerated."""
    if "build" in request.fixturenames:
        monkeypatch.setattr(local_hashing, "PRIME", 13)


def worst_ratio(oracle: Protocol) -> Fraction:
    laws = [law(oracle, value) for value in range(oracle.domain_size)]
    assert all(sum(one.values()) == 1 for one in laws)
    return max(max(one[record] for one in laws) / min(one[record] for one in laws) for record in laws[0])


@pytest.mark.parametrize("build", DERIVED)
def test_epsilon_is_that_of_the_law_rounded_up(build: Build) -> None:
    oracle = build()
    exact = MP.log(mpf(worst_ratio(oracle)))
    assert exact <= mpf(oracle._epsilon) < exact + 1e-30


TINY = Fraction(1, ONE)
EDGES = [
    TINY / 2,
    TINY,
    3 * TINY,
    1e-300,
    1e-10,
    1 / 3,
    Fraction(1, 3) + TINY,
    0.5,
    Fraction(1, 2) + TINY,
    0.5000000000000001,
]
EDGES += [0.7, np.float32(0.7), 0.999999, 1 - 2.0**-53, 1 - 2 * TINY, 1 - TINY, 1 - TINY / 2]


def hostile(p: Any) -> list[Build]:  # noqa: ANN401 - numbers of many kinds
    builds: list[Build] = [lambda: Warner(p=p), lambda: SUE(domain=3, p=p), lambda: BLH(domain=3, p=p)]
    builds += [lambda d=d: GRR(domain=d, p=p) for d in (2, 3, 5)]  # type: ignore[misc]
    builds += [lambda g=g: OLH(domain=3, p=p, buckets=g) for g in (2, 3, 7)]  # type: ignore[misc]
    return builds + [lambda q=q: OUE(domain=3, p=p, q=q) for q in EDGES]


def test_epsilon_is_never_too_small_at_the_edges_of_the_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_hashing, "PRIME", 5)
    made = 0
    for build in (build for p in EDGES for build in hostile(p)):
        try:
            oracle = build()
        except InvalidError:
            continue
        exact = MP.log(mpf(worst_ratio(oracle)))
        assert exact <= mpf(oracle._epsilon) < exact + 1e-30, oracle
        assert Fraction(repr(float(oracle.epsilon))) >= oracle._epsilon
        made += 1
    assert made > 150


@pytest.mark.parametrize("build", CHOSEN)
def test_own_constants_keep_to_epsilon_and_give_nothing_away(build: Build) -> None:
    oracle = build()
    exact = MP.log(mpf(worst_ratio(oracle)))
    assert exact <= mpf(oracle._epsilon) < exact + 1e-15


@pytest.mark.parametrize("build", [*DERIVED, *CHOSEN])
def test_estimates_are_unbiased_and_have_the_stated_variance(build: Build) -> None:
    oracle = build()
    estimates = np.array([one_report(oracle, record) for record in outputs(oracle)])
    for value in range(oracle.domain_size):
        chance = np.array([float(p) for p in law(oracle, value).values()])
        mean = chance @ estimates
        np.testing.assert_allclose(mean, np.eye(oracle.domain_size)[value], atol=1e-9 * (1 + np.abs(estimates).max()))
        spread = chance @ (estimates - mean) ** 2
        assert spread[value] == pytest.approx(oracle.variance(n=1, frequency=1.0), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(np.delete(spread, value), oracle.variance(n=1), rtol=1e-9)


@pytest.mark.parametrize("with_own_prime", [*DERIVED, *CHOSEN])
def test_parameters_carry_what_the_survey_chose(with_own_prime: Build) -> None:
    oracle = with_own_prime()
    twin = protocol(oracle.parameters())
    assert (twin.digest, twin._epsilon, twin.parameters()) == (oracle.digest, oracle._epsilon, oracle.parameters())
    assert len(twin.estimate(oracle.randomize([oracle.domain[0]] * 3)).counts) == oracle.domain_size


@pytest.mark.parametrize("build", DERIVED)
def test_a_smaller_epsilon_than_follows_from_p_is_refused(build: Build) -> None:
    fields = json.loads(build().parameters())
    with pytest.raises(InvalidError, match="do not follow"):
        protocol({**fields, "epsilon": "1/10"})
    with pytest.raises(InvalidError, match="do not follow"):
        protocol({**fields, "p": "7/8"})


def test_the_defaults_have_the_constants_that_they_had() -> None:
    assert (OUE(domain=9, epsilon=1, p=0.5).p, OUE(domain=9, epsilon=1).p) == (0.5, 0.5)
    least, default = (int(oracle._raise) for oracle in (OUE(domain=9, epsilon=1, p=0.5), OUE(domain=9, epsilon=1)))
    assert 0 <= default - least <= 2
    assert OLH(domain=9, epsilon=1, buckets=4).digest == OLH(domain=9, epsilon=1).digest
    best = SubsetSelection(domain=128, epsilon=1)
    assert SubsetSelection(domain=128, epsilon=1, size=best.size).digest == best.digest
    assert repr(OLH(domain=9, epsilon=1)) == "OLH(domain=9, epsilon=1)"
    assert repr(OLH(domain=9, epsilon=1, buckets=5)) == "OLH(domain=9, epsilon=1, buckets=5)"


@pytest.mark.parametrize(
    "build",
    [
        lambda: GRR(domain=4, p=0.25),
        lambda: GRR(domain=4, p=0),
        lambda: GRR(domain=4, p=1),
        lambda: GRR(domain=4, p=nan),
        lambda: GRR(domain=4, p="0.5"),  # type: ignore[arg-type]
        lambda: GRR(domain=4, p=0.5, epsilon=1),
        lambda: GRR(domain=4),
        lambda: GRR(domain=1 << 20, p=1 - Fraction(1, ONE)),
        lambda: SUE(domain=4, p=0.5),
        lambda: SUE(domain=4, p=0.3),
        lambda: OUE(domain=4, p=0.5),
        lambda: OUE(domain=4, q=0.5),
        lambda: OUE(domain=4),
        lambda: OUE(domain=4, epsilon=1, q=0.2),
        lambda: OUE(domain=4, epsilon=1, p=0.5, q=0.2),
        lambda: OUE(domain=4, p=0.2, q=0.2),
        lambda: OUE(domain=4, p=0.2, q=0.3),
        lambda: OUE(domain=4, p=0.5, q=0),
        lambda: OUE(domain=4, p=0.5, q=nan),
        lambda: OUE(domain=4, p=1, q=0.5),
        lambda: OUE(domain=4, epsilon=1, p=1),
        lambda: OUE(domain=4, epsilon=1, p=1e-19),
        lambda: BLH(domain=4, p=0.5),
        lambda: OLH(domain=4, p=0.5),
        lambda: OLH(domain=4, p=0.2, buckets=5),
        lambda: OLH(domain=4, epsilon=1, buckets=1),
        lambda: OLH(domain=4, epsilon=1, buckets=65_537),
        lambda: OLH(domain=4, epsilon=1, buckets=2.0),  # type: ignore[arg-type]
        lambda: OLH(domain=4, epsilon=1, buckets=True),
        lambda: SubsetSelection(domain=4, epsilon=1, size=0),
        lambda: SubsetSelection(domain=4, epsilon=1, size=4),
        lambda: SubsetSelection(domain=4, epsilon=1, size=1.5),  # type: ignore[arg-type]
    ],
)
def test_constants_that_cannot_be_are_refused(build: Build) -> None:
    with pytest.raises(InvalidError):
        build()


# The optimum


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 3])
def test_the_variance_is_least_at_the_optimum_of_the_notes(epsilon: float) -> None:
    buckets = {g: OLH(domain=128, epsilon=epsilon, buckets=g).variance(n=1) for g in range(2, 60)}
    assert abs(min(buckets, key=buckets.__getitem__) - (exp(epsilon) + 1)) < 1
    shares = {p: OUE(domain=128, epsilon=epsilon, p=Fraction(p, 100)).variance(n=1) for p in range(5, 100, 5)}
    assert min(shares, key=shares.__getitem__) == 50
    sizes = {k: SubsetSelection(domain=128, epsilon=epsilon, size=k).variance(n=1) for k in range(1, 128)}
    assert min(sizes, key=sizes.__getitem__) == SubsetSelection(domain=128, epsilon=epsilon).size


@pytest.mark.parametrize(("name", "best"), [("OUE", "0.5"), ("OLH", "4"), ("SubsetSelection", "34")])
def test_the_chart_marks_the_optimum(name: Tunable, best: str) -> None:
    drawn = plot_optimum(protocol=name, epsilon=1, domain_size=128).to_dict()
    assert drawn["title"]["subtitle"].endswith(f", at {best}.")


def test_a_protocol_without_a_constant_has_no_chart() -> None:
    with pytest.raises(InvalidError, match="OUE, OLH"):
        plot_optimum(protocol="GRR", epsilon=1)  # type: ignore[arg-type]
    for name in (OLH, SubsetSelection):
        drawn = plot_optimum(protocol=name.__name__, epsilon=9, domain_size=2).to_dict()  # type: ignore[arg-type]
        assert "ε = 9, d = 2" in drawn["title"]["subtitle"]
