"""Where a source or a ledger is, as a policy file says it: a path beside the file, or a URL; never with a secret in it.

`${NAME}` stands for an environment variable. It is looked up when the data are opened, and its value is never kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tacit.errors import InvalidError

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]+://|spark:")
_FILES_OF_SPARK = re.compile(r"spark:((?![^/]*://)(?:[^`]*/.*|.*\.parquet))", re.DOTALL)
_PASSWORD = re.compile(r"://[^:/?#@\[]*:(?!\d*[/?#])(?P<secret>.*)@", re.DOTALL)  # a port is no password
_PARAMETER = re.compile(
    r"(?:^|[\s?&;])"
    r"(?:[\w-]*(?:password|passwd|pwd|passphrase|secret|token|credential|signature)[\w-]*|sig|api_?key|access_?key)"
    r"\s*=\s*(?P<secret>[^\s&;]+)",
    re.IGNORECASE,
)

_REFUSAL = (
    "must not hold a password or a key: write ${NAME} in its place and set that environment variable, "
    "or use the database's own password or service file"
)


def complaints(location: str, environment: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a location, without showing any of it but names of variables.

    >>> complaints("postgresql://reader:${CLINIC_PASSWORD}@db/clinic", {})
    ['names the environment variable CLINIC_PASSWORD, which is not set; set it and open again']
    """
    found = [_REFUSAL] if holds_secret(location) else []
    if "${" in _REFERENCE.sub("", location):
        found.append("must name each environment variable as ${NAME}, in letters, digits and underscores")
    found += [
        f"names the environment variable {name}, which is not set; set it and open again"
        for name in dict.fromkeys(_REFERENCE.findall(location))
        if not environment.get(name)
    ]
    return found


def holds_secret(location: str) -> bool:
    """Return whether a password, a token or a key stands in a location; a variable in its place is none."""
    written = _REFERENCE.sub("", location)
    return any(match["secret"] for pattern in (_PASSWORD, _PARAMETER) for match in pattern.finditer(written))


def scheme(location: str) -> str | None:
    """Return the scheme of a URL, all of it that may be shown; None for a path.

    >>> scheme("postgresql://reader:secret@db/clinic"), scheme("visits.parquet")
    ('postgresql', None)
    >>> scheme("spark:sales.visits")
    'spark'
    """
    found = _URL.match(location)
    return None if found is None else found[0].partition(":")[0]


def fill(location: str, environment: Mapping[str, str]) -> str:
    """Return a location with its variables filled in; a path stays relative. It shows no more than their names.

    >>> fill("${YEAR}/visits.parquet", {"YEAR": "2026"})
    '2026/visits.parquet'

    Raises:
        InvalidError: a variable is not set, or not written as ${NAME}.
    """
    if "${" in _REFERENCE.sub("", location):
        want = "one that names each environment variable as ${NAME}, in letters, digits and underscores"
        raise InvalidError("source", "one with ${ that begins no such name", want)
    unset = [name for name in dict.fromkeys(_REFERENCE.findall(location)) if not environment.get(name)]
    if unset:
        several = "s" if len(unset) > 1 else ""
        got = f"one that names the environment variable{several} {', '.join(unset)}, not set or empty"
        raise InvalidError("source", got, "one whose environment variables are set: set them and open again")
    return _REFERENCE.sub(lambda match: environment[match[1]], location)


def resolve(location: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Return what a location without complaints means: variables filled in, a relative path taken from the folder.

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
