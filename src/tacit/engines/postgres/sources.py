"""Tables of a PostgreSQL database: which table a name refers to, and whether tacit may open it.

**Names.** A part of a name in double quotes is taken exactly, including dots and capital letters. A part without quotes
is taken exactly if there is such a table, and otherwise in lower case, as in SQL. Messages write the name of a table
such that it refers to that one table.

**Tables that are refused.** tacit reads only the catalog here, never a row. It refuses a role that could change the
table or see everything (see `privileges`), and a table if the role sees only some of its rows. It refuses a view, which
may fail on a row or run somebody's functions, and a foreign table, whose rows another server computes. A materialized
view stores rows like a table and is opened. A generated column that is computed when it is read may fail on a row like
a view, so it is not supported.
"""
# ruff: noqa: S608 - these texts are built here, with quoted names

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, LiteralString, TypeAlias

from tacit.engines.postgres.privileges import FOREIGN, ROLE, check_rights, short_name
from tacit.engines.sql.builder import quote_name
from tacit.errors import InvalidError, NoSourceError, TableNotFoundError, TableNotNamedError

if TYPE_CHECKING:
    from tacit.engines.postgres.connection import Connection

SUPPORTED: Final = ("r", "p", "m")
"""The catalog's codes of relations that can be opened: tables, partitioned tables, materialized views."""

Parts: TypeAlias = Literal["none", "partitions", "children"]
"""The other tables that hold rows of a table: none, partitions, or tables that inherit from it."""

_PART = r'"(?:[^"]|"")+"|[^".]+'
_NAME = re.compile(rf"(?:({_PART})\.)?({_PART})")
_TO_LOWER = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}
_NO_MATCH = 10
_KINDS = {"v": "view", "f": "foreign table"}
_REASONS = {
    "v": "A view may fail on a row, which would reveal the row, or run somebody's functions. Open the table below it, "
    "or CREATE MATERIALIZED VIEW … and open that.",
    "f": FOREIGN,
}


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, a view or a similar relation of the catalog."""

    oid: int
    schema: str
    name: str
    kind: str
    is_partition: bool
    is_readable: bool
    is_foreign: bool
    parts: Parts = "none"

    @property
    def is_offered(self) -> bool:
        """True if messages offer it: the role may read it, its kind is supported, and it is not part of another."""
        return self.kind in SUPPORTED and self.is_readable and not self.is_partition and not self.is_foreign


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A table of a server: its number in the catalog, its names, and its columns' types by their names in `casts`.

    **Rows that are read several times in one statement.** A statement sees one snapshot, and so do its parallel
    workers. The rows are stored, because views, foreign tables and columns that are computed when they are read are
    refused, and row security is off. So two reads of one relation return the same rows. But the planner finds the parts
    of a table separately for each read, from the catalog as it is at that moment.

    * Without parts, the table is read with ONLY. A part that comes later is in no read.
    * Partitions are the same for all reads: one planner run looks up the partitions of a table once, and keeps them
      in its partition directory (src/backend/partitioning/partdesc.c). A partition itself has no children.
    * For children nothing ensures it: one may come between two lookups. Such a table is read once in a statement.
    """

    oid: int
    schema: str
    name: str
    types: Mapping[str, str]
    lockable: bool
    parts: Parts

    @property
    def sql_name(self) -> str:
        """The table's name in SQL."""
        return f"{quote_name(self.schema)}.{quote_name(self.name)}"

    @property
    def policy_name(self) -> str:
        """The table's name as a policy writes it."""
        return f"{short_name(self.schema)}.{short_name(self.name)}"

    @property
    def lock(self) -> str:
        """The statement that protects the table from changes until the transaction ends.

        LOCK does not fix the transaction's snapshot. It is not allowed if the role may read only some columns, or for a
        materialized view; then a SELECT without rows takes the lock.
        """
        if self.lockable:
            return f"LOCK TABLE {self.sql_name} IN ACCESS SHARE MODE"
        return f"SELECT FROM {self.sql_name} LIMIT 0"

    def is_compatible(self, now: PostgresTable) -> bool:
        """Return whether a table has all columns of this one, of the same types, and can be locked if this one can."""
        return self.types.items() <= now.types.items() and (now.lockable or not self.lockable)

    @property
    def from_item(self) -> str:
        """The table as it is written after FROM, with only the readable columns."""
        columns = ", ".join(map(quote_name, self.types)) or "TRUE"
        only = "ONLY " if self.parts == "none" else ""
        return f"(SELECT {columns} FROM {only}{self.sql_name}) AS held"


