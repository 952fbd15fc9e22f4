"""Sources in PostgreSQL: roles that only read, supported tables, and errors without secrets."""

from __future__ import annotations

import os
import socket
import struct
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest
from psycopg.conninfo import conninfo_to_dict

from contract.plans import call, key, plan, table
from postgres_server import PASSWORD, Database, database, run_sql, server
from tacit.engines.postgres.connection import NO_CREDENTIALS, NO_ENTRY, UNREACHED
from tacit.engines.postgres.engine import PostgresEngine, open_postgres, open_postgres_tables
from tacit.engines.source import Source
from tacit.engines.sql.reading import FAILED
from tacit.errors import InvalidError, MissingDriverError, NoSourceError, SourceError, TacitError
from tacit.query.expressions import Column, Constant, Kind
from tacit.query.plan import Measure, Plan

COUNT = Measure(value=None)


@pytest.fixture
def clinic() -> Iterator[Database]:
    with database() as made:
        yield made


@pytest.fixture
def visits(clinic: Database) -> Database:
    """A database with one table, which the reader may read."""
    clinic.run(
        "CREATE TABLE visits (patient bigint, region text); INSERT INTO visits VALUES (1, 'n'), (2, 's'), (2, 'n')"
    )
    clinic.grant("visits")
    return clinic


def question(kinds: dict[str, Kind] | None = None, unit: str = "patient") -> Plan:
    """Return the plan that counts patients."""
    return plan(table(unit=unit, kinds=kinds or {unit: "integer"}), Measure(value=None, per="unit"))


def counted(engine: PostgresEngine) -> int:
    try:
        return engine.measure(question())[0][0]
    finally:
        engine.close()


def refusal(clinic: Database, table_name: str | None = None, timeout: float | None = None) -> str:
    """Return why a source is refused, if nothing of its URL is in it, nor in what led to it."""
    with pytest.raises(TacitError) as caught:
        open_postgres(clinic.reader, table=table_name, timeout=timeout)
    everything = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in everything
    assert clinic.role not in str(caught.value)
    return str(caught.value)


# --- what works -----------------------------------------------------------------------------------------------------


def test_the_only_table_need_not_be_named(visits: Database) -> None:
    opened = open_postgres(visits.reader)
    assert opened.name == "visits"
    assert dict(opened.schema()) == {"patient": "integer", "region": "text"}
    assert counted(opened) == 2


@pytest.mark.parametrize("name", ["Wards", '"Wards"', "Clinic One.Wards", '"Clinic One"."Wards"', 'Clinic One."Wards"'])
def test_names_may_be_quoted_and_of_mixed_case(clinic: Database, name: str) -> None:
    clinic.run('CREATE SCHEMA "Clinic One"; CREATE TABLE "Clinic One"."Wards" ("Patient; --" bigint, "a ""b""" text)')
    clinic.run('INSERT INTO "Clinic One"."Wards" VALUES (1, NULL), (2, NULL)')
    clinic.run(f'GRANT USAGE ON SCHEMA "Clinic One" TO {clinic.role}')
    clinic.grant('"Clinic One"."Wards"')
    opened = open_postgres(clinic.reader, table=name)
    assert dict(opened.schema()) == {"Patient; --": "integer", 'a "b"': "text"}
    assert opened.measure(question(unit="Patient; --")) == [[2]]
    opened.close()


@pytest.mark.parametrize("name", ["Public.VISITS", "VISITS", 'PUBLIC."visits"', '"public".Visits'])
def test_names_are_folded_as_sql_folds_them(visits: Database, name: str) -> None:
    assert counted(open_postgres(visits.reader, table=name)) == 2


@pytest.mark.parametrize(
    "name",
    ['"Visits"', 'public."Visits"', '"Public".visits', '"public.visits"', 'visits"', '"visits', "", "visits.", '""'],
)
def test_a_quoted_name_means_no_other_table(visits: Database, name: str) -> None:
    message = refusal(visits, name)
    assert message.startswith("Unknown table ")
    assert "The tables are 'visits' (table" in message


