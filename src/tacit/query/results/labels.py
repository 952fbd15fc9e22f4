"""Labels of groups in charts: two different groups never have one label."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tacit.query.expressions import Value
from tacit.query.results.table import say

NO_KEYS = "all"
_AMBIGUOUS = frozenset(',"\\')  # a backslash could be read as an escape of `safe_text.visible`


def label(keys: Sequence[Value]) -> str:
    """Return the keys of a group, separated by commas; of a question without keys, `all`.

    A text is quoted where it could be read as something else: as NULL, as `all`, or as several keys.

    >>> label(["a", None]), label(["a", "NULL"]), label(["a, b", 1]), label([])
    ('a, NULL', 'a, "NULL"', '"a, b", 1', 'all')
    """
    return ", ".join(map(_key, keys)) or NO_KEYS


def _key(value: Value) -> str:
    if isinstance(value, str) and (value in ("", "NULL", NO_KEYS) or _AMBIGUOUS.intersection(value)):
        return json.dumps(value, ensure_ascii=False)
    return say(value)
