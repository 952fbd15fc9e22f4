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
    assert law.std == law.variance**0.5


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
