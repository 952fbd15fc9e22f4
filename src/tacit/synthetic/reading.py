"""One charged reading of coded rows: the way of every high-dimensional release through a session.

    domain = domain_of(session.tables["data"], ["age", "sex"], bins={"age": 16})
    release = release_coded(session, domain, events=events, question="marginals of …", spec={…},
                            compute=lambda rows: {"noisy": […]}, memory=bytes)
    release.content     what `compute` returned: JSON, already noisy; or the recorded content of an identical question
    release.cost, release.receipt, release.repeated

The order: check the memory and the columns, ask the ledger for a recorded answer, check the source, charge (committed),
read all rows in one statement, compute. `compute` gets `CodedRows` and must return JSON that is safe to publish: it
adds the noise that `events` state. If it fails, the charge stands and the text is constant. `spec` has everything that
the content depends on besides the domain and the events; with a declared data version an equal question is a free
repeat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.errors import RefusedError
from tacit.guarantees.events import Event, to_json
from tacit.guarantees.filters import Budget
from tacit.guarantees.filters import price as event_price
from tacit.ledger import ANSWERED, Request, TableSize
from tacit.ledger.recorded_answers import reading_answer
from tacit.ledger.records import budget_like
from tacit.machine_memory import default_limit
from tacit.query.coded_table import CodedTable
from tacit.query.formatting import amounts
from tacit.query.memory_need import size_text
from tacit.query.policy import TablePolicy
from tacit.query.policy import build as policy_build
from tacit.session import Session, unspent
from tacit.synthetic.coded_rows import CodedRows, Codes, Counts
from tacit.synthetic.domain import Domain
from tacit.version import VERSION

BLOCK = 2**18
_BYTE, _SHORT = 2**8, 2**16


@dataclass(frozen=True, slots=True)
class _Block:
    """Some rows: their codes, one small array per column, and their weights if not all are the whole weight."""

    rows: int
    codes: Sequence[npt.NDArray[np.integer[Any]]]
    weights: Counts | None

    def places(self, columns: Sequence[int], shape: Sequence[int]) -> npt.NDArray[np.integer[Any]]:
        """Return the cell of each row in the table of some columns, in the smallest type that has all cells.

        All places are below the number of cells, also those in between, so no product or sum overflows.
        """
        short = prod(shape) <= _SHORT and max(shape, default=1) < _SHORT  # a factor must fit too
        place: npt.NDArray[Any] = np.zeros(self.rows, dtype=np.uint16 if short else np.int64)
        for column, size in zip(columns, shape, strict=True):
            place *= size
            place += self.codes[column]
        return place


class StoredRows:
    """Coded rows that an engine has returned, stored as small integers."""

    def __init__(self, coded: CodedTable) -> None:
        """Hold no rows; `absorb` adds them."""
        self.sizes = tuple(column.size for column in coded.columns)
        self.scale, self.reach = 1 << coded.bits, coded.reach
        self._blocks: list[_Block] = []

    def absorb(self, codes: Sequence[npt.NDArray[np.integer[Any]]], weights: Ints | None) -> None:
        """Add rows, given as one array of codes per column and, if rows have weights, these."""
        for start in range(0, len(codes[0]), BLOCK):
            some = slice(start, start + BLOCK)
            small: list[npt.NDArray[np.integer[Any]]] = [
                np.asarray(each[some], dtype=np.uint8 if size <= _BYTE else np.uint16)
                for each, size in zip(codes, self.sizes, strict=True)
            ]
            cut = None if weights is None or (weights[some] == self.scale).all() else weights[some].copy()
            self._blocks.append(_Block(len(small[0]), small, cut))

    def counts(self, columns: Sequence[int]) -> Counts:
        """Return the total weight for each combination of the codes of some columns, as an array of their sizes.

        Weights are summed as doubles within a block: at most 2^18 integers of at most 2^16, so the sums are exact.
        """
        shape = tuple(self.sizes[column] for column in columns)
        cells = int(np.prod(shape, dtype=np.int64))
        whole, heavy = (np.zeros(cells, dtype=np.int64) for _ in range(2))
        for block in self._blocks:
            place = block.places(columns, shape)
            if block.weights is None:
                whole += np.bincount(place, minlength=cells)
            else:
                heavy += np.bincount(place, weights=block.weights, minlength=cells).astype(np.int64)
        return (whole * self.scale + heavy).reshape(shape)

    def batches(self) -> Iterator[tuple[Codes, Counts]]:
        """Return the codes (rows by columns) and the weights of all rows, some rows at a time."""
        for block in self._blocks:
            full = np.full(block.rows, self.scale, dtype=np.int64) if block.weights is None else block.weights
            yield np.array(block.codes, dtype=np.uint16).T, full


@dataclass(frozen=True, slots=True)
class CodedRelease:
    """The content of a release, its cost and its receipt."""

    content: Mapping[str, object]
    question: str
    events: tuple[Event, ...]
    cost: Budget
    context: Mapping[str, object]
    repeated: bool

    @property
    def receipt(self) -> dict[str, object]:
        """The release as JSON, with its record in the ledger."""
        events = [to_json(event) for event in self.events]
        return {"question": self.question, "promise": amounts(self.cost), "events": events, **self.context}


def cost_of(session: Session, events: Sequence[Event]) -> Budget:
    """Return the price of events in the currency of the budget."""
    prices = [event_price(session.ledger.budget, event) for event in events]
    loss, delta = (sum((getattr(price, part) for price in prices), Fraction(0)) for part in ("loss", "delta"))
    return budget_like(session.ledger.budget, loss, delta)


def check_need(session: Session, need: int, what: str) -> None:
    """Raise RefusedError if a release needs more memory than the limit; `need` is computed from public numbers."""
    limit = session.memory_limit or default_limit()
    if limit is not None and need > limit:
        fact = f"The release needs about {size_text(need)} of memory for {what}, but the limit is {size_text(limit)}."
        raise RefusedError(fact, hint="Use fewer columns or wider bins, or set a larger limit with memory=.")


def release_coded(  # noqa: PLR0913 - one reading has many parts
    session: Session,
    domain: Domain,
    *,
    events: tuple[Event, ...],
    question: str,
    spec: Mapping[str, object],
    compute: Callable[[CodedRows], Mapping[str, object]],
    memory: int = 0,
    key: str | None = None,
    sizes: tuple[TableSize, ...] = (),
) -> CodedRelease:
    """Charge events, read the coded rows and compute the content, in this order; or return the recorded content.

    `sizes` has the public numbers of rows that the content depends on, for the ledger.
    """
    engine, coded = session.engine(domain.table.name), domain.coded

    def read() -> Mapping[str, object]:
        rows = StoredRows(coded)
        engine.read_codes(coded, rows.absorb)
        return compute(rows)

    return charged_release(
        session,
        ReleaseInput(
            table=domain.table,
            check=lambda: engine.check_codes(coded),
            read=read,
            identity=(coded, events, json.dumps(spec, sort_keys=True)),
            memory=(memory, f"{domain.cells:,} combinations of public values"),
        ),
        events=events,
        question=question,
        key=key,
        sizes=sizes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseInput:
    """The input of one release: how to check it and how to read it.

    `check` raises InvalidError without reading a row, and `read` returns the content, already noisy. `identity`
    has all that the content depends on. `memory` is the need in bytes, from public numbers, and what it is for.
    """

    table: TablePolicy
    check: Callable[[], None]
    read: Callable[[], Mapping[str, object]]
    identity: tuple[object, ...]
    memory: tuple[int, str]


def charged_release(
    session: Session,
    reading: ReleaseInput,
    *,
    events: tuple[Event, ...],
    question: str,
    key: str | None,
    sizes: tuple[TableSize, ...] = (),
) -> CodedRelease:
    """Charge events, read and compute, in this order; or return the recorded content."""
    with unspent():
        session.check_open()
        check_need(session, *reading.memory)
        reading.check()
        cost = cost_of(session, events)
        request = Request(
            question=question,
            events=events,
            analyst=session.analyst,
            digest=sha256(repr((VERSION, session.data_version, *reading.identity)).encode()).hexdigest(),
            key=key,
            repeats=bool(session.data_version),
            sizes=sizes,
        )
        session.engine(reading.table.name).ready()
        ticket = session.charged_together(request, [])
    context = {
        "neighbours": reading.table.neighbours,
        "policy": policy_build.version(reading.table),
        **session.facts(ticket),
    }
    if ticket.answer is not None:
        with reading_answer(session.ledger.name):
            return CodedRelease(json.loads(ticket.answer), question, events, cost, context, repeated=True)
    (content,) = session.guarded(ticket, lambda: [reading.read()])
    recorded = json.dumps(content, separators=(",", ":")) if session.data_version or key else None
    session.finish(ticket, ANSWERED, recorded)
    return CodedRelease(content, question, events, cost, context, repeated=False)
