"""`tacit demo`: the main job from start to finish, on a made-up survey."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tacit import session
from tacit.cli import survey
from tacit.cli.show import answer_table, as_json, console, paper
from tacit.errors import TacitError
from tacit.guarantees.values import PureDP
from tacit.query.release import Release

QUESTION = "SELECT region, count(*) AS answers, avg(income) AS income FROM survey GROUP BY region"
EPSILON = 0.5
CHART = "tacit-demo.svg"


def run(*, json: bool, chart: str | None = None) -> None:
    """Plan, ask, show the answer with its error bars and what is left; write a chart if one is asked for."""
    with TemporaryDirectory() as folder, _open(survey.write(Path(folder))) as db:
        planned = db.plan(QUESTION, epsilon=EPSILON, assume=1_000)
        answer = db.sql(QUESTION, epsilon=EPSILON)
        drawn = None if chart is None else _draw(answer, chart)
        if json:
            print(json_module.dumps({"schema": 1, **as_json(answer), "left": {"epsilon": float(db.left.epsilon)}}))  # type: ignore[union-attr]
        else:
            _talk(planned, answer, db, drawn)


def _open(file: Path) -> session.Database:
    return session.open(
        file,
        unit="person_id",
        max_groups=1,
        max_rows=2,
        bounds={"income": (0, 200_000)},
        keys={"region": list(survey.REGIONS)},
        budget=PureDP(epsilon=1),
    )


def _draw(answer: Release, chart: str) -> str | None:
    """Save the chart; without the charting packages the demonstration goes on."""
    try:
        answer.plot().save(chart)
    except (TacitError, ImportError, ValueError):
        return None
    return chart


def _talk(planned: session.Planned, answer: Release, db: session.Database, drawn: str | None) -> None:
    talk = console()
    talk.print("[bold]A survey of 6,000 people, some of whom answered twice.[/bold] Nobody may learn who is in it.\n")
    talk.print(f"  {QUESTION}\n")
    talk.print(f"Before asking: it costs [bold]ε = {EPSILON}[/bold] of 1. {planned.why} Expected 95 % errors:")
    for name, error in planned.error.items():
        talk.print(f"  {name}: ± {error:,.0f}" + (" if a region has 1,000 people" if name == "income" else ""))
    talk.print("\nThe answer, with 95 % intervals:")
    paper().print(answer_table(answer, 0.95))
    talk.print(f"\nLeft to spend: ε = {float(db.left.epsilon):g}. Charged before a row was read, and never given back.")  # type: ignore[union-attr]
    if drawn:
        talk.print(f"A chart is in {drawn}.")
    talk.print(
        "Ask again and the noise is new; no seed brings it back. Next: tacit init yourdata.parquet > policy.toml"
    )
    sys.stdout.flush()
