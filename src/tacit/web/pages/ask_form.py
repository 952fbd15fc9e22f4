"""The fields of the page Ask, and the question that they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from pydantic import ValidationError

from tacit.errors import InvalidError
from tacit.safe_text import as_json
from tacit.web.pages.page import first
from tacit.web.pages.simple import FILTERS, simple_sql
from tacit.web.services.asked import Asked
from tacit.web.services.asking import Body

Fields = Mapping[str, list[str]]
_FRACTION = re.compile(r"[0-9]{1,40}/[1-9][0-9]{0,39}")
_OPTIONS = ("assume", "confidence", "delta", "reach")
_MOST_DIGITS = 40


@dataclass(frozen=True, slots=True)
class AskForm:
    """The fields of the page, as they were sent."""

    mode: str
    fields: Fields
    tables: Mapping[str, Mapping[str, Any]]
    currency: str
    """The name of the budget's number: epsilon or rho."""
    values: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Read the single values."""
        names = ("sql", "table", "measure", "amount", "error", "by_error", *_OPTIONS)
        filters = (f"{name}{number}" for number in range(FILTERS) for name in ("column", "operator", "value"))
        object.__setattr__(self, "values", {name: first(self.fields, name) for name in (*names, *filters)})

    @property
    def by(self) -> list[str]:
        """The columns to group by."""
        return self.fields.get("by", [])[:50]

    @property
    def by_error(self) -> bool:
        """True if the person states an error instead of a cost."""
        return self.values["by_error"] == "yes"

    @property
    def table(self) -> Mapping[str, Any]:
        """The table of the simple form: the chosen one, or the first one."""
        return self.tables.get(self.values["table"]) or next(iter(self.tables.values()))

    def sql(self) -> str:
        """Return the query; raise InvalidError if it is missing or a field is wrong."""
        if self.mode == "sql":
            if not self.values["sql"]:
                raise InvalidError("Write a query.", argument="sql", hint="For example: SELECT count(*) FROM …")
            return self.values["sql"]
        filters = [
            (self.values[f"column{i}"], self.values[f"operator{i}"] or "=", self.values[f"value{i}"])
            for i in range(FILTERS)
        ]
        return simple_sql(self.table, self.values["measure"], self.by, filters)

    def asked(self, amount: str | None = None) -> Asked:
        """Return the question; raise InvalidError, whose argument is the field that is wrong.

        Args:
            amount: an ε or ρ in place of the field's.
        """
        content: dict[str, Any] = {"sql": self.sql()}
        if amount is None and self.by_error:
            content["error"] = needed_number(self.values["error"], "error", "Write the largest error that you accept.")
        else:
            given = self.values["amount"] if amount is None else amount
            content[self.currency] = needed_number(given, "amount", "Choose the privacy cost.")
        for name in _OPTIONS:
            if self.values[name]:
                content[name] = _number(self.values[name], name)
        content |= {"confidence": float(content["confidence"])} if "confidence" in content else {}
        return validated(content)


def validated(content: Mapping[str, Any]) -> Asked:
    """Return a question, or raise InvalidError with the first field that is wrong."""
    try:
        return Asked.model_validate(dict(content))
    except ValidationError as error:
        wrong = error.errors()[0]
        name = str(wrong["loc"][0]) if wrong["loc"] else "sql"
        hint = "Leave it empty to use the default." if name in _OPTIONS else "Check it."
        raise InvalidError(f"{name} is not valid.", argument=name, hint=hint) from None


def needed_number(text: str, name: str, message: str) -> int | float | str:
    """Return a number that has no default, or raise InvalidError."""
    if not text:
        raise InvalidError(message, argument=name, hint="There is no default: this is your decision.")
    return _number(text, name)


def _number(text: str, name: str) -> int | float | str:
    """Return a whole number, a decimal number or a fraction.

    >>> _number("0.5", "amount"), _number("2", "amount"), _number("1/3", "amount")
    (0.5, 2, '1/3')
    """
    if _FRACTION.fullmatch(text):
        return text
    try:
        number = float(text) if len(text) <= _MOST_DIGITS and text.isascii() else float("nan")
    except ValueError:
        number = float("nan")
    if number - number != 0:
        raise InvalidError("This is not a number.", argument=name, hint="Write a number such as 0.5.")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def key_of(nonce: str, asked: Body) -> str:
    """Return the key of a question that was sent from one page: sent twice, it is charged once."""
    text = as_json(asked.model_dump(mode="json", exclude_defaults=True))
    digest = sha256(f"{nonce}\n{text}".encode("utf-8", "replace")).hexdigest()
    return f"page-{digest[:40]}"
