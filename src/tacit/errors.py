"""Every error that tacit raises on purpose.

    TacitError
    ├── InvalidError    an argument, a policy or a file is not what it must be
    ├── RefusedError    the question cannot be answered privately, or not any more
    ├── BudgetError     the question is fine, but what is left of the budget is too small
    └── SourceError     the engine behind the data failed; its text never carries data

A message says what happened, that nothing was lost, and what to do next. It may repeat a parameter
that the caller chose, never a value of the data.
"""

from __future__ import annotations

_LONGEST = 80


class TacitError(Exception):
    """The root of every error that tacit raises on purpose."""


class InvalidError(TacitError, ValueError):
    """An argument, a policy or a file is not what it must be.

    >>> raise InvalidError("epsilon", "-1", "a number > 0")
    Traceback (most recent call last):
    tacit.errors.InvalidError: epsilon must be a number > 0, but got -1; nothing was drawn or released.
    """

    def __init__(self, argument: str, got: str, want: str) -> None:
        """Keep the three parts for machines; join them for people."""
        self.argument, self.got, self.want = argument, got, want
        super().__init__(f"{argument} must be {want}, but got {got}; nothing was drawn or released.")

    def __reduce__(self) -> tuple[type[InvalidError], tuple[str, str, str]]:
        """Pickle by the three parts, so that the error crosses processes."""
        return type(self), (self.argument, self.got, self.want)


class RefusedError(TacitError):
    """The question cannot be answered privately, or not any more."""


class BudgetError(TacitError):
    """The question is fine, but what is left of the budget is too small for it."""


class SourceError(TacitError):
    """The engine behind the data failed; the text is constant, since details could carry data."""


def show(value: object) -> str:
    """Return a parameter as an error message shows it: its representation, but never long and never failing.

    >>> show(-1), show("x" * 1000)[:9]
    ('-1', "'xxxxxxxx")
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a representation may raise anything, e.g. for an int of 5,000 digits
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
