"""What a role may do on a PostgreSQL server: it is refused where it could change a table that it should only read.

Every role counts that it belongs to, whether it inherits from that role or would have to SET ROLE; and every part of
the table, be it a partition or a table that inherits. All of it is read from the catalog, once for each question: what
is granted after a table was opened is seen by the next one.
"""
# ruff: noqa: S608 - every part of these texts is our own

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from tacit.engines.postgres.table_names import plain, quoted
from tacit.errors import NoSourceError

if TYPE_CHECKING:
    from tacit.engines.postgres.sources import Connection

ROLE = "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA … TO reader; GRANT SELECT ON … TO reader"
FOREIGN = "its rows are computed by another server; open the table there, or copy it"
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


def check_role(connection: Connection) -> None:
    """Raise NoSourceError for a role that could do more than read, whichever table is meant."""
    ((superuser, replicates, makes_roles, given),) = connection.execute(_POWERS).fetchall()
    only = f"opened by a role that may only read: {ROLE}"
    if superuser:
        raise NoSourceError("opened by a superuser, or by a role that belongs to one", only)
    if given:
        names = ", ".join(given)
        raise NoSourceError(f"opened by a role that belongs to {names}", f"{only}; or REVOKE {names} FROM …")
    for has, word in ((replicates, "REPLICATION"), (makes_roles, "CREATEROLE")):
        if has:
            got = f"opened by a role with {word}, or by one that belongs to such a role"
            raise NoSourceError(got, f"{only}; or ALTER ROLE … NO{word}")


def check_rights(connection: Connection, number: int, named: str) -> bool:
    """Return whether a role may read all columns of a table.

    Raises:
        NoSourceError: it could change the table or a part of it, or sees only some of its rows.
    """
    row = connection.execute(_RIGHTS, [number]).fetchall()[0]
    writes, owns, owns_schema, by_view, partial, foreign, whole = row
    only = f"opened by a role that may only read it: {_grants(named)}"
    if foreign:
        raise NoSourceError(f"{named}, of which a part is a foreign table", f"a table without one: {FOREIGN}")
    if owns:
        raise NoSourceError(f"opened by a role that owns {named} or a part of it", only)
    if owns_schema:
        got = f"opened by a role that owns the schema of {named} or of a part of it"
        raise NoSourceError(got, f"{only}; or ALTER SCHEMA … OWNER TO …")
    if writes:
        got = f"opened by a role that may {', '.join(writes)} on {named} or a part of it"
        raise NoSourceError(got, _less(connection, number, named, writes, by_view=False))
    if by_view:
        got = f"opened by a role that may INSERT, UPDATE or DELETE on a view over {named}"
        raise NoSourceError(got, _less(connection, number, named, ["INSERT", "UPDATE", "DELETE"], by_view=True))
    if partial:
        raise NoSourceError(
            f"{named}, whose row security shows this role only some rows",
            "a table that its reader sees as a whole: ALTER ROLE … BYPASSRLS, or open a copy without row security",
        )
    return bool(whole)


def _grants(named: str) -> str:
    schema = named.partition('"."')[0] + '"'
    return f"CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA {schema} TO reader; GRANT SELECT ON {named} TO reader"


def _less(connection: Connection, number: int, named: str, rights: list[str], *, by_view: bool) -> str:
    """Return what to do about rights: use another role, unless everybody has them; or take them back.

    They may be those of everybody, of the role itself, which is not named, or of a role that it belongs to.
    """
    rows = connection.execute(_GRANTS, [number, rights, by_view]).fetchall()
    rows.sort(key=lambda row: bool(row[2]))  # everybody's first: without those nothing else helps
    said = [_revoke(*row) for row in rows[:_MOST_GRANTS]]
    more = [f"and {len(rows) - _MOST_GRANTS} more of the kind"] if len(rows) > _MOST_GRANTS else []
    another = "" if any(not role for _, _, role, *_ in rows) else f"{_grants(named)}; or "
    return f"opened by a role that may only read it: {another}{'; '.join(said + more)}"


def _revoke(schema: str, name: str, role: str, is_own: bool, rights: list[str]) -> str:  # noqa: FBT001 - a row's part
    whom = f"{plain(role)} (a role that it belongs to)" if role else "PUBLIC (everybody, new roles too)"
    whom = "… (the role itself)" if is_own else whom
    return f"REVOKE {', '.join(rights)} ON {quoted(schema)}.{quoted(name)} FROM {whom}"
