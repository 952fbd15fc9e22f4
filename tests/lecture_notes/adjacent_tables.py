"""Rows 87 to 93: e^ε, the laws in pictures, and a private mean."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
import pytest

from lecture_notes.rows import row, tc

DEFINITIONS, LAWS, SIZE = (
    "docs/explanation/definitions.md",
    "docs/explanation/laws.md",
    "docs/explanation/public-size.md",
)


def _mean() -> Any:  # noqa: ANN401 - see `rows`
    size = tc.sensitivity.mean((0, 1), 100, neighbours="change one").l1
    return tc.Laplace(sensitivity=size, epsilon=1)


@row(87, "e^ε against 1 + ε", DEFINITIONS)
def exponential_of_epsilon() -> None:
    ratio = exp(tc.Laplace(sensitivity=1, epsilon=1).loss.at(0, on=0, against=1))
    assert 1 + 1 < ratio == pytest.approx(exp(1))
    assert "1 + ε" in str(tc.figures.exp_epsilon().to_dict())


@row(88, "one person moves the mean by at most 1/n", SIZE)
def one_person() -> None:
    assert tc.sensitivity.mean((0, 1), 100, neighbours="change one").l1 == 0.01
    found = tc.sensitivity.of(lambda rows: sum(rows) / 4, domain=[0, 1], n=4, neighbours="change one")
    assert found.l1 == 0.25


@row(89, "density, distribution, inverse, histograms of draws", LAWS)
def laws() -> None:
    m = tc.Laplace(sensitivity=1.0, epsilon=1)
    assert m.cdf(m.quantile(0.9)) == pytest.approx(0.9, abs=1e-5)
    draws = m.sample(20_000, seed=1)
    assert abs(np.mean(draws <= m.quantile(0.9)) - 0.9) < 0.02
    for kind in ("law", "cdf", "quantile", "releases"):
        assert m.plot(kind).to_dict()["title"]


@row(90, "M(x) = mean + Lap(Δ/ε)", SIZE)
def private_mean() -> None:
    m = _mean()
    assert tc.Laplace(sensitivity=0.01, epsilon=1).scale == pytest.approx(0.01)
    assert abs(m.release(0.4) - 0.4) < 0.5  # beyond with probability e^-50


@row(91, "two curves of adjacent tables, their ratio within e^ε", LAWS)
def neighbours() -> None:
    m = tc.Laplace(sensitivity=1, epsilon=0.5)
    ratios = m.ratio(np.arange(-9, 9), value=0, neighbour=1)
    assert np.max(ratios) <= exp(0.5) * (1 + 1e-12)
    assert np.log(m.ratio(1, value=0, neighbour=1)) == pytest.approx(m.loss.at(1, on=0, against=1))
    assert m.plot("neighbours").to_dict()["title"]


def _lines(chart: Any) -> dict[str, dict[float, float]]:  # noqa: ANN401 - of altair
    """Return the points of every curve of a chart, from its largest table."""
    table = max(chart.to_dict()["datasets"].values(), key=len)
    lines: dict[str, dict[float, float]] = {}
    for point in table:
        lines.setdefault(point["line"], {})[round(point["at"], 6)] = point["value"]
    return lines


@row(92, "exponential densities, survivor functions, memorylessness", LAWS)
def exponential() -> None:
    """Check that the curves are λe^(-λx) and e^(-λx), and that given X > t the second begins again at t.

    The magnitude of Laplace noise has this law, and so no memory either.
    """
    for kind, value in (("density", lambda rate, x: rate * exp(-rate * x)), ("survivor", lambda r, x: exp(-r * x))):
        lines = _lines(tc.figures.exponential(kind, rates=[0.5, 2]))
        for rate in (0.5, 2):
            for x, y in lines[f"λ = {rate:g}"].items():
                assert y == pytest.approx(value(rate, x), rel=1e-9)
    for given, after in (1, 1.0), (3, 3.0):
        lines = _lines(tc.figures.exponential("memory", rates=[0.5], after=after))
        whole, rest = lines["λ = 0.5"], lines[f"λ = 0.5, given X > {given}"]
        moved = {x: y for x, y in rest.items() if x >= after}
        assert len(moved) > 100
        assert all(y == pytest.approx(exp(-0.5 * (x - after)), rel=1e-9) for x, y in moved.items())
        assert moved[after] == pytest.approx(whole[0.0])
    m = tc.Laplace(sensitivity=1.0, epsilon=0.5)
    for s, t in (1.0, 2.0), (4.0, 0.5):
        assert m.sf(s + t) / m.sf(s) == pytest.approx(2 * m.sf(t), rel=1e-4)  # Pr[noise > t | noise > 0]


@row(93, "many releases and their histogram", LAWS)
def many_releases() -> None:
    m = _mean()
    draws = m.sample(5000, seed=1)
    assert np.std(draws) == pytest.approx(0.01414, rel=0.1)
    assert m.plot("releases").to_dict()["title"]
