"""Transport, headers, cookies, CSRF tokens and the size of bodies.

**Plain HTTP.** Passwords, cookies and tokens over plain HTTP can be read on the way. The server takes them only over
HTTPS (its own, or that of a trusted proxy, which says so in X-Forwarded-Proto), or from the same machine, unless the
setting `plain_http` allows more. The cookie over HTTPS has the prefix `__Host-` and is Secure; the cookie over plain
HTTP has another name, so neither is taken for the other.

**CSRF.** A cookie is SameSite=Strict. Besides, every request that changes something and is signed in by a cookie or by
a proxy has the CSRF token of its session, in the header X-CSRF-Token or in the form field `csrf`.
"""

from __future__ import annotations

import hmac
from collections.abc import MutableMapping
from hashlib import sha256
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.web.problems import Problem, response_of
from tacit.web.settings import ServerSettings

if TYPE_CHECKING:
    from tacit.web.credentials import Person

SECURE_COOKIE: Final = "__Host-tacit"
PLAIN_COOKIE: Final = "tacit-session"
CSRF_HEADER: Final = "x-csrf-token"
CSRF_FIELD: Final = "csrf"

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_HSTS = "max-age=31536000"


class SecurityMiddleware:
    """Find out how a request came, limit its body, and add the headers to its response."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        """Store the application and its settings."""
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client, secure = transport(scope, self._settings)
        scope.setdefault("state", {}).update(client=client, secure=secure)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                if secure:
                    headers.setdefault("Strict-Transport-Security", _HSTS)
            await send(message)

        if not _is_readable(scope):
            await response_of(_UNREADABLE, str)(scope, receive, with_headers)
            return
        await self._app(scope, _limited(scope, receive, self._settings.body_limit), with_headers)


_UNREADABLE: Final = Problem(
    400,
    "http",
    "The address or the Host header of the request cannot be read.",
    hint="Write other characters than ASCII in percent encoding.",
)


def _is_readable(scope: Scope) -> bool:
    """Return whether the URL of a request can be built: a client may send any bytes as its query and its host."""
    try:
        _ = URL(scope=scope).components
    except ValueError:
        return False
    return True


def _limited(scope: Scope, receive: Receive, most: int) -> Receive:
    """Return a `receive` that raises HTTPException 413 for a body of more bytes."""
    declared = Headers(scope=scope).get("content-length", "")
    too_long = declared.isascii() and declared.isdecimal() and len(declared) < 20 and int(declared) > most  # noqa: PLR2004 - digits
    size = 0

    async def limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if too_long or size > most:
            raise HTTPException(413)
        return message

    return limited


def transport(scope: MutableMapping[str, Any], settings: ServerSettings) -> tuple[str, bool]:
    """Return the address of the client, and whether the request came over HTTPS; a trusted proxy says both."""
    peer = (scope.get("client") or ("", 0))[0]
    headers = Headers(scope=scope)
    if peer not in settings.trusted_proxies:
        return peer, scope.get("scheme") == "https"
    forwarded, schemes = _parts(headers, "x-forwarded-for"), _parts(headers, "x-forwarded-proto")
    scheme = schemes[-1] if schemes else scope.get("scheme", "http")
    return (forwarded[-1][:64] if forwarded else peer), scheme == "https"


def _parts(headers: Headers, name: str) -> list[str]:
    """Return the parts of a header in all its lines. The proxy adds the last one; a client may send those before."""
    return [part.strip() for line in headers.getlist(name) for part in line.split(",") if part.strip()]


def check_transport(request: Request, settings: ServerSettings) -> None:
    """Raise a problem if a credential came over plain HTTP from another machine."""
    if request.state.secure or settings.plain_http or _is_loopback(request.state.client):
        return
    raise Problem(
        403,
        "plain-http",
        "Passwords, cookies and tokens are not taken over plain HTTP: others could have read this one.",
        hint="Use https://. If this was a token, remove it and make a new one.",
    )


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def cookie_name(*, secure: bool) -> str:
    """Return the name of the session's cookie over this transport."""
    return SECURE_COOKIE if secure else PLAIN_COOKIE


def csrf_token(secret: bytes, credential: str) -> str:
    """Return the CSRF token of a session; it follows from the session and the server's secret."""
    return hmac.new(secret, f"csrf {credential}".encode(), sha256).hexdigest()


async def check_csrf(request: Request, person: Person) -> None:
    """Raise a problem unless a request that a browser could send by itself has the CSRF token."""
    if person.via == "token":
        return
    given = request.headers.get(CSRF_HEADER)
    if given is None and request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        fields = parse_qs((await request.body()).decode("utf-8", "replace"))
        given = fields.get(CSRF_FIELD, [""])[0]
    right = csrf_token(request.app.state.server.store.secret, person.credential)
    if not hmac.compare_digest((given or "").encode(), right.encode()):
        raise Problem(403, "csrf", "The CSRF token is missing or wrong.", hint="Load the page again, then try again.")
