"""`tacit release`: noise on numbers that the caller already has.

The numbers are not in any database, so nothing is charged. The sensitivity is the caller's claim.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.cli.numbers import parameter, parsed
from tacit.cli.output import put, put_json, say
from tacit.errors import InvalidError, bad_value, suggestion
from tacit.mechanisms import Gaussian, Laplace
from tacit.query.formatting import amounts, grouped, percent, plain, spell

Mechanism = Laplace | Gaussian

_KINDS = {"laplace": ("epsilon", "scale"), "gaussian": ("epsilon", "delta", "rho", "sigma")}
"""The parameters of each mechanism."""
_AMOUNTS = {"laplace": ("epsilon", "scale"), "gaussian": ("epsilon", "rho", "sigma")}
"""The parameters that fix the noise; exactly one must be given."""
_STDIN = "-"
_MOST = 1_000_000
HISTORY = (
    "The numbers that you typed are the true ones, and they stay in the history of your shell. "
    "To avoid that, pipe them: tacit release - reads standard input."
)
UNCHARGED = "No ledger was charged. The costs of all releases about the same units add up."


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseOptions:
    """The options of `tacit release` that fix the noise, as they were typed."""

    mechanism: str
    sensitivity: str | None
    epsilon: str | None = None
    delta: str | None = None
    rho: str | None = None
    scale: str | None = None
    sigma: str | None = None

    def make(self, outputs: int) -> Mechanism:
        """Return the mechanism for a number of outputs; raise InvalidError on contradictory options."""
        if self.mechanism not in _KINDS:
            hint = suggestion(self.mechanism, _KINDS)
            raise bad_value("--mechanism", self.mechanism, "laplace or gaussian", hint=hint)
        size = parameter(self.checked_sensitivity(), "--sensitivity")
        given = {name: getattr(self, name) for name in ("epsilon", "delta", "rho", "scale", "sigma")}
        numbers = {name: parameter(text, f"--{name}") for name, text in given.items() if text is not None}
        for name in numbers:
            if name not in _KINDS[self.mechanism]:
                message = f"--{name} has no effect with --mechanism {self.mechanism}."
                hint = "Use --mechanism gaussian." if name in _KINDS["gaussian"] else "Remove it."
                raise InvalidError(message, argument=f"--{name}", hint=hint)
        _check_amount(self.mechanism, numbers)
        count = 1 if isinstance(size, int) else outputs  # integers may have any shape
        if self.mechanism == "laplace":
            return Laplace(sensitivity=size, outputs=count, **numbers)  # type: ignore[arg-type]  # it checks
        return Gaussian(sensitivity=size, outputs=count, **numbers)  # type: ignore[arg-type]  # it checks

    def checked_sensitivity(self) -> str:
        """Return the sensitivity, or raise InvalidError if it is not given."""
        if self.sensitivity is not None:
            return self.sensitivity
        hint = "It is how far one unit moves the number. For a count of units, pass --sensitivity 1."
        raise InvalidError("--sensitivity is missing.", argument="--sensitivity", hint=hint)


def _check_amount(mechanism: str, given: Mapping[str, object]) -> None:
    """Check that exactly one parameter fixes the noise, and that --delta is with --epsilon."""
    allowed = [f"--{name}" for name in _AMOUNTS[mechanism]]
    names = [name for name in allowed if name[2:] in given]
    if len(names) != 1:
        problem = f"{' and '.join(names)} exclude each other." if names else f"{' or '.join(allowed)} is missing."
        raise InvalidError(problem, argument=" or ".join(allowed), hint=f"Pass exactly one of {', '.join(allowed)}.")
    if mechanism == "gaussian" and names == ["--epsilon"] and "delta" not in given:
        hint = "Pass --delta with --epsilon, or pass --rho."
        raise InvalidError("--delta is missing: --epsilon needs it.", argument="--delta", hint=hint)


def release(texts: Sequence[str], options: NoiseOptions, *, confidence: float, json: bool) -> None:
    """Read the numbers, add noise, and print the released ones."""
    values, typed = _read(texts)
    mechanism = options.make(len(values))
    sensitivity = options.checked_sensitivity()
    if isinstance(parsed(sensitivity), int):
        _check_whole(values, sensitivity)
    error = mechanism.error(confidence=confidence, outputs=len(values))
    result = mechanism.release(values if len(values) > 1 else values[0])
    released = np.asarray(result).reshape(-1).tolist()
    if json:
        put_json(_as_json(mechanism, released, error, confidence, typed=typed))
        return
    for number in released:
        put(repr(number))
    sys.stdout.flush()
    _explain(mechanism, len(values), error, confidence, typed=typed)


def _read(texts: Sequence[str]) -> tuple[list[int | float], bool]:
    """Return the true numbers, and whether they were typed. Errors do not repeat them."""
    typed = list(texts) != [_STDIN]
    words = list(texts) if typed else sys.stdin.read().split()
    if not 1 <= len(words) <= _MOST:
        raise InvalidError(f"There must be from 1 to {_MOST:,} numbers, not {len(words):,}.", argument="VALUES")
    numbers = [parsed(word) for word in words]
    wrong = next((place for place, number in enumerate(numbers, 1) if number is None), None)
    if wrong is not None:
        hint = "Write numbers such as 337, 2.5 or 1e-6. A negative number needs -- before it: tacit release … -- -3."
        raise InvalidError(f"Value {wrong} is not a number of at most 15 digits.", argument="VALUES", hint=hint)
    return [number for number in numbers if number is not None], typed


def _check_whole(values: Sequence[int | float], sensitivity: str) -> None:
    if all(isinstance(value, int) for value in values):
        return
    raise InvalidError(
        f"--sensitivity {sensitivity} is for whole numbers, and a value has a point or an exponent.",
        argument="--sensitivity",
        hint=f"Write --sensitivity {sensitivity}.0 for reals.",
    )


def law(mechanism: Mechanism) -> dict[str, object]:
    """Return the name and the parameters of the noise."""
    if isinstance(mechanism, Laplace):
        name, size = "discrete Laplace", {"scale": mechanism.scale}
    else:
        name, size = "discrete Gaussian", {"sigma": mechanism.sigma}
    return {"name": name, **size, "std": mechanism.std, "granularity": mechanism.granularity}


def _law_text(mechanism: Mechanism) -> str:
    """Return the law in words, with its formula."""
    spread = f"Its standard deviation is {plain(mechanism.std)}."
    step = "" if mechanism.granularity == 1 else f" on multiples of {mechanism.granularity:.3g}"
    if isinstance(mechanism, Laplace):
        formula = f"Pr[noise = k] is proportional to e^(-|k|/{plain(mechanism.scale)})"
        return f"Law: discrete Laplace noise of scale {plain(mechanism.scale)}{step}; {formula}. {spread}"
    square = plain(2 * mechanism.sigma**2)
    formula = f"Pr[noise = k] is proportional to e^(-k²/{square})"
    return f"Law: discrete Gaussian noise with σ = {plain(mechanism.sigma)}{step}; {formula}. {spread}"


def _explain(mechanism: Mechanism, count: int, error: float, confidence: float, *, typed: bool) -> None:
    """Print the error, the law, the guarantee and what was not charged."""
    truth = "the true number" if count == 1 else f"the true numbers, all {count:,} at once,"
    say(f"Within ± {grouped(error)} of {truth} with probability {percent(confidence)}.")
    say(_law_text(mechanism))
    moved = "the number" if count == 1 else f"the {count:,} numbers together"
    norm = "" if count == 1 else (" in L1" if isinstance(mechanism, Laplace) else " in L2")
    size = grouped(float(mechanism.sensitivity))
    say(f"Guarantee: {spell(mechanism.guarantee)}, if one unit moves {moved} by at most {size}{norm}.")
    say(UNCHARGED)
    if typed:
        say(HISTORY)


def _as_json(
    mechanism: Mechanism, released: list[int | float], error: float, confidence: float, *, typed: bool
) -> dict[str, object]:
    return {
        "released": released,
        "error": error,
        "confidence": confidence,
        "mechanism": repr(mechanism),
        "law": law(mechanism),
        "guarantee": amounts(mechanism.guarantee),
        "sensitivity": float(mechanism.sensitivity),
        "warnings": [UNCHARGED, *([HISTORY] if typed else [])],
    }
