"""A quote: a query with its plan, its cost and its expected errors, before it is charged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Literal, TypeAlias

from tacit.errors import TooMuchNoiseError, bad_value
from tacit.guarantees.exact import Exact, fraction_between, to_fraction, whole
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates.categories import error_number, is_category
from tacit.query.aggregates.cut import LARGEST_CAP, uncut_error
from tacit.query.aggregates.measure_sharing import at_once
from tacit.query.aggregates.mode import Mode
from tacit.query.aggregates.statistic import ConfidenceLevel
from tacit.query.expressions import Value
from tacit.query.formatting import amounts, grouped, listed, spell
from tacit.query.key_tuples import KeyTuples
from tacit.query.memory_need import need_notes
from tacit.query.plan import Noisy, Output, Plan
from tacit.query.policy.limits import Limits
from tacit.query.pricing.noisy_filters import choosing_clauses, confidence_in_group, is_noisy
from tacit.query.pricing.output_errors import expected_error
from tacit.query.pricing.price import Cost, Price, price
from tacit.query.results.cost_shares import CostShare, cost_shares, hidden_aggregates, share_lines, without_hidden
from tacit.query.results.error_text import error_texts, extent
from tacit.query.results.group_note import keys_note
from tacit.query.results.intervals import read_confidence
from tacit.query.results.limits_note import cut_notes, unit_rows_note
from tacit.query.results.plan_notes import missing_notes, rank_notes, zone_notes
from tacit.query.results.public_note import public_notes
from tacit.query.results.size_note import size_notes
from tacit.query.sql.row_work import MOST_STEPS, RowWork, row_work
from tacit.safe_text import as_html, visible

NO_LIMITS = Limits()
TENTH = Fraction(1, 10)
"""The part of a query's cost that chooses limits or measures what a reach cuts, unless it sets another share."""

