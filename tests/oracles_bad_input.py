"""The check of invalid input: one InvalidError that names the argument, repeats no data and draws no bits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit import InvalidError
from tacit.noise import SYSTEM

SECRET = 987654321
"""A data value that no message may repeat."""

NOT_POSITIVE: list[Any] = [
    0,
    -1,
    0.0,
    -0.5,
    float("nan"),
    float("inf"),
    -float("inf"),
    "1",
    True,
    None,
    [1],
    1j,
    10**400,
]
NOT_A_SHARE: list[Any] = [*NOT_POSITIVE, 1, 1.5, Fraction(1)]
NOT_A_COUNT: list[Any] = [0, -1, 1.0, 2.5, float("nan"), "3", True, None, [1]]
NOT_A_FLAG: list[Any] = [0, 1, None, "yes", 1.0]
NOT_A_NUMBER: list[Any] = [float("nan"), float("inf"), -float("inf"), "1", True, None, 1j, b"1"]

RAGGED: list[Any] = [[SECRET, 1], [2]]
NOT_A_COLUMN: list[Any] = [
    [],
    np.array([]),
    np.array(SECRET),
    np.array([[SECRET, 1], [2, 3]]),
    RAGGED,
    ["a", str(SECRET)],
    [None, SECRET],
    [SECRET + 1j],
    [True, False],
    [True, SECRET],
    np.ma.array([SECRET, 1], mask=[False, True]),
    np.array(["2024-01-01"], dtype="datetime64[D]"),
    np.array([SECRET], dtype=np.longdouble),
    None,
    str(SECRET),
    SECRET,
]
"""Values that are not a one-dimensional column of numbers."""


def short(value: object) -> str:
    """Return the name of a case in the list of tests."""
    return repr(value)[:20]


@contextmanager
def silence() -> Any:  # noqa: ANN401 - a context manager
    """Fail on any draw."""

    def refuse(count: int) -> bytes:
        raise AssertionError(f"{count} bytes were drawn")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SYSTEM, "take", refuse)
        yield


def refused(argument: str, call: Callable[[], object]) -> None:
    """Check that a call raises InvalidError for an argument."""
    with silence(), pytest.raises(InvalidError) as caught:
        call()
    assert caught.value.argument == argument
    error: BaseException | None = caught.value
    while error is not None:
        assert str(SECRET) not in str(error)
        error = error.__cause__ or error.__context__
