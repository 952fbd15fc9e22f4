"""The privileges of a PostgreSQL role: tacit refuses a role that could change a table that it should only read.

All roles that the role is a member of count, whether it inherits their privileges or would have to SET ROLE. All parts
of the table count too: partitions, and tables that inherit from it. tacit reads the catalog for every query, so a
privilege that is granted after a table was opened is seen by the next query.
"""
# ruff: noqa: S608 - these texts are built here

from __future__ import annotations

import re
from typing import TYPE_CHECKING, LiteralString

from tacit.engines.sql.builder import quote_name
from tacit.errors import NoSourceError

if TYPE_CHECKING:
    from tacit.engines.postgres.connection import Connection

ROLE = "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA … TO reader; GRANT SELECT ON … TO reader"
FOREIGN = "Another server computes its rows. Open the table there, or copy it."
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_MEMBERS: LiteralString = """members AS MATERIALIZED (SELECT r.* FROM pg_roles r
    WHERE pg_has_role(current_user, r.oid, 'MEMBER') OR pg_has_role(session_user, r.oid, 'MEMBER'))"""
_POWERS: LiteralString = f"""
WITH {_MEMBERS}
SELECT coalesce(bool_or(rolsuper), false), coalesce(bool_or(rolreplication), false),
    coalesce(bool_or(rolcreaterole), false),
    coalesce(array_agg(rolname::text ORDER BY rolname) FILTER (WHERE rolname IN
        ('pg_write_all_data', 'pg_write_server_files', 'pg_execute_server_program')), ARRAY[]::text[])
FROM members"""
_SEEN: LiteralString = """
parts AS (SELECT $1::oid AS part UNION SELECT inhrelid FROM parts JOIN pg_inherits ON inhparent = part),
seen AS (
    SELECT part AS relation FROM parts UNION
    SELECT w.ev_class FROM seen JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = relation
        AND d.classid = 'pg_rewrite'::regclass JOIN pg_rewrite w ON w.oid = d.objid),
views AS (SELECT c.oid AS view FROM seen JOIN pg_class c ON c.oid = relation WHERE c.relkind = 'v')"""
_RIGHTS: LiteralString = f"""
WITH RECURSIVE {_MEMBERS}, {_SEEN}
SELECT
    ARRAY(SELECT p.name FROM unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER']) AS p(name)
        WHERE EXISTS (SELECT FROM members r, parts WHERE has_table_privilege(r.oid, part, p.name)
        OR p.name IN ('INSERT', 'UPDATE') AND has_any_column_privilege(r.oid, part, p.name))),
    EXISTS (SELECT FROM pg_class c JOIN parts ON c.oid = part JOIN members r ON r.oid = c.relowner),
    EXISTS (SELECT FROM pg_class c JOIN parts ON c.oid = part JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN members r ON r.oid = n.nspowner),
    EXISTS (SELECT FROM views, members r WHERE CASE WHEN has_any_column_privilege(r.oid, view, 'INSERT, UPDATE')
        OR has_table_privilege(r.oid, view, 'DELETE') THEN pg_relation_is_updatable(view, true) <> 0 END),
    row_security_active($1::oid),
    EXISTS (SELECT FROM pg_class c JOIN parts ON c.oid = part WHERE c.relkind = 'f'),
    has_table_privilege($1::oid, 'SELECT')"""
_GRANTS: LiteralString = f"""
WITH RECURSIVE {_MEMBERS}, {_SEEN},
looked AS (SELECT part AS relation FROM parts WHERE NOT $3
    UNION ALL SELECT view FROM views WHERE $3 AND pg_relation_is_updatable(view, true) <> 0),
granted AS (
    SELECT c.oid, a.grantee, a.privilege_type FROM looked JOIN pg_class c ON c.oid = relation,
        LATERAL aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    UNION SELECT t.attrelid, a.grantee, a.privilege_type FROM looked JOIN pg_attribute t ON t.attrelid = relation,
        LATERAL aclexplode(t.attacl) a)
SELECT n.nspname::text, c.relname::text, coalesce(r.rolname::text, ''),
    coalesce(r.rolname IN (current_user, session_user), false), array_agg(g.privilege_type ORDER BY g.privilege_type)
FROM granted g JOIN pg_class c ON c.oid = g.oid JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN members r ON r.oid = g.grantee
WHERE g.privilege_type = ANY($2) AND (g.grantee = 0 OR r.oid IS NOT NULL)
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"""
_MOST_GRANTS = 3


