"""Small and capital letters for engines whose own idea of them is another: pairs to translate, one to one.

`query.expressions.text` defines `lower` and `upper`: Unicode's mapping of single characters, the same under every
locale. Engines that map with a locale, or one letter to two, translate by these lists instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

from tacit.query.expressions import text

_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF


@cache
def to_small() -> tuple[str, str]:
    """Return the letters that `lower` changes, and what it makes of each.

    >>> letters, small = to_small()
    >>> small[letters.index("Ä")]
    'ä'
    """
    return _changed(text.lower)


@cache
def to_capital() -> tuple[str, str]:
    """Return the letters that `upper` changes, and what it makes of each."""
    return _changed(text.upper)


def _changed(change: Callable[[str], str]) -> tuple[str, str]:
    every = (chr(code) for code in range(sys.maxunicode + 1) if not _FIRST_SURROGATE <= code <= _LAST_SURROGATE)
    pairs = [(letter, new) for letter in every if (new := change(letter)) != letter]
    return "".join(old for old, _ in pairs), "".join(new for _, new in pairs)
