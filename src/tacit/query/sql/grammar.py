"""SQL text into a tree of which every node and every argument is on a list.

What is not listed is refused, whatever it is: a new clause of the parser's is refused until somebody lists it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextvars import ContextVar
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from tacit.errors import InvalidError, show
from tacit.query.refusals import WRITTEN, quoted, refused, refused_argument, refused_node
from tacit.query.sql.filter_clauses import without_filters

_MOST_CHARACTERS = 100_000
_MOST_NODES = 50_000
_DEEPEST = 24
_WANTED = "one SELECT statement in DuckDB's SQL"

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
            ((exp.In,), "this expressions"),
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
            ((exp.Hour, exp.Minute, exp.Date), "this"),
            ((exp.TimestampTrunc, exp.DateTrunc), "this unit"),
            ((exp.Cast,), "this to"),
            ((exp.TryCast,), "this to safe"),
            ((exp.DataType,), "this"),
            ((exp.Anonymous,), "this expressions"),
            ((exp.Count,), "this big_int"),
            ((exp.Sum, exp.Avg), "this"),
            ((exp.VariancePop, exp.Variance, exp.StddevPop, exp.Stddev, exp.StddevSamp), "this"),
            ((exp.CovarPop, exp.CovarSamp, exp.Corr), _BINARY),
            ((exp.Distinct,), "expressions"),
            ((exp.Median, exp.Min, exp.Max), "this"),
            ((exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup), _BINARY),
            ((exp.Quantile,), "this quantile"),
        )
        for node in nodes
    }
)
"""The node classes that may stand in a question, and which of their arguments may be set."""


def read(sql: object) -> exp.Select:
    """Return the checked tree of one SELECT statement, or raise InvalidError or RefusedError."""
    text = _text(sql)
    _check_tokens(_tokens(text))
    tree = _tree(text)
    _keep_words(tree, text)
    tree = without_filters(tree)
    while isinstance(tree, exp.Subquery) and set(_set_arguments(tree)) == {"this"}:
        tree = tree.this
    if not isinstance(tree, exp.Select):
        raise refused_node(tree)
    _check(tree)
    return tree


def _keep_words(tree: exp.Expr, text: str) -> None:
    """Let every call remember the word by which the question names it: the parser has names of its own."""
    for node in tree.walk():
        start, end = node.meta.get("start"), node.meta.get("end")
        if isinstance(node, exp.Func) and isinstance(start, int) and isinstance(end, int):
            node.meta[WRITTEN] = text[start : end + 1]


def _text(sql: object) -> str:
    if not isinstance(sql, str):
        raise InvalidError("sql", show(sql), f"text: {_WANTED}")
    if len(sql) > _MOST_CHARACTERS:
        raise InvalidError("sql", f"a text of {len(sql):,} characters", f"at most {_MOST_CHARACTERS:,} characters long")
    if "\0" in sql or any("\ud800" <= character <= "\udfff" for character in sql):
        raise InvalidError("sql", "a text with NUL or with half a character", "text that UTF-8 can hold, without NUL")
    return sql


def _tokens(text: str) -> list[Token]:
    try:
        return sqlglot.tokenize(text, dialect="duckdb")
    except SqlglotError as error:
        raise InvalidError("sql", "a text that ends inside a quotation or a comment", _WANTED) from error


def _check_tokens(tokens: list[Token]) -> None:
    """Refuse what need not be parsed: no statement, several, another one than SELECT, nesting too deep."""
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens = tokens[:-1]
    if not tokens:
        raise InvalidError("sql", "no statement", _WANTED)
    if tokens[0].token_type == TokenType.VAR:
        near = " (did you mean SELECT?)" if get_close_matches(tokens[0].text.upper(), ["SELECT", "WITH"]) else ""
        raise InvalidError("sql", f"a text that begins with {quoted(tokens[0].text)}", f"{_WANTED}{near}")
    if tokens[0].token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN):
        raise refused(f"Only SELECT is answered, not {quoted(tokens[0].text.upper())}")
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        raise refused("Several statements are not answered together", "Ask them one by one.")
    _check_nesting(tokens)


_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


def _check_nesting(tokens: list[Token]) -> None:
    """Raise if parentheses do not match, which the parser may let pass, or are too deep together with CASE."""
    brackets = cases = 0
    for token in tokens:
        brackets += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        cases += (token.token_type == TokenType.CASE) - (token.token_type == TokenType.END)
        if brackets + max(cases, 0) > _DEEPEST:
            raise too_deep()
        if brackets < 0:
            break
    if brackets:
        raise InvalidError("sql", "parentheses that do not match", _WANTED)


def too_deep() -> Exception:
    """Return the error for a question that is nested too deep."""
    return refused(
        "The question is nested too deep or is too long",
        f"Parentheses and function calls may be nested {_DEEPEST} deep. Write steps as CTEs, and chains of OR with IN.",
    )


def _tree(text: str) -> exp.Expr:
    silence = _silent.set(True)
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    except ParseError as error:
        raise InvalidError("sql", _place(error), _WANTED) from error
    except RecursionError as error:
        raise too_deep() from error
    except Exception as error:
        raise InvalidError("sql", "a text that cannot be parsed", _WANTED) from error
    finally:
        _silent.reset(silence)
    statements = [tree for tree in trees if not isinstance(tree, exp.Semicolon)]  # one that holds a comment
    if len(statements) != 1:
        raise InvalidError("sql", f"{len(statements)} statements", _WANTED)
    return statements[0]


_silent: ContextVar[bool] = ContextVar("silent", default=False)
logging.getLogger("sqlglot").addFilter(lambda _: not _silent.get())  # its warnings repeat the question


def _place(error: ParseError) -> str:
    where = error.errors[0] if error.errors else {}
    return f"a syntax error at line {where.get('line', '?')}, column {where.get('col', '?')}"


def _check(tree: exp.Expr) -> None:
    """Raise unless every node and every argument that is set is listed."""
    for count, node in enumerate(tree.walk()):
        if count >= _MOST_NODES:
            raise too_deep()
        permitted = ALLOWED.get(type(node))
        if permitted is None:
            raise refused_node(node)
        for argument in _set_arguments(node):
            if argument not in permitted:
                raise refused_argument(node, argument)
        if not _is_whole(node):
            raise InvalidError("sql", f"{type(node).__name__.upper()} without all its parts", _WANTED)


def _is_whole(node: exp.Expr) -> bool:
    """Whether a node has all that it needs; the parser does not look at every kind."""
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


def _set_arguments(node: exp.Expr) -> list[str]:
    return [name for name, value in node.args.items() if value is not None and value is not False and value != []]
