"""`tacit serve` as a process: the demo, tc.connect, several workers, kill -9, and a graceful stop."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

import tacit as tc
from tacit.remote import RemoteDatabase
from tacit.remote.results import RemotePlan, RemoteRelease
from web.conftest import COUNT, write_policy
from web.running import Running, running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for workers in /proc")

SQL = "SELECT region, count(*) AS n, avg(income) AS income FROM survey GROUP BY region"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> object:
    with running(tmp_path_factory.mktemp("demo"), "--demo") as server:
        yield server


@pytest.fixture
def database(demo: Running) -> RemoteDatabase:
    return tc.connect(demo.url, token=demo.tokens["bob"])


def epsilon(guarantee: object) -> float:
    assert isinstance(guarantee, (tc.PureDP, tc.ApproxDP))
    return guarantee.epsilon


def test_the_demo_has_people_of_every_role_and_a_public_description(demo: Running) -> None:
    roles = {name: demo.call("GET", "/api/v1/me", token)[1]["role"] for name, token in demo.tokens.items()}
    assert sorted(roles.values()) == ["admin", "analyst", "analyst", "steward"]
    status, content = demo.call("GET", "/openapi.json")
    assert (status, content["openapi"][:2]) == (200, "3.")
    for path in ("/api/v1/datasets", "/api/v1/ledger", "/api/v1/users"):
        assert demo.call("GET", path)[0] == 401


def test_a_connected_database_answers_as_an_open_one(database: RemoteDatabase) -> None:
    before = database.left
    plan = database.plan(SQL, epsilon=0.25, assume=1000)
    assert isinstance(plan, RemotePlan)
    assert (plan.cost, set(plan.error), plan.unknown) == (tc.PureDP(epsilon=0.25), {"n", "income"}, ())
    assert SQL.split(maxsplit=1)[0] in str(plan)
    assert database.left == before
    answer = database.sql(SQL, epsilon=0.25, request="first")
    assert (len(answer), answer.table.names, answer.cost) == (4, ("region", "n", "income"), plan.cost)
    assert isinstance(answer["n"][0], int)
    assert isinstance(answer["income"][0], float)
    assert answer.to_pandas().shape == (4, 3)
    assert answer.to_arrow(intervals=True).num_columns == 7
    narrow, wide = (answer.intervals(confidence)["n_low"][0] for confidence in (None, 0.999))
    assert isinstance(narrow, float)
    assert isinstance(wide, float)
    assert wide < narrow < answer["n"][0]
    assert database.sql(SQL, epsilon=0.25, request="first").repeated
    assert answer.receipt["ledger_entry"]
    assert answer.plot().to_dict()["$schema"]
    assert epsilon(database.left) == pytest.approx(epsilon(before) - 0.25)
    assert "region" in str(answer)
    assert "survey at http" in repr(database)
    assert epsilon(database.spent) >= 0.25


def test_verbs_of_a_connected_database(database: RemoteDatabase) -> None:
    single = database.count(epsilon=0.1)
    assert isinstance(single, RemoteRelease)
    assert abs(float(single) - 7200) < 2000
    assert single.interval is not None
    mean = database.mean("income", by="region", epsilon=0.1)
    assert isinstance(mean, RemoteRelease)
    assert mean.table.names == ("region", "income")
    assert isinstance(database.median("income", epsilon=0.1, plan=True), RemotePlan)
    histogram = database.histogram("age", bins=[18, 40, 95], epsilon=0.1)
    assert isinstance(histogram, RemoteRelease)
    assert all(isinstance(count, int) and count >= 0 for count in histogram["count"])
    described = database.describe("income", epsilon=0.5)
    assert isinstance(described, RemoteRelease)
    assert described["column"] == ["income"]
    assert set(database.tables["survey"].columns) == {"person_id", "region", "urban", "age", "income"}
    assert database.tables["survey"].columns["income"].bounds == (Fraction(0), Fraction(200_000))
    assert database.history()[0]["question"].startswith("describe(")


def test_errors_of_a_server_are_those_of_the_library(demo: Running, database: RemoteDatabase) -> None:
    with pytest.raises(tc.BudgetError, match=r"Nothing was spent\.") as refusal:
        database.sql("SELECT count(*) FROM survey", epsilon=1000)
    assert refusal.value.unspent
    with pytest.raises(tc.RefusedError):
        database.sql("SELECT * FROM survey", epsilon=0.1)
    with pytest.raises(tc.InvalidError):
        database.sql("SELECT count(*) FROM survey", epsilon=-1)
    with pytest.raises(tc.InvalidError, match="epsilom"):
        database.sql("SELECT count(*) FROM survey", epsilom=1)  # type: ignore[call-arg]
    with pytest.raises(tc.RefusedError):
        database.limits(epsilon=0.1)  # bob is an analyst
    with pytest.raises(tc.RefusedError):
        tc.connect(demo.url, token="forged")  # noqa: S106 - a wrong one
    with pytest.raises(tc.InvalidError):
        tc.connect(demo.url, token=demo.tokens["ann"], dataset="other")
    with pytest.raises(tc.InvalidError, match="plain HTTP"):
        tc.connect("http://tacit.example.org", token=demo.tokens["ann"])
    for url in ("ftp://x", "tacit.example.org", "http://", 3):
        with pytest.raises(tc.InvalidError):
            tc.connect(url, token="t")  # type: ignore[arg-type]  # noqa: S106 - not sent
    report = tc.connect(demo.url, token=demo.tokens["sue"]).limits(epsilon=0.1)
    assert report.reach >= 1
    low, high, *_ = tc.connect(demo.url, token=demo.tokens["sue"]).bounds("income", epsilon=0.5)
    assert low < high


def test_the_log_has_no_query_no_token_and_no_name_of_a_column(demo: Running) -> None:
    log = demo.log.read_text("utf-8").partition("Serving on")[2]
    assert "method=POST path=/api/v1/datasets/{dataset}/answers status=200" in log
    assert not re.search(r"SELECT|income|tacit_[A-Za-z0-9]{5}", log)


def test_several_workers_share_people_and_budget_and_a_killed_one_is_replaced(tmp_path: Path) -> None:
    policy = write_policy(tmp_path)
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "tacit", "user", "add", str(policy), "ann", "--no-password"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "Added ann" in done.stderr
    token = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "tacit", "user", "token", str(policy), "ann"], check=True, capture_output=True, text=True
    ).stdout.strip()
    with running(tmp_path, str(policy), "--workers", "2", environment={"TACIT_SERVE_AUTH_CACHE": "0"}) as server:
        killed = _kill_in_the_middle(server, token)
        assert killed
        for number in range(6):
            status, content = _patient(server, token, f"after-{number}")
            assert status == 200, content
        left = server.call("GET", "/api/v1/datasets", token)[1]["datasets"][0]
        exit_code = server.stop()
    with tc.open(str(policy)) as database:
        entries = database.ledger.entries()
        assert epsilon(database.spent) == pytest.approx(0.1 * len(entries))
        assert left["left"]["epsilon"] == pytest.approx(5 - 0.1 * len(entries))
        assert len({each.number for each in entries if each.outcome == "answered"}) >= 6
    assert exit_code in (0, -signal.SIGTERM, 143)


def _patient(server: Running, token: str, key: str) -> tuple[int, dict[str, object]]:
    """Ask with a key until a worker answers."""
    body = {**COUNT, "epsilon": 0.1}
    for _ in range(20):
        try:
            return server.call("POST", "/api/v1/datasets/survey/answers", token, body, {"Idempotency-Key": key})
        except OSError:
            time.sleep(0.5)
    raise AssertionError(server.log.read_text("utf-8"))


def _kill_in_the_middle(server: Running, token: str) -> bool:
    """Kill a worker with SIGKILL while questions are being answered."""
    found = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text("utf-8").split()
    workers = [int(pid) for pid in found if "resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_text("utf-8")]
    threads = [threading.Thread(target=_patient, args=(server, token, f"during-{n}")) for n in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    os.kill(workers[-1], signal.SIGKILL)
    for thread in threads:
        thread.join()
    return True


def test_a_stop_lets_a_question_end(tmp_path: Path) -> None:
    with running(tmp_path, "--demo", environment={"TACIT_SERVE_QUANTUM": "2"}) as server:
        answers: list[int] = []
        body = {"sql": "SELECT count(*) AS n FROM survey", "epsilon": 0.1}
        path, token = "/api/v1/datasets/survey/answers", server.tokens["ann"]
        thread = threading.Thread(target=lambda: answers.append(server.call("POST", path, token, body)[0]))
        thread.start()
        time.sleep(0.7)
        assert server.stop() == 0
        thread.join()
    assert answers == [200]
    assert "Traceback" not in server.log.read_text("utf-8")


def test_a_port_in_use_and_a_wrong_policy_end_the_command(demo: Running, tmp_path: Path) -> None:
    port = demo.url.rpartition(":")[2]
    for words in (
        ["--demo", "--port", port],
        ["missing.toml"],
        [],
        ["--demo", "x.toml"],
        ["--demo", "--quantum", "-1"],
    ):
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "tacit", "serve", *words],
            check=False, capture_output=True, text=True, cwd=tmp_path, timeout=120,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert "Error: " in done.stderr
