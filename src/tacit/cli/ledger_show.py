"""`tacit ledger show`: the budget, what is spent and left, by whom, and what each question cost.

Costs and totals are the ledger's own, exact numbers, rounded up where they are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit.cli import charts
from tacit.cli.show import SCHEMA, paper, put, say
from tacit.guarantees.exact import round_up
from tacit.guarantees.filters import Spent, limit
from tacit.ledger import described, history
from tacit.ledger.history import Charge
from tacit.ledger.sql_ledger import SqlLedger
from tacit.query.formatting import amounts, spell
from tacit.safe_text import as_json, visible, width

if TYPE_CHECKING:
    from rich.table import Table

_SHOWN = 20
_DIGITS = Context(prec=6, rounding=ROUND_CEILING)


def show(book: SqlLedger, *, delta: float | None, chart: str | None, json: bool) -> int:
    """Print the budget, what is spent and left, by whom, and the last questions with what each cost."""
    charts.check(chart)
    charges, shares = history.charges(book.entries()), history.by_analyst(book)
    declared = None if delta is None or not shares else history.as_plan(book, delta).upper
    if json:
        said = _said(book, charges, shares)
        if declared is not None:
            said["as_one_plan"] = {"delta": delta, "epsilon": declared}
        print(as_json(said))
    else:
        _print(book, charges, shares)
        if declared is not None:
            say(
                f"Declared in advance as one plan, all this would have cost ε = {declared:.4g} at δ = {delta:g}. "
                "That is for display: what was asked one by one is paid one by one."
            )
    if chart is not None:
        history.burn_down(book).save(chart)
        say(f"Drew {chart}.")
    return 0


def _said(book: SqlLedger, charges: Sequence[Charge], shares: Sequence[history.Share]) -> dict[str, object]:
    """Return all of it for machines."""
    number, link = book.head
    return {
        "schema": SCHEMA,
        "budget": amounts(book.budget),
        "left": amounts(history.left(book)),
        "records": number + 1,
        "head": link,
        "analysts": [{"analyst": one.analyst, "questions": one.questions, **_amounts(one.spent)} for one in shares],
        "entries": [
            {**described(one.entry), "cost": _amounts(one.cost), "spent": _amounts(one.total), "since": one.entry.since}
            for one in charges
        ],
    }


def _amounts(spent: Spent) -> dict[str, float]:
    return {"epsilon" if spent.currency == "basic" else "rho": round_up(spent.loss), "delta": round_up(spent.delta)}


def _print(book: SqlLedger, charges: Sequence[Charge], shares: Sequence[history.Share]) -> None:
    paper().print(_table(book, shares))
    with_delta = limit(book.budget).delta > 0 or any(one.total.delta for one in charges)
    for line in _lines(charges[-_SHOWN:], with_delta=with_delta):
        put(line)
    if len(charges) > _SHOWN:
        say(f"These are the last {_SHOWN} of {len(charges):,} questions; --json has all.")
    say(f"Left: {spell(history.left(book))} of {spell(book.budget)}. Head of the chain: {book.head[1]}")


def _table(book: SqlLedger, shares: Sequence[history.Share]) -> Table:
    """Return what each analyst spent, and all together."""
    from rich.table import Table  # noqa: PLC0415 - heavy
    from rich.text import Text  # noqa: PLC0415 - heavy

    spent = book.spent
    table = Table()
    for heading in ("analyst", "questions", _unit(spent), "δ", "limit"):
        table.add_column(Text(heading), justify="left" if heading == "analyst" else "right")
    for one in shares:
        limited = book.limit_of(one.analyst)
        row = (one.analyst or "–", f"{one.questions}", shown(one.spent.loss), shown(one.spent.delta))
        table.add_row(*map(Text, map(visible, (*row, "" if limited is None else spell(limited)))))
    table.add_section()
    questions = sum(one.questions for one in shares)
    whole = ("all", f"{questions}", shown(spent.loss), shown(spent.delta), spell(book.budget))
    table.add_row(*map(Text, whole))
    return table


def _unit(spent: Spent) -> str:
    return "ε" if spent.currency == "basic" else "ρ"


def shown(amount: Fraction) -> str:
    """Return an amount to six digits, rounded up.

    >>> shown(Fraction(1, 5)), shown(Fraction(1, 3)), shown(Fraction(1, 10**7)), shown(Fraction(0))
    ('0.2', '0.333334', '1e-07', '0')
    """
    digits = _DIGITS.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return f"{round_up(Fraction(digits)):g}"


def _lines(charges: Sequence[Charge], *, with_delta: bool) -> Iterator[str]:
    """Yield a line for each question, its cost and all that was spent after it among its columns, the question last."""
    if not charges:
        return
    unit = _unit(charges[0].cost)
    deltas = ("δ", "total δ") if with_delta else ()
    cells = [("record", "time", "analyst", "outcome", unit, f"total {unit}", *deltas)]
    cells += [_cells(one, with_delta=with_delta) for one in charges]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    questions = ["question", *(visible(one.entry.question) for one in charges)]
    since = charges[0].entry.since
    for place, (row, question) in enumerate(zip(cells, questions, strict=True)):
        if place and charges[place - 1].entry.since != since:
            since = charges[place - 1].entry.since
            yield f"With record {since} a fresh budget began, for other units."
        padded = [cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)]
        yield "  ".join([*padded, question])


def _cells(one: Charge, *, with_delta: bool) -> tuple[str, ...]:
    entry, cost, total = one.entry, one.cost, one.total
    deltas = (shown(cost.delta), shown(total.delta)) if with_delta else ()
    about = (f"{entry.number}", f"{entry.time:.19}", entry.analyst or "–", entry.outcome)
    return (*map(visible, about), shown(cost.loss), shown(total.loss), *deltas)
