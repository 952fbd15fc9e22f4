"""Create the tables of the bench on limits in `bench/.data/`. Every machine gets the same tables.

Each table has the columns unit, key and x. The first three have values x from a skewed law, clipped to [0, 100].

* Zipf: the number of rows of a unit follows Zipf's law with exponent 1.8, capped; rows are in 50 random groups.
* Months: every unit has one row in each of twelve months.
* Heavy: units have 1 + Poisson(5) rows, and one more unit has a tenth of all rows; rows are in 50 random groups.
* Adult: the census table that the tests ship; a row is a unit, the groups are occupations by race, x is the age.

A fifth table has the visits of a clinic: 500,000 rows. One person has 55,812 of them, and no other
person has more than 64.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from peers import HERE
from query_data import FOLDER

SEED = 18
GROUPS, MONTHS = 50, 12
ZIPF_UNITS, EXPONENT, MOST_ROWS = 30_000, 1.8, 100_000
UNITS = 50_000
VISITS, PERSONS = 500_000, 79_049
EXTREME = PERSONS  # the number of the person with the most visits
_ADULT = HERE.parent / "tests" / "data" / "adult" / "adult.csv.xz"

Integers: TypeAlias = npt.NDArray[np.int64]


def tables() -> dict[str, Path]:
    """Return the file of each of the four tables by its name; create those that are missing."""
    makers = {"zipf": _zipf, "months": _months, "heavy": _heavy, "adult": _adult}
    return {name: _ensure(f"limits-{name}", make) for name, make in makers.items()}


def keys(name: str, path: Path) -> list[str]:
    """Return the public keys of a table: all occupations by all races, or the names of the groups."""
    present = pd.read_parquet(path, columns=["key"])["key"].unique()
    if name != "adult":
        return sorted(present)
    parts = [sorted({key.split(", ")[side] for key in present}) for side in (0, 1)]
    return [", ".join(pair) for pair in product(*parts)]


def visits() -> Path:
    """Return the file of the clinic's visits; create it if it is missing."""
    return _ensure("limits-visits", _visits)


def _ensure(name: str, make: Callable[[], pd.DataFrame]) -> Path:
    path = FOLDER / f"{name}.parquet"
    if not path.exists():
        print(f"creating {path.name} …", flush=True)
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / ".gitignore").write_text("*\n")
        unfinished = path.with_suffix(".part")
        make().to_parquet(unfinished, index=False)
        unfinished.rename(path)
    return path


def _zipf() -> pd.DataFrame:
    generator = np.random.default_rng(SEED)
    sizes = np.minimum(generator.zipf(EXPONENT, ZIPF_UNITS), MOST_ROWS)
    unit = np.repeat(np.arange(ZIPF_UNITS), sizes)
    return _table(generator, unit, generator.integers(GROUPS, size=unit.size))


def _months() -> pd.DataFrame:
    generator = np.random.default_rng(SEED)
    return _table(generator, np.repeat(np.arange(UNITS), MONTHS), np.tile(np.arange(MONTHS), UNITS))


def _heavy() -> pd.DataFrame:
    generator = np.random.default_rng(SEED)
    sizes = 1 + generator.poisson(5, UNITS)
    unit = np.repeat(np.arange(UNITS + 1), [*sizes, sizes.sum() // 9])
    return _table(generator, unit, generator.integers(GROUPS, size=unit.size))


def _adult() -> pd.DataFrame:
    with lzma.open(_ADULT, "rt") as file:
        people = pd.read_csv(file, sep=";")
    key = people["occupation"] + ", " + people["race"]
    return pd.DataFrame({"unit": np.arange(len(people)), "key": key, "x": people["age"].astype(float)})


def _table(generator: np.random.Generator, unit: Integers, group: Integers) -> pd.DataFrame:
    """Return a table with random values, its rows in random order."""
    x = np.minimum(np.round(generator.gamma(0.8, 20.0, unit.size), 2), 100.0)
    order = generator.permutation(unit.size)
    names = np.array([f"group {i:02}" for i in range(GROUPS)])
    return pd.DataFrame({"unit": unit, "key": names[group], "x": x}).iloc[order]


def _visits() -> pd.DataFrame:
    """Return the persons and days of the visits: a sample of 500,000 rows from a longer list."""
    generator = np.random.default_rng(2026)
    sizes = np.append(generator.negative_binomial(1.1, 0.165, PERSONS) + 1, 65_000)
    person = generator.permutation(np.repeat(np.arange(PERSONS + 1), sizes))[:VISITS]
    day = np.datetime64("2023-01-01") + generator.integers(0, 730, VISITS).astype("timedelta64[D]")
    return pd.DataFrame({"unit": person, "key": day.astype("datetime64[M]").astype(str), "x": 1.0})
