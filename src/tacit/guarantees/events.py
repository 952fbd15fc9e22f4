"""What was run: frozen records that accountants price later.

An event says which law was drawn with which parameters, in grid steps and exact rationals, never an ε that
somebody computed from it. `neighbours` is set where the mechanism itself fixes the relation.

An event is written as one JSON object, `{"event": name, "version": 1, field: value, …}`, rationals as "a/b".
What was written once is read for ever: a golden file in the tests holds one of each. A reader refuses a name,
a version or a field that it does not know, since it could not price it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from tacit.errors import InvalidError, show
from tacit.guarantees.exact import to_fraction, whole

Neighbours = Literal["add/remove", "change one"]

VERSION = 1

_MOST_BITS, _LONGEST = 6000, 4000
_RATIONAL = re.compile(r"-?[0-9]+(/[0-9]+)?")


class _Record:
    """Checks that every event shares: amounts are rationals > 0, counts whole numbers ≥ 1, δ a probability.

    Only the ε of an (ε,δ) event may be 0: it may give all away with probability δ and else nothing.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        """Make every amount exact, or refuse it by name."""
        for field in fields(self):  # type: ignore[arg-type]  # every child is a dataclass
            given = getattr(self, field.name)
            free = field.name == "epsilon" and isinstance(self, ApproxRelease)
            object.__setattr__(self, field.name, _checked(field.name, given, zero=free))


def _checked(name: str, given: object, *, zero: bool) -> object:
    if name == "neighbours":
        if given is not None and given not in get_args(Neighbours):
            raise InvalidError(name, show(given), "'add/remove', 'change one' or left out")
        return given
    if name == "of":
        return _base(given)
    if name in ("l2_squared", "coordinates"):
        number = whole(given)
        if number is None or number < 1:
            raise InvalidError(name, show(given), "a whole number ≥ 1")
        return number
    want = f"a finite number {'≥' if zero else '>'} 0" + {"delta": " and < 1", "rate": " and ≤ 1"}.get(name, "")
    amount = to_fraction(given, name, want)
    if max(amount.numerator.bit_length(), amount.denominator.bit_length()) > _MOST_BITS:
        raise InvalidError(name, "a fraction of more digits than a ledger keeps", f"{want} of at most 1,800 digits")
    small = amount < 0 if zero else amount <= 0
    if small or (name == "delta" and amount >= 1) or (name == "rate" and amount > 1):
        raise InvalidError(name, show(given), want)
    return amount


def _base(given: object) -> Unsampled:
    """Return what may be run on a sample, under the relation for which sampling is understood."""
    given = getattr(given, "event", given)  # a mechanism stands for its event
    if not isinstance(given, get_args(Unsampled)):
        if isinstance(given, PoissonSampled):
            raise InvalidError("of", "an event that is sampled itself", "one that is not: multiply the rates")
        raise InvalidError("of", show(given), "a mechanism or its event")
    if getattr(given, "neighbours", None) == "change one":
        raise InvalidError("of", "one under 'change one'", "one under 'add/remove', as for Poisson samples")
    return given  # type: ignore[no-any-return]  # one of the Unsampled classes


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceNoise(_Record):
    """Independent discrete Laplace noise on integers that move by at most `l1` in L1.

    `coordinates` bounds how many of them can move at all; with 1 the shift is scalar.
    """

    scale: Fraction
    l1: Fraction
    coordinates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianNoise(_Record):
    """Independent discrete Gaussian noise on integers that move by at most √`l2_squared` in L2.

    `coordinates` bounds how many of them can move at all; with 1 the shift is scalar.
    """

    variance: Fraction
    l2_squared: int
    coordinates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise(_Record):
    """Continuous Laplace noise on one real that moves by at most `l1`; tacit draws the discrete law."""

    scale: Fraction
    l1: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise(_Record):
    """Independent continuous Gaussian noise on reals that move by at most `l2` in L2; tacit draws the discrete law."""

    sigma: Fraction
    l2: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRange(_Record):
    """A selection whose privacy loss lies in an interval of length `epsilon` (exponential mechanism).

    With a monotone score that holds under "add/remove" only, which `neighbours` then says.
    """

    epsilon: Fraction
    neighbours: Neighbours | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PureRelease(_Record):
    """Anything ε-DP of which no more is used: permute-and-flip, noisy max, above threshold."""

    epsilon: Fraction
    neighbours: Neighbours | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedBit(_Record):
    """One bit kept with probability e^ε/(1+e^ε).

    The number of bits is public where a list of them is released: `neighbours` is then "change one".
    """

    epsilon: Fraction
    neighbours: Neighbours | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxRelease(_Record):
    """Anything (ε,δ)-DP of which no more is used: smooth sensitivity, propose-test-release."""

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours | None = None


