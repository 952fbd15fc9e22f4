"""The policy in the arguments of `tacit.open`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Final

from tacit.errors import InvalidError, bad_value, show
from tacit.guarantees.filters import Budget
from tacit.query.policy import ROW
from tacit.query.policy.declaration import Policy, TableDeclaration
from tacit.query.policy.locations import fill
from tacit.query.policy.mistakes import Mistake, PolicyError, TableMistake
from tacit.query.policy.toml_lines import KeyPath

_PAIR = 2


class Arguments:
    """The origin of a policy in arguments: a mistake is at an argument, such as bounds['age']."""

    __slots__ = ()

    def where(self, table: TableDeclaration) -> str | None:
        """Return the argument of a public table; None for the source itself."""
        return f"public[{table.name!r}]" if table.public else None

    def error(self, table: TableDeclaration, mistakes: Iterable[TableMistake]) -> PolicyError:
        """Return the error that lists mistakes by their arguments."""
        title = f"The policy of {table.name!r}" if is_name(table.name) else "The policy"
        return PolicyError(title, [Mistake(None, _where(mistake), mistake.message) for mistake in mistakes])

    def resolve(self, keys: KeyPath, location: object, environment: Mapping[str, str]) -> object:
        """Return a source with its variables filled in; a relative path stays relative."""
        del keys
        return location if _variables(location) is None else fill(str(location), environment)


ARGUMENTS: Final = Arguments()


def _where(mistake: TableMistake) -> str:
    return mistake.argument if mistake.column is None else f"{mistake.argument}[{mistake.column!r}]"


def is_name(name: object) -> bool:
    """Return whether a text can be the name of a table."""
    return isinstance(name, str) and name != "" and name.isprintable()


def read_arguments(
    source: object,
    *,
    name: str | None,
    table: str | None,
    public: Mapping[str, object] | None,
    neighbours: str | None,
    budget: Budget | None,
    analysts: Mapping[str, Budget] | None,
    data_version: str | None,
    **declared: object,
) -> Policy:
    """Return the policy in the arguments of `tacit.open`.

    Args:
        source: the private table's source.
        name: its name in SQL; by default its name in the source.
        table: its name in its database.
        public: sources of public tables, or pairs of a source and a table's name, by their names in SQL.
        neighbours: the neighbour relation.
        budget: the budget for all queries.
        analysts: budgets of analysts.
        data_version: the version of the data.
        declared: the rest of the private table's declaration, as in `TableDeclaration`.
    """
    if data_version is not None and not data_version:
        raise bad_value("data_version", data_version, "a name, or None if the data have no version")
    main = declare(source, table, name=name or None, neighbours=neighbours or "add/remove", **declared)
    return Policy(
        origin=ARGUMENTS,
        budget=budget,
        tables={name if is_name(name) else None: main},
        public=_public({} if public is None else public, name, declared.get("timezone")),
        data_version=data_version or "",
        analysts=analysts or {},
    )


def declare(source: object, table: str | None, **declared: object) -> TableDeclaration:
    """Return the declaration of a table in arguments; `declared` are fields of TableDeclaration."""
    return TableDeclaration(origin=ARGUMENTS, source=source, written=_variables(source), table=table, **declared)  # type: ignore[arg-type]  # `build` checks them


def _variables(source: object) -> str | None:
    """Return a path or URL with environment variables in it; None for any other source."""
    written = str(source) if isinstance(source, (str, PathLike)) else ""
    return written if "${" in written else None


def _public(public: object, name: str | None, timezone: object) -> dict[str, TableDeclaration]:
    """Return the declarations of public tables by their names, or raise InvalidError."""
    if not isinstance(public, Mapping):
        raise bad_value("public", public, "a mapping from names to tables")
    for key in public:
        if not is_name(key):
            raise InvalidError(
                f"{show(key)} cannot be the name of a public table.",
                argument="public",
                hint="Use a name of printable characters.",
            )
    check_names(public, name)
    return {key: _public_table(key, value, timezone) for key, value in public.items()}


def check_names(public: Iterable[str], name: str | None) -> None:
    """Check that the names of the public tables differ from each other and from the private table's name."""
    names = {} if name is None or not is_name(name) else {name.casefold(): name}
    for key in public:
        if key.casefold() in names:
            raise InvalidError(
                f"The name {show(key)} of a public table differs from {names[key.casefold()]!r} at most by case.",
                argument="public",
                hint="Choose another name.",
            )
        names[key.casefold()] = key


def _public_table(name: str, value: object, timezone: object) -> TableDeclaration:
    """Return the declaration of a public table: its source, alone or in a pair with the table's name there."""
    source, table = value if isinstance(value, tuple) and len(value) == _PAIR else (value, None)
    if isinstance(source, tuple) or not (table is None or (isinstance(table, str) and table)):
        raise InvalidError(
            f"public[{name!r}] must be a source, or a pair of a source and a table's name.",
            argument=f"public[{name!r}]",
            hint='Write a pair such as (url, "regions").',
        )
    return declare(source, table, name=name, public=True, unit=ROW, timezone=timezone)
