"""Draw the pictures of docs/reference/charts.md: six kinds of charts of a made-up clinic, for light and dark pages.

    python tools/draw_charts.py

Each run draws fresh noise, so the pictures change.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import tacit as tc

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "charts"
ROWS = 20_000
TOWNS = ["Bern", "Basel", "Biel", "Chur", "Genf", "Zug"]
WARDS = ["Eyes", "Heart", "Lungs", "Skin", "Surgery"]
MONTHS = [f"2026-{month:02d}" for month in range(1, 13)]


def clinic() -> pd.DataFrame:
    """Return a made-up table of visits, one row a patient."""
    draw = np.random.default_rng(20_260)
    season = 1 + 0.4 * np.cos(np.arange(12) * np.pi / 6)
    return pd.DataFrame(
        {
            "month": draw.choice(MONTHS, ROWS, p=season / season.sum()),
            "town": draw.choice(TOWNS, ROWS, p=[0.3, 0.25, 0.1, 0.08, 0.2, 0.07]),
            "ward": draw.choice(WARDS, ROWS, p=[0.15, 0.3, 0.2, 0.1, 0.25]),
            "sex": draw.choice(["f", "m"], ROWS),
            "cost": draw.gamma(2.0, 150.0, ROWS),
        }
    )


def main() -> None:
    """Draw every picture twice."""
    keys = {"month": MONTHS, "town": TOWNS, "ward": WARDS, "sex": ["f", "m"]}
    budget = tc.PureDP(epsilon=10)
    db = tc.open(clinic(), name="visits", unit=tc.ROW, keys=keys, bounds={"cost": (0, 2000)}, budget=budget)
    answers = {
        "groups": db.sql("SELECT ward, count(*) AS n, avg(cost) AS cost FROM visits GROUP BY ward", epsilon=0.1),
        "time": db.sql("SELECT month, sex, count(*) AS n FROM visits GROUP BY month, sex", epsilon=0.05),
        "histogram": db.histogram("cost", bins=[0, 50, 100, 200, 300, 400, 600, 1000, 2000], epsilon=0.05),
        "side-by-side": db.crosstab("ward", "sex", epsilon=0.05),
        "heat-map": db.crosstab("ward", "town", epsilon=0.1),
        "quantiles": db.quantile("cost", [0.1, 0.5, 0.9], by="sex", epsilon=0.5),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, answer in answers.items():
        for theme in ("light", "dark"):
            answer.plot(theme=theme).save(FOLDER / f"{name}-{theme}.svg")


if __name__ == "__main__":
    main()