def test_each_part_of_a_name_is_quoted_or_folded_by_itself(visits: Database) -> None:
    visits.run('CREATE SCHEMA "Clinic One"; CREATE TABLE "Clinic One".visits (patient bigint)')
    visits.run('CREATE TABLE "Clinic One"."VISITS" (patient bigint); INSERT INTO "Clinic One"."VISITS" VALUES (1)')
    visits.run('CREATE TABLE "Clinic One"."a.b""c" (patient bigint)')
    visits.run(f'GRANT USAGE ON SCHEMA "Clinic One" TO {visits.role}')
    visits.grant('"Clinic One".visits', '"Clinic One"."VISITS"', '"Clinic One"."a.b""c"')
    found = {'"Clinic One".visits': 0, "Clinic One.Visits": 0, '"Clinic One".VISITS': 1, "public.Visits": 2}
    for name, units in {**found, '"Clinic One"."a.b""c"': 0, '"a.b""c"': 0}.items():
        assert counted(open_postgres(visits.reader, table=name)) == units
    message = refusal(visits, '"Clinic One".a.b""c')
    offered = ['"Clinic One"."VISITS"', '"Clinic One"."a.b""c"', '"Clinic One".visits', "public.visits"]
    assert f"The tables are {', '.join(map(repr, offered))} (table = " in message
    assert 'table = "\\"Clinic One\\".\\"VISITS\\"" in the policy' in message


def test_what_is_offered_is_what_can_be_opened(visits: Database) -> None:
    visits.run(
        "CREATE SCHEMA other; CREATE VIEW other.visits AS SELECT * FROM public.visits; CREATE TABLE other.w (a int)"
    )
    visits.run("CREATE FOREIGN DATA WRAPPER none; CREATE SERVER away FOREIGN DATA WRAPPER none")
    visits.run("CREATE TABLE years (patient bigint, y int) PARTITION BY LIST (y)")
    visits.run("CREATE FOREIGN TABLE y1 PARTITION OF years FOR VALUES IN (1) SERVER away")
    visits.run(f"GRANT USAGE ON SCHEMA other TO {visits.role}")
    visits.grant("other.visits", "other.w", "years")
    assert "The tables are 'public.visits' (table" in refusal(visits, "visits")
    assert "The tables are 'other.w', 'public.visits' (table" in refusal(visits)


def test_a_long_list_of_tables_is_cut(visits: Database) -> None:
    visits.run(
        "".join(f"CREATE TABLE t{i:02} (patient bigint); GRANT SELECT ON t{i:02} TO {visits.role};" for i in range(30))
    )
    message = refusal(visits)
    assert "'t19' and 11 more (table" in message
    assert "'t20'" not in message


def test_a_partitioned_table_and_a_materialized_view_are_opened(visits: Database) -> None:
    visits.run("CREATE TABLE years (patient bigint, y int) PARTITION BY LIST (y)")
    visits.run("CREATE TABLE y1 PARTITION OF years FOR VALUES IN (1); CREATE TABLE y2 PARTITION OF years DEFAULT")
    visits.run("INSERT INTO years VALUES (1, 1), (2, 2), (3, 3)")
    visits.run("CREATE MATERIALIZED VIEW stored AS SELECT patient, 1 / patient AS one FROM visits")
    visits.grant("years", "stored")
    assert counted(open_postgres(visits.reader, table="years")) == 3
    assert counted(open_postgres(visits.reader, table="stored")) == 2


def test_a_role_may_be_let_read_some_columns_alone(visits: Database) -> None:
    visits.run(f"REVOKE ALL ON visits FROM {visits.role}; GRANT SELECT (patient) ON visits TO {visits.role}")
    opened = open_postgres(visits.reader)
    assert dict(opened.schema()) == {"patient": "integer"}
    assert counted(opened) == 2


def test_a_column_that_is_computed_when_it_is_read_cannot_be_used(clinic: Database) -> None:
    if run_sql(server(), "SELECT current_setting('server_version_num')::int")[0][0] < 180_000:
        pytest.skip("such columns came with PostgreSQL 18")
    clinic.run("CREATE TABLE t (patient bigint, kept bigint GENERATED ALWAYS AS (patient + 1) STORED)")
    clinic.run("ALTER TABLE t ADD COLUMN fails bigint GENERATED ALWAYS AS (1 / (patient - 1)) VIRTUAL")
    clinic.run("INSERT INTO t VALUES (1), (2)")
    clinic.grant("t")
    opened = open_postgres(clinic.reader)
    assert dict(opened.schema()) == {"patient": "integer", "kept": "integer"}
    assert opened.unusable() == ("fails",)
    assert counted(opened) == 2