QueryForm: TypeAlias = Literal["rows", "table", "crosstab", "margins"]
_MOST_OUTPUTS = 6
_NEAR = 10
_LISTED_CHOICE = "Errors and intervals are therefore for all groups at once."
_FOUND_CHOICE = (
    "The intervals of the answer will be right for all groups that are found, so they will be wider than these errors. "
    "The number of groups is not known before."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query with its cost and options: everything that a plan and its price are computed from.

    `share` is the part of the cost that chooses limits, if some are to be chosen. `measure_cut` is the number of rows a
    unit up to which the rows that the reach cuts are measured, with the same share. With the form "table" the query is
    one count, released as a table that adds up; with "crosstab" also its margins are measured. With "margins" the query
    has counts and sums, and the margins of each are measured. Without `intervals` a quantile that is drawn has no
    interval, and a smaller error.
    """

    query: str
    cost: Cost
    keys: Mapping[str, Sequence[Value]] | None = None
    confidence: float = 0.95
    assume: int | None = None
    limits: Limits = NO_LIMITS
    measure_cut: int | None = None
    share: Fraction = TENTH
    form: QueryForm = "rows"
    intervals: bool = True
    asked_at: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)
    """The instant that current_date and now() stand for."""

    def __post_init__(self) -> None:
        """Check the confidence, the assumed number of units, the share, and the measurement of the cut."""
        read_confidence(self.confidence)
        object.__setattr__(self, "share", fraction_between(self.share, "share", 0, 1))
        if not isinstance(self.intervals, bool):
            raise bad_value("intervals", self.intervals, "True or False")
        if self.measure_cut is not None and not 1 < (whole(self.measure_cut) or 0) <= LARGEST_CAP:
            raise bad_value("measure_cut", self.measure_cut, f"a whole number above the reach, at most {LARGEST_CAP:,}")
        assume: object = self.assume
        counts = isinstance(assume, int) and not isinstance(assume, bool) and assume >= 1
        if assume is not None and not counts:
            raise bad_value("assume", assume, "a whole number ≥ 1", hint="Or leave it out.")


@dataclass(frozen=True, slots=True, repr=False)
class Quote:
    """A query before it is charged: its plan, its cost and its expected errors.

    Attributes:
        plan: the checked query.
        price: the noise and the cost.
        confidence: the probability with which the errors hold.
        assume: the assumed number of units of a group, for averages and ratios.
    """

    plan: Plan
    price: Price
    confidence: float
    assume: int | None

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """The cost of the whole query."""
        return self.price.guarantee

    @property
    def error(self) -> dict[str, float]:
        """The largest error of every output that has a bound: an aggregate, or a function of aggregates.

        Each error holds with the given confidence. In a function of k aggregates each gets the confidence
        1 - (1-c)/k, so that all hold together (the union bound); see `output_errors`. If HAVING or LIMIT chooses listed
        groups by noisy values, the error holds in all groups together (see `noisy_filters`). The number of discovered
        groups is not known before, so there the error holds in one group, before that choice. The errors of averages
        and ratios depend on the number of units in a group, which is private: give a number with `assume`. Without it
        the error of an average is the width of the bounds, and a ratio has no bound.
        """
        errors = {name: self.error_of(output, self.assume) for name, output in self.plan.outputs}
        return {name: error for name, error in errors.items() if error is not None}

    @property
    def unknown(self) -> tuple[str, ...]:
        """The outputs whose error is not known before, such as ratios; the answer has their intervals."""
        noisy = [name for name, output in self.plan.outputs if is_noisy(output) and not is_category(self.plan, output)]
        return tuple(name for name in noisy if name not in self.error)

    @property
    def category_errors(self) -> dict[str, dict[str, float]]:
        """The error of each category or truth value, under the name of what it counts."""
        return {
            name: error_number(self.plan, self.price.noise, output.place, self.confidence_in_group)
            for name, output in self.plan.outputs
            if isinstance(output, Noisy) and is_category(self.plan, output)
        }

    @property
    def shortfall(self) -> dict[str, int]:
        """By how many rows each mode may be short of the most frequent value, rounded up."""
        name = Mode.error_name
        return {column: int(each[name]) for column, each in self.category_errors.items() if name in each}

    @property
    def why(self) -> str:
        """The kind of noise, and the reason for it."""
        return self.price.why

    @property
    def work(self) -> RowWork:
        """The most work that one private row can cause; tacit refuses a query above the public limits."""
        return row_work(self.plan)

    def _work_lines(self) -> list[str]:
        """Return the limits on the work of one row, if a query comes near them or joins tables."""
        near = self.work.steps * _NEAR > MOST_STEPS
        joins = self.plan.all_joins
        private = any(join.private for join in joins)
        caveat = ["Joined private tables are not in these numbers: they multiply a unit's rows."] if private else []
        return [str(self.work), *caveat] if joins or near else []

    def error_of(self, output: Output, assume: int | None) -> float | None:
        """Return the error of an output if a group has so many units; None without noise or without a bound.

        Args:
            output: the output.
            assume: the number of units of a group.
        """
        if not is_noisy(output) or is_category(self.plan, output):
            return None
        return expected_error(self.plan, self.price.noise, output, self.confidence_in_group, assume)

    @property
    def confidence_in_group(self) -> ConfidenceLevel:
        """The confidence of the error in one group; higher if noisy values choose among listed groups."""
        return confidence_in_group(self.plan, self.confidence)

    @property
    def uncut_error(self) -> dict[str, float]:
        """The largest error of each count and sum with its measured cut, for the table up to `measure_cut` rows a unit.

        It is empty without `measure_cut`.
        """
        return {
            name: uncut_error(self.plan, self.price.noise, output.place, self.confidence_in_group)
            for name, output in self.plan.outputs
            if isinstance(output, Noisy) and self.plan.aggregates[output.place].cut is not None
        }

    @property
    def error_at_once(self) -> dict[str, float]:
        """The largest errors of these columns if the query is asked with a reach of `measure_cut`, at the same cost.

        It is empty without `measure_cut`, and if such noise would not fit into 64 bits.
        """
        if self.plan.cap is None:
            return {}
        plan = at_once(self.plan)
        try:
            errors = Quote(plan, price(plan, self.offered), self.confidence, self.assume).error
        except TooMuchNoiseError:
            return {}
        return {name: errors[name] for name in self.uncut_error}

    @property
    def offered(self) -> Cost:
        """The cost that the query may have."""
        return Cost(**{name: Exact(to_fraction(getattr(self.cost, name), name)) for name in amounts(self.cost)})

    @property
    def shares(self) -> tuple[CostShare, ...]:
        """The parts of the cost, and the aggregates that each is for, including those that the answer does not show."""
        return cost_shares(self.plan, self.price)

    @property
    def error_without_hidden(self) -> dict[str, float]:
        """The errors at the same cost if the query did not have the aggregates that only HAVING or ORDER BY names.

        It is empty if there are no such aggregates.
        """
        leaner = without_hidden(self.plan)
        if leaner is None:
            return {}
        asked = _Leaner(leaner, price(leaner, self.offered), self.confidence, self.assume, self.confidence_in_group)
        return asked.error

    def _shares(self) -> list[str]:
        """Return which aggregates take which part of the cost, and what the hidden ones cost in errors."""
        without, errors = self.error_without_hidden, self.error
        dearer = [name for name, error in without.items() if name in errors and error < errors[name]]
        where = extent(self.plan, self.confidence)
        texts = [f"{name} would be off by at most {grouped(without[name])}{where}" for name in dearer]
        hidden = listed(list(hidden_aggregates(self.plan)))
        return [*share_lines(self.shares), *([f"Without {hidden}, {listed(texts)}."] if texts else [])]

    def _cuts(self) -> list[str]:
        """Return the errors with the measured cut, beside those of a larger reach."""
        cap, at_once = self.plan.cap, self.error_at_once
        lines = cut_notes(self.plan)
        for name, error in self.uncut_error.items():
            other = f"off by at most {grouped(at_once[name])}" if name in at_once else "too much noise"
            lines.append(
                f"{name}_up_to_{cap}: off by at most {grouped(error)}{extent(self.plan, self.confidence)}; "
                f"asked with reach={cap} at once: {other}"
            )
        return lines

    def _choice(self) -> list[str]:
        """Return the meaning of errors and intervals if noisy values choose the groups."""
        clauses = choosing_clauses(self.plan)
        if not clauses or self.plan.cells == 1:
            return []
        chooses = f"{listed(clauses)} {'chooses' if len(clauses) == 1 else 'choose'} groups by noisy values"
        return [f"{chooses}. {_FOUND_CHOICE if self.plan.cells is None else _LISTED_CHOICE}"]

    def _errors(self) -> list[tuple[str, str]]:
        """Return each noisy output with a text on its error."""
        return error_texts(self)

    def _groups(self) -> list[str]:
        """Return which groups there are, and which rows are in no group."""
        keys = [key for key in self.plan.keys if key.values is not None]
        open_keys = [key.name for key in self.plan.keys if key.values is None]
        left_out = [note for note in (keys_note(self.plan),) if note is not None]
        names = listed([_of_factor(factor, self.plan) for factor in self.plan.factors])
        lines = [" ".join([f"Groups: {names}.", *left_out])] if keys else []
        if open_keys:
            lines.append(
                f"Groups of {listed(open_keys)} are found in the data, privately; groups of few units do not show."
            )
        return [*lines, *missing_notes(self.plan), *zone_notes(self.plan)]

    def _limits(self) -> list[str]:
        """Return the contribution bounds of one unit, if there are any."""
        table, unit = self.plan.table, self.plan.table.unit
        subquery = unit_rows_note(self.plan)
        first = [] if subquery is None else [subquery]
        if unit is not None and any(aggregate.ask.function == "bounds" for aggregate in self.plan.aggregates):
            return [*first, f"All values of a unit (column {unit!r}) weigh 1 together, whatever their number."]
        counted = {measure.per for bundle in self.plan.bundles for measure in bundle.measures}
        limits = []
        if self.plan.cells != 1 and table.max_groups is not None:
            limits.append(f"in at most {_some(self.plan.groups, 'group')}")
        extents = [(table.max_rows, "a group"), (table.reach, "in the whole answer")]
        for limit, where in extents if unit is not None else ():
            if limit is not None and "row" in counted:
                limits.append(f"as at most {_some(limit, 'row')} {where} (more are scaled down to that)")
            if limit is not None and "value" in counted:
                limits.append(f"with at most {_some(limit, 'different value')} {where}")
        if table.reach is not None and counted == {"unit"} and self.plan.cells not in (None, 1):
            limits.append(
                f"as at most {_some(table.reach, 'unit')} in all groups together (more are scaled down to that)"
            )
        each = [f"Each unit (column {unit!r}) counts {listed(limits)}."] if unit is not None and limits else []
        return [*first, *each]

    def _sizes(self) -> list[str]:
        """Return which public number of rows or units is used, and why it is public."""
        return size_notes(self.plan)

    def _explanations(self) -> list[str]:
        """Return the lines below the errors."""
        limits = [*self._cuts(), *self._choice(), *self._limits()]
        facts = [*public_notes(self.plan), *rank_notes(self.plan, self.price.noise), *self._sizes(), *self._shares()]
        return [*facts, *limits, *self._groups(), *self._work_lines(), *need_notes(self.plan)]

    def _price_line(self) -> str:
        """Return the cost of the query and the kind of noise."""
        return f"costs {spell(self.cost)}. {self.why}"

    def _query(self) -> str:
        """Return the query as text."""
        return self.plan.sql

    def __str__(self) -> str:
        """Return the query, its cost, the error of each output, and which rows are left out."""
        lines = [self._query(), self._price_line()]
        lines += [f"{name}: {error}" for name, error in self._errors()]
        lines += self._explanations()
        return "\n".join(map(visible, lines))

    def __repr__(self) -> str:
        """Return the cost and the errors in one line."""
        errors = [f"{name} ± {grouped(error)}" for name, error in self.error.items()]
        errors += [f"{name} ± ?" for name in self.unknown]
        more = ["…"] if len(errors) > _MOST_OUTPUTS else []
        shown = ", ".join([*errors[:_MOST_OUTPUTS], *more])
        return visible(f"<Quote: costs {spell(self.cost)}{'; ' if shown else ''}{shown}>")

    def _repr_html_(self) -> str:
        """Return the cost and the errors as HTML, for notebooks."""
        rows = "".join(f"<tr><td>{as_html(name)}</td><td>{as_html(error)}</td></tr>" for name, error in self._errors())
        notes = "".join(f"<p>{as_html(line)}</p>" for line in self._explanations())
        head = f"<pre>{as_html(self._query())}</pre><p>{as_html(self._price_line())}</p>"
        return f"{head}<table><tbody>{rows}</tbody></table>{notes}"


@dataclass(frozen=True, slots=True, repr=False)
class _Leaner(Quote):
    """A query without its hidden aggregates, at the confidence that the whole query has in one group."""

    level: ConfidenceLevel

    @property
    def confidence_in_group(self) -> ConfidenceLevel:
        """The confidence of the whole query."""
        return self.level


def _of_factor(factor: KeyTuples, plan: Plan) -> str:
    names = [plan.keys[place].name for place in factor.places]
    return f"{_some(factor.size, 'value' if len(names) == 1 else 'combination')} of {listed(names)}"


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
