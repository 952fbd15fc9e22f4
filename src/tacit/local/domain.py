"""The public list of values that a person may have. Reports refer to a value by its position in the list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import isfinite
from typing import cast

import numpy as np

from tacit.arrays import Ints
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import whole

DomainValue = str | int | float | bool

LARGEST = 1 << 24
_SAFE = 1 << 53
_REQUIREMENT = f"a list of 2 to {LARGEST:,} different values (text, numbers, True and False), or their number"
_UNREADABLE = "The values cannot be read."
_OUTSIDE = "A value is not in the domain."
_FEW = 4


class Domain:
    """Values 0, 1, …, d-1, or a list of them; public, fixed, in an order that client and server share.

    >>> Domain(["tea", "coffee"]).positions(["coffee", "tea", "coffee"])
    array([1, 0, 1])
    """

    __slots__ = ("_index", "size", "values")

    def __init__(self, values: object) -> None:
        """Read a list of values or their number."""
        is_count = isinstance(values, range) and (values.start, values.step) == (0, 1)
        count = values.stop if is_count else whole(values)  # type: ignore[attr-defined]  # a range
        self.values: Sequence[DomainValue] = range(_size(count)) if count is not None else _read_list(values)
        self.size = len(self.values)
        self._index: dict[object, int] | None = None
        if count is None:
            self._index = {value: position for position, value in enumerate(self.values)}

    def positions(self, values: object) -> Ints:
        """Return the position of each value, or of a single value.

        Raise InvalidError for a value outside the domain, without showing it.
        """
        values = _plain(values, columns=self._index is not None)
        if isinstance(values, Mapping) or hasattr(values, "columns"):
            raise InvalidError("The values are a table or a mapping.", argument="values", hint="Pass one column of it.")
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            values = [values]
        return self._numbers(values) if self._index is None else self._look_up(values)

    def _numbers(self, values: object) -> Ints:
        try:
            array = np.asarray(values)
        except Exception:  # noqa: BLE001 - code of the values; its message may hold data
            raise InvalidError(_UNREADABLE, argument="values") from None
        allowed = f"Values must be whole numbers from 0 to {self.size - 1}"
        if array.size == 0:
            return np.empty(0, dtype=np.int64)
        if array.dtype.kind == "O" and all(whole(value) is not None for value in array.flat):
            array = np.array([min(max(int(value), -1), self.size) for value in array.flat])
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InvalidError(f"{allowed}, in one column.", argument="values")
        if int(array.min()) < 0 or int(array.max()) >= self.size:
            raise InvalidError(_OUTSIDE, argument="values", hint=f"{allowed}.")
        return array.astype(np.int64, copy=False)

    def _look_up(self, values: Iterable[object]) -> Ints:
        index = self._index or {}
        try:
            column = values.tolist() if isinstance(values, np.ndarray) else values
            result = np.array([index.get(value, -1) for value in column], dtype=np.int64)
        except Exception:  # noqa: BLE001 - an unhashable value, or code of the values
            raise InvalidError(_UNREADABLE, argument="values") from None
        if result.size and int(result.min()) < 0:
            hint = f"The domain has {self.size:,} values; see `.domain`."
            raise InvalidError(_OUTSIDE, argument="values", hint=hint)
        return result

    def to_json(self) -> list[DomainValue] | dict[str, int]:
        """Return the domain as JSON holds it."""
        return {"size": self.size} if self._index is None else list(self.values)

    def summary(self) -> object:
        """Return what a representation shows: the values if they are few, or their number."""
        if self._index is None:
            return self.size
        return list(self.values) if self.size <= _FEW else ValueCount(self.size)


class ValueCount(int):
    """A number of values, printed as "<1,000 values>"."""

    def __repr__(self) -> str:
        """Return the number with its noun."""
        return f"<{int(self):,} values>"


def read_domain(json: object) -> Domain:
    """Read a domain from JSON."""
    if isinstance(json, dict) and set(json) == {"size"}:
        return Domain(json["size"])
    if isinstance(json, list):
        return Domain(json)
    raise bad_value("domain", json, _REQUIREMENT)


def _size(count: int) -> int:
    if not 2 <= count <= LARGEST:  # noqa: PLR2004 - one value needs no question
        raise bad_value("domain", count, _REQUIREMENT)
    return count


def _invalid(message: str, hint: str | None = None) -> InvalidError:
    return InvalidError(message, argument="domain", hint=hint)


def _read_list(values: object) -> tuple[DomainValue, ...]:
    if isinstance(values, (set, frozenset)):
        raise _invalid("The domain is a set, whose order changes from run to run.", "Make a list with sorted(...).")
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise bad_value("domain", values, _REQUIREMENT)
    result = _read_items(values)
    _size(len(result))
    for value in result:
        _check_value(value)
    if len(set(result)) < len(result):
        raise _invalid("The domain contains a value twice.", "Remove it; 1, 1.0 and True are one value.")
    return cast("tuple[DomainValue, ...]", result)


def _check_value(value: object) -> None:
    if not isinstance(value, (str, int, float)):
        raise _invalid(f"The domain contains a {type(value).__name__}.", f"It must be {_REQUIREMENT}.")
    if isinstance(value, float) and not isfinite(value):
        raise _invalid("The domain contains NaN or an infinity.", "Remove it.")
    if isinstance(value, int) and abs(value) > _SAFE:
        raise _invalid("The domain contains a whole number beyond ±2^53.", "Write such numbers as text.")
    if isinstance(value, str) and not _is_unicode(value):
        raise _invalid("The domain contains text that is not valid Unicode.")


def _plain(values: object, *, columns: bool = True) -> object:
    """Convert an Arrow scalar, an array of one value and, if asked, an Arrow column to Python values."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        return values.item()
    if type(values).__module__.split(".")[0] == "pyarrow":
        for name in ("to_pylist", "as_py") if columns else ("as_py",):
            if callable(read_ := getattr(values, name, None)):
                return read_()
    return values


def _read_items(values: object) -> tuple[object, ...]:
    try:
        items = islice(cast("Iterable[object]", _plain(values)), LARGEST + 1)  # an iterator may never end
        return tuple(value.item() if isinstance(value, np.generic) else value for value in items)
    except Exception:  # noqa: BLE001 - code of the values
        raise _invalid("The domain cannot be read.", f"It must be {_REQUIREMENT}.") from None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
