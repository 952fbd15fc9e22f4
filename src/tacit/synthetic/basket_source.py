"""The baskets of a table: from the arguments of `db.itemsets` to what an engine reads and what an item is called.

| unit | given | a basket is | reach |
|---|---|---|---|
| a column | `item`, `basket` | the rows of one unit with one value of `basket` | baskets of a unit that count |
| a column | `item`, without `basket`, or with the unit's column | all rows of a unit | 1 |
| a column | `columns` | a row | rows of a unit that count |
| each row | `columns` | a row | 1 |
| each row | `item` | refused: a basket of several rows would be of several units | |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np

from tacit.arrays import Codes, Ints
from tacit.errors import ColumnNotFoundError, InvalidError, RefusedError, UnusedOptionError, bad_value, show_name
from tacit.query.basket_table import BasketSource, BasketTable, RowBaskets
from tacit.query.expressions import Expression, Value
from tacit.query.policy import TablePolicy
from tacit.synthetic.baskets import Baskets
from tacit.synthetic.domain import OTHER, Bins, Domain, domain_of, reach_of
from tacit.synthetic.domain_labels import bin_text
from tacit.synthetic.itemset_question import MOST_ITEMS_OF_A_BASKET

USUAL_MOST = 64
"""The items of a basket that count if neither `most` nor the policy's `max_rows` says how many."""
MOST_PUBLIC_ITEMS = 1_000_000
_KINDS = ("text", "integer", "boolean", "date")
_FOUND_KINDS = ("text", "integer", "boolean")


