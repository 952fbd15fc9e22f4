"""Serve the survey and store the reports that browsers send.

python collect.py FOLDER [--port 8080]
"""

from __future__ import annotations

import argparse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Lock

from survey import questions

MARK = b"TLFRAME\x01"
PAGE = Path(__file__).with_name("index.html")
CLIENT = files("tacit.local") / "browser" / "tacit-local.js"


class Collector(ThreadingHTTPServer):
    """A server that appends each report to the file of its question."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, folder: Path, port: int) -> None:
        """Create the files of reports if they are missing."""
        super().__init__(("127.0.0.1", port), Handler)
        self.questions = questions()
        self.files = {name: folder / f"{name}.bin" for name in self.questions}
        self._lock = Lock()
        folder.mkdir(parents=True, exist_ok=True)
        for file in self.files.values():
            if not file.exists():
                file.write_bytes(MARK)

    def store(self, name: str, message: bytes) -> None:
        """Append one message with its length."""
        with self._lock, self.files[name].open("ab") as stream:
            stream.write(len(message).to_bytes(8, "little") + message)


class Handler(BaseHTTPRequestHandler):
    """Three kinds of file to read, and one address for reports."""

    server: Collector
    protocol_version = "HTTP/1.1"  # browsers keep their connection

    def do_GET(self) -> None:
        """Send the page, the client or the parameters of a question."""
        name = self.path.removeprefix("/").removesuffix(".json")
        if self.path == "/":
            self._send(200, "text/html; charset=utf-8", PAGE.read_bytes())
        elif self.path == "/tacit-local.js":
            self._send(200, "text/javascript", CLIENT.read_bytes())
        elif name in self.server.questions:
            self._send(200, "application/json", self.server.questions[name].parameters().encode())
        else:
            self._send(404, "text/plain", b"There is no such page.\n")

    def do_POST(self) -> None:
        """Store a report of the right length. The aggregator checks the rest."""
        name = self.path.removeprefix("/reports/")
        length = int(self.headers.get("Content-Length") or 0)
        if name not in self.server.questions or length != 32 + self.server.questions[name].report_bytes:
            self.close_connection = True  # the body was not read
            self._send(400, "text/plain", b"Send one report of a question.\n")
            return
        self.server.store(name, self.rfile.read(length))
        self._send(204, "text/plain", b"")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log: times and addresses would tell who sent which report."""


def main() -> None:
    """Serve until Ctrl-C."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--port", type=int, default=8080)
    given = options.parse_args()
    with Collector(given.folder, given.port) as server:
        print(f"Serving on http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
