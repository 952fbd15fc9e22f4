"""The laws of the textbooks, against mpmath and SciPy."""

from __future__ import annotations

from math import inf, isnan, nan

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from tacit.errors import InvalidError
from tacit.laws import ContinuousLaw, ExponentialLaw, LaplaceLaw, NormalLaw

LAWS = {
    "Laplace": (LaplaceLaw(scale=2.5, mean=-5.0), stats.laplace(-5, 2.5)),
    "normal": (NormalLaw(sigma=3.0, mean=1.0), stats.norm(1, 3)),
    "exponential": (ExponentialLaw(rate=0.7), stats.expon(scale=1 / 0.7)),
}
every = pytest.mark.parametrize(("law", "other"), LAWS.values(), ids=LAWS)
X = np.array([-60.0, -5.0, -4.99, -0.1, 0.0, 0.1, 1.0, 3.7, 40.0])


@every
def test_all_functions_are_those_of_scipy(law: ContinuousLaw, other: stats.rv_continuous) -> None:
    p = np.array([1e-12, 0.01, 0.5, 0.6, 0.999])
    for name in ("pdf", "cdf", "sf"):
        assert np.allclose(getattr(law, name)(X), getattr(other, name)(X), rtol=1e-12, atol=0)
    assert np.allclose(law.quantile(p), other.ppf(p), rtol=1e-12)
    assert np.isclose(law.variance, other.var(), rtol=1e-14)
    assert np.isclose(law.std, other.std(), rtol=1e-15)


@every
def test_ends_and_no_number(law: ContinuousLaw, other: stats.rv_continuous) -> None:
    assert (law.cdf(inf), law.sf(inf), law.cdf(-inf), law.sf(-inf), law.pdf(inf)) == (1, 0, 0, 1, 0)
    assert all(isnan(float(function(nan))) for function in (law.pdf, law.cdf, law.sf))
    assert (law.quantile(0), law.quantile(1)) == other.support()


def test_a_notebook_shows_the_parameters() -> None:
    assert all(text in LaplaceLaw(scale=2.5)._repr_html_() for text in ("LaplaceLaw", "scale", "2.5"))


def test_an_exponential_law_forgets() -> None:
    law = ExponentialLaw(rate=0.3)
    for t, x in ((1.0, 2.0), (7.0, 0.5)):
        assert np.isclose(float(law.sf(t + x)) / float(law.sf(t)), law.sf(x), rtol=1e-14)


def test_far_tails_keep_their_digits() -> None:
    assert np.isclose(float(LaplaceLaw(scale=1.0).sf(600.0)), float(mp.exp(-600) / 2), rtol=1e-12)
    assert np.isclose(float(NormalLaw(sigma=1.0).sf(30.0)), float(mp.erfc(30 / mp.sqrt(2)) / 2), rtol=1e-12)
    assert np.isclose(float(ExponentialLaw(rate=1.0).cdf(1e-300)), 1e-300, rtol=1e-12)


CENTRES = [(1.0, 2.0**53, -1.0), (1.0, -(2.0**53), 3.0), (1e300, 1e308, 0.0), (1e300, 1e308, -1e300), (3.0, 1e15, 2.0)]


@pytest.mark.parametrize(("size", "mean", "gap"), CENTRES)
def test_a_large_mean_keeps_the_digits_of_the_distance(size: float, mean: float, gap: float) -> None:
    x = mean + gap
    y = (mp.mpf(x) - mp.mpf(mean)) / mp.mpf(size)
    half = mp.exp(-abs(y)) / 2
    below, above = (half, 1 - half) if y <= 0 else (1 - half, half)
    laplace, normal = LaplaceLaw(scale=size, mean=mean), NormalLaw(sigma=size, mean=mean)
    assert (laplace.cdf(x), laplace.sf(x)) == pytest.approx((float(below), float(above)), rel=1e-12)
    expected = (float(mp.ncdf(y)), float(mp.ncdf(-y)))
    assert (normal.cdf(x), normal.sf(x)) == pytest.approx(expected, rel=1e-12)


def test_the_ends_of_the_floats_do_not_overflow() -> None:
    top = 1.5e308
    for law in (LaplaceLaw(scale=top, mean=top), NormalLaw(sigma=top, mean=top)):
        for x in (-top, top / 4):
            y = (mp.mpf(x) - top) / top
            below = mp.exp(y) / 2 if isinstance(law, LaplaceLaw) else mp.ncdf(y)
            assert (law.cdf(x), law.sf(x)) == pytest.approx((float(below), float(1 - below)), rel=1e-12)
            assert law.quantile(float(below)) == pytest.approx(x, rel=1e-12)
    assert LaplaceLaw(scale=top).pdf(0) == pytest.approx(float(1 / (2 * mp.mpf(top))), rel=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e-308, 1e200, 1e307])
def test_the_standard_deviation_does_not_go_through_the_variance(size: float) -> None:
    assert LaplaceLaw(scale=size).std == pytest.approx(float(mp.sqrt(2) * size), rel=1e-15, abs=0)
    assert NormalLaw(sigma=size).std == size
    assert ExponentialLaw(rate=size).std == pytest.approx(float(1 / mp.mpf(size)), rel=1e-15, abs=0)


@pytest.mark.parametrize("huge", [10**400, -(10**400)])
def test_an_integer_beyond_the_floats_is_refused(huge: int) -> None:
    for make in (lambda: LaplaceLaw(scale=1, mean=huge), lambda: NormalLaw(sigma=1, mean=huge)):
        with pytest.raises(InvalidError):
            make()
    with pytest.raises(InvalidError):
        LaplaceLaw(scale=huge)


@pytest.mark.parametrize("bad", [0, -1, nan, inf, "1", None])
def test_a_scale_must_be_positive(bad: object) -> None:
    for make in (
        lambda: LaplaceLaw(scale=bad),  # type: ignore[arg-type]
        lambda: NormalLaw(sigma=bad),  # type: ignore[arg-type]
        lambda: ExponentialLaw(rate=bad),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidError):
            make()


@pytest.mark.parametrize("bad", ["1", None, [True], [[1], [1, 2]], {"a": 1}, 1j])
def test_a_point_must_be_a_number(bad: object) -> None:
    with pytest.raises(InvalidError, match="x must be a number"):
        LaplaceLaw(scale=1.0).pdf(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-0.1, 1.1, nan, [0.5, 2]])
def test_a_probability_must_be_from_0_to_1(bad: object) -> None:
    with pytest.raises(InvalidError, match="from 0 to 1"):
        LaplaceLaw(scale=1.0).quantile(bad)  # type: ignore[arg-type]
