from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, nan, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidError
from tacit.guarantees.exact import Exact, fraction_between, positive, round_up, to_fraction, whole

numbers = st.fractions(min_value=-(10**30), max_value=10**30)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int32(7), Fraction(7)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (3, Fraction(3)),
        (Exact(Fraction(1, 3)), Fraction(1, 3)),
    ],
)
def test_a_number_means_the_decimal_that_python_prints(value: object, meaning: Fraction) -> None:
    assert to_fraction(value, "x") == meaning


@pytest.mark.parametrize(
    "value", [nan, inf, -inf, True, np.bool_(1), "1", None, 1j, [1], Decimal("nan"), Decimal("inf")]
)
def test_anything_else_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidError) as caught:
        to_fraction(value, "epsilon")
    assert caught.value.argument == "epsilon"


def test_whole_takes_integers_only() -> None:
    assert whole(np.uint8(3)) == 3
    assert [whole(x) for x in (True, 1.0, "1", None, Fraction(1))] == [None] * 5


@given(numbers)
def test_rounding_up_gives_the_least_float_whose_decimal_is_no_less(value: Fraction) -> None:
    high = round_up(value)
    assert Fraction(repr(high)) >= value
    assert Fraction(repr(nextafter(high, -inf))) < value


def test_rounding_up_beyond_the_floats_is_infinite() -> None:
    assert not isfinite(round_up(Fraction(10**400)))


@given(numbers)
def test_exact_survives_pickling_and_copying(value: Fraction) -> None:
    exact = Exact(value)
    for twin in (pickle.loads(pickle.dumps(exact)), copy.deepcopy(exact), copy.copy(exact)):  # noqa: S301 - our own bytes
        assert twin.fraction == value
        assert twin == exact


@pytest.mark.parametrize("value", [0, -1, -0.0, nan])
def test_positive_refuses_what_is_not(value: object) -> None:
    with pytest.raises(InvalidError, match="> 0"):
        positive(value, "scale")


@pytest.mark.parametrize("value", [0, 1, 1.5, -0.1, nan])
def test_a_probability_lies_strictly_inside(value: object) -> None:
    with pytest.raises(InvalidError, match="strictly between 0 and 1"):
        fraction_between(value, "delta", 0, 1)
