"""The tables of the questions: deterministic rows, and what is public about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

import tacit as tc
from contract.homes import arrow, frame
from contract.tables import Row
from postgres_server import database
from tacit.database import Database
from tacit.query.expressions import Kind

CANTONS = [
    ("BE", "de", 1_050_000),
    ("BS", "de", 200_000),
    ("GE", "fr", 510_000),
    ("TI", "it", 350_000),
    ("VD", "fr", 830_000),
    ("ZG", "de", 130_000),
    ("ZH", "de", 1_580_000),
]
NEW_YEAR = datetime(2026, 1, 1)  # noqa: DTZ001 - columns without a zone


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A private table, the public tables beside it, and its policy."""

    table: str
    kinds: dict[str, Kind]
    rows: list[Row]
    policy: dict[str, Any]
    public: dict[str, tuple[dict[str, Kind], list[Row]]] = field(default_factory=dict)


def _survey() -> Setting:
    draw = Random(1)  # noqa: S311 - made-up rows
    rows: list[Row] = []
    for person in range(600):
        hours = draw.choice([0, 20, 30, 40, 42])
        income = 8_000 + 1_500 * hours + draw.randrange(0, 30_000)
        age = draw.randrange(0, 90)
        rows.append(
            {
                "person_id": person,
                "age": age,
                "sex": draw.choice("fm"),
                "canton": draw.choice(CANTONS)[0],
                "education": draw.choice(["school", "trade", "university"]),
                "employed": hours > 0,
                "income": float(income),
                "hours": hours,
                "birth": date(2026 - age, 1 + draw.randrange(12), 1 + draw.randrange(28)) - timedelta(days=365),
            }
        )
    kinds: dict[str, Kind] = {
        "person_id": "integer",
        "age": "integer",
        "sex": "text",
        "canton": "text",
        "education": "text",
        "employed": "boolean",
        "income": "real",
        "hours": "integer",
        "birth": "date",
    }
    cantons: list[Row] = [{"canton": name, "language": tongue, "population": size} for name, tongue, size in CANTONS]
    policy = {
        "unit": "person_id",
        "reach": 1,
        "keys": {
            "sex": ["f", "m"],
            "canton": [name for name, _, _ in CANTONS],
            "education": ["school", "trade", "university"],
        },
        "bounds": {
            "age": (0, 120),
            "income": (0, 200_000),
            "hours": (0, 60),
            "birth": (date(1930, 1, 1), date(2026, 12, 31)),
        },
    }
    public: dict[str, tuple[dict[str, Kind], list[Row]]] = {
        "cantons": ({"canton": "text", "language": "text", "population": "integer"}, cantons)
    }
    return Setting(table="survey", kinds=kinds, rows=rows, policy=policy, public=public)


def _events() -> Setting:
    draw = Random(2)  # noqa: S311 - made-up rows
    rows: list[Row] = []
    for user in range(150):
        countries = draw.sample(["AT", "CH", "DE"], k=draw.choice([1, 1, 2, 3]))
        for _ in range(draw.randrange(1, 40)):
            event = draw.choices(["buy", "click", "crash", "open"], weights=[1, 4, 1, 6])[0]
            rows.append(
                {
                    "user_id": user,
                    "seen": NEW_YEAR + timedelta(seconds=draw.randrange(365 * 86_400)),
                    "event": event,
                    "country": draw.choice(countries),
                    "version": draw.choice(["1.0", "1.1", "2.0"]),
                    "ms": float(draw.randrange(0, 2_000)),
                    "price": float(draw.randrange(1, 60)) if event == "buy" else 0.0,
                }
            )
    kinds: dict[str, Kind] = {
        "user_id": "integer",
        "seen": "timestamp",
        "event": "text",
        "country": "text",
        "version": "text",
        "ms": "real",
        "price": "real",
    }
    policy = {
        "unit": "user_id",
        "reach": 60,
        "max_groups": 80,
        "keys": {"event": ["buy", "click", "crash", "open"], "country": ["AT", "CH", "DE"]},
        "bounds": {
            "ms": (0, 2_000),
            "price": (0, 60),
            "seen": (NEW_YEAR, NEW_YEAR + timedelta(days=365, seconds=-1)),
        },
    }
    return Setting(table="events", kinds=kinds, rows=rows, policy=policy)


def _visits() -> Setting:
    draw = Random(3)  # noqa: S311 - made-up rows
    rows: list[Row] = []
    for patient in range(200):
        for _ in range(draw.choice([1, 1, 2, 3, 5])):
            day = date(2026, 1, 1) + timedelta(days=draw.randrange(365))
            rows.append(
                {
                    "patient_id": patient,
                    "day": day,
                    "discharge": day + timedelta(days=draw.randrange(0, 15)),
                    "ward": draw.choice(["eyes", "heart", "lungs", "skin"]),
                    "diagnosis": draw.choices(["I21", "J10", "L40"], weights=[5, 3, 2])[0],
                    "cost": float(draw.randrange(50, 3_000)),
                    "emergency": draw.random() < 0.3,
                }
            )
    kinds: dict[str, Kind] = {
        "patient_id": "integer",
        "day": "date",
        "discharge": "date",
        "ward": "text",
        "diagnosis": "text",
        "cost": "real",
        "emergency": "boolean",
    }
    policy = {
        "unit": "patient_id",
        "reach": 20,
        "keys": {"ward": ["eyes", "heart", "lungs", "skin"], "diagnosis": ["I21", "J10", "L40"]},
        "bounds": {
            "cost": (0, 4_000),
            "day": (date(2026, 1, 1), date(2026, 12, 31)),
            "discharge": (date(2026, 1, 1), date(2027, 1, 31)),
        },
    }
    return Setting(table="visits", kinds=kinds, rows=rows, policy=policy)


SETTINGS = {"office": _survey(), "product": _events(), "health": _visits()}


@contextmanager
def opened(engine: str, setting: Setting) -> Iterator[Database]:
    """Open the tables of a setting on one engine, with a budget that no question exhausts."""
    budget = tc.ApproxDP(epsilon=1e12, delta=0.5)
    with ExitStack() as stack:
        policy = {"name": setting.table, "budget": budget, **setting.policy}
        if engine == "postgres":
            place = stack.enter_context(database())
            place.fill(setting.table, setting.kinds, setting.rows)
            for name, (kinds, rows) in setting.public.items():
                place.fill(name, kinds, rows)
            public: dict[str, Any] = dict.fromkeys(setting.public, place.reader)
            source: Any = place.reader
            policy["table"] = setting.table
        else:
            make: Any = arrow if engine == "duckdb" else frame
            public = {name: make(*shape) for name, shape in setting.public.items()}
            source = make(setting.kinds, setting.rows)
        yield stack.enter_context(tc.open(source, public=public or None, **policy))
