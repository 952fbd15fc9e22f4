"""The least cost of a query for given errors, before the data is read.

Outputs that are computed from the same bundles form a component. The errors of a component depend on the noise of its
bundles alone, and fall as its share of the cost grows. So the least amount that each component needs is found
first, by bisection: ε of Laplace noise, or for Gaussian noise the precision 1/variance for each unit of squared
sensitivity. Both add up over components. So the least total cost is their sum, and the components' shares of it become
the bundles' weights. Then the whole query is priced like any other, and the least ε (or ρ) of five digits is found, up
to a part in 10^5, for which every error is met. This is done for aggregates that share their sums and for each alone
(see `measure_sharing`), for quantiles of one tree and for drawn ones (see `quantile_method`), and the cheapest plan is
used. If the query measures what its reach cuts, that keeps its share of the cost, and the errors are those of the
answers without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from tacit.errors import InvalidError, TacitError, TooMuchNoiseError, bad_value, show_name
from tacit.guarantees.exact import Exact, to_fraction
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.categories import Category
from tacit.query.aggregates.cut import cut_share, is_cut
from tacit.query.aggregates.measure_sharing import without_sharing
from tacit.query.formatting import listed
from tacit.query.noise_law import Law, NoiseLaw
from tacit.query.plan import Aggregate, Bundle, Noisy, Output, Plan
from tacit.query.pricing.noisy_filters import confidence_in_group, is_noisy
from tacit.query.pricing.output_errors import Noises, expected_error, may_divide_by_zero, places_in
from tacit.query.pricing.price import Cost, Price, noise_of, price
from tacit.query.pricing.public_size import unrequired_columns
from tacit.query.refusals import refused

_LEAST, _MOST = Fraction(1, 10**9), Fraction(10**6)
_MANY_UNITS = 10**9
_CLOSE, _CLOSEST = Fraction(2001, 2000), Fraction(10**5 + 1, 10**5)
_DIGITS = Context(prec=5, rounding=ROUND_CEILING)

ErrorTargets = Mapping[str, Fraction]
"""The largest error of each output."""


def read_errors(plan: Plan, error: object) -> dict[str, Fraction]:
    """Return the largest error of each output, or raise InvalidError or RefusedError.

    Args:
        plan: the plan.
        error: one number for all noisy outputs, or a mapping from their names to numbers.
    """
    noisy = {name: output for name, output in plan.outputs if is_noisy(output)}
    if isinstance(error, Mapping):
        for name in error:
            if name not in noisy:
                raise InvalidError(
                    f"error has a target for {show_name(str(name))}, which is not a noisy column of the answer.",
                    argument="error",
                    hint=f"Give errors for {', '.join(noisy) or 'aggregates'}.",
                )
        targets = {name: _target(number) for name, number in error.items()}
    else:
        targets = dict.fromkeys(noisy, _target(error))
    _check_all(plan, noisy, targets)
    return targets


def _target(error: object) -> Fraction:
    number = to_fraction(error, "error", "a number > 0")
    if number <= 0:
        raise bad_value("error", error, "a number > 0", hint="An answer without noise would not be private.")
    return number


_NEVER = ("min", "max", "drawn_min", "drawn_max", "corr", "regr_slope", "regr_intercept", "regr_r2", "skewness")
"""Aggregates whose error depends on the distribution of the values, for a group of any size."""


def _check_all(plan: Plan, noisy: Mapping[str, Output], targets: ErrorTargets) -> None:
    """Raise if an aggregate has no target, or a target that is too small for its grid."""
    named = set().union(*(places_in(noisy[name]) for name in targets))
    for index, aggregate in enumerate(plan.aggregates):
        if index not in named:
            raise InvalidError(
                f"error has no target for {aggregate.sql}.",
                argument="error",
                hint="Give an error for every aggregate, by its name in the answer.",
            )
    for name, target in targets.items():
        output = noisy[name]
        for place in places_in(output):
            _check_bounded(plan.aggregates[place])
        if isinstance(output, Noisy):
            _check_step(plan, name, plan.aggregates[output.place], target)


def _check_bounded(aggregate: Aggregate) -> None:
    """Raise RefusedError if an aggregate has no error that a group of some size meets."""
    if isinstance(STATISTICS[aggregate.ask.function], Category):
        raise refused(
            f"{aggregate.sql} is a category or a truth value, which has no error",
            "Use epsilon= instead; the plan states its error in words.",
        )
    if aggregate.ask.function in _NEVER:
        raise refused(
            f"The error of {aggregate.sql} depends on the distribution of the values, which is private, so it "
            "cannot be guaranteed",
            "Use epsilon= instead; the answer has an interval.",
        )


def _check_step(plan: Plan, name: str, aggregate: Aggregate, target: Fraction) -> None:
    """Raise InvalidError if a target is smaller than the step of an aggregate's grid."""
    for index in aggregate.bundles:
        measure = plan.bundles[index].measures[0]
        step = measure.step / (1 << measure.fraction_bits)
        exact = aggregate.ask.function in ("count", "count_units", "sum") and plan.bundles[index].width == 1
        if exact and target < step:
            requirement = f"at least {float(step):.3g} for {show_name(name)}, the step of its grid"
            raise bad_value("error", float(target), requirement)


