"""Quotes of an open database: they know their session and their query, from which tacit computes them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any

from tacit.guarantees.events import to_json
from tacit.guarantees.values import ZCDP
from tacit.query.formatting import exact, grouped, listed, percent
from tacit.query.memory_need import record_note
from tacit.query.plan import Noisy
from tacit.query.pricing.bounds_choice import BoundsChoice, NumberPair
from tacit.query.pricing.price import Cost
from tacit.query.pricing.reach_choice import ReachChoice
from tacit.query.results.cost_shares import CostShare
from tacit.query.results.derived_release import method
from tacit.query.results.error_text import extent
from tacit.query.results.limits_report import units_error
from tacit.query.results.quote import Question, Quote
from tacit.query.results.receipt import limits_of, noisy_bundle
from tacit.query.results.size_note import unused_notes
from tacit.query.sql.outer_columns import OuterColumns
from tacit.query.sql.outer_query import OuterQuery
from tacit.query.sql.row_work import RowWork

if TYPE_CHECKING:
    from tacit.session import Session

USUAL_REACH = 50
"""The reach at which the cost of a choice for an error is computed."""

_MAY_OVERFLOW = (
    "Noisy values choose the rows of the result. If more than 100,000 rows remain, the answer has the released tables "
    "and no result."
)
_TOTALS = ("count", "count_units", "count_distinct", "sum", "table_count")


@dataclass(frozen=True, slots=True, repr=False)
class SessionQuote(Quote):
    """A quote that knows its session and its query, from which tacit computes it again before a joint charge.

    Attributes:
        session: the session that computed it.
        question: the query with its options.
    """

    session: Session = field(compare=False)
    question: Question = field(compare=False)

    @property
    def offered(self) -> Cost:
        """The cost of the question; if it gives errors instead, the cost that was found for them."""
        cost = self.question.cost
        return cost if cost.error is None else super(SessionQuote, self).offered

    def _query(self) -> str:
        """Return the query as it was written if it has FILTER, which a plan writes as CASE; else the plan's SQL."""
        written = " ".join(self.question.query.split())
        return written if "filter" in written.casefold() else self.plan.sql

    def _sizes(self) -> list[str]:
        """Return which public number of rows or units is used, or could be."""
        engine, name = self.session.engine_of(self.plan), self.plan.table.name
        return [*super(SessionQuote, self)._sizes(), *unused_notes(self.plan, lambda: engine.reads_every_row(name))]

    def _explanations(self) -> list[str]:
        """Return the lines below the errors, and whether the answer may be too large to be recorded."""
        recorded = record_note(self.plan) if self.session.data_version else []
        return [*super(SessionQuote, self)._explanations(), *recorded]


@dataclass(frozen=True, slots=True, repr=False)
class ReportQuote(SessionQuote):
    """The quote of a report on limits, whose plan counts units."""

    def _errors(self) -> list[tuple[str, str]]:
        """Return the largest error of a number of units."""
        error = ceil(units_error(self.price.noise[0], self.confidence))
        text = f"off by at most {error:,} with {percent(self.confidence)} confidence"
        return [("number of units above a reach", text)]


@dataclass(frozen=True, slots=True)
class Settled:
    """The reach and the bounds that were chosen for one query; `found` has the columns whose bounds were found."""

    reach: int | None
    bounds: Mapping[str, NumberPair]
    found: tuple[str, ...] = ()

    def apply(self, question: Question) -> Question:
        """Return a query with what was chosen."""
        limits = replace(question.limits, bounds={**question.limits.column_bounds, **self.bounds})
        return replace(question, limits=limits if self.reach is None else replace(limits, reach=self.reach))

    def text(self) -> str:
        """Return this as JSON."""
        bounds = {name: list(pair) for name, pair in self.bounds.items()}
        return json.dumps({"reach": self.reach, "bounds": bounds, "found": self.found})

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Settled:
        """Return what `text` wrote."""
        bounds = {name: (pair[0], pair[1]) for name, pair in record["bounds"].items()}
        return cls(record["reach"], bounds, tuple(record["found"]))


