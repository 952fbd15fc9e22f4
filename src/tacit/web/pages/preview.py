"""The live plan: cost, expected errors, what limits cut, and the errors at other costs. It reads no private row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import select

from tacit.database import Database
from tacit.errors import InvalidError, TacitError
from tacit.query.formatting import amounts
from tacit.query.results.error_text import error_texts
from tacit.query.results.quote import Quote
from tacit.quotes import ChoosingQuote, DerivedQuote
from tacit.safe_text import as_json, visible
from tacit.web import questions
from tacit.web.credentials import Person
from tacit.web.datasets import OpenDataset
from tacit.web.pages.ask_form import AskForm
from tacit.web.pages.shown import SYMBOLS, main_amount, number_text
from tacit.web.problems import content_of
from tacit.web.server import Server
from tacit.web.services.asked import Asked, quote_of
from tacit.web.services.contents import Content, plan_content
from tacit.web.tables import QUESTIONS

LADDER: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_STEPS = 5
_NEEDS_SIZE: Final = "add assume=N"
ASSUMED: Final = 1_000
"""The people in a group that a plan assumes without a number in the form. An answer does not depend on it."""
_BOUND = re.compile(r"(?:each )?(off by at most|within) (\S+)( rows?)?.*")


@dataclass(frozen=True, slots=True)
class Rung:
    """A cost and the errors of the same question at that cost."""

    amount: float
    errors: list[str]
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class FieldMistake:
    """A mistake and the field that has it."""

    argument: str | None
    detail: str
    hint: str


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan, or the reason why there is no plan."""

    sql: str | None
    plan: Content | None
    errors: list[tuple[str, str]]
    notes: list[str]
    ladder: list[Rung]
    columns: list[str]
    assumed: int | None
    """The units in a group that errors assume, because the form has no number and some depend on it."""
    before: str | None
    """The id of an answer to the same question, which costs nothing."""
    wrong: FieldMistake | None
    problem: Content | None


_EMPTY: Final = Preview(None, None, [], [], [], [], None, None, None, None)


def preview(server: Server, person: Person, dataset: str, form: AskForm) -> Preview:
    """Return the plan of a form, and the errors at other costs; nothing is charged and no private row is read."""
    sql: str | None = None
    with server.datasets[dataset].use() as one:
        try:
            sql = form.sql()
            return _planned(server, person, one, dataset, form)
        except InvalidError as error:
            return replace(_EMPTY, sql=sql, wrong=_mistake(error, server))
        except TacitError as error:
            return replace(_EMPTY, sql=sql, problem=_problem(error, server))


def _mistake(error: InvalidError, server: Server) -> FieldMistake:
    return FieldMistake(error.argument, server.clean(error.message), server.clean(error.hint or ""))


def _problem(error: TacitError, server: Server) -> Content:
    """Return an error as a problem, whose hint names the field of the page."""
    content = dict(content_of(error, server.clean)[1])
    if "assume=" in str(content.get("hint")):
        content["hint"] = "Fill in “People in a group”."
    return content


def _planned(server: Server, person: Person, one: OpenDataset, dataset: str, form: AskForm) -> Preview:
    """Return the plan of a form whose query is right; without a cost, the errors at some costs."""
    database, standing = one.database.as_analyst(person.name), one.ledger.standing(person.name)
    wrong: FieldMistake | None = None
    quote: Quote | None = None
    try:
        asked = form.asked()
        quote = quote_of(database, asked)
    except InvalidError as error:
        if error.argument not in ("amount", "error"):
            raise
        wrong, asked = _mistake(error, server), form.asked("1")
    left = main_amount(amounts(standing.left))
    chosen = 0.0 if quote is None else main_amount(amounts(quote.cost))
    assumed = _assumed(quote or quote_of(database, asked), form)
    quotes = {amount: _quote_at(database, form, amount, assumed) for amount in _amounts(left, chosen)}
    errors = {amount: _errors(each) for amount, each in quotes.items() if each is not None}
    rungs = [Rung(amount, [short(text) for _, text in each], amount == chosen) for amount, each in errors.items()]
    shown = next((errors[amount] for amount in errors if amount == chosen), next(iter(errors.values()), []))
    columns = [name for name, _ in shown]
    if quote is None:
        return replace(_EMPTY, sql=form.sql(), ladder=rungs, columns=columns, assumed=assumed, wrong=wrong)
    plan = plan_content(quote, standing, person.name)
    before = _before(server, person, dataset, asked)
    lines = _errors(quote) if chosen not in errors else shown
    return Preview(form.sql(), plan, lines, _notes(plan, lines), rungs, columns, assumed, before, None, None)


