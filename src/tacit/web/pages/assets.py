"""Scripts, styles and pictures. They ship with the package; each address has the hash of their contents."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from fastapi import Response

from tacit.web.access import Role, route
from tacit.web.pages.page import environment, page_router
from tacit.web.problems import Problem

router = page_router()
FOLDER: Final = Path(__file__).parents[1] / "static"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@cache
def files() -> dict[str, tuple[bytes, str]]:
    """Return every file by its path, with its media type."""
    found = (path for path in sorted(FOLDER.rglob("*")) if path.suffix in _TYPES)
    return {path.relative_to(FOLDER).as_posix(): (path.read_bytes(), _TYPES[path.suffix]) for path in found}


@cache
def digest() -> str:
    """Return the hash of all files, which is in their addresses."""
    total = sha256()
    for name, (content, _) in files().items():
        total.update(name.encode() + b"\0" + content)
    return total.hexdigest()[:16]


def asset(name: str) -> str:
    """Return the address of a file."""
    return f"/static/{digest()}/{name}"


@route(router, "GET", "/static/{version}/{name:path}", role=Role.PUBLIC, problems_of=(404,), response_class=Response)
def static(version: str, name: str) -> Response:
    """Return a file. Browsers keep the one with the right hash for a year."""
    if name not in files():
        raise Problem(404, "http", "There is nothing at this address.")
    content, media = files()[name]
    return Response(content, media_type=media, headers=_FOREVER if version == digest() else {})


environment().globals |= {"asset": asset}
