"""What the options of `tacit check`, `anonymize` and `attack` mean together; what would do nothing is refused."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import get_args

from tacit.anonymity.attacks import Kind
from tacit.anonymity.drafts import load
from tacit.anonymity.hierarchies import Hierarchy, Rule, hierarchy
from tacit.anonymity.models import KAnonymity, LDiversity, Model, NTCloseness, TCloseness
from tacit.anonymity.tables import read
from tacit.errors import InvalidError, NoSourceError, show

_GROUPED = 3
_SEPARATORS = ";,\t|"
_OPTIMAL, _SEARCHES = "left out, or given with --method optimal", "left out, or given with a method that searches"
_KINDS: tuple[str, ...] = get_args(Kind)
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


def require_tables(tables: Sequence[str | None], sep: str | None) -> None:
    """Raise if a table is not there, or if a separator is given for no CSV file."""
    given = [path for path in tables if path is not None]
    for path in given:
        if not Path(path).is_file():
            got = "which is a folder" if Path(path).is_dir() else "which does not exist"
            raise NoSourceError(f"{path!r}, {got}", "a CSV or Parquet file")
        if Path(path).stat().st_size == 0:
            raise InvalidError("the table", f"{path!r}, an empty file", "a CSV file with a line of names, or Parquet")
    if all(path.lower().endswith(".parquet") for path in given):
        refuse({"sep": sep}, "without a CSV file")


@contextmanager
def separator_hint(tables: Sequence[str | None], sep: str | None) -> Iterator[None]:
    """Say of a table that cannot be read, or became one column, that its separator may be another."""
    try:
        yield
    except NoSourceError:
        raise
    except InvalidError as wrong:
        hint = _hint(
            wrong, [path for path in tables if path is not None and not path.lower().endswith(".parquet")], sep
        )
        raise wrong if hint is None else InvalidError(wrong.argument, f"{wrong.got} ({hint})", wrong.want) from None


def _hint(wrong: InvalidError, tables: Sequence[str], sep: str | None) -> str | None:
    if "cannot be read" in wrong.got:
        return (
            "if another sign separates its cells, say which with --sep; else see that all rows have as many, in UTF-8"
        )
    if wrong.argument != "a column":
        return None
    for path in tables:
        names = read(path, sep=sep).names
        if len(names) == 1 and any(sign in names[0] for sign in _SEPARATORS):
            asked = "say with --sep what separates its cells, and see that all rows have as many"
            return f"the whole first line of {path!r} was read as the name of one column: {asked}"
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


def _level(l: float) -> float:  # noqa: E741
    if not isfinite(l):
        raise InvalidError("--l", show(l), "a finite number ≥ 1")
    return int(l) if l == int(l) else l


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


def rules(given: Sequence[str], sep: str | None) -> dict[str, Rule]:
    """Return hierarchies by column, from TOML files and from COLUMN=FILE.

    Args:
        given: the options as they were given.
        sep: what separates the cells of a FILE.
    """
    held: dict[str, Rule] = {}
    for one in given:
        column, _, file = one.partition("=")
        more: Mapping[str, Rule] = _load(one) if _is_toml(one) else {column: read_hierarchy(file, sep)}
        for name, made in more.items():
            if name in held:
                raise InvalidError("--hierarchies", f"two for {name!r}", "one for each column")
            held[name] = made
    return held


def _load(path: str) -> dict[str, Rule]:
    try:
        return load(path)
    except InvalidError as wrong:
        if wrong.argument != "the hierarchies":
            raise
        want = "a TOML file that can be read, or COLUMN=FILE for a hierarchy as ARX writes it"
        raise InvalidError("--hierarchies", wrong.got, want) from None


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
        raise InvalidError("--groups", f"{path!r}, which has none", "a hierarchy of values, their groups and a top")
    return made


def _is_toml(given: str) -> bool:
    return "=" not in given or Path(given).is_file()


def tells_files(given: Sequence[str]) -> bool:
    """Tell whether a hierarchy is given as COLUMN=FILE."""
    return not all(map(_is_toml, given))


def chosen_rules(given: Sequence[str], sep: str | None, quasi: Sequence[str]) -> dict[str, Rule]:
    """Return the hierarchies of the quasi-identifiers, or of all columns that have one where none is named."""
    held = rules(given, sep)
    named = [one.partition("=")[0] for one in given if not _is_toml(one)]
    if quasi:
        lacks = next((name for name in quasi if name not in held), None)
        if lacks is not None:
            raise InvalidError("--hierarchies", f"none for {lacks!r}", "one for each --quasi")
        idle = next((name for name in named if name not in quasi), None)
        if idle is not None:
            raise InvalidError("--hierarchies", f"one for {idle!r}, which is no --quasi", "for quasi-identifiers")
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
        raise InvalidError("a hierarchy", f"{path!r}, which cannot be read", want) from None


def _require_cells(path: str, sign: str) -> None:
    """Raise if the first line of a file is one cell that another sign would part."""
    with Path(path).open(encoding="utf-8-sig") as file:
        first = file.readline()
    if sign not in first and any(other in first for other in _SEPARATORS):
        got = f"{path!r}, whose first line has no {sign!r}"
        raise InvalidError(
            "a hierarchy", got, "a file of several cells a line; say what parts them with --hierarchy-sep"
        )
