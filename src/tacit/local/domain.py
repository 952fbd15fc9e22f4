"""The public list of values that a person may have; what a report speaks of is a value's place in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import isfinite
from typing import cast

import numpy as np

from tacit.arrays import Ints
from tacit.errors import InvalidError, show
from tacit.guarantees.exact import whole

Value = str | int | float | bool

LARGEST = 1 << 24
_SAFE = 1 << 53
_WANT = f"a list of 2 to {LARGEST:,} different values (text, numbers, True and False), or their number"
_OUTSIDE = "a value outside the domain"
_FEW = 4


class Domain:
    """Values 0, 1, …, d-1, or a list of them; public, fixed, in an order that client and server share.

    >>> Domain(["tea", "coffee"]).places(["coffee", "tea", "coffee"])
    array([1, 0, 1])
    """

    __slots__ = ("_places", "size", "values")

    def __init__(self, given: object) -> None:
        """Read a list of values or their number."""
        count = given.stop if isinstance(given, range) and (given.start, given.step) == (0, 1) else whole(given)
        self.values: Sequence[Value] = range(_size(count)) if count is not None else _listed(given)
        self.size = len(self.values)
        listed = enumerate(self.values) if count is None else None
        self._places: dict[object, int] | None = None if listed is None else {value: place for place, value in listed}

    def places(self, values: object) -> Ints:
        """Return the place of each value; refuse a value outside the domain without naming it.

        One value alone will do.
        """
        values = _plain(values, columns=self._places is not None)
        if isinstance(values, Mapping) or hasattr(values, "columns"):
            raise InvalidError("values", "a table or a mapping", "values of the domain: one column of it")
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            values = [values]
        return self._counted(values) if self._places is None else self._looked_up(values)

    def _counted(self, values: object) -> Ints:
        try:
            array = np.asarray(values)
        except Exception:  # noqa: BLE001 - the values' own code; what it says may hold data
            raise InvalidError("values", "something unreadable", "values of the domain") from None
        if array.size == 0:
            return np.empty(0, dtype=np.int64)
        if array.dtype.kind == "O" and all(whole(value) is not None for value in array.flat):
            array = np.array([min(max(int(value), -1), self.size) for value in array.flat])
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InvalidError("values", "something else", f"whole numbers from 0 to {self.size - 1}, in one column")
        if int(array.min()) < 0 or int(array.max()) >= self.size:
            raise InvalidError("values", _OUTSIDE, f"whole numbers from 0 to {self.size - 1}")
        return array.astype(np.int64, copy=False)

    def _looked_up(self, values: Iterable[object]) -> Ints:
        place = self._places or {}
        try:
            column = values.tolist() if isinstance(values, np.ndarray) else values
            found = [place.get(value, -1) for value in column]
        except Exception:  # noqa: BLE001 - an unhashable value, or the values' own code
            raise InvalidError("values", "something unreadable", "values of the domain") from None
        result = np.array(found, dtype=np.int64)
        if result.size and int(result.min()) < 0:
            raise InvalidError("values", _OUTSIDE, f"among the domain's {self.size} values")
        return result

    def written(self) -> list[Value] | dict[str, int]:
        """Return the domain as JSON holds it."""
        return {"size": self.size} if self._places is None else list(self.values)

    def shown(self) -> object:
        """Return what a representation shows: the number of values, or a few of them."""
        return self.size if self._places is None else list(self.values) if self.size <= _FEW else Many(self.size)


class Many(int):
    """A number of values, shown as such."""

    def __repr__(self) -> str:
        """Show how many."""
        return f"<{int(self):,} values>"


def read(written: object) -> Domain:
    """Read a domain from JSON."""
    if isinstance(written, dict) and set(written) == {"size"}:
        return Domain(written["size"])
    if isinstance(written, list):
        return Domain(written)
    raise InvalidError("domain", show(written), _WANT)


def _size(count: int) -> int:
    if not 2 <= count <= LARGEST:  # noqa: PLR2004 - one value needs no question
        raise InvalidError("domain", show(count), _WANT)
    return count


def _listed(given: object) -> tuple[Value, ...]:
    if isinstance(given, (set, frozenset)):
        raise InvalidError("domain", "a set, whose order changes from run to run", f"{_WANT}; sorted(...) makes a list")
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
        raise InvalidError("domain", show(given), _WANT)
    values = _read(given)
    _size(len(values))
    for value in values:
        if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not isfinite(value)):
            raise InvalidError("domain", f"a {type(value).__name__} in it", f"{_WANT}; no NaN, no infinity")
        if isinstance(value, int) and abs(value) > _SAFE:
            raise InvalidError("domain", "a whole number beyond ±2^53", f"{_WANT}; write such numbers as text")
        if isinstance(value, str) and not _is_unicode(value):
            raise InvalidError("domain", "text that is no Unicode", _WANT)
    if len(set(values)) < len(values):
        raise InvalidError("domain", "a value twice (1, 1.0 and True are one value)", _WANT)
    return cast("tuple[Value, ...]", values)


def _plain(values: object, *, columns: bool = True) -> object:
    """Return an Arrow value, an array of one value and, if asked, an Arrow column as Python's own; else as it is."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        return values.item()
    if type(values).__module__.split(".")[0] == "pyarrow":
        for name in ("to_pylist", "as_py") if columns else ("as_py",):
            if callable(read_ := getattr(values, name, None)):
                return read_()
    return values


def _read(given: object) -> tuple[object, ...]:
    try:
        listed = cast("Iterable[object]", _plain(given))
        some = islice(listed, LARGEST + 1)  # one too many is refused; all of them might never end
        return tuple(value.item() if isinstance(value, np.generic) else value for value in some)
    except Exception:  # noqa: BLE001 - the values' own code
        raise InvalidError("domain", "something unreadable", _WANT) from None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
