"""How answers look on a terminal and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, TextIO, cast

from tacit.errors import TacitError
from tacit.ledger import Ledger
from tacit.query.formatting import amounts, percent
from tacit.query.pricing.noisy_filters import answer_meaning, meaning
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release
from tacit.query.results.render import text_rows
from tacit.query.sql.row_work import ROW_LIMITS
from tacit.safe_text import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SCHEMA = 1
_WIDE = 10_000


def console() -> Console:
    """Return where talk goes."""
    from rich.console import Console  # noqa: PLC0415 - heavy

    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def paper() -> Console:
    """Return where data go: as wide as a terminal is, and as wide as need be elsewhere."""
    from rich.console import Console  # noqa: PLC0415 - heavy

    width = None if sys.stdout.isatty() else _WIDE
    return Console(file=sys.stdout, highlight=False, soft_wrap=True, width=width, emoji=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something takes its time; elsewhere say nothing."""
    if not sys.stderr.isatty():
        yield
        return
    with console().status(what):
        yield


@contextmanager
def counting(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Give a function that says how many more are done, shown on a terminal; elsewhere it says nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - heavy

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)


def say(text: str) -> None:
    """Talk, on stderr."""
    console().print(visible_lines(text), markup=False)


def put(text: str) -> None:
    """Write text to stdout."""
    paper().print(visible_lines(text), markup=False)


class Screen:
    """Standard output where it is a terminal: what data would write to it is shown as escapes."""

    def write(self, text: str) -> int:
        """Write text."""
        return sys.stdout.write(visible_lines(text))


def data_stream() -> TextIO:
    """Return where a table of data goes: stdout as it is, or what a terminal may show of it."""
    return cast("TextIO", Screen()) if sys.stdout.isatty() else sys.stdout


@contextmanager
def telling_of(ledger: Ledger, *, json: bool) -> Iterator[None]:
    """Say of a ledger that it was begun just now: the books of before may be lost, and their spending with them.

    With `json`, stderr is for one error alone, if there is one: then its message ends with it.
    """
    said = begun_note(ledger)
    if said and not json:
        say(said)
    try:
        yield
    except TacitError as error:
        if said and json:
            error.args = (f"{error} {said}",)
        raise


def begun_note(ledger: Ledger) -> str:
    """Return what is to be said of a ledger that was begun when it was opened; nothing of any other."""
    if not ledger.created:
        return ""
    return (
        f"Created a new ledger at {visible(ledger.name)}. If you expected an existing ledger, stop and restore it: "
        "earlier spending is not counted. Move the old ledger back over this one, or delete this one and load a copy "
        "with `tacit ledger POLICY import COPY`."
    )


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table, its first column to the left."""
    from rich.table import Table  # noqa: PLC0415 - heavy
    from rich.text import Text  # noqa: PLC0415 - heavy

    made = Table()
    for place, heading in enumerate(headings):
        made.add_column(Text(visible(heading)), justify="right" if place else "left")
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    return made


def answer_table(answer: Release) -> Table:
    """Return the answer as a table, every noisy column followed by its intervals."""
    from rich.table import Table  # noqa: PLC0415 - heavy
    from rich.text import Text  # noqa: PLC0415 - heavy

    headings, rows = text_rows(answer.columns(), answer.confidence)
    noisy = [f"{percent(answer.confidence)} interval of {column.name}" for column in answer.columns()]
    shown = Table()
    for heading in headings:
        interval = heading in noisy
        shown.add_column(
            Text(visible(heading)), justify="left" if interval else "right", style="dim" if interval else None
        )
    for row in rows:
        shown.add_row(*(Text(visible(cell)) for cell in row))
    return shown


def show_answer(answer: Release) -> None:
    """Print the answer, and under it what its intervals mean where they do not hold each for itself."""
    paper().print(answer_table(answer))
    if answer.interval_note is not None:
        put(answer.interval_note)


def as_json(answer: Release) -> dict[str, object]:
    """Return an answer for machines."""
    return {
        "question": answer.plan.sql,
        "cost": amounts(answer.cost),
        "confidence": answer.confidence,
        "intervals": answer_meaning(answer.plan, answer.found_groups),
        "rows": [{name: _plain(value) for name, value in row.items()} for row in answer.intervals().dicts()],
        "receipt": answer.receipt,
    }


def planned_json(planned: Quote) -> dict[str, object]:
    """Return a plan for machines."""
    work = planned.work
    return {
        "schema": SCHEMA,
        "question": planned.plan.sql,
        "cost": amounts(planned.cost),
        "noise": planned.why,
        "confidence": planned.confidence,
        "error": planned.error | dict.fromkeys(planned.unknown),
        "intervals": meaning(planned.plan),
        "assume": planned.assume,
        "row_work": {**asdict(work), **ROW_LIMITS},
    }


def _plain(value: object) -> object:
    """Return a value as JSON has it: dates and moments as text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
