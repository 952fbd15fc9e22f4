"""The values of cells: which are missing, how each is written, and which numbers and dates they hold.

One rule for missing values, everywhere: None, NaN, NaT, pandas' NA and the empty text are one value, "missing". A row
with a missing value is a row like any other. It is counted, it is in a class with other rows that miss the same value,
and a missing sensitive value is one more sensitive value. The empty text is missing because a CSV file cannot tell the
two apart: a table that is diverse only by that difference would not be diverse once it is written and read.

Two values with the same text (39, 39.0 and "39") are one value, so that a hierarchy from a file fits any table.

Python has no nanoseconds and no year 10,000. Such dates and times become text, a different text for each value. So two
values that differ in a frame or a database always differ here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from tacit.arrays import Bools, Ints
from tacit.errors import ColumnValueError, show

_LONGEST = 400
_NUMERAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_MIDNIGHT = re.compile(r"T00:00:00[+-]\d\d:\d\d(:\d\d)?$", re.ASCII)
_DAY, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(?:\.\d{1,6})?"
_ZONE = r"(?:[+-]\d\d(?::\d\d){0,2})?"
_FORMATS: dict[Callable[[str], date | time], re.Pattern[str]] = {
    date.fromisoformat: re.compile(_DAY, re.ASCII),
    datetime.fromisoformat: re.compile(f"{_DAY}[ T]{_CLOCK}{_ZONE}", re.ASCII),
    time.fromisoformat: re.compile(f"{_CLOCK}{_ZONE}", re.ASCII),
}
_PER_MICROSECOND = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MOST_DAYS = 999_999_999  # of a timedelta
_THOUSAND, _SECOND = 1_000, 10**9


def to_text(value: object) -> str | None:
    """Return a value as a hierarchy writes it; None is missing.

    >>> to_text(39.0), to_text("39"), to_text(float("nan")), to_text(""), to_text(True)
    ('39', '39', None, None, 'True')
    """
    if isinstance(value, str):
        return str(value) or None
    if _is_missing(value):
        return None
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if math.isfinite(value) and value == int(value) else repr(float(value))
    if isinstance(value, date):
        return _date_text(value)
    return _decimal_text(value) if isinstance(value, Decimal) else _plain_text(value)


def _is_missing(value: object) -> bool:
    """Return whether a value is None, NA, or differs from itself as NaN and NaT do."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return bool(value != value)  # noqa: PLR0124 - NaN differs from itself