Unsampled: TypeAlias = (
    DiscreteLaplaceNoise
    | DiscreteGaussianNoise
    | LaplaceNoise
    | GaussianNoise
    | BoundedRange
    | PureRelease
    | RandomizedBit
    | ApproxRelease
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampled(_Record):
    """An event run on a sample that has each unit with probability `rate`, by a coin of its own that stays secret.

    Its relation is "add/remove": the size of such a sample is random, and is not told.
    """

    rate: Fraction
    of: Unsampled

    @property
    def neighbours(self) -> Neighbours:
        """The relation that sampling is understood for."""
        return "add/remove"


Event: TypeAlias = Unsampled | PoissonSampled

_KNOWN: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def to_json(event: Event) -> str:
    """Write an event as one line of JSON, always the same for equal events.

    >>> to_json(PureRelease(epsilon=Fraction(1, 3)))
    '{"epsilon":"1/3","event":"PureRelease","version":1}'
    """
    return json.dumps(_written(event), sort_keys=True, separators=(",", ":"))


def _written(event: Event) -> dict[str, object]:
    parts: dict[str, object] = {"event": type(event).__name__, "version": VERSION}
    for field in fields(event):
        value = getattr(event, field.name)
        if isinstance(value, _Record):
            parts[field.name] = _written(value)  # type: ignore[arg-type]  # every record is an event
        elif value is not None:
            parts[field.name] = str(value) if isinstance(value, Fraction) else value
    return parts


def from_json(text: str) -> Event:
    """Read an event that `to_json` wrote; refuse what this version does not know.

    >>> from_json('{"epsilon":"1/3","event":"PureRelease","version":1}')
    PureRelease(epsilon=Fraction(1, 3), neighbours=None)
    """
    return _read(_object(text))


def _read(parts: dict[str, object]) -> Event:
    version, name = parts.pop("version", None), parts.pop("event", None)
    if whole(version) != VERSION:
        want = f"{VERSION}, the version this program reads (update the program if it is a newer one)"
        raise InvalidError("version", show(version), want)
    kind = _KNOWN.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidError("event", show(name), f"one of {', '.join(sorted(_KNOWN))}")
    allowed = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if not needed <= parts.keys() <= allowed:
        raise InvalidError(kind.__name__, f"fields {', '.join(sorted(parts))}", f"made of {', '.join(sorted(allowed))}")
    build: Callable[..., Event] = kind
    return build(**{key: _value(key, value) for key, value in parts.items()})


def _object(text: str) -> dict[str, object]:
    try:
        given: object = text
        parts = json.loads(given, object_pairs_hook=_once) if isinstance(given, str) else None
    except (ValueError, TypeError, RecursionError):
        parts = None
    if not isinstance(parts, dict):
        raise InvalidError("event", "no JSON object", "one JSON object, as `to_json` writes it")
    return parts


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object's fields; a field that stands twice could be read in two ways."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a field twice")
    return dict(pairs)


def _value(key: str, value: object) -> object:
    """Return a field's value; a rational is text "a/b", and nothing else is text but the relation."""
    if key == "of" and isinstance(value, dict) and value.get("event") != PoissonSampled.__name__:
        return _read(dict(value))
    if not isinstance(value, str) or key == "neighbours":
        return value
    if len(value) > _LONGEST or not _RATIONAL.fullmatch(value):
        return value
    try:
        return Fraction(value)
    except ZeroDivisionError:
        return value
