"""The work that one private row can cause: a public bound, checked before the charge.

A query can be aimed at one person: `WHERE person = 42` leaves at most her rows. If the engine then does seconds of work
for such a row, or runs out of memory, the duration or the failure reveals whether she is in the data, for any ε. tacit
therefore refuses a query if one row could cause more work than a fixed, public limit.

**Statement.** Let r be a row of a private table, in a plan without joins of private tables. Then r becomes at most
`rows` joined rows, the engine takes at most `steps` steps for all of them together, and it may read `public_rows` rows
of public tables that it would not read without r. A step handles one value once:
it reads a column, calls a function, compares with one option of IN, or reads or writes 100 characters. The texts of the
row count as 100 characters each; longer texts take more steps in proportion.

**Why it holds.**

* *Rows.* A joined row holds r and one row of each joined table, or NULLs (`joins`). The matching rows of a public table
  have a key that equals one value, which the row so far determines. If the key is a column, their number is at most the
  number of rows that share one value of it (`ColumnPolicy.copies`); otherwise it is at most the number of rows of the
  table (`TablePolicy.size`). NULL equals nothing, and a LEFT join makes at least one row. `rows` is the product of
  these numbers.
* *Subqueries that group by the unit* (`unit_tables`). Each row below goes into one group, so a row has an effect on at
  most as many groups as there are rows below, whatever other rows these groups have. The steps of all levels add up. A
  subquery can make a text longer, within limits (`unit_columns.check_text`). Work on such texts counts for more
  (`_growth`).
* *Public rows.* An engine may read a public table only if a private row is left, or only the part of it that private
  rows can match. `public_rows` is the sum of the sizes of all joined public tables, each counted once per join. DuckDB
  does not choose the part by private values here, because `engines.duckdb.sources` switches those optimisers off.
* *Steps.* An engine computes each distinct part of an expression at most once per row: parts that are used twice are
  columns of a separate layer (`engines.sql.layers`). The values that a join compares are computed before that join, for
  the rows that the earlier joins made; conditions, keys and values are computed after the last join. A plan takes one
  statement for all plain sums and one for each measure with bins or of different values; each evaluates the joins, the
  conditions and the keys again. Every listed function takes time linear in the length of its texts, except LIKE and
  `replace`, which take at most the product of the lengths of the text and the pattern. A LIKE pattern with several
  wildcards counts one step for each pair of characters, because automata are slow. PostgreSQL compares each character
  of `lower` and `upper` with up to 1,500 letters, which counts 50 steps. A column that is read in a time zone counts
  the steps of `expressions.local_time`. `expressions.text_length` bounds the length of
  a text.
* *Memory.* For one row an engine stores at most one entry (a group, a different value, a bin) per joined row and
  statement.

The limits are constants, and nothing here reads data, so a refusal reveals nothing.

**Not covered.** A join of private tables makes n₁·n₂ rows of a unit with n₁ and n₂ rows. These numbers are private, so
there is no public bound on them. Durations within the bound are not hidden: see the known weaknesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tacit.errors import RefusedError, show_name
from tacit.query.expressions import Call, Case, Column, Constant, Expression, children
from tacit.query.expressions.like_patterns import is_plain
from tacit.query.expressions.local_time import local_time
from tacit.query.expressions.text_length import Length, length_of
from tacit.query.joins import Join
from tacit.query.plan import Plan
from tacit.query.refusals import refused
from tacit.query.unit_tables import UnitTable

MOST_ROWS: Final = 1_000
"""The largest number of joined rows that one private row may become."""

MOST_STEPS: Final = 1_000_000
"""The largest number of steps that one private row may take, over all joined rows."""

MOST_PUBLIC_ROWS: Final = 10_000_000
"""The largest number of public rows that a query may join, each table counted once per join."""

ROW_LIMITS: Final = MappingProxyType(
    {"most_rows": MOST_ROWS, "most_steps": MOST_STEPS, "most_public_rows": MOST_PUBLIC_ROWS}
)
"""The limits by name, for machines."""

_CHARACTERS = 100
"""The number of characters that one step reads or writes."""

_CASE_STEPS = 50
"""Steps to change the case of one character: PostgreSQL compares it with 1,500 letters."""

_ROW_TEXT = 100
"""The number of characters that a text of the row counts as."""

_JOIN_STEPS, _MEASURE_STEPS = 4, 4
"""Steps to find the matches of a row, and to add a value to a sum: hash, compare, multiply, add."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWork:
    """The work that one private row can cause: the joined rows it becomes, their steps, and public rows to read."""

    rows: int
    steps: int
    public_rows: int = 0

    def __str__(self) -> str:
        """Return one sentence, with the limits.

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
    start = _START if plan.units is None else _unit_work(plan.units)
    rows, join_steps = _joined(plan.joins, start)
    measures = {measure for bundle in plan.bundles for measure in bundle.measures}
    alone = [measure for measure in measures if measure.bins > 1 or measure.per == "value"]
    statements = max(1, len(alone) + (len(alone) < len(measures)))
    shared = _steps([*(key.expression for key in plan.keys), *([] if plan.where is None else [plan.where])])
    values = _steps(measure.value for measure in measures if measure.value is not None) + _MEASURE_STEPS * len(measures)
    public_rows = sum(join.size or 0 for join in plan.all_joins)
    steps = statements * (join_steps + rows * shared * start.factor) + rows * values * start.factor
    return RowWork(rows=rows, steps=steps, public_rows=public_rows)


@dataclass(frozen=True, slots=True)
class _Level:
    """The work of one private row up to a level: rows and steps, and a factor for work on texts of that level."""

    rows: int
    steps: int
    factor: int


_START = _Level(rows=1, steps=0, factor=1)


def _joined(joins: Sequence[Join], start: _Level) -> tuple[int, int]:
    """Return the rows that the rows of a level become by some joins, and all steps up to then."""
    rows, steps = start.rows, start.steps
    for join in joins:
        steps += rows * (_JOIN_STEPS + _steps(_computed_before(join)) * start.factor)
        rows *= max(1, join.copies or 1)
    return rows, steps


def _unit_work(units: UnitTable) -> _Level:
    """Return the work of one private row up to the rows of a subquery that groups by the unit."""
    start = _START if units.below is None else _unit_work(units.below)
    rows, steps = _joined(units.joins, start)
    values = [each.value for each in units.aggregates if each.value is not None]
    read = [*(key for _, key in units.keys), *values, *([] if units.where is None else [units.where])]
    made = [*(column for _, column in units.columns), *([] if units.having is None else [units.having])]
    grouped = start.factor * _growth([*values, *(key for _, key in units.keys)])
    each = _steps(read) * start.factor + _MEASURE_STEPS * (1 + len(units.aggregates)) + _steps(made) * grouped
    return _Level(rows, steps + rows * each, grouped * _growth(column for _, column in units.columns))


def _growth(expressions: Iterable[Expression]) -> int:
    """Return how much more work the texts among some values can cause than texts of the row.

    That is the square of how much longer they are, because `replace` may take the product of the lengths of two texts.
    """
    texts = [expression for expression in expressions if expression.kind == "text"]
    lengths = _lengths(texts)
    sizes = [_size(text, lengths[id(text)]) for text in texts]
    return max((max(1, -(-size // _ROW_TEXT)) ** 2 for size in sizes), default=1)


def _computed_before(join: Join) -> list[Expression]:
    """Return the expressions of a private row before a join; those of a public table do not depend on private rows."""
    both = [side for pair in join.pairs for side in pair]
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
            f"The query joins {work.public_rows:,} rows of public tables; the limit is {MOST_PUBLIC_ROWS:,}",
            "Join each public table once, or ask the data's steward to open a smaller one.",
        )
    if work.steps > MOST_STEPS:
        joined = f" for {work.rows:,} joined rows" if work.rows > 1 else ""
        raise refused(
            f"One private row could take {work.steps:,} steps{joined}; the limit is {MOST_STEPS:,}",
            "Run several smaller queries, or shorten lists, patterns and texts.",
        )


def _too_many_rows(plan: Plan, rows: int) -> RefusedError:
    factors = " × ".join(
        f"{join.copies:,} of {show_name(join.table)}" for join in plan.all_joins if join.copies is not None
    )
    return refused(
        f"One private row could become {rows:,} joined rows ({factors}); the limit is {MOST_ROWS:,}",
        "Join on columns of one type whose values repeat less often in the public table, or ask the data's steward to "
        "open a smaller public table. A join on a range or an expression counts all rows of the table; WHERE does not "
        "lower the number.",
    )


def _steps(expressions: Iterable[Expression]) -> int:
    """Return the steps to compute some expressions, each shared part once."""
    parts: list[Expression] = []
    lengths = _lengths(expressions, parts)
    return sum(
        _part_steps(part, [_size(operand, lengths[id(operand)]) for operand in (*children(part), part)])
        for part in parts
    )


def _lengths(expressions: Iterable[Expression], parts: list[Expression] | None = None) -> dict[int, Length]:
    """Return the lengths of all parts of some expressions, by identity; add each part to a list, if one is given."""
    lengths: dict[int, Length] = {}
    waiting = [(expression, False) for expression in expressions]
    while waiting:
        part, ready = waiting.pop()
        if id(part) in lengths:
            continue
        if not ready:
            waiting.append((part, True))
            waiting.extend((child, False) for child in children(part))
            continue
        lengths[id(part)] = length_of(part, [lengths[id(child)] for child in children(part)])
        if parts is not None:
            parts.append(part)
    return lengths


def _part_steps(part: Expression, sizes: list[int]) -> int:
    """Return the steps of one part, without its operands; `sizes` are those of the operands' texts, then its own."""
    match part:
        case Constant():
            return 0
        case Column(timezone=str(zone)):
            return _steps([local_time(Column(part.name, "timestamp"), zone)])
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
    """Return the number of characters that a value counts as; 0 if it is not a text."""
    return _ROW_TEXT * length.times + length.more if part.kind == "text" else 0
