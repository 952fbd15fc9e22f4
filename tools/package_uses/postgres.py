"""Use the extra `postgres`: a table and a ledger on the server of PACKAGE_POSTGRES, whose user may create roles."""

from __future__ import annotations

import os
from urllib.parse import urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

import tacit as tc

SETUP = """
DROP SCHEMA public CASCADE; CREATE SCHEMA public;
CREATE TABLE visits AS SELECT i AS patient FROM generate_series(1, 100) AS i;
DROP ROLE IF EXISTS package_reader; CREATE ROLE package_reader LOGIN PASSWORD 'reader';
GRANT USAGE ON SCHEMA public TO package_reader; GRANT SELECT ON visits TO package_reader;
"""

if __name__ == "__main__":
    url = os.environ["PACKAGE_POSTGRES"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SETUP)
    reader = {**conninfo_to_dict(url), "user": "package_reader", "password": "reader"}
    source = f"postgresql:///?{urlencode(reader)}"
    with tc.open(source, table="visits", unit=tc.ROW, budget=tc.PureDP(epsilon=200), ledger=url) as db:
        answer = db.sql("SELECT count(*) AS n FROM visits", epsilon=100)
        if answer.value != 100 or db.left != tc.PureDP(epsilon=100):
            raise SystemExit("Not met: PostgreSQL counts 100 rows, and the ledger is charged")
        if not tc.ledger.verify(db.ledger).holds:
            raise SystemExit("Not met: the ledger verifies")
