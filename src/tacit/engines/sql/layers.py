"""Row expressions as SQL, in layers: each SELECT adds columns to the SELECT below it.

A value that is used more than once becomes a column of a layer, so that it is computed once. Such values are
subexpressions that several expressions share, and operands that an operator must write twice to guard them. DuckDB does
not do that by itself: it expands NULLIF and does not share repeated parts of CASE. Nested guards written in place would
double the work at every level. Deeply nested expressions become columns too, so that no SQL text nests deeper than
parsers support.

A column of instants is read in UTC, and its local time in the policy's time zone is computed like any other expression
(`query.expressions.local_time`).

An expression without a column is evaluated here, by `query.evaluate`, and written as a constant.

NaN counts as NULL. Arithmetic passes NaN on as it passes on NULL. So NaN is turned into NULL only where an operation
would tell the two apart: in comparisons, choices, keys and casts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.engines.sql.builder import SQL, column, literal, when
from tacit.engines.sql.dialect import Dialect
from tacit.errors import ColumnNotFoundError, InternalError, InvalidError, show_name
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Kind, children, reads_column
from tacit.query.expressions.local_time import local_time

_HIGHEST = 12


@dataclass(frozen=True, slots=True)
class Fragment:
    """A value as SQL over the columns of the layers up to `level`. With `nan`, NaN may replace NULL in it."""

    sql: SQL
    level: int
    height: int
    nan: bool

    @property
    def is_name(self) -> bool:
        """True if the value costs nothing to write again, because it is a column or a constant."""
        return self.height == 0


class Layers:
    """The layers of SELECTs over a source that compute some expressions."""

    def __init__(self, dialect: Dialect, types: Mapping[str, str], expressions: Iterable[Expression]) -> None:
        """Prepare the layers for these expressions, over a source with these columns and types."""
        self._dialect = dialect
        self._types = types
        self._prefix = _prefix(types)
        self._uses = _uses(expressions)
        self._fragments: dict[Expression, Fragment] = {}
        self._cleaned: dict[Expression, Fragment] = {}
        self._layers: list[list[tuple[str, SQL]]] = [[]]

    def value(self, expression: Expression) -> SQL:
        """Return the name of an expression's value in the last layer; NaN is NULL there."""
        return self._named(self._clean(expression)).sql

    def raw_value(self, expression: Expression) -> SQL:
        """Return the name of an expression's value in the last layer; NaN may replace NULL there."""
        return self._named(self._fragment(expression)).sql

    def unit(self, name: str, kind: Kind) -> SQL:
        """Return the name of the unit's column, unconverted if that is possible."""
        return self._add(self._dialect.read_unit(column(name), self._type(name), kind), 0)

    def selects(self, source: str, *, name: str = "layer", keep: Sequence[str] = ()) -> list[tuple[str, str]]:
        """Return the layers with their names. Each reads from the layer before it, and the first from the source.

        The source's columns in `keep` pass through all layers unchanged.
        """
        self._check_depth()
        selects, below = [], source
        for level, layer in enumerate(self._layers):
            first: list[SQL] = [exp.Star()] if level else [column(kept) for kept in keep]
            computed = [exp.alias_(sql, alias, quoted=True, copy=False) for alias, sql in layer]
            items = ", ".join(self._dialect.text(item) for item in first + computed or [exp.true()])
            select = f"SELECT {items} FROM {self._dialect.layer_source(below, level, self._prefix)}"  # noqa: S608 - built here
            below = f"{name}{level}"
            selects.append((below, select))
        return selects

    def _check_depth(self) -> None:
        deepest = self._dialect.deepest
        if deepest is not None and len(self._layers) > deepest:
            raise InvalidError(
                f"The query nests expressions {len(self._layers)} levels deep; {self._dialect.engine} supports at most "
                f"{deepest}.",
                argument="sql",
                hint="Move intermediate steps into a table.",
            )

    def _type(self, name: str) -> str:
        if name not in self._types:
            raise ColumnNotFoundError(name, self._types, argument="columns")
        return self._types[name]

    def _add(self, sql: SQL, level: int) -> SQL:
        """Add a piece of SQL to a layer as a column, and return the column."""
        while len(self._layers) <= level:
            self._layers.append([])
        name = f"{self._prefix}{sum(map(len, self._layers))}"
        self._layers[level].append((name, sql))
        return column(name)

    def _named(self, fragment: Fragment) -> Fragment:
        if fragment.is_name:
            return fragment
        level = fragment.level + 1
        return Fragment(self._add(fragment.sql, level), level, 0, fragment.nan)

    def _clean(self, expression: Expression) -> Fragment:
        """Return an expression's fragment with NULL for NaN."""
        if expression not in self._cleaned:
            fragment = self._fragment(expression)
            if fragment.nan:
                name = self._named(fragment)
                fragment = Fragment(self._dialect.without_nan(name.sql), name.level, 1, nan=False)
            self._cleaned[expression] = self._named(fragment) if self._uses[expression] > 1 else fragment
        return self._cleaned[expression]

    def _fragment(self, expression: Expression) -> Fragment:
        """Return an expression's fragment, built once."""
        if expression not in self._fragments:
            fragment = self._build(expression)
            becomes_column = self._uses[expression] > 1 or fragment.height > _HIGHEST
            self._fragments[expression] = self._named(fragment) if becomes_column else fragment
        return self._fragments[expression]

    def _build(self, expression: Expression) -> Fragment:
        if not isinstance(expression, Constant) and not reads_column(expression):  # engines could fail before any row
            return Fragment(literal(evaluate(expression, {}), expression.kind), 0, 0, nan=False)
        match expression:
            case Column():
                return self._column(expression)
            case Constant(value=value, kind=kind):
                return Fragment(literal(value, kind), 0, 0, nan=False)
            case Cast():
                return self._cast(expression)
            case Call():
                return self._call(expression)
            case Case():
                return self._case(expression)

    def _column(self, node: Column) -> Fragment:
        """Return a column of the source. Instants become local times; the parser refuses them without a time zone."""
        if node.timezone == "":
            raise InternalError(f"the column {show_name(node.name)} has no time zone.")
        if node.timezone is not None:
            return self._cast(Cast(local_time(Column(node.name, "timestamp"), node.timezone), node.kind))
        type_name, dialect = self._type(node.name), self._dialect
        value = self._add(dialect.read(column(node.name), type_name, node.kind), 0)
        return Fragment(value, 0, 0, dialect.may_be_nan(type_name, node.kind))

    def _cast(self, node: Cast) -> Fragment:
        operand = self._fragment(node.operand)
        if node.operand.kind == node.kind:
            return operand
        if node.operand.kind in self._dialect.repeats:
            operand = self._named(operand)
        return _above([operand], self._dialect.casts[node.operand.kind, node.kind](operand.sql), nan=False)

    def _call(self, node: Call) -> Fragment:
        form = self._dialect.forms[node.function]
        operands = [(self._clean if form.nulls_nan else self._fragment)(argument) for argument in node.arguments]
        operands = [self._named(operand) if i in form.repeats else operand for i, operand in enumerate(operands)]
        nan = node.kind == "real" and (form.makes_nan or any(operand.nan for operand in operands))
        return _above(operands, form.write(node, [operand.sql for operand in operands]), nan=nan)

    def _case(self, node: Case) -> Fragment:
        operands = [self._fragment(child) for child in children(node)]
        tests, results = operands[: 2 * len(node.branches) : 2], operands[1 : 2 * len(node.branches) : 2]
        last = operands[-1] if node.otherwise is not None else None
        branches = ((test.sql, result.sql) for test, result in zip(tests, results, strict=True))
        sql = when(*branches, otherwise=None if last is None else last.sql)
        return _above(operands, sql, nan=node.kind == "real" and any(operand.nan for operand in operands))


def _prefix(types: Iterable[str]) -> str:
    """Return the prefix of the names of computed columns. No column of the source starts with it, in any case.

    A column that passes through the layers could otherwise have the name of a computed column. Engines then use the
    first of the two, or fail.

    >>> _prefix(["u", "V1"]), _prefix(["u"])
    ('v_', 'v')
    """
    names, prefix = [name.casefold() for name in types], "v"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def _above(operands: list[Fragment], sql: SQL, *, nan: bool) -> Fragment:
    """Return the fragment of an operation on some operands."""
    level, height = max(operand.level for operand in operands), max(operand.height for operand in operands)
    return Fragment(sql, level, height + 1, nan)


def _uses(expressions: Iterable[Expression]) -> Counter[Expression]:
    """Count the different expressions that contain each subexpression; inside a shared one, count once."""
    uses: Counter[Expression] = Counter()
    waiting = list(expressions)
    while waiting:
        expression = waiting.pop()
        uses[expression] += 1
        if uses[expression] == 1:
            waiting.extend(children(expression))
    return uses