def _plain_text(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # an int of thousands of digits
        return hex(value) if isinstance(value, int) else repr(value)


def _decimal_text(value: Decimal) -> str:
    """Return a decimal without trailing zeros, like a float of that value."""
    if not value.is_finite() or abs(value.adjusted()) > _LONGEST:
        return str(value)
    plain = f"{value:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _date_text(value: date) -> str:
    """Return a date, with its time if that is not midnight, and with its time zone if it has one.

    Midnight is a different instant in every zone, and a day may have it twice.
    """
    parts = ("hour", "minute", "second", "microsecond", "nanosecond", "tzinfo")
    if isinstance(value, datetime) and not any(getattr(value, part, 0) for part in parts):
        return value.date().isoformat()
    return value.isoformat()


def parse_number(text: str) -> Fraction | None:
    """Return the number that a text stands for, exactly; None if it is not a number of at most 400 digits.

    >>> parse_number(" 2.50"), parse_number("1e999"), parse_number("x")
    (Fraction(5, 2), None, None)
    """
    match = _NUMERAL.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None or abs(int(match[1] or 0)) > _LONGEST:
        return None
    return Fraction(text.strip())


def number(text: str, column: str) -> Fraction:
    """Return the number that a text of a column stands for, exactly.

    Raises:
        ColumnValueError: the text is not a number.
    """
    parsed = parse_number(text)
    if parsed is None:
        raise ColumnValueError(
            column,
            f"must hold numbers, not {show(text)}.",
            hint=f"A number is finite and has at most {_LONGEST} digits.",
        )
    return parsed


def format_number(x: Fraction) -> str:
    """Return a number as a decimal, exactly; bounds of intervals are always decimals.

    >>> format_number(Fraction(-5, 2)), format_number(Fraction(30))
    ('-2.5', '30')
    """
    digits = 0
    while digits < 2 * _LONGEST and (x * 10**digits).denominator != 1:
        digits += 1
    whole, rest = divmod(abs(x) * 10**digits // 1, 10**digits)
    return f"{'-' * (x < 0)}{whole}" + (f".{rest:0{digits}}" if digits else "")


def parse_day(text: str) -> date | None:
    """Return the day that a text stands for, or None; midnight in a time zone is a day too."""
    try:
        return date.fromisoformat(_MIDNIGHT.sub("", text))
    except ValueError:
        return None


def day(text: str, column: str) -> date:
    """Return the day that a text of a column stands for.

    Raises:
        ColumnValueError: the text is not a day.
    """
    parsed = parse_day(text)
    if parsed is None:
        raise ColumnValueError(column, f"must hold days such as 2024-12-31, not {show(text)}.")
    return parsed


def parse_datetime(text: str) -> date | time | str:
    """Return the date, datetime or time that a database wrote, or the text if Python cannot hold it exactly.

    >>> parse_datetime("2020-01-01"), parse_datetime("2020-01-01 10:00:00.000000001"), parse_datetime("infinity")
    (datetime.date(2020, 1, 1), '2020-01-01T10:00:00.000000001', 'infinity')
    """
    for parse, pattern in _FORMATS.items():
        if pattern.fullmatch(text):
            try:
                return parse(text)
            except ValueError:  # the year 0, the hour 24
                break
    return text.replace(" ", "T", 1) if re.match(f"{_DAY} {_CLOCK}", text, re.ASCII) else text


def datetime_cells(values: npt.NDArray[Any]) -> list[object]:
    """Return a NumPy array of datetimes or durations as a list; those that Python cannot hold become text.

    >>> datetime_cells(np.array([0, 1000], dtype="datetime64[ns]"))
    [datetime.datetime(1970, 1, 1, 0, 0), datetime.datetime(1970, 1, 1, 0, 0, 0, 1)]
    """
    missing = np.ma.getmaskarray(values) | np.isnat(np.ma.getdata(values))
    plain, kind = np.ma.getdata(values), values.dtype.kind
    unit, _ = np.datetime_data(plain.dtype)
    if unit != "generic":
        plain = plain.astype(f"{kind}8[{unit}]")
    exact = ~missing & _is_exact(plain, kind, unit)
    cells = np.full(len(plain), None, dtype=object)
    cells[exact] = plain[exact].astype(f"{kind}8[us]").tolist()
    rest = ~missing & ~exact
    cells[rest] = [_without_zeros(cell) for cell in plain[rest]]
    return list(cells)


def _is_exact(plain: npt.NDArray[Any], kind: str, unit: str) -> Bools:
    """Return which datetimes or durations Python holds exactly."""
    ints = plain.astype(np.int64)
    if unit in _PER_MICROSECOND:
        return np.asarray(ints % _PER_MICROSECOND[unit] == 0)
    if kind == "M":
        ends = [np.datetime64(day, "us").astype(f"M8[{unit}]") for day in ("0001-01-01", "9999-12-31T23:59:59.999999")]
    elif unit in {"generic", "M", "Y"}:  # without a fixed length
        return np.zeros(len(plain), dtype=bool)
    else:
        ends = [np.timedelta64(sign * _MOST_DAYS, "D").astype(f"m8[{unit}]") for sign in (-1, 1)]
    low, high = (int(end.astype(np.int64)) for end in ends)
    return np.asarray((ints >= low) & (ints <= high))


def _without_zeros(cell: object) -> str:
    """Return NumPy's text of a datetime without trailing zeros."""
    whole, point, rest = str(cell).partition(".")
    return f"{whole}.{rest}".rstrip("0").rstrip(".") if point else whole


def decode_arrow(series: Any) -> Any:  # noqa: ANN401 - narwhals' own type is generic over frames
    """Return an Arrow column of dictionary or run-end encoding as plain values; any other column unchanged."""
    if not series.implementation.is_pyarrow():
        return series
    import pyarrow as pa  # noqa: PLC0415 - optional
    import pyarrow.compute as pc  # noqa: PLC0415 - optional

    native = series.to_native()
    if pa.types.is_dictionary(native.type) or pa.types.is_run_end_encoded(native.type):
        values = [
            chunk.dictionary_decode() if hasattr(chunk, "dictionary_decode") else chunk for chunk in native.chunks
        ]
        runs = [pc.run_end_decode(chunk) if pa.types.is_run_end_encoded(chunk.type) else chunk for chunk in values]
        return nw.from_native(pa.chunked_array(runs, native.type.value_type), series_only=True)
    return series


def is_temporal(series: Any) -> bool:  # noqa: ANN401 - narwhals' own type is generic over frames
    """Return whether a column holds dates, datetimes, times or durations."""
    return isinstance(series.dtype, (nw.Datetime, nw.Duration, nw.Date, nw.Time))


def temporal_cells(series: Any) -> list[object]:  # noqa: ANN401 - as above
    """Return a column of dates, datetimes, times or durations as a list; those that Python cannot hold become text."""
    counts = _unit_counts(series)
    if counts is None:  # pandas' types, which have nanoseconds
        cells: list[object] = series.to_list()
        return cells
    ints, missing, unit = counts
    if isinstance(series.dtype, nw.Time):
        times = [_clock_time(int(count) * (_SECOND // _PER_SECOND[unit])) for count in ints]
        return [None if absent else clock for absent, clock in zip(missing, times, strict=True)]
    kind = "m" if isinstance(series.dtype, nw.Duration) else "M"
    packed = ints.astype(f"{kind}8[{unit}]")
    if (_is_exact(packed, kind, unit) | missing).all():
        try:
            return list(series.to_list())
        except Exception:  # noqa: BLE001, S110 - any error of a package that does not know the time zone
            pass
    cells = datetime_cells(np.ma.MaskedArray(packed, missing))
    return [_in_utc(cell) for cell in cells] if getattr(series.dtype, "time_zone", None) else cells


def _in_utc(cell: object) -> object:
    if isinstance(cell, datetime):
        return cell.replace(tzinfo=UTC)
    return None if cell is None else f"{cell}+00:00"


def _clock_time(nanoseconds: int) -> time | str:
    if not 0 <= nanoseconds < 24 * 3600 * _SECOND:
        return f"{nanoseconds} nanoseconds"
    clock = (datetime(1, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // _THOUSAND)).time()
    rest = nanoseconds % _THOUSAND
    return f"{clock.isoformat(timespec='microseconds')}{rest:03}".rstrip("0") if rest else clock


def _unit_counts(series: Any) -> tuple[Ints, Bools, str] | None:  # noqa: ANN401 - as above
    """Return a column as counts of its time unit, and which cells are missing; None for pandas' types."""
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
    return _arrow_counts(native)


def _arrow_counts(native: Any) -> tuple[Ints, Bools, str]:  # noqa: ANN401 - an array of Arrow, which is optional
    import pyarrow as pa  # noqa: PLC0415 - optional

    unit = {"date32[day]": "D", "date64[ms]": "ms"}.get(str(native.type)) or native.type.unit
    width = pa.int32() if native.type.bit_width == pa.int32().bit_width else pa.int64()
    ints = native.cast(width).cast(pa.int64()).fill_null(0)
    missing = np.array(native.is_null().to_pylist(), dtype=bool)
    return np.asarray(ints, dtype=np.int64), missing, unit
