from __future__ import annotations

import dataclasses
from fractions import Fraction
from math import inf, nan
from typing import Any

import pytest

from tacit.errors import InvalidError
from tacit.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from tacit.guarantees.exact import Exact

GOOD: list[tuple[Any, dict[str, float]]] = [
    (PureDP, {"epsilon": 0.1}),
    (ApproxDP, {"epsilon": 0.5, "delta": 1e-6}),
    (ZCDP, {"rho": 0.1}),
    (RenyiDP, {"alpha": 8.0, "epsilon": 0.5}),
    (GaussianDP, {"mu": 1.0}),
]


@pytest.mark.parametrize(("kind", "fields"), GOOD)
@pytest.mark.parametrize("bad", [-1, nan, inf, "1", None, True])
def test_each_field_must_be_a_number_from_zero_on(kind: Any, fields: dict[str, float], bad: object) -> None:  # noqa: ANN401
    for name in fields:
        with pytest.raises(InvalidError) as caught:
            kind(**{**fields, name: bad})
        assert caught.value.argument == name


def test_an_order_is_above_one() -> None:
    for bad in (1, 0.5, 1.0):
        with pytest.raises(InvalidError, match="> 1"):
            RenyiDP(alpha=bad, epsilon=1)


def test_delta_is_a_probability() -> None:
    with pytest.raises(InvalidError, match="from 0 to 1"):
        ApproxDP(epsilon=1, delta=1.5)
    assert ApproxDP(epsilon=0, delta=1).delta == 1


@pytest.mark.parametrize(("kind", "fields"), GOOD)
def test_guarantees_are_frozen_equal_and_hashable(kind: Any, fields: dict[str, float]) -> None:  # noqa: ANN401
    one, two = kind(**fields), kind(**fields)
    assert one == two
    assert len({one, two}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, next(iter(fields)), 3.0)


def test_a_guarantee_keeps_the_rational_and_shows_it_rounded_up() -> None:
    third = PureDP(epsilon=Exact(Fraction(1, 3)))
    assert isinstance(third.epsilon, Exact)
    assert third.epsilon.fraction == Fraction(1, 3)
    assert repr(third) == "PureDP(epsilon=0.33333333333333337)"
