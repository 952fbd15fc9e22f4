"""`tacit demo`: a private query from start to finish, on a made-up survey."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tacit import opening
from tacit.cli import output_files
from tacit.cli.output import put_json, say, stderr_console
from tacit.cli.query import answer_json, put_answer
from tacit.database import Database
from tacit.guarantees.values import PureDP
from tacit.query.formatting import amounts, spell
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release

QUERY = "SELECT region, count(*) AS answers, avg(income) AS income FROM survey GROUP BY region"
EPSILON = 0.5
REGIONS = ("north", "south", "east", "west")
PEOPLE = 6_000
_HEADER = "person_id,region,urban,age,income"


def run(*, json: bool, chart: str | None = None) -> None:
    """Plan and charge a query; print the answer with its intervals and the budget left; save a chart on request."""
    output_files.check_chart(chart)
    with TemporaryDirectory() as folder, _open(write_survey(Path(folder))) as db:
        quote = db.plan(QUERY, epsilon=EPSILON, assume=1_000)
        answer = db.sql(QUERY, epsilon=EPSILON)
        if json:
            put_json({**answer_json(answer), "left": amounts(db.left)})
        else:
            _narrate(quote, answer, db)
        if chart is not None:
            say(output_files.save_chart(answer.plot, chart))


def _open(file: Path) -> Database:
    return opening.open(
        file,
        unit="person_id",
        reach=2,
        bounds={"income": (0, 200_000)},
        keys={"region": list(REGIONS)},
        budget=PureDP(epsilon=1),
    )


def _narrate(quote: Quote, answer: Release, db: Database) -> None:
    console = stderr_console()
    console.print(
        "[bold]A survey of 6,000 people, some of whom answered twice.[/bold] Nobody may learn who is in it.\n"
    )
    console.print(f"  {QUERY}\n")
    console.print(f"The plan: it costs [bold]ε = {EPSILON}[/bold] of 1. {quote.why} Expected 95 % errors:")
    for name, error in quote.error.items():
        console.print(f"  {name}: ± {error:,.0f}" + (" if a region has 1,000 people" if name == "income" else ""))
    console.print("\nThe answer, with 95 % intervals:")
    put_answer(answer)
    console.print(f"\nLeft to spend: {spell(db.left)}. The query was charged before a row was read; a charge is final.")
    console.print("Every run draws new noise; no seed can repeat it. Next: tacit init yourdata.parquet > policy.toml")
    sys.stdout.flush()


def write_survey(folder: Path) -> Path:
    """Write survey.csv, which always has the same rows: 6,000 made-up people, some of whom answered twice."""
    rng = np.random.default_rng(2026)
    answers = rng.choice([1, 2], PEOPLE, p=[0.8, 0.2])
    person = np.repeat(np.arange(PEOPLE), answers)
    region = rng.choice(len(REGIONS), PEOPLE, p=[0.4, 0.3, 0.2, 0.1])[person]
    urban = rng.choice([True, False], PEOPLE, p=[0.66, 0.34])[person]
    age = rng.integers(18, 95, PEOPLE)[person]
    income = np.exp(rng.normal(10.4, 0.5, PEOPLE))[person] * (1 + 0.15 * urban) * (1 + 0.1 * (region == 0))
    lines = [
        f"{p},{REGIONS[r]},{'true' if u else 'false'},{a},{i:.0f}"
        for p, r, u, a, i in zip(person, region, urban, age, income, strict=True)
    ]
    file = folder / "survey.csv"
    file.write_text("\n".join([_HEADER, *lines]) + "\n", encoding="utf-8")
    return file
