"""The server on PostgreSQL: two workers of one ledger, people, questions, jobs and the audit log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

import postgres_server
import tacit as tc
from tacit.ledger.sql_ledger import SqlLedger
from web.conftest import COUNT, POLICY, MakeSite


def _url(conninfo: str) -> str:
    """Return the URL of a connection string of psycopg."""
    parts = {name: str(value) for name, value in conninfo_to_dict(conninfo).items()}
    password = f":{quote(parts['password'], safe='')}" if "password" in parts else ""
    query = f"host={quote(parts['host'], safe='')}&port={parts.get('port', '5432')}"
    return f"postgresql://{parts['user']}{password}@/{parts['dbname']}?{query}"


def test_workers_share_one_ledger_in_postgresql(make_site: MakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    with postgres_server.database() as database:
        monkeypatch.setenv("LEDGER_URL", _url(database.admin))
        text = POLICY.replace('"survey.ledger"', '"${LEDGER_URL}"')
        first, second = make_site(text), make_site(text)
        second.tokens["bob"] = first.tokens["bob"]

        def ask(number: int) -> int:
            site = (first, second)[number % 2]
            return site.ask({**COUNT, "epsilon": 0.25}, "bob", f"key-{number // 2}").status_code

        with ThreadPoolExecutor(4) as pool:
            statuses = list(pool.map(ask, range(12)))
        assert set(statuses) <= {200, 409}  # 409: the same key at the same time at the other worker
        assert first.spent() == second.spent() == 6 * 0.25
        job = first.post("/datasets/survey/jobs", {"answer": COUNT}, "bob").json()["id"]
        assert second.get(f"/jobs/{job}", "bob").status_code == 200
        assert len(second.get("/audit", "ada").json()["entries"]) >= 6
        shown = first.get("/ledger", "sue").text + first.get("/datasets", "bob").text
        assert "postgresql" not in shown
        with tc.open(str(Path(first.policy))) as opened:
            assert isinstance(opened.ledger, SqlLedger)
            assert tc.ledger.verify(opened.ledger).holds
        for site in (first, second):
            site.close()
