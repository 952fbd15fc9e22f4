"""Hierarchies of `tacit anonymize` and `attack`: TOML files, and files as ARX writes them."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tacit.anonymity.drafts import load
from tacit.anonymity.hierarchies import Hierarchy, HierarchyRule, hierarchy
from tacit.anonymity.table_files import exists, show_path
from tacit.cli.microdata_options import SEPARATORS
from tacit.errors import InvalidError, UnreadableFileError, show

_GROUPED = 3


def rules(given: Sequence[str], sep: str | None) -> dict[str, HierarchyRule]:
    """Return hierarchies by column, from TOML files and from COLUMN=FILE.

    Args:
        given: the options as they were given.
        sep: what separates the cells of a FILE.
    """
    held: dict[str, HierarchyRule] = {}
    for one in given:
        column, _, file = one.partition("=")
        more: Mapping[str, HierarchyRule] = _load(one) if _is_toml(one) else {column: read_hierarchy(file, sep)}
        for name, made in more.items():
            if name in held:
                raise InvalidError("--hierarchies", f"two for {show_path(name)}", "one for each column")
            held[name] = made
    return held


def _load(path: str) -> dict[str, HierarchyRule]:
    try:
        return load(path)
    except UnreadableFileError as wrong:
        hint = "Give a TOML file that can be read, or COLUMN=FILE for a hierarchy as ARX writes it."
        raise InvalidError(wrong.message, argument="--hierarchies", hint=hint) from None


def rule_files(given: Sequence[str]) -> list[str]:
    """Return every file that hierarchies are read from, those that a TOML file names among them."""
    found = []
    for one in given:
        found.append(one if _is_toml(one) else one.partition("=")[2])
        if _is_toml(one):
            found += _named_in(one)
    return found


def _named_in(path: str) -> list[str]:
    try:
        held = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []  # refused once it is read
    tables = [one for one in held.values() if isinstance(one, dict)]
    return [str(Path(path).parent / one["file"]) for one in tables if isinstance(one.get("file"), str)]


def groups(path: str | None, sep: str | None) -> Hierarchy | None:
    """Read groups of sensitive values, which stand between the values and the top of their hierarchy."""
    made = None if path is None else read_hierarchy(path, sep)
    if made is not None and made.height < _GROUPED:
        raise InvalidError(
            "--groups", f"{show_path(path)}, which has none", "a hierarchy of values, their groups and a top"
        )
    return made


def _is_toml(given: str) -> bool:
    return "=" not in given or (exists(Path(given)) and Path(given).is_file())


def tells_files(given: Sequence[str]) -> bool:
    """Tell whether a hierarchy is given as COLUMN=FILE."""
    return not all(map(_is_toml, given))


def chosen_rules(given: Sequence[str], sep: str | None, quasi: Sequence[str]) -> dict[str, HierarchyRule]:
    """Return the hierarchies of the quasi-identifiers, or of all columns that have one where none is named."""
    held = rules(given, sep)
    named = [one.partition("=")[0] for one in given if not _is_toml(one)]
    if quasi:
        lacks = next((name for name in quasi if name not in held), None)
        if lacks is not None:
            raise InvalidError("--hierarchies", f"none for {lacks!r}", "one for each --quasi")
        idle = next((name for name in named if name not in quasi), None)
        if idle is not None:
            raise InvalidError(
                "--hierarchies", f"one for {show_path(idle)}, which is no --quasi", "for quasi-identifiers"
            )
    return {name: held[name] for name in quasi or held}


def read_hierarchy(path: str, sep: str | None) -> Hierarchy:
    """Read a hierarchy from a file as ARX writes it."""
    sign = ";" if sep is None else "\t" if sep == "\\t" else sep
    if len(sign) != 1:
        raise InvalidError("--hierarchy-sep", show(sep), "one character, or \\t")
    try:
        if Path(path).exists():
            _require_cells(path, sign)
        return hierarchy(path, sep=sign)
    except (OSError, UnicodeError, csv.Error, TypeError):
        want = f"a text file in UTF-8 with cells apart by {sign!r}"
        raise InvalidError("a hierarchy", f"{show_path(path)}, which cannot be read", want) from None


def _require_cells(path: str, sign: str) -> None:
    """Raise if the first line of a file is one cell that another sign would part."""
    with Path(path).open(encoding="utf-8-sig") as file:
        first = file.readline()
    if sign not in first and any(other in first for other in SEPARATORS):
        got = f"{show_path(path)}, whose first line has no {sign!r}"
        raise InvalidError(
            "a hierarchy", got, "a file of several cells a line; say what parts them with --hierarchy-sep"
        )
