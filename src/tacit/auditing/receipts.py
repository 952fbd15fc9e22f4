"""A second opinion on a receipt: whether its sensitivities, noise and charge fit the guarantee that it states.

    check = verify_receipt(answer.receipt)       # or the text of a file
    check.holds, check.problems, check.unchecked

Everything is recomputed from the receipt alone, in exact rationals and bounds that are rounded to the safe side. With
`receipt_fields`, `receipt_limits`, `receipt_losses` and `receipt_bounds` this shares no code with the pricing of
queries but the events. The result lists everything that a receipt cannot show as not checked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from operator import ge
from typing import Any

from tacit.auditing import receipt_losses as losses
from tacit.auditing.receipt_fields import Fields, MismatchError, read
from tacit.auditing.receipt_limits import Limits, limits_of, marginal_cost, moved_by
from tacit.errors import InvalidError
from tacit.guarantees import events as run

_ALWAYS = "that the program measured and drew what the receipt says: a receipt shows only what was promised"
_OUTSIDE = "that the release has the guarantee that was charged: tacit did not compute it"
_SELECTED, _NEAR, _CLOSE = "released by the selection of groups", Fraction(401, 400), Fraction(1, 10**12)
_LAWS: Mapping[str, tuple[type[run.Event] | None, str, str, str]] = {
    "discrete laplace": (run.DiscreteLaplaceNoise, "scale", "sensitivity_l1", "l1"),
    "discrete gaussian": (run.DiscreteGaussianNoise, "variance", "sensitivity_l2_squared", "l2_squared"),
}
_MOST_QUERIES, _RELATIONS = 10**6, ("add/remove", "change one")
_GUARANTEES = (run.PureRelease, run.ApproxRelease, run.ZCDPRelease)


@dataclass(frozen=True, slots=True)
class ReceiptCheck:
    """The result of a check: the parts that were recomputed, those that were not, and the problems."""

    kind: str
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """True if everything that was recomputed fits the stated guarantee; `unchecked` has the rest."""
        return not self.problems


def verify_receipt(receipt: str | Mapping[str, Any]) -> ReceiptCheck:
    """Check a receipt; raise InvalidError if it is not one.

    Args:
        receipt: the receipt, or an answer in JSON that has one: as a mapping or as text.

    >>> import tacit as tc
    >>> db = tc.open({"x": [1, 2, 3]}, unit=tc.ROW, budget=tc.PureDP(epsilon=1))
    >>> receipt = db.count(epsilon=0.5).receipt
    >>> verify_receipt(receipt).holds
    True
    >>> receipt["privacy"]["promise"]["epsilon"] = 0.4
    >>> print(*verify_receipt(receipt).problems)
    the receipt.privacy: the charge costs ε = 0.5, but the promise is ε = 0.4
    """
    try:
        text = receipt if isinstance(receipt, str) else json.dumps(receipt, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidError("The receipt cannot be written as JSON.", argument="receipt") from None
    record, check, problems = read(text), _Check(), []
    methods = {"query": check.query, "computed answer": check.computed, "marginals": check.marginals}
    kind = _kind(record)
    try:
        methods.get(kind, check.release)(record)
    except MismatchError as error:
        problems = [str(error)]
    except losses.UnpricedError as error:
        problems = [f"this check does not know {error}"]
    except (OverflowError, ZeroDivisionError, MemoryError, RecursionError):
        problems = ["a number is out of range"]
    return ReceiptCheck(kind, tuple(check.checked), (*dict.fromkeys(check.unchecked), _ALWAYS), tuple(problems))


def _kind(record: Fields) -> str:
    """Return what a receipt is of, by its fields."""
    if "mechanisms" in record or "released" in record:
        return "query" if "mechanisms" in record else "computed answer"
    if "promise" not in record or "events" not in record:
        hint = "Write r.receipt as JSON."
        raise InvalidError("This is not a receipt: it has no mechanisms and no events.", argument="receipt", hint=hint)
    return "release outside SQL" if "release" in record else "marginals" if "noise" in record else "release of rows"


_Events = tuple[run.Event, ...]
_Part = tuple[_Events, _Events]
"""The events that a query is charged alone, and those of its noise."""


@dataclass(slots=True)
class _Check:
    """A check in progress: the currency of the promise, and what was found."""

    in_rho: bool = False
    checked: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def charge(self, record: Fields, name: str, promise: Fields, relation: object) -> losses.Cost:
        """Return the cost of the events that were charged, which must be within the promise."""
        self.in_rho = "rho" in promise
        known = set(promise.value) <= {"epsilon", "rho", "delta"} and ("epsilon" in promise) != self.in_rho
        promise.expect(known, "it is not a guarantee in ε or in ρ")
        slack = promise.number("delta") if "delta" in promise else Fraction(0)
        most, events = (promise.number("rho" if self.in_rho else "epsilon"), slack), record.events(name)
        fixed = {getattr(event, "neighbours", None) for event in events} - {None}
        record.expect(fixed <= {relation}, "an event does not hold under these neighbours")
        try:
            paid = self.total(events)
        except losses.UnpricedError as error:
            self.unchecked.append(str(error))
            rest = self.total([each for each in events if not isinstance(each, run.PoissonSampled)])
            record.expect(rest[0] <= most[0] and rest[1] <= most[1], "the other events cost more than the promise")
            return most
        for symbol, cost, limit in zip("ρδ" if self.in_rho else "εδ", paid, most, strict=True):
            sizes = f"{symbol} = {float(cost):.10g}, but the promise is {symbol} = {float(limit):.10g}"
            record.expect(cost <= limit, f"the charge costs {sizes}")
        self.checked.append("the charge is within the promise")
        return paid

    def total(self, events: Sequence[run.Event]) -> losses.Cost:
        """Return the sum of the prices of events."""
        costs = [losses.cost_of(event, in_rho=self.in_rho) for event in events]
        return sum((c[0] for c in costs), Fraction(0)), sum((c[1] for c in costs), Fraction(0))

    def query(self, record: Fields) -> None:
        """Check the receipt of a query."""
        privacy, vectors = record.inner("privacy"), list[losses.Vector]()
        record.expect(record.whole("schema") == 1 and "charged" in privacy, "another version of tacit wrote it")
        limits, halves = self.limits(record, privacy)
        left, slack = self.charge(privacy, "charged", privacy.inner("promise"), privacy.value["neighbours"])
        left -= self.chosen(record, privacy)
        privacy.expect(("groups" in privacy) == (limits.cells is None), "cells and groups contradict each other")
        if limits.cells is None:
            epsilon, delta = self.selection(privacy.inner("groups"), limits)
            left, slack = left - epsilon, slack - delta
        parts = record.each("mechanisms")
        noisy = [part for part in parts if part.value.get("law") != _SELECTED]
        for part in parts:
            if part not in noisy:
                counted = [measure.value.get("of") for measure in part.each("measures")]
                one = counted == ["unit"] or (counted == ["rows"] and limits.rows == 1 and not limits.reach)
                part.expect(limits.cells is None and one and moved_by(part, limits).cell == 1, "it counts no units")
                continue
            cost, vector = self.mechanism(part, limits, halves=halves)
            left, vectors = left - cost, vectors if vector is None else [*vectors, vector]
        named = {str(name) for part in parts for name in part.get("for", list)}
        size = record.inner("public_size")
        exact = set(map(str, size.get("exact", list))) if size.value else set()
        size.expect(all(name.startswith("count(") for name in exact), "only a count can be exact")
        missing = set(record.inner("accuracy").inner("error").value) - named - exact
        shares = sum(part.number("share") for part in noisy)
        whole = shares == (Fraction(2, 5) if limits.cells is None else 1) if noisy else parts or not left
        record.expect("accuracy" in record and whole and not missing, "a mechanism is missing")
        record.expect(left >= 0, f"the noise costs {float(-left):.4g} more than was charged")
        proved = not vectors or (slack > 0 and losses.noise_delta(tuple(vectors), left, slack) <= slack)
        record.expect(proved, f"the noise has no proof of δ = {float(slack):.4g} at ε = {float(left):.4g}")
        self.checked.append("the sensitivities follow from the limits, and the noise fits the charge")
        self.unchecked.append("the errors under `accuracy`, which are not about privacy")
        self.unchecked.append("that the question needs no other noise: its SQL text is not read")
        if any("a_row_adds_to" in part for part in parts):
            self.unchecked.append("that a row adds to one measure only: the conditions of the measures are not read")
        if "declared_plan" in record:
            plan = record.inner("declared_plan")
            queries = self.together(plan, plan.inner("promise"), privacy.value["neighbours"])
            plan.expect(
                self.own(record, queries) and queries.total() == plan.whole("questions"), "it has other queries"
            )
            self.unchecked.append("the noise of the other queries of the declared plan: their receipts have it")

    def limits(self, record: Fields, privacy: Fields) -> tuple[Limits, bool]:
        """Return the limits, and whether noise on one of two cells serves both; check the unit and the listed cells."""
        limits, rest, size = limits_of(privacy), 0, record.inner("public_size")
        if size.value:
            size.expect(limits.change and size.get("of", str), "it needs neighbours = 'change one'")
            self.unchecked.append("that the query reads all rows or units, whose number is then public")
            rest = int(size.get("counts_add_up", bool))
            size.expect(limits.one_row or not rest, "counts add up to it, but a unit has several rows")
            counted = [
                measure.value.get("of") for part in record.each("mechanisms") for measure in part.each("measures")
            ]
            size.expect(not rest or {*counted} <= {"rows"}, "counts add up to it, but other measures do not")
        for form in (part.inner("combined") for part in record.each("mechanisms") if "combined" in part):
            form.expect(size.value and form.whole("rows") == size.whole("number"), "rows differ from public_size")
        if privacy.get("unit", str) != "row" and limits.one_row:
            record.expect("subquery" in record, "each unit has one row, but no subquery groups by the unit")
            self.unchecked.append("that the subquery has one row for each unit")
        privacy.expect(privacy.value["unit"] != "row" or limits.one_row, "the unit is a row, but has several rows")
        keys, tuples = privacy.get("public_keys", dict), privacy.each("public_tuples")
        names = [[str(name) for name in each.get("keys", list)] for each in tuples]
        joint = [name for each in names for name in each]
        alone = all(len(each) > 1 and ({*each} <= {*keys} or not {*each} & {*keys}) for each in names)
        privacy.expect(limits.cells is None or (alone and len({*joint}) == len(joint)), "public_tuples are not known")
        sizes = [len(privacy.inner("public_keys").get(name, list)) for name in keys if name not in joint]
        sizes += [len(each.get("values", list)) for each, of in zip(tuples, names, strict=True) if {*of} <= {*keys}]
        listed = limits.cells is None or prod(sizes) <= limits.cells <= prod(sizes) + rest
        privacy.expect(listed, f"cells is {limits.cells}, but the listed keys make {prod(sizes)}")
        return limits, bool(rest) and limits.cells == 2  # noqa: PLR2004 - two halves

    def chosen(self, record: Fields, privacy: Fields) -> Fraction:
        """Return the cost of the limits that were chosen before the answer."""
        chosen, cost = record.inner("limits_chosen"), Fraction(0)
        whole = ("reach" in chosen) == ("event" in chosen) and bool(chosen.value) == (
            "reach" in chosen or "bounds" in chosen
        )
        whole = whole and bool(chosen.value) == ("spent_on_limits" in privacy)
        record.expect(whole, "the choice of limits is not complete")
        if "reach" in chosen:
            event = chosen.event("event")
            chosen.expect(chosen.whole("reach", 1) == privacy.optional("reach"), "it is not the reach of the query")
            law = chosen.get("law", str)
            drawn = law.startswith("exponential mechanism") and isinstance(event, run.BoundedRange)
            chosen.expect(drawn, "it is not a draw of bounded range")
            cost += losses.cost_of(event, in_rho=self.in_rho)[0]
            self.unchecked.append("that the draw of the reach has the stated range: its scores are not in the receipt")
        for name in chosen.inner("bounds").value:
            bounds = chosen.inner("bounds").inner(name)
            histogram, parts = bounds.inner("histogram"), bounds.inner("histogram").each("mechanisms")
            same = [part.events("event") for part in parts] == [bounds.events("event")]
            histogram.expect(same and histogram.value.get("neighbours") == privacy.value["neighbours"], "it differs")
            paid, vector = self.mechanism(parts[0], limits_of(histogram))
            histogram.expect(vector is None, "this check does not know Gaussian noise for ε in a histogram")
            cost += paid
        spent = privacy.number("spent_on_limits") if chosen.value else cost
        record.expect(cost == spent or (self.in_rho and 0 < cost <= spent), "the choice of limits has another cost")
        return cost

    def selection(self, groups: Fields, limits: Limits) -> losses.Cost:
        """Return (ε, δ) of finding groups: m counts move by 1, and each gets noise of scale m/ε that is cut off at ±k.

        A group of one unit shows with a probability of λ·p(k-1) + (1-λ)·p(k) ≤ δ/m (`pricing.partition_selection`).
        """
        moving, scale = groups.whole("counts_a_unit_can_move", 1), groups.number("scale")
        limit, coin = groups.whole("limit", 1), groups.number("chance_of_a_limit_lower_by_one")
        epsilon, delta = losses.cost_of(groups.event("event"), in_rho=False)
        known = groups.get("law", str).startswith("discrete laplace, cut off")
        groups.expect(known and scale > 0 and coin <= 1 and not self.in_rho, "it is not a selection of groups")
        groups.expect(moving >= limits.groups * (2 if limits.change else 1), "a unit can move more counts")
        ends = [losses.end_probability(k, 1 / scale) for k in (limit - 1, limit)]
        lost = moving * (coin * ends[0] + (1 - coin) * ends[1])
        sizes = f"ε = {float(moving / scale):.6g} and δ = {float(lost):.6g}"
        groups.expect(moving / scale <= epsilon and lost <= delta, f"the selection costs {sizes}, more than its event")
        shown = [(groups.number("epsilon"), epsilon), (groups.number("delta"), delta)]
        groups.expect(all(abs(a - b) <= b * _CLOSE for a, b in shown), "ε or δ and the event differ")
        self.checked.append("the selection of groups has its ε and δ")
        return epsilon, delta

    def mechanism(self, part: Fields, limits: Limits, *, halves: bool = False) -> tuple[Fraction, losses.Vector | None]:
        """Return the cost of one mechanism, or its vector if it is Gaussian noise for ε and δ."""
        moved, law, event = moved_by(part, limits, halves=halves), part.get("law", str), part.event("event")
        kind, amount, size, norm = _LAWS.get(law, (None, "", "", ""))
        needs = {"reach_in_one_group": 1 if "cells_of_the_margin" in part else moved.cell}
        needs |= {"reach_in_all_groups": moved.total} if "reach_in_all_groups" in part else {}
        needs |= {size: getattr(moved, norm)} if kind else {}
        for name, least in needs.items():
            part.expect(part.whole(name) >= least, f"{name} is below {least}, which the limits give")
        if kind is None:
            return self.draw(part, limits, event), None
        part.expect(isinstance(event, kind) and getattr(event, "coordinates", 0) >= moved.integers, "the event differs")
        stated = [(getattr(event, amount), part.number(amount)), (getattr(event, norm), part.number(size))]
        part.expect(all(one == other for one, other in stated), "the event is not its noise")
        if isinstance(event, run.DiscreteGaussianNoise) and not self.in_rho:
            return Fraction(0), losses.Vector(event.variance, event.l2_squared, event.coordinates)
        return losses.cost_of(event, in_rho=self.in_rho)[0], None

    def draw(self, part: Fields, limits: Limits, event: run.Event) -> Fraction:
        """Return the cost of a drawn quantile (`query.rank_law`) or of a drawn value (`query.choice_law`).

        The penalties of a quantile move by S = m·T in all groups, or under "change one" by the smaller of 2m·T and
        c·K: that costs 2S/s. In ρ it is Q/2s², with Q = m²·K·T, or the smaller of 2m·K·T and c·K². The totals of a
        drawn value move by T, or 2T, which costs T/s; in ρ it is K·T/8s², or 4K·T/8s².
        """
        moved, scale, law, power = moved_by(part, limits), part.number("scale"), part.get("law", str), self.in_rho + 1
        stated = part.number("sensitivity_squared" if self.in_rho else "sensitivity")
        size, flips = moved.total * moved.cell**self.in_rho, law.startswith("permute-and-flip")
        kind = run.ZCDPRelease if self.in_rho else run.PureRelease if flips else run.BoundedRange
        part.expect(scale > 0 and isinstance(event, kind) and not (flips and self.in_rho), "the event is not its draw")
        if law in ("permute-and-flip over ranks", "exponential mechanism over ranks"):
            rank = part.inner("rank")
            weight = max(rank.number("share"), 1 - rank.number("share")) if "share" in rank else Fraction(1)
            rank.expect(weight <= 1, "the share is above 1")
            most = min(2 * weight * size, Fraction(moved.cells * moved.cell**power))
            needed = most if limits.change else weight**power * size
            cost = stated / (2 * scale**2) if self.in_rho else 2 * stated / scale
        else:
            part.expect(law == ("exponential mechanism" if self.in_rho else "permute-and-flip"), "law is not known")
            needed = Fraction(size * (2**power if limits.change else 1))
            cost = stated / (8 * scale**2) if self.in_rho else stated / scale
        part.expect(stated >= needed, f"its sensitivity is below {float(needed):.6g}, which the limits give")
        paid, _ = losses.cost_of(event, in_rho=self.in_rho)
        part.expect(cost <= paid, f"the draw costs {float(cost):.6g}, but its event {float(paid):.6g}")
        return paid

    def together(self, plan: Fields, promise: Fields, relation: object) -> Counter[_Part]:
        """Check the charge of several queries that are charged as one; return how many have which charge and noise."""
        most, queries, noise = self.charge(plan, "charged", promise, relation), Counter[_Part](), list[run.Event]()
        for part in plan.each("parts"):
            key = tuple(part.events("charged")), tuple(part.events("noise"))
            queries[key] += part.whole("queries", 1)
            most_noise = len(noise) + len(key[1]) * part.whole("queries", 1)
            plan.expect(max(queries.total(), most_noise) <= _MOST_QUERIES, "it has too many queries")
            noise += [*key[1]] * part.whole("queries", 1)
        costs = [(self.total(events), number) for (events, _), number in queries.items()]
        loss, delta = (sum(cost[k] * number for cost, number in costs) for k in (0, 1))
        if loss <= most[0] and delta <= most[1]:
            self.checked.append("the charge covers the sum of the queries")
        elif "disjoint" in plan or "may_be_disjoint" in plan:
            for (cost, _), (_, own) in zip(costs, queries, strict=True):
                if cost[0] > most[0] or cost[1] > most[1]:
                    plan.expect(not self.in_rho and most[1] > 0, "the charge is less than the cost of one query")
                    self.composition(plan, own, most, "each query alone")
            self.unchecked.append("that the charge covers queries about disjoint rows: their conditions are not read")
        else:
            plan.expect(not self.in_rho and most[1] > 0, "the charge is less than the sum of the queries")
            self.composition(plan, noise, most, "the composition of the queries")
        return queries

    def composition(self, plan: Fields, noise: Sequence[run.Event], most: losses.Cost, what: str) -> None:
        """Check that independent noise costs at most (ε, δ), or 0.25 % more of ε, which `unchecked` then states."""
        try:
            if losses.joint_delta(tuple(noise), *most) > most[1]:
                near = losses.joint_delta(tuple(noise), most[0] * _NEAR, most[1]) <= most[1]
                plan.expect(near, f"the charge is less than {what} costs")
                self.unchecked.append("the last 0.25 % of ε of the composition, which is the accuracy of this check")
            self.checked.append(f"the charge covers {what}")
        except losses.UnpricedError as error:
            self.unchecked.append(f"that the charge covers {what}: not {error}")

    def own(self, record: Fields, queries: Counter[_Part]) -> _Part | None:
        """Return a query among several that are charged as one; None if it is not there, or has other noise there.

        If its noise depends on an earlier draw, its events stand for the noise, or one event that costs no less.
        """
        charged = tuple(record.inner("privacy").events("charged"))
        noisy = [part for part in record.each("mechanisms") if part.value.get("law") != _SELECTED]
        noise = charged, tuple(event for part in noisy for event in part.events("event"))
        for key in (each for each in queries if each[0] == charged):
            drawn = "limits_chosen" in record or "groups" in record.inner("privacy")
            if self.stand(key[1], record, *noise) if drawn else key == noise:
                return key
        return None

    def stand(self, events: Sequence[run.Event], record: Fields, charged: _Events, noise: _Events) -> bool:
        """Return whether events stand for a release with a draw: one guarantee, or the selection and its noise."""
        left, rest = self.total(charged), list(events)
        if "limits_chosen" not in record:
            found = record.inner("privacy").inner("groups").event("event")
            if found not in rest:
                return False
            rest.remove(found)
            cost = self.total([found])
            left = left[0] - cost[0], left[1] - cost[1]
            if Counter(rest) == Counter(noise):
                return True
        return len(rest) == 1 and isinstance(rest[0], _GUARANTEES) and all(map(ge, self.total(rest), left))

    def computed(self, record: Fields) -> None:
        """Check an answer that is computed from several releases."""
        releases, together, relation = record.each("released"), record.inner("together"), None
        record.expect(releases and record.whole("schema") == 1, "another version of tacit wrote it")
        for release in releases:
            inner = _Check()
            inner.query(release)
            self.checked += [f"{release.value.get('name')}: {each}" for each in inner.checked]
            self.unchecked += inner.unchecked
            others, relation = relation, release.inner("privacy").value["neighbours"]
            release.expect(others in (None, relation), "neighbours differ")
        queries = self.together(together, record.inner("privacy").inner("promise"), relation)
        together.expect(Counter(self.own(each, queries) for each in releases) == queries, "it has other queries")

    def release(self, record: Fields) -> losses.Cost:
        """Check the charge of a release that is not a query."""
        relation, outside = record.value.get("neighbours"), "release" in record
        record.expect(relation in _RELATIONS or (relation is None and outside), "neighbours is not known")
        record.expect(not outside or record.whole("schema") == 1, "another version of tacit wrote it")
        record.expect(record.get("events", list), "there are no events")
        if "noise" not in record:
            self.unchecked.append(_OUTSIDE if outside else "the noise inside the release: it is not in the receipt")
        return self.charge(record, "events", record.inner("promise"), relation)

    def marginals(self, record: Fields) -> None:
        """Check the charge and the noise of marginals."""
        (paid, slack), noise = self.release(record), record.inner("noise")
        law, cost = noise.value.get("law"), marginal_cost(noise, change=record.value["neighbours"] == "change one")
        noise.expect(law == "gaussian" or (law == "laplace" and not self.in_rho), "law is not known")
        shown = noise.inner("scale_of_count" if law == "laplace" else "variance_of_residual")
        parts = {", ".join(map(str, part.get("columns", list))): part.number("amount") for part in noise.each("parts")}
        noise.expect(parts == {name: shown.number(name) for name in shown.value}, "parts and their noise differ")
        fits = cost <= paid if law == "laplace" or self.in_rho else slack > 0 and losses.zcdp_delta(cost, paid) <= slack
        noise.expect(fits, "it costs more than was charged")
        self.checked.append(f"the noise of {len(noise.each('parts'))} tables fits the charge")
