"""Events: frozen records of what was run, which accountants price later.

An event states the law that was drawn and its parameters, in grid steps and exact rationals. It never states an ε that
was computed from them. `neighbours` is set if the mechanism itself fixes the relation.

An event is written as one JSON object, `{"event": name, "version": 1, field: value, …}`, with rationals as "a/b".
Later versions must read everything that was ever written: a golden file in the tests holds one of each event. A reader
raises InvalidError for an unknown name, version or field, because it could not price the event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from tacit.errors import InvalidError, bad_value, show
from tacit.guarantees.exact import to_fraction, whole
from tacit.notebook import ShownAsFields

Neighbours = Literal["add/remove", "change one"]

VERSION = 1

_MOST_BITS, _LONGEST = 6000, 4000
_RATIONAL = re.compile(r"-?[0-9]+(/[0-9]+)?")


class _Record(ShownAsFields):
    """The checks that all events share: amounts are rationals > 0, counts whole numbers ≥ 1, δ a probability.

    Only the ε of an (ε,δ) event may be 0: such an event reveals everything with probability δ, and else nothing.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        """Make every amount exact; raise InvalidError if one is out of range."""
        for field in fields(self):  # type: ignore[arg-type]  # every child is a dataclass
            value = getattr(self, field.name)
            zero = field.name == "epsilon" and isinstance(self, ApproxRelease)
            object.__setattr__(self, field.name, _checked(field.name, value, zero=zero))


def _checked(name: str, value: object, *, zero: bool) -> object:
    if name == "neighbours":
        if value is not None and value not in get_args(Neighbours):
            raise bad_value(name, value, "'add/remove', 'change one' or None")
        return value
    if name == "of":
        return _unsampled(value)
    if name in ("l2_squared", "coordinates"):
        number = whole(value)
        if number is None or number < 1:
            raise bad_value(name, value, "a whole number ≥ 1")
        return number
    requirement = f"a finite number {'≥' if zero else '>'} 0" + {"delta": " and < 1", "rate": " and ≤ 1"}.get(name, "")
    amount = to_fraction(value, name, requirement)
    if max(amount.numerator.bit_length(), amount.denominator.bit_length()) > _MOST_BITS:
        message = f"{name} is a fraction with more than 1,800 digits, which a ledger does not store."
        raise InvalidError(message, argument=name, hint="Round it to fewer digits.")
    small = amount < 0 if zero else amount <= 0
    if small or (name == "delta" and amount >= 1) or (name == "rate" and amount > 1):
        raise bad_value(name, value, requirement)
    return amount


def _unsampled(value: object) -> Unsampled:
    """Return the event to run on a sample, under the relation for which sampling is defined."""
    event = getattr(value, "event", value)  # a mechanism means its event
    if isinstance(event, PoissonSampled):
        raise InvalidError(
            "Cannot sample an event that is already sampled.", argument="of", hint="Multiply the two sampling rates."
        )
    if not isinstance(event, get_args(Unsampled)):
        raise bad_value("of", event, "a mechanism or its event")
    if getattr(event, "neighbours", None) == "change one":
        raise InvalidError(
            "Cannot put an event under neighbours = 'change one' on a Poisson sample.",
            argument="of",
            hint="Use an event that holds under 'add/remove'.",
        )
    return event  # type: ignore[no-any-return]  # one of the Unsampled classes


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceNoise(_Record):
    """Independent discrete Laplace noise on integers that move by at most `l1` in L1.

    `coordinates` bounds how many of them can move at all; with 1 the shift is scalar.

    Attributes:
        scale: the scale of the noise.
        l1: the largest L1 distance of neighbours' integers.
    """

    scale: Fraction
    l1: Fraction
    coordinates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianNoise(_Record):
    """Independent discrete Gaussian noise on integers that move by at most √`l2_squared` in L2.

    `coordinates` bounds how many of them can move at all; with 1 the shift is scalar.

    Attributes:
        variance: σ² of the noise.
        l2_squared: the square of the largest L2 distance of neighbours' integers.
    """

    variance: Fraction
    l2_squared: int
    coordinates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise(_Record):
    """Continuous Laplace noise on one real that moves by at most `l1`; tacit draws the discrete law.

    Attributes:
        scale: the scale of the noise.
        l1: the largest distance of neighbours' values.
    """

    scale: Fraction
    l1: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise(_Record):
    """Independent continuous Gaussian noise on reals that move by at most `l2` in L2; tacit draws the discrete law.

    Attributes:
        sigma: the standard deviation of the noise.
        l2: the largest L2 distance of neighbours' values.
    """

    sigma: Fraction
    l2: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRange(_Record):
    """A selection whose privacy loss is in an interval of length `epsilon` (exponential mechanism).

    With a monotone score this holds under "add/remove" only, and `neighbours` is then "add/remove".
    """

    epsilon: Fraction
    neighbours: Neighbours | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PureRelease(_Record):
    """Any ε-DP release, priced by its ε alone: permute-and-flip, noisy max, above threshold.

    Attributes:
        epsilon: the guarantee of the release.
        neighbours: the relation for which it holds; None for both.
    """

    epsilon: Fraction
    neighbours: Neighbours | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedBit(_Record):
    """One bit that is kept with probability e^ε/(1+e^ε).

    If a list of bits is released, their number is public: `neighbours` is then "change one".

    Attributes:
        epsilon: the guarantee of the bit.
    """

    epsilon: Fraction
    neighbours: Neighbours | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproxRelease(_Record):
    """Any (ε,δ)-DP release, priced by its (ε,δ) alone: smooth sensitivity, propose-test-release.

    Attributes:
        epsilon: ε of the guarantee.
        delta: δ of the guarantee.
        neighbours: the relation for which it holds; None for both.
    """

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
    """An event on a sample that takes each unit with probability `rate`, by independent coins that stay secret.

    Its relation is "add/remove": the size of such a sample is random and is not released.
    """

    rate: Fraction
    of: Unsampled

    @property
    def neighbours(self) -> Neighbours:
        """The relation for which sampling is defined."""
        return "add/remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZCDPRelease(_Record):
    """Any ρ-zCDP release, priced by its ρ alone: an answer whose noise depends on an earlier private choice.

    Attributes:
        rho: ρ of the guarantee.
        neighbours: the relation for which it holds; None for both.
    """

    rho: Fraction
    neighbours: Neighbours | None = None


