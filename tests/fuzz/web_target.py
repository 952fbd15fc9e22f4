"""The API and the pages: any HTTP request to the application, in this process.

The input is a request as text: a line with the method, the address and who sends it, then headers, an empty line and
the body. Names that the request line may have are in `PEOPLE`; anybody else sends no token.

    POST /api/v1/datasets/survey/plans ann
    Content-Type: application/json

    {"sql": "SELECT count(*) FROM survey", "epsilon": 1}

* No status is 5xx, and a route of the API answers with a status that its description has.
* An error of the API is application/problem+json. No response has a path, a stack trace, a token or a value of a row.
* Every request starts from the same people and the same policy; a request that changed them ends the site.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from starlette.testclient import TestClient

from fuzz.rule import check_resources, check_text, folder, require
from tacit.web import people
from tacit.web.access import PREFIX
from tacit.web.app import create_app
from tacit.web.credentials import make_token
from tacit.web.problems import MEDIA
from tacit.web.settings import read_settings
from web.conftest import PEOPLE, POLICY

FILE_VALUE = "Xq7_row_value"
"""A value of the rows that no response may have."""
ROWS = ["person,region,income,secret", *(f"{i},{('north', 'south')[i % 2]},{i % 900},{FILE_VALUE}" for i in range(50))]
_LARGE = POLICY.replace("epsilon = 5.0", "epsilon = 5_000_000.0")
_PUBLIC = (400, 401, 403, 404, 405, 413)
_METHOD = re.compile(r"[A-Za-z]{1,20}")


class Asked(NamedTuple):
    """A request."""

    method: str
    target: bytes
    person: str
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Response(NamedTuple):
    """A response."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class Site:
    """An application on a small survey, and the tokens of its people."""

    folder: Path
    client: TestClient
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def app(self) -> Any:  # noqa: ANN401 - an application of any kind
        """The application."""
        return self.client.app

    def intact(self) -> bool:
        """Return whether people and policy are those of the start."""
        known = {each.name: each.role for each in people.everybody(self.app.state.server.store)}
        return known == dict(PEOPLE) and (self.folder / "survey.toml").read_text() == _LARGE

    def close(self) -> None:
        """Stop the application."""
        self.client.__exit__(None, None, None)
        shutil.rmtree(self.folder, ignore_errors=True)


_sites: list[Site] = []


def site() -> Site:
    """Return an application whose people and policy are those of the start."""
    if not _sites:
        _sites.append(_started())
    return _sites[0]


def close() -> None:
    """Stop the application; the next request starts a new application."""
    while _sites:
        _sites.pop().close()


def _started() -> Site:
    home = Path(tempfile.mkdtemp(prefix="site-", dir=folder()))
    (home / "survey.csv").write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    policy = home / "survey.toml"
    policy.write_text(_LARGE, encoding="utf-8")
    app = create_app(read_settings({"policies": (str(policy),), "quantum": 0.0, "auth_cache": 0.0}, {}))
    client = TestClient(app, client=("127.0.0.1", 5000), base_url="http://tacit.test")
    client.__enter__()
    started = Site(home, client)
    store = started.app.state.server.store
    for name, role in PEOPLE.items():
        people.add(store, name, role.word)
        started.tokens[name] = make_token(store, name)[1]
    return started


@cache
def _described() -> tuple[tuple[re.Pattern[str], Mapping[str, frozenset[int]]], ...]:
    """Return the statuses of each method of each address that the API describes."""
    paths = site().app.openapi()["paths"]
    return tuple(
        (
            re.compile("".join(part if place % 2 == 0 else "[^/]+" for place, part in enumerate(parts)), re.DOTALL),
            {method.upper(): frozenset(map(int, each["responses"])) for method, each in methods.items()},
        )
        for path, methods in paths.items()
        for parts in [re.split(r"\{(.*?)\}", path)]
    )


