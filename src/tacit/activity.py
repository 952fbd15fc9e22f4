"""The log and the counters: one line and one count for each charge, answer, refusal, failure and retry.

    logging.getLogger("tacit")      the log; a program decides where it goes
    tc.counters()                   the counters of this process, for a monitoring server

A line has the number of the ledger's record, the analyst, a hash of the query and the class of an error. It never has
the text of a query, the message of an error or a value of the data: a query may contain names, and a log is often
readable by more people than the ledger. The record's number leads to the text for those who may read the ledger.

A value with a space, a quote or an equals sign is written in quotes, so that no name adds a fact to a line. If a
handler or a filter of the log raises, the error is dropped: the query may be charged already, and its answer must not
be lost.

Both are safe in threads. After a fork, the counters of the child start at 0.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from contextlib import suppress
from hashlib import sha256
from threading import Lock
from typing import Literal, TypeAlias

from tacit.errors import TacitError
from tacit.safe_text import visible

Kind: TypeAlias = Literal["charge", "answer", "replay", "refusal", "failure", "retry", "warning"]
"""What happened.

charge: a ledger was charged. answer: a charged query was answered. replay: a recorded answer was returned for nothing.
refusal: a query or a ledger was refused before a charge. failure: a charged query failed; the charge stands. retry: a
connection was cut, and tacit opened another. warning: a ledger needs the steward's attention.
"""

_LEVELS: dict[Kind, int] = {
    "charge": logging.INFO,
    "answer": logging.INFO,
    "replay": logging.INFO,
    "refusal": logging.WARNING,
    "failure": logging.ERROR,
    "retry": logging.WARNING,
    "warning": logging.WARNING,
}
_PLURALS: dict[Kind, str] = {
    "charge": "charges",
    "answer": "answers",
    "replay": "replays",
    "refusal": "refusals",
    "failure": "failures",
    "retry": "retries",
    "warning": "warnings",
}

LOGGER = logging.getLogger("tacit")
LOGGER.addHandler(logging.NullHandler())

_PLAIN = re.compile(r"[^\s=\"\\]+")
_GUARD = Lock()
_COUNTS: dict[Kind, int] = dict.fromkeys(_PLURALS, 0)


def counters() -> dict[str, int]:
    """Return how often this process charged, answered, replayed, refused, failed, retried and warned.

    >>> sorted(counters())
    ['answers', 'charges', 'failures', 'refusals', 'replays', 'retries', 'warnings']
    """
    with _GUARD:
        return {_PLURALS[kind]: count for kind, count in _COUNTS.items()}


def note(kind: Kind, text: str = "", **facts: object) -> None:
    """Count an event, and log it in one line.

    Args:
        kind: what happened.
        text: a constant text.
        facts: names, numbers and hashes; an empty one is left out.
    """
    with _GUARD:
        _COUNTS[kind] += 1
    if LOGGER.isEnabledFor(_LEVELS[kind]):
        words = [f"{name}={_quoted(str(fact))}" for name, fact in facts.items() if fact not in ("", None)]
        with suppress(Exception):
            LOGGER.log(_LEVELS[kind], "%s", " ".join(filter(None, [kind, text, *words])))


def _quoted(value: str) -> str:
    r"""Return a value as one word, in quotes if it has a character that separates facts.

    >>> print(_quoted("ann"), _quoted("eve record=7"), _quoted('a"b'))
    ann "eve record=7" "a\"b"
    """
    shown = visible(value)
    return shown if _PLAIN.fullmatch(shown) else json.dumps(shown, ensure_ascii=False)


def note_refusal(error: TacitError) -> None:
    """Mark an error as raised before a charge; the first mark is counted and logged."""
    if not error.unspent:
        note("refusal", error=type(error).__name__)
    error.unspent = True


def query_hash(query: str) -> str:
    """Return the first digits of a hash of a query, which tell equal queries in a log.

    >>> query_hash("SELECT count(*) FROM visits")
    '5c9a5ebec13b'
    """
    return sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _after_fork() -> None:
    """Count from 0 in a child."""
    for kind in _COUNTS:
        _COUNTS[kind] = 0
    _GUARD.release()


if sys.platform != "win32":
    os.register_at_fork(before=_GUARD.acquire, after_in_parent=_GUARD.release, after_in_child=_after_fork)
