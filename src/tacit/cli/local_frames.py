"""Files of messages: each stands in a frame with its length, so that what one holds cannot touch the next.

The length is written by whoever collects messages, never read from a message: a device that lies about its own
length spoils its own frame alone. Such files may be joined: a head where a frame would begin is skipped, since as a
length it is beyond any file. A file that is one bare message, as `Reports.to_bytes` gives it, is read too.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from tacit.errors import InvalidError, NoSourceError
from tacit.local import Reports
from tacit.local.reports import MAGIC

HEAD = b"TLFRAME\x01"
_MARK = HEAD[:-1]
_LENGTH = 8
_WANT = "a file of framed messages, as `tacit local randomize --out` writes it, or of one message"


def write(reports: Iterable[Reports], file: BinaryIO) -> None:
    """Write the head, and a frame for each message."""
    file.write(HEAD)
    for some in reports:
        message = some.to_bytes()
        file.write(len(message).to_bytes(_LENGTH, "little"))
        file.write(message)


def read(path: str) -> Iterator[memoryview]:
    """Give the messages of a file, whatever they hold.

    Raises:
        NoSourceError: the file cannot be read.
        InvalidError: it is no file of messages, or cut; it says how many messages are whole.
    """
    data = _bytes(path)
    if bytes(data[: len(_MARK)]) == _MARK:
        if bytes(data[: len(HEAD)]) != HEAD:
            raise InvalidError("reports", f"{path!r}, which is framed in another version", "framed in version 1")
        yield from _frames(data, path)
    else:
        yield _one(data, path)


def _bytes(path: str) -> memoryview:
    try:
        with Path(path).open("rb") as file:
            empty = Path(path).stat().st_size == 0
            return memoryview(b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        raise NoSourceError(f"{path!r}, which cannot be read", "a file of reports that can be read") from None


def _frames(data: memoryview, path: str) -> Iterator[memoryview]:
    at, many = len(HEAD), 0
    while at < len(data):
        start = at + _LENGTH
        if data[at:start] == HEAD:
            at = start
            continue
        end = start + int.from_bytes(data[at:start], "little")
        if not start <= end <= len(data):
            whole = f"{many:,} whole messages were read, which end at byte {at}"
            raise InvalidError(
                "reports",
                f"{path!r}, which is cut, and nothing of it was counted or saved: {whole}",
                f"whole; to count what is whole, keep that part: head -c {at} FILE > PART",
            )
        yield data[start:end]
        at, many = end, many + 1


def _one(data: memoryview, path: str) -> memoryview:
    try:
        Reports.from_bytes(data)
    except InvalidError as wrong:
        began = bytes(data[: len(MAGIC)]) == MAGIC
        why = f"which begins like one message, but: {wrong.got}" if began else "which is neither"
        joined = "; messages that are only joined cannot be told apart safely" if began else ""
        raise InvalidError("reports", f"{path!r}, {why}, and 0 reports were read", f"{_WANT}{joined}") from None
    return data
