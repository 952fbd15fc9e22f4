"""`tacit demo`: the main job from start to finish, on a made-up survey."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tacit import database, opening
from tacit.cli import charts, survey
from tacit.cli.show import as_json, console, say, show_answer
from tacit.guarantees.values import PureDP
from tacit.query.formatting import amounts, spell
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release
from tacit.safe_text import as_json as to_json

QUESTION = "SELECT region, count(*) AS answers, avg(income) AS income FROM survey GROUP BY region"
EPSILON = 0.5
CHART = "tacit-demo.svg"


def run(*, json: bool, chart: str | None = None) -> None:
    """Plan, ask, show the answer with its error bars and what is left; write a chart if one is asked for."""
    charts.check(chart)
    with TemporaryDirectory() as folder, _open(survey.write(Path(folder))) as db:
        planned = db.plan(QUESTION, epsilon=EPSILON, assume=1_000)
        answer = db.sql(QUESTION, epsilon=EPSILON)
        if json:
            print(to_json({"schema": 1, **as_json(answer), "left": amounts(db.left)}))
        else:
            _talk(planned, answer, db)
        if chart is not None:
            say(charts.draw(answer, chart))


def _open(file: Path) -> database.Database:
    return opening.open(
        file,
        unit="person_id",
        max_groups=1,
        max_rows=2,
        bounds={"income": (0, 200_000)},
        keys={"region": list(survey.REGIONS)},
        budget=PureDP(epsilon=1),
    )


def _talk(planned: Quote, answer: Release, db: database.Database) -> None:
    talk = console()
    talk.print("[bold]A survey of 6,000 people, some of whom answered twice.[/bold] Nobody may learn who is in it.\n")
    talk.print(f"  {QUESTION}\n")
    talk.print(f"Before asking: it costs [bold]ε = {EPSILON}[/bold] of 1. {planned.why} Expected 95 % errors:")
    for name, error in planned.error.items():
        talk.print(f"  {name}: ± {error:,.0f}" + (" if a region has 1,000 people" if name == "income" else ""))
    talk.print("\nThe answer, with 95 % intervals:")
    show_answer(answer)
    talk.print(f"\nLeft to spend: {spell(db.left)}. Charged before a row was read, and never given back.")
    talk.print(
        "Ask again and the noise is new; no seed brings it back. Next: tacit init yourdata.parquet > policy.toml"
    )
    sys.stdout.flush()
