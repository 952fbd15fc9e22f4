from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, PureDP
from tacit.query.formatting import amounts, decimals, listed, percent, plain, rounded, spell


def test_guarantees_are_spelled_in_symbols() -> None:
    assert spell(PureDP(epsilon=0.1)) == "ε = 0.1"
    assert spell(ApproxDP(epsilon=0.1, delta=1e-6)) == "ε = 0.1, δ = 1e-06"
    assert spell(ZCDP(rho=0.25)) == "ρ = 0.25"
    assert spell(ApproxZCDP(rho=0.25, delta=0)) == "ρ = 0.25, δ = 0"
    assert spell(GaussianDP(mu=1)) == str(GaussianDP(mu=1))
    assert amounts(ApproxZCDP(rho=0.25, delta=0)) == {"rho": 0.25, "delta": 0.0}


@pytest.mark.parametrize(
    ("number", "text"),
    [(3123456.7, "3123457"), (-3e9, "-3000000000"), (12.5, "12.5"), (1e-9, "1e-09"), (inf, "inf"), (0.0, "0")],
)
def test_numbers_have_no_exponent_where_people_write_none(number: float, text: str) -> None:
    assert plain(number) == text


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_value_and_ends_can_be_told_apart_and_the_shown_interval_holds_the_real_one(
    value: float, below: float, above: float
) -> None:
    low, high = value - below, value + above
    digits = decimals([(low, high)])
    shown = [rounded(low, digits, -1), rounded(value, digits), rounded(high, digits, 1)]
    assert float(shown[0]) <= low
    assert float(shown[2]) >= high
    if min(below, above) > (high - low) / 8:
        assert float(shown[0]) < float(shown[1]) < float(shown[2])
    assert not any("e" in text for text in shown)


def test_what_has_no_width_is_shown_as_it_is() -> None:
    assert decimals([]) is decimals([(-inf, inf)]) is decimals([(2.0, 2.0)]) is None
    assert rounded(2.5, None) == "2.5"
    assert rounded(inf, 2) == "inf"
    assert rounded(-0.001, 1) == "0.0"
    assert rounded(1e300, 2) == "1e+300"


def test_shares_and_lists() -> None:
    assert [percent(share) for share in (0.95, 0.5, 0.9999)] == ["95%", "50%", "99.99%"]
    assert [listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
