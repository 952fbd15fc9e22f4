"""Text: what each listed function means on values that are there. Characters are Unicode code points."""

from __future__ import annotations


def lower(text: str) -> str:
    """Small letters by Unicode's one-to-one mapping, character by character.

    >>> lower("ÄB")
    'äb'
    """
    return "".join(letter.lower()[0] for letter in text)


def upper(text: str) -> str:
    """Capital letters by a one-to-one mapping, character by character; the length stays.

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
    """How many characters there are."""
    return len(text)


def substring(text: str, start: float, count: float | None = None) -> str:
    """The `count` characters from place `start` on, the first being 1; to the end without `count`.

    >>> substring("abcdef", 2, 3), substring("abc", 2), substring("abc", 9, 2)
    ('bcd', 'bc', '')
    """
    first = int(start) - 1
    return text[first:] if count is None else text[first : first + int(count)]


def left(text: str, count: float) -> str:
    """The first `count` characters."""
    return text[: int(count)]


def right(text: str, count: float) -> str:
    """The last `count` characters."""
    return text[max(0, len(text) - int(count)) :]


def trim(text: str) -> str:
    """The text without spaces (U+0020 alone) at its ends."""
    return text.strip(" ")


def concat(*texts: str) -> str:
    """The texts one after the other."""
    return "".join(texts)


def replace(text: str, old: str, new: str) -> str:
    """The text with every `old`, from the left, turned into `new`; an empty `old` changes nothing."""
    return text.replace(old, new) if old else text


def starts_with(text: str, prefix: str) -> bool:
    """Whether the text begins with the prefix."""
    return text.startswith(prefix)


def like(text: str, pattern: str) -> bool:
    """Whether the pattern fits the whole text: % is any characters, _ is one, nothing escapes them.

    In O(n·m) steps: on a mismatch the last % takes one character more.

    >>> like("north-east", "n%t"), like("north", "_orth"), like("north", "n")
    (True, True, False)
    """
    at = place = 0
    star, resume = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "%":
            star, resume, place = place, at, place + 1
        elif place < len(pattern) and pattern[place] in ("_", text[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            resume += 1
            at, place = resume, star + 1
        else:
            return False
    return all(rest == "%" for rest in pattern[place:])
