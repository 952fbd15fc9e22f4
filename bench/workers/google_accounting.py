"""Run dp-accounting, Google's library: privacy-loss distributions on a fixed interval, and its two accountants.

The script cannot have the name of the library, because it would then shadow the library.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from functools import reduce
from importlib.metadata import version
from math import exp, isqrt, log, sqrt
from typing import Any

import dp_accounting as dp  # type: ignore[import-not-found]  # installed in the library's environment only
from accounting_serve import Ends, Parts, Record, serve
from dp_accounting import pld, rdp
from serve import Missing

laws = pld.privacy_loss_distribution


def number(record: Record, name: str) -> Fraction:
    """Return a field as a rational."""
    return Fraction(str(record[name]))


def law(record: Record, interval: float, *, dots: bool, below: bool = False) -> Any:  # noqa: ANN401 - the library has no types
    """Return an event's distribution: rounded up, or down for `below`.

    With `dots`, connect the dots if the library can. For randomized response, the library can do so for discrete
    Laplace noise of sensitivity 1, which is the same law.
    """
    rounding = {"value_discretization_interval": interval, "pessimistic_estimate": not below}
    match record["event"]:
        case "PoissonSampled":
            of, rate = record["of"], {"sampling_prob": float(number(record, "rate"))}
            return additive(of, rounding | rate, dots=dots and not below)  # type: ignore[arg-type]  # JSON object
        case "RandomizedBit" if not dots:
            return laws.from_randomized_response(2 / (1 + exp(number(record, "epsilon"))), 2, **rounding)
        case "RandomizedBit":
            same = {"event": "DiscreteLaplaceNoise", "scale": 1 / number(record, "epsilon"), "l1": 1, "coordinates": 1}
            return additive(same, rounding, dots=not below)
        case "PureRelease" | "ApproxRelease":
            return promised(record, rounding)
    return additive(record, rounding, dots=dots and not below)


def additive(record: Record, options: dict[str, Any], *, dots: bool) -> Any:  # noqa: ANN401
    """Return the distribution of added noise. Continuous noise connects the dots by default, discrete does not."""
    options = options | {"use_connect_dots": dots}
    above = options | ({"use_connect_dots": True} if options["pessimistic_estimate"] else {})
    match record:
        case {"event": "LaplaceNoise"}:
            return laws.from_laplace_mechanism(float(number(record, "scale") / number(record, "l1")), **above)
        case {"event": "GaussianNoise"}:
            return laws.from_gaussian_mechanism(float(number(record, "sigma") / number(record, "l2")), **above)
        case {"event": "DiscreteLaplaceNoise", "coordinates": 1}:
            shift = int(number(record, "l1"))
            return laws.from_discrete_laplace_mechanism(float(1 / number(record, "scale")), shift, **options)
        case {"event": "DiscreteGaussianNoise", "coordinates": 1, "l2_squared": int(square)}:
            sigma = sqrt(number(record, "variance"))
            return laws.from_discrete_gaussian_mechanism(sigma, isqrt(square), **options)
    raise Missing("not supported")


def promised(record: Record, rounding: dict[str, Any]) -> Any:  # noqa: ANN401
    """Return the distribution of an (ε, δ)-DP event from two mass functions; the built-in function only rounds up."""
    epsilon, delta = float(number(record, "epsilon")), float(number(record, "delta")) if "delta" in record else 0.0
    up = {0: log(1 - delta) - log(1 + exp(-epsilon)), 1: log(1 - delta) - log(1 + exp(epsilon))}
    down = {0: up[1], 1: up[0]}
    if delta:
        up[2], down[3] = log(delta), log(delta)
    return laws.from_two_probability_mass_functions(down, up, **rounding)


def in_turn(parts: Parts, interval: float) -> Any:  # noqa: ANN401
    """Compose the parts one after another, as in the documentation."""
    distributions = (law(record, interval, dots=False) for record, _ in parts)
    powers = (
        distribution if count == 1 else distribution.self_compose(count)
        for distribution, (_, count) in zip(distributions, parts, strict=True)
    )
    return reduce(lambda total, distribution: total.compose(distribution), powers)


def merged(parts: Parts) -> Parts:
    """Return the parts with all continuous Gaussians merged into one."""
    rest = [part for part in parts if part[0]["event"] != "GaussianNoise"]
    square = sum(n * (number(r, "l2") / number(r, "sigma")) ** 2 for r, n in parts if r["event"] == "GaussianNoise")
    return [*rest, ({"event": "GaussianNoise", "sigma": 1 / Fraction(sqrt(square)), "l2": 1}, 1)] if square else rest


def pairwise(parts: Parts, interval: float, *, below: bool = False) -> Any:  # noqa: ANN401
    """Compose as an expert would: with all dots connected, and in pairs, so that most laws are short.

    Self-composition counts truncated mass as infinite loss, even if it rounds down. Rounding down therefore uses
    a negligible truncation.
    """
    cut = 1e-25 if below else 1e-15
    distributions = [(law(record, interval, dots=True, below=below), count) for record, count in parts]
    level = [
        distribution if count == 1 else distribution.self_compose(count, cut) for distribution, count in distributions
    ]
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [a.compose(b, cut) for a, b in zip(level[::2], level[1::2], strict=False)] + odd
    return level[0]


def bracket(parts: Parts, delta: float, interval: float) -> Callable[[], Ends]:
    """Return a function that computes a lower and an upper bound on ε, without merging.

    The transforms have rounding errors of about 2^-53 of the whole mass per use. Twice that is added to δ for the
    lower bound and subtracted for the upper bound.
    """
    slip = 2.0**-52 * sum(count for _, count in parts)

    def run() -> Ends:
        below, above = (pairwise(parts, interval, below=rounding_down) for rounding_down in (True, False))
        return below.get_epsilon_for_delta(delta + slip), above.get_epsilon_for_delta(delta - slip)

    return run


def epsilon(
    parts: Parts, delta: float, interval: float, *, tuned: bool = False, both: bool = False
) -> Callable[[], Ends]:
    """Return a function that computes an upper bound on ε; with `both`, also a lower bound, without merging."""
    if both:
        return bracket(parts, delta, interval)

    def run() -> Ends:
        total = pairwise(merged(parts), interval) if tuned else in_turn(parts, interval)
        return 0.0, total.get_epsilon_for_delta(delta)

    return run


def dp_event(record: Record) -> Any:  # noqa: ANN401
    """Return the event in the format of its accountants."""
    match record["event"]:
        case "LaplaceNoise":
            return dp.LaplaceDpEvent(float(number(record, "scale") / number(record, "l1")))
        case "GaussianNoise":
            return dp.GaussianDpEvent(float(number(record, "sigma") / number(record, "l2")))
    raise Missing("not supported")


def charge(parts: Parts, event: Record, rule: str, delta: float) -> Callable[[], Callable[[], object]]:
    """Return a function that copies an accountant with the parts, to compose one more event and compute ε."""
    ledger, new = pld.PLDAccountant() if rule == "pld" else rdp.RdpAccountant(), dp_event(event)
    for record, count in parts:
        ledger.compose(dp_event(record), count)

    def copy_and_compose() -> Callable[[], object]:
        accountant = deepcopy(ledger)
        return lambda: accountant.compose(new).get_epsilon(delta)

    return copy_and_compose


if __name__ == "__main__":
    serve("dp_accounting", {"dp-accounting": version("dp-accounting")}, epsilon, charge)
