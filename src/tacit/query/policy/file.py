"""A policy in a TOML file, for stewards: read, checked, and every mistake reported at once with its line.

    clinic.toml ──tomllib──► plain values ──models, cross-checks──► PolicyFile ──a source's schema──► TablePolicy

No source is opened here, and no value of an environment variable is kept.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from tacit.errors import InvalidError, show
from tacit.guarantees.events import Neighbours
from tacit.guarantees.exact import Exact
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.query.expressions import Kind
from tacit.query.policy import TablePolicy
from tacit.query.policy.build import Declared, assemble, digest, examine
from tacit.query.policy.checks import declare, file_path, problems, read
from tacit.query.policy.columns import read_bounds
from tacit.query.policy.locations import complaints, resolve
from tacit.query.policy.mistakes import Mistake, PolicyError
from tacit.query.policy.models import BudgetModel, PolicyModel, PublicModel, TableModel, plain
from tacit.query.policy.toml_lines import Path as Keys
from tacit.query.policy.toml_lines import line_of, spell

Budget: TypeAlias = PureDP | ApproxDP | ZCDP | ApproxZCDP

_EMPTY = (
    "is empty; did `tacit init` fail? Run it again without a file after > and read what it says; a policy begins with "
    "what it writes"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """The file that a policy came from, for messages and relative paths."""

    path: Path
    folder: Path
    lines: Mapping[Keys, int]

    def error(self, problems: Iterable[tuple[Keys, str]]) -> PolicyError:
        """Return the error that lists problems by their lines, each once."""
        mistakes = [Mistake(line_of(self.lines, keys), spell(keys), message) for keys, message in problems]
        return PolicyError(str(self.path), sorted(dict.fromkeys(mistakes), key=lambda mistake: mistake.line or 0))

    def resolve(self, keys: Keys, location: str, environment: Mapping[str, str] | None) -> str:
        """Return the path or URL that a location means now."""
        environment = os.environ if environment is None else environment
        wrong = complaints(location, environment)
        if wrong:
            raise self.error((keys, complaint) for complaint in wrong)
        return resolve(location, self.folder, environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTable:
    """What a policy file says of one table; `source` as it is written, variables not filled in."""

    name: str
    source: str
    table: str | None
    declared: Declared
    section: str = "tables"
    _text: _Text = field(repr=False, compare=False)

    def location(self, environment: Mapping[str, str] | None = None) -> str:
        """Return the path or URL of the source, from this environment (by default the process's)."""
        return self._text.resolve((self.section, self.name, "source"), self.source, environment)

    def build(self, schema: Mapping[str, Kind], unusable: Collection[str] = ()) -> TablePolicy:
        """Return the table's policy, given its source's schema, or raise PolicyError with all mistakes and lines."""
        faults = examine(schema, self.declared, unusable)
        if faults:
            raise self._text.error((file_path(self.name, fault, self.section), fault.message) for fault in faults)
        return assemble(self.name, schema, self.declared, unusable)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """A policy without mistakes, as far as that can be told without the sources.

    Of `public` tables nothing but the types of columns is declared. Each row of them is a unit, as far as that matters.
    `ledger` is as written; `version` is the SHA-256 of the content, the same whatever the comments, the order and the
    spelling of numbers.
    """

    path: Path
    budget: Budget
    ledger: str | None
    neighbours: Neighbours
    tables: Mapping[str, PolicyTable]
    public: Mapping[str, PolicyTable]
    version: str
    data_version: str = ""
    analysts: Mapping[str, Budget] = field(default_factory=dict)
    _text: _Text = field(repr=False, compare=False)

    def ledger_location(self, environment: Mapping[str, str] | None = None) -> str | None:
        """Return the path or URL of the ledger, from this environment (by default the process's), if there is one."""
        return None if self.ledger is None else self._text.resolve(("ledger",), self.ledger, environment)


def load(path: str | os.PathLike[str], *, environment: Mapping[str, str] | None = None) -> PolicyFile:
    """Read a policy file, or raise PolicyError with every mistake and its line.

    Args:
        path: The TOML file; paths in it are relative to its folder.
        environment: Where `${NAME}` is looked up; by default the process's environment.
    """
    file = Path(path)
    try:
        content = file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InvalidError("policy", f"{show(str(file))}, {type(error).__name__}", "a file that can be read") from None
    if not content.removeprefix(BOM_UTF8).strip():
        raise PolicyError(str(file), [Mistake(None, "the file", _EMPTY)])
    raw, lines = read(str(file), content)
    text = _Text(path=file, folder=file.absolute().parent, lines=lines)
    model, found = problems(raw, os.environ if environment is None else environment)
    if model is None or found:
        raise text.error(found)
    return PolicyFile(
        path=file,
        budget=_budget(model.budget),
        ledger=model.ledger,
        neighbours=model.neighbours,
        tables=MappingProxyType({name: _table(name, table, model, text) for name, table in model.tables.items()}),
        public=MappingProxyType({name: _public(name, table, text) for name, table in model.public.items()}),
        version=digest(_content(model)),
        data_version=model.data_version or "",
        analysts=MappingProxyType({name: _budget(one) for name, one in model.analysts.items()}),
        _text=text,
    )


def _table(name: str, table: TableModel, policy: PolicyModel, text: _Text) -> PolicyTable:
    declared = declare(plain(table), policy.neighbours)
    return PolicyTable(name=name, source=table.source, table=table.table, declared=declared, _text=text)


def _public(name: str, table: PublicModel, text: _Text) -> PolicyTable:
    declared = declare(plain(table) | {"each_row": True}, "add/remove")
    return PolicyTable(
        name=name, source=table.source, table=table.table, declared=declared, section="public", _text=text
    )


def _budget(budget: BudgetModel) -> Budget:
    """Return the guarantee of a budget that holds epsilon or rho, not both."""
    delta = None if budget.delta is None else Exact(budget.delta)
    if budget.epsilon is not None:
        epsilon = Exact(budget.epsilon)
        return PureDP(epsilon=epsilon) if delta is None else ApproxDP(epsilon=epsilon, delta=delta)
    rho = Exact(budget.rho or 0)
    return ZCDP(rho=rho) if delta is None else ApproxZCDP(rho=rho, delta=delta)


def _content(policy: PolicyModel) -> dict[str, object]:
    """Return what the version depends on: all keys with their defaults, bounds as rationals."""
    exact = {name: plain(table) | {"columns": _columns(table)} for name, table in policy.tables.items()}
    content = plain(policy) | {"tables": exact}
    later = ("public", "analysts", "data_version")  # keys that came later, so that a policy without them stays the same
    return {name: value for name, value in content.items() if value or name not in later}


def _columns(table: TableModel) -> dict[str, dict[str, object]]:
    return {
        name: plain(one) | {"bounds": None if one.bounds is None else _exact(one.bounds)}
        for name, one in table.columns.items()
    }


def _exact(bounds: list[object]) -> object:
    return bounds if any(isinstance(end, date) for end in bounds) else read_bounds(bounds, "real")
