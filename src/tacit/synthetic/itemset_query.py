"""`db.itemsets` from its arguments to its answer: check, price, charge, read, compute.

Everything that can be refused is refused before the charge, from public facts: the columns, the limits, the cost, and
the memory that pairs and bins need. The memory for the baskets themselves depends on how many there are, which is
private; it is about 4 bytes an item and 8 a basket, and if it does not suffice, the charge stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import Number, fraction_between, to_fraction
from tacit.query.expressions import Value
from tacit.query.policy import TablePolicy
from tacit.session import Session, unspent
from tacit.synthetic.basket_source import BasketColumns, Reading, StoredBaskets, reading_of
from tacit.synthetic.basket_weights import SCALE
from tacit.synthetic.cost import ReleaseCost, cost_of_release
from tacit.synthetic.itemset_question import ItemsetQuestion
from tacit.synthetic.itemset_release import FEW, MANY, release_itemsets
from tacit.synthetic.itemsets import Itemsets, content_of, limits_text
from tacit.synthetic.reading import ReleaseInput, charged_release, check_need
from tacit.synthetic.release_plan import ReleasePlan
from tacit.synthetic.row_filter import rows_of

_FIXED = 2**26
"""Bytes for one block of baskets, and for pairs, bins and candidates, whatever the data are."""
_BYTES_OF_ITEM = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsetArguments:
    """The arguments of `db.itemsets`, as given."""

    basket: str | None
    item: str | None
    columns: Sequence[str] | None
    k: int | None
    min_support: Number | None
    most: int | None
    keys: Sequence[Value] | Mapping[str, Sequence[Value]] | None
    bins: Mapping[str, int | Sequence[float]] | None
    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    where: str | None
    table: str | None
    reach: int | None
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedItemsets:
    """A checked question: what to read, what to ask, and what it costs."""

    table: TablePolicy
    reading: Reading
    question: ItemsetQuestion
    cost: ReleaseCost
    text: str
    memory: int
    confidence: float


def prepare(session: Session, given: ItemsetArguments) -> PreparedItemsets:
    """Check the arguments and price the release; no row is read. Call it under `unspent()`."""
    confidence = float(fraction_between(given.confidence, "confidence", 0, 1))
    table, where = rows_of(session, given.where, given.table)
    keys = given.keys
    if isinstance(keys, Mapping):
        if set(keys) != {given.item}:
            raise bad_value("keys", list(keys), "a list of items, or a mapping from the item column to one")
        keys = keys[given.item or ""]
    columns = BasketColumns(
        basket=given.basket,
        item=given.item,
        columns=given.columns,
        keys=keys,
        bins=given.bins,
        most=given.most,
        reach=given.reach,
    )
    reading = reading_of(table, columns, where)
    cost = cost_of_release(session, epsilon=given.epsilon, delta=given.delta, rho=given.rho)
    question = ItemsetQuestion(
        k=given.k,
        min_support=None if given.min_support is None else to_fraction(given.min_support, "min_support"),
        epsilon=cost.epsilon,
        delta=cost.delta,
        rho=None if cost.epsilon is not None else cost.rho,
        neighbours=table.neighbours,
        public_items=reading.public,
    )
    question.check_noise(reading.most, reading.reach, SCALE)
    memory = _FIXED + _BYTES_OF_ITEM * len(reading.labels or ()) + 64 * MANY * min(given.k or MANY, 1_000)
    wanted = f"k={question.k}" if question.k is not None else f"min_support={float(question.min_support or 0):g}"
    condition = "" if given.where is None else f" where {given.where}"
    text = f"itemsets of {table.name}: {reading.text}{condition}, {wanted}"
    return PreparedItemsets(
        table=table,
        reading=reading,
        question=question,
        cost=cost,
        text=text,
        memory=memory,
        confidence=confidence,
    )


def plan_itemsets(session: Session, given: ItemsetArguments) -> ReleasePlan:
    """Return the cost and the expected errors; nothing is read or spent."""
    with unspent():
        session.check_open()
        ready = prepare(session, given)
        check_need(session, ready.memory, "pairs and bins of items")
        session.engine(ready.table.name).check_baskets(ready.reading.source)
    return ReleasePlan(
        question=ready.text,
        cost=ready.cost.guarantee,
        error=_expected(ready),
        memory=ready.memory,
        notes=_notes(ready.reading),
        events=(ready.cost.event,),
    )


def _expected(ready: PreparedItemsets) -> dict[str, float]:
    """Return standard deviations of noise in baskets: of a pair, if few or if many items are frequent."""
    question, reach = ready.question, ready.reading.reach
    units, epsilon = question.units, float(question.epsilon or 0)
    few = 2.0 ** ((FEW - 2) / 2)
    if question.rho is not None:
        rho, bins = float(question.rho), reach * (units / (2 * 0.7 * float(question.rho))) ** 0.5
    else:
        rho, bins = float(ready.cost.rho) * 0.81, 2**0.5 * units * reach / (0.7 * epsilon)
    items = min(ready.reading.most, 8)
    sets = items * (items - 1) / 2
    if rho > 0:
        many = reach * (units * sets / (2 * 0.46 * rho)) ** 0.5
    else:
        many = 2**0.5 * units * reach * sets / (0.46 * 0.9 * epsilon)
    long = f"a pair (σ), if many items are frequent and a basket has {items} of them"
    return {f"a pair (σ), if only {FEW} items are frequent": bins * few, long: many}


def _notes(reading: Reading) -> tuple[str, ...]:
    """Return sentences on what counts."""
    found = (
        "The items are public."
        if reading.public
        else "The items are not public, so half of δ pays for finding them in the data."
    )
    return (
        limits_text(reading.reach, reading.most),
        found,
        "The baskets need more memory: about 4 bytes an item and 8 a basket. Their number is private.",
    )


def release(session: Session, given: ItemsetArguments, request: str | None) -> Itemsets:
    """Charge, read the baskets and release the itemsets; or return the recorded answer."""
    with unspent():
        session.check_open()
        ready = prepare(session, given)
        if request is not None and not isinstance(request, str):
            raise InvalidError("request must be a text.", argument="request", hint='For example request="baskets".')
    engine, reading = session.engine(ready.table.name), ready.reading

    def read() -> Mapping[str, object]:
        stored = StoredBaskets(reading)
        engine.read_baskets(reading.source, stored.absorb)
        baskets, labels = stored.baskets()
        return content_of(release_itemsets(baskets, ready.question), labels)

    released = charged_release(
        session,
        ReleaseInput(
            table=ready.table,
            check=lambda: engine.check_baskets(reading.source),
            read=read,
            identity=(reading.source, reading.labels, ready.question, ready.cost.event),
            memory=(ready.memory, "pairs and bins of items"),
        ),
        events=(ready.cost.event,),
        question=ready.text,
        key=request,
    )
    return Itemsets(
        release=released, confidence=ready.confidence, reach=reading.reach, most=reading.most, k=ready.question.k
    )
