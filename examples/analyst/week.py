"""Spend ε = 2 on a week of questions about a survey.

python week.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tacit as tc
from tacit.database import Database

SIZE = 8_000
REGIONS = ["north", "south", "east", "west"]
KEYS: dict[str, list[str | bool]] = {"region": [*REGIONS], "cycles": [False, True]}


def write_survey(file: Path) -> None:
    """Write one made-up answer of each of 8,000 people."""
    rng = np.random.default_rng(11)
    region = rng.choice(REGIONS, SIZE, p=[0.4, 0.3, 0.2, 0.1])
    columns = {
        "person": np.arange(SIZE),
        "region": region,
        "age": rng.integers(18, 90, SIZE),
        "income": np.exp(rng.normal(10.5, 0.5, SIZE)).round(),
        "cycles": rng.random(SIZE) < np.where(region == "north", 0.4, 0.25),
    }
    pq.write_table(pa.table(columns), file)


def open_survey(folder: Path) -> Database:
    """Open the survey with the steward's decisions."""
    return tc.open(
        folder / "survey.parquet",
        unit="person",
        reach=1,
        bounds={"income": (0, 200_000), "age": (18, 90)},
        keys=KEYS,
        budget=tc.PureDP(epsilon=2),
        ledger=folder / "survey.ledger",
        data_version="2025",
        analyst="ann",
    )


def monday(db: Database) -> None:
    """Plan, then ask for an error."""
    question = "SELECT region, count(*) AS people FROM survey GROUP BY region"
    for epsilon in (0.01, 0.05, 0.2):
        print(f"  at ε = {epsilon}: ± {db.plan(question, epsilon=epsilon).error['people']:.0f} people")
    print(db.sql(question, error=150))


def tuesday(db: Database) -> None:
    """Ask several numbers in one query."""
    print(
        db.sql(
            "SELECT region, count(*) AS n, avg(income) AS income, avg(age) AS age FROM survey GROUP BY region",
            epsilon=0.6,
        )
    )


def wednesday(db: Database) -> None:
    """Compute shares from noisy counts: one charge, any SQL on top."""
    counts = "SELECT region, cycles, count(*) AS n FROM survey GROUP BY region, cycles"
    shares = (
        "SELECT region, sum(n) FILTER (WHERE cycles) / sum(n) AS cycling FROM counts GROUP BY region ORDER BY region"
    )
    print(db.sql(f"WITH counts AS ({counts}) {shares}", epsilon=0.4))


def thursday(db: Database) -> None:
    """Declare questions together, and repeat Monday's for nothing."""
    medians = ("SELECT median(income) AS income FROM survey", "SELECT median(age) AS age FROM survey")
    quotes = [db.plan(question, epsilon=0.2) for question in medians]
    for answer in tc.declare(quotes).ask():
        print(answer)
    before = db.left
    db.sql("SELECT region, count(*) AS people FROM survey GROUP BY region", error=150)
    print("  Monday's question again cost nothing:", db.left == before)


def friday(db: Database) -> None:
    """Ask for more than what is left."""
    try:
        db.sql("SELECT avg(income) AS income FROM survey", epsilon=1)
    except tc.BudgetError as error:
        print(" ", error)


def main(folder: Path) -> None:
    """Run the week."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "survey.parquet").exists():
        write_survey(folder / "survey.parquet")
    with open_survey(folder) as db:
        for day in (monday, tuesday, wednesday, thursday, friday):
            print(f"\n{day.__name__.capitalize()}: {day.__doc__} Left: {db.left}")
            day(db)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/analyst"))