@dataclass(frozen=True, slots=True, repr=False)
class ChoosingQuote(SessionQuote):
    """A quote whose limits are chosen privately before the answer.

    `plan` and `price` are those of a reach of 1 and of the widest bounds. `rest` is the cost of the answer. If the
    query has an error instead of a cost, `price` is that of the choice alone.
    """

    choice: ReachChoice | None
    bounds_choices: tuple[BoundsChoice, ...]
    rest: Cost

    @property
    def error(self) -> dict[str, float]:
        """Nothing: the errors depend on what is chosen."""
        return {}

    def record(self, settled: Settled) -> dict[str, object]:
        """Return the choices and their results, for a receipt."""
        chosen = {} if self.choice is None or settled.reach is None else self.choice.record(settled.reach)
        bounds = {
            each.column: {
                "bounds": [exact(end) for end in settled.bounds[each.column]],
                "law": "the outermost bins of a noisy histogram",
                "found": each.column in settled.found,
                "declared": each.declared,
                "units_that_a_bin_needs": each.needed,
                "event": to_json(each.event),
                "histogram": {
                    **limits_of(each.plan),
                    "mechanisms": [noisy_bundle(each.plan, each.plan.bundles[0], each.law)],
                },
            }
            for each in self.bounds_choices
        }
        return {**chosen, **({"bounds": bounds} if bounds else {})}

    def _errors(self) -> list[tuple[str, str]]:
        """Return the error of each noisy output for each row of the reach, if it grows with the reach."""
        if self.question.cost.error is not None:
            asked = self.question.cost.error
            errors = asked if isinstance(asked, Mapping) else dict.fromkeys(self.unknown, asked)
            beyond = "by noise; the cut of the reach comes on top"
            texts = {name: f"off by at most {grouped(float(error))} {beyond}" for name, error in errors.items()}
            return [(name, texts.get(name, "the answer will have an interval")) for name in self.unknown]
        at_one = super(ChoosingQuote, self).error
        return [
            (name, f"off by at most {grouped(at_one[name])} times the reach{extent(self.plan, self.confidence)}")
            if name in at_one and self._is_total(name)
            else (name, "the error is not known before; the answer will have an interval")
            for name in self.unknown
        ]

    def _price_line(self) -> str:
        """Return the cost of the query; if an error is given, that of the choice, which is charged first."""
        if self.question.cost.error is None:
            return super(ChoosingQuote, self)._price_line()
        part = f"{'ρ' if isinstance(self.cost, ZCDP) else 'ε'} = {float(self.price.chosen or 0):.3g}"
        return (
            f"costs {part} to choose the reach; then the answer costs what its reach needs{self._example()}. {self.why}"
        )

    def _example(self) -> str:
        """Return what the answer would cost after the choice, if it costs ε, which grows with the reach."""
        if isinstance(self.price.guarantee, ZCDP):
            return ""
        each = float((self.price.chosen or 0) / self.question.share) / USUAL_REACH
        return f", for example {48 * each:.2g} at reach 48"

    def _is_total(self, name: str) -> bool:
        """Return whether an output is a count or a sum whose noise is a multiple of the reach."""
        output = dict(self.plan.outputs)[name]
        if self.choice is None or self.bounds_choices or not isinstance(output, Noisy):
            return False
        return self.plan.aggregates[output.place].ask.function in _TOTALS

    def _limits(self) -> list[str]:
        """Return what is chosen, and at which cost."""
        chosen = float(self.price.chosen or 0)
        part = f"{'ρ' if isinstance(self.price.guarantee, ZCDP) else 'ε'} = {chosen:.4g}"
        rest = "The rest answers." if self.question.cost.error is None else "The answer is charged after it."
        columns = [repr(each.column) for each in self.bounds_choices]
        names = [
            *(["the reach"] if self.choice is not None else []),
            *([f"the bounds of {listed(columns)}"] if columns else []),
        ]
        subject = listed(names)
        lines = [f"{subject[0].upper()}{subject[1:]} {'are' if columns else 'is'} chosen privately for {part}. {rest}"]
        if self.choice is not None:
            whole, more = ("rows as", "have more rows") if self.choice.by_rows else ("groups in", "be in more groups")
            lines.append(
                f"The reach is the number of {whole} which each unit (column {self.plan.table.unit!r}) counts at most. "
                f"Up to about {self.choice.resolution:,} units may {more} than the chosen reach without being noticed. "
                "With a larger share= (--share) fewer do."
            )
        lines += [
            f"Bounds of {each.column!r} are found if one of {each.plan.bundles[0].width:,} fixed bins holds all values "
            f"of {each.needed:,} units or more."
            for each in self.bounds_choices
        ]
        return lines


