"""The select list, HAVING and ORDER BY: functions of released aggregates, group keys and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from sqlglot import exp

from tacit.errors import TacitError, show_name
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.arg_max import MOST_TOTALS, arg_ask
from tacit.query.aggregates.measure_sharing import arrange
from tacit.query.aggregates.mode import mode_ask
from tacit.query.expressions import Column, Constant, Expression, Value, columns
from tacit.query.expressions.ranges import prove_range
from tacit.query.key_tuples import Determined
from tacit.query.plan import Aggregate, Ask, Bundle, Grouped, Key, Noisy, Output
from tacit.query.refusals import refused
from tacit.query.sql.aggregate_nodes import function_of
from tacit.query.sql.arg_max_calls import compared_total
from tacit.query.sql.equivalent_calls import equivalent
from tacit.query.sql.key_values import own_column
from tacit.query.sql.mode_calls import is_mode_call, mode_argument, mode_values
from tacit.query.sql.names import resolve, to_sql
from tacit.query.sql.public_relations import determined
from tacit.query.sql.quantile_calls import QuantileCall, read_quantile, read_share
from tacit.query.sql.released_outputs import output_of
from tacit.query.sql.row_expressions import is_aggregate, translate_expression
from tacit.query.sql.scope import Scope
from tacit.query.sql.time_expressions import MOMENTS, as_ordinal, from_ordinal
from tacit.query.sql.typed_expressions import TypedExpression, as_number, coerce, condition, typed_column

_BOUNDED = ("integer", "real", *MOMENTS)

Aliases = Mapping[str, TypedExpression]
"""The columns of the answer by their aliases."""


@dataclass(slots=True)
class OutputBuilder:
    """The keys of a query, and its aggregates with their SQL. `term` adds an aggregate when it reads a new one."""

    scope: Scope
    keys: Sequence[Key]
    lists: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """Public values that the caller lists, by name."""
    asks: dict[Ask, str] = field(default_factory=dict)
    _outputs: dict[Expression, Output] = field(default_factory=dict)

    def term(self, node: exp.Expr, aliases: Aliases, *, alias_first: bool = False) -> TypedExpression:
        """Return an expression over released values; `output` turns it into an output of the plan."""
        return translate_expression(node, partial(self._leaf, aliases=aliases, alias_first=alias_first))

    def output(self, term: TypedExpression) -> Output:
        """Return an expression over released values as an output of the plan."""
        return output_of(term.expression, self._outputs)

    def _leaf(self, node: exp.Expr, aliases: Aliases, *, alias_first: bool) -> TypedExpression | None:
        """Return an aggregate, a key or an alias; None for any other node, unless it is a column."""
        if is_aggregate(node):
            return self._aggregate(node)
        alias = _resolve_alias(node, aliases)
        leaf = alias if alias is not None and alias_first else self._key(node) or alias
        if leaf is None and isinstance(node, exp.Column):
            raise self._shows_rows(node)
        return leaf

    def _shows_rows(self, node: exp.Column) -> Exception:
        """Return the error for a column that is neither a key nor inside an aggregate."""
        unit = self.scope.unit
        column = self.scope.find(node).raw.expression
        if unit is not None and column == unit:
            hint = f"count(DISTINCT {unit.name}) counts units."
            return refused(f"The unit column {show_name(node.name)} is never released", hint)
        return refused(
            f"The column {show_name(node.name)} is outside an aggregate and not in GROUP BY, which would release rows",
            "Group by it, or put it into count, sum or avg.",
        )

    def _key(self, node: exp.Expr) -> TypedExpression | None:
        """Return the key that a node is equal to; None if there is no such key."""
        parts = list(node.walk())
        if not any(isinstance(part, exp.Column) for part in parts) or any(is_aggregate(part) for part in parts):
            return None
        try:
            expression = self.scope.raw(node).expression
        except TacitError:
            return None  # the parts are translated one by one, and the wrong one raises
        for index, key in enumerate(self.keys):
            if key.expression == expression:
                return self._released(Grouped(index, expression.kind))
        return None

    def _public(self, node: exp.Expr) -> TypedExpression | None:
        """Return an aggregate of equal public values that the keys determine; None if it must be measured.

        In a group, a key has one value, and so has a public expression that the keys determine.
        """
        value = None if type(node) not in _OF_EQUAL_VALUES else node.this
        if value is None or isinstance(value, (exp.Distinct, exp.Star)) or not _is_row_value(value):
            return None
        term = as_number(self.scope.raw(value), "avg" if isinstance(node, exp.Avg) else "any_value")
        if term.kind not in ("integer", "real") and isinstance(node, exp.Avg):
            return None
        key = self._key(value)
        found = None if key is not None else determined(term.expression, self.keys, self.scope)
        if found is not None:
            sql = to_sql(node, lower=True)
            output = Determined(
                sql=sql, places=found.places, rows=found.rows, values=found.values, kind=term.expression.kind
            )
            key = self._released(output)
        if key is None and isinstance(node, exp.AnyValue):
            key = self._of_keys(value)
        if key is None and isinstance(node, exp.AnyValue):
            raise refused(
                "any_value is supported only for keys, expressions of keys, and columns of public tables that the keys "
                "determine",
                "Group by the column, use mode(x) if its values are public, or min, max or avg of a number.",
            )
        return key if key is None or not isinstance(node, exp.Avg) else coerce(key, "real")

    def _of_keys(self, node: exp.Expr) -> TypedExpression | None:
        """Return an expression that is computed from keys alone; None if it reads other columns."""

        def leaf(part: exp.Expr) -> TypedExpression | None:
            found = self._key(part)
            if found is None and isinstance(part, exp.Column):
                raise _NotAKeyError
            return found

        try:
            return translate_expression(node, leaf)
        except _NotAKeyError:
            return None

    def _released(self, output: Noisy | Grouped | Determined) -> TypedExpression:
        """Return a released value as a column with a name that no table has."""
        place = output.sql if isinstance(output, Determined) else output.place
        stand_in = Column(f"\0{type(output).__name__} {place}", output.kind)
        self._outputs[stand_in] = output
        return typed_column(stand_in, released=True)

    def _quantile(self, node: exp.Expr, quantile: QuantileCall) -> TypedExpression:
        """Return a quantile; at the shares 0 and 1 it is `min` or `max`."""
        _check_not_nested(quantile.value)
        if isinstance(quantile.value, exp.Distinct):
            raise refused(f"DISTINCT inside {quantile.name} is not supported", "Leave it out.")
        moment = self.scope.bounded(quantile.value)
        value = as_ordinal(moment)
        self._check_value(quantile.name, value)
        bounds = (self._bounds(quantile.name, value),)
        function, values = quantile.function, (value.expression,)
        if function in ("min", "max"):
            ask = Ask(function=function, values=values, bounds=bounds)
            return from_ordinal(self._measured(node, ask), moment.kind)
        share = read_share(quantile, None if quantile.share is None else self.scope.raw(quantile.share))
        if share in (0, 1):
            ask = Ask(function="min" if share == 0 else "max", values=values, bounds=bounds)
        else:
            ask = Ask(function=function, values=values, bounds=bounds, parameter=share)
        return from_ordinal(self._measured(node, ask), moment.kind)

    def _mode(self, node: exp.Expr) -> TypedExpression:
        """Return the most frequent of the public values of an expression, which are compared raw."""
        argument = mode_argument(node)
        _check_not_nested(argument)
        value = self.scope.raw(argument)
        self._check_unit(value)
        values = mode_values(argument, value.expression, self.scope.table, self.lists)
        return self._measured(node, mode_ask(value.expression, values))

    def _arg_max(self, node: exp.Expr, function: str) -> TypedExpression:
        """Return the public value of an expression, compared raw, that has the largest or the least total."""
        _check_not_nested(node.this)
        key, total = self.scope.raw(node.this), compared_total(node, function)
        self._check_unit(key)
        bare = isinstance(total.this, exp.Star) or total.this is None
        values = mode_values(node.this, key.expression, self.scope.table, self.lists, function)
        if isinstance(total, exp.Count):
            counted = None if bare else self.scope.raw(total.this)
            if counted is not None:
                _check_not_nested(total.this)
                self._check_unit(counted)
            every = counted is None or (isinstance(counted.expression, Constant) and not counted.is_null)
            ask = arg_ask(function, key.expression, values, None if every or counted is None else counted.expression)
            return self._measured(node, ask)
        if len(values) > MOST_TOTALS:
            hint = f"List fewer values with keys=, or compare counts: {function}(x, count(*))."
            raise refused(f"{function} would compare {len(values):,} sums; the limit is {MOST_TOTALS:,}", hint)
        _check_not_nested(total.this)
        summed = as_number(self.scope.bounded(total.this), "sum")
        self._check_value("sum", summed)
        bounds = self._bounds("sum", summed)
        return self._measured(node, arg_ask(function, key.expression, values, summed.expression, bounds))

    def _existence(self, node: exp.Expr, function: str) -> TypedExpression:
        """Return whether a condition, which sees raw rows, is true in some row or in all rows."""
        if isinstance(node.this, exp.Distinct):
            raise refused(f"DISTINCT inside {function} is not supported", f"Write {function}(c); it means the same.")
        _check_not_nested(node.this)
        value = condition(self.scope.raw(node.this), function)
        self._check_unit(value)
        return self._measured(node, Ask(function=function, values=(value.expression,)))

    def _respelled(self, node: exp.Expr, other: exp.Expr) -> TypedExpression:
        """Return an aggregate that is measured as `other`, under the spelling of `node`."""
        before = len(self.asks)
        term = self._aggregate(other)
        self.asks |= dict.fromkeys(list(self.asks)[before:], to_sql(node, lower=True))
        return term

    def _aggregate(self, node: exp.Expr) -> TypedExpression:
        """Return an aggregate: a public value if the keys determine it, else one that is measured."""
        other = equivalent(node)
        if other is not None:
            return self._respelled(node, other)
        public = self._public(node)
        return self._private(node) if public is None else public

    def _private(self, node: exp.Expr) -> TypedExpression:
        """Return an aggregate that is measured."""
        if is_mode_call(node):
            return self._mode(node)
        quantile = read_quantile(node)
        if quantile is not None:
            return self._quantile(node, quantile)
        if isinstance(node, (exp.ArgMax, exp.ArgMin)):
            return self._arg_max(node, "arg_max" if isinstance(node, exp.ArgMax) else "arg_min")
        function, argument = function_of(node)
        if isinstance(node, (exp.LogicalOr, exp.LogicalAnd)):
            return self._existence(node, function)
        return (
            self._two_values(node, function) if isinstance(node, _TWO_VALUES) else self._one(node, function, argument)
        )

    def _one(self, node: exp.Expr, function: str, argument: exp.Expr | None) -> TypedExpression:
        """Return an aggregate of one value, or of all rows."""
        if argument is not None:
            _check_not_nested(argument)
        if isinstance(argument, exp.Distinct):
            return self._distinct(node, function, argument)
        own = None if argument is None else self.scope.bounded(argument)
        value = None if own is None else as_number(as_ordinal(own) if function == "avg" else own, function)
        if value is not None:
            self._check_value(function, value)
        if function == "count":
            every = value is None or (isinstance(value.expression, Constant) and not value.is_null)
            return self._measured(
                node, Ask(function="count", values=() if value is None or every else (value.expression,))
            )
        if value is None:
            raise refused(f"{function} takes one value")
        bounds = (self._bounds(function, value),)
        measured = self._measured(node, Ask(function=function, values=(value.expression,), bounds=bounds))
        return measured if own is None else from_ordinal(measured, own.kind)

    def _distinct(self, node: exp.Expr, function: str, argument: exp.Distinct) -> TypedExpression:
        """Return a count of units or of different values, which are compared raw, not clamped."""
        unit = self.scope.unit
        if function != "count":
            raise refused(f"DISTINCT inside {function} is not supported", "Leave it out, or write count(DISTINCT x).")
        if len(argument.expressions) != 1 or argument.args.get("on") is not None:
            raise refused("count(DISTINCT …) takes one value", "Join the texts: count(DISTINCT x || '-' || y).")
        value = self.scope.raw(argument.expressions[0])
        if unit is not None and value.expression == unit:
            one_row = self.scope.table.unit is None  # of a subquery that groups by the unit
            return self._measured(node, Ask(function="count" if one_row else "count_units"))
        self._check_value(function, value)
        return self._measured(node, Ask(function="count_distinct", values=(value.expression,)))

    def _two_values(self, node: exp.Expr, function: str) -> TypedExpression:
        """Return an aggregate of two values."""
        arguments = [node.this, node.expression]
        for argument in arguments:
            _check_not_nested(argument)
        if any(isinstance(argument, exp.Distinct) for argument in arguments):
            raise refused(f"DISTINCT inside {function} is not supported", "Leave it out.")
        values = [self.scope.bounded(argument) for argument in arguments]
        for value in values:
            self._check_value(function, value)
        bounds = tuple(self._bounds(function, value) for value in values)
        return self._measured(
            node, Ask(function=function, values=tuple(value.expression for value in values), bounds=bounds)
        )

    def _check_value(self, function: str, value: TypedExpression) -> None:
        """Check that a value does not read the unit column, and that it is a number if the function needs one."""
        self._check_unit(value)
        if function != "count" and value.kind not in ("integer", "real") and not value.is_null:
            if value.kind in MOMENTS:
                hint = f"avg, median, min and max take dates; for others write {function}(date_diff('day', a, b))."
                raise refused(f"{function} takes numbers, not {value.kind}", hint)
            number = f"CAST({getattr(value.expression, 'name', 'x')} AS DOUBLE)"
            hint = f"If it holds numbers, write {function}(clamp({number}, low, high)) with public bounds."
            raise refused(f"{function} takes numbers, not {value.kind}", hint)

    def _check_unit(self, value: TypedExpression) -> None:
        """Check that a value does not read the unit column."""
        unit = self.scope.unit
        if unit is not None and unit.name in columns(value.expression):
            hint = f"count(DISTINCT {unit.name}) counts units, count(*) rows; WHERE may name the unit column."
            raise refused(f"The unit column {unit.name!r} cannot be aggregated", hint)

    def _bounds(self, function: str, value: TypedExpression) -> tuple[Fraction, Fraction]:
        """Return the proved range of an aggregated value; a RefusedError names the columns without bounds."""
        ends = value.known.ends
        if ends is not None and prove_range(value.expression, {}, any_moment=False) is not None:
            return ends
        policies = [(name, self.scope.table.columns[name]) for name in sorted(columns(value.expression))]
        bare = [name for name, policy in policies if policy.ends is None and policy.kind in _BOUNDED]
        lack = f"{', '.join(bare)} {'has' if len(bare) == 1 else 'have'} no bounds"
        inputs = f"computed from {', '.join(name for name, _ in policies)}" if policies else "that is always NULL"
        raise refused(
            f"{function} needs bounds, and {lack if bare else f'the range of a value {inputs} cannot be proved'}",
            self._bounds_hint(function, own_column(value.expression, self.scope.table), bare),
        )

    def _bounds_hint(self, function: str, column: Column | None, bare: Sequence[str]) -> str:
        """Return how to give bounds; columns of a subquery that groups by the unit are not in the policy."""
        x = "x" if column is None else column.name
        clamped = f"Write {function}(clamp({x}, low, high)) with public bounds"
        made = [] if self.scope.units is None else [name for name, _ in self.scope.units.columns if name in bare]
        if made:
            pair, option = f"bounds={{{made[0]!r}: (low, high)}}", f"--bounds {made[0]}=LOW:HIGH"
            chosen = f"bounds={{{made[0]!r}: 'auto'}} or --bounds {made[0]}=auto"
            return (
                f"{clamped}, or give {pair} or {option} to the query. With {chosen} the query chooses them privately."
            )
        return (
            f"{clamped}, give bounds (--bounds) to the query, or add them to the policy. db.bounds (tacit bounds) "
            "finds them privately."
        )

    def _measured(self, node: exp.Expr, ask: Ask) -> TypedExpression:
        """Return the released value of an aggregate, which is measured once even if the query repeats it."""
        if ask not in self.asks:
            self.asks[ask] = to_sql(node, lower=True)
        return self._released(Noisy(list(self.asks).index(ask), STATISTICS[ask.function].kind(ask)))

    def measures(self) -> tuple[tuple[Bundle, ...], tuple[Aggregate, ...]]:
        """Return the bundles of all aggregates, and the aggregates with the indices of their bundles."""
        discovered = any(key.values is None for key in self.keys)
        bundles, indices = arrange(list(self.asks), self.scope.table, found=discovered)
        pairs = zip(self.asks.items(), indices, strict=True)
        return bundles, tuple(Aggregate(ask=ask, bundles=bundle, sql=sql) for (ask, sql), bundle in pairs)


class _NotAKeyError(Exception):
    """An expression reads a column that is not a key."""


def _is_row_value(value: exp.Expr) -> bool:
    """Return whether a node is computed from columns of one row."""
    parts = list(value.walk())
    return any(isinstance(part, exp.Column) for part in parts) and not any(map(is_aggregate, parts))


def _check_not_nested(argument: exp.Expr) -> None:
    if any(is_aggregate(part) for part in argument.walk()):
        raise refused("An aggregate inside an aggregate is not supported", _NESTED)


def _resolve_alias(node: exp.Expr, aliases: Aliases) -> TypedExpression | None:
    if not isinstance(node, exp.Column) or node.args.get("table") or not isinstance(node.this, exp.Identifier):
        return None
    name = resolve(node.this, aliases)
    return None if name is None else aliases[name]


_NESTED = (
    "Aggregate in a subquery: SELECT max(n) FROM (SELECT x, count(*) AS n FROM t GROUP BY x). Only arg_max and arg_min "
    "take a total of each value: arg_max(x, count(*))."
)
_OF_EQUAL_VALUES = (exp.Min, exp.Max, exp.Avg, exp.AnyValue)
"""Aggregates that are v if every value is v."""

_TWO_VALUES = (exp.CovarPop, exp.CovarSamp, exp.Corr, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2)
