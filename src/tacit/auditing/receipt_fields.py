"""Strict reading of receipts: no field twice, finite numbers of limited length, and every field of its type."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tacit.errors import InvalidError
from tacit.guarantees.events import Event, from_json

MOST_TEXT, _MOST_DIGITS = 50_000_000, 4000
_OWN = {"mechanisms", "released", "events", "privacy"}
_NUMBER = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*|(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?)")


class MismatchError(Exception):
    """A receipt contradicts itself, or lacks a field."""


def read(text: str) -> Fields:
    """Return the receipt in JSON, or in the field `receipt` of an answer; raise InvalidError for anything else."""
    try:
        problem = "it has more than 50 million characters" if len(text) > MOST_TEXT else ""
        limits: dict[str, Any] = {"parse_int": _number, "parse_float": _number, "parse_constant": _number}
        found = {} if problem else json.loads(text, object_pairs_hook=_once, **limits)
        nested = isinstance(found, dict) and "receipt" in found
        problem = "it has a receipt inside a receipt" if nested and _OWN & found.keys() else problem
        fields = Fields(found["receipt"] if nested else found, "the receipt")
    except RecursionError:
        problem = "it is nested too deeply"
    except (ValueError, MismatchError) as error:
        problem = str(error)[:200]
    if problem:
        hint = "Write r.receipt as JSON."
        raise InvalidError(f"This is not a receipt in JSON: {problem}.", argument="receipt", hint=hint)
    return fields


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a field occurs twice")
    return dict(pairs)


def _number(text: str) -> Fraction:
    if len(text) > _MOST_DIGITS or not _NUMBER.fullmatch(text):
        raise ValueError("a number is not finite, or has more than 4,000 digits")
    return Fraction(text)


class Fields:
    """The fields of an object. Every method raises MismatchError if a field does not have its type."""

    def __init__(self, value: object, place: str) -> None:
        """Take an object, and its name for messages."""
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        self.place = place
        self.expect(isinstance(value, dict), "it is not an object")

    def expect(self, condition: object, text: str) -> None:
        """Raise MismatchError unless a condition is true."""
        if not condition:
            raise MismatchError(f"{self.place}: {text}")

    def __contains__(self, name: str) -> bool:
        """Return whether there is a field that is not null."""
        return self.value.get(name) is not None

    def get(self, name: str, kind: type) -> Any:  # noqa: ANN401 - of the kind that is asked for
        """Return a field of a Python type."""
        self.expect(isinstance(self.value.get(name), kind), f"there is no {name} of type {kind.__name__}")
        return self.value[name]

    def number(self, name: str) -> Fraction:
        """Return a number of at least 0, or a text such as "3/10"."""
        found = self.value.get(name)
        if isinstance(found, str) and len(found) <= _MOST_DIGITS and _NUMBER.fullmatch(found):
            found = Fraction(found)
        self.expect(isinstance(found, Fraction) and found >= 0, f"there is no number {name} of at least 0")
        return found  # type: ignore[return-value]  # just checked

    def whole(self, name: str, least: int = 0) -> int:
        """Return a whole number."""
        found = self.get(name, Fraction)
        self.expect(found.denominator == 1 and found >= least, f"there is no whole number {name} of at least {least}")
        return int(found)

    def optional(self, name: str, least: int = 1) -> int | None:
        """Return a whole number, or None for null or no field."""
        return self.whole(name, least) if name in self else None

    def pair(self, name: str) -> tuple[int, int]:
        """Return a list of two whole numbers."""
        found = [each for each in self.get(name, list) if isinstance(each, Fraction) and each.denominator == 1]
        self.expect(len(found) == len(self.value[name]) == 2, f"there are no two whole numbers {name}")  # noqa: PLR2004
        return int(found[0]), int(found[1])

    def inner(self, name: str) -> Fields:
        """Return an object; an empty one if there is no such field."""
        return Fields(self.value.get(name, {}), f"{self.place}.{name}")

    def some(self, name: str) -> list[Any]:
        """Return a list; an empty one if there is no such field."""
        return self.get(name, list) if name in self else []

    def each(self, name: str) -> list[Fields]:
        """Return a list of objects; an empty one if there is no such field."""
        return [Fields(value, f"{self.place}.{name}[{place}]") for place, value in enumerate(self.some(name))]

    def events(self, name: str) -> Sequence[Event]:
        """Return an event, or a list of events."""
        found: Any = self.value.get(name)
        texts = found if isinstance(found, list) else [found]
        try:
            return [from_json(text) for text in texts]
        except InvalidError as error:
            raise MismatchError(f"{self.place}.{name}: {error.message}") from None

    def event(self, name: str) -> Event:
        """Return an event."""
        found = self.events(name)
        self.expect(len(found) == 1, f"there is no single event {name}")
        return found[0]
