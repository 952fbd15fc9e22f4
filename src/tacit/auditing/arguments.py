"""Checks of the arguments of an audit, the division of its error, and the call that repeats it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from secrets import randbits
from typing import TypeAlias, cast

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import to_fraction, whole
from tacit.mechanisms.validation import failure

Pair: TypeAlias = tuple[object, object]

MISSING: object = object()
_FEWEST_RUNS, _MOST_RUNS = 8, 10**8
_LEAST_ERROR = Fraction(1, 10**100)
_SEED_BITS, _LONGEST = 32, 60
_EXAMPLE = "Write tc.audit(release, data, neighbour)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claimed guarantee; ε is None if nothing is claimed."""

    epsilon: Fraction | None
    delta: Fraction

    def refuted_by(self, bound: float) -> bool:
        """Return whether a lower bound is above the claimed ε."""
        return self.epsilon is not None and Fraction(bound) > self.epsilon


def read_function(value: object, argument: str) -> Callable[..., object]:
    """Return a value that can be called."""
    if callable(value):
        return value
    raise bad_value(argument, value, "a function", hint=_EXAMPLE if argument == "release" else None)


def read_claim(epsilon: object, delta: object) -> Claim:
    """Return the claimed guarantee."""
    claimed = None if epsilon is None else to_fraction(epsilon, "epsilon", "a number ≥ 0")
    if claimed is not None and claimed < 0:
        raise bad_value("epsilon", epsilon, "a number ≥ 0")
    share = to_fraction(delta, "delta", "a number from 0 to below 1")
    if not 0 <= share < 1:
        raise bad_value("delta", delta, "a number from 0 to below 1")
    return Claim(epsilon=claimed, delta=share)


def read_error(confidence: object) -> Fraction:
    """Return α = 1 - confidence, at most 1/2, for which the bounds are proved."""
    alpha = failure(confidence)
    if not _LEAST_ERROR <= alpha <= Fraction(1, 2):
        raise bad_value("confidence", confidence, "a number from 0.5 to 1 - 1e-100")
    return alpha


def read_runs(samples: object) -> int:
    """Return the number of runs on each input."""
    runs = whole(samples)
    if runs is None or not _FEWEST_RUNS <= runs <= _MOST_RUNS:
        raise bad_value("samples", samples, f"a whole number from {_FEWEST_RUNS} to {_MOST_RUNS:,}")
    return runs


def read_seconds(seconds: object) -> float | None:
    """Return a time limit."""
    if seconds is None:
        return None
    limit = to_fraction(seconds, "seconds", "a number > 0")
    if limit <= 0:
        raise bad_value("seconds", seconds, "a number > 0")
    return float(limit)


def read_seed(seed: object) -> int:
    """Return the seed, drawn if it is None."""
    number = randbits(_SEED_BITS) if seed is None else whole(seed)
    if number is None or number < 0:
        raise bad_value("seed", seed, "a whole number ≥ 0")
    return number


def read_pairs(on: object, against: object, pairs: object, alpha: Fraction) -> Iterator[tuple[Pair, Fraction]]:
    """Return pairs of inputs with their shares of the error; the shares add up to at most `alpha`."""
    given = [name for name, value in (("on", on), ("against", against)) if value is not MISSING]
    if pairs is None:
        if len(given) == 2:  # noqa: PLR2004 - both inputs
            return iter([((on, against), alpha)])
        missing = "on" if "on" not in given else "against"
        raise InvalidError(f"The audit needs the input {missing}.", argument=missing, hint=_EXAMPLE)
    if given:
        hint = "Give either on and against, or pairs."
        raise InvalidError(f"{given[0]} and pairs exclude each other.", argument="pairs", hint=hint)
    if isinstance(pairs, (str, bytes, Mapping)) or not isinstance(pairs, Iterable):
        raise bad_value("pairs", pairs, "a list or a generator of pairs (on, against)")
    if isinstance(pairs, Sequence):
        return iter([(_pair(pair, number), alpha / len(pairs)) for number, pair in enumerate(pairs)])
    return ((_pair(pair, number), alpha / ((number + 1) * (number + 2))) for number, pair in enumerate(pairs))


def _pair(pair: object, number: int) -> Pair:
    if isinstance(pair, (tuple, list)) and len(pair) == 2:  # noqa: PLR2004 - a pair
        return cast("Pair", tuple(pair))
    raise bad_value(f"pair {number + 1}", pair, "a pair (on, against)")


def reproduction(release: Callable[..., object], inputs: Pair | None, options: Mapping[str, object]) -> str:
    """Return the call that repeats an audit; inputs that are long have their argument's name."""
    name = _name(release)
    words = [name, *(map(_shown, inputs, ("data", "neighbour")) if inputs else ["pairs=pairs"])]
    for option, value in options.items():
        if value is not None:
            words.append(f"{option}={getattr(value, '__name__', None) or _shown(value, option)}")
    return f"tc.audit({', '.join(words)})"


def _name(release: Callable[..., object]) -> str:
    """Return the name of a function, or the object and the name of its method."""
    owner = getattr(release, "__self__", None)
    if owner is not None and len(repr(owner)) <= _LONGEST:
        return f"{owner!r}.{getattr(release, '__name__', '')}"
    return str(getattr(release, "__qualname__", type(release).__name__))


def _shown(value: object, name: str) -> str:
    text = repr(value) if isinstance(value, (str, int, float, list, tuple, dict, type(None))) else name
    return text if len(text) <= _LONGEST else name
