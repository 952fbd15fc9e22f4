"""Numbers and texts that are derived from one output of a release.

An event about a function of the output is an event about the output, so every deterministic function is allowed here,
and no choice of features can make an audit report too much. A feature that misses the fault makes it report too
little.

* Every output has its `type` and its `exception` (with `messages=True` also its `message`).
* A number has its `value`, `kind` ("nan", "inf", "-0.0", …), and for floats `lowest bit`, the exponent of the last
  bit that is 1, and `last digits`, its three last bits. Mironov (CCS 2012) distinguishes inputs of a float Laplace
  mechanism by such bits.
* A text has its value and its `length`.
* A list, tuple, array or set has its `length`, the features of its first items, and its `sum`, `max`, `min` and
  `argmax`.
* A dict has its `keys` and the features of its values; a dataclass and another object with attributes likewise.
* An object with `rows()` (an answer of tacit), `to_dict()` (a frame) or `tolist()` is read through it.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass

import numpy as np

from tacit.errors import InvalidError

Feature = float | str
Features = dict[str, Feature]
_MOST_ITEMS, _DEEPEST, _LONGEST = 24, 4, 200
_LARGEST = 1e308
_LOW_BITS, _MANTISSA = 3, 53


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception in place of an output."""

    kind: str
    message: str


def describe(output: object, *, messages: bool = False) -> Features:
    """Return the features of one output.

    >>> describe(0.75)
    {'exception': 'no', 'type': 'float', 'value': 0.75, 'lowest bit': -2.0, 'last digits': 0.0}
    >>> describe(Raised("ValueError", "too small"))
    {'exception': 'ValueError', 'type': 'no output'}
    >>> describe({"n": 3})["['n']"]
    3.0
    """
    if isinstance(output, Raised):
        raised: Features = {"exception": output.kind, "type": "no output"}
        return raised | ({"message": output.message[:_LONGEST]} if messages else {})
    found: Features = {"exception": "no", "type": type(output).__name__}
    for name, value in _features(output, "", 0):
        found[name or "value"] = value
    return found


def of_caller(function: Callable[[object], object], output: object) -> Features:
    """Return the features that a caller's function derives from one output."""
    if isinstance(output, Raised):
        return describe(output)
    derived = function(output)
    items = derived.items() if isinstance(derived, Mapping) else [("value", derived)]
    found: Features = {"exception": "no", "type": type(output).__name__}
    for name, value in items:
        if not isinstance(value, (str, numbers.Real, np.generic, bool)):
            raise InvalidError(
                f"features returned a {type(value).__name__}.",
                argument="features",
                hint="Return a number, a text, or a dict of numbers and texts.",
            )
        found |= {f"{name}{'.' if more else ''}{more}": each for more, each in _features(value, "", _DEEPEST)}
    return found


def _features(value: object, name: str, depth: int) -> Iterator[tuple[str, Feature]]:
    """Yield the features of a value, with names that start with its own."""
    if isinstance(value, (bool, np.bool_)):
        yield name, float(value)
    elif isinstance(value, (numbers.Real, np.number)) and not isinstance(value, np.complexfloating):
        yield from _of_number(value, name)
    elif isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.hex()
        yield name, text[:_LONGEST]
        yield _join(name, "length"), float(len(value))
    elif value is None:
        yield name, "None"
    elif depth < _DEEPEST:
        yield from _of_parts(value, name, depth + 1)


def _of_number(value: object, name: str) -> Iterator[tuple[str, Feature]]:
    """Yield the features of a number; NaN has a kind and no value."""
    try:
        number = float(value)  # type: ignore[arg-type]  # a real number
    except OverflowError:
        number = math.copysign(math.inf, 1 if value > 0 else -1)  # type: ignore[operator]  # a real number
    if number == number:  # noqa: PLR0124 - not NaN
        yield name, min(max(number, -_LARGEST), _LARGEST)
    if not math.isfinite(number) or (number == 0 and math.copysign(1, number) < 0):
        yield _join(name, "kind"), repr(number)
    elif isinstance(value, (float, np.floating)) and number != 0:
        mantissa, exponent = math.frexp(number)
        digits = abs(int(mantissa * 2**_MANTISSA))
        yield _join(name, "lowest bit"), float(exponent - _MANTISSA + (digits & -digits).bit_length() - 1)
        yield _join(name, "last digits"), float(digits % 2**_LOW_BITS)


def _join(name: str, part: str) -> str:
    return f"{name}.{part}" if name else part


def _of_parts(value: object, name: str, depth: int) -> Iterator[tuple[str, Feature]]:
    if isinstance(value, Mapping):
        yield from _of_mapping(value, name, depth)
    elif isinstance(value, AbstractSet):
        yield from _of_mapping(dict.fromkeys(value, True), name, depth)
    elif isinstance(value, np.ndarray):
        yield _join(name, "shape"), str(value.shape)
        yield from _of_items(value.reshape(-1).tolist(), name, depth)
    elif isinstance(value, Sequence):
        yield from _of_items(value, name, depth)
    elif is_dataclass(value) and not isinstance(value, type):
        parts: dict[object, object] = {field.name: getattr(value, field.name) for field in fields(value)}
        yield from _of_mapping(parts, name, depth)
    else:
        yield from _of_object(value, name, depth)


def _of_object(value: object, name: str, depth: int) -> Iterator[tuple[str, Feature]]:
    """Yield the features of an answer, a frame, an array of another library, or the attributes of an object."""
    for method in ("rows", "to_dict", "tolist"):
        read = getattr(value, method, None)
        if callable(read) and not isinstance(value, type):
            try:
                parts = read()
            except Exception:  # noqa: BLE001, S112 - the next way to read it is tried
                continue
            yield from _features(parts, name, depth)
            return
    public: dict[object, object] = {
        key: part for key, part in getattr(value, "__dict__", {}).items() if not key.startswith("_")
    }
    if hasattr(value, "value"):
        public["value"] = value.value
    yield from _of_mapping(public, name, depth)


def _of_mapping(value: Mapping[object, object], name: str, depth: int) -> Iterator[tuple[str, Feature]]:
    keys = sorted(map(str, value))
    yield _join(name, "keys"), ", ".join(keys)[:_LONGEST]
    yield _join(name, "length"), float(len(keys))
    for key in sorted(value, key=str)[:_MOST_ITEMS]:
        yield from _features(value[key], f"{name}[{key!r}]", depth)


def _of_items(items: Sequence[object], name: str, depth: int) -> Iterator[tuple[str, Feature]]:
    yield _join(name, "length"), float(len(items))
    for place, item in enumerate(items[:_MOST_ITEMS]):
        yield from _features(item, f"{name}[{place}]", depth)
    real = [float(item) for item in items if isinstance(item, (int, float)) and math.isfinite(item)]
    if real and len(real) == len(items) > 1:
        yield _join(name, "sum"), min(max(math.fsum(real), -_LARGEST), _LARGEST)
        yield _join(name, "max"), max(real)
        yield _join(name, "min"), min(real)
        yield _join(name, "argmax"), float(real.index(max(real)))
