from __future__ import annotations

import itertools
from fractions import Fraction
from math import inf, nan, sqrt
from typing import Any, get_args

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidError
from tacit.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP
from tacit.guarantees.arithmetic import parallel, split
from tacit.guarantees.conversions import exactly, gaussian_delta
from tacit.guarantees.events import ApproxRelease, Neighbours, PoissonSampled, PureRelease, ZCDPRelease
from tacit.guarantees.exact import Exact
from tacit.mechanisms import Exponential, Gaussian, Laplace, RandomizedResponse

WHOLE: list[Guarantee] = [
    PureDP(epsilon=1),
    ApproxDP(epsilon=0.7, delta=1e-6),
    ZCDP(rho=0.1),
    RenyiDP(alpha=8, epsilon=0.5),
]
ADDING = {"epsilon", "delta", "rho"}

amounts = st.floats(1e-6, 100)
shares = st.one_of(st.integers(1, 50), st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20))
guarantees = st.builds(ApproxDP, epsilon=amounts, delta=st.floats(0, 1, allow_subnormal=False))


def sums(pieces: list[Guarantee]) -> dict[str, Fraction]:
    names = ADDING & set(type(pieces[0]).__slots__)
    return {name: sum((exactly(getattr(piece, name)) for piece in pieces), Fraction(0)) for name in names}


@pytest.mark.parametrize("guarantee", WHOLE)
@settings(deadline=None)
@given(parts=shares)
def test_the_parts_of_a_split_add_up_to_the_whole(guarantee: Guarantee, parts: Any) -> None:  # noqa: ANN401
    pieces = split(guarantee, parts)
    assert len(pieces) == (parts if isinstance(parts, int) else len(parts))
    assert sums(pieces) == sums([guarantee])


@settings(deadline=None)
@given(mu=amounts, parts=shares)
def test_gaussian_parts_never_exceed_the_square_and_nearly_reach_it(mu: float, parts: Any) -> None:  # noqa: ANN401
    given_square = exactly(GaussianDP(mu=mu).mu) ** 2
    pieces = [piece for piece in split(GaussianDP(mu=mu), parts) if isinstance(piece, GaussianDP)]
    total = sum((exactly(piece.mu) ** 2 for piece in pieces), Fraction(0))
    assert given_square * (1 - Fraction(1, 10**14)) <= total <= given_square


def test_ten_tenths_are_one_and_a_rational_root_is_exact() -> None:
    assert split(PureDP(epsilon=1), 10) == [PureDP(epsilon=0.1)] * 10
    assert split(GaussianDP(mu=1), 4) == [GaussianDP(mu=0.5)] * 4
    assert exactly(split(GaussianDP(mu=1), 9)[0].mu) == Fraction(1, 3)  # type: ignore[union-attr]
    assert split(PureDP(epsilon=0), 3) == [PureDP(epsilon=0)] * 3
    assert split(GaussianDP(mu=0), 3) == [GaussianDP(mu=0)] * 3
    assert split(ZCDP(rho=0.3), 1) == [ZCDP(rho=0.3)]
    assert len(split(PureDP(epsilon=1), 10**6)) == 10**6


def test_weights_are_shares_of_their_sum() -> None:
    one, two = split(ApproxDP(epsilon=0.3, delta=3e-6), (1, 2))
    assert (one, two) == (ApproxDP(epsilon=0.1, delta=1e-6), ApproxDP(epsilon=0.2, delta=2e-6))
    assert [piece.alpha for piece in split(RenyiDP(alpha=3, epsilon=1), [1, 1]) if isinstance(piece, RenyiDP)] == [3, 3]


