"""The server's own tables, in the database of the ledger or in a separate one. None is part of the ledger's chain.

Every time is in whole seconds since 1970, by the clock of the machine that wrote it. Passwords are argon2 hashes;
tokens and session cookies are stored as SHA-256 hashes, which suffices for 256 random bits.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, Text

TABLES = MetaData()

FORMAT = 1
"""The version of these tables."""

_Number = BigInteger().with_variant(Integer, "sqlite")

SETTINGS = Table(
    "tacit_web_settings", TABLES, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False)
)
PEOPLE = Table(
    "tacit_web_people",
    TABLES,
    Column("name", String(64), primary_key=True),
    Column("role", String(10), nullable=False),
    Column("password", Text),
    Column("active", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
)
TOKENS = Table(
    "tacit_web_tokens",
    TABLES,
    Column("id", String(32), primary_key=True),
    Column("person", String(64), nullable=False, index=True),
    Column("label", String(100), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)
SESSIONS = Table(
    "tacit_web_sessions",
    TABLES,
    Column("digest", String(64), primary_key=True),
    Column("person", String(64), nullable=False, index=True),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)
ATTEMPTS = Table(
    "tacit_web_attempts",
    TABLES,
    Column("name", String(64), primary_key=True),
    Column("started", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False),
)
QUESTIONS = Table(
    "tacit_web_questions",
    TABLES,
    Column("id", String(32), primary_key=True),
    Column("request", String(64), nullable=False, unique=True),
    Column("person", String(64), nullable=False),
    Column("dataset", String(100), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("key", String(200), nullable=False),
    Column("body", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("state", String(10), nullable=False),
    Column("worker", String(32), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("beat", BigInteger, nullable=False),
    Column("record", BigInteger),
    Column("cost", Text),
    Column("status", Integer),
    Column("response", Text),
    Index("tacit_web_questions_person", "person", "created"),
)
AUDIT = Table(
    "tacit_web_audit",
    TABLES,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("time", BigInteger, nullable=False),
    Column("person", String(64), nullable=False),
    Column("action", String(40), nullable=False),
    Column("dataset", String(100), nullable=False),
    Column("detail", Text, nullable=False),
    Column("outcome", String(40), nullable=False),
    Column("record", BigInteger),
)
COUNTERS = Table(
    "tacit_web_counters",
    TABLES,
    Column("worker", String(32), primary_key=True),
    Column("time", BigInteger, nullable=False),
    Column("counts", Text, nullable=False),
)
