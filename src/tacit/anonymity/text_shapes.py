"""Known shapes of text, and the labels that a person would write for them: countries, ICD, NUTS and postcodes.

A shape applies to a column if every value has it. Its labels go from fine to coarse, without the raw value and "*".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tacit.anonymity.countries import regions_of_countries

Labels = tuple[str, ...]

# the first category and the last of every chapter of ICD-10 (WHO, version of 2019)
_CHAPTERS = (
    "A00-B99", "C00-D48", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95",
    "I00-I99", "J00-J99", "K00-K93", "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P96",
    "Q00-Q99", "R00-R99", "S00-T98", "U00-U99", "V01-Y98", "Z00-Z99",
)  # fmt: skip
_STARTS = [chapter[:3] for chapter in _CHAPTERS]
_ICD = re.compile(r"[A-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?", re.ASCII)
_NUTS = re.compile(
    r"(?:AL|AT|BA|BE|BG|CH|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IS|IT"
    r"|LI|LT|LU|LV|ME|MK|MT|NL|NO|PL|PT|RO|RS|SE|SI|SK|TR|UK|XK)[0-9A-Z]{1,3}",
    re.ASCII,
)
_BRITISH = re.compile(r"([A-Z]{1,2})(\d[0-9A-Z]?) (\d)[A-Z]{2}", re.ASCII)
_CANADIAN = re.compile(r"([A-Z])(\d)([A-Z]) ?(\d[A-Z]\d)", re.ASCII)
_DUTCH = re.compile(r"\d{4} ?[A-Z]{2}", re.ASCII)
_ZIP_PLUS_4 = re.compile(r"(\d{5})-\d{4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of text: its name, and the labels of a value, or None if the value does not have the shape."""

    name: str
    labels: Callable[[str], Labels | None]


def _country(value: str) -> Labels | None:
    return regions_of_countries().get(value)


def _icd(value: str) -> Labels | None:
    """Return the category and the chapter of a diagnosis in ICD-10."""
    if not _ICD.fullmatch(value):
        return None
    category = value[:3]
    return category, _CHAPTERS[max(0, bisect_right(_STARTS, category) - 1)]


def _nuts(value: str) -> Labels | None:
    """Return the regions of NUTS 2, NUTS 1 and the country; a region of a higher level is its own label."""
    return (value[:4], value[:3], value[:2]) if _NUTS.fullmatch(value) else None


def _british(value: str) -> Labels | None:
    parts = _BRITISH.fullmatch(value)
    return None if parts is None else (f"{parts[1]}{parts[2]} {parts[3]}", f"{parts[1]}{parts[2]}", parts[1])


def _canadian(value: str) -> Labels | None:
    parts = _CANADIAN.fullmatch(value)
    return None if parts is None else (f"{parts[1]}{parts[2]}{parts[3]}", f"{parts[1]}{parts[2]}", parts[1])


def _dutch(value: str) -> Labels | None:
    return (value[:4], f"{value[:2]}**", f"{value[0]}***") if _DUTCH.fullmatch(value) else None


def _zip_plus_4(value: str) -> Labels | None:
    parts = _ZIP_PLUS_4.fullmatch(value)
    return None if parts is None else (parts[1], *(parts[1][:kept] + "*" * (5 - kept) for kept in (4, 3, 2, 1)))


# A value may have several shapes: DEU is a country and a region. The first shape that all values have counts.
_SHAPES = (
    Shape("ISO countries, by region of the United Nations", _country),
    Shape("British postcodes", _british),
    Shape("Canadian postcodes", _canadian),
    Shape("Dutch postcodes", _dutch),
    Shape("ZIP+4 codes", _zip_plus_4),
    Shape("NUTS regions", _nuts),
    Shape("ICD-10 diagnoses, by category and chapter", _icd),
)


def find_shape(values: Sequence[str]) -> tuple[Shape, dict[str, Labels]] | None:
    """Return the first shape that every value has, with the labels of each value; None if no shape fits.

    >>> shape, labels = find_shape(["E11.9", "E10", "I21.0"])
    >>> shape.name, labels["E11.9"]
    ('ICD-10 diagnoses, by category and chapter', ('E11', 'E00-E90'))
    """
    for shape in _SHAPES:
        labels = {value: found for value in values if (found := shape.labels(value)) is not None}
        if values and len(labels) == len(values) and (shape.labels is not _nuts or _has_digit(values)):
            return shape, labels
    return None


def _has_digit(values: Sequence[str]) -> bool:
    return any(any(map(str.isdigit, value)) for value in values)