LossEvent: TypeAlias = Unsampled | PoissonSampled
"""The events that have a privacy-loss law."""

Event: TypeAlias = LossEvent | ZCDPRelease

_KNOWN: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def to_json(event: Event) -> str:
    """Write an event as one line of JSON, always the same for equal events.

    >>> to_json(PureRelease(epsilon=Fraction(1, 3)))
    '{"epsilon":"1/3","event":"PureRelease","version":1}'
    """
    return json.dumps(_as_dict(event), sort_keys=True, separators=(",", ":"))


def _as_dict(event: Event) -> dict[str, object]:
    record: dict[str, object] = {"event": type(event).__name__, "version": VERSION}
    for field in fields(event):
        value = getattr(event, field.name)
        if isinstance(value, _Record):
            record[field.name] = _as_dict(value)  # type: ignore[arg-type]  # every record is an event
        elif value is not None:
            record[field.name] = str(value) if isinstance(value, Fraction) else value
    return record


def from_json(text: str) -> Event:
    """Read an event that `to_json` wrote; raise InvalidError if this version does not know it.

    >>> from_json('{"epsilon":"1/3","event":"PureRelease","version":1}')
    PureRelease(epsilon=Fraction(1, 3), neighbours=None)

    Args:
        text: the line of JSON.
    """
    return _read(_object(text))


def _read(record: dict[str, object]) -> Event:
    version, name = record.pop("version", None), record.pop("event", None)
    if whole(version) != VERSION:
        message = f"The event has version {show(version)}, but this program reads version {VERSION}."
        raise InvalidError(message, argument="version", hint="If the event is newer, update the program.")
    kind = _KNOWN.get(name) if isinstance(name, str) else None
    if kind is None:
        raise bad_value("event", name, f"one of {', '.join(sorted(_KNOWN))}")
    allowed = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if not needed <= record.keys() <= allowed:
        message = f"{kind.__name__} has the fields {', '.join(sorted(allowed))}, not {', '.join(sorted(record))}."
        raise InvalidError(message, argument=kind.__name__)
    build: Callable[..., Event] = kind
    return build(**{key: _value(key, value) for key, value in record.items()})


def _object(text: object) -> dict[str, object]:
    try:
        record = json.loads(text, object_pairs_hook=_without_duplicates) if isinstance(text, str) else None
    except (ValueError, TypeError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise InvalidError("An event must be one JSON object, as `to_json` writes it.", argument="event")
    return record


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object's fields. A field that occurs twice could be read in two ways, so it is an error."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a field twice")
    return dict(pairs)


def _value(key: str, value: object) -> object:
    """Return a field's value. A rational is text "a/b"; no other field is text, except the relation."""
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
