"""Labels of dates and times: strftime, to_char, monthname and dayname as texts of listed functions.

A label is a concatenation of the parts of a date, so its values are public where those of the date are: with bounds on
the column, GROUP BY strftime(day, '%Y-%m') needs no keys. Names are English, as DuckDB's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tacit.query.refusals import refused
from tacit.query.sql.time_expressions import MOMENTS, date_part, whole
from tacit.query.sql.typed_expressions import TypedExpression, call, case, cast_hint, cast_to, constant

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

Label = Callable[[TypedExpression], TypedExpression]
"""Writes a part of a label."""

_LONGEST_NAME, _SHORT_NAME = 9, 3
_PERCENT = re.compile(r"%(-?.)|([^%]+)|%", re.DOTALL)


def strftime(moment: TypedExpression, form: str) -> TypedExpression:
    """Return a moment by a format such as '%Y-%m', or raise RefusedError."""
    _check_moment("strftime", moment)
    pieces: list[TypedExpression] = []
    for match in _PERCENT.finditer(form):
        code, text = match.groups()
        if text is not None:
            pieces.append(constant(text, "text"))
        elif code is None or code not in _PERCENT_PARTS:
            hint = f"Use one of {', '.join(f'%{name}' for name in _PERCENT_PARTS)}."
            raise refused("This code of strftime is not supported", hint)
        else:
            pieces.append(_PERCENT_PARTS[code](moment))
    return _joined("strftime", pieces)


def to_char(moment: TypedExpression, form: str) -> TypedExpression:
    """Return a moment by a format of PostgreSQL such as 'YYYY-MM', or raise RefusedError."""
    _check_moment("to_char", moment)
    pieces: list[TypedExpression] = []
    for match in _PATTERNS.finditer(form):
        fill, code, quoted, text = match.groups()
        if code is not None:
            pieces.append(_PATTERN_PARTS[code][1 if fill else 0](moment))
        elif quoted is not None or (text is not None and not text.isalpha()):
            pieces.append(constant(quoted if quoted is not None else text, "text"))
        else:
            hint = f"Use one of {', '.join(_PATTERN_PARTS)}, and write other words in double quotes."
            raise refused("This pattern of to_char is not supported", hint)
    return _joined("to_char", pieces)


def month_name(moment: TypedExpression) -> TypedExpression:
    """Return the name of the month."""
    _check_moment("monthname", moment)
    return _named("month", dict(enumerate(MONTHS, 1)))(moment)


def day_name(moment: TypedExpression) -> TypedExpression:
    """Return the name of the weekday."""
    _check_moment("dayname", moment)
    return _named("weekday", dict(enumerate(WEEKDAYS)))(moment)


def _check_moment(name: str, moment: TypedExpression) -> None:
    """Raise RefusedError unless a value is a date or a timestamp."""
    if moment.kind not in MOMENTS and not moment.is_null:
        raise refused(f"{name} takes a date or a timestamp, not {moment.kind}", cast_hint(moment.kind, MOMENTS))


def _joined(name: str, pieces: list[TypedExpression]) -> TypedExpression:
    if all(not piece.nodes > 1 for piece in pieces):
        raise refused(f"The format of {name} has no part of the date", "Write strftime(day, '%Y-%m').")
    return pieces[0] if len(pieces) == 1 else call("concat", *pieces)


def _number(part: str, digits: int = 0) -> Label:
    """Return the label of a part as a number, with zeros before it up to some digits."""

    def label(moment: TypedExpression) -> TypedExpression:
        return _padded(date_part(part, moment), digits)

    return label


def _padded(number: TypedExpression, digits: int) -> TypedExpression:
    text = cast_to(number, "text")
    if digits == 0:
        return text
    return call("right", call("concat", constant("0" * (digits - 1), "text"), text), whole(digits))


def _named(part: str, names: Mapping[int, str]) -> Label:
    """Return the label of a part by the names of its values."""

    def label(moment: TypedExpression) -> TypedExpression:
        number = date_part(part, moment)
        return case(
            [(call("equal", number, whole(value)), constant(name, "text")) for value, name in names.items()], None
        )

    return label


def _names(part: str, names: tuple[str, ...], first: int, change: Callable[[str], str]) -> Label:
    return _named(part, {number: change(name) for number, name in enumerate(names, first)})


def _year_of_century(digits: int) -> Label:
    return lambda moment: _padded(call("modulo", call("year", moment), whole(100)), digits)


def _twelve_hours(digits: int) -> Label:
    """Return the hour from 1 to 12."""

    def label(moment: TypedExpression) -> TypedExpression:
        hour = call("modulo", call("add", call("hour", moment), whole(11)), whole(12))
        return _padded(call("add", hour, whole(1)), digits)

    return label


def _half_day(words: tuple[str, str]) -> Label:
    def label(moment: TypedExpression) -> TypedExpression:
        hour = call("hour", moment)
        tests = [call("less", hour, whole(12)), call("greater_equal", hour, whole(12))]
        return case([(test, constant(word, "text")) for test, word in zip(tests, words, strict=True)], None)

    return label


def _week_from(first: int) -> Label:
    """Return the week of the year, 0 to 53, if weeks start on a weekday: 0 for Sunday, 1 for Monday."""

    def label(moment: TypedExpression) -> TypedExpression:
        since = call("modulo", call("add", call("weekday", moment), whole(7 - first)), whole(7))
        days = call("subtract", call("add", call("yearday", moment), whole(6)), since)
        return _padded(call("quotient", days, whole(7)), 2)

    return label


def _week_of_days(moment: TypedExpression) -> TypedExpression:
    """Return the week of the year, 1 to 53, if the first one starts on 1 January."""
    days = call("add", call("yearday", moment), whole(6))
    return call("quotient", days, whole(7))


def _fraction(moment: TypedExpression) -> TypedExpression:
    return _padded(call("modulo", date_part("microsecond", moment), whole(1_000_000)), 6)


def _both(first: Label, between: str, second: Label) -> Label:
    return lambda moment: call("concat", first(moment), constant(between, "text"), second(moment))


def _short(name: str) -> str:
    return name[:_SHORT_NAME]


_DAY = _both(_both(_number("year", 4), "-", _number("month", 2)), "-", _number("day", 2))
_TIME = _both(_both(_number("hour", 2), ":", _number("minute", 2)), ":", _number("second", 2))
_PERCENT_PARTS: Mapping[str, Label] = {
    "Y": _number("year", 4),
    "y": _year_of_century(2),
    "-y": _year_of_century(0),
    **{
        code: _number(part, 2)
        for code, part in zip("mdHMSV", (*("month", "day", "hour", "minute"), "second", "week"), strict=True)
    },
    **{
        f"-{code}": _number(part)
        for code, part in zip("mdHMS", ("month", "day", "hour", "minute", "second"), strict=True)
    },
    "j": _number("yearday", 3),
    "-j": _number("yearday"),
    "I": _twelve_hours(2),
    "-I": _twelve_hours(0),
    "p": _half_day(("AM", "PM")),
    "f": _fraction,
    "B": month_name,
    "b": _names("month", MONTHS, 1, _short),
    "A": day_name,
    "a": _names("weekday", WEEKDAYS, 0, _short),
    "u": _number("isodow"),
    "w": _number("weekday"),
    "G": _number("isoyear", 4),
    "U": _week_from(0),
    "W": _week_from(1),
    "x": _DAY,
    "X": _TIME,
    "c": _both(_DAY, " ", _TIME),
    "%": lambda _: constant("%", "text"),
}
"""The codes of strftime."""


def _filled(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda name: change(name).ljust(_LONGEST_NAME)


def _plainly(name: str) -> str:
    return name


def _twice(label: Label) -> tuple[Label, Label]:
    return label, label


def _digits(part: str, digits: int) -> tuple[Label, Label]:
    return _number(part, digits), _number(part)


def _cases(part: str, names: tuple[str, ...], first: int, word: str) -> dict[str, tuple[Label, Label]]:
    """Return the names in three cases, as PostgreSQL's patterns write them; without FM they have blanks at the end."""
    changes: dict[str, Callable[[str], str]] = {
        word.upper(): str.upper,
        word.capitalize(): _plainly,
        word.lower(): str.lower,
    }
    return {
        code: (_names(part, names, first, _filled(change)), _names(part, names, first, change))
        for code, change in changes.items()
    }


