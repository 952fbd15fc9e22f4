"""Run the server: one process, or several workers on one socket."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

import uvicorn

from tacit.errors import InvalidError
from tacit.web.app import create_app
from tacit.web.log import start_log
from tacit.web.server import open_server
from tacit.web.settings import ServerSettings

_BACKLOG = 2048
_KEEP_ALIVE = 75
"""Seconds for which an idle connection stays open: longer than proxies keep theirs, so that they close it first."""


def run(settings: ServerSettings, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer the requests that have started, and stop.

    Args:
        settings: the settings.
        announce: what writes a line to the terminal.
    """
    opened = open_server(settings)  # a policy that cannot be opened ends the command here
    listening = _socket(settings)
    scheme = "https" if settings.tls_cert else "http"
    host, port = listening.getsockname()[:2]
    announce(f"Serving on {scheme}://{f'[{host}]' if ':' in host else host}:{port}. Stop with Ctrl-C.")
    if scheme == "http" and not settings.plain_http and not ip_address(host).is_loopback:
        announce(
            "Without HTTPS, the server takes passwords and tokens from this machine only. Give --tls-cert and "
            "--tls-key, or put a proxy with HTTPS before it."
        )
    with _signals_ignored_after():
        if settings.workers == 1:
            start_log(settings.log_level, settings.log_format)
            with listening:
                uvicorn.Server(uvicorn.Config(create_app(settings, opened), **_options(settings))).run([listening])
            return
        opened.close()
        listening.close()
        os.environ.update(settings.environment())
        where: dict[str, Any] = {"host": settings.host, "port": port, "workers": settings.workers}
        uvicorn.run("tacit.web.app:worker", factory=True, **where, **_options(settings))


def _options(settings: ServerSettings) -> dict[str, Any]:
    """Return the options of uvicorn."""
    return {
        "ssl_certfile": settings.tls_cert or None,
        "ssl_keyfile": settings.tls_key or None,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,  # `security.transport` reads them, from trusted proxies alone
        "lifespan": "on",
        "timeout_graceful_shutdown": round(settings.stop_seconds),
        "timeout_keep_alive": _KEEP_ALIVE,
    }


def _socket(settings: ServerSettings) -> socket.socket:
    """Return a socket that listens, or raise InvalidError."""
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "no such address"
        raise InvalidError(
            f"Cannot listen on {settings.host} port {settings.port}: {reason}.",
            argument="port",
            hint="Name another port, or end the program that uses it.",
        ) from None


@contextmanager
def _signals_ignored_after() -> Iterator[None]:
    """Ignore the signal that ended the server when uvicorn raises it again: the stop was graceful."""
    before = {number: signal.signal(number, _ignore) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore(*_: object) -> None:
    """Do nothing."""
