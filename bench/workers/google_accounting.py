"""dp-accounting, Google's library: privacy-loss distributions on a fixed interval, and its two accountants.

Its script cannot bear the library's name, which it would hide.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from functools import reduce
from importlib.metadata import version
from math import exp, isqrt, log, sqrt
from typing import Any

import dp_accounting as dp  # type: ignore[import-not-found]  # lives in the peer's own environment
from accounting_serve import Ends, Parts, Record, serve
from dp_accounting import pld, rdp
from serve import Missing

laws = pld.privacy_loss_distribution


def number(record: Record, name: str) -> Fraction:
    """Return a field that is a rational."""
    return Fraction(str(record[name]))


def law(record: Record, interval: float, *, dots: bool, below: bool = False) -> Any:  # noqa: ANN401 - the peer has no types
    """Return an event's distribution: rounded up, or down for `below`.

    With `dots`, by connecting the dots wherever there is a way to. Randomized response has it under the name of
    discrete Laplace noise of sensitivity 1, which is the same law.
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
    """Return the distribution of added noise; continuous noise connects the dots by default, discrete does not."""
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
    raise Missing("not offered")


def promised(record: Record, rounding: dict[str, Any]) -> Any:  # noqa: ANN401
    """Return the distribution of anything (ε,δ)-DP; as two mass functions, since the ready-made one only rounds up."""
    epsilon, delta = float(number(record, "epsilon")), float(number(record, "delta")) if "delta" in record else 0.0
    up = {0: log(1 - delta) - log(1 + exp(-epsilon)), 1: log(1 - delta) - log(1 + exp(epsilon))}
    down = {0: up[1], 1: up[0]}
    if delta:
        up[2], down[3] = log(delta), log(delta)
    return laws.from_two_probability_mass_functions(down, up, **rounding)


def in_turn(parts: Parts, interval: float) -> Any:  # noqa: ANN401
    """Compose one after another, as the documentation does."""
    each = (law(record, interval, dots=False) for record, _ in parts)
    powers = (one if count == 1 else one.self_compose(count) for one, (_, count) in zip(each, parts, strict=True))
    return reduce(lambda total, one: total.compose(one), powers)


def merged(parts: Parts) -> Parts:
    """Return the parts with all continuous Gaussians merged into one."""
    rest = [part for part in parts if part[0]["event"] != "GaussianNoise"]
    square = sum(n * (number(r, "l2") / number(r, "sigma")) ** 2 for r, n in parts if r["event"] == "GaussianNoise")
    return [*rest, ({"event": "GaussianNoise", "sigma": 1 / Fraction(sqrt(square)), "l2": 1}, 1)] if square else rest


def pairwise(parts: Parts, interval: float, *, below: bool = False) -> Any:  # noqa: ANN401
    """Compose as one who knows the library would: all dots connected, and in pairs, so that most laws are short.

    The mass that its self-composition cuts off counts as infinite loss even when rounding down, so it is made
    too small to matter there.
    """
    cut = 1e-25 if below else 1e-15
    each = [(law(record, interval, dots=True, below=below), count) for record, count in parts]
    level = [one if count == 1 else one.self_compose(count, cut) for one, count in each]
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [a.compose(b, cut) for a, b in zip(level[::2], level[1::2], strict=False)] + odd
    return level[0]


def bracket(parts: Parts, delta: float, interval: float) -> Callable[[], Ends]:
    """Return the pricing of all parts on an interval from below and from above, with nothing merged.

    Its transforms round, by about 2^-53 of the whole mass for each use; twice that is added to δ or taken from it.
    """
    slip = 2.0**-52 * sum(count for _, count in parts)

    def run() -> Ends:
        below, above = (pairwise(parts, interval, below=way) for way in (True, False))
        return below.get_epsilon_for_delta(delta + slip), above.get_epsilon_for_delta(delta - slip)

    return run


def epsilon(
    parts: Parts, delta: float, interval: float, *, knowing: bool = False, both: bool = False
) -> Callable[[], Ends]:
    """Return the pricing of all parts on an interval, from above; or from `both` sides, with nothing merged."""
    if both:
        return bracket(parts, delta, interval)

    def run() -> Ends:
        total = pairwise(merged(parts), interval) if knowing else in_turn(parts, interval)
        return 0.0, total.get_epsilon_for_delta(delta)

    return run


def dp_event(record: Record) -> Any:  # noqa: ANN401
    """Return an event as its accountants know it."""
    match record["event"]:
        case "LaplaceNoise":
            return dp.LaplaceDpEvent(float(number(record, "scale") / number(record, "l1")))
        case "GaussianNoise":
            return dp.GaussianDpEvent(float(number(record, "sigma") / number(record, "l2")))
    raise Missing("not offered")


def charge(parts: Parts, event: Record, rule: str, delta: float) -> Callable[[], Callable[[], object]]:
    """Return an accountant that has composed the parts, afresh each time, to compose one more event and read ε."""
    ledger, new = pld.PLDAccountant() if rule == "pld" else rdp.RdpAccountant(), dp_event(event)
    for record, count in parts:
        ledger.compose(dp_event(record), count)

    def another() -> Callable[[], object]:
        mine = deepcopy(ledger)
        return lambda: mine.compose(new).get_epsilon(delta)

    return another


if __name__ == "__main__":
    serve("dp_accounting", {"dp-accounting": version("dp-accounting")}, epsilon, charge)
