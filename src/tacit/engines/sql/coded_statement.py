"""The rows of a table as codes and weights, in one statement (`query.coded_table`).

    key0 …   the public lists of values with their codes
    located  the rows that count: their codes, packed into words, and their unit
    answer   the words of each row, and its weight if a column names the unit (`weights` has the proof)

A word has the codes of several columns, since an engine that returns rows of Python's integers is faster if they are
few. An engine that returns arrays takes one column per word (`words=`), and casts them to small types.

Every code is a total expression: NULL, NaN and values that are not listed have codes too. All rows come from one
statement, so they are of one state of the data, and h of a unit counts exactly the rows that are returned.
"""
# ruff: noqa: S608 - these texts are built here from checked expressions

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from sqlglot import exp

from tacit.arrays import Ints
from tacit.engines.sql.builder import (
    SQL,
    CommonTables,
    call,
    cast,
    column,
    infix,
    is_null,
    literal,
    not_null,
    when,
    whole,
)
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.layers import Layers
from tacit.engines.sql.statement import SOURCE, with_clause
from tacit.engines.sql.weights import weighed_rows, weight
from tacit.query.coded_table import CodedColumn, CodedTable
from tacit.query.expressions import Kind, Value

Words: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class CodedStatement:
    """A statement that returns the words of each row and its weight, or the words alone."""

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    words: Words
    """The places of the columns that share a word."""
    sizes: tuple[int, ...]
    """The number of codes of each column."""

    def unpacked(self, columns: Ints) -> tuple[list[Ints], Ints | None]:
        """Return the codes of each column and the weights, or None, of rows that are given as columns of words."""
        codes = [columns[0]] * len(self.sizes)
        for word, places in zip(columns, self.words, strict=False):
            rest = word
            for place in reversed(places[1:]):
                rest, codes[place] = np.divmod(rest, self.sizes[place])
            codes[places[0]] = rest
        return codes, columns[-1] if len(columns) > len(self.words) else None


def coded_statement(
    coded: CodedTable, types: Mapping[str, str], dialect: Dialect, words: Words | None = None
) -> CodedStatement:
    """Return the statement that reads the rows of a table with these columns and types."""
    words = coded.words if words is None else words
    tables, parameters = located_codes(coded, types, dialect, words)
    names, source = [f"w{i}" for i in range(len(words))], "located"
    if coded.table.unit is not None:
        tables, source = weighed_rows(tables, "located", coded.reach, dialect)
        names.append(dialect.text(weight(coded.reach, coded.bits, dialect)))
    sql = f"WITH {with_clause(tables)}\nSELECT {', '.join(names)} FROM {source}"
    return CodedStatement(sql, parameters, words, tuple(each.size for each in coded.columns))


def located_codes(
    coded: CodedTable, types: Mapping[str, str], dialect: Dialect, words: Words | None = None
) -> tuple[CommonTables, dict[str, Sequence[Value]]]:
    """Return the common tables up to `located`, the words and the unit of the rows that count, and the parameters."""
    read = [each.expression for each in coded.columns]
    layers = Layers(dialect, types, read if coded.where is None else [*read, coded.where])
    values = [layers.value(each.expression) for each in coded.columns]
    unit = coded.table.unit
    tests = [] if coded.where is None else [layers.value(coded.where)]
    key = None if unit is None else layers.unit(unit, coded.table.columns[unit].kind)
    selects = layers.selects(SOURCE)
    lists: CommonTables = []
    joins, parameters = "", dict[str, Sequence[Value]]()
    for place, each in enumerate(coded.columns):
        if each.values is not None:
            parameters[f"k{place}"] = each.values
            columns = [(f"k{place}", f"k{place}", each.expression.kind)]
            lists.append((f"key{place}", "", dialect.list_select(columns, f"c{place}", len(each.values))))
            joins += f" LEFT JOIN key{place} ON {dialect.text(values[place])} = k{place}"
    codes = [_code(each, values[place], place) for place, each in enumerate(coded.columns)]
    items = [f"{dialect.text(_word(coded, places, codes))} AS w{i}" for i, places in enumerate(words or coded.words)]
    if key is not None:
        items.append(f"{dialect.text(key)} AS u")
        tests.append(not_null(key))
    where = f" WHERE {' AND '.join(map(dialect.text, tests))}" if tests else ""
    located = f"SELECT {', '.join(items)} FROM {selects[-1][0]}{joins}{where}"
    return [*lists, *((name, "", select) for name, select in selects), ("located", "", located)], parameters


def _code(each: CodedColumn, value: SQL, place: int) -> SQL:
    """Return the code of a row in a column."""
    if each.values is not None:
        code = call("COALESCE", cast(column(f"c{place}"), "BIGINT"), whole(each.other))
    else:
        code = _bin(value, each.cuts, each.expression.kind, 0, len(each.cuts))
    return when((is_null(value), whole(each.missing)), otherwise=code)


def _bin(value: SQL, cuts: Sequence[int | float], kind: Kind, first: int, last: int) -> SQL:
    """Return how many cuts are at most a value, which is from `first` to `last`: a search by halving."""
    if first == last:
        return whole(first)
    middle = (first + last) // 2
    test = infix(exp.LT, value, literal(cuts[middle], kind))
    return when((test, _bin(value, cuts, kind, first, middle)), otherwise=_bin(value, cuts, kind, middle + 1, last))


def _word(coded: CodedTable, places: Sequence[int], codes: Sequence[SQL]) -> SQL:
    """Return the codes of some columns as one integer, the first column counting most."""
    word = codes[places[0]]
    for place in places[1:]:
        word = infix(exp.Add, infix(exp.Mul, word, whole(coded.columns[place].size)), codes[place])
    return word
