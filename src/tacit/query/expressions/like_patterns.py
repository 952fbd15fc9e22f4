"""LIKE patterns: their parts between wildcards, and the public limits that bound the work of a match.

A match of a pattern of m characters in a text of n takes O(n·m) steps on every engine. That needs a matcher without
backtracking: the first occurrence of a part between two % is as good as any later one, because everything that follows
the later one also follows the first. Some engines' own matchers try all occurrences, in O(n^k) steps for k wildcards,
so a query could run for hours if one chosen row is present. Patterns that are `is_plain` are linear in every supported
version of DuckDB: it searches for fixed parts one after the other, and a single % leaves it only one choice. Other
patterns become an expression of `engines.sql.functions`.

Two limits hold on all engines, and tacit checks them before it charges. A pattern has at most MOST_RUNS runs, because
some matchers recurse once for each run and fail if their stack is full. A pattern that is not plain has at most
MOST_CHARACTERS characters, which fit an automaton.
"""

from __future__ import annotations

import re
from typing import Final

from tacit.query.expressions import Value
from tacit.query.refusals import refused

MOST_RUNS: Final = 500
"""The largest number of runs of characters, `_` and % in a pattern."""

MOST_CHARACTERS: Final = 1_000
"""The greatest length of a pattern that is not plain; a run of % counts as one character."""


def split_pattern(pattern: str) -> list[str]:
    """Return the parts of a pattern between its runs of %.

    >>> split_pattern("n%_th%%"), split_pattern("north")
    (['n', '_th', ''], ['north'])
    """
    return re.split("%+", pattern)


def split_part(part: str) -> list[str]:
    """Return the runs of a part: each consists of `_` alone, or has no `_`.

    >>> split_part("a__bc_")
    ['a', '__', 'bc', '_']
    """
    return re.findall("_+|[^_]+", part)


def is_plain(pattern: str) -> bool:
    """Return whether a pattern has no `_`, or at most one run of %.

    >>> [is_plain(pattern) for pattern in ("a_c", "a%c_", "%abc%", "a%b%c", "%a_c%", "%a%c_")]
    [True, True, True, True, False, False]
    """
    return "_" not in pattern or len(split_pattern(pattern)) <= 2  # noqa: PLR2004 - before and after the %


def check_pattern(pattern: Value) -> None:
    """Raise RefusedError if a pattern exceeds the limits."""
    if not isinstance(pattern, str):
        return
    parts = split_pattern(pattern)
    runs = sum(len(split_part(part)) for part in parts) + len(parts) - 1
    if runs > MOST_RUNS:
        reason = f"A LIKE pattern switches {runs:,} times between characters, _ and %; the limit is {MOST_RUNS}"
        raise refused(reason, "Shorten the pattern.")
    characters = sum(map(len, parts)) + len(parts) - 1
    if characters > MOST_CHARACTERS and not is_plain(pattern):
        reason = f"A LIKE pattern with _ and several % has {characters:,} characters; the limit is {MOST_CHARACTERS:,}"
        raise refused(reason, "Shorten the pattern.")
