"""A policy in a TOML file. Every mistake is reported at once, with its line.

    clinic.toml ──tomllib──► plain values ──models, cross-checks──► Policy

No source is opened here, and no value of an environment variable is stored.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType

from tacit.errors import UnreadableFileError
from tacit.guarantees.exact import Exact
from tacit.guarantees.filters import Budget
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.query.policy.build import digest
from tacit.query.policy.column_values import read_bounds
from tacit.query.policy.declaration import Policy, TableDeclaration
from tacit.query.policy.file_checks import FileMistake, declare, file_mistakes, file_path, read_toml
from tacit.query.policy.file_schema import AnalystModel, BudgetModel, PolicyModel, TableModel, plain
from tacit.query.policy.locations import location_mistakes, resolve
from tacit.query.policy.mistakes import Mistake, PolicyError, TableMistake
from tacit.query.policy.toml_lines import KeyPath, dotted_key, line_of

_EMPTY = "is empty; did `tacit init` fail? Run it again without redirecting its output to a file, and read its message"


def _unreadable(file: Path, error: Exception) -> UnreadableFileError:
    """Return the error for a policy file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        hint = f"Check the path. `tacit init SOURCE > {file.name}` writes a policy to fill in."
        return UnreadableFileError(file, "there is no such file.", argument="policy", hint=hint)
    reason = "it is a folder" if isinstance(error, IsADirectoryError) else "the system does not allow it"
    return UnreadableFileError(file, f"{reason}.", argument="policy", hint="Name a policy file that can be read.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyText:
    """The origin of a policy in a file: a mistake is at a line, and paths are relative to the file's folder."""

    path: Path
    folder: Path
    lines: Mapping[KeyPath, int]

    def where(self, table: TableDeclaration) -> str:
        """Return the keys of a table, such as tables.visits."""
        return dotted_key((table.section, str(table.name)))

    def error(self, table: TableDeclaration, mistakes: Iterable[TableMistake]) -> PolicyError:
        """Return the error that lists mistakes in the declaration of a table by their lines."""
        return self.file_error((file_path(table, mistake), mistake.message) for mistake in mistakes)

    def file_error(self, mistakes: Iterable[FileMistake]) -> PolicyError:
        """Return the error that lists mistakes by their lines, each once."""
        placed = [Mistake(line_of(self.lines, keys), dotted_key(keys), message) for keys, message in mistakes]
        return PolicyError(str(self.path), sorted(dict.fromkeys(placed), key=lambda mistake: mistake.line or 0))

    def resolve(self, keys: KeyPath, location: object, environment: Mapping[str, str]) -> str:
        """Return the path or URL at a location, with environment variables filled in, or raise PolicyError."""
        mistakes = location_mistakes(str(location), environment)
        if mistakes:
            raise self.file_error((keys, message) for message in mistakes)
        return resolve(str(location), self.folder, environment)


def load(path: str | os.PathLike[str], *, environment: Mapping[str, str] | None = None) -> Policy:
    """Read a policy file, or raise PolicyError with every mistake and its line.

    Args:
        path: The TOML file; paths in it are relative to its folder.
        environment: Values for `${NAME}`; by default the process's environment.
    """
    file = Path(path)
    try:
        content = file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _unreadable(file, error) from None
    return parse(content, file, environment=environment)


def parse(content: bytes, path: Path, *, environment: Mapping[str, str] | None = None) -> Policy:
    """Read the content of a policy file, which need not be stored at its path yet; see `load`.

    Args:
        content: the TOML, in UTF-8.
        path: the file that messages name, and whose folder paths in it are relative to.
        environment: Values for `${NAME}`; by default the process's environment.
    """
    if not content.removeprefix(BOM_UTF8).strip():
        raise PolicyError(str(path), [Mistake(None, "the file", _EMPTY)])
    raw, lines = read_toml(str(path), content)
    text = PolicyText(path=path, folder=path.absolute().parent, lines=lines)
    model, mistakes = file_mistakes(raw, os.environ if environment is None else environment, text)
    if model is None or mistakes:
        raise text.file_error(mistakes)
    return Policy(
        origin=text,
        budget=_budget(model.budget),
        ledger=model.ledger,
        tables=MappingProxyType(
            {
                name: declare(name, plain(table), text, neighbours=model.neighbours, timezone=model.timezone)
                for name, table in model.tables.items()
            }
        ),
        public=MappingProxyType(
            {
                name: declare(name, plain(table), text, public=True, timezone=model.timezone)
                for name, table in model.public.items()
            }
        ),
        version=digest(_content(model)),
        data_version=model.data_version or "",
        analysts=MappingProxyType({name: _budget(budget) for name, budget in model.analysts.items()}),
        engine=MappingProxyType(plain(model.engine)),
    )


def _budget(budget: BudgetModel | AnalystModel) -> Budget:
    """Return the guarantee of a budget that has epsilon or rho, not both."""
    delta = None if budget.delta is None else Exact(budget.delta)
    if budget.epsilon is not None:
        epsilon = Exact(budget.epsilon)
        return PureDP(epsilon=epsilon) if delta is None else ApproxDP(epsilon=epsilon, delta=delta)
    rho = Exact(budget.rho or 0)
    return ZCDP(rho=rho) if delta is None else ApproxZCDP(rho=rho, delta=delta)


def _content(policy: PolicyModel) -> dict[str, object]:
    """Return the values that determine the version: all keys with their defaults, bounds as rationals.

    The settings of engines do not belong to it: they change neither an answer nor a guarantee.
    """
    tables = {name: _table(table) for name, table in policy.tables.items()}
    content = plain(policy) | {"tables": tables}
    del content["engine"]
    later = ("public", "analysts", "data_version", "timezone")  # newer keys: a policy without them keeps its version
    return {name: value for name, value in content.items() if value or name not in later}


def _table(table: TableModel) -> dict[str, object]:
    content = plain(table) | {"columns": _columns(table)}
    return {name: value for name, value in content.items() if value or name not in ("reach", "keys")}  # newer, as above


def _columns(table: TableModel) -> dict[str, dict[str, object]]:
    """Return the columns; a column that is not required keeps the content that it had before there was that key."""
    return {
        name: {key: value for key, value in plain(column).items() if value or key != "required"}
        | {"bounds": None if column.bounds is None else _exact(column.bounds)}
        for name, column in table.columns.items()
    }


def _exact(bounds: list[object]) -> object:
    return bounds if any(isinstance(end, date) for end in bounds) else read_bounds(bounds, "real")