@pytest.mark.parametrize("bad", [0, -1, 1.5, nan, inf, "3", True, None, [], {}, np.array([1]), 10**6 + 1])
def test_parts_are_a_count_or_weights(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        split(PureDP(epsilon=1), bad)
    assert caught.value.argument == "parts"


@pytest.mark.parametrize("bad", [0, -1, nan, inf, "3", True, None, [1]])
def test_a_weight_is_above_zero(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        split(PureDP(epsilon=1), [1, bad])
    assert caught.value.argument == "weight"


@pytest.mark.parametrize("bad", [None, 1, "PureDP", [PureDP(epsilon=1)]])
def test_only_a_guarantee_is_split(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        split(bad, 2)
    assert caught.value.argument == "guarantee"


def test_add_or_remove_costs_the_largest_of_each_parameter() -> None:
    both = [ApproxDP(epsilon=1, delta=1e-9), ApproxDP(epsilon=0.5, delta=1e-6)]
    assert parallel(both, "add/remove") == ApproxDP(epsilon=1, delta=1e-6)
    assert parallel([*both, PureDP(epsilon=2)], "add/remove") == ApproxDP(epsilon=2, delta=1e-6)
    assert parallel([PureDP(epsilon=0.1), PureDP(epsilon=0.3)], "add/remove") == PureDP(epsilon=0.3)
    assert parallel((ZCDP(rho=0.1), ZCDP(rho=0.3)), "add/remove") == ZCDP(rho=0.3)
    assert parallel([GaussianDP(mu=2), GaussianDP(mu=1)], "add/remove") == GaussianDP(mu=2)
    renyi = [RenyiDP(alpha=3, epsilon=1), RenyiDP(alpha=3, epsilon=2)]
    assert parallel(renyi, "add/remove") == RenyiDP(alpha=3, epsilon=2)


def test_changing_one_costs_a_removal_and_an_addition() -> None:
    assert parallel([PureDP(epsilon=0.1), PureDP(epsilon=0.3)], "change one") == PureDP(epsilon=0.6)
    assert parallel([ZCDP(rho=0.1), ZCDP(rho=0.3)], "change one") == ZCDP(rho=1.2)
    assert parallel([GaussianDP(mu=2), GaussianDP(mu=1)], "change one") == GaussianDP(mu=4)
    assert parallel([PureDP(epsilon=1)], "change one") == PureDP(epsilon=2)
    assert parallel([RenyiDP(alpha=4, epsilon=1)], "change one") == RenyiDP(alpha=2, epsilon=2.5)


def test_delta_under_change_one_is_that_of_the_worse_case() -> None:
    stay = parallel([ApproxDP(epsilon=1, delta=1e-6), ApproxDP(epsilon=0.1, delta=1e-9)], "change one")
    with mpmath.workdps(50):
        truth = mpmath.mpf("1e-6") * (1 + mpmath.e)
        assert truth <= mpmath.mpf(repr(stay.delta)) <= truth * (1 + 1e-15)  # type: ignore[union-attr]
    flat = [ApproxDP(epsilon=0, delta=0.1), ApproxDP(epsilon=5, delta=0), ApproxDP(epsilon=0, delta=0.3)]
    assert parallel(flat, "change one") == ApproxDP(epsilon=10, delta=0.6)
    assert parallel([PureDP(epsilon=1), ApproxDP(epsilon=1, delta=0)], "change one") == ApproxDP(epsilon=2, delta=0)
    assert parallel([ApproxDP(epsilon=1e300, delta=1e-300)], "change one") == ApproxDP(epsilon=2e300, delta=1)


@settings(deadline=None)
@given(st.lists(guarantees, min_size=1, max_size=6))
def test_change_one_covers_staying_and_every_move(parts: list[Guarantee]) -> None:
    bound = parallel(parts, "change one")
    assert isinstance(bound, ApproxDP)
    pairs = [(part.epsilon, part.delta) for part in parts if isinstance(part, ApproxDP)]
    for (e1, d1), (e2, d2) in itertools.permutations(pairs, 2):
        assert bound.epsilon >= (e1 + e2) * (1 - 1e-15)
        assert bound.delta >= min(1, d1 + d2)
    for e, d in pairs:
        assert bound.epsilon >= 2 * e
        assert bound.delta >= min(1, float(d * (1 + mpmath.exp(e))) * (1 - 1e-14))


@settings(deadline=None)
@given(st.lists(amounts, min_size=1, max_size=6), st.randoms())
def test_order_does_not_matter(sizes: list[float], random: Any) -> None:  # noqa: ANN401
    parts: list[Guarantee] = [ZCDP(rho=size) for size in sizes]
    shuffled = random.sample(parts, len(parts))
    assert parallel(parts, "add/remove") == parallel(shuffled, "add/remove")
    assert parallel(parts, "change one") == parallel(shuffled, "change one")


def test_staying_in_one_part_really_costs_twice() -> None:
    """Gaussian sums of units in [-1, 1] with σ = 1: μ = 1 under add/remove, and -1 changed to 1 moves a part by 2."""
    bound = parallel([GaussianDP(mu=1)] * 3, "change one")
    assert isinstance(bound, GaussianDP)
    assert gaussian_delta(bound.mu, 1.0) >= gaussian_delta(2.0, 1.0) > gaussian_delta(sqrt(2), 1.0)


@pytest.mark.parametrize("alpha", [2.5, 4, 20])
def test_the_renyi_bound_holds_for_gaussians(alpha: float) -> None:
    gaussian = RenyiDP(alpha=alpha, epsilon=alpha / 2)  # D_α of N(0,1) and N(1,1); N(-1,1) and N(1,1) have α·2
    bound = parallel([gaussian], "change one")
    assert isinstance(bound, RenyiDP)
    assert bound.alpha == alpha / 2
    assert bound.epsilon >= bound.alpha * 2


class Unknown:
    """A mechanism of somebody else, whose event tacit cannot price."""

    event = "coin toss"
    guarantee = PureDP(epsilon=1)


PARTS: list[tuple[Any, Guarantee]] = [
    (Laplace(sensitivity=1, epsilon=0.5), PureDP(epsilon=0.5)),
    (Laplace(sensitivity=2, scale=8), PureDP(epsilon=0.25)),
    (Laplace(sensitivity=1, epsilon=0.5).event, PureDP(epsilon=0.5)),
    (Exponential(sensitivity=1, epsilon=1, monotone=True), PureDP(epsilon=1)),
    (Gaussian(sensitivity=1, rho=0.1), ZCDP(rho=0.1)),
    (Gaussian(sensitivity=1, rho=0.1).event, ZCDP(rho=0.1)),
    (Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6), ApproxDP(epsilon=0.5, delta=1e-6)),
    (ApproxRelease(epsilon=Fraction(1, 2), delta=Fraction(1, 10)), ApproxDP(epsilon=0.5, delta=0.1)),
    (ZCDPRelease(rho=Fraction(1, 8)), ZCDP(rho=0.125)),
    (PoissonSampled(rate=Fraction(1), of=PureRelease(epsilon=Fraction(1))), PureDP(epsilon=1)),
]


@pytest.mark.parametrize(("part", "guarantee"), PARTS)
def test_a_mechanism_or_an_event_counts_as_its_guarantee(part: Any, guarantee: Guarantee) -> None:  # noqa: ANN401 - any part
    for relation in get_args(Neighbours):
        assert parallel([part], relation) == parallel([guarantee], relation)
        assert parallel([part, guarantee, part], relation) == parallel([guarantee], relation)


def test_pure_parts_beside_parts_in_rho_are_priced_in_rho() -> None:
    noise = Gaussian(sensitivity=1, rho=0.1)
    assert parallel([noise, Laplace(sensitivity=1, epsilon=0.5)], "add/remove") == ZCDP(rho=0.125)
    assert parallel([noise, PureDP(epsilon=0.5)], "change one") == ZCDP(rho=0.5)
    assert parallel([noise, Exponential(sensitivity=1, epsilon=0.5)], "add/remove") == ZCDP(rho=0.1)  # 0.5²/8 < 0.1
    assert parallel([ZCDP(rho=0.1), PureDP(epsilon=0)], "add/remove") == ZCDP(rho=0.1)


@pytest.mark.parametrize("relation", ["add/remove", "change one"])
@pytest.mark.parametrize(
    "bad",
    [
        [],
        (),
        None,
        PureDP(epsilon=1),
        [1],
        [None],
        ["PureDP"],
        [ApproxDP(epsilon=1, delta=0), ZCDP(rho=1)],
        [ApproxDP(epsilon=1, delta=0), PureDP(epsilon=1), GaussianDP(mu=1)],
        [Laplace(sensitivity=1, epsilon=1), Unknown()],
        [RandomizedResponse(epsilon=1)],
        [PureRelease(epsilon=Fraction(1), neighbours="change one")],
        [RenyiDP(alpha=2, epsilon=1), RenyiDP(alpha=3, epsilon=1)],
    ],
)
def test_parts_are_a_list_of_one_kind_under_add_remove(bad: Any, relation: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        parallel(bad, relation)
    assert caught.value.argument == "parts"


def test_orders_up_to_two_have_no_bound_under_change_one() -> None:
    with pytest.raises(InvalidError, match="order > 2"):
        parallel([RenyiDP(alpha=2, epsilon=1)], "change one")
    assert parallel([RenyiDP(alpha=2, epsilon=1)], "add/remove") == RenyiDP(alpha=2, epsilon=1)


@pytest.mark.parametrize("bad", ["", "add", "Add/Remove", None, 1, True, ["add/remove"]])
def test_an_unknown_relation_is_refused(bad: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidError) as caught:
        parallel([PureDP(epsilon=1)], bad)
    assert caught.value.argument == "neighbours"


def test_shares_of_exact_numbers_stay_exact() -> None:
    third = ZCDP(rho=Exact(Fraction(1, 3)))
    assert [exactly(piece.rho) for piece in split(third, 2) if isinstance(piece, ZCDP)] == [Fraction(1, 6)] * 2