def check(data: bytes) -> None:
    """Send a request and check the response."""
    asked = _read(data)
    if asked is None:
        return
    started = thread_time()
    response = _sent(asked)
    _check_response(asked, response)
    check_resources(thread_time() - started, 0)
    if asked.method not in ("GET", "HEAD") and response.status < 400 and not site().intact():
        close()


def _read(data: bytes) -> Asked | None:
    """Return the request in an input; None if it has no method and no address."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    parts = first.split(b" ")
    method = parts[0].decode("latin-1")
    if len(parts) < 2 or not _METHOD.fullmatch(method) or not parts[1].startswith(b"/") or b"/events" in parts[1]:
        return None
    person = parts[2].decode("latin-1") if len(parts) > 2 else ""
    headers = [(b"content-length", str(len(body)).encode())]
    for line in lines:
        name, _, value = line.partition(b":")
        if name.strip() and not re.search(rb"[^\x21-\x7e]", name.strip()) and b"\0" not in value:
            headers.append((name.strip().lower(), value.strip()))
    headers += [] if any(name == b"host" for name, _ in headers) else [(b"host", b"tacit.test")]
    return Asked(method.upper(), parts[1], person, headers, body)


def _sent(asked: Asked) -> Response:
    """Return the response of the application, or raise what it raises."""
    raw, _, query = asked.target.partition(b"?")
    token = site().tokens.get(asked.person)
    signed = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": asked.method,
        "scheme": "http",
        "path": unquote_to_bytes(raw).decode("utf-8", "replace"),
        "raw_path": raw,
        "query_string": query,
        "root_path": "",
        "headers": [*asked.headers, *signed],
        "client": ("127.0.0.1", 5000),
        "server": ("tacit.test", 80),
        "state": {},
    }
    messages: list[Any] = [{"type": "http.request", "body": asked.body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:  # noqa: ANN401 - a message of ASGI
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
        sent.append(message)

    portal = site().client.portal
    require(portal is not None, "The application does not run.")
    if portal is not None:
        portal.call(site().app, scope, receive, send)
    start = next(each for each in sent if each["type"] == "http.response.start")
    body = b"".join(each.get("body", b"") for each in sent if each["type"] == "http.response.body")
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Response(start["status"], headers, body.decode("utf-8", "replace"))


def _check_response(asked: Asked, response: Response) -> None:
    """Check the status, the type and the text of a response."""
    path = unquote_to_bytes(asked.target.partition(b"?")[0]).decode("utf-8", "replace")
    where = f"{asked.method} {path[:200]}"
    require(response.status < 500, f"{where} is answered with {response.status}: {response.text[:500]}")
    given = (asked.target + b" " + unquote_to_bytes(asked.target) + asked.body).decode("utf-8", "replace")
    secrets = [FILE_VALUE, str(site().folder), *site().tokens.values()]
    if not path.startswith("/static/") and path != "/openapi.json":
        check_text(response.text[:100_000], secrets=secrets, given=given)
    if path.startswith(f"{PREFIX}/"):
        _check_api(asked, response, path, where)


def _check_api(asked: Asked, response: Response, path: str, where: str) -> None:
    methods = next((methods for pattern, methods in _described() if pattern.fullmatch(path)), None)
    documented: frozenset[int] | Sequence[int] = _PUBLIC if methods is None else methods.get(asked.method, _PUBLIC)
    require(response.status in documented, f"{where} is answered with {response.status}, which is not described.")
    media = response.headers.get("content-type", "")
    if response.status >= 400 and asked.method != "HEAD":
        require(media == MEDIA, f"{where} is answered with an error of type {media!r}.")
        content = json.loads(response.text)
        parts = {"type", "title", "status", "detail", "unspent"}
        require(parts <= content.keys() and content["status"] == response.status, f"{where} has another problem.")
    elif media == "application/json":
        with suppress(RecursionError):
            json.loads(response.text, parse_constant=_no_constant)


def _no_constant(name: str) -> float:
    raise ValueError(f"JSON has no {name}")