def matching(relations: Sequence[Relation], table: object) -> list[Relation]:
    """Return the relations that a name refers to: exactly, or with as few parts in lower case as possible."""
    parts = _NAME.fullmatch(table) if isinstance(table, str) else None
    if parts is None:
        return []
    schema, name = parts.groups()
    folded = [_folded(schema, relation.schema) + _folded(name, relation.name) for relation in relations]
    least = min(folded, default=_NO_MATCH)
    return [relation for relation, count in zip(relations, folded, strict=True) if count == least < _NO_MATCH]


def _folded(part: str | None, name: str) -> int:
    """Return 0 if a part of a name equals a name, 1 if it does in lower case, and 10 if it does not match.

    >>> [_folded(part, "wards") for part in (None, "wards", '"wards"', "Wards", '"Wards"')]
    [0, 0, 0, 1, 10]
    """
    if part is None:
        return 0
    if part.startswith('"'):
        return 0 if part == quote_name(name) else _NO_MATCH
    if part == name:
        return 0
    return 1 if part.translate(_TO_LOWER) == name else _NO_MATCH  # SQL changes only ASCII letters


def spelled(relations: Sequence[Relation], relation: Relation) -> str:
    """Return a relation's name, with its schema unless that is `public` and the name is unique.

    >>> first, second = (Relation(0, schema, "Wards", "r", False, True, False) for schema in ("public", "b"))
    >>> print(spelled([first, second], first), spelled([first], first), spelled([second], second))
    public."Wards" "Wards" b."Wards"
    """
    name = short_name(relation.name)
    if relation.schema == "public" and matching(relations, name) == [relation]:
        return name
    return f"{short_name(relation.schema)}.{name}"


_PARTS_OF: LiteralString = """CASE WHEN c.relkind = 'p' THEN 'partitions'
    WHEN EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid) THEN 'children' ELSE 'none' END"""
_RELATIONS: LiteralString = f"""
WITH RECURSIVE away AS (
    SELECT oid AS part FROM pg_class WHERE relkind = 'f' UNION
    SELECT inhparent FROM away JOIN pg_inherits ON inhrelid = part)
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text, c.relispartition,
    has_any_column_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE'),
    c.oid IN (SELECT part FROM away), {_PARTS_OF}
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm', 'v', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
ORDER BY 2, 3"""
_COLUMNS: LiteralString = """
WITH RECURSIVE held AS (
    SELECT attnum, attname, attgenerated, atttypid AS type, atttypmod AS modifier FROM pg_attribute
    WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped AND has_column_privilege(attrelid, attnum, 'SELECT')
    UNION ALL
    SELECT attnum, attname, attgenerated, t.typbasetype, t.typtypmod
    FROM held JOIN pg_type t ON t.oid = held.type WHERE t.typtype = 'd')
SELECT attname::text, attgenerated::text, t.typname::text, t.typtype::text, format_type(held.type, modifier),
    n.nspname = 'pg_catalog',
    EXISTS (SELECT FROM pg_cast c WHERE c.castsource = t.oid AND c.castmethod <> 'b'),
    EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid WHERE d.classid = 'pg_type'::regclass
        AND d.objid = t.oid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'citext')
        AND EXISTS (SELECT FROM pg_cast c WHERE c.castsource = t.oid AND c.casttarget = 'text'::regtype
        AND c.castmethod = 'b')
FROM held JOIN pg_type t ON t.oid = held.type JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY attnum"""