def _assumed(quote: Quote, form: AskForm) -> int | None:
    """Return how many units of a group the errors assume, if the form does not say it and it matters."""
    if form.values["assume"] or isinstance(quote, (DerivedQuote, ChoosingQuote)):
        return None
    return ASSUMED if any(_NEEDS_SIZE in text for _, text in error_texts(quote)) else None


def _quote_at(database: Database, form: AskForm, amount: float, assumed: int | None) -> Quote | None:
    """Return the quote at another cost; None if the question cannot have this cost."""
    asked = form.asked(repr(amount))
    try:
        return quote_of(database, asked if assumed is None else asked.model_copy(update={"assume": assumed}))
    except InvalidError as error:
        if error.argument in ("epsilon", "rho", "delta"):
            return None
        raise


def _errors(quote: Quote) -> list[tuple[str, str]]:
    """Return each column of numbers with its expected error in words."""
    if isinstance(quote, (DerivedQuote, ChoosingQuote)):
        return [(name, f"off by at most {number_text(error)}") for name, error in quote.error.items()]
    return [(visible(name), text) for name, text in error_texts(quote)]


def _notes(plan: Content, errors: Sequence[tuple[str, str]]) -> list[str]:
    """Return what limits cut and what is not counted, without the lines that the page shows elsewhere."""
    shown = tuple(f"{name}:" for name, _ in errors)
    covered = (*shown, "Each unit (", "Groups: ") if plan["not_counted"] else shown
    notes = [line for line in str(plan["text"]).splitlines()[2:] if not line.startswith(covered)]
    return [*([plan["not_counted"]] if plan["not_counted"] else []), *notes]


def _amounts(left: float, chosen: float) -> list[float]:
    """Return the costs to compare: five of the ladder that fit, and the chosen one.

    >>> _amounts(4.0, 0.3)
    [0.05, 0.1, 0.2, 0.3, 0.5, 1.0]
    >>> _amounts(0.05, 0.0)
    [0.01, 0.02, 0.05]
    """
    fitting = [each for each in LADDER if each <= left]
    if chosen > 0:
        middle = sum(each < chosen for each in fitting)
        start = max(0, min(middle - _STEPS // 2 - 1, len(fitting) - _STEPS))
        fitting = fitting[start : start + _STEPS]
    else:
        fitting = [each for each in fitting if each <= 1.0][-_STEPS:]
    return sorted({*fitting, *([chosen] if chosen > 0 else [])})


def short(text: str) -> str:
    """Return an error in few characters.

    >>> short("off by at most 19.87 with 95% confidence"), short("within 15 rows of the median"), short("exact")
    ('± 19.9', 'within 15 rows', 'exact')
    """
    match = _BOUND.fullmatch(text)
    if match is None:
        return text.split(" (", maxsplit=1)[0][:60]
    if match[1] == "within":
        return f"within {match[2]}{match[3] or ''}"
    try:
        return f"± {_three(float(match[2].replace(',', '')))}"
    except ValueError:
        return f"± {match[2]}"


def _three(value: float) -> str:
    return number_text(value) if abs(value) >= 1_000 else f"{value:.3g}"  # noqa: PLR2004 - from here no decimals


def _before(server: Server, person: Person, dataset: str, asked: Asked) -> str | None:
    """Return the newest answer of this person to the same question."""
    body = as_json(asked.model_dump(mode="json", exclude_defaults=True))
    query = (
        select(QUESTIONS.c.id)
        .where(QUESTIONS.c.person == person.name, QUESTIONS.c.dataset == dataset, QUESTIONS.c.kind == "answer")
        .where(QUESTIONS.c.state == questions.DONE, QUESTIONS.c.body == body)
        .order_by(QUESTIONS.c.created.desc())
        .limit(1)
    )
    with server.store.reading() as connection:
        found = connection.execute(query).scalar()
    return None if found is None else str(found)


def symbol(currency: str) -> str:
    """Return the letter of a currency."""
    return SYMBOLS[currency]