def solve(
    plan: Plan,
    cost: Cost,
    *,
    confidence: float,
    assume: int | None = None,
    by_rho: bool = False,
    others: Sequence[Plan] = (),
    counted: Callable[[], bool] = lambda: True,
) -> tuple[Plan, Price]:
    """Return the plan, its bundles weighted as the errors need it, and the cheapest price that meets them.

    Args:
        plan: the plan.
        cost: the largest error of each output, and δ of the query if it may use some.
        confidence: the probability that the errors are not larger; in all listed groups together if noisy values choose
            among them.
        assume: the number of units that a group is assumed to have, for errors that depend on it.
        by_rho: whether the budget is in zCDP, so that ρ is solved for.
        others: other plans of the same query, for example with drawn quantiles.
        counted: returns whether the engine reads all rows of the table, so that a public number can be used.
    """
    targets = read_errors(plan, cost.error)
    slack = to_fraction(0 if cost.delta is None else cost.delta, "delta", "a number from 0 to below 1")
    laws: list[Law] = ["gaussian"] if by_rho else ["laplace", "gaussian"] if slack > 0 else ["laplace"]
    forms: list[Plan] = []
    for each in (plan, *others):
        forms += [form for form in (each, without_sharing(each)) if form not in forms]
    problems = [_Errors(form, targets, confidence, assume, law=laws[0], counted=counted) for form in forms]
    solutions = [problem.cheapest(law, slack, by_rho=by_rho) for problem in problems for law in laws]
    feasible = [solution for solution in solutions if solution is not None]
    if not feasible:
        raise _out_of_reach(problems[0])
    return min(feasible, key=lambda solution: solution[2])[:2]


class _Errors:
    """The targets of a plan, and the least amounts that meet them."""

    def __init__(
        self,
        plan: Plan,
        targets: ErrorTargets,
        confidence: float,
        assume: int | None,
        *,
        law: Law,
        counted: Callable[[], bool],
    ) -> None:
        self.law, self.counted = law, counted
        self.plan, self.confidence, self.assume = plan, confidence_in_group(plan, confidence), assume
        outputs = dict(plan.outputs)
        self.targets: dict[Output, Fraction] = {}
        for name, target in targets.items():
            output = outputs[name]
            self.targets[output] = min(target, self.targets.get(output, target))

    def cheapest(self, law: Law, delta: Fraction, *, by_rho: bool) -> tuple[Plan, Price, Fraction] | None:
        """Return the plan weighted for a law, its price, and its ε or ρ; None if no amount meets the targets."""
        amounts: dict[int, Fraction] = {}
        for component in self._components():
            least = self._least(component, law)
            if least is None:
                return None
            amounts |= {index: least * share for index, share in component.items()}
        amounts |= self._cuts(sum(amounts.values(), Fraction(0)))
        bundles = tuple(
            replace(bundle, weight=amounts.get(index, bundle.weight)) for index, bundle in enumerate(self.plan.bundles)
        )
        weighted = replace(self.plan, bundles=bundles)

        def priced(size: Fraction) -> Price | None:
            cost = Cost(rho=Exact(size)) if by_rho else Cost(epsilon=Exact(size), delta=Exact(delta))
            try:
                result = price(weighted, cost)
            except TooMuchNoiseError:
                return None
            return result if all(self._met(output, result.noise) for output in self.targets) else None

        start = sum(amounts.values(), Fraction(0))
        size = _least_of(lambda size: priced(size) is not None, start, _CLOSEST)
        if size is None:
            return None
        size = _rounded(size)
        result = priced(size)
        return None if result is None else (weighted, result, size)

    def least_noise(self) -> dict[int, NoiseLaw] | None:
        """Return the noise of the largest amount; None if a law has no such noise."""
        laws = {index: noise_of(self.plan, bundle, self.law, _MOST) for index, bundle in enumerate(self.plan.bundles)}
        known = {index: law for index, law in laws.items() if law is not None}
        return known if len(known) == len(laws) else None

    def _cuts(self, answers: Fraction) -> dict[int, Fraction]:
        """Return the amounts of the bundles that measure what the reach cuts, given the amount of all others."""
        share, cuts = cut_share(self.plan), [i for i, bundle in enumerate(self.plan.bundles) if is_cut(bundle)]
        return dict.fromkeys(cuts, answers * share / (1 - share) / max(1, len(cuts)))

    def _components(self) -> list[dict[int, Fraction]]:
        """Return the bundles that depend on each other, each with its share of its component."""
        groups: list[set[int]] = []
        for output in self.targets:
            bundles = self._bundles(output)
            joined = [group for group in groups if group & bundles]
            groups = [group for group in groups if not group & bundles] + [bundles.union(*joined)]
        return [_by_weight(self.plan.bundles, sorted(group)) for group in groups if group]

    def _least(self, component: Mapping[int, Fraction], law: Law) -> Fraction | None:
        """Return the least amount that meets the targets of a component."""
        concerned = [output for output in self.targets if self._bundles(output) <= set(component)]

        def met(amount: Fraction) -> bool:
            noise: dict[int, NoiseLaw] = {}
            for index, share in component.items():
                bundle_noise = noise_of(self.plan, self.plan.bundles[index], law, amount * share)
                if bundle_noise is None:
                    return False
                noise[index] = bundle_noise
            return all(self._met(output, noise) for output in concerned)

        return _least_of(met, Fraction(1))

    def _bundles(self, output: Output) -> set[int]:
        """Return the bundles on which an output depends."""
        return {index for place in places_in(output) for index in self.plan.aggregates[place].bundles}

    def _met(self, output: Output, noise: Noises) -> bool:
        error = expected_error(self.plan, noise, output, self.confidence, self.assume)
        return error is not None and error <= self.targets[output]


