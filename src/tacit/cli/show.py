"""How answers look on a terminal and as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tacit.query.receipt import promise
from tacit.query.release import Release
from tacit.query.table import say
from tacit.session import Planned

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SCHEMA = 1


def console() -> Console:
    """Return where talk goes."""
    from rich.console import Console  # noqa: PLC0415 - heavy

    return Console(stderr=True, highlight=False, soft_wrap=True)


def paper() -> Console:
    """Return where data go."""
    from rich.console import Console  # noqa: PLC0415 - heavy

    return Console(file=sys.stdout, highlight=False, soft_wrap=True)


def answer_table(answer: Release, confidence: float) -> Table:
    """Return the answer as a table with a ± column for every noisy one."""
    from rich.table import Table  # noqa: PLC0415 - heavy

    found = answer.intervals(confidence)
    shown = Table()
    names = [name for name in found.names if not _is_end(name, found.names)]
    for name in names:
        shown.add_column(name, justify="right")
        if f"{name}_low" in found.names:
            shown.add_column(f"{confidence:.0%} interval", style="dim")
    for row in found.dicts():
        cells: list[str] = []
        for name in names:
            cells.append(say(row[name]))
            if f"{name}_low" in found.names:
                cells.append(f"{say(row[f'{name}_low'])} … {say(row[f'{name}_high'])}")
        shown.add_row(*cells)
    return shown


def _is_end(name: str, names: tuple[str, ...]) -> bool:
    for end in ("_low", "_high"):
        base = name.removesuffix(end)
        if base != name and base in names and f"{base}_low" in names and f"{base}_high" in names:
            return True
    return False


def as_json(answer: Release, confidence: float = 0.95) -> dict[str, object]:
    """Return an answer for machines."""
    return {
        "question": answer.plan.sql,
        "cost": promise(answer.cost),
        "confidence": confidence,
        "rows": [{name: _plain(value) for name, value in row.items()} for row in answer.intervals(confidence).dicts()],
        "receipt": answer.receipt,
    }


def planned_json(planned: Planned) -> dict[str, object]:
    """Return a plan for machines."""
    return {
        "schema": SCHEMA,
        "question": planned.plan.sql,
        "cost": promise(planned.cost),
        "noise": planned.why,
        "confidence": planned.confidence,
        "error": planned.error,
        "assume": planned.assume,
    }


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
