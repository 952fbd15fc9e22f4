"""How much a question must cost for its errors to stay within what is wanted; nothing is read.

Aggregates that are computed from the same bundles form a party. A party's errors depend on its own bundles' noise
alone, and fall as its share of the cost grows. So the least amount that each party needs is found first, by bisection:
ε of Laplace noise, or for Gaussian noise the precision 1/variance of each unit of squared sensitivity. Both add up over
parties, so the least cost of the whole is their sum, and the parties' shares of it become the bundles' weights. Then
the whole question is priced as any other, and the least ε (or ρ) of four digits is found for which every error is met.
This is done for aggregates that share their sums and for each on its own (see `share`), and the cheaper is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from tacit.errors import InvalidError, TooMuchNoiseError, show, show_name
from tacit.guarantees.exact import Exact, Number, to_fraction
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.measure_sharing import apart
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.plan import Bundle, Noisy, Plan
from tacit.query.pricing.choice import confidence_in_group
from tacit.query.pricing.price import Price, noise_of, price
from tacit.query.refusals import refused

_LEAST, _MOST = Fraction(1, 10**9), Fraction(10**6)
_CLOSE = Fraction(2001, 2000)
_DIGITS = Context(prec=4, rounding=ROUND_CEILING)

Wanted = Mapping[str, Fraction]
"""The largest error that each output may have."""


def read_errors(plan: Plan, given: object) -> dict[str, Fraction]:
    """Return the wanted errors by output, or raise InvalidError or RefusedError.

    Args:
        plan: the question.
        given: one number for all noisy outputs, or a mapping from their names to numbers.
    """
    noisy = {name: output for name, output in plan.outputs if isinstance(output, Noisy)}
    others = [name for name, output in plan.outputs if not isinstance(output, Noisy) and _is_computed(output)]
    if isinstance(given, Mapping):
        for name in given:
            if name not in noisy:
                raise InvalidError("error", f"one for {show(name)}", f"errors for {', '.join(noisy) or 'aggregates'}")
        wanted = {name: _target(number) for name, number in given.items()}
    else:
        if others or not noisy:
            what = show_name(others[0]) if others else "what is asked"
            raise refused(
                f"The error of {what} cannot be said before it is asked, since it is computed from several values",
                "Give errors for the aggregates themselves: error={'n': 50}.",
            )
        wanted = dict.fromkeys(noisy, _target(given))
    _check_all(plan, noisy, wanted)
    return wanted


def _is_computed(output: object) -> bool:
    return any(isinstance(part, Noisy) for part in getattr(output, "arguments", ())) or any(
        _is_computed(part) for part in getattr(output, "arguments", ())
    )


def _target(given: object) -> Fraction:
    number = to_fraction(given, "error", "a number above 0")
    if number <= 0:
        raise InvalidError("error", show(given), "a number above 0: an answer without any noise would not be private")
    return number


_NEVER = ("min", "max", "corr")
"""Aggregates whose error depends on how the values lie, whatever the size of a group."""


def _check_all(plan: Plan, noisy: Mapping[str, Noisy], wanted: Wanted) -> None:
    """Raise if an aggregate has no wanted error, or one that its grid does not allow."""
    named = {noisy[name].place for name in wanted}
    for place, aggregate in enumerate(plan.aggregates):
        if place not in named:
            raise InvalidError(
                "error",
                f"none for {aggregate.sql}",
                "given for every aggregate, by its name in the answer",
            )
    for name, target in wanted.items():
        one = plan.aggregates[noisy[name].place]
        if one.ask.function in _NEVER:
            raise refused(
                f"The error of {one.sql} depends on how the values lie, which is private: none can be promised",
                "Ask for it with epsilon=; the answer has its interval.",
            )
        for place in one.bundles:
            measure = plan.bundles[place].measures[0]
            step = measure.step / (1 << measure.fraction_bits)
            if one.ask.function in ("count", "count_units", "sum") and plan.bundles[place].width == 1 and target < step:
                want = f"at least {float(step):.3g} for {show(name)}, the step of its grid"
                raise InvalidError("error", show(float(target)), want)


def solve(
    plan: Plan,
    wanted: Wanted,
    *,
    confidence: float,
    assume: int | None = None,
    delta: Number = 0,
    by_rho: bool = False,
) -> tuple[Plan, Price]:
    """Return the plan, its bundles weighed as the errors need it, and the cheapest price that meets them.

    Args:
        plan: the question.
        wanted: the largest error of each output.
        confidence: how often the errors shall hold; in all listed groups together if noisy values choose among them.
        assume: how many units a group is assumed to have, for what depends on it.
        delta: δ of the question, if it may use some.
        by_rho: whether the budget is in zCDP, so that ρ is solved for.
    """
    slack = to_fraction(delta, "delta", "a number from 0 to below 1")
    laws: list[Law] = ["gaussian"] if by_rho else ["laplace", "gaussian"] if slack > 0 else ["laplace"]
    own = apart(plan)
    forms = [plan] if own == plan else [plan, own]
    every = [_Errors(form, wanted, confidence, assume) for form in forms]
    found = [errors.cheapest(law, slack, by_rho=by_rho) for errors in every for law in laws]
    met = [one for one in found if one is not None]
    if not met:
        raise _out_of_reach(every[0])
    return min(met, key=lambda one: one[2])[:2]


class _Errors:
    """The wanted errors of a plan, and what it takes to meet them."""

    def __init__(self, plan: Plan, wanted: Wanted, confidence: float, assume: int | None) -> None:
        self.plan, self.confidence, self.assume = plan, confidence_in_group(plan, confidence), assume
        outputs = dict(plan.outputs)
        targets: dict[int, Fraction] = {}
        for name, target in wanted.items():
            output = outputs[name]
            if isinstance(output, Noisy):
                targets[output.place] = min(target, targets.get(output.place, target))
        self.targets = targets

    def cheapest(self, law: Law, delta: Fraction, *, by_rho: bool) -> tuple[Plan, Price, Fraction] | None:
        """Return the plan weighed for a law, its price, and the ε or ρ that it takes; None if none does."""
        amounts: dict[int, Fraction] = {}
        for party in self._parties():
            least = self._least(party, law)
            if least is None:
                return None
            amounts |= {place: least * share for place, share in party.items()}
        bundles = tuple(
            replace(bundle, weight=amounts.get(place, bundle.weight)) for place, bundle in enumerate(self.plan.bundles)
        )
        weighed = replace(self.plan, bundles=bundles)

        def priced(size: Fraction) -> Price | None:
            try:
                found = (
                    price(weighed, rho=Exact(size))
                    if by_rho
                    else price(weighed, epsilon=Exact(size), delta=Exact(delta))
                )
            except TooMuchNoiseError:
                return None
            return found if all(self._met(place, found.noise) for place in self.targets) else None

        start = sum(amounts.values(), Fraction(0))
        size = _least_of(lambda size: priced(size) is not None, start)
        if size is None:
            return None
        size = _rounded(size)
        found = priced(size)
        return None if found is None else (weighed, found, size)

    def _parties(self) -> list[dict[int, Fraction]]:
        """Return the bundles that stand and fall together, each with its share of its party."""
        groups: list[set[int]] = []
        for place in self.targets:
            own = set(self.plan.aggregates[place].bundles)
            joined = [group for group in groups if group & own]
            groups = [group for group in groups if not group & own] + [own.union(*joined)]
        return [_by_weight(self.plan.bundles, sorted(group)) for group in groups if group]

    def _least(self, party: Mapping[int, Fraction], law: Law) -> Fraction | None:
        """Return the least amount with which a party's errors are met."""
        concerned = [place for place in self.targets if set(self.plan.aggregates[place].bundles) <= set(party)]

        def met(amount: Fraction) -> bool:
            noise: dict[int, NoiseLaw] = {}
            for place, share in party.items():
                own = noise_of(self.plan, self.plan.bundles[place], law, amount * share)
                if own is None:
                    return False
                noise[place] = own
            return all(self._met(place, noise) for place in concerned)

        return _least_of(met, Fraction(1))

    def _met(self, place: int, noise: Mapping[int, NoiseLaw] | Sequence[NoiseLaw]) -> bool:
        return self._error(place, noise) <= self.targets[place]

    def _error(self, place: int, noise: Mapping[int, NoiseLaw] | Sequence[NoiseLaw]) -> float:
        one = self.plan.aggregates[place]
        bundles, laws = [self.plan.bundles[i] for i in one.bundles], [noise[i] for i in one.bundles]
        return STATISTICS[one.ask.function].error(one.ask, bundles, laws, self.confidence, self.assume)


