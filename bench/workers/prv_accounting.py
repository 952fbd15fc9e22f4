"""prv-accountant, Microsoft's library: privacy random variables, with errors in ε and δ that are asked for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from math import sqrt
from typing import Any

import prv_accountant as prv  # type: ignore[import-not-found]  # lives in the peer's own environment
from accounting_serve import Ends, Parts, Record, serve
from serve import Missing

SHARE = 1e-3  # of δ, as its error: what its documentation calls typical


def variable(record: Record) -> Any:  # noqa: ANN401 - the peer has no types
    """Return an event's privacy random variable."""
    amount = {key: Fraction(str(value)) for key, value in record.items() if key not in ("event", "of")}
    match record:
        case {"event": "LaplaceNoise"}:
            return prv.LaplaceMechanism(mu=float(amount["l1"] / amount["scale"]))
        case {"event": "GaussianNoise"}:
            return prv.GaussianMechanism(noise_multiplier=float(amount["sigma"] / amount["l2"]))
        case {"event": "RandomizedBit"}:
            return prv.PureDPMechanism(eps=float(amount["epsilon"]))
        case {"event": "DiscreteLaplaceNoise", "l1": "1", "coordinates": 1}:  # the same law as a randomized bit
            return prv.PureDPMechanism(eps=float(1 / amount["scale"]))
        case {"event": "PoissonSampled", "of": {"event": "GaussianNoise", "sigma": sigma, "l2": l2}}:
            ratio = float(Fraction(str(sigma)) / Fraction(str(l2)))
            return prv.PoissonSubsampledGaussianMechanism(
                sampling_probability=float(amount["rate"]), noise_multiplier=ratio
            )
    raise Missing("not offered")


def merged(parts: Parts) -> Parts:
    """Return the parts with all Gaussians but equal ones merged into one, which the library leaves to its user."""
    gaussians = [(record, count) for record, count in parts if record["event"] == "GaussianNoise"]
    if len(gaussians) < 2:
        return parts
    square = sum(n * (Fraction(str(r["l2"])) / Fraction(str(r["sigma"]))) ** 2 for r, n in gaussians)
    one: Record = {"event": "GaussianNoise", "sigma": 1 / Fraction(sqrt(square)), "l2": 1}
    return [part for part in parts if part[0]["event"] != "GaussianNoise"] + [(one, 1)]


def epsilon(parts: Parts, delta: float, error: float) -> Callable[[], Ends]:
    """Return the pricing of all parts to an error in ε."""

    def run() -> Ends:
        whole = merged(parts)
        variables, counts = [variable(record) for record, _ in whole], [count for _, count in whole]
        accountant = prv.PRVAccountant(variables, error, SHARE * delta, max_self_compositions=counts)
        lower, _, upper = accountant.compute_epsilon(delta, counts)
        return float(lower), float(upper)

    return run


if __name__ == "__main__":
    serve("prv_accountant", {"prv-accountant": version("prv-accountant")}, epsilon)
