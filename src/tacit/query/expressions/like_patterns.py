"""LIKE patterns: their parts between wildcards, and the public limits that bound the work of a match.

A match of a pattern of m characters in a text of n takes O(n·m) steps on every engine. That needs a matcher which
does not try again: the first occurrence of a part between two % is as good as any later one, since whatever follows the
later one also follows the first. Some engines' own matchers try all occurrences, in O(n^k) steps for k wildcards, so a
question could run for hours if one chosen row is present. `is_plain` patterns are linear in every admitted version of
DuckDB, which searches for fixed parts one after the other and has one choice to make for a single %. Others become an
expression of `engines.sql.functions`.

Two limits hold on all engines, and tacit checks them before it charges. A pattern has at most MOST_RUNS runs, since
some matchers descend once for each run and fail when their stack is full. A pattern that is not plain has at most
MOST_CHARACTERS characters, which fit an automaton.
"""

from __future__ import annotations

import re
from typing import Final

from tacit.query.expressions import Value
from tacit.query.refusals import refused

MOST_RUNS: Final = 500
"""How often characters, `_` and % may alternate in a pattern."""

MOST_CHARACTERS: Final = 1_000
"""How long a pattern may be that is not plain; a run of % counts as one character."""


def split_pattern(pattern: str) -> list[str]:
    """Return the parts of a pattern between its runs of %.

    >>> split_pattern("n%_th%%"), split_pattern("north")
    (['n', '_th', ''], ['north'])
    """
    return re.split("%+", pattern)


def split_part(part: str) -> list[str]:
    """Return the runs of a part: each is all `_`, or has none.

    >>> split_part("a__bc_")
    ['a', '__', 'bc', '_']
    """
    return re.findall("_+|[^_]+", part)


def is_plain(pattern: str) -> bool:
    """Whether a pattern has no `_`, or at most one run of %.

    >>> [is_plain(pattern) for pattern in ("a_c", "a%c_", "%abc%", "a%b%c", "%a_c%", "%a%c_")]
    [True, True, True, True, False, False]
    """
    return "_" not in pattern or len(split_pattern(pattern)) <= 2  # noqa: PLR2004 - before and after the %


def check_pattern(pattern: Value) -> None:
    """Raise RefusedError if a pattern is beyond the limits."""
    if not isinstance(pattern, str):
        return
    parts = split_pattern(pattern)
    runs = sum(len(split_part(part)) for part in parts) + len(parts) - 1
    if runs > MOST_RUNS:
        what = f"A LIKE pattern switches {runs:,} times between characters, _ and %; the limit is {MOST_RUNS}"
        raise refused(what, "Shorten the pattern.")
    characters = sum(map(len, parts)) + len(parts) - 1
    if characters > MOST_CHARACTERS and not is_plain(pattern):
        what = f"A LIKE pattern with _ and several % has {characters:,} characters; the limit is {MOST_CHARACTERS:,}"
        raise refused(what, "Shorten the pattern.")
