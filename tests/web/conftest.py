"""A server on a small survey, with people of every role."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import pytest
from starlette.testclient import TestClient

from tacit.web import people
from tacit.web.app import create_app
from tacit.web.credentials import make_token
from tacit.web.roles import Role
from tacit.web.server import Server
from tacit.web.settings import read_settings

PASSWORD = "correct horse battery"  # noqa: S105 - of people in tests
PEOPLE = {"ann": Role.ANALYST, "bob": Role.ANALYST, "sue": Role.STEWARD, "ada": Role.ADMIN}
COUNT = {"sql": "SELECT region, count(*) AS n FROM survey GROUP BY region", "epsilon": 0.5}
POLICY = """\
budget = { epsilon = 5.0, delta = 1e-6 }
ledger = "survey.ledger"

[tables.survey]
source = "survey.csv"
unit = "person"
reach = 2

[tables.survey.columns]
region = { keys = ["north", "south"] }
income = { type = "real", bounds = [0, 1000] }
secret = { hidden = true }
"""
ROWS = ["person,region,income,secret", *(f"{i},{('north', 'south')[i % 2]},{i % 900},s{i}" for i in range(400))]


def write_policy(folder: Path, text: str = POLICY) -> Path:
    (folder / "survey.csv").write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    policy = folder / "survey.toml"
    policy.write_text(text, encoding="utf-8")
    return policy


class Answer(Protocol):
    """A response, whichever client read it."""

    status_code: int
    headers: Mapping[str, str]
    text: str

    def json(self) -> Any: ...  # noqa: ANN401 - what the server sent


@dataclass
class Site:
    """A running application, a token of each person, and requests as each of them."""

    client: TestClient
    policy: Path
    tokens: dict[str, str] = field(default_factory=dict)

    is_open: bool = True

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self.client.__exit__(None, None, None)

    @property
    def server(self) -> Server:
        server: Server = self.client.app.state.server  # type: ignore[attr-defined]
        return server

    def request(
        self,
        method: str,
        path: str,
        name: str | None = "ann",
        *,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        signed = {"Authorization": f"Bearer {self.tokens[name]}"} if name else {}
        given = {} if body is None else {"content": json.dumps(body)}
        typed = {} if body is None else {"Content-Type": "application/json"}
        sent: Any = {"headers": {**signed, **typed, **(headers or {})}, **given}
        return cast("Answer", self.client.request(method, path, **sent))

    def get(self, path: str, name: str | None = "ann", headers: Mapping[str, str] | None = None) -> Answer:
        return self.request("GET", f"/api/v1{path}", name, headers=headers)

    def post(self, path: str, body: object, name: str | None = "ann", key: str | None = None) -> Answer:
        headers = {"Idempotency-Key": key} if key else {}
        return self.request("POST", f"/api/v1{path}", name, body=body, headers=headers)

    def ask(self, body: object = COUNT, name: str = "ann", key: str | None = None) -> Answer:
        return self.post("/datasets/survey/answers", body, name, key)

    def sign_in(self, name: str = "ann", password: str = PASSWORD) -> Answer:
        return self.request("POST", "/api/v1/session", None, body={"name": name, "password": password})

    def spent(self) -> float:
        with self.server.datasets["survey"].use() as one:
            return float(one.ledger.spent.loss)


MakeSite = Callable[..., Site]


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[MakeSite]:
    """Return what starts an application on a policy, with people."""
    opened: list[Site] = []

    def make(text: str = POLICY, *, client: tuple[str, int] = ("127.0.0.1", 5000), **settings: object) -> Site:
        policy = write_policy(tmp_path, text)
        given = {"policies": (str(policy),), "quantum": 0.0, "auth_cache": 0.0, **settings}
        app = create_app(read_settings(given, {}))
        test_client = TestClient(app, client=client, base_url="http://tacit.test", raise_server_exceptions=False)
        test_client.__enter__()
        site = Site(test_client, policy)
        opened.append(site)
        known = {each.name for each in people.everybody(site.server.store)}
        for name, role in PEOPLE.items():
            if name not in known:
                people.add(site.server.store, name, role.word)
            site.tokens[name] = make_token(site.server.store, name)[1]
        return site

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    return make_site()
