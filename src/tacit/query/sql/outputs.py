"""The select list, HAVING and ORDER BY: functions of released aggregates, group keys and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from sqlglot import exp

from tacit.errors import TacitError
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.measure_sharing import arrange
from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression, columns
from tacit.query.plan import Aggregate, Ask, Bundle, Computed, Constantly, Grouped, Key, Noisy, Output
from tacit.query.refusals import quoted, refused, refused_node
from tacit.query.sql.names import match, plain
from tacit.query.sql.quantile_calls import Spelled, share_of, spelled
from tacit.query.sql.row_expressions import is_aggregate, translate
from tacit.query.sql.scope import Scope
from tacit.query.sql.special_forms import AGGREGATE_NAMES
from tacit.query.sql.terms import Term, as_number, leaf

Aliases = Mapping[str, Term]
"""What the columns of the answer are, by their aliases."""


@dataclass(slots=True)
class Asked:
    """What a question asks: its keys, and its aggregates with their text, which grow as its outputs are read."""

    scope: Scope
    keys: Sequence[Key]
    asks: dict[Ask, str] = field(default_factory=dict)
    _leaves: dict[Expression, Output] = field(default_factory=dict)

    def term(self, node: exp.Expr, aliases: Aliases, *, alias_first: bool = False) -> Term:
        """Return an output as a term, of which the leaves are released values; `output` makes it an output."""
        return translate(node, partial(self._leaf, aliases=aliases, alias_first=alias_first))

    def output(self, term: Term) -> Output:
        """Return a term as a part of the plan."""
        return _output(term.expression, self._leaves)

    def _leaf(self, node: exp.Expr, aliases: Aliases, *, alias_first: bool) -> Term | None:
        if is_aggregate(node):
            return self._aggregate(node)
        alias = _aliased(node, aliases)
        found = alias if alias is not None and alias_first else self._key(node) or alias
        if found is None and isinstance(node, exp.Column):
            raise self._shows_rows(node)
        return found

    def _shows_rows(self, node: exp.Column) -> Exception:
        """Return the error for a column that is neither a key nor inside an aggregate."""
        unit = self.scope.table.unit
        found = self.scope.find(node).raw.expression
        if unit is not None and found == self._unit_column(unit):
            return refused(
                f"The unit column {quoted(node.name)} is never shown", f"count(DISTINCT {unit}) counts units."
            )
        return refused(
            f"The column {quoted(node.name)} stands outside an aggregate and outside GROUP BY, which would show rows",
            "Group by it, or put it into count, sum or avg.",
        )

    def _key(self, node: exp.Expr) -> Term | None:
        """Return the key that a node is, if it is one."""
        parts = list(node.walk())
        if not any(isinstance(part, exp.Column) for part in parts) or any(is_aggregate(part) for part in parts):
            return None
        try:
            expression = self.scope.raw(node).expression
        except TacitError:
            return None  # its parts are looked at one by one, and say what is wrong
        for place, key in enumerate(self.keys):
            if key.expression == expression:
                return self._released(Grouped(place, expression.kind))
        return None

    def _released(self, output: Noisy | Grouped) -> Term:
        """Return a leaf for a released value: a column by a name that no table has."""
        stand_in = Column(f"\0{type(output).__name__} {output.place}", output.kind)
        self._leaves[stand_in] = output
        return leaf(stand_in, released=True)

    def _quantile(self, node: exp.Expr, written: Spelled) -> Term:
        """Return a quantile; at the shares 0 and 1 it is `min` or `max`."""
        if any(is_aggregate(part) for part in written.value.walk()):
            raise refused("An aggregate inside an aggregate is not answered")
        if isinstance(written.value, exp.Distinct):
            raise refused(f"DISTINCT inside {written.name} is not answered")
        value = self.scope.bounded(written.value)
        self._check_value(written.name, value)
        bounds = (self._bounds(written.name, value),)
        function = written.function
        if function in ("min", "max"):
            return self._measured(node, Ask(function=function, values=(value.expression,), bounds=bounds))
        share = share_of(written, None if written.share is None else self.scope.raw(written.share))
        if share in (0, 1):
            end = "min" if share == 0 else "max"
            return self._measured(node, Ask(function=end, values=(value.expression,), bounds=bounds))
        return self._measured(node, Ask(function=function, values=(value.expression,), bounds=bounds, parameter=share))

    def _aggregate(self, node: exp.Expr) -> Term:
        written = spelled(node)
        if written is not None:
            return self._quantile(node, written)
        function, argument = _function(node)
        if argument is not None and any(is_aggregate(part) for part in argument.walk()):
            raise refused("An aggregate inside an aggregate is not answered")
        if isinstance(argument, exp.Distinct):
            return self._distinct(node, function, argument)
        if isinstance(node, _PAIRS):
            return self._pair(node, function)
        value = None if argument is None else as_number(self.scope.bounded(argument), function)
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
        return self._measured(node, Ask(function=function, values=(value.expression,), bounds=bounds))

    def _distinct(self, node: exp.Expr, function: str, argument: exp.Distinct) -> Term:
        """Return a count of units or of different values, which are told apart as they are, not clamped."""
        unit = self.scope.table.unit
        if function != "count":
            raise refused(f"DISTINCT inside {function} is not answered", "count(DISTINCT x) is.")
        if len(argument.expressions) != 1 or argument.args.get("on") is not None:
            raise refused("count(DISTINCT …) takes one value", "Count a text of both: count(DISTINCT x || '-' || y).")
        value = self.scope.raw(argument.expressions[0])
        if unit is not None and value.expression == self._unit_column(unit):
            return self._measured(node, Ask(function="count_units"))
        self._check_value(function, value)
        return self._measured(node, Ask(function="count_distinct", values=(value.expression,)))

    def _pair(self, node: exp.Expr, function: str) -> Term:
        """Return an aggregate of two values."""
        nodes = [node.this, node.expression]
        if any(is_aggregate(part) for one in nodes for part in one.walk()):
            raise refused("An aggregate inside an aggregate is not answered")
        if any(isinstance(one, exp.Distinct) for one in nodes):
            raise refused(f"DISTINCT inside {function} is not answered")
        values = [self.scope.bounded(one) for one in nodes]
        for value in values:
            self._check_value(function, value)
        bounds = tuple(self._bounds(function, value) for value in values)
        return self._measured(
            node, Ask(function=function, values=tuple(value.expression for value in values), bounds=bounds)
        )

    def _unit_column(self, unit: str) -> Column:
        return Column(unit, self.scope.table.columns[unit].kind)

    def _check_value(self, function: str, value: Term) -> None:
        unit = self.scope.table.unit
        if unit in columns(value.expression):
            hint = f"count(DISTINCT {unit}) counts units, count(*) rows; WHERE may name the unit column."
            raise refused(f"The unit column {unit!r} cannot be aggregated", hint)
        if function != "count" and value.kind not in ("integer", "real") and not value.is_null:
            number = f"CAST({getattr(value.expression, 'name', 'x')} AS DOUBLE)"
            how = f"If it holds numbers, write {function}(clamp({number}, low, high)) with what is publicly known."
            raise refused(f"{function} takes numbers, not {value.kind}", how)

    def _bounds(self, function: str, value: Term) -> tuple[Fraction, Fraction]:
        """Return the proved range of what is aggregated, or raise RefusedError and say what lacks bounds."""
        if value.known.ends is not None:
            return value.known.ends
        named = [(name, self.scope.table.columns[name]) for name in sorted(columns(value.expression))]
        bare = [name for name, policy in named if policy.bounds is None and policy.kind in ("integer", "real")]
        lack = f"{', '.join(bare)} {'has' if len(bare) == 1 else 'have'} no bounds"
        source = f"computed from {', '.join(name for name, _ in named)}" if named else "NULL on every row"
        computed = f"the range of what is {source} cannot be proved"
        x = getattr(value.expression, "name", "x")
        raise refused(
            f"{function} needs bounds, and {lack if bare else computed}",
            f"Write {function}(clamp({x}, low, high)) with what is publicly known, or have the steward declare bounds.",
        )

    def _measured(self, node: exp.Expr, ask: Ask) -> Term:
        """Return the leaf of an aggregate, which is measured once however often it is named."""
        if ask not in self.asks:
            self.asks[ask] = plain(node, lower=True)
        return self._released(Noisy(list(self.asks).index(ask), STATISTICS[ask.function].kind(ask)))

    def measured(self) -> tuple[tuple[Bundle, ...], tuple[Aggregate, ...]]:
        """Return the bundles of all that was asked, and the aggregates with their places among them."""
        found = any(key.values is None for key in self.keys)
        bundles, places = arrange(list(self.asks), self.scope.table, found=found)
        named = zip(self.asks.items(), places, strict=True)
        return bundles, tuple(Aggregate(ask=ask, bundles=own, sql=text) for (ask, text), own in named)


def _aliased(node: exp.Expr, aliases: Aliases) -> Term | None:
    if not isinstance(node, exp.Column) or node.args.get("table") or not isinstance(node.this, exp.Identifier):
        return None
    name = match(node.this, aliases)
    return None if name is None else aliases[name]


_ANSWERED: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.VariancePop: "var_pop",
    exp.Variance: "var_samp",
    exp.StddevPop: "stddev_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
    exp.Corr: "corr",
}
_PAIRS = (exp.CovarPop, exp.CovarSamp, exp.Corr)


def _function(node: exp.Expr) -> tuple[str, exp.Expr | None]:
    """Return an aggregate's name and argument; None for all rows."""
    if isinstance(node, exp.Anonymous):
        if len(node.expressions) > 1:
            raise refused(f"{node.name} takes one value")
        return AGGREGATE_NAMES[node.name.casefold()], next(iter(node.expressions), None)
    name = _ANSWERED.get(type(node))
    if name is None:
        raise refused_node(node)
    argument = node.args.get("this")
    every = isinstance(argument, exp.Star) and not argument.args.get("except_") and not argument.args.get("replace")
    return name, None if every else argument


