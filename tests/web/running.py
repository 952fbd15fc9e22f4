"""A server in its own process, as `tacit serve` runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PATIENCE = 120


@dataclass
class Running:
    """A process that serves, its address, and what it wrote."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def call(
        self, method: str, path: str, token: str = "", body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Return the status and the content of a response."""
        given = {"Content-Type": "application/json", **(headers or {})}
        signed = {"Authorization": f"Bearer {token}"} if token else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, {**given, **signed}, method=method)  # noqa: S310 - ours
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - ours
                return response.status, json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(_PATIENCE)

    @property
    def tokens(self) -> dict[str, str]:
        """The tokens that the demo printed, by name."""
        found = re.findall(r"^ +\w+ +(\w+) +password \S+ +token (\S+)", self.log.read_text("utf-8"), re.MULTILINE)
        return dict(found)


@contextmanager
def running(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Start `tacit serve` on a free port, and end it."""
    log = folder / f"serve-{time.monotonic_ns()}.log"
    command = [sys.executable, "-m", "tacit", "serve", *words, "--port", "0"]
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdout=stream, stderr=stream, text=True, cwd=folder, env={**os.environ, **(environment or {})}
        )
    try:
        yield Running(process, _address(process, log), log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(_PATIENCE)


def _address(process: subprocess.Popen[str], log: Path) -> str:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"Serving on (http://\S+)\.", log.read_text("utf-8"))
        if found and _answers(found[1]):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text("utf-8"))


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=10) as response:  # noqa: S310 - ours
            return bool(response.status == 200)
    except OSError:
        return False