def _by_weight(bundles: Sequence[Bundle], indices: Sequence[int]) -> dict[int, Fraction]:
    total = sum((bundles[index].weight for index in indices), Fraction(0))
    return {index: bundles[index].weight / total for index in indices}


def _least_of(met: Callable[[Fraction], bool], start: Fraction, close: Fraction = _CLOSE) -> Fraction | None:
    """Return an amount that is met and at most `close` times the least one; None if no amount up to 10^6 is met."""
    high = min(max(start, _LEAST), _MOST)
    while not met(high):
        high *= 2
        if high > _MOST:
            return None
    low = high / 2
    while low > _LEAST and met(low):
        low, high = low / 2, low
    while high / low > close:
        middle = _simple((low + high) / 2)
        low, high = (low, middle) if met(middle) else (middle, high)
    return high


def _simple(number: Fraction) -> Fraction:
    """Return a near number with a short denominator, so that bisection stays fast."""
    return Fraction(float(number)).limit_denominator(10**15) or number


def _rounded(size: Fraction) -> Fraction:
    """Return the next number of five digits.

    >>> _rounded(Fraction(1, 3)), _rounded(Fraction(12))
    (Fraction(16667, 50000), Fraction(12, 1))
    """
    return Fraction(_DIGITS.divide(Decimal(size.numerator), Decimal(size.denominator)))


def _out_of_reach(errors: _Errors) -> TacitError:
    """Return the error for targets that no ε meets, with the reason.

    The error of an average or a ratio needs an assumed number of units, unless that number is public.
    """
    plan, noise = errors.plan, errors.least_noise() or {}
    for output in errors.targets if noise else ():
        name = _name(plan, output)
        known, alone = (expected_error(plan, noise, output, errors.confidence, n) for n in (_MANY_UNITS, None))
        if known is None:
            zero = may_divide_by_zero(plan, noise, output, _MANY_UNITS)
            return refused(
                f"The error of {name} is not known before{', because its denominator may be 0' if zero else ''}",
                "Use epsilon= instead; the answer has an interval.",
            )
        if errors.assume is None and known != alone:
            return _needs_assume(errors, output, name)
    return refused("No ε, however large, makes the errors that small", "Allow larger errors.")


def _needs_assume(errors: _Errors, output: Output, name: str) -> TacitError:
    """Return the error for an output whose number of units is not given."""
    hint = "Give the number of units for which the error must hold: assume=1000."
    aggregates = [errors.plan.aggregates[place] for place in places_in(output)]
    missing = unrequired_columns(errors.plan, aggregates) if errors.counted() else []
    if not missing:
        return refused(f"The error of {name} depends on the number of units in a group, which is private", hint)
    names, verb = listed(missing), "is" if len(missing) == 1 else "are"
    return refused(
        f"The error of {name} depends on the number of rows that have {names}, which is private",
        f"If {names} {verb} never missing, declare required={missing!r} (policy: required = true): the number of rows "
        f"is public. Or {hint[0].lower()}{hint[1:]}",
    )


def _name(plan: Plan, output: Output) -> str:
    """Return the SQL of an aggregate, or the name of a computed column."""
    if isinstance(output, Noisy):
        return plan.aggregates[output.place].sql
    return next(show_name(name) for name, each in plan.outputs if each == output)
