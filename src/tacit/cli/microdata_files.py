"""Files of `tacit check`, `anonymize` and `attack`: tables, hierarchies, and environment variables in their paths.

A TABLE may contain `${NAME}` for an environment variable. The functions that read tables get the value, and name a
table in their errors by the path that they got. So `with_variables` redacts the errors: it replaces the value
with the path as the user wrote it.
"""

from __future__ import annotations

import csv
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from tacit.anonymity.count_in_database import is_remote
from tacit.anonymity.hierarchies import Hierarchy, HierarchyRule, hierarchy
from tacit.anonymity.rule_files import load
from tacit.anonymity.table_files import exists, is_secret, show_path
from tacit.anonymity.tables import read
from tacit.errors import (
    ColumnNotFoundError,
    InvalidError,
    NoSourceError,
    TacitError,
    UnreadableFileError,
    bad_value,
    show_name,
)
from tacit.query.policy.locations import fill
from tacit.safe_text import hidden

_SEPARATORS = ";,\t|"
_GROUPED = 3
_REFERENCE = re.compile(r"\$\{(\w+)\}")
_SHORT, _CUT = 6, 40
_SEP_HINT = "If another character separates its cells, name it with --sep. All rows must have the same number of cells."
_REPEAT_HINT = "To name several columns, repeat the option: --quasi zip --quasi age."

Result = TypeVar("Result")


def with_variables(action: Callable[[str, str | None], Result], table: str, other: str | None = None) -> Result:
    """Call an action with one or two sources, their environment variables filled in, and redact its errors.

    Raises:
        InvalidError: a variable is not set.
    """
    sources = {path: fill(path, os.environ) for path in (table, other) if path is not None and "${" in path}
    try:
        return action(sources.get(table, table), None if other is None else sources.get(other, other))
    except TacitError as error:
        if not sources:
            raise
        redacted = error
        for written, source in sources.items():
            redacted = redacted.redacted(partial(unfilled, source=source, written=written))
    raise redacted  # outside of `except`, so that its context is not the error with the values


def unfilled(text: str, source: str, written: str) -> str:
    """Return a text without the values of the variables of a source.

    >>> unfilled("The file '/data/secret.csv' does not exist.", "/data/secret.csv", "${FOLDER}/${NAME}.csv")
    "The file '${FOLDER}/${NAME}.csv' does not exist."
    """
    text = _replace(text, source, written)
    for part in (Path(source).name, Path(source).stem):
        if part and part not in written:
            text = _replace(text, part, written, quoted=True)
    names = _REFERENCE.findall(written)
    for name in sorted(names, key=lambda name: -len(os.environ.get(name, ""))):
        text = _replace(text, os.environ.get(name, ""), f"${{{name}}}")
    return text


def _replace(text: str, value: str, written: str, *, quoted: bool = False) -> str:
    """Replace a value in every spelling: without its password, as a path, quoted, or cut after some characters."""
    spellings = {value, hidden(value), str(Path(value)), hidden(str(Path(value)))} if value else set()
    for spelling in sorted(spellings, key=len, reverse=True):
        for shown, replacement in {spelling: written, repr(spelling)[1:-1]: repr(written)[1:-1]}.items():
            text = _substitute(text, shown, replacement, quoted=quoted or len(shown) < _SHORT)
            cut = next((end for end in range(len(shown), _CUT, -1) if shown[:end] in text), None)
            text = text if cut is None else text.replace(shown[:cut], replacement)
    return text


def _substitute(text: str, value: str, replacement: str, *, quoted: bool) -> str:
    """Replace a value in a text; with `quoted`, only between quotes or separators, because it may be a word."""
    escaped = re.escape(value)
    pattern = rf"(?<=['\"`/:.]){escaped}(?=['\"`/:.])" if quoted else escaped
    return re.sub(pattern, lambda _: replacement, text)


def existing(files: Iterable[str | None]) -> list[str]:
    """Return the files that exist; an output can replace only those."""
    return [path for path in files if path is not None and exists(Path(path))]


def check_paths(files: Mapping[str, str | None]) -> None:
    """Check that no output is a URL, without showing it."""
    for option, path in files.items():
        if path is not None and is_secret(path):
            raise InvalidError(
                f"{option} is {show_path(path)}, not the path of a file.", argument=option, hint="Name a file to write."
            )


def check_tables(tables: Iterable[str]) -> None:
    """Check that every table that should be a file is a file with content."""
    for path in filter(is_local_file, tables):
        is_there = exists(Path(path))
        if not is_there or not Path(path).is_file():
            problem = "is a folder" if is_there and Path(path).is_dir() else "does not exist"
            raise NoSourceError(f"The source {show_path(path)} {problem}.", hint="Name a CSV or Parquet file.")
        if Path(path).stat().st_size == 0:
            raise InvalidError(
                f"The table {show_path(path)} is an empty file.",
                argument="table",
                hint="Use a CSV file with a line of column names, or a Parquet file.",
            )


def is_local_file(path: str) -> bool:
    """Return whether a table should be a file on this machine: it is not in a database, and not a URL."""
    return not is_remote(path) and (not is_secret(path) or exists(Path(path)))


