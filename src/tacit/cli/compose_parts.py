"""`tacit compose`: the cost of several releases together.

A part is `KIND:NAME=VALUE,NAME=VALUE`, or the values of a guarantee without a kind: `epsilon=0.5,delta=1e-6`. `x100`
after a part repeats it 100 times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from tacit.cli.numbers import parameter, parsed, rounded_down, rounded_up
from tacit.cli.output import put, put_json, say
from tacit.errors import InvalidError, TacitError, bad_value, show_name, suggestion
from tacit.guarantees.composition import Composition, Item
from tacit.guarantees.composition import compose as composed
from tacit.guarantees.pld import Bounds
from tacit.guarantees.values import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from tacit.mechanisms import Exponential, Gaussian, Laplace, NoisyMax, PermuteAndFlip, RandomizedResponse

_REPEATED = re.compile(r"[x×]([0-9]{1,10})")
_KINDS: dict[str, Callable[..., Item]] = {
    "laplace": Laplace,
    "gaussian": Gaussian,
    "exponential": Exponential,
    "permute-and-flip": PermuteAndFlip,
    "noisy-max": NoisyMax,
    "response": RandomizedResponse,
    "pure": PureDP,
    "approx": ApproxDP,
    "zcdp": ZCDP,
    "renyi": RenyiDP,
    "gdp": GaussianDP,
}
_NAMES = ("epsilon", "delta", "rho", "mu", "alpha", "sensitivity", "scale", "sigma")
_GUARANTEES: dict[frozenset[str], str] = {
    frozenset({"epsilon"}): "pure",
    frozenset({"epsilon", "delta"}): "approx",
    frozenset({"rho"}): "zcdp",
    frozenset({"alpha", "epsilon"}): "renyi",
    frozenset({"mu"}): "gdp",
}
_SENSITIVE = ("laplace", "gaussian", "exponential", "permute-and-flip", "noisy-max")
_PLAIN = {"": "epsilon", "zcdp": "rho", "gaussian": "rho", "gdp": "mu"} | dict.fromkeys(
    ("laplace", "exponential", "permute-and-flip", "noisy-max", "response", "pure"), "epsilon"
)
"""The parameter that a number without a name most likely is."""
_FORM = "laplace:epsilon=0.1, gaussian:sigma=2,sensitivity=1 or epsilon=0.5,delta=1e-6"
FIXED = "This holds for releases that were fixed before any answer was seen. Otherwise, keep a ledger."


@dataclass(frozen=True, slots=True)
class Part:
    """One release and the number of its uses."""

    item: Item
    uses: int


def read_parts(words: Sequence[str]) -> list[Part]:
    """Return the releases that the words describe.

    >>> [(part.item, part.uses) for part in read_parts(["laplace:epsilon=0.1", "x100", "rho=0.5"])]
    [(Laplace(sensitivity=1, epsilon=0.1), 100), (ZCDP(rho=0.5), 1)]
    """
    parts: list[Part] = []
    repeated = True
    for word in words:
        times = _REPEATED.fullmatch(word)
        if times is None:
            parts.append(Part(_item(word), 1))
        elif repeated:
            message = f"{show_name(word)} does not follow a release."
            raise InvalidError(message, argument="PARTS", hint=f"Write it after one: laplace:epsilon=0.1 {word}.")
        else:
            parts[-1] = Part(parts[-1].item, int(times[1]))
        repeated = times is not None
    return parts


def _item(word: str) -> Item:
    """Return the mechanism or the guarantee of one word."""
    kind, colon, rest = word.rpartition(":")
    values = _values(rest, word)
    name = kind.lower() if colon else _GUARANTEES.get(frozenset(values), "")
    if name not in _KINDS:
        hint = suggestion(name, _KINDS) or f"Write {_FORM}. The kinds are {', '.join(_KINDS)}."
        raise InvalidError(f"Unknown release {show_name(word)}.", argument="PARTS", hint=hint)
    if name in _SENSITIVE and "sensitivity" not in values:
        if not values.keys() & {"epsilon", "rho"}:
            message = f"{show_name(word)} needs a sensitivity: the cost of a given noise depends on it."
            raise InvalidError(message, argument="PARTS", hint=f"Write {word},sensitivity=1.")
        values = {"sensitivity": 1, **values}
    try:
        return _KINDS[name](**values)
    except TacitError as error:
        raise InvalidError(f"{show_name(word)}: {error.message}", argument="PARTS", hint=error.hint) from None


def _values(text: str, word: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for pair in text.split(","):
        name, equals, number = pair.partition("=")
        key = {"ε": "epsilon", "δ": "delta", "ρ": "rho", "μ": "mu", "α": "alpha", "σ": "sigma"}.get(name, name)
        if not equals:
            raise _unnamed(text, word)
        if key not in _NAMES or key in values:
            problem = "occurs twice" if key in values else "is not a parameter"
            hint = suggestion(key, _NAMES) or f"The parameters are {', '.join(_NAMES)}."
            hint = "Remove one of them." if key in values else hint
            raise InvalidError(f"{show_name(name)} in {show_name(word)} {problem}.", argument="PARTS", hint=hint)
        values[key] = parameter(number, name)
    return values


def _unnamed(text: str, word: str) -> InvalidError:
    """Return the error about a part whose value has no name."""
    kind, colon, _ = word.rpartition(":")
    name = _PLAIN.get(kind.lower())
    if name is None or parsed(text) is None:
        return bad_value("PARTS", word, _FORM)
    message = f"The number in {show_name(word)} has no name."
    return InvalidError(message, argument="PARTS", hint=f"Write {kind}{colon}{name}={text}.")


def compose(words: Sequence[str], *, delta: str | None, epsilon: str | None, rule: str, json: bool) -> None:
    """Print the ε of all parts at a δ, or their δ at an ε."""
    if delta is not None and epsilon is not None:
        raise InvalidError("--delta and --epsilon exclude each other.", argument="--delta", hint="Pass one of them.")
    parts = read_parts(words)
    total = composed([(part.item, part.uses) for part in parts])
    at = parameter(epsilon if delta is None else delta, "--delta" if epsilon is None else "--epsilon")
    bounds = _total(total, at, rule, in_delta=epsilon is not None)
    if json:
        put_json(_as_json(parts, bounds, at, rule, in_delta=epsilon is not None))
        return
    wanted, known = ("δ", "ε") if epsilon is not None else ("ε", "δ")
    put(f"{wanted} = {rounded_up(bounds.upper)} at {known} = {0 if at is None else at}")
    say(f"Rule {rule}: {_certainty(bounds)}.")
    for part in parts:
        say(f"  {part.uses:,} × {part.item!r}")
    say(FIXED)


def _total(total: Composition, at: float | None, rule: Any, *, in_delta: bool) -> Bounds:  # noqa: ANN401 - it checks
    if in_delta:
        return total.delta(epsilon=0 if at is None else at, rule=rule)
    bounds = total.epsilon(delta=0 if at is None else at, rule=rule)
    if bounds.upper == inf:
        raise InvalidError(
            f"These releases have no finite ε at δ = {0 if at is None else at}.",
            argument="--delta",
            hint="Pass a larger --delta, such as --delta 1e-6.",
        )
    return bounds


def _certainty(bounds: Bounds) -> str:
    """Return what is known about the total."""
    if bounds.lower == bounds.upper:
        return "exact"
    if bounds.lower == 0:
        return "an upper bound"
    return f"the least value is certified to be between {rounded_down(bounds.lower)} and {rounded_up(bounds.upper)}"


def _as_json(
    parts: Sequence[Part], bounds: Bounds, at: float | None, rule: str, *, in_delta: bool
) -> dict[str, object]:
    wanted, known = ("delta", "epsilon") if in_delta else ("epsilon", "delta")
    return {
        wanted: {"lower": bounds.lower, "upper": bounds.upper},
        known: 0 if at is None else at,
        "rule": rule,
        "parts": [{"release": repr(part.item), "uses": part.uses} for part in parts],
        "warnings": [FIXED],
    }
