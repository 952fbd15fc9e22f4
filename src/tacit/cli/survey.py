"""A made-up survey for the demonstration: 6,000 people, some of whom answered twice. No real person."""

from __future__ import annotations

from pathlib import Path

import numpy as np

REGIONS = ("north", "south", "east", "west")
PEOPLE = 6_000
_HEADER = "person_id,region,urban,age,income"


def write(folder: Path) -> Path:
    """Write survey.csv into a folder; always the same rows."""
    chance = np.random.default_rng(2026)
    answers = chance.choice([1, 2], PEOPLE, p=[0.8, 0.2])
    person = np.repeat(np.arange(PEOPLE), answers)
    region = chance.choice(len(REGIONS), PEOPLE, p=[0.4, 0.3, 0.2, 0.1])[person]
    urban = chance.choice([True, False], PEOPLE, p=[0.66, 0.34])[person]
    age = chance.integers(18, 95, PEOPLE)[person]
    income = np.exp(chance.normal(10.4, 0.5, PEOPLE))[person] * (1 + 0.15 * urban) * (1 + 0.1 * (region == 0))
    lines = [
        f"{p},{REGIONS[r]},{'true' if u else 'false'},{a},{i:.0f}"
        for p, r, u, a, i in zip(person, region, urban, age, income, strict=True)
    ]
    file = folder / "survey.csv"
    file.write_text("\n".join([_HEADER, *lines]) + "\n", encoding="utf-8")
    return file