def _short_cases(part: str, names: tuple[str, ...], first: int, word: str) -> dict[str, tuple[Label, Label]]:
    shortened = tuple(map(_short, names))
    return {code: (full, full) for code, (_, full) in _cases(part, shortened, first, word).items()}


_PATTERN_PARTS: Mapping[str, tuple[Label, Label]] = {
    "YYYY": _digits("year", 4),
    "YY": (_year_of_century(2), _year_of_century(0)),
    "IYYY": _digits("isoyear", 4),
    "MM": _digits("month", 2),
    "DDD": _digits("yearday", 3),
    "DD": _digits("day", 2),
    "HH24": _digits("hour", 2),
    **dict.fromkeys(("HH12", "HH"), (_twelve_hours(2), _twelve_hours(0))),
    "MI": _digits("minute", 2),
    "SS": _digits("second", 2),
    "US": (_fraction, _fraction),
    "IW": _digits("week", 2),
    "WW": (lambda moment: _padded(_week_of_days(moment), 2), lambda moment: _padded(_week_of_days(moment), 0)),
    "ID": _twice(_number("isodow")),
    "Q": _twice(_number("quarter")),
    **dict.fromkeys(("AM", "PM"), _twice(_half_day(("AM", "PM")))),
    **_cases("month", MONTHS, 1, "month"),
    **_short_cases("month", MONTHS, 1, "mon"),
    **_cases("weekday", WEEKDAYS, 0, "day"),
    **_short_cases("weekday", WEEKDAYS, 0, "dy"),
}
"""The patterns of to_char, each without and with the prefix FM, which drops zeros and blanks."""

_CODES = "|".join(sorted(_PATTERN_PARTS, key=len, reverse=True))
_PATTERNS = re.compile(rf'(FM)?({_CODES})|"([^"]*)"|(.)', re.DOTALL)