def _rows(connection: Connection, sql: LiteralString, *parameters: object) -> list[tuple[Any, ...]]:
    return connection.execute(sql, parameters).fetchall()


def find_table(connection: Connection, table: str | None) -> PostgresTable:
    """Return the table of a name if the role may only read it; otherwise raise InvalidError or NoSourceError."""
    relations = [Relation(*row) for row in _rows(connection, _RELATIONS)]
    relation = _only_match(relations, table)
    name = spelled(relations, relation)
    if relation.kind not in SUPPORTED:
        raise NoSourceError(f"{name} is a {_KINDS[relation.kind]}, not a table.", hint=_REASONS[relation.kind])
    schema_name = quote_name(relation.schema)
    sql_name = f"{schema_name}.{quote_name(relation.name)}"
    if not relation.is_readable:
        raise NoSourceError(
            f"The role may not read the table {name}.",
            hint=f"GRANT USAGE ON SCHEMA {schema_name} TO …; GRANT SELECT ON {sql_name} TO …",
        )
    reads_all = check_rights(connection, relation.oid, sql_name)
    types = column_types(connection, relation.oid)
    lockable = reads_all and relation.kind != "m"
    return PostgresTable(relation.oid, relation.schema, relation.name, types, lockable, relation.parts)


_OID: LiteralString = f"""
SELECT c.oid::bigint, {_PARTS_OF} FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2 AND has_schema_privilege(n.oid, 'USAGE')"""


def refresh_table(connection: Connection, table: PostgresTable, oid: int | None) -> PostgresTable:
    """Return a table as it is now. If its number in the catalog changed, check it as when it was opened."""
    found = _rows(connection, _OID, table.schema, table.name)
    if oid is None or [row[0] for row in found] != [oid]:
        return find_table(connection, table.sql_name)
    reads_all = check_rights(connection, oid, table.sql_name)
    types, lockable = column_types(connection, oid), table.lockable and reads_all
    return replace(table, oid=oid, types=types, lockable=lockable, parts=found[0][1])


def _only_match(relations: Sequence[Relation], table: str | None) -> Relation:
    offered = [relation for relation in relations if relation.is_offered]
    matches = offered if table is None else matching(relations, table)
    if len(matches) == 1:
        return matches[0]
    choice = [relation for relation in matches if relation.is_offered] or offered
    raise _no_table_error(table, [spelled(relations, relation) for relation in choice])


def _no_table_error(table: str | None, names: Sequence[str]) -> InvalidError:
    """Return the error for a missing or ambiguous table; the names of tables are schema, not data."""
    if not names:
        return NoSourceError("The database has no table that this role may read.", hint=f"{ROLE}.")
    return TableNotNamedError(names) if table is None else TableNotFoundError(str(table), names)


def column_types(connection: Connection, oid: int) -> dict[str, str]:
    """Return the types of a table's columns that the role may read."""
    return {name: _type_name(*row) for name, *row in _rows(connection, _COLUMNS, oid)}


def _type_name(generated: str, name: str, sort: str, full_name: str, *facts: bool) -> str:
    """Return tacit's name for a PostgreSQL type. Types read through user-defined functions get an unsupported name.

    The facts are: whether the type is PostgreSQL's own, whether a function casts it, and whether it is the type of the
    extension citext, which is stored as text.
    """
    is_builtin, cast_by_function, is_citext = facts
    if generated == "v":
        return "computed when read"
    if sort == "e":
        return f"{full_name}, which a function casts" if cast_by_function else "enum"
    if name == "citext":
        return name if is_citext else f"{full_name}, which is not of the extension citext"
    return name if is_builtin and name != "numeric" else full_name
