"""Create the tables of the query bench in `bench/.data/`. Every machine gets the same tables.

* The large table is like a log. A few units have many rows and most have few. Four fifths of the rows of a unit are in
  three groups; the others are in random groups.
* The small table is within all bounds, so that clipping and bounding change nothing. Each unit is in two groups, with
  one to five rows in each.
* Two tables are for discovered groups: a log with 100,000 text keys, and a table like the small one whose keys follow
  Zipf's law.
* The last table has values only, with the distribution of incomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from peers import HERE
from query_serve import EVERY, HIGH, KEYS, LOW, MAX_ROWS, MOST

FOLDER = HERE / ".data"
SEED = 4
CHUNK = 1_000_000
ROWS, UNITS = 10_000_000, 1_000_000
SMALL_UNITS = 20_000
WORDS, WORD_UNITS = 100_000, 50_000

Integers: TypeAlias = npt.NDArray[np.int64]
Reals: TypeAlias = npt.NDArray[np.float64]


def large(rows: int = ROWS) -> Path:
    """Return the file with `rows` rows and a tenth as many units; create it if it is missing."""
    return _ensure(f"log-{rows}", _logs(rows))


def small() -> Path:
    """Return the file of the small table; create it if it is missing."""
    return _ensure("within", _within())


def unlisted(rows: int = ROWS) -> Path:
    """Return the file with `rows` rows, a tenth as many units and 100,000 text keys; create it if it is missing."""
    return _ensure(f"unlisted-{rows}", _unlisted(rows))


def words() -> Path:
    """Return the file of the table whose keys follow Zipf's law; create it if it is missing."""
    return _ensure("words", _words())


def incomes(rows: int = ROWS) -> Path:
    """Return the file with `rows` values from 0 to 200,000; create it if it is missing."""
    return _ensure(f"incomes-{rows}", _incomes(rows))


def _ensure(name: str, chunks: Iterator[pa.Table]) -> Path:
    path = FOLDER / f"{name}.parquet"
    if not path.exists():
        print(f"creating {path.name} …", flush=True)
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / ".gitignore").write_text("*\n")
        unfinished = path.with_suffix(".part")
        first = next(chunks)
        with pq.ParquetWriter(unfinished, first.schema) as writer:
            writer.write_table(first)
            for chunk in chunks:
                writer.write_table(chunk)
        unfinished.rename(path)
    return path


def _logs(rows: int) -> Iterator[pa.Table]:
    generator = np.random.default_rng(SEED)
    for _ in range(rows // CHUNK):
        rank = (generator.random(CHUNK) ** 1.5 * (rows * UNITS // ROWS)).astype(np.int64)
        unit = rank * 3**18 % (rows * UNITS // ROWS)  # a permutation: activity does not depend on the number
        home = (7 * unit + 11 * generator.integers(3, size=CHUNK)) % len(KEYS)
        key = np.where(generator.random(CHUNK) < 0.8, home, generator.integers(len(KEYS), size=CHUNK))
        yield _table(unit, key, np.round(generator.gamma(2.0, 20.0, CHUNK), 2))


def _within() -> Iterator[pa.Table]:
    generator = np.random.default_rng(SEED)
    unit = np.repeat(np.arange(SMALL_UNITS), 2)
    first = generator.integers(len(KEYS), size=SMALL_UNITS)
    second = (first + generator.integers(1, len(KEYS), size=SMALL_UNITS)) % len(KEYS)
    key = np.stack([first, second], axis=1).ravel()
    count = generator.integers(1, MAX_ROWS + 1, size=unit.size)
    x = np.clip(np.round(generator.gamma(2.0, 20.0, int(count.sum())), 2), LOW, HIGH)
    yield _table(np.repeat(unit, count), np.repeat(key, count), x)


def _unlisted(rows: int) -> Iterator[pa.Table]:
    generator = np.random.default_rng(SEED)
    for _ in range(rows // CHUNK):
        unit = generator.integers(rows * UNITS // ROWS, size=CHUNK)
        key = (generator.random(CHUNK) ** 2 * WORDS).astype(np.int64)  # the first keys have many rows, the last few
        yield pa.table({"unit": unit, "key": _named(key), "x": np.round(generator.gamma(2.0, 20.0, CHUNK), 2)})


def _words() -> Iterator[pa.Table]:
    generator = np.random.default_rng(SEED)
    weights = 1 / np.arange(1, WORDS + 1)
    first = generator.choice(WORDS, size=WORD_UNITS, p=weights / weights.sum())
    second = generator.choice(WORDS, size=WORD_UNITS, p=weights / weights.sum())
    second = np.where(first == second, (second + 1) % WORDS, second)
    key = np.stack([first, second], axis=1).ravel()
    count = generator.integers(1, MAX_ROWS + 1, size=key.size)
    unit = np.repeat(np.arange(WORD_UNITS), 2)
    rows = int(count.sum())
    x = np.clip(np.round(generator.gamma(2.0, 20.0, rows), 2), LOW, HIGH)
    yield pa.table({"unit": np.repeat(unit, count), "key": _named(np.repeat(key, count)), "x": x})


def _incomes(rows: int) -> Iterator[pa.Table]:
    generator = np.random.default_rng(SEED)
    for _ in range(rows // CHUNK):
        yield pa.table({"x": np.clip(np.round(generator.gamma(3.0, 16_000.0, CHUNK), 2), 0, MOST)})


def _named(key: Integers) -> pa.Array:
    names = pa.array([f"word-{i:06}" for i in range(WORDS)])
    return pa.DictionaryArray.from_arrays(pa.array(key.astype(np.int32)), names).cast(pa.string())


def _table(unit: Integers, key: Integers, x: Reals) -> pa.Table:
    keys = pa.DictionaryArray.from_arrays(pa.array(key.astype(np.int8)), pa.array(KEYS)).cast(pa.string())
    text = pa.array(np.char.mod("person-%08d", unit))
    return pa.table({"unit": unit, "unit_text": text, "key": keys, "x": x})


def truth(path: Path) -> dict[str, Reals]:
    """Return every statistic of a table that is within all bounds, for each group."""
    columns = ", ".join(f"{sql} AS {name}_" for name, sql in EVERY.items())
    sql = f"SELECT key, {columns} FROM '{path}' GROUP BY key"  # noqa: S608 - fixed text
    groups = {key: values for key, *values in duckdb.connect().execute(sql).fetchall()}
    return {name: np.array([float(groups[key][index]) for key in KEYS]) for index, name in enumerate(EVERY)}