@contextmanager
def separator_hint(tables: Iterable[str | None], sep: str | None) -> Iterator[None]:
    """Add a hint to an error about a table.

    If a CSV file is malformed or was read as one column, the hint is about --sep. If the name of a column has commas,
    the hint is to repeat the option.
    """
    try:
        yield
    except (UnreadableFileError, ColumnNotFoundError) as error:
        csv_files = [path for path in tables if path and not path.lower().endswith(".parquet") and not is_remote(path)]
        hint = _separator_hint(error, csv_files, sep)
        if hint is not None:
            error.add_hint(hint)
        elif isinstance(error, ColumnNotFoundError) and "," in error.name:
            error.hint = _REPEAT_HINT
        raise


def _separator_hint(
    error: UnreadableFileError | ColumnNotFoundError, tables: Sequence[str], sep: str | None
) -> str | None:
    if isinstance(error, UnreadableFileError):
        return _SEP_HINT if any(Path(error.path) == Path(path) for path in tables) else None
    for path in tables:
        names = read(path, sep=sep).names
        if len(names) == 1 and any(sign in names[0] for sign in _SEPARATORS):
            return f"The whole first line of {show_path(path)} was read as one column name. {_SEP_HINT}"
    return None


def read_rules(files: Sequence[str], sep: str | None) -> dict[str, HierarchyRule]:
    """Return hierarchies by column, from TOML files and from COLUMN=FILE.

    Args:
        files: the values of --hierarchies.
        sep: the separator of the cells of a FILE.
    """
    rules: dict[str, HierarchyRule] = {}
    for file in files:
        column, _, path = file.partition("=")
        more: Mapping[str, HierarchyRule] = _load_toml(file) if _is_toml(file) else {column: read_hierarchy(path, sep)}
        for name, rule in more.items():
            if name in rules:
                raise InvalidError(
                    f"There are two hierarchies for {show_name(name)}.",
                    argument="--hierarchies",
                    hint="Give one hierarchy for each column.",
                )
            rules[name] = rule
    return rules


def _load_toml(path: str) -> dict[str, HierarchyRule]:
    try:
        return load(path)
    except UnreadableFileError as error:
        if Path(error.path) == Path(path):
            error.hint = "Name a TOML file, or write COLUMN=FILE for a hierarchy in ARX's format."
        raise


def rules_for(files: Sequence[str], sep: str | None, quasi: Sequence[str]) -> dict[str, HierarchyRule]:
    """Return the hierarchies of the quasi-identifiers; if there are no quasi-identifiers, all hierarchies."""
    rules = read_rules(files, sep)
    if quasi:
        missing = next((name for name in quasi if name not in rules), None)
        if missing is not None:
            raise InvalidError(
                f"There is no hierarchy for --quasi {show_name(missing)}.",
                argument="--hierarchies",
                hint="Give one hierarchy for each --quasi.",
            )
        columns = [file.partition("=")[0] for file in files if not _is_toml(file)]
        unused = next((name for name in columns if name not in quasi), None)
        if unused is not None:
            raise InvalidError(
                f"There is a hierarchy for {show_name(unused)}, which is not a --quasi.",
                argument="--hierarchies",
                hint="Give hierarchies for quasi-identifiers only.",
            )
    return {name: rules[name] for name in quasi or rules}


def rule_files(files: Sequence[str]) -> list[str]:
    """Return every file that hierarchies are read from, including those that a TOML file names."""
    paths = []
    for file in files:
        paths.append(file if _is_toml(file) else file.partition("=")[2])
        if _is_toml(file):
            paths += _named_in(file)
    return paths


def _named_in(path: str) -> list[str]:
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []  # `load` reports it
    tables = [table for table in content.values() if isinstance(table, dict)]
    return [str(Path(path).parent / table["file"]) for table in tables if isinstance(table.get("file"), str)]


def _is_toml(file: str) -> bool:
    return "=" not in file or (exists(Path(file)) and Path(file).is_file())


def has_column_files(files: Sequence[str]) -> bool:
    """Return whether a hierarchy is given as COLUMN=FILE."""
    return not all(map(_is_toml, files))


def read_groups(path: str | None, sep: str | None) -> Hierarchy | None:
    """Read a hierarchy of sensitive values with their groups on a level between the values and the top."""
    groups = None if path is None else read_hierarchy(path, sep)
    if groups is not None and groups.height < _GROUPED:
        raise InvalidError(
            f"The hierarchy {show_path(path)} has no groups.",
            argument="--groups",
            hint="Use a hierarchy of values, their groups and a top.",
        )
    return groups


def read_hierarchy(path: str, sep: str | None) -> Hierarchy:
    """Read a hierarchy from a file in ARX's format."""
    sign = ";" if sep is None else "\t" if sep == "\\t" else sep
    if len(sign) != 1:
        raise bad_value("--hierarchy-sep", sep, "one character, or \\t")
    try:
        if Path(path).exists():
            _check_separator(path, sign)
        return hierarchy(path, sep=sign)
    except (OSError, UnicodeError, csv.Error, TypeError):
        raise UnreadableFileError(
            path,
            "it is not a hierarchy.",
            argument="--hierarchies",
            hint=f"Use a text file in UTF-8 whose cells are separated by {sign!r}.",
        ) from None


def _check_separator(path: str, sign: str) -> None:
    """Check that the first line of a file is not a single cell that contains another separator."""
    with Path(path).open(encoding="utf-8-sig") as file:
        first = file.readline()
    if sign not in first and any(other in first for other in _SEPARATORS):
        raise InvalidError(
            f"The first line of the hierarchy {show_path(path)} has no {sign!r}.",
            argument="--hierarchies",
            hint="Use a file with several cells on each line, and name their separator with --hierarchy-sep.",
        )
