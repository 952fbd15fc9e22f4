"""The work that one private row can cause: a public bound, checked before the charge.

A question can be aimed at one person: `WHERE person = 42` leaves at most her rows. If the engine then does seconds of
work for such a row, or runs out of memory, the duration or the failure tells whether she is in the data, whatever ε is.
tacit therefore refuses a question if one row could cause more work than a fixed, public limit.

**Statement.** Let r be a row of a private table, in a plan without joins of private tables. Then r becomes at most
`rows` joined rows, the engine takes at most `steps` steps for all of them together, and it may read `public_rows` rows
of public tables that it would not read without r. A step handles one value once:
it reads a column, calls a function, compares with one option of IN, or reads or writes 100 characters. The row's own
texts count as 100 characters each; longer ones take more steps in proportion.

**Why it holds.**

* *Rows.* A joined row holds r and one row of each joined table, or NULLs (`joins`). The matching rows of a public table
  have a key that equals one value, which the row so far fixes. If the key is a column, there are at most as many of
  them as rows of the table share one value of it (`ColumnPolicy.copies`); otherwise at most all rows of the table
  (`TablePolicy.size`). NULL equals nothing, and a LEFT join makes at least one row. `rows` is the product of these
  numbers.
* *Public rows.* An engine may read a public table only if a private row is left, or only the part of it that private
  rows can match. `public_rows` is the sum of the sizes of all joined public tables, each as often as it is joined.
  DuckDB does not choose the part by private values here: the optimisers that do are switched off (`duckdb_sources`).
* *Steps.* An engine computes each distinct part of an expression at most once a row: parts that are used twice are
  columns of a layer of their own (`engines.sql.layers`). What a join compares is computed before that join, for
  the rows that the joins before it made; conditions, keys and values are computed after the last. A plan takes one
  statement for all plain sums and one for each measure with bins or of different values; each evaluates the joins, the
  conditions and the keys again. Every listed function takes time linear in the length of its texts, except LIKE and
  `replace`, which take at most the product of the lengths of the text and the pattern. A LIKE pattern with several
  wildcards counts one step for each pair of characters, since automata are slow. PostgreSQL compares each character of
  `lower` and `upper` with up to 1,500 letters, which counts 50 steps. The length of a text is bounded in `text_growth`.
* *Memory.* What one row makes an engine hold (groups, different values, bins) is at most one entry a joined row and
  statement.

The limits are constants, and nothing here reads data, so a refusal tells nothing.

**What is not covered.** A join of private tables makes n₁·n₂ rows of a unit with n₁ and n₂ rows. These numbers are
private, so there is no public bound on them. Duration within the bound is not hidden: see the known weaknesses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tacit.query.expressions import Call, Case, Constant, Expression, children
from tacit.query.expressions.like_patterns import is_plain
from tacit.query.expressions.text_length import Length, length_of
from tacit.query.joins import Join
from tacit.query.plan import Plan
from tacit.query.refusals import quoted, refused

MOST_ROWS: Final = 1_000
"""The largest number of joined rows that one private row may become."""

MOST_STEPS: Final = 1_000_000
"""The largest number of steps that one private row may take, over all joined rows."""

MOST_PUBLIC_ROWS: Final = 10_000_000
"""The largest number of public rows that a question may join, each table as often as it is joined."""

ROW_LIMITS: Final = MappingProxyType(
    {"most_rows": MOST_ROWS, "most_steps": MOST_STEPS, "most_public_rows": MOST_PUBLIC_ROWS}
)
"""The limits by name, for machines."""

_CHARACTERS = 100
"""The number of characters that one step reads or writes."""

_CASE_STEPS = 50
"""Steps to change the case of one character: PostgreSQL compares it with 1,500 letters."""

_OWN_TEXT = 100
"""The length that a text of the row itself is counted with."""

_A_JOIN, _A_MEASURE = 4, 4
"""Steps to look up a row's matches, and to add a value up: hash, compare, multiply, add."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWork:
    """The work that one private row can cause: the joined rows it becomes, their steps, and public rows to read."""

    rows: int
    steps: int
    public_rows: int = 0

    def __str__(self) -> str:
        """One sentence, with the limits.

        >>> print(RowWork(rows=31, steps=372))
        Work for one private row: at most 31 joined rows (limit 1,000), at most 372 steps (limit 1,000,000).
        """
        read = f", {self.public_rows:,} public rows to read (limit {MOST_PUBLIC_ROWS:,})" if self.public_rows else ""
        return (
            f"Work for one private row: at most {self.rows:,} joined row{'' if self.rows == 1 else 's'} (limit "
            f"{MOST_ROWS:,}), at most {self.steps:,} steps (limit {MOST_STEPS:,}){read}."
        )


