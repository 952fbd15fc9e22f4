"""ε, unbiasedness and variance, from the rational probabilities that are drawn, over all outputs of small domains."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest

import tacit.local
from laws import MP, mpf
from local_protocols import HASHED, Make, every_oracle, law, one_report, outputs
from tacit.errors import InvalidError
from tacit.guarantees.events import PureRelease, RandomizedBit
from tacit.guarantees.values import PureDP
from tacit.local import (
    GRR,
    OLH,
    OUE,
    Hadamard,
    ProjectiveGeometry,
    Protocol,
    SubsetSelection,
    Warner,
    draws,
    local_hashing,
)
from tacit.local.local_hashing import collision, edges, hash_of
from tacit.local.projective_geometry import hyperplane_sums, numbers_of, points, vectors_of
from tacit.local.response_law import LARGEST_EPSILON, ONE, inside, raised

EPSILONS = [Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(9)]


@pytest.fixture(autouse=True)
def small_prime(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Hash over 13 points where all hash functions are enumerated."""
    if "make" in request.fixturenames and request.getfixturevalue("make") in HASHED:
        monkeypatch.setattr(local_hashing, "PRIME", 13)


def made(make: Make, d: int, epsilon: Fraction) -> Protocol:
    small = make in HASHED and epsilon > 2
    return make(domain=d, epsilon=min(epsilon, Fraction(2)) if small else epsilon)


def worst_ratio(oracle: Protocol) -> Fraction:
    laws = [law(oracle, value) for value in range(oracle.domain_size)]
    for one in laws:
        assert sum(one.values()) == 1
        assert one.keys() == laws[0].keys()
    return max(_most_by_least([one[record] for one in laws]) for record in laws[0])


def _most_by_least(chances: list[Fraction]) -> Fraction:
    """Return the largest ratio of two of several chances."""
    return max(chances) / min(chances)


@every_oracle
@pytest.mark.parametrize("d", [2, 5, 7])
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_no_output_is_likelier_than_allowed_and_nothing_is_given_away(make: Make, d: int, epsilon: Fraction) -> None:
    oracle = made(make, d, epsilon)
    ratio = mpf(worst_ratio(oracle))
    allowed = MP.exp(mpf(oracle._epsilon))
    assert ratio <= allowed
    assert ratio > 1 + (allowed - 1) * (1 - 1e-9)


@pytest.mark.parametrize("p", [0.75, 0.5001, 0.999, Fraction(2, 3)])
def test_warners_epsilon_is_that_of_his_coin_rounded_up(p: float | Fraction) -> None:
    survey = Warner(p=p)
    exact = MP.log(mpf(worst_ratio(survey)))
    assert exact <= mpf(survey._epsilon) < exact + 1e-30
    assert survey.event == RandomizedBit(epsilon=survey._epsilon, neighbours="change one")


@every_oracle
@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
def test_one_report_is_unbiased_and_has_the_stated_variance(make: Make, d: int, epsilon: Fraction) -> None:
    oracle = made(make, d, epsilon)
    estimates = np.array([one_report(oracle, record) for record in outputs(oracle)])
    for value in range(d):
        chance = np.array([float(p) for p in law(oracle, value).values()])
        mean = chance @ estimates
        np.testing.assert_allclose(mean, np.eye(d)[value], atol=1e-9 * (1 + np.abs(estimates).max()))
        spread = chance @ (estimates - mean) ** 2
        assert spread[value] == pytest.approx(oracle.variance(n=1, frequency=1.0), rel=1e-9, abs=1e-12)
        if not (isinstance(oracle, Hadamard) and oracle.blocks > 1):
            others = np.delete(spread, value)
            np.testing.assert_allclose(others, oracle.variance(n=1, frequency=0.0), rtol=1e-9)


@pytest.mark.parametrize(("d", "epsilon"), [(6, 3), (12, 3), (15, 4), (8, 9)])
def test_hadamards_variance_with_several_blocks_is_the_mean_over_even_others(d: int, epsilon: int) -> None:
    oracle = Hadamard(domain=d, epsilon=epsilon)
    assert oracle.blocks > 1
    estimates = np.array([one_report(oracle, record) for record in outputs(oracle)])
    spread = []
    for value in range(1, d):  # value 0 is in a block of the largest size
        chance = np.array([float(p) for p in law(oracle, value).values()])
        spread.append(float(chance @ estimates[:, 0] ** 2))
    assert oracle.variance(n=10) == pytest.approx(10 * np.mean(spread), rel=1e-9)


def test_the_checked_values_of_the_notes() -> None:
    for name, expected in {"GRR": 43.6, "SUE": 3.92, "BLH": 4.68, "OUE": 3.68, "OLH": 3.69}.items():
        oracle = getattr(tacit.local, name)(domain=128, epsilon=1)
        assert oracle.variance(n=100_000) / 100_000 == pytest.approx(expected, abs=0.05 if name == "GRR" else 0.006)


