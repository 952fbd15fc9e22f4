r"""LIKE patterns as regular expressions without backtracking: O(n·m) steps for n characters and a pattern of m.

Both forms quote every ASCII character that is not a letter or a digit, and write a run of k `_` as `.{k}`.

* `atomic_expression` is for Java. Each part between two % is an atomic group, (?>.*?…), which Java does not enter again
  after its first occurrence. No quantifier contains another, and Java descends once for each run, of which there are at
  most `like_patterns.MOST_RUNS`.
* `automaton_expression` is for RE2, which runs an automaton over the text and never backtracks. RE2 repeats at most
  1,000 times, and `like_patterns.MOST_CHARACTERS` keeps runs and automata below its limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.engines.sql.builder import SQL, call, infix
from tacit.engines.sql.functions import Form
from tacit.query.expressions import Call, Constant
from tacit.query.expressions.like_patterns import is_plain, split_part, split_pattern

_ASCII = 127


def like_form(function: str, expression: Callable[[str], str], *, plain: bool) -> Form:
    """Return LIKE as a function of a text and an expression; with `plain`, the engine's own LIKE if that is linear."""

    def write(node: Call, arguments: Sequence[SQL]) -> SQL:
        text, pattern = node.arguments[1], arguments[1]
        if not isinstance(text, Constant) or not isinstance(text.value, str) or (plain and is_plain(text.value)):
            return infix(exp.Like, arguments[0], pattern)  # NULL, or plain
        return call(function, arguments[0], exp.Literal.string(expression(text.value)))

    return Form(write=write)


def atomic_expression(pattern: str) -> str:
    r"""Return an expression of Java that occurs in exactly those texts that a pattern fits.

    >>> atomic_expression("n%_o__%"), atomic_expression("a_%%b"), atomic_expression("a.b")
    ('(?s)\\An(?>.*?.{1}o.{2})', '(?s)\\Aa.{1}.*b\\z', '(?s)\\Aa\\.b\\z')
    """
    first, *rest = map(_expression, split_pattern(pattern))
    if not rest:
        return rf"(?s)\A{first}\z"
    *middle, last = rest
    groups = "".join(f"(?>.*?{part})" for part in middle)
    return rf"(?s)\A{first}{groups}" + (rf".*{last}\z" if last else "")


def automaton_expression(pattern: str) -> str:
    r"""Return an expression of RE2 that matches exactly those whole texts that a pattern fits.

    >>> automaton_expression("n%_o__%"), automaton_expression("a_%%b.c")
    ('(?s)n.*.{1}o.{2}.*', '(?s)a.{1}.*b\\.c')
    """
    return "(?s)" + ".*".join(map(_expression, split_pattern(pattern)))


def _expression(part: str) -> str:
    """Return the expression of a part between two %."""
    return "".join(f".{{{len(run)}}}" if run[0] == "_" else _quoted(run) for run in split_part(part))


def _quoted(characters: str) -> str:
    """Return an expression in which each character stands for itself."""
    return "".join(one if one.isalnum() or ord(one) > _ASCII else f"\\{one}" for one in characters)
