"""A question before it is asked: what it would cost and how far off its answer would be."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.statistic import Confidence
from tacit.query.formatting import listed, percent, plain, spell
from tacit.query.plan import Computed, Constantly, Key, Noisy, Output, Plan
from tacit.query.pricing.choice import choosing_clauses, confidence_each, confidence_in_group, is_noisy
from tacit.query.pricing.price import Price
from tacit.query.results.notes import notes
from tacit.query.results.question import Question
from tacit.query.sql.row_work import MOST_STEPS, RowWork, row_work
from tacit.safe_text import as_html, visible

_MANY_UNITS = 10**9
_MOST_SHOWN = 6
_NEAR = 10
_LISTED_CHOICE = "Errors and intervals are therefore for all groups at once."
_FOUND_CHOICE = (
    "The intervals of the answer will be right for all groups that are found, so they will be wider than these errors. "
    "The number of groups is not known before."
)


@dataclass(frozen=True, slots=True, repr=False)
class Planned:
    """A question before it is asked: what it would cost and how far off its answer would be."""

    plan: Plan
    price: Price
    confidence: float
    assume: int | None
    owner: object = field(default=None, compare=False)
    """The database that it was planned for."""
    question: Question | None = field(default=None, compare=False)
    """What the plan and the price were computed from; where the plan is answered, they are computed again."""

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """What the whole question would cost."""
        return self.price.guarantee

    @property
    def error(self) -> dict[str, float]:
        """For every output that is an aggregate or a sum of multiples of some: how far off it will be at most.

        Each holds with the asked confidence; for k aggregates each gets the confidence 1 - (1-c)/k, so that all hold
        together (the union bound). If HAVING or LIMIT chooses listed groups by noisy values, it holds in all groups
        together (see `choice`). How many groups are found in the data is not known before, so there it holds in one
        group, before that choice. That of an average depends on how many units a group has, which is private: say how
        many to assume. Without that it is the width of the bounds.
        """
        found = {name: self._error(output, self.assume) for name, output in self.plan.outputs}
        return {name: error for name, error in found.items() if error is not None}

    @property
    def unknown(self) -> tuple[str, ...]:
        """The outputs whose error cannot be said before asking, such as ratios: the answer has their intervals."""
        noisy = [name for name, output in self.plan.outputs if is_noisy(output)]
        return tuple(name for name in noisy if name not in self.error)

    @property
    def why(self) -> str:
        """Which noise, and why."""
        return self.price.why

    @property
    def work(self) -> RowWork:
        """The most work that one private row can cause; a question above the public limits is refused."""
        return row_work(self.plan)

    def _work(self) -> list[str]:
        """Name the limits on the work of one row, where a question comes near them or joins tables."""
        near = self.work.steps * _NEAR > MOST_STEPS
        private = any(join.private for join in self.plan.joins)
        caveat = ["Joined private tables are not in these numbers: they multiply a unit's own rows."] if private else []
        return [str(self.work), *caveat] if self.plan.joins or near else []

    def _error(self, output: Output, assume: int | None) -> float | None:
        """Return the error of an output; None if it is none, or not a sum of multiples of aggregates."""
        parts = _linear(output) if is_noisy(output) else None
        if parts is None:
            return None
        parts = {place: factor for place, factor in parts.items() if factor}
        each = confidence_each(self.confidence_in_group, len(parts))
        errors = {place: self._own(place, each, assume) for place in parts}
        return sum((float(abs(factor)) * errors[place] for place, factor in parts.items()), 0.0)

    @property
    def confidence_in_group(self) -> Confidence:
        """The confidence of the error in one group; higher if noisy values choose which listed groups are shown."""
        return confidence_in_group(self.plan, self.confidence)

    def _own(self, place: int, confidence: Confidence, assume: int | None) -> float:
        one = self.plan.aggregates[place]
        bundles = [self.plan.bundles[i] for i in one.bundles]
        noise = [self.price.noise[i] for i in one.bundles]
        return STATISTICS[one.ask.function].error(one.ask, bundles, noise, confidence, assume)

    def _extent(self, share: str) -> str:
        """Say where an error holds: in one group, or in all that could be shown together."""
        clauses, groups = choosing_clauses(self.plan), self.plan.cells
        if not clauses or groups == 1:
            return f" with {share} confidence"
        if groups is None:
            return f" in one group with {share} confidence"
        return f" in all {groups:,} groups at once, with {share} confidence"

    def _choice(self) -> list[str]:
        """Say what errors and intervals mean if noisy values choose the groups that are shown."""
        clauses = choosing_clauses(self.plan)
        if not clauses or self.plan.cells == 1:
            return []
        chooses = f"{listed(clauses)} {'chooses' if len(clauses) == 1 else 'choose'} groups by noisy values"
        return [f"{chooses}. {_FOUND_CHOICE if self.plan.cells is None else _LISTED_CHOICE}"]

    def _condition(self, name: str) -> str:
        """Say what an error supposes: how large a group is, where that matters."""
        output = dict(self.plan.outputs)[name]
        if self._error(output, None) == self._error(output, _MANY_UNITS):
            return ""
        if self.assume is not None:
            return f" if a group has {_some(self.assume, 'unit')}"
        return " (the worst case; say how many units a group has, assume=… or --assume, for the error in such a group)"

    def _errors(self) -> list[tuple[str, str]]:
        """Return each output with noise and what can be said of its error."""
        share = percent(self.confidence)
        known = self.error
        said = {
            name: f"off by at most {plain(error)}{self._extent(share)}{self._condition(name)}"
            for name, error in known.items()
        }
        said |= dict.fromkeys(
            self.unknown, "how far off cannot be said before asking; its interval comes with the answer"
        )
        return [(name, said[name]) for name, _ in self.plan.outputs if name in said]

    def _groups(self) -> list[str]:
        """Say which groups there are, and which rows are in none of them."""
        keys = [key for key in self.plan.keys if key.values is not None]
        found = [key.name for key in self.plan.keys if key.values is None]
        lines = [f"Groups of {listed(found)} are found in the data, privately; those of few units do not show."]
        named = listed([_of_key(key) for key in keys])
        said = f"Groups: {named}. Rows with another value are left out{_nulls(keys)}."
        return [*([said] if keys else []), *(lines if found else [])]

    def _reach(self) -> list[str]:
        """Say how much of one unit counts, where that is bounded."""
        unit = self.plan.table.unit
        counted = {measure.per for bundle in self.plan.bundles for measure in bundle.measures}
        limits = []
        if self.plan.cells != 1:
            limits.append(f"in at most {_some(self.plan.groups, 'group')}")
        if "row" in counted:
            limits.append(f"as at most {_some(self.plan.table.rows, 'row')} a group (more are scaled down to that)")
        if "value" in counted:
            limits.append(f"with at most {_some(self.plan.table.rows, 'different value')} a group")
        return [f"Each unit (column {unit!r}) counts {listed(limits)}."] if unit is not None and limits else []

    def __str__(self) -> str:
        """What is asked, its cost, an error for each output, and what is left out."""
        lines = [self.plan.sql, f"costs {spell(self.cost)}. {self.why}"]
        lines += [f"{name}: {said}" for name, said in self._errors()]
        lines += [f"{said[0].upper()}{said[1:]}." for said in notes(self.plan, self.price).values()]
        lines += [*self._choice(), *self._reach(), *self._groups(), *self._work()]
        return "\n".join(map(visible, lines))

    def __repr__(self) -> str:
        """Its cost and errors, in one line."""
        errors = [f"{name} ± {plain(error)}" for name, error in self.error.items()]
        errors += [f"{name} ± ?" for name in self.unknown]
        more = ["…"] if len(errors) > _MOST_SHOWN else []
        return visible(f"<Planned: costs {spell(self.cost)}; {', '.join([*errors[:_MOST_SHOWN], *more])}>")

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        rows = "".join(f"<tr><td>{as_html(name)}</td><td>{as_html(said)}</td></tr>" for name, said in self._errors())
        lines = [*self._choice(), *self._reach(), *self._groups(), *self._work()]
        notes = "".join(f"<p>{as_html(line)}</p>" for line in lines)
        head = f"<pre>{as_html(self.plan.sql)}</pre><p>costs {spell(self.cost)}. {as_html(self.why)}</p>"
        return f"{head}<table><tbody>{rows}</tbody></table>{notes}"


def _of_key(key: Key) -> str:
    return f"{_some(len(key.listed), 'value')} of {key.name}"


def _some(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _nulls(keys: list[Key]) -> str:
    without = [key.name for key in keys if None not in key.listed]
    return f", and so are rows where {' or '.join(without)} is NULL" if without else ""


def _linear(output: Output) -> dict[int, Fraction] | None:
    """Return an output as factors of aggregates, beside what is the same whatever the noise; None if it is no sum."""
    match output:
        case Noisy(place=place):
            return {place: Fraction(1)}
        case Computed(function=function, arguments=(a, b)) if function in ("add", "subtract"):
            return _sum(a, b, 1 if function == "add" else -1)
        case Computed(function="divide", arguments=(a, Constantly() as c)):
            factor = _factor(c)
            return _times(a, 1 / factor) if factor else None
        case Computed():
            return _multiple(output)
        case _:
            return {}


def _multiple(output: Computed) -> dict[int, Fraction] | None:
    """Return a multiple by a constant, on either side, or a whole number as a real."""
    match output.function, output.arguments:
        case "multiply", (Constantly() as c, a):
            return _times(a, _factor(c))
        case "multiply", (a, Constantly() as c):
            return _times(a, _factor(c))
        case "negate", (a,):
            return _times(a, Fraction(-1))
        case "cast", (a,) if (a.kind, output.kind) == ("integer", "real"):
            return _linear(a)
        case _:
            return None


def _factor(constant: Constantly) -> Fraction | None:
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return Fraction(repr(value)) if abs(value) < float("inf") else None


def _times(output: Output, factor: Fraction | None) -> dict[int, Fraction] | None:
    parts = _linear(output)
    return None if parts is None or factor is None else {place: factor * one for place, one in parts.items()}


def _sum(one: Output, two: Output, sign: int) -> dict[int, Fraction] | None:
    first, second = _linear(one), _times(two, Fraction(sign))
    if first is None or second is None:
        return None
    return {place: first.get(place, Fraction(0)) + second.get(place, Fraction(0)) for place in {**first, **second}}
