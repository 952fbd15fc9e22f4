"""Public rows behind the columns of a query: which tuples of keys exist, and which values the keys determine.

A relation is a list of public rows over some columns of a plan. There are two kinds:

* A joined public table, with the rows that it had when it was opened. A joined row holds one of them, or NULLs after a
  LEFT JOIN. If the join equates a column of an earlier table with a column of this table, both are equal on every
  matched row, so the relation knows that column too. A required column is equated as `coalesce(column, constant)`,
  which is how a query reads it; the column itself may be NULL where the public value is the constant. So the relation
  knows only expressions that read the column in this form. On a matched row that form equals a public value p, which
  is not NULL because NULL equals nothing. `coalesce(p, constant)` is p, so an expression of the form has the same value
  on the row as with p in place of the column.
* The listed tuples of a private table (`TablePolicy.key_tuples`). Rows of the data may have other tuples.

**Tuples.** Keys over the columns of one relation have the values that its rows give them. No other tuple is possible in
a joined row, unless the public table has changed since (PostgreSQL). Rows with another tuple are left out, like all
rows whose keys are not listed. The tuples depend on public rows alone, so listing them reveals nothing.

**Determined values.** If all public rows with one tuple of keys have one value of an expression, the keys determine it.
`min`, `max`, `avg` and `any_value` of equal values are that value. It is read from the public rows, for every tuple,
whether or not a private row has it: no private row is read, and it costs nothing. After a LEFT JOIN the rows without a
match are one more row of NULLs. Where a key is an equated column, such a row may have any value of it, so it must not
have a value of the expression: aggregates skip NULL. Nothing is known there about an expression that reads an equated
column, so after a LEFT JOIN it is never determined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

from tacit.query.evaluate import evaluator
from tacit.query.expressions import Column, Expression, Value, children, columns, walk
from tacit.query.joins import Join
from tacit.query.key_tuples import KeyTuples
from tacit.query.plan import Key
from tacit.query.policy import TablePolicy
from tacit.query.refusals import refused
from tacit.query.sql.key_values import own_column
from tacit.query.sql.scope import Scope

Tuple = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """Public rows over columns of the plan.

    `names` are the columns with their indices in a row; an equated column has the index of the column that it equals.
    `outer` is True if a row of the data may have no match, and NULLs instead. `ordered` is True for listed
    tuples: their order is that of the answer. `required` are the equated forms of required columns (see the module).
    """

    names: Mapping[str, int]
    rows: tuple[Tuple, ...]
    equated: frozenset[str] = field(default=frozenset())
    outer: bool = False
    ordered: bool = False
    required: frozenset[Expression] = field(default=frozenset())

    def reads(self, expression: Expression) -> bool:
        """Return whether an expression reads columns, all of them columns of the relation."""
        used = columns(expression)
        return bool(used) and used <= self.names.keys() and not self._reads_bare(expression)

    def _reads_bare(self, expression: Expression) -> bool:
        """Return whether an expression reads a required column as it is, where it may be NULL."""
        bare = frozenset[str]().union(*map(columns, self.required))
        waiting = [expression] if bare else []
        while waiting:
            part = waiting.pop()
            if isinstance(part, Column) and part.name in bare:
                return True
            waiting += [] if part in self.required else children(part)
        return False

    def values(self, expression: Expression) -> list[Value]:
        """Return the value of an expression on each row."""
        leaves = list(dict.fromkeys(part for part in walk(expression) if isinstance(part, Column)))
        places = [self.names[leaf.name] for leaf in leaves]
        run = evaluator(expression, leaves)
        return [run([row[place] for place in places]) for row in self.rows]

    def without_match(self, expression: Expression) -> Value:
        """Return the value of an expression if all columns of the relation are NULL."""
        leaves = list(dict.fromkeys(part for part in walk(expression) if isinstance(part, Column)))
        return evaluator(expression, leaves)([None] * len(leaves))


def relations(scope: Scope) -> list[Relation]:
    """Return the relations of a scope: its joined public tables, and the listed tuples of its columns."""
    joined = [_joined(join, scope.table) for join in scope.joins if join.content is not None]
    listed = [
        Relation({name: place for place, name in enumerate(each.columns)}, each.rows, ordered=True)
        for each in scope.table.key_tuples
    ]
    return [*(each for each in joined if each is not None and each.rows), *listed]


def _joined(join: Join, table: TablePolicy) -> Relation | None:
    """Return the rows of a joined public table that can match a row."""
    content = join.content
    if content is None:
        return None
    places = {name: place for place, name in enumerate(content.columns)}
    names = {name: places[raw] for name, raw in join.columns if raw in places}
    equated: dict[str, int] = {}
    required: set[Expression] = set()
    for form, other in join.pairs:
        mine = own_column(form, table)
        if mine is not None and isinstance(other, Column) and other.name in names and mine.kind == other.kind:
            equated.setdefault(mine.name, names[other.name])
            required |= set() if form == mine else {form}
    relation = Relation(names, content.rows, outer=join.kind == "left")
    matched = [
        place for _, other in join.pairs if isinstance(other, Column) and (place := names.get(other.name, -1)) >= 0
    ]
    met: Sequence[Value] = [True] * len(content.rows)
    if join.where is not None and relation.reads(join.where):
        met = relation.values(join.where)
    rows = tuple(
        row
        for row, meets in zip(content.rows, met, strict=True)
        if meets is True and all(row[place] is not None for place in matched)
    )
    return replace(
        relation, names={**equated, **names}, equated=frozenset(equated), rows=rows, required=frozenset(required)
    )


def with_tuples(
    keys: Sequence[Key], restricted: Sequence[bool], scope: Scope
) -> tuple[list[Key], tuple[KeyTuples, ...]]:
    """Return the keys with the values that public rows give them, and the tuples of keys that are listed together.

    Args:
        keys: the keys, each with its own values.
        restricted: for each key, whether the caller lists its values.
        scope: the source of the query.
    """
    new, tuples, taken = list(keys), list[KeyTuples](), set[int]()
    for relation in relations(scope):
        places = [
            place
            for place, key in enumerate(keys)
            if place not in taken and relation.reads(key.expression) and _fits(key, relation)
        ]
        if not _is_joint([keys[place] for place in places], relation):
            continue
        found = _tuples_of([keys[place] for place in places], [restricted[place] for place in places], relation, scope)
        taken.update(places)
        for index, place in enumerate(places):
            values = tuple(dict.fromkeys(row[index] for row in found))
            new[place] = replace(keys[place], values=values if relation.ordered else _sorted(values))
        if len(places) > 1:
            complete = relation.outer and not any(restricted[place] for place in places)
            complete &= all(_is_complete(keys[place], relation, scope.table) for place in places)
            listed = tuple(zip(*found, strict=True))
            tuples.append(KeyTuples(places=tuple(places), columns=listed, complete=complete))
    return new, tuple(tuples)


def _is_complete(key: Key, relation: Relation, table: TablePolicy) -> bool:
    """Return whether the rows without a match are listed; a required column has listed values or its constant."""
    if not columns(key.expression) & relation.equated:
        return True
    column = own_column(key.expression, table)
    return column is not None and table.columns[column.name].required and table.columns[column.name].keys is not None


def _fits(key: Key, relation: Relation) -> bool:
    """Return whether a relation knows all values of a key; one of an equated column has others without a match."""
    return not relation.outer or not columns(key.expression) & relation.equated or key.values is not None


def _is_joint(keys: Sequence[Key], relation: Relation) -> bool:
    """Return whether the relation lists fewer tuples of some keys than the keys do one by one, or lists an open key.

    Equated columns alone have their values from the relation only after an inner join.
    """
    used = {name for key in keys for name in columns(key.expression)}
    if not used or (relation.outer and not used - relation.equated):
        return False
    opened = any(key.values is None for key in keys)
    return opened or len(keys) > 1 or len({relation.names[name] for name in used}) > 1


def _tuples_of(keys: Sequence[Key], restricted: Sequence[bool], relation: Relation, scope: Scope) -> list[Tuple]:
    """Return the distinct tuples of some keys in a relation, in the order of the answer."""
    rows = dict.fromkeys(zip(*(relation.values(key.expression) for key in keys), strict=True))
    if relation.outer:
        rows |= dict.fromkeys(_without_match(keys, relation))
    limits = [
        _limit(key, listed=listed, relation=relation, table=scope.table)
        for key, listed in zip(keys, restricted, strict=True)
    ]
    kept = [
        row
        for row in rows
        if all(_is_key(value) and (limit is None or value in limit) for value, limit in zip(row, limits, strict=True))
    ]
    if not kept:
        names = " and ".join(key.name for key in keys)
        raise refused(f"The listed keys contain no combination of {names} that exists", "List keys that exist.")
    return kept if relation.ordered else sorted(kept, key=_order)


def _without_match(keys: Sequence[Key], relation: Relation) -> Iterator[Tuple]:
    """Yield the tuples of rows without a match; a key of equated columns has any of its listed values there."""
    rows: list[Tuple] = [()]
    for key in keys:
        free = bool(columns(key.expression) & relation.equated)
        options = key.listed if free else (relation.without_match(key.expression),)
        rows = [(*row, value) for row in rows for value in options]
    yield from rows


def _limit(key: Key, *, listed: bool, relation: Relation, table: TablePolicy) -> frozenset[Value] | None:
    """Return the values that a key may have, if the caller or the policy lists them; None if any value is a key."""
    if listed and key.values is not None:
        return frozenset(key.values)
    column = own_column(key.expression, table)
    keys = table.columns[column.name].keys if column is not None and column.name in relation.equated else None
    return None if keys is None else frozenset(keys)


def _is_key(value: Value) -> bool:
    """Return whether a value can be a key: not infinite, and no text with NUL, which some engines cannot store."""
    return not (isinstance(value, float) and not isfinite(value)) and not (isinstance(value, str) and "\0" in value)


def _order(row: Tuple) -> list[tuple[bool, Value]]:
    return [(value is None, value) for value in row]


def _sorted(values: Tuple) -> Tuple:
    """Return values in order, NULL last."""
    return tuple(sorted(values, key=lambda value: (value is None, value)))


@dataclass(frozen=True, slots=True)
class Determination:
    """A value that keys determine: the indices of the keys, their tuples, and the value for each tuple."""

    places: tuple[int, ...]
    rows: tuple[Tuple, ...]
    values: Tuple


def determined(expression: Expression, keys: Sequence[Key], scope: Scope) -> Determination | None:
    """Return the values of a public expression by the keys that determine it; None if they do not."""
    for relation in relations(scope):
        if relation.ordered or not relation.reads(expression) or not columns(expression) - relation.equated:
            continue
        if relation.outer and columns(expression) & relation.equated:
            continue
        places = tuple(place for place, key in enumerate(keys) if relation.reads(key.expression))
        found = _function(expression, [keys[place].expression for place in places], relation)
        if found is not None:
            return Determination(places, tuple(found), tuple(found.values()))
    return None


def _function(expression: Expression, keys: Sequence[Expression], relation: Relation) -> dict[Tuple, Value] | None:
    """Return the value of an expression for each tuple of keys; None if a tuple has two values."""
    tuples = list(zip(*map(relation.values, keys), strict=True)) if keys else [()] * len(relation.rows)
    pairs = list(zip(tuples, relation.values(expression), strict=True))
    if relation.outer:
        missing = relation.without_match(expression)
        if any(columns(key) & relation.equated for key in keys) or not keys:
            if missing is not None:
                return None
        else:
            pairs.append((tuple(map(relation.without_match, keys)), missing))
    found: dict[Tuple, Value] = {}
    for row, value in pairs:
        if not _is_key(value) or found.setdefault(row, value) != value:
            return None
    return found
