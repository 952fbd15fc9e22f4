"""Days, moments, times and durations as Python holds them, and as text where it cannot.

Python has no nanoseconds and no year 10,000. What it lacks becomes text, one for each value: two that a frame or a
database tells apart are never taken for each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints

_DAY, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(?:\.\d{1,6})?"
_ZONE = r"(?:[+-]\d\d(?::\d\d){0,2})?"
_Read = Callable[[str], date | time]
_WRITTEN: dict[_Read, re.Pattern[str]] = {
    date.fromisoformat: re.compile(_DAY, re.ASCII),
    datetime.fromisoformat: re.compile(f"{_DAY}[ T]{_CLOCK}{_ZONE}", re.ASCII),
    time.fromisoformat: re.compile(f"{_CLOCK}{_ZONE}", re.ASCII),
}
_FINE = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
_LONGEST = 999_999_999  # days of a timedelta
_THOUSAND, _SECOND = 1_000, 10**9

Flags = npt.NDArray[np.bool_]


def moment(written: str) -> date | time | str:
    """Return a day, a moment or a time that a database wrote; the text itself where Python cannot hold it exactly.

    >>> moment("2020-01-01"), moment("2020-01-01 10:00:00.000000001"), moment("infinity")
    (datetime.date(2020, 1, 1), '2020-01-01T10:00:00.000000001', 'infinity')
    """
    for read, pattern in _WRITTEN.items():
        if pattern.fullmatch(written):
            try:
                return read(written)
            except ValueError:  # the year 0, the hour 24
                break
    return written.replace(" ", "T", 1) if re.match(f"{_DAY} {_CLOCK}", written, re.ASCII) else written


def unpacked(values: npt.NDArray[Any]) -> list[object]:
    """Return an array of numpy's moments or durations as a list; those that Python cannot hold as text.

    >>> unpacked(np.array([0, 1000], dtype="datetime64[ns]"))
    [datetime.datetime(1970, 1, 1, 0, 0), datetime.datetime(1970, 1, 1, 0, 0, 0, 1)]
    """
    missing = np.ma.getmaskarray(values) | np.isnat(np.ma.getdata(values))
    plain, kind = np.ma.getdata(values), values.dtype.kind
    unit, _ = np.datetime_data(plain.dtype)
    if unit != "generic":
        plain = plain.astype(f"{kind}8[{unit}]")
    held = ~missing & _held(plain, kind, unit)
    cells = np.full(len(plain), None, dtype=object)
    cells[held] = plain[held].astype(f"{kind}8[us]").tolist()
    rest = ~missing & ~held
    cells[rest] = [_written(cell) for cell in plain[rest]]
    return list(cells)


def _held(plain: npt.NDArray[Any], kind: str, unit: str) -> Flags:
    """Return which moments or durations Python holds exactly."""
    ints = plain.astype(np.int64)
    if unit in _FINE:
        return np.asarray(ints % _FINE[unit] == 0)
    if kind == "M":
        ends = [np.datetime64(day, "us").astype(f"M8[{unit}]") for day in ("0001-01-01", "9999-12-31T23:59:59.999999")]
    elif unit in {"generic", "M", "Y"}:  # of no certain length
        return np.zeros(len(plain), dtype=bool)
    else:
        ends = [np.timedelta64(sign * _LONGEST, "D").astype(f"m8[{unit}]") for sign in (-1, 1)]
    low, high = (int(end.astype(np.int64)) for end in ends)
    return np.asarray((ints >= low) & (ints <= high))


def _written(cell: object) -> str:
    """Return numpy's text without the zeros at its end."""
    whole, point, rest = str(cell).partition(".")
    return f"{whole}.{rest}".rstrip("0").rstrip(".") if point else whole


def decoded(series: Any) -> Any:  # noqa: ANN401 - narwhals' own type is generic over frames
    """Return a column of Arrow that is a dictionary or runs of values as the values themselves."""
    if not series.implementation.is_pyarrow():
        return series
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - optional

    native = series.to_native()
    if pa.types.is_dictionary(native.type) or pa.types.is_run_end_encoded(native.type):
        values = [
            chunk.dictionary_decode() if hasattr(chunk, "dictionary_decode") else chunk for chunk in native.chunks
        ]
        runs = [pc.run_end_decode(one) if pa.types.is_run_end_encoded(one.type) else one for one in values]
        return nw.from_native(pa.chunked_array(runs, native.type.value_type), series_only=True)
    return series


def is_moment(series: Any) -> bool:  # noqa: ANN401 - narwhals' own type is generic over frames
    """Return whether a column is of days, moments, times or durations."""
    return isinstance(series.dtype, (nw.Datetime, nw.Duration, nw.Date, nw.Time))


def listed(series: Any) -> list[object]:  # noqa: ANN401 - as above
    """Return a column of days, moments, times or durations as a list; those that Python cannot hold as text."""
    found = _counted(series)
    if found is None:  # pandas' own, which has nanoseconds
        cells: list[object] = series.to_list()
        return cells
    ints, missing, unit = found
    if isinstance(series.dtype, nw.Time):
        told = [_clock(int(count) * (_SECOND // _PER_SECOND[unit])) for count in ints]
        return [None if gone else one for gone, one in zip(missing, told, strict=True)]
    kind = "m" if isinstance(series.dtype, nw.Duration) else "M"
    packed = ints.astype(f"{kind}8[{unit}]")
    if (_held(packed, kind, unit) | missing).all():
        try:
            return list(series.to_list())
        except Exception:  # noqa: BLE001, S110 - whatever a package says of a zone that it does not know
            pass
    cells = unpacked(np.ma.MaskedArray(packed, missing))
    return [_zoned(cell) for cell in cells] if getattr(series.dtype, "time_zone", None) else cells


_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _zoned(cell: object) -> object:
    if isinstance(cell, datetime):
        return cell.replace(tzinfo=UTC)
    return None if cell is None else f"{cell}+00:00"


def _clock(nanoseconds: int) -> time | str:
    if not 0 <= nanoseconds < 24 * 3600 * _SECOND:
        return f"{nanoseconds} nanoseconds"
    held = (datetime(1, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // _THOUSAND)).time()
    rest = nanoseconds % _THOUSAND
    return f"{held.isoformat(timespec='microseconds')}{rest:03}".rstrip("0") if rest else held


def _counted(series: Any) -> tuple[Ints, Flags, str] | None:  # noqa: ANN401 - as above
    """Return a column as counts of its unit, with which are missing; None where pandas holds it itself."""
    native = series.to_native()
    if series.implementation.is_polars():
        unit = {nw.Date: "D", nw.Time: "ns"}.get(type(series.dtype)) or series.dtype.time_unit
        return native.to_physical().fill_null(0).to_numpy().astype(np.int64), native.is_null().to_numpy(), unit
    if series.implementation.is_pandas_like():
        if not hasattr(native.dtype, "pyarrow_dtype"):
            return None
        native = native.array.__arrow_array__()
    elif not series.implementation.is_pyarrow():
        return None
    return _of_arrow(native)


def _of_arrow(native: Any) -> tuple[Ints, Flags, str]:  # noqa: ANN401 - an array of Arrow, which need not be there
    import pyarrow as pa  # noqa: PLC0415 - optional

    unit = {"date32[day]": "D", "date64[ms]": "ms"}.get(str(native.type)) or native.type.unit
    width = pa.int32() if native.type.bit_width == pa.int32().bit_width else pa.int64()
    ints = native.cast(width).cast(pa.int64()).fill_null(0)
    missing = np.array(native.is_null().to_pylist(), dtype=bool)
    return np.asarray(ints, dtype=np.int64), missing, unit