def test_a_database_that_is_read_only_is_opened(visits: Database) -> None:
    visits.run(f"ALTER ROLE {visits.role} SET default_transaction_read_only = on")
    assert counted(open_postgres(visits.reader)) == 2


def test_settings_of_the_role_change_nothing(visits: Database) -> None:
    visits.run("CREATE SCHEMA trap; CREATE FUNCTION trap.length(text) RETURNS int LANGUAGE sql AS 'SELECT 99'")
    visits.run(
        f"GRANT USAGE ON SCHEMA trap TO {visits.role}; ALTER ROLE {visits.role} SET search_path = trap, pg_catalog"
    )
    visits.run(f"ALTER ROLE {visits.role} SET standard_conforming_strings = off")
    visits.run(
        f"ALTER ROLE {visits.role} SET timezone = 'Asia/Tokyo'; ALTER ROLE {visits.role} SET datestyle = 'German'"
    )
    visits.run("ALTER TABLE visits ADD at timestamptz DEFAULT '2024-01-01 00:30+00', ADD day text DEFAULT '2024-02-03'")
    kinds: dict[str, Kind] = {"patient": "integer", "region": "text", "at": "timestamp", "day": "date"}
    length = call("length", "integer", Column("region", "text"))
    hour, day = (call(one, "integer", Column(of, kinds[of])) for one, of in (("hour", "at"), ("day", "day")))
    opened = open_postgres(visits.reader)
    for value, expected in ((length, 1), (hour, 0), (day, 3)):
        asked = plan(table(unit="patient", rows=9, kinds=kinds), COUNT, keys=[key(value, expected)])
        assert opened.measure(asked) == [[3]]
    slash = call("equal", "boolean", Column("region", "text"), Constant("\\'", "text"))
    assert opened.measure(plan(table(unit="patient", kinds=kinds), COUNT, where=slash)) == [[0]]
    opened.close()


def test_a_service_file_and_a_password_file_are_known(
    visits: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = conninfo_to_dict(visits.reader)
    listed = "\n".join(f"{name}={value}" for name, value in given.items() if name != "password")
    (tmp_path / "services").write_text(f"[clinic]\n{listed}\n")
    (tmp_path / "passwords").write_text(f"*:*:*:{visits.role}:{PASSWORD}\n")
    (tmp_path / "passwords").chmod(0o600)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "passwords"))
    assert counted(open_postgres("postgresql:///?service=clinic")) == 2
    assert counted(open_postgres("postgres:///?service=clinic", table="visits")) == 2


def test_tables_of_one_database_are_opened_together(visits: Database) -> None:
    visits.run("CREATE TABLE regions (name text, wide bool); INSERT INTO regions VALUES ('n', true), ('s', NULL)")
    visits.grant("regions")
    tables = {
        "v": Source(source=visits.reader, table="visits"),
        "r": Source(source=visits.reader, table="regions", public=True),
    }
    opened = open_postgres_tables(tables)
    assert opened.name == "v"
    assert dict(opened.schema("r")) == {"name": "text", "wide": "boolean"}
    public = opened.public("r", {"name": "text", "wide": "boolean"})
    assert public.columns["name"].keys == ("n", "s")
    assert public.columns["name"].unique
    opened.close()


# --- who may not open it --------------------------------------------------------------------------------------------


def test_a_superuser_and_whoever_belongs_to_one_is_refused(visits: Database) -> None:
    url = server() if server().startswith("postgresql://") else f"postgresql:///?{server()}"
    with pytest.raises(NoSourceError, match=r"is a superuser.*GRANT SELECT ON … TO reader\.$"):
        open_postgres(url)
    visits.run(f"CREATE ROLE {visits.role}_all SUPERUSER; GRANT {visits.role}_all TO {visits.role}")
    try:
        assert "superuser" in refusal(visits)
    finally:
        visits.run(f"DROP ROLE {visits.role}_all")


