"""What the options of `tacit check`, `anonymize` and `attack` mean together; what would do nothing is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import get_args

from tacit.anonymity.attacks import AttackKind
from tacit.anonymity.count_in_database import is_remote
from tacit.anonymity.privacy_models import KAnonymity, LDiversity, Model, NTCloseness, TCloseness
from tacit.anonymity.table_files import exists, is_secret, show_path
from tacit.anonymity.tables import read
from tacit.errors import (
    ColumnNotFoundError,
    ColumnValueError,
    InvalidError,
    NoSourceError,
    UnreadableFileError,
    show,
)

SEPARATORS = ";,\t|"
_OPTIMAL, _SEARCHES = "left out, or given with --method optimal", "left out, or given with a method that searches"
_KINDS: tuple[str, ...] = get_args(AttackKind)
_OF_KIND = {
    "excluded": "background",
    "factor": "skewness",
    "groups": "similarity",
    "outside": "linkage",
    "hierarchies": "linkage",
}


def refuse(given: Mapping[str, object], why: str, want: str = "left out") -> None:
    """Raise if an option is given, for it would do nothing; one is not given where it is None, False or empty.

    Args:
        given: options by name.
        why: what makes them useless, such as "without --t".
        want: what to do about it.
    """
    for option, value in given.items():
        if value is not None and value is not False and value != []:
            raise InvalidError(f"--{option}", f"it {why}, where it does nothing", want)


def there(files: Iterable[str | None]) -> list[str]:
    """Return the files that there are; an output could replace no other."""
    return [path for path in files if path is not None and exists(Path(path))]


def require_paths(files: Mapping[str, str | None]) -> None:
    """Raise if a URL is given where a file is written, without showing what it holds."""
    for option, path in files.items():
        if path is not None and is_secret(path):
            raise InvalidError(f"--{option}", show_path(path), "the path of a file to write")


def require_tables(tables: Sequence[str | None], sep: str | None) -> None:
    """Raise if a table is not there, or if a separator is given for no CSV file."""
    given = [path for path in tables if path is not None and not is_remote(path) and not _is_far(path)]
    for path in given:
        found = exists(Path(path))
        if not found or not Path(path).is_file():
            got = "which is a folder" if found and Path(path).is_dir() else "which does not exist"
            raise NoSourceError(f"{show_path(path)}, {got}", "a CSV or Parquet file")
        if Path(path).stat().st_size == 0:
            raise InvalidError(
                "the table", f"{show_path(path)}, an empty file", "a CSV file with a line of names, or Parquet"
            )
    if all(path.lower().endswith(".parquet") for path in given):
        refuse({"sep": sep}, "without a CSV file")


@contextmanager
def relation_hint() -> Iterator[None]:
    """Call the table of a database by the option that names it."""
    try:
        yield
    except InvalidError as wrong:
        if wrong.argument != "relation":
            raise
        raise InvalidError(wrong.message, argument="--table", hint=wrong.hint) from None


def _is_far(path: str) -> bool:
    """Return whether a text says where a database is; what reads tables says what to do about it."""
    return is_secret(path) and not exists(Path(path))


@contextmanager
def separator_hint(tables: Sequence[str | None], sep: str | None) -> Iterator[None]:
    """Say of a table that cannot be read, or became one column, that its separator may be another."""
    try:
        yield
    except NoSourceError:
        raise
    except InvalidError as wrong:
        hint = _hint(
            wrong,
            [path for path in tables if path and not path.lower().endswith(".parquet") and not is_remote(path)],
            sep,
        )
        raise wrong if hint is None else InvalidError(wrong.message, argument=wrong.argument, hint=hint) from None


def _hint(wrong: InvalidError, tables: Sequence[str], sep: str | None) -> str | None:
    if isinstance(wrong, UnreadableFileError):
        return (
            "If another character separates its cells, give it with --sep. Otherwise check that all rows have as many "
            "cells, in UTF-8."
        )
    if not isinstance(wrong, ColumnNotFoundError):
        return None
    for path in tables:
        names = read(path, sep=sep).names
        if len(names) == 1 and any(sign in names[0] for sign in SEPARATORS):
            asked = "Give the separator of its cells with --sep, and check that all rows have as many cells."
            return f"The whole first line of {show_path(path)} was read as the name of one column. {asked}"
    return None


def required(
    *,
    k: int | None,
    l: float | None,  # noqa: E741 - the literature's letter
    kind: str | None,
    c: float | None,
    t: float | None,
    n: int | None,
) -> list[Model]:
    """Return the requirements that the options state, at least one."""
    models: list[Model] = [] if k is None else [KAnonymity(k)]
    if l is None:
        refuse({"kind": kind, "c": c}, "without --l")
    else:
        models.append(LDiversity(_level(l), kind=kind or "distinct", c=c))  # type: ignore[arg-type]  # it checks
    if t is None:
        refuse({"n": n}, "without --t")
    else:
        models.append(TCloseness(t) if n is None else NTCloseness(n, t))
    if not models:
        raise InvalidError("what is required", "nothing", "at least one of --k, --l and --t")
    return models


def _level(l: float) -> float:  # noqa: E741 - the literature's letter
    if not isfinite(l):
        raise InvalidError("--l", show(l), "a finite number ≥ 1")
    return int(l) if l == int(l) else l


def require_sensitive(models: Sequence[Model], sensitive: Sequence[str]) -> None:
    """Raise if a requirement is about sensitive values, and no column holds such."""
    if not sensitive and any(not isinstance(model, KAnonymity) for model in models):
        raise InvalidError("--sensitive", "none", "the column that --l and --t are about")


def require_seconds(seconds: float | None) -> None:
    """Raise unless there is time to search, or no limit."""
    if seconds is not None and not (seconds > 0 and isfinite(seconds)):
        raise InvalidError("--seconds", show(seconds), "a finite number > 0, or left out for no limit")


def require_method(method: str, *, suppression: float | None, seconds: float | None) -> None:
    """Raise if an option is given that the method does not use."""
    if method in {"local", "mondrian"}:
        refuse({"suppression": suppression}, f"with --method {method}, which suppresses no row", _OPTIMAL)
    if method == "mondrian":
        refuse({"seconds": seconds}, "with --method mondrian, which does not search", _SEARCHES)


def require_kind(kind: str, given: Mapping[str, object]) -> None:
    """Raise if the attack is unknown, or an option is given that it does not use."""
    if kind not in _KINDS:
        raise InvalidError("--kind", show(kind), f"one of {', '.join(_KINDS)}")
    for option, of in _OF_KIND.items():
        if kind != of:
            refuse({option: given[option]}, f"with --kind {kind}", f"left out, or given with --kind {of}")


def excluded(given: Sequence[str] | None) -> int | list[str]:
    """Return how many sensitive values are ruled out, or which."""
    if given and len(given) == 1 and given[0].isdecimal():
        return int(given[0])
    return list(given) if given else 1


@contextmanager
def groups_hint(*, needed: bool) -> Iterator[None]:
    """Say of values that are no numbers that groups of them would do."""
    try:
        yield
    except ColumnValueError as wrong:
        if not needed:
            raise
        hint = "Or give groups of its values with --groups."
        raise InvalidError(wrong.message, argument=wrong.argument, hint=f"{wrong.hint or ''} {hint}".strip()) from None
