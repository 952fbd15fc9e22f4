"""Row expressions as SQL, in layers: each SELECT adds columns to the one before.

What is used more than once becomes a column of a layer and is computed once: a part that several expressions share, and
an operand that its operator must write twice to guard it. DuckDB does not do that by itself (it expands NULLIF, and
leaves repeated parts of CASE alone), so nested guards written in place would double the work at every level. Parts that
are nested deeply become columns too, so that no text nests deeper than parsers like.

What has no column in it is computed here, by its meaning, and written as a constant.

NaN counts as NULL. Arithmetic passes it on as it passes on NULL, so it is turned into NULL only where something looks:
comparisons, choices, keys, casts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.engines.sql.builder import SQL, column, literal, when
from tacit.engines.sql.dialect import Dialect
from tacit.errors import InvalidError, show
from tacit.query.evaluate import evaluate
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, Kind, children, columns

_HIGHEST = 12


@dataclass(frozen=True, slots=True)
class Term:
    """A value as SQL over the columns of layers up to `level`; `nan`: NaN may stand for NULL in it."""

    sql: SQL
    level: int
    height: int
    nan: bool

    @property
    def is_name(self) -> bool:
        """Whether it costs nothing to write it again: a column or a constant."""
        return self.height == 0


class Rows:
    """The layers of SELECTs over a source in which some expressions are computed."""

    def __init__(self, dialect: Dialect, types: Mapping[str, str], expressions: Iterable[Expression]) -> None:
        """Prepare the layers over a source with these columns and types, for these expressions."""
        self._dialect = dialect
        self._types = types
        self._letter = _letter(types)
        self._uses = _uses(expressions)
        self._terms: dict[Expression, Term] = {}
        self._cleaned: dict[Expression, Term] = {}
        self._layers: list[list[tuple[str, SQL]]] = [[]]

    def value(self, expression: Expression) -> SQL:
        """Return the name, in the last layer, of an expression's value; there NaN is NULL."""
        return self._named(self._clean(expression)).sql

    def raw_value(self, expression: Expression) -> SQL:
        """Return the same, but NaN may stand for NULL."""
        return self._named(self._term(expression)).sql

    def unit(self, name: str, kind: Kind) -> SQL:
        """Return the name of the unit's column, unchanged where that is possible."""
        return self._add(self._dialect.read_unit(column(name), self._type(name), kind), 0)

    def selects(self, source: str, *, name: str = "layer", keep: Sequence[str] = ()) -> list[tuple[str, str]]:
        """Return the layers by their names, each with the one before in FROM, and the first over the source.

        Columns of the source that are to be kept pass through all of them as they are.
        """
        deepest = self._dialect.deepest
        if deepest is not None and len(self._layers) > deepest:
            got = f"computations that build on each other {len(self._layers)} deep"
            raise InvalidError("sql", got, f"a question that this engine can take: at most {deepest} deep")
        selects, below = [], source
        for place, layer in enumerate(self._layers):
            first: list[SQL] = [exp.Star()] if place else [column(one) for one in keep]
            named = [exp.alias_(sql, called, quoted=True) for called, sql in layer]
            listed = ", ".join(self._dialect.text(one) for one in first + named or [exp.true()])
            select = f"SELECT {listed} FROM {self._dialect.over(below, place, self._letter)}"  # noqa: S608 - ours
            below = f"{name}{place}"
            selects.append((below, select))
        return selects

    def _type(self, name: str) -> str:
        if name not in self._types:
            raise InvalidError("columns", show(name), "columns of the source")
        return self._types[name]

    def _add(self, sql: SQL, level: int) -> SQL:
        """Give a piece of SQL a name in a layer."""
        while len(self._layers) <= level:
            self._layers.append([])
        name = f"{self._letter}{sum(map(len, self._layers))}"
        self._layers[level].append((name, sql))
        return column(name)

    def _named(self, term: Term) -> Term:
        if term.is_name:
            return term
        level = term.level + 1
        return Term(self._add(term.sql, level), level, 0, term.nan)

    def _clean(self, expression: Expression) -> Term:
        """Return an expression's term with NULL for NaN."""
        if expression not in self._cleaned:
            term = self._term(expression)
            if term.nan:
                name = self._named(term)
                term = Term(self._dialect.without_nan(name.sql), name.level, 1, nan=False)
            self._cleaned[expression] = self._named(term) if self._uses[expression] > 1 else term
        return self._cleaned[expression]

    def _term(self, expression: Expression) -> Term:
        """Return an expression's term, made once."""
        if expression not in self._terms:
            term = self._made(expression)
            again = self._uses[expression] > 1 or term.height > _HIGHEST
            self._terms[expression] = self._named(term) if again else term
        return self._terms[expression]

    def _made(self, expression: Expression) -> Term:
        if not isinstance(expression, Constant) and not columns(expression):  # engines could fail on it before any row
            return Term(literal(evaluate(expression, {}), expression.kind), 0, 0, nan=False)
        match expression:
            case Column(name=name, kind=kind):
                type_name, dialect = self._type(name), self._dialect
                value = self._add(dialect.read(column(name), type_name, kind), 0)
                return Term(value, 0, 0, dialect.may_be_nan(type_name, kind))
            case Constant(value=value, kind=kind):
                return Term(literal(value, kind), 0, 0, nan=False)
            case Cast():
                return self._cast(expression)
            case Call():
                return self._call(expression)
            case Case():
                return self._case(expression)

    def _cast(self, node: Cast) -> Term:
        operand = self._term(node.operand)
        if node.operand.kind == node.kind:
            return operand
        if node.operand.kind in self._dialect.repeats:
            operand = self._named(operand)
        return _above([operand], self._dialect.casts[node.operand.kind, node.kind](operand.sql), nan=False)

    def _call(self, node: Call) -> Term:
        form = self._dialect.forms[node.function]
        terms = [(self._clean if form.looks else self._term)(argument) for argument in node.arguments]
        terms = [self._named(term) if place in form.twice else term for place, term in enumerate(terms)]
        nan = node.kind == "real" and (form.makes or any(term.nan for term in terms))
        return _above(terms, form.write(node, [term.sql for term in terms]), nan=nan)

    def _case(self, node: Case) -> Term:
        terms = [self._term(part) for part in children(node)]
        tests, results = terms[: 2 * len(node.branches) : 2], terms[1 : 2 * len(node.branches) : 2]
        last = terms[-1] if node.otherwise is not None else None
        branches = ((test.sql, result.sql) for test, result in zip(tests, results, strict=True))
        sql = when(*branches, otherwise=None if last is None else last.sql)
        return _above(terms, sql, nan=node.kind == "real" and any(term.nan for term in terms))


def _letter(types: Iterable[str]) -> str:
    """Return what the names of computed columns begin with: no column of the source does, whatever its capitals.

    A column that is kept beside them would else stand for one of them, since engines take the first of two, or refuse.

    >>> _letter(["u", "V1"]), _letter(["u"])
    ('v_', 'v')
    """
    taken, letter = [name.casefold() for name in types], "v"
    while any(name.startswith(letter) for name in taken):
        letter += "_"
    return letter


def _above(terms: list[Term], sql: SQL, *, nan: bool) -> Term:
    """Return the term of an operation on some terms."""
    level, height = max(term.level for term in terms), max(term.height for term in terms)
    return Term(sql, level, height + 1, nan)


def _uses(expressions: Iterable[Expression]) -> Counter[Expression]:
    """Return how many different expressions each part stands in; a part of a shared part counts once."""
    uses: Counter[Expression] = Counter()
    waiting = list(expressions)
    while waiting:
        part = waiting.pop()
        uses[part] += 1
        if uses[part] == 1:
            waiting.extend(children(part))
    return uses
