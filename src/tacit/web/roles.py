"""The roles of people."""

from __future__ import annotations

from enum import IntEnum

from tacit.errors import bad_value


class Role(IntEnum):
    """A set of permissions; a role includes those below it.

    analyst: plan, ask, and see their own history. steward: limits, the ledger of all, limits of analysts, policies.
    admin: people, the audit log, metrics.
    """

    PUBLIC = 0
    ANALYST = 1
    STEWARD = 2
    ADMIN = 3

    @property
    def word(self) -> str:
        """The role in lower case."""
        return self.name.lower()


WORDS = tuple(role.word for role in Role if role is not Role.PUBLIC)


def read_role(word: str) -> Role:
    """Return the role of a word.

    >>> read_role("steward") > read_role("analyst")
    True
    """
    if word not in WORDS:
        raise bad_value("role", word, f"one of {', '.join(WORDS)}")
    return Role[word.upper()]
