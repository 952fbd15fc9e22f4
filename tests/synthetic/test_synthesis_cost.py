"""The cost of everything that a release draws, added up from the noise itself, against what the ledger charges."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit as tc
from tacit.noise import SYSTEM, BitSource
from tacit.synthetic.coded_rows import Counts
from tacit.synthetic.cost import rho_of
from tacit.synthetic.pair_tables import TableNoise

KEYS = {"a": ["x", "y"], "b": ["x", "y", "z"], "c": ["x", "y"]}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[TableNoise]:
    """Every noise of a release, once for each call that draws from it."""
    noises: list[TableNoise] = []
    draw = TableNoise.draw

    def noted(self: TableNoise, size: int, bits: BitSource = SYSTEM) -> Counts:
        if not any(self is other for other in noises):
            noises.append(self)
        return draw(self, size, bits)

    monkeypatch.setattr(TableNoise, "draw", noted)
    return noises


def frame(rows: int) -> pd.DataFrame:
    random = np.random.default_rng(1)
    return pd.DataFrame({name: random.choice(keys, rows) for name, keys in KEYS.items()})


@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
@pytest.mark.parametrize("target", [None, "c"])
@pytest.mark.parametrize("rows", [20, 5_000])
@pytest.mark.parametrize("more", [{}, {"report": True, "share": 0.3}, {"report": True, "share": 0.9}])
@pytest.mark.parametrize(
    ("budget", "cost"),
    [
        (tc.ApproxDP(epsilon=9, delta=1e-3), {"epsilon": 1.5}),
        (tc.ApproxDP(epsilon=9, delta=1e-3), {"epsilon": 1.5, "delta": 1e-9}),
        (tc.ApproxDP(epsilon=9, delta=1e-3), {"epsilon": 1.5, "delta": 1e-3}),
        (tc.ZCDP(rho=9), {"rho": 0.5}),
    ],
)
@pytest.mark.filterwarnings("ignore:No dependence")
def test_the_noise_costs_what_is_charged(
    drawn: list[TableNoise],
    neighbours: Any,  # noqa: ANN401 - a literal
    target: str | None,
    rows: int,
    more: dict[str, Any],
    budget: tc.ApproxDP | tc.ZCDP,
    cost: dict[str, Any],
) -> None:
    """All noise has one law; its ρ, or its ε, adds up to at most the cost and to hardly less."""
    db = tc.open(frame(rows), unit=tc.ROW, keys=KEYS, neighbours=neighbours, budget=budget)
    db.synthesize(10, target=target, **cost, **more)
    laws = {noise.law for noise in drawn}
    assert len(laws) == 1
    total = sum((noise.cost for noise in drawn), Fraction(0))
    if laws == {"laplace"}:
        whole = Fraction("1.5")
    else:
        whole = Fraction("0.5") if "rho" in cost else rho_of(Fraction("1.5"), Fraction(str(cost["delta"])))
    assert total <= whole
    assert total > whole * Fraction(999, 1_000)
