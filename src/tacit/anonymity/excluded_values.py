"""Background knowledge: the sensitive values that an attacker can rule out, and what is left of a class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.anonymity.attack_results import in_words
from tacit.anonymity.cell_values import to_text
from tacit.anonymity.tables import Texts
from tacit.errors import InvalidError, bad_value, show


@dataclass(frozen=True, slots=True)
class ExcludedValues:
    """The codes of values that are ruled out; or, if `number` is not None, any so many values of a class."""

    codes: frozenset[int] = frozenset()
    number: int | None = None

    def infer(self, values: Sequence[int], texts: Texts) -> str | None:
        """Return what the attacker learns from the different values of some rows; None if nothing.

        With listed values, one value must be left: if all are ruled out, the rows contradict the knowledge. With j of
        any values, there must be at most j + 1 values: the attacker may be able to rule out all but one.
        """
        if self.number is None:
            left = [value for value in values if value not in self.codes]
            return f"is {in_words(texts[left[0]])}" if len(left) == 1 else None
        if not 0 < len(values) <= self.number + 1:
            return None
        return f"is one of {len(values)}: {', '.join(in_words(texts[value]) for value in values)}"

    def in_words(self, texts: Texts) -> str:
        """Return the values that are ruled out; empty if they are not listed."""
        return ", ".join(in_words(texts[code]) for code in sorted(self.codes))


def read_excluded(excluded: object, name: str, texts: Texts) -> ExcludedValues:
    """Return the values of a column that an argument rules out: a number of values, or a list of them.

    Raises:
        InvalidError: it is neither, or the column does not have a listed value.
    """
    if isinstance(excluded, (str, bytes, bool)) or not isinstance(excluded, (int, np.integer, Iterable)):
        raise bad_value("excluded", excluded, "a number of values that are ruled out, or a list of them")
    if isinstance(excluded, (int, np.integer)):
        if excluded < 0:
            raise bad_value("excluded", excluded, "a whole number ≥ 0")
        return ExcludedValues(number=int(excluded))
    code_of = {value: code for code, value in enumerate(texts)}
    listed = [(value, to_text(value)) for value in excluded]
    for value, text in listed:
        if text not in code_of:
            raise InvalidError(
                f"Column {name!r} does not have the excluded value {show(value)}.",
                argument="excluded",
                hint="Exclude values of the sensitive column.",
            )
    return ExcludedValues(frozenset(code_of[text] for _, text in listed))
