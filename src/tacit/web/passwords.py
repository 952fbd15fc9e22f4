"""Passwords as argon2id hashes."""

from __future__ import annotations

from functools import cache
from secrets import token_hex
from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from tacit.errors import InvalidError

SHORTEST, LONGEST = 12, 200

_HASHER = PasswordHasher()  # RFC 9106, the second recommended option: 64 MiB, 3 passes, 4 lanes
_AT_ONCE = BoundedSemaphore(2)
"""Each hash takes 64 MiB, so a worker computes at most two at a time."""


@cache
def _nobody() -> str:
    """Return a hash of no password: a sign-in with an unknown name takes as long as one with a wrong password."""
    return _HASHER.hash(token_hex())


def check_password(password: str) -> str:
    """Return a password that is long enough, or raise InvalidError."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidError(
            f"A password has from {SHORTEST} to {LONGEST} characters.",
            argument="password",
            hint="Several random words are easy to remember.",
        )
    return password


def hashed(password: str) -> str:
    """Return the hash of a password."""
    with _AT_ONCE:
        return _HASHER.hash(password)


def matches(stored: str | None, password: str) -> bool:
    """Return whether a password has a stored hash; without one it takes as long."""
    with _AT_ONCE:
        try:
            _HASHER.verify(stored or _nobody(), password)
        except (VerificationError, InvalidHashError):
            return False
    return stored is not None