@dataclass(frozen=True, slots=True, repr=False)
class DerivedQuote(SessionQuote):
    """A quote of a query that computes with private aggregates.

    `inner` are the quotes of the aggregates, `outer` is the computation, `outline` says what is known about its
    columns, and `names` are their names in a dry run. `may_overflow` is True if noisy values choose the rows of a
    result that may have too many.
    """

    inner: tuple[SessionQuote, ...]
    outer: OuterQuery
    outline: OuterColumns
    names: tuple[str, ...]
    may_overflow: bool = False

    @property
    def error(self) -> dict[str, float]:
        """The largest error of every column that is a copy of a released one, if that has a bound."""
        errors: dict[str, float] = {}
        quotes = dict(zip((each.table for each in self.outer.inner), self.inner, strict=True))
        for place, name in enumerate(self.names):
            derivation = self.outline.derivation(place, name, len(self.names))
            for use, column in sorted(derivation.copies) if derivation is not None and not derivation.exact else ():
                error = quotes[self.outline.uses[use]].error.get(column)
                if error is not None and not self.outline.choice:
                    errors[name] = error
        return errors

    @property
    def unknown(self) -> tuple[str, ...]:
        """The noisy columns whose error is not known before."""
        derived = [(name, self.outline.derivation(i, name, len(self.names))) for i, name in enumerate(self.names)]
        return tuple(name for name, each in derived if name not in self.error and (each is None or not each.exact))

    @property
    def shares(self) -> tuple[CostShare, ...]:
        """The parts of the cost of each private aggregate; each part is one of that aggregate's own cost."""
        return tuple(share for each in self.inner for share in each.shares)

    @property
    def work(self) -> RowWork:
        """The most work that one private row can cause in one of the aggregates."""
        return max((each.work for each in self.inner), key=lambda work: work.steps)

    def _sizes(self) -> list[str]:
        return []

    @property
    def methods(self) -> dict[str, str]:
        """The columns of the computation, each with the origin of its interval."""
        count, chosen = len(self.names), bool(self.outline.choice)
        derived = [(name, self.outline.derivation(place, name, count)) for place, name in enumerate(self.names)]
        return {name: method(derivation, chosen=chosen) for name, derivation in derived}

    def _errors(self) -> list[tuple[str, str]]:
        return list(self.methods.items())

    def _explanations(self) -> list[str]:
        """Return each private aggregate with its part of the cost, its errors and its limits."""
        lines: list[str] = []
        for each, quote in zip(self.outer.inner, self.inner, strict=True):
            lines += [f"{each.label}: {quote.plan.sql}", f"    {quote._price_line()}"]  # noqa: SLF001 - of the same family
            lines += [f"    {name}: {error}" for name, error in quote._errors()]  # noqa: SLF001 - as above
            lines += [f"    {line}" for line in quote._explanations()]  # noqa: SLF001 - as above
        if self.may_overflow:
            lines.append(_MAY_OVERFLOW)
        return lines


def at_reach(question: Question, reach: int) -> Question:
    """Return a query with a given reach."""
    return replace(question, limits=replace(question.limits, reach=reach))
