"""Recorded answers that cannot be read: a ledger whose text was changed or damaged.

A ledger stores an answer as text, which each kind of release writes and reads. What the text of a damaged ledger makes
a reader raise depends on the reader; `reading_answer` makes it one LedgerError.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.errors import LedgerError, TacitError

_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@contextmanager
def reading_answer(ledger: str) -> Iterator[None]:
    """Raise LedgerError if what is read within is not a recorded answer to the query.

    Args:
        ledger: the name of the ledger in the message.

    >>> with reading_answer("clinic.ledger"):
    ...     {}["cells"]
    Traceback (most recent call last):
    tacit.errors.LedgerError: The answer to this query in ledger clinic.ledger cannot be read. Restore ...
    """
    try:
        yield
    except TacitError:
        raise
    except _UNREADABLE:
        error = LedgerError(
            f"The answer to this query in ledger {ledger} cannot be read.",
            hint="Restore the ledger from a backup, and check it: `tacit ledger verify POLICY`.",
        )
        error.unspent = True
        raise error from None
