"""SQL's three-valued logic and choices among values; these functions see NULL as None.

Comparisons are Python's own: text by code point, false before true.
"""

from __future__ import annotations

from datetime import date, datetime

Some = float | str | date | datetime
"""A value that is there; all arguments of a call have one kind."""


def both(*truths: bool | None) -> bool | None:
    """AND: false if any is false, else NULL if any is NULL, else true.

    >>> both(True, None), both(False, None)
    (None, False)
    """
    return False if False in truths else None if None in truths else True


def either(*truths: bool | None) -> bool | None:
    """OR: true if any is true, else NULL if any is NULL, else false.

    >>> either(True, None), either(False, None)
    (True, None)
    """
    return True if True in truths else None if None in truths else False


def is_null(value: Some | None) -> bool:
    """Whether the value is NULL; never NULL itself."""
    return value is None


def within(value: Some | None, *options: Some | None) -> bool | None:
    """IN: true if an option equals it, else NULL if it or an option is NULL, else false."""
    if value is None:
        return None
    return True if value in options else None if None in options else False


def coalesce(*values: Some | None) -> Some | None:
    """The first value that is not NULL."""
    return next((value for value in values if value is not None), None)


def nullif(a: Some | None, b: Some | None) -> Some | None:
    """NULL where a = b, else a."""
    return None if a == b else a


def least(*values: Some | None) -> Some | None:
    """The least of the values that are not NULL; NULL if none is there."""
    return min((value for value in values if value is not None), default=None)


def greatest(*values: Some | None) -> Some | None:
    """The largest of the values that are not NULL; NULL if none is there."""
    return max((value for value in values if value is not None), default=None)