def _output(expression: Expression, leaves: Mapping[Expression, Output]) -> Output:
    """Return an expression over released values as an output."""
    if expression in leaves:
        return leaves[expression]
    match expression:
        case Constant(value=value, kind=kind):
            return Constantly(value, kind)
        case Cast(operand=operand, kind="real") if operand.kind == "integer":
            return _as_real(_output(operand, leaves))
        case Cast(operand=operand, kind=kind):
            return Computed("cast", (_output(operand, leaves),), kind)
        case Call(function=function, arguments=arguments, kind=kind):
            return Computed(function, tuple(_output(argument, leaves) for argument in arguments), kind)
        case Case(branches=branches, otherwise=otherwise, kind=kind):
            parts = [part for branch in branches for part in branch] + ([] if otherwise is None else [otherwise])
            return Computed("case", tuple(_output(part, leaves) for part in parts), kind)
        case Column():
            raise LookupError("a column that was not released")


def _as_real(output: Output) -> Output:
    """Return a whole number as a real: the same output of another kind, so that its interval stays known."""
    match output:
        case Noisy(place=place):
            return Noisy(place, "real")
        case Grouped(place=place):
            return Grouped(place, "real")
        case Constantly(value=value):
            return Constantly(value, "real")
        case Computed(function=function, arguments=arguments):
            return Computed(function, arguments, "real")
