"""SQL text becomes a parsed tree that holds only listed nodes and listed arguments.

tacit refuses anything that is not listed, so a new clause of the parser is refused until somebody lists it.

`FILTER (WHERE …)` and `count_if` are rewritten as CASE before the check:

    sum(x) FILTER (WHERE c)      sum(CASE WHEN c THEN x END)
    count(*) FILTER (WHERE c)    count(CASE WHEN c THEN 1 END)
    count_if(c)                  count(CASE WHEN c THEN 1 END)
    count(DISTINCT x) FILTER …   count(DISTINCT CASE WHEN c THEN x END)

The parser writes `any_value(x)` as `any_value(x) IGNORE NULLS`, which is its meaning; the second part is removed.
DISTINCT inside IN (SELECT DISTINCT …) and EXISTS changes nothing and is removed too. `histogram_calls` has `histogram`;
`item_expansions` has GROUP BY ALL and lists of quantiles.

A row that does not meet the condition gives NULL. Every aggregate skips NULL, as FILTER skips the row. The result is
checked like any query.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from tacit.errors import InvalidError, RefusedError, bad_value, show_name
from tacit.query.refusals import SOURCE_WORD, refused, refused_argument, refused_node
from tacit.query.sql.histogram_calls import expand_histogram
from tacit.query.sql.item_expansions import expand_items

_MOST_CHARACTERS = 100_000
_MOST_NODES = 50_000
_DEEPEST = 24
_EXPECTED = "A query is one SELECT statement in DuckDB's SQL."
_STATEMENTS = {
    "PIVOT": "Only SELECT and WITH are. Write WITH p AS (SELECT x, y, count(*) AS n FROM t GROUP BY x, y) PIVOT p ON y "
    "USING sum(n)."
}
"""What to write instead of a statement that is not a SELECT."""

_STATEMENT = "with_ expressions from_ joins where group having order limit offset"
_BINARY = "this expression"

ALLOWED: Final[Mapping[type[exp.Expr], frozenset[str]]] = MappingProxyType(
    {
        node: frozenset(arguments.split())
        for nodes, arguments in (
            ((exp.Select,), _STATEMENT),
            ((exp.Subquery,), "this alias"),
            ((exp.With,), "expressions"),
            ((exp.CTE,), "this alias materialized"),
            ((exp.From, exp.Where, exp.Having), "this"),
            ((exp.Table,), "this alias"),
            ((exp.Join,), "this on using side kind method"),
            ((exp.TableAlias,), "this columns"),
            ((exp.Group,), "expressions"),
            ((exp.Order,), "this expressions"),
            ((exp.Ordered,), "this desc nulls_first"),
            ((exp.Limit, exp.Offset), "expression"),
            ((exp.Star,), "except_ replace"),
            ((exp.Column,), "this table"),
            ((exp.Identifier,), "this quoted"),
            ((exp.Alias,), "this alias"),
            ((exp.Literal,), "this is_string"),
            ((exp.Null,), ""),
            ((exp.Boolean, exp.Var, exp.Paren, exp.Neg, exp.Not), "this"),
            ((exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod, exp.Pow), _BINARY),
            ((exp.Div,), "this expression typed safe"),
            ((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ), _BINARY),
            ((exp.And, exp.Or, exp.Is), _BINARY),
            ((exp.Like, exp.ILike), "this expression negate"),
            ((exp.In,), "this expressions query"),
            ((exp.Exists,), "this"),
            ((exp.Between,), "this low high"),
            ((exp.Case,), "this ifs default"),
            ((exp.If,), "this true false"),
            ((exp.Coalesce,), "this expressions"),
            ((exp.Nullif, exp.StartsWith, exp.Left, exp.Right, exp.Extract), _BINARY),
            ((exp.Least, exp.Greatest), "this expressions ignore_nulls"),
            ((exp.Abs, exp.Sign, exp.Floor, exp.Ceil, exp.Sqrt, exp.Ln, exp.Exp), "this"),
            ((exp.Round,), "this decimals"),
            ((exp.Lower, exp.Upper, exp.Length, exp.Trim), "this"),
            ((exp.Substring,), "this start length"),
            ((exp.Concat,), "expressions safe coalesce"),
            ((exp.DPipe,), "this expression safe"),
            ((exp.Replace,), "this expression replacement"),
            ((exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfWeekIso), "this"),
            ((exp.DayOfYear, exp.Week, exp.WeekOfYear, exp.Hour, exp.Minute, exp.Second, exp.Date), "this"),
            ((exp.TimeToUnix, exp.LastDay, exp.Monthname, exp.Dayname), "this"),
            ((exp.TimeToStr, exp.ToChar), "this format"),
            ((exp.DateDiff,), "this expression unit date_part_boundary"),
            ((exp.DateAdd,), _BINARY),
            ((exp.Interval,), "this unit"),
            ((exp.TimestampTrunc, exp.DateTrunc), "this unit"),
            ((exp.Cast,), "this to"),
            ((exp.TryCast,), "this to safe"),
            ((exp.DataType,), "this"),
            ((exp.Anonymous,), "this expressions"),
            ((exp.Count,), "this big_int"),
            ((exp.Sum, exp.Avg), "this"),
            ((exp.VariancePop, exp.Variance, exp.StddevPop, exp.Stddev, exp.StddevSamp), "this"),
            ((exp.CovarPop, exp.CovarSamp, exp.Corr, exp.ArgMax, exp.ArgMin), _BINARY),
            ((exp.RegrSlope, exp.RegrIntercept, exp.RegrR2, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy), _BINARY),
            ((exp.Skewness, exp.LogicalOr, exp.LogicalAnd, exp.ApproxDistinct), "this"),
            ((exp.Distinct,), "expressions"),
            ((exp.Median, exp.Min, exp.Max, exp.Mode, exp.AnyValue, exp.LogicalOr, exp.LogicalAnd), "this"),
            ((exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup), _BINARY),
            ((exp.Quantile,), "this quantile"),
        )
        for node in nodes
    }
)
"""The node classes that a query may contain, and the arguments that each may have."""


def read_select(sql: object) -> exp.Select:
    """Return the checked tree of one SELECT statement, or raise InvalidError or RefusedError."""
    tree = parse_text(sql)
    _store_source_words(tree, str(sql))
    tree = _without_filters(tree)
    while isinstance(tree, exp.Subquery) and set(_arguments(tree)) == {"this"}:
        tree = tree.this
    if not isinstance(tree, exp.Select):
        raise refused_node(tree)
    expand_histogram(tree)
    for select in list(tree.find_all(exp.Select)):
        expand_items(select)
    _check_nodes(tree)
    return tree


def parse_text(sql: object) -> exp.Expr:
    """Return the tree of one statement that begins like a SELECT; its nodes are not checked."""
    text = _check_text(sql)
    _check_tokens(_tokens(text))
    return _parse(text)


def _invalid(message: str, hint: str = _EXPECTED) -> InvalidError:
    return InvalidError(message, argument="sql", hint=hint)


def _store_source_words(tree: exp.Expr, text: str) -> None:
    """Store in each call the word that the query uses for it, because the parser renames functions."""
    for node in tree.walk():
        start, end = node.meta.get("start"), node.meta.get("end")
        if isinstance(node, exp.Func) and isinstance(start, int) and isinstance(end, int):
            node.meta[SOURCE_WORD] = text[start : end + 1]


def _check_text(sql: object) -> str:
    if not isinstance(sql, str):
        raise bad_value("sql", sql, "text", hint=_EXPECTED)
    if len(sql) > _MOST_CHARACTERS:
        raise _invalid(f"The query has {len(sql):,} characters; the limit is {_MOST_CHARACTERS:,}.", "Shorten it.")
    if "\0" in sql or any("\ud800" <= character <= "\udfff" for character in sql):
        raise _invalid("The query contains NUL or half a surrogate pair.", "Write text that UTF-8 can encode.")
    return sql


def _tokens(text: str) -> list[Token]:
    try:
        return sqlglot.tokenize(text, dialect="duckdb")
    except SqlglotError as error:
        raise _invalid("The query ends inside a quotation or a comment.") from error


def _check_tokens(tokens: list[Token]) -> None:
    """Check, before parsing, that there is one statement, that it is a SELECT, and that it is not nested too deep."""
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens = tokens[:-1]
    if not tokens:
        raise _invalid("The query contains no statement.")
    if tokens[0].token_type == TokenType.VAR:
        near = get_close_matches(tokens[0].text.upper(), ["SELECT", "WITH"])
        hint = f"Did you mean SELECT? {_EXPECTED}" if near else _EXPECTED
        raise _invalid(f"The query starts with {show_name(tokens[0].text)}.", hint)
    if tokens[0].token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN):
        word = tokens[0].text.upper()
        raise refused(
            f"{show_name(word)} is not supported as a statement", _STATEMENTS.get(word, "Only SELECT and WITH are.")
        )
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        raise refused("Several statements are not supported", "Run them one by one.")
    _check_nesting(tokens)


_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


def _check_nesting(tokens: list[Token]) -> None:
    """Check that parentheses match, which the parser may not notice, and that they and CASE are not nested too deep."""
    brackets = cases = 0
    for token in tokens:
        brackets += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        cases += (token.token_type == TokenType.CASE) - (token.token_type == TokenType.END)
        if brackets + max(cases, 0) > _DEEPEST:
            raise nested_too_deep()
        if brackets < 0:
            break
    if brackets:
        raise _invalid("The parentheses do not match.")


def nested_too_deep() -> Exception:
    """Return the error for a query that is nested too deep."""
    return refused(
        "The query is nested too deep or is too long",
        f"Parentheses and function calls may be nested {_DEEPEST} deep. Write steps as CTEs, and chains of OR with IN.",
    )


def _parse(text: str) -> exp.Expr:
    silence = _silent.set(True)
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    except ParseError as error:
        raise _syntax_error(error) from error
    except RecursionError as error:
        raise nested_too_deep() from error
    except Exception as error:
        raise _invalid("The query cannot be parsed.") from error
    finally:
        _silent.reset(silence)
    statements = [tree for tree in trees if not isinstance(tree, exp.Semicolon)]  # a semicolon that holds a comment
    if len(statements) != 1:
        raise _invalid(f"The query contains {len(statements)} statements.")
    return statements[0]


_silent: ContextVar[bool] = ContextVar("silent", default=False)
logging.getLogger("sqlglot").addFilter(lambda _: not _silent.get())  # its warnings repeat the query


_COMPARISONS: Final = frozenset(
    ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "IS", "IN", "LIKE", "BETWEEN", "AND", "OR")
)
_IN_SETS: Final = re.compile(r"\b(rollup|cube|grouping\s+sets)\s*\([^()]*$", re.IGNORECASE)
"""The text before a syntax error inside the parentheses of ROLLUP, where the parser reads no comparison."""


def _syntax_error(error: ParseError) -> InvalidError | RefusedError:
    position = error.errors[0] if error.errors else {}
    compares = str(position.get("highlight") or "").upper() in _COMPARISONS
    if compares and _IN_SETS.search(str(position.get("start_context") or "")):
        reason = "A condition inside ROLLUP, CUBE or GROUPING SETS needs parentheses"
        return refused(reason, "Write ROLLUP (a, (b > 5)), or give the condition an alias and name it.")
    return _invalid(f"Syntax error at line {position.get('line', '?')}, column {position.get('col', '?')}.")


def _check_nodes(tree: exp.Expr) -> None:
    """Check that every node and every argument of it is listed."""
    for count, node in enumerate(tree.walk()):
        if count >= _MOST_NODES:
            raise nested_too_deep()
        permitted = ALLOWED.get(type(node))
        if permitted is None:
            raise refused_node(node)
        for argument in _arguments(node):
            if argument not in permitted:
                raise refused_argument(node, argument)
        if not _is_complete(node):
            raise _invalid(f"{type(node).__name__.upper()} is incomplete.")


def _is_complete(node: exp.Expr) -> bool:
    """Return whether a node has all arguments that it needs; the parser does not check all node classes."""
    needed = [name for name, required in node.arg_types.items() if required]
    if any(node.args.get(name) in (None, []) for name in needed):
        return False
    match node:
        case exp.Alias() | exp.TableAlias():
            name = node.args.get("alias" if isinstance(node, exp.Alias) else "this")
            return isinstance(name, exp.Identifier) and all(
                isinstance(column, exp.Identifier) for column in node.args.get("columns") or ()
            )
        case exp.Star():
            excluded = [part.this if isinstance(part, exp.Column) else part for part in node.args.get("except_") or ()]
            return all(isinstance(part, exp.Identifier) for part in excluded) and all(
                isinstance(part, exp.Alias) for part in node.args.get("replace") or ()
            )
        case _:
            return True


def _arguments(node: exp.Expr) -> list[str]:
    """Return the names of the arguments that are set."""
    return [name for name, value in node.args.items() if value is not None and value is not False and value != []]


def _without_filters(tree: exp.Expr) -> exp.Expr:
    """Return the tree with the conditions of FILTER and count_if moved into CASE; other nodes stay as they are."""
    for select in _subqueries(tree):
        if select.args.get("distinct") is not None and not _arguments(select.args["distinct"]):
            select.set("distinct", None)
    for wrapper in list(tree.find_all(exp.IgnoreNulls)):
        if isinstance(wrapper.this, exp.AnyValue):
            wrapper.replace(wrapper.this)
    for node in list(tree.find_all(exp.Filter, exp.CountIf)):
        rewritten = _rewrite_count_if(node) if isinstance(node, exp.CountIf) else _rewrite_filter(node)
        if rewritten is None:
            continue
        if node is tree:
            tree = rewritten
        else:
            node.replace(rewritten)
    return tree


def _subqueries(tree: exp.Expr) -> list[exp.Select]:
    """Return the SELECTs inside IN and EXISTS, whose rows count as one if they are equal."""
    inner = [node.this for node in tree.find_all(exp.Exists)]
    inner += [node.args["query"].unnest() for node in tree.find_all(exp.In) if node.args.get("query") is not None]
    return [select for select in inner if isinstance(select, exp.Select)]


def _rewrite_count_if(node: exp.Expr) -> exp.Expr | None:
    condition = node.args.get("this")
    if condition is None or isinstance(condition, exp.Distinct):
        return None
    return exp.Count(this=_case(condition, exp.Literal.number(1)), big_int=True)


_FILTERED = (exp.Count, exp.Sum, exp.Avg, exp.CountIf, exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd)


def _rewrite_filter(node: exp.Expr) -> exp.Expr | None:
    """Return an aggregate of one value with its condition inside; None for others, such as WITHIN GROUP."""
    aggregate, where = node.this, node.args.get("expression")
    if not isinstance(where, exp.Where) or not isinstance(aggregate, _FILTERED):
        return None
    value = aggregate.args.get("this")
    if isinstance(aggregate, exp.CountIf):
        both = None if value is None else exp.CountIf(this=exp.and_(value.copy(), where.this.copy()))
        return None if both is None else _rewrite_count_if(both)
    if isinstance(value, exp.Distinct) and isinstance(aggregate, exp.Count) and len(value.expressions) == 1:
        distinct = exp.Distinct(expressions=[_case(where.this, value.expressions[0])])
        return exp.Count(this=distinct, big_int=True) if value.args.get("on") is None else None
    if value is None or isinstance(value, (exp.Distinct, exp.Order)) or aggregate.args.get("expressions"):
        return None
    rewritten = aggregate.copy()
    rewritten.set("this", _case(where.this, exp.Literal.number(1) if isinstance(value, exp.Star) else value))
    return rewritten


def _case(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])
