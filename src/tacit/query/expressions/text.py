"""Functions of text: their meanings on values that are not NULL. Characters are Unicode code points."""

from __future__ import annotations


def lower(text: str) -> str:
    """Return the text in lower case, by Unicode's one-to-one mapping of characters.

    >>> lower("ÄB")
    'äb'
    """
    return "".join(letter.lower()[0] for letter in text)


def upper(text: str) -> str:
    """Return the text in upper case, by a one-to-one mapping of characters, which keeps the length.

    >>> upper("straße")
    'STRAẞE'
    """
    return "".join(_capital(letter) for letter in text)


def _capital(letter: str) -> str:
    if letter == "ß":
        return "ẞ"
    forms = (letter.upper(), letter.title(), letter)
    return next(form for form in forms if len(form) == 1)


def length(text: str) -> int:
    """Return the number of characters."""
    return len(text)


def substring(text: str, start: float, count: float | None = None) -> str:
    """Return `count` characters from position `start`, which counts from 1; without `count`, all to the end.

    >>> substring("abcdef", 2, 3), substring("abc", 2), substring("abc", 9, 2)
    ('bcd', 'bc', '')
    """
    first = int(start) - 1
    return text[first:] if count is None else text[first : first + int(count)]


def left(text: str, count: float) -> str:
    """Return the first `count` characters."""
    return text[: int(count)]


def right(text: str, count: float) -> str:
    """Return the last `count` characters."""
    return text[max(0, len(text) - int(count)) :]


def trim(text: str) -> str:
    """Return the text without spaces (U+0020 alone) at its ends."""
    return text.strip(" ")


def concat(*texts: str) -> str:
    """Return the concatenation of the texts."""
    return "".join(texts)


def replace(text: str, old: str, new: str) -> str:
    """Return the text with every `old`, from the left, replaced by `new`; an empty `old` changes nothing."""
    return text.replace(old, new) if old else text


def starts_with(text: str, prefix: str) -> bool:
    """Return whether the text starts with the prefix."""
    return text.startswith(prefix)


def like(text: str, pattern: str) -> bool:
    """Return whether the pattern matches the whole text: % is any characters, _ is one, and there is no escape.

    It takes O(n·m) steps: on a mismatch the last % matches one character more.

    >>> like("north-east", "n%t"), like("north", "_orth"), like("north", "n")
    (True, True, False)
    """
    position = index = 0
    star, resume = -1, 0
    while position < len(text):
        if index < len(pattern) and pattern[index] == "%":
            star, resume, index = index, position, index + 1
        elif index < len(pattern) and pattern[index] in ("_", text[position]):
            position, index = position + 1, index + 1
        elif star >= 0:
            resume += 1
            position, index = resume, star + 1
        else:
            return False
    return all(rest == "%" for rest in pattern[index:])