@pytest.mark.parametrize("right", ["INSERT", "UPDATE", "DELETE", "TRUNCATE", "INSERT (region)", "UPDATE (region)"])
def test_a_role_that_may_write_is_refused(visits: Database, right: str) -> None:
    visits.run(f"GRANT {right} ON visits TO {visits.role}")
    message = refusal(visits)
    assert right.partition(" ")[0] in message
    assert 'GRANT SELECT ON "public"."visits"' in message


@pytest.mark.parametrize("how", ["", "NOINHERIT"])
def test_so_is_one_that_may_by_a_role_it_belongs_to(visits: Database, how: str) -> None:
    writer = f"writer_{visits.role[1:]}"
    visits.run(f"CREATE ROLE {writer}; GRANT INSERT ON visits TO {writer}; GRANT {writer} TO {visits.role}")
    visits.run(f"ALTER ROLE {visits.role} {how or 'INHERIT'}")
    try:
        taken = f'REVOKE INSERT ON "public"."visits" FROM {writer} (a role that it is a member of)'
        assert taken in refusal(visits)
        visits.run(taken.partition(" (")[0])
        assert counted(open_postgres(visits.reader)) == 2
    finally:
        visits.run(f"DROP OWNED BY {writer}; DROP ROLE {writer}")


def test_what_everybody_may_is_taken_from_everybody(visits: Database) -> None:
    visits.run(f"GRANT UPDATE, DELETE ON visits TO PUBLIC; GRANT UPDATE (region) ON visits TO {visits.role}")
    message = refusal(visits)
    everybody = 'REVOKE DELETE, UPDATE ON "public"."visits" FROM PUBLIC'
    assert "CREATE ROLE" not in message  # a new role could do the same
    assert (
        f'{everybody} (everybody, new roles too); REVOKE UPDATE ON "public"."visits" FROM … (the role itself).'
        in message
    )
    visits.run(f"{everybody}; REVOKE UPDATE ON visits FROM {visits.role}")
    assert counted(open_postgres(visits.reader)) == 2


def test_what_is_granted_on_many_parts_is_told_shortly(visits: Database) -> None:
    visits.run("".join(f"CREATE TABLE c{i} () INHERITS (visits); GRANT INSERT ON c{i} TO PUBLIC;" for i in range(5)))
    message = refusal(visits, "visits")
    assert 'REVOKE INSERT ON "public"."c2" FROM PUBLIC (everybody, new roles too); and 2 more of the kind.' in message
    assert '"c3"' not in message


def test_an_owner_is_refused(visits: Database) -> None:
    visits.run(f"ALTER TABLE visits OWNER TO {visits.role}")
    assert "owns" in refusal(visits)
    visits.run(f"REASSIGN OWNED BY {visits.role} TO CURRENT_USER")


@pytest.fixture
def years(visits: Database) -> Database:
    """A table with a partition of a partition, and one that inherits."""
    visits.run("CREATE TABLE years (patient bigint, y int) PARTITION BY LIST (y)")
    visits.run("CREATE TABLE y1 PARTITION OF years FOR VALUES IN (1) PARTITION BY LIST (patient)")
    visits.run("CREATE TABLE y11 PARTITION OF y1 DEFAULT; CREATE TABLE child () INHERITS (visits)")
    visits.grant("years")
    return visits


@pytest.mark.parametrize("right", ["INSERT", "UPDATE", "DELETE", "TRUNCATE", "TRIGGER", "INSERT (patient)"])
@pytest.mark.parametrize("part", ["y1", "y11", "child"])
def test_so_is_whoever_may_write_in_a_part(years: Database, part: str, right: str) -> None:
    years.run(f"GRANT {right} ON {part} TO {years.role}")
    message = refusal(years, "visits" if part == "child" else "years")
    assert right.partition(" ")[0] in message
    assert "a part of it" in message


@pytest.mark.parametrize("part", ["y1", "y11", "child"])
def test_so_is_whoever_owns_a_part(years: Database, part: str) -> None:
    years.run(f"ALTER TABLE {part} OWNER TO {years.role}")
    assert "owns" in refusal(years, "visits" if part == "child" else "years")
    years.run(f"REASSIGN OWNED BY {years.role} TO CURRENT_USER")


