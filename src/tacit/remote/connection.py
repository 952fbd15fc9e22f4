"""Requests to a server of tacit, by the standard library.

A request that charges has an Idempotency-Key. If its connection breaks, it is sent again with the same key, so the
server charges it once. Redirects are not followed, because they would send the token to another address.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from time import sleep
from typing import Any, Final
from urllib.parse import SplitResult, quote, urlsplit

from tacit.errors import (
    BudgetError,
    InvalidError,
    LedgerError,
    RefusedError,
    SourceError,
    TacitError,
    bad_value,
)
from tacit.safe_text import visible

_KINDS: Final[Mapping[str, type[TacitError]]] = {
    "BudgetError": BudgetError,
    "InvalidError": InvalidError,
    "PolicyError": InvalidError,
    "RefusedError": RefusedError,
    "LedgerError": LedgerError,
    "SourceError": SourceError,
    "TimeLimitError": SourceError,
    "SizeChangedError": SourceError,
    "MissingPackageError": SourceError,
    "InternalError": SourceError,
}
_LARGEST = 500_000_000
_TRIES, _PAUSE = 4, 1.0
_FIRST_ERROR = 400
_FIRST_REDIRECT = 300


class Connection:
    """A server and a token."""

    def __init__(self, url: str, token: str, timeout: float) -> None:
        """Check the address; nothing is sent yet."""
        given: object = url
        parts = _split(given) if isinstance(given, str) else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise bad_value("url", url, "an address such as https://tacit.example.org")
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise InvalidError(
                "A token is not sent over plain HTTP: others could read it.", argument="url", hint="Use https://."
            )
        secret: object = token
        if not isinstance(secret, str) or not secret.isascii() or not secret.isprintable() or not secret:
            raise InvalidError("The token is not one of a server.", argument="token", hint="Copy it again.")
        self._parts, self._token, self._timeout = parts, token, timeout

    @property
    def address(self) -> str:
        """The address of the server."""
        return f"{self._parts.scheme}://{self._parts.netloc}"

    def get(self, path: str) -> dict[str, Any]:
        """Return the content of a path below /api/v1."""
        return self._send("GET", path, None, {})

    def post(self, path: str, body: Mapping[str, object], key: str | None = None) -> dict[str, Any]:
        """Send a body and return the content of the response; with a key, try again if the connection breaks."""
        headers = {"Content-Type": "application/json", **({} if key is None else {"Idempotency-Key": key})}
        return self._send("POST", path, json.dumps(body).encode(), headers)

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> dict[str, Any]:
        repeatable = method == "GET" or "Idempotency-Key" in headers
        for left in reversed(range(_TRIES)):
            answer = self._once(method, path, body, headers)
            if answer is None and not (repeatable and left):
                break
            if answer is not None:
                status, content = answer
                if not (content.get("type") == "urn:tacit:in-progress" and left):
                    return _checked(status, content)
            sleep(_PAUSE * (_TRIES - left))
        raise SourceError(
            f"The server {self.address} could not be reached, or did not answer.",
            hint="Check the address. A question that was sent may be charged; its answer is in the history.",
        )

    def _once(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]] | None:
        """Send a request once; return None if the connection broke."""
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **headers}
        connection = self._opened()
        try:
            connection.request(method, f"{self._parts.path.rstrip('/')}/api/v1{path}", body, sent)
            response = connection.getresponse()
            text = response.read(_LARGEST)
        except ssl.SSLError:
            raise SourceError(
                f"The certificate of {self.address} is not valid.", hint="Check the address, or ask the administrator."
            ) from None
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        if isinstance(content, dict) and not _FIRST_REDIRECT <= response.status < _FIRST_ERROR:
            return response.status, content
        # a page, or a redirect, which is not followed
        return max(response.status, _FIRST_ERROR), {"detail": "The address is not that of a server of tacit."}

    def _opened(self) -> HTTPConnection:
        host = str(self._parts.hostname)
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            return HTTPSConnection(host, self._parts.port, timeout=self._timeout, context=context)
        return HTTPConnection(host, self._parts.port, timeout=self._timeout)


def path_of(*parts: str) -> str:
    """Return a path of parts that may have any character.

    >>> path_of("datasets", "a/b")
    '/datasets/a%2Fb'
    """
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address, or None if it or its port is not valid."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _checked(status: int, content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a success; raise the error that the server names."""
    if status < _FIRST_ERROR:
        return content
    kind = _KINDS.get(str(content.get("kind")), _by_status(status))
    error = kind(visible(str(content.get("detail", "The server refused the request."))), hint=_hint(content))
    error.unspent = content.get("unspent") is True
    raise error


def _hint(content: Mapping[str, Any]) -> str | None:
    hint = content.get("hint")
    return visible(hint) if isinstance(hint, str) else None


def _by_status(status: int) -> type[TacitError]:
    if status in (401, 403, 409, 429):
        return RefusedError
    return SourceError if status >= 500 else InvalidError  # noqa: PLR2004 - errors of the server
