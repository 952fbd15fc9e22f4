"""Locations of sources and ledgers in a policy: a path beside the file, or a URL, without a password in it.

`${NAME}` is replaced by an environment variable when the data are opened. Its value is never stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tacit.errors import InvalidError

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]+://|spark:")
_FILES_OF_SPARK = re.compile(r"spark:((?![^/]*://)(?:[^`]*/.*|.*\.parquet))", re.DOTALL)
_PASSWORD = re.compile(r"://[^:/?#@\[]*:(?!\d*[/?#])(?P<secret>.*)@", re.DOTALL)  # a port is not a password
_PARAMETER = re.compile(
    r"(?:^|[\s?&;])"
    r"(?:[\w-]*(?:password|passwd|pwd|passphrase|secret|token|credential|signature)[\w-]*|sig|api_?key|access_?key)"
    r"\s*=\s*(?P<secret>[^\s&;]+)",
    re.IGNORECASE,
)

_REFUSAL = (
    "must not contain a password or a key: write ${NAME} in its place and set that environment variable, "
    "or use the database's own password or service file"
)
_SYNTAX = "must name each environment variable as ${NAME}, in letters, digits and underscores"


def location_mistakes(location: str, environment: Mapping[str, str]) -> list[str]:
    """Return the mistakes in a location, as sentences without subject. They show names of variables and nothing else.

    >>> location_mistakes("postgresql://reader:${CLINIC_PASSWORD}@db/clinic", {})
    ['names the environment variable CLINIC_PASSWORD, which is not set; set it and open again']
    """
    mistakes = [_REFUSAL] if holds_secret(location) else []
    if _has_other_references(location):
        mistakes.append(_SYNTAX)
    mistakes += [
        f"names the environment variable {name}, which is not set; set it and open again"
        for name in _unset(location, environment)
    ]
    return mistakes


def _has_other_references(location: str) -> bool:
    """Return whether a ${ in a location does not begin the name of a variable."""
    return "${" in _REFERENCE.sub("", location)


def _unset(location: str, environment: Mapping[str, str]) -> list[str]:
    """Return the variables of a location that are not set or empty."""
    return [name for name in dict.fromkeys(_REFERENCE.findall(location)) if not environment.get(name)]


def holds_secret(location: str) -> bool:
    """Return whether a location contains a password, a token or a key; a variable in its place is allowed."""
    written = _REFERENCE.sub("", location)
    return any(match["secret"] for pattern in (_PASSWORD, _PARAMETER) for match in pattern.finditer(written))


def scheme(location: str) -> str | None:
    """Return the scheme of a URL, the only part that messages show; None for a path.

    >>> scheme("postgresql://reader:secret@db/clinic"), scheme("visits.parquet")
    ('postgresql', None)
    >>> scheme("spark:sales.visits")
    'spark'
    """
    match = _URL.match(location)
    return None if match is None else match[0].partition(":")[0]


def fill(location: str, environment: Mapping[str, str]) -> str:
    """Return a location with its variables filled in; a relative path stays relative.

    >>> fill("${YEAR}/visits.parquet", {"YEAR": "2026"})
    '2026/visits.parquet'

    Raises:
        InvalidError: a variable is not set, or not written as ${NAME}. The message shows names of variables only.
    """
    if _has_other_references(location):
        raise InvalidError(
            "The source contains ${ that does not begin the name of an environment variable.",
            argument="source",
            hint="Write each variable as ${NAME}, in letters, digits and underscores.",
        )
    unset = _unset(location, environment)
    if unset:
        several = "s" if len(unset) > 1 else ""
        raise InvalidError(
            f"The source names the environment variable{several} {', '.join(unset)}, not set or empty.",
            argument="source",
            hint="Set every variable and open the source again.",
        )
    return _REFERENCE.sub(lambda match: environment[match[1]], location)


def resolve(location: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Return a location without mistakes with its variables filled in, a relative path joined to the folder.

    >>> resolve("${YEAR}/visits-*.parquet", Path("/data"), {"YEAR": "2026"})
    '/data/2026/visits-*.parquet'
    >>> resolve("spark:visits.parquet", Path("/data"), {}), resolve("spark:sales.visits", Path("/data"), {})
    ('spark:/data/visits.parquet', 'spark:sales.visits')
    """
    filled = _REFERENCE.sub(lambda match: environment[match[1]], location)
    files = _FILES_OF_SPARK.fullmatch(filled)
    if files is not None:
        return f"spark:{folder / files[1]}"
    return filled if _URL.match(filled) else str(folder / filled)