def test_so_is_whoever_owns_the_schema_or_may_make_triggers(visits: Database) -> None:
    visits.run(f"GRANT TRIGGER ON visits TO {visits.role}")
    assert "TRIGGER" in refusal(visits)
    visits.run(f"REVOKE TRIGGER ON visits FROM {visits.role}; ALTER SCHEMA public OWNER TO {visits.role}")
    assert "owns the schema" in refusal(visits)
    visits.run("ALTER SCHEMA public OWNER TO pg_database_owner")
    assert counted(open_postgres(visits.reader)) == 2


@pytest.mark.parametrize("name", ["pg_write_all_data", "pg_write_server_files", "pg_execute_server_program"])
def test_so_is_whoever_belongs_to_a_role_that_writes_anywhere(visits: Database, name: str) -> None:
    visits.run(f"GRANT {name} TO {visits.role}")
    assert f"REVOKE {name} FROM" in refusal(visits)
    visits.run(f"REVOKE {name} FROM {visits.role}")
    assert counted(open_postgres(visits.reader)) == 2


@pytest.mark.parametrize("word", ["REPLICATION", "CREATEROLE"])
def test_so_is_whoever_could_copy_everything_or_make_roles(visits: Database, word: str) -> None:
    visits.run(f"ALTER ROLE {visits.role} {word}")
    assert f"ALTER ROLE … NO{word}" in refusal(visits)
    visits.run(f"ALTER ROLE {visits.role} NO{word}")
    assert counted(open_postgres(visits.reader)) == 2


@pytest.mark.parametrize("right", ["INSERT", "UPDATE (patient)", "DELETE"])
def test_so_is_whoever_may_write_through_a_view(visits: Database, right: str) -> None:
    visits.run(
        "CREATE VIEW all_of_it AS SELECT * FROM visits; CREATE VIEW fewer AS SELECT * FROM all_of_it WHERE patient > 1"
    )
    visits.run(f"GRANT SELECT ON fewer TO {visits.role}")
    assert counted(open_postgres(visits.reader)) == 2
    visits.run(f"GRANT {right} ON fewer TO {visits.role}")
    message = refusal(visits)
    assert "on a view over" in message
    assert f'REVOKE {right.partition(" ")[0]} ON "public"."fewer" FROM … (the role itself).' in message


@pytest.mark.parametrize(
    "sql",
    [
        "GRANT INSERT ON visits TO {role}",
        "GRANT DELETE ON child TO {role}",
        "ALTER TABLE child OWNER TO {role}",
        "GRANT pg_write_all_data TO {role}",
        "ALTER ROLE {role} CREATEROLE",
        "ALTER ROLE {role} SUPERUSER",
    ],
)
def test_what_is_granted_after_opening_is_seen_by_the_next_question(visits: Database, sql: str) -> None:
    visits.run("CREATE TABLE child () INHERITS (visits)")
    opened = open_postgres(visits.reader, table="visits")
    assert opened.measure(question()) == [[2]]
    visits.run(sql.format(role=visits.role))
    with pytest.raises(SourceError) as caught:
        opened.measure(question())
    assert caught.value.message == FAILED
    opened.close()
    visits.run(f"REASSIGN OWNED BY {visits.role} TO CURRENT_USER")


def test_a_table_of_which_only_some_rows_are_seen_is_refused(visits: Database) -> None:
    visits.run("ALTER TABLE visits ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON visits USING (patient = 1)")
    assert "only some rows" in refusal(visits)
    visits.run(f"ALTER ROLE {visits.role} BYPASSRLS")
    assert counted(open_postgres(visits.reader)) == 2


def test_row_security_that_comes_later_fails_instead_of_hiding_rows(visits: Database) -> None:
    opened = open_postgres(visits.reader)
    visits.run("ALTER TABLE visits ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON visits USING (patient = 1)")
    with pytest.raises(SourceError, match="stays charged"):
        opened.measure(question())
    opened.close()


