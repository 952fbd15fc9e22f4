"""Use the extra `web`: serve a release over HTTP with its packages."""

from __future__ import annotations

import json
import threading
import time
from urllib.request import urlopen

import uvicorn
from fastapi import FastAPI
from jinja2 import Template

import tacit as tc

app = FastAPI()


@app.get("/release")
def release() -> dict[str, str]:
    """Return a noisy number in a text."""
    noisy = tc.Laplace(sensitivity=1, epsilon=100).release(337)
    return {"text": Template("about {{ n }}").render(n=noisy)}


if __name__ == "__main__":
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    with urlopen(f"http://127.0.0.1:{port}/release", timeout=30) as reply:
        answer = json.load(reply)
    server.should_exit = True
    thread.join()
    if not answer["text"].startswith("about 3"):
        raise SystemExit("Not met: the server answers")