def _by_weight(bundles: Sequence[Bundle], places: Sequence[int]) -> dict[int, Fraction]:
    whole = sum((bundles[place].weight for place in places), Fraction(0))
    return {place: bundles[place].weight / whole for place in places}


def _least_of(met: Callable[[Fraction], bool], start: Fraction) -> Fraction | None:
    """Return an amount that is met and at most 1.0005 times the least one; None if none of reasonable size is."""
    high = min(max(start, _LEAST), _MOST)
    while not met(high):
        high *= 2
        if high > _MOST:
            return None
    low = high / 2
    while low > _LEAST and met(low):
        low, high = low / 2, low
    while high / low > _CLOSE:
        middle = _simple((low + high) / 2)
        low, high = (low, middle) if met(middle) else (middle, high)
    return high


def _simple(number: Fraction) -> Fraction:
    """Return a number near, with a short denominator, so that bisection stays quick."""
    return Fraction(float(number)).limit_denominator(10**15) or number


def _rounded(size: Fraction) -> Fraction:
    """Return the next number of four digits.

    >>> _rounded(Fraction(1, 3)), _rounded(Fraction(12))
    (Fraction(1667, 5000), Fraction(12, 1))
    """
    return Fraction(_DIGITS.divide(Decimal(size.numerator), Decimal(size.denominator)))


def _out_of_reach(errors: _Errors) -> Exception:
    """Say why no ε will do: for a ratio, most often that no size of group was assumed."""
    ratios = [one.sql for one in errors.plan.aggregates if one.ask.function not in ("count", "count_units", "sum")]
    if ratios and errors.assume is None:
        return refused(
            f"The error of {ratios[0]} depends on how many units a group has, which is private",
            "Say for how many the error shall hold: assume=1000.",
        )
    return refused("No ε, however large, would make the errors that small", "Allow larger errors.")