def test_the_settings_of_a_role_do_not_apply(visits: Database) -> None:
    settings = {
        "row_security": ("on", "off"),
        "search_path": ("public", "pg_catalog"),
        "timezone": ("Asia/Tokyo", "UTC"),
        "datestyle": ("German", "ISO, YMD"),
        "standard_conforming_strings": ("off", "on"),
        "extra_float_digits": ("0", "1"),
        "array_nulls": ("off", "on"),
        "transform_null_equals": ("on", "off"),
    }
    for name, (theirs, _) in settings.items():
        visits.run(f"ALTER ROLE {visits.role} SET {name} = '{theirs}'")
    opened = open_postgres(visits.reader)
    with opened._reading() as run:
        found = {name: run(f"SELECT current_setting('{name}')", {})[0][0] for name in settings}
    opened.close()
    assert found == {name: ours for name, (_, ours) in settings.items()}


# --- what cannot be opened ------------------------------------------------------------------------------------------


def test_a_view_is_refused_and_says_why(visits: Database) -> None:
    visits.run("CREATE VIEW inverse AS SELECT 1 / (patient - 1) AS x FROM visits")
    visits.grant("inverse")
    assert "may fail on a row" in refusal(visits, "inverse")
    assert counted(open_postgres(visits.reader)) == 2  # and it is not one of several tables


def test_a_foreign_table_and_a_table_with_one_inside_are_refused(visits: Database) -> None:
    visits.run("CREATE FOREIGN DATA WRAPPER none; CREATE SERVER away FOREIGN DATA WRAPPER none")
    visits.run("CREATE FOREIGN TABLE remote (patient bigint, y int) SERVER away")
    visits.run("CREATE TABLE years (patient bigint, y int) PARTITION BY LIST (y)")
    visits.run("CREATE FOREIGN TABLE y1 PARTITION OF years FOR VALUES IN (1) SERVER away")
    visits.grant("remote", "years")
    assert "Another server" in refusal(visits, "remote")
    assert "Another server" in refusal(visits, "years")


def test_a_table_that_is_not_there_is_told_with_those_that_are(visits: Database) -> None:
    visits.run("CREATE TABLE hidden (a int)")
    message = refusal(visits, "vists")
    assert "'visits'" in message
    assert "hidden" not in message


def test_one_of_several_tables_must_be_named(visits: Database) -> None:
    visits.run("CREATE TABLE wards (a int); CREATE SCHEMA other; CREATE TABLE other.visits (a int)")
    visits.run(f"GRANT USAGE ON SCHEMA other TO {visits.role}")
    visits.grant("wards", "other.visits")
    message = refusal(visits)
    assert "'other.visits', 'public.visits', 'wards'" in message
    assert "'other.visits'" in refusal(visits, "visits")
    assert counted(open_postgres(visits.reader, table="public.visits")) == 2


def test_a_database_without_a_table_and_a_table_without_a_grant_say_what_to_grant(clinic: Database) -> None:
    assert "GRANT SELECT" in refusal(clinic)
    clinic.run("CREATE TABLE visits (patient bigint)")
    assert 'GRANT SELECT ON "public"."visits"' in refusal(clinic, "visits")


def test_a_column_whose_type_is_another_than_the_policy_says_is_refused(visits: Database) -> None:
    opened = open_postgres(visits.reader)
    asked = plan(table(unit="patient", kinds={"patient": "date"}), COUNT)
    with pytest.raises(InvalidError, match="int8 cannot be read as date"):
        opened.check(asked)
    opened.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://reader:s3cret-of-the-reader@[::1",
        "postgresql://reader:s3cret-of-the-reader@host/db?no_such_word=s3cret-of-the-reader",
        "postgresql://reader:s3cret-of-the-reader@host:s3cret-of-the-reader/db\0",
        "mysql://reader:s3cret-of-the-reader@host/db",
    ],
)
def test_a_wrong_url_is_told_by_its_scheme_alone(url: str) -> None:
    with pytest.raises(NoSourceError) as caught:
        open_postgres(url)
    assert f"The URL {url.partition(':')[0]}://…" in str(caught.value)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


def test_something_that_is_no_url_is_refused() -> None:
    with pytest.raises(NoSourceError, match="a URL such as postgresql://"):
        open_postgres(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://reader:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://reader:{PASSWORD}@no-such-host.invalid/db",
        f"postgresql://reader:{PASSWORD}@/db?host=/no/such/folder",
        f"postgresql://reader:{PASSWORD}@/?service=no-such-service",
    ],
)
def test_a_server_that_cannot_be_reached_is_told_by_a_constant_text(url: str) -> None:
    with pytest.raises(SourceError) as caught:
        open_postgres(url)
    assert caught.value.message == UNREACHED
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