@dataclass(frozen=True, slots=True, kw_only=True)
class BasketColumns:
    """The arguments that say what a basket is."""

    basket: str | None = None
    item: str | None = None
    columns: Sequence[str] | None = None
    keys: Sequence[Value] | None = None
    bins: Bins | None = None
    most: int | None = None
    reach: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Baskets to read: what the engine reads, the names of public items, and the limits.

    Items are named by `labels` if they are public, by their place there. For rows as baskets, `shifts` has the place of
    each column's first item, and `known` the number of its codes that are items.
    """

    source: BasketSource
    labels: tuple[Value, ...] | None
    most: int
    reach: int
    text: str
    domain: Domain | None = None

    @property
    def public(self) -> bool:
        """True if the items are public."""
        return self.labels is not None


def reading_of(table: TablePolicy, given: BasketColumns, where: Expression | None) -> Reading:
    """Return the baskets that the arguments describe, or raise InvalidError; no row is read."""
    if (given.item is None) == (given.columns is None):
        raise InvalidError(
            "Give either item, a column with one item a row, or columns, whose values are the items of a row.",
            argument="item",
            hint='For example item="product", basket="order_id".',
        )
    if given.columns is not None:
        return _rows(table, given, where)
    return _lists(table, given, where)


def _rows(table: TablePolicy, given: BasketColumns, where: Expression | None) -> Reading:
    """Return rows as baskets, of one item for each column."""
    for name in ("basket", "keys", "most"):
        if getattr(given, name) is not None:
            raise UnusedOptionError(name, "with columns: each row is a basket of one item a column")
    domain = domain_of(table, given.columns, given.bins, given.reach, where)
    labels = [
        f"{column.name}={bin_text(column, code) if column.edges else _text(label)}"
        for column in domain.columns
        for code, label in enumerate(column.labels)
        if label is not None and label is not OTHER
    ]
    return Reading(
        source=RowBaskets(replace(domain.coded, bits=0)),
        labels=tuple(labels),
        most=len(domain.columns),
        reach=domain.reach,
        text=f"rows with the items of {', '.join(domain.names)}",
        domain=domain,
    )


def _lists(table: TablePolicy, given: BasketColumns, where: Expression | None) -> Reading:
    """Return baskets whose items are in several rows."""
    if given.bins is not None:
        raise UnusedOptionError("bins", "without columns")
    if table.unit is None:
        raise RefusedError(
            "Each row is a unit, so a basket of several rows would be of several units.",
            hint="Open the table with unit= a column, or give columns= if each row is a basket.",
        )
    item = _column(table, given.item or "", "item")
    basket = None if given.basket in (None, table.unit) else given.basket
    if basket is not None:
        _column(table, basket, "basket")
    if basket is None and given.reach not in (None, 1):
        raise UnusedOptionError("reach", "where all rows of a unit are one basket")
    reach = 1 if basket is None else reach_of(table, given.reach if given.reach is not None else table.max_groups)
    policy = table.columns[item]
    labels = _public_items(item, policy.kind, given.keys if given.keys is not None else policy.keys)
    kinds = _FOUND_KINDS if labels is None else _KINDS
    if policy.kind not in kinds:
        raise InvalidError(
            f"The column {show_name(item)} has the kind {policy.kind}, and items are {', '.join(kinds)}.",
            argument="item",
            hint="List the items with keys=." if policy.kind in _KINDS else "Store the items as text or whole numbers.",
        )
    most = _most(table, given.most)
    source = BasketTable(
        table=table, basket=basket, item=policy.named(item), values=labels, reach=reach, most=most, where=where
    )
    named = table.unit if basket is None else basket
    return Reading(source=source, labels=labels, most=most, reach=reach, text=f"{item} by {named}")


def _column(table: TablePolicy, name: str, argument: str) -> str:
    usable = [each for each, policy in table.columns.items() if not policy.hidden]
    if name not in usable:
        raise ColumnNotFoundError(name, usable, argument=argument)
    return name


def _most(table: TablePolicy, most: int | None) -> int:
    limit = most if most is not None else min(table.max_rows or USUAL_MOST, MOST_ITEMS_OF_A_BASKET)
    if type(limit) is not int or not 1 <= limit <= MOST_ITEMS_OF_A_BASKET:
        raise bad_value("most", limit, f"a whole number from 1 to {MOST_ITEMS_OF_A_BASKET:,}")
    return limit


def _public_items(name: str, kind: str, keys: Sequence[Value] | None) -> tuple[Value, ...] | None:
    """Return the public items, sorted; None if items must be found in the data."""
    if keys is None:
        return (False, True) if kind == "boolean" else None
    if isinstance(keys, str):
        raise bad_value("keys", keys, "a list of items")
    items = [key for key in keys if key is not None]
    types = {"text": str, "integer": int, "boolean": bool, "date": date}
    wrong = [key for key in items if kind in types and type(key) is not types[kind]]
    if wrong:
        raise bad_value("keys", wrong[0], f"items of the kind {kind}, as {show_name(name)} has")
    if len(set(items)) < len(items):
        raise InvalidError("The list of items contains an item twice.", argument="keys", hint="List each item once.")
    if not 1 <= len(items) <= MOST_PUBLIC_ITEMS:
        raise bad_value("keys", len(items), f"1 to {MOST_PUBLIC_ITEMS:,} items")
    return tuple(sorted(items))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class StoredBaskets:
    """Baskets that an engine has returned; only a release that was charged may hold them."""

    def __init__(self, reading: Reading) -> None:
        """Hold no baskets; `absorb` adds some."""
        self._reading = reading
        self._codes: list[Codes] = [np.zeros(0, dtype=np.int32)]
        self._lengths: list[Ints] = []
        self._starts: list[Ints] = []
        self._seen = 0
        self._names: dict[Value, int] = {}

    def absorb(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add the next rows of the statement."""
        if not rows:
            return
        if self._reading.domain is not None:
            self._absorb_words(np.array([tuple(row) for row in rows], dtype=np.int64).T, self._reading.domain)
            return
        items, places = zip(*rows, strict=True)
        if self._reading.labels is None:
            names = self._names
            codes = np.array([names.setdefault(item, len(names)) for item in items], dtype=np.int32)
        else:
            codes = np.array(items, dtype=np.int32)
        self._starts.append(np.flatnonzero(np.array(places, dtype=np.int64) == 1) + self._seen)
        self._codes.append(codes)
        self._seen += len(codes)

    def _absorb_words(self, words: Ints, domain: Domain) -> None:
        """Add rows of codes; codes of missing and unlisted values are left out."""
        codes = np.empty((words.shape[1], len(domain.columns)), dtype=np.int32)
        for word, places in zip(words, domain.coded.words, strict=True):
            rest = word
            for place in reversed(places):
                rest, codes[:, place] = np.divmod(rest, domain.sizes[place])
        known = [sum(x is not None and x is not OTHER for x in column.labels) for column in domain.columns]
        inside = codes < np.array(known)
        codes += np.concatenate([[0], np.cumsum(known)[:-1]]).astype(np.int32)
        self._codes.append(codes[inside])
        self._lengths.append(inside.sum(axis=1))

    def baskets(self) -> tuple[Baskets, tuple[Value, ...]]:
        """Return the baskets, and the items in the order of their codes."""
        codes, labels = np.concatenate(self._codes), self._reading.labels
        if labels is None:
            labels = tuple(sorted(self._names))  # type: ignore[type-var]  # all of one kind
            place = np.zeros(len(labels), dtype=np.int32)
            for code, label in enumerate(labels):
                place[self._names[label]] = code
            codes = place[codes]
        if self._reading.domain is not None:
            starts = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *self._lengths]))])
        else:
            starts = np.concatenate([*self._starts, [len(codes)]])
        baskets = Baskets(
            starts=starts.astype(np.int64),
            codes=codes,
            items=len(labels),
            most=self._reading.most,
            reach=self._reading.reach,
        )
        return baskets, labels
