"""Baskets of items, in one statement (`query.basket_table`).

    key0      the public list of items with their codes, if there is one
    located   the rows that count: unit u, basket b, item i (a code, or the value itself)
    pairs     the different (u, b, i)
    reached   those in the baskets that their unit keeps
    chosen    at most `most` items of each basket, with their place in it
    answer    i and the place, sorted by u, b and place: each basket begins at place 1

**Which baskets a unit keeps.** DENSE_RANK orders a unit's baskets by a keyed hash of (u, b), and then by b, which differ.
So a unit keeps exactly min(reach, its baskets). **Which items a basket keeps.** ROW_NUMBER orders its items by a keyed
hash of (u, b, i), and then by i, which differ. So it keeps exactly min(most, its items). Both choices depend on the
unit's own rows and the key alone, and the key is drawn for each reading. So given the key, a unit that comes or goes
brings or takes at most `reach` baskets of at most `most` items, and all other baskets stay as they are. Units and
baskets are grouped by exact value; hashes only choose. The second choice is among the baskets of the first, whose rows
are complete; no choice sees another unit.

**Rows as baskets** (`row_basket_statement`). The rows are codes, packed into words (`coded_statement`). A unit's rows are
ordered by a keyed hash of (u, words), and then by the words. Rows that tie have the same words, so whichever of
them is kept, the same codes are. A unit keeps exactly min(reach, its rows), by its own rows and the key alone.

All rows come from one statement, so they are of one state of the data.
"""
# ruff: noqa: S608 - these texts are built here from checked expressions

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.engines.sql import contribution_bounding
from tacit.engines.sql.builder import CommonTables, cast, column, not_null
from tacit.engines.sql.coded_statement import located_codes
from tacit.engines.sql.dialect import Dialect
from tacit.engines.sql.layers import Layers
from tacit.engines.sql.statement import SOURCE, with_clause
from tacit.query.basket_table import BasketSource, BasketTable, RowBaskets
from tacit.query.expressions import Value


@dataclass(frozen=True, slots=True)
class BasketStatement:
    """A statement that returns items with their places, or the words of rows; `draws` if it chooses by hashes."""

    sql: str
    parameters: Mapping[str, Sequence[Value]]
    draws: bool


def basket_statement(source: BasketSource, types: Mapping[str, str], dialect: Dialect) -> BasketStatement:
    """Return the statement that reads baskets from a table with these columns and types."""
    if isinstance(source, RowBaskets):
        return row_basket_statement(source, types, dialect)
    tables, parameters = _located(source, types, dialect)
    by = [] if source.basket is None else ["b"]
    names = ", ".join(["u", *by, "i"])
    tables.append(("pairs", "", f"SELECT DISTINCT {names} FROM located"))
    last = "pairs"
    if by:
        last = "reached"
        kept = contribution_bounding.numbered(source.reach, dialect, by, rank="DENSE_RANK", source="pairs")
        tables.append((last, "", kept))
    tables.append(("chosen", "", contribution_bounding.group_values(source.most, last, by, "i", dialect)))
    place = dialect.text(cast(column("place_in_group"), "BIGINT"))
    order = ", ".join(["u", *by, "place_in_group"])
    sql = f"WITH {with_clause(tables)}\nSELECT i, {place} AS place FROM chosen ORDER BY {order}"
    return BasketStatement(sql, parameters, draws=True)


def _located(
    source: BasketTable, types: Mapping[str, str], dialect: Dialect
) -> tuple[CommonTables, dict[str, Sequence[Value]]]:
    """Return the common tables up to `located`, and the parameters."""
    layers = Layers(dialect, types, [source.item, *([] if source.where is None else [source.where])])
    item, columns = layers.value(source.item), source.table.columns
    tests = [] if source.where is None else [layers.value(source.where)]
    keys = {"u": source.table.unit, "b": source.basket}
    named = {short: layers.unit(name, columns[name].kind) for short, name in keys.items() if name is not None}
    tests += [not_null(each) for each in (*named.values(), item)]
    selects, lists, joins, parameters = layers.selects(SOURCE), CommonTables(), "", {}
    value = dialect.text(item)
    if source.values is not None:
        parameters["k0"] = source.values
        listed = dialect.list_select([("k0", "k0", source.item.kind)], "c0", len(source.values))
        lists, joins = [("key0", "", listed)], f" JOIN key0 ON {value} = k0"
        value = dialect.text(cast(column("c0"), "BIGINT"))
    items = [f"{dialect.text(each)} AS {short}" for short, each in named.items()]
    where = " AND ".join(map(dialect.text, tests))
    located = f"SELECT {', '.join([*items, f'{value} AS i'])} FROM {selects[-1][0]}{joins} WHERE {where}"
    return [*lists, *((name, "", select) for name, select in selects), ("located", "", located)], parameters


def row_basket_statement(source: RowBaskets, types: Mapping[str, str], dialect: Dialect) -> BasketStatement:
    """Return the statement that reads rows as baskets: the words of each row that counts."""
    tables, parameters = located_codes(source.coded, types, dialect)
    words, last = [f"w{place}" for place in range(len(source.coded.words))], "located"
    draws = source.table.unit is not None
    if draws:
        last = "chosen"
        kept = contribution_bounding.numbered(source.coded.reach, dialect, words, source="located")
        tables.append((last, "", kept))
    return BasketStatement(f"WITH {with_clause(tables)}\nSELECT {', '.join(words)} FROM {last}", parameters, draws)
