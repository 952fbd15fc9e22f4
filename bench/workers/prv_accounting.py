"""Run prv-accountant, Microsoft's library: privacy random variables, with given errors in ε and δ."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from math import sqrt
from typing import Any

import prv_accountant as prv  # type: ignore[import-not-found]  # installed in the library's environment only
from accounting_serve import Ends, Parts, Record, serve
from serve import Missing

SHARE = 1e-3  # the error in δ as a share of δ, which the documentation calls typical


def variable(record: Record) -> Any:  # noqa: ANN401 - the library has no types
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
    raise Missing("not supported")


def merged(parts: Parts) -> Parts:
    """Return the parts with different Gaussians merged into one, which the library leaves to its user."""
    gaussians = [(record, count) for record, count in parts if record["event"] == "GaussianNoise"]
    if len(gaussians) < 2:
        return parts
    square = sum(n * (Fraction(str(r["l2"])) / Fraction(str(r["sigma"]))) ** 2 for r, n in gaussians)
    gaussian: Record = {"event": "GaussianNoise", "sigma": 1 / Fraction(sqrt(square)), "l2": 1}
    return [part for part in parts if part[0]["event"] != "GaussianNoise"] + [(gaussian, 1)]


def epsilon(parts: Parts, delta: float, error: float) -> Callable[[], Ends]:
    """Return a function that computes a lower and an upper bound on ε to a given error."""

    def run() -> Ends:
        all_parts = merged(parts)
        variables, counts = [variable(record) for record, _ in all_parts], [count for _, count in all_parts]
        accountant = prv.PRVAccountant(variables, error, SHARE * delta, max_self_compositions=counts)
        lower, _, upper = accountant.compute_epsilon(delta, counts)
        return float(lower), float(upper)

    return run


if __name__ == "__main__":
    serve("prv_accountant", {"prv-accountant": version("prv-accountant")}, epsilon)