@pytest.mark.parametrize("wrong", [("/{role}", "/no_such_database"), ("{role}:", "nobody:")])
def test_a_server_that_lets_nobody_in_is_told_by_another(clinic: Database, wrong: tuple[str, str]) -> None:
    right, other = (part.format(role=clinic.role) for part in wrong)
    url = clinic.reader.replace(right, other)
    assert url != clinic.reader
    with pytest.raises(SourceError) as caught:
        open_postgres(url)
    assert caught.value.message == NO_ENTRY
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


@pytest.mark.parametrize(("secret", "said"), [("", NO_CREDENTIALS), (f":{PASSWORD}", NO_ENTRY)])
def test_a_password_is_asked_for_or_wrong(secret: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", "/no/such/file")
    with _doorkeeper() as port, pytest.raises(SourceError) as caught:
        open_postgres(f"postgresql://reader{secret}@127.0.0.1:{port}/clinic?sslmode=disable&gssencmode=disable")
    assert caught.value.message == said
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


@contextmanager
def _doorkeeper() -> Iterator[int]:
    """Give the port of a server that asks for a password, in PostgreSQL's words, and takes none."""
    with socket.create_server(("127.0.0.1", 0)) as door:

        def keep() -> None:
            with suppress(OSError):
                line = door.accept()[0]
                with line:
                    line.recv(1024)
                    line.sendall(b"R" + struct.pack("!II", 8, 3))
                    if line.recv(1024):
                        fields = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0"
                        line.sendall(b"E" + struct.pack("!I", 4 + len(fields)) + fields)

        watch = Thread(target=keep, daemon=True)
        watch.start()
        yield door.getsockname()[1]
        watch.join(10)


def test_a_database_in_another_encoding_is_refused() -> None:
    with database("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0") as made:
        made.run("CREATE TABLE t (a int)")
        made.grant("t")
        assert "UTF8" in refusal(made)


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDriverError, match=r"pip install 'tacit\[postgres\]'") as caught:
        open_postgres("postgresql:///clinic")
    assert (caught.value.package, caught.value.extra) == ("psycopg", "postgres")


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_that_is_none_is_refused(visits: Database, timeout: float) -> None:
    assert "timeout" in refusal(visits, timeout=timeout)


def test_tables_of_two_databases_are_not_opened_together(visits: Database) -> None:
    other = Source(source=f"{visits.reader}&connect_timeout=9", table="visits")
    with pytest.raises(InvalidError, match="Use the same URL for every table"):
        open_postgres_tables({"a": Source(source=visits.reader, table="visits"), "b": other})


def test_the_environment_says_what_a_url_leaves_out(visits: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in conninfo_to_dict(visits.reader).items():
        monkeypatch.setenv({"dbname": "PGDATABASE"}.get(name, f"PG{name.upper()}"), str(value))
    assert counted(open_postgres("postgresql://")) == 2
    assert os.environ["PGPASSWORD"] == PASSWORD


def test_nothing_that_shows_an_engine_shows_its_url(visits: Database) -> None:
    opened = open_postgres(visits.reader)
    shown = f"{opened!r} {vars(opened)!r} {[str(one) for one in vars(opened).values()]} {opened._url} {opened._owned}"
    assert PASSWORD not in shown
    assert "a URL that is not shown" in shown
    assert counted(opened) == 2


def test_a_table_that_is_renamed_into_the_name_is_answered(visits: Database) -> None:
    """It is a table that the role may only read, with the same columns: a steward swaps in a new load like this."""
    opened = open_postgres(visits.reader, table="visits")
    assert opened.measure(question()) == [[2]]
    visits.run("CREATE TABLE loaded AS SELECT i::bigint AS patient, 'n' AS region FROM generate_series(1, 5) AS i")
    visits.grant("loaded")
    visits.run("ALTER TABLE visits RENAME TO before; ALTER TABLE loaded RENAME TO visits")
    assert opened.measure(question()) == [[5]]
    visits.run(f"GRANT INSERT ON visits TO {visits.role}")
    with pytest.raises(SourceError):
        opened.measure(question())
    opened.close()
