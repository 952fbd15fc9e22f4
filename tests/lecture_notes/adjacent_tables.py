"""Rows 87 to 93: e^ε, the laws in pictures, and a private mean."""

from __future__ import annotations

from math import exp, sqrt
from typing import Any

import numpy as np
import pytest

from lecture_notes.figures import curves
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
    lines = curves(tc.figures.exp_epsilon())
    assert all(y == pytest.approx(exp(x), rel=1e-4) for x, y in lines["e^ε"].items())
    assert all(y == pytest.approx(1 + x, rel=1e-4) for x, y in lines["1 + ε"].items())
    assert max(lines["e^ε"]) >= 1


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
    uniform = np.random.default_rng(2).random(2000)  # the inverse of uniforms has the law
    inverted = np.array([m.quantile(u) for u in uniform])
    assert abs(np.mean(inverted <= 1) - m.cdf(1)) < 0.05
    for kind, law in (("cdf", m.cdf), ("quantile", m.quantile)):
        points = curves(m.plot(kind))["drawn"]
        assert len(points) > 100
        assert all(y == pytest.approx(law(x), abs=2e-3) for x, y in points.items())
    assert "the law that is drawn" in str(m.plot("law").to_dict())
    assert "simulated releases" in str(m.plot("releases").to_dict())


@row(90, "M(x) = mean + Lap(Δ/ε)", SIZE)
def private_mean() -> None:
    """Check the law of many releases at five points; each is beyond 7 standard errors with probability 3e-12."""
    m, n = _mean(), 5000
    assert m.scale == pytest.approx(0.01, rel=1e-5)
    noise = np.array([m.release(0.4) for _ in range(n)]) - 0.4
    for t in (-0.02, -0.005, 0.001, 0.01, 0.03):
        beyond = exp(-abs(t) / 0.01) / 2
        chance = beyond if t < 0 else 1 - beyond
        assert abs(np.mean(noise <= t) - chance) < 7 * sqrt(chance * (1 - chance) / n) + 1e-4


@row(91, "two curves of adjacent tables, their ratio within e^ε", LAWS)
def neighbours() -> None:
    m = tc.Laplace(sensitivity=1, epsilon=0.5)
    ratios = m.ratio(np.arange(-9, 9), value=0, neighbour=1)
    assert np.max(ratios) <= exp(0.5) * (1 + 1e-12)
    assert np.log(m.ratio(1, value=0, neighbour=1)) == pytest.approx(m.loss.at(1, on=0, against=1))
    chart = m.plot("neighbours").to_dict()
    assert "e^±ε" in str(chart["title"])
    points = [each for table in chart["datasets"].values() for each in table]
    first, second = (
        {each["x"]: each["height"] for each in points if each.get("part") == part} for part in ("x = 0", "x′ = 1")
    )
    band = {each["x"]: (each["height"], each["most"]) for each in points if "most" in each}
    assert band.keys() == first.keys() == second.keys()
    for x, (low, high) in band.items():
        assert low * (1 - 1e-9) <= first[x] <= second[x] * exp(0.5) * (1 + 1e-9)
        assert low == pytest.approx(second[x] * exp(-0.5))
        assert high == pytest.approx(min(second[x] * exp(0.5), max(top for _, top in band.values())))


@row(92, "exponential densities, survivor functions, memorylessness", LAWS)
def exponential() -> None:
    """Check that the curves are λe^(-λx) and e^(-λx), and that given X > t the second begins again at t.

    The magnitude of Laplace noise has this law, and so no memory either.
    """
    for kind, value in (("density", lambda rate, x: rate * exp(-rate * x)), ("survivor", lambda r, x: exp(-r * x))):
        lines = curves(tc.figures.exponential(kind, rates=[0.5, 2]))
        for rate in (0.5, 2):
            for x, y in lines[f"λ = {rate:g}"].items():
                assert y == pytest.approx(value(rate, x), rel=1e-9)
    for given, after in (1, 1.0), (3, 3.0):
        lines = curves(tc.figures.exponential("memory", rates=[0.5], after=after))
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
    assert abs(np.mean(draws)) < 0.01414 / 5000**0.5 * 6.5
    bars, line = m.plot("releases").to_dict()["datasets"].values()
    if "right" not in bars[0]:
        bars, line = line, bars
    assert len(bars) > 20
    heights = {round(each["left"] + each["right"], 6): each["height"] for each in bars}
    law = {round(2 * each["left"], 6): each["height"] for each in line}
    shared = heights.keys() & law.keys()
    assert len(shared) > 20
    assert sum(abs(heights[x] - law[x]) for x in shared) < 0.3 * sum(law.values())