def short_name(name: str) -> str:
    """Return a name in quotation marks only if SQL needs them.

    >>> print(short_name("sales"), short_name("Sales 2024"))
    sales "Sales 2024"
    """
    return name if _PLAIN.fullmatch(name) else quote_name(name)


def check_role(connection: Connection) -> None:
    """Raise NoSourceError for a role that could do more than read, for any table."""
    ((superuser, replicates, makes_roles, memberships),) = connection.execute(_POWERS).fetchall()
    reader = f"Use a role that may only read: {ROLE}"
    if superuser:
        raise NoSourceError("The role is a superuser, or a member of one.", hint=f"{reader}.")
    if memberships:
        names = ", ".join(memberships)
        raise NoSourceError(f"The role is a member of {names}.", hint=f"{reader}; or REVOKE {names} FROM ….")
    for has, attribute in ((replicates, "REPLICATION"), (makes_roles, "CREATEROLE")):
        if has:
            raise NoSourceError(
                f"The role has {attribute}, or is a member of such a role.",
                hint=f"{reader}; or ALTER ROLE … NO{attribute}.",
            )


def check_rights(connection: Connection, oid: int, sql_name: str) -> bool:
    """Return whether a role may read all columns of a table.

    Raises:
        NoSourceError: the role could change the table or a part of it, or sees only some of its rows.
    """
    row = connection.execute(_RIGHTS, [oid]).fetchall()[0]
    writes, owns, owns_schema, by_view, partial, foreign, reads_all = row
    reader = f"Use a role that may only read it: {_grants(sql_name)}"
    if foreign:
        raise NoSourceError(f"A part of {sql_name} is a foreign table.", hint=FOREIGN)
    if owns:
        raise NoSourceError(f"The role owns {sql_name} or a part of it.", hint=f"{reader}.")
    if owns_schema:
        raise NoSourceError(
            f"The role owns the schema of {sql_name} or of a part of it.",
            hint=f"{reader}; or ALTER SCHEMA … OWNER TO ….",
        )
    if writes:
        raise NoSourceError(
            f"The role may {', '.join(writes)} on {sql_name} or a part of it.",
            hint=_revoke_hint(connection, oid, sql_name, writes, by_view=False),
        )
    if by_view:
        raise NoSourceError(
            f"The role may INSERT, UPDATE or DELETE on a view over {sql_name}.",
            hint=_revoke_hint(connection, oid, sql_name, ["INSERT", "UPDATE", "DELETE"], by_view=True),
        )
    if partial:
        raise NoSourceError(
            f"Row security on {sql_name} shows this role only some rows.",
            hint="Let the role see all rows: ALTER ROLE … BYPASSRLS, or open a copy without row security.",
        )
    return bool(reads_all)


def _grants(sql_name: str) -> str:
    schema = sql_name.partition('"."')[0] + '"'
    return f"CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA {schema} TO reader; GRANT SELECT ON {sql_name} TO reader"


def _revoke_hint(connection: Connection, oid: int, sql_name: str, rights: list[str], *, by_view: bool) -> str:
    """Return how to remove privileges: by another role, unless PUBLIC has them, or by REVOKE.

    A privilege may be granted to PUBLIC, to the role itself, which is not named, or to a role that it is a member of.
    """
    rows = connection.execute(_GRANTS, [oid, rights, by_view]).fetchall()
    rows.sort(key=lambda row: bool(row[2]))  # PUBLIC first: as long as it has them, nothing else helps
    revokes = [_revoke(*row) for row in rows[:_MOST_GRANTS]]
    more = [f"and {len(rows) - _MOST_GRANTS} more of the kind"] if len(rows) > _MOST_GRANTS else []
    another_role = "" if any(not role for _, _, role, *_ in rows) else f"{_grants(sql_name)}; or "
    return f"Use a role that may only read it: {another_role}{'; '.join(revokes + more)}."


def _revoke(schema: str, name: str, role: str, is_own: bool, rights: list[str]) -> str:  # noqa: FBT001 - a row's column
    grantee = f"{short_name(role)} (a role that it is a member of)" if role else "PUBLIC (everybody, new roles too)"
    grantee = "… (the role itself)" if is_own else grantee
    return f"REVOKE {', '.join(rights)} ON {quote_name(schema)}.{quote_name(name)} FROM {grantee}"