@every_oracle
@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 12, 50])
@pytest.mark.parametrize("d", [2, 1000, 70_001])
def test_the_probabilities_are_private_at_any_epsilon(make: Make, epsilon: float, d: int) -> None:
    oracle = make(domain=d, epsilon=epsilon)
    assert oracle.guarantee == PureDP(epsilon=epsilon)
    assert oracle.event == PureRelease(epsilon=oracle._epsilon, neighbours="change one")
    assert oracle.variance(n=1000, frequency=0.5) >= 0
    for s, outputs_ in [(1, d), (d // 2, d)]:
        keep = Fraction(inside(oracle._epsilon, s, outputs_), ONE)
        assert MP.log(mpf(keep * (outputs_ - s) / ((1 - keep) * s))) <= mpf(oracle._epsilon)
    flip = Fraction(raised(oracle._epsilon, oracle._epsilon), ONE)
    assert MP.log(mpf((1 - flip) / flip)) <= mpf(oracle._epsilon)


def test_an_epsilon_that_64_bits_cannot_hold_is_refused() -> None:
    for make in (GRR, OUE, OLH, Hadamard, SubsetSelection, ProjectiveGeometry):
        with pytest.raises(InvalidError, match="epsilon"):
            make(domain=1000, epsilon=1e-25)
    assert LARGEST_EPSILON == 50


# Hashing


@pytest.mark.parametrize("g", [2, 3, 4, 8, 55])
def test_two_values_collide_exactly_as_often_as_stated(g: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_hashing, "PRIME", 61)
    a, b = (side.reshape(-1).astype(np.uint32) for side in np.meshgrid(np.arange(61), np.arange(61)))
    buckets = [hash_of(a, b, np.full(a.size, x), g) for x in (0, 1, 5, 60)]
    for one, other in permutations(buckets, 2):
        assert Fraction(int(np.count_nonzero(one == other)), 61**2) == collision(g)
    edge = edges(g).astype(np.int64)
    assert all(
        (point * g // 61 == y) == (low <= point < high)
        for y, (low, high) in enumerate(pairwise(edge))
        for point in range(61)
    )


def test_the_prime_is_prime_and_collisions_are_one_in_g() -> None:
    p = draws.PRIME
    assert p == 2**31 - 1
    assert all(p % factor for factor in range(2, 46_341))
    for g in (2, 4, 21, 55, 65_536):
        assert 0 <= collision(g) * g - 1 < Fraction(g * g, p * p)


def test_the_hash_in_floating_point_as_a_browser_computes_it() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, draws.PRIME, (2, 2000), dtype=np.uint32)
    x = rng.integers(0, 1 << 24, 2000)
    prime, high, low = float(draws.PRIME), (x >> 16).astype(float), (x & 65535).astype(float)
    point = ((a * high % prime) * 65536.0 + a * low + b) % prime
    for g in (2, 4, 55, 65_536):
        np.testing.assert_array_equal(np.floor(point * g / prime), hash_of(a, b, x, g))


# Projective geometry


@pytest.mark.parametrize(("q", "t"), [(2, 4), (3, 3), (5, 3), (7, 2), (11, 2), (2, 2)])
def test_points_and_their_numbers(q: int, t: int) -> None:
    number = np.arange(points(q, t))
    digits, pivot = vectors_of(number, q, t)
    assert len({tuple(vector) for vector in digits.T}) == number.size
    assert (digits[pivot, number] == 1).all()
    for factor in range(1, q):
        np.testing.assert_array_equal(numbers_of(digits * factor % q, q), number)


@pytest.mark.parametrize(("q", "t"), [(2, 5), (3, 4), (5, 3), (7, 3), (13, 2)])
def test_one_transform_gives_all_supports(q: int, t: int) -> None:
    cells = np.random.default_rng(q).integers(0, 1000, points(q, t))
    digits, _ = vectors_of(np.arange(cells.size), q, t)
    orthogonal = digits.T @ digits % q == 0
    expected = orthogonal @ cells
    np.testing.assert_array_equal(hyperplane_sums(cells, q, t, cells.size), expected)
    assert (orthogonal.sum(axis=1) == points(q, t - 1)).all()


def test_supports_are_exact_for_very_many_reports() -> None:
    q, t = 3, 4
    cells = np.random.default_rng(1).integers(0, 1 << 40, points(q, t)) // points(q, t)
    digits, _ = vectors_of(np.arange(cells.size), q, t)
    np.testing.assert_array_equal(hyperplane_sums(cells, q, t, 5), ((digits.T @ digits % q == 0) @ cells)[:5])
