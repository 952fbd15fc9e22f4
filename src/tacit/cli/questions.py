"""`tacit init`, `tacit plan` and `tacit query`."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import dataclass

from tacit import session
from tacit.cli.show import SCHEMA, answer_table, as_json, console, paper, planned_json
from tacit.engines.duckdb import open_duckdb
from tacit.query.skeleton import skeleton


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `plan` and `query` have in common."""

    policy: str
    sql: str
    epsilon: float | None
    delta: float
    rho: float | None
    confidence: float
    assume: int | None


def init(source: str, table: str | None) -> None:
    """Print a policy to fill in, from the schema alone."""
    engine = open_duckdb(source, table=table)
    try:
        tables = {engine.name: (source, engine.schema())}
        print(skeleton(tables, table=table, typed=not _is_csv(source), unusable=engine.unusable), end="")
    finally:
        engine.close()
    if sys.stderr.isatty():
        console().print('Fill in what is empty, then: tacit plan policy.toml "SELECT …" --epsilon 0.5')


def _is_csv(source: str) -> bool:
    return source.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def plan(asked: Asked, *, json: bool) -> None:
    """Print cost and expected error; read nothing, spend nothing."""
    with session.open(asked.policy) as db:
        planned = _planned(db, asked)
        if json:
            print(json_module.dumps(planned_json(planned)))
            return
        paper().print(str(planned))
        console().print("Nothing was read or spent.")


def query(asked: Asked, *, json: bool, yes: bool, chart: str | None) -> int:
    """Show the plan, ask, spend, and print the answer with its intervals."""
    with session.open(asked.policy) as db:
        planned = _planned(db, asked)
        if not yes and sys.stdin.isatty() and not _agreed(planned, db):
            console().print("Nothing was spent.")
            return 0
        answer = db.sql(asked.sql, epsilon=asked.epsilon, delta=asked.delta, rho=asked.rho)
        if chart is not None:
            answer.plot(asked.confidence).save(chart)
        if json:
            print(json_module.dumps({"schema": SCHEMA, **as_json(answer, asked.confidence)}))
        else:
            paper().print(answer_table(answer, asked.confidence))
            console().print(f"Spent {answer.cost}; left {db.left}.")
    return 0


def _planned(db: session.Database, asked: Asked) -> session.Planned:
    return db.plan(
        asked.sql,
        epsilon=asked.epsilon,
        delta=asked.delta,
        rho=asked.rho,
        confidence=asked.confidence,
        assume=asked.assume,
    )


def _agreed(planned: session.Planned, db: session.Database) -> bool:
    talk = console()
    talk.print(str(planned))
    talk.print(f"Left before: {db.left}.")
    return talk.input("Spend it? [y/N] ").strip().lower() in ("y", "yes")