def row_work(plan: Plan) -> RowWork:
    """Return the most work that one private row can cause."""
    rows, joining = 1, 0
    for join in plan.joins:
        joining += rows * (_A_JOIN + _steps(_before(join)))
        rows *= max(1, join.copies or 1)
    measures = {measure for bundle in plan.bundles for measure in bundle.measures}
    alone = [measure for measure in measures if measure.bins > 1 or measure.per == "value"]
    statements = max(1, len(alone) + (len(alone) < len(measures)))
    shared = _steps([*(key.expression for key in plan.keys), *([] if plan.where is None else [plan.where])])
    values = _steps(measure.value for measure in measures if measure.value is not None) + _A_MEASURE * len(measures)
    public_rows = sum(join.size or 0 for join in plan.joins)
    steps = statements * (joining + rows * shared) + rows * values
    return RowWork(rows=rows, steps=steps, public_rows=public_rows)


def _before(join: Join) -> list[Expression]:
    """Return what a private row has to compute before a join; a public table's part does not depend on private rows."""
    both = [own for pair in join.pairs for own in pair]
    if not join.private:
        return both[::2]
    return both if join.where is None else [*both, join.where]


def check_row_work(plan: Plan) -> None:
    """Raise RefusedError if one private row could cause more work than the limits allow."""
    work = row_work(plan)
    if work.rows > MOST_ROWS:
        raise _too_many_rows(plan, work.rows)
    if work.public_rows > MOST_PUBLIC_ROWS:
        raise refused(
            f"The question joins {work.public_rows:,} rows of public tables; the limit is {MOST_PUBLIC_ROWS:,}",
            "Join each public table once, or have the data's steward open a smaller one.",
        )
    if work.steps > MOST_STEPS:
        joined = f" for {work.rows:,} joined rows" if work.rows > 1 else ""
        raise refused(
            f"One private row could take {work.steps:,} steps{joined}; the limit is {MOST_STEPS:,}",
            "Ask several smaller questions, or shorten lists, patterns and texts.",
        )


def _too_many_rows(plan: Plan, rows: int) -> Exception:
    factors = " × ".join(f"{join.copies:,} of {quoted(join.table)}" for join in plan.joins if join.copies is not None)
    return refused(
        f"One private row could become {rows:,} joined rows ({factors}); the limit is {MOST_ROWS:,}",
        "Join on columns of one type whose values repeat less often in the public table, or have the data's steward "
        "open a smaller public table. A join on a range or an expression counts all rows of the table; a WHERE does "
        "not lower the number.",
    )


def _steps(expressions: Iterable[Expression]) -> int:
    """Return the steps to compute some expressions, each shared part once."""
    lengths: dict[int, Length] = {}
    steps, waiting = 0, [(expression, False) for expression in expressions]
    while waiting:
        part, ready = waiting.pop()
        if id(part) in lengths:
            continue
        if not ready:
            waiting.append((part, True))
            waiting.extend((child, False) for child in children(part))
            continue
        lengths[id(part)] = length_of(part, [lengths[id(child)] for child in children(part)])
        sizes = [_size(operand, lengths[id(operand)]) for operand in (*children(part), part)]
        steps += _own_steps(part, sizes)
    return steps


def _own_steps(part: Expression, sizes: list[int]) -> int:
    """Return the steps of one part after its operands, from the sizes of their texts and, last, of its own."""
    match part:
        case Constant():
            return 0
        case Case():
            return len(sizes)
        case Call(function="in"):
            return len(sizes) * (1 + max(sizes) // _CHARACTERS)
        case Call():
            return 1 + _text_steps(part, sizes)
    return 1 + sum(sizes) // _CHARACTERS


def _text_steps(call: Call, sizes: list[int]) -> int:
    """Return the steps of a call for the characters of its texts."""
    match call.function, call.arguments:
        case "like", (_, Constant(value=str(pattern))) if not is_plain(pattern):
            return sizes[0] * len(pattern)
        case "replace", _:
            return (sizes[0] * (1 + sizes[1]) + sizes[-1]) // _CHARACTERS
        case "lower" | "upper", _:
            return sizes[0] * _CASE_STEPS
    return sum(sizes) // _CHARACTERS


def _size(part: Expression, length: Length) -> int:
    """Return the number of characters that a value is counted with: 0 if it is not a text."""
    return _OWN_TEXT * length.times + length.more if part.kind == "text" else 0
