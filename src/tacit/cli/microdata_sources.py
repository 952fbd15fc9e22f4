"""Tables of rows whose paths or URLs name environment variables: filled in, and never shown.

What reads tables knows nothing of variables, and names a table as it was given it. So an error that comes from there is
gone through before it is told: the source becomes what was written, and a value the name of its variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.engines.opened import Opened
from tacit.errors import TacitError, hidden
from tacit.opening import filled

_REFERENCE = re.compile(r"\$\{(\w+)\}")
_SHORT, _CUT = 6, 40
_PARTS = ("argument", "hint", "path", "got", "want")


@contextmanager
def filling(table: str, other: str | None = None) -> Iterator[tuple[str, str | None]]:
    """Give one or two sources with their variables filled in; no error that is raised meanwhile shows a value.

    Raises:
        InvalidError: a variable is not set.
    """
    first, second = filled(table, None), None if other is None else filled(other, None)
    try:
        yield str(first.source), None if second is None else str(second.source)
    except TacitError as error:
        for one in (first, second):
            if one is not None and one.written is not None:
                _hide(error, one)
        raise


def _hide(error: TacitError, one: Opened) -> None:
    """Put what was written in the place of what was filled in, wherever an error has it."""
    error.args = tuple(unfilled(part, one) if isinstance(part, str) else part for part in error.args)
    for name in _PARTS:
        if isinstance(getattr(error, name, None), str):
            setattr(error, name, unfilled(getattr(error, name), one))


def unfilled(text: str, one: Opened) -> str:
    """Return a text without the values of the variables of a source.

    >>> one = Opened(source="/data/secret.csv", written="${FOLDER}/${NAME}.csv")
    >>> unfilled("'/data/secret.csv', which does not exist", one)
    "'${FOLDER}/${NAME}.csv', which does not exist"
    """
    source, written = str(one.source), one.written or ""
    names = _REFERENCE.findall(written)
    own = [part for part in (Path(source).name, Path(source).stem) if part and part not in written]
    text = _replaced(text, source, written)
    for part in own:
        text = _replaced(text, part, written, quoted=True)
    for name in sorted(names, key=lambda name: -len(os.environ.get(name, ""))):
        text = _replaced(text, os.environ.get(name, ""), f"${{{name}}}")
    return text


def _replaced(text: str, value: str, by: str, *, quoted: bool = False) -> str:
    """Replace a value however it is spelled: with its password hidden, as a path, quoted, or cut off after a while."""
    spellings = {value, hidden(value), str(Path(value)), hidden(str(Path(value)))} if value else set()
    for spelling in sorted(spellings, key=len, reverse=True):
        for shown, put in {spelling: by, repr(spelling)[1:-1]: repr(by)[1:-1]}.items():
            text = _found(shown, quoted=quoted or len(shown) < _SHORT).sub(_always(put), text)
            cut = next((end for end in range(len(shown), _CUT, -1) if shown[:end] in text), None)
            text = text if cut is None else text.replace(shown[:cut], put)
    return text


def _found(value: str, *, quoted: bool) -> re.Pattern[str]:
    """Return what finds a value; one that may be a word of the message by chance only as a name is written there."""
    found = re.escape(value)
    return re.compile(rf"(?<=['\"`/:.]){found}(?=['\"`/:.])" if quoted else found)


def _always(put: str) -> Callable[[re.Match[str]], str]:
    return lambda _: put
