"""Changes of inputs token by token: a changed byte of SQL or JSON rarely parses, a changed word often does."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_TOKEN = re.compile(rb"[A-Za-z0-9_.]+|\s+|[^A-Za-z0-9_.\s]")
_LONGEST = 12


def with_changed_tokens(data: bytes, words: Sequence[bytes], others: Sequence[bytes], seed: int) -> bytes:
    """Return an input in which a few runs of tokens are removed, doubled, replaced by a word, or taken from another.

    Args:
        data: the input.
        words: words that replace tokens.
        others: other inputs.
        seed: determines the changes.

    >>> with_changed_tokens(b"SELECT count(*) FROM t", [b"age"], [b"SELECT sum(x) FROM u"], 3)
    b'SELECT count(*) FROM '
    """
    chance = random.Random(seed)  # noqa: S311 - inputs of tests
    tokens = _TOKEN.findall(data)
    for _ in range(chance.randint(1, 3)):
        start = chance.randint(0, len(tokens))
        end = start + chance.randint(0, 3)
        match chance.randrange(5):
            case 0:
                new: list[bytes] = []
            case 1:
                new = 2 * tokens[start:end]
            case 2 if others:
                pieces = _TOKEN.findall(chance.choice(others))
                place = chance.randint(0, len(pieces))
                new = pieces[place : place + chance.randint(1, _LONGEST)]
            case _:
                new = [chance.choice(words)]
        tokens[start:end] = new
    return b"".join(tokens)
