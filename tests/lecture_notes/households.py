"""A stand-in for the consumer-expenditure file of the notes: 5,133 units, 337 of them rural."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

import tacit as tc
from tacit.database import Database
from tacit.guarantees.events import Neighbours

UNITS, RURAL = 5133, 337
INCOME, EXPENDITURE = (0, 400_000), (0, 50_000)


@cache
def rows() -> pd.DataFrame:
    """Return the same rows at every call."""
    rng = np.random.default_rng(2026)
    return pd.DataFrame(
        {
            "UrbanRural": np.where(np.arange(UNITS) < RURAL, 2, 1),
            "Income": rng.lognormal(10.8, 0.8, UNITS).clip(*INCOME).round(),
            "Expenditure": rng.lognormal(8.9, 0.5, UNITS).clip(*EXPENDITURE).round(),
            "Race": rng.integers(1, 7, UNITS),
        }
    )


def database(neighbours: Neighbours, epsilon: float = 1.0) -> Database:
    """Open the rows with a budget."""
    return tc.open(
        rows(),
        name="ce",
        unit=tc.ROW,
        neighbours=neighbours,
        bounds={"Income": INCOME, "Expenditure": EXPENDITURE},
        keys={"UrbanRural": [1, 2], "Race": [1, 2, 3, 4, 5, 6]},
        required=["Income", "Expenditure", "Race", "UrbanRural"],
        budget=tc.PureDP(epsilon=epsilon),
    )
