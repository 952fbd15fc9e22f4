"""The duration of a call without a clock: the number of Python's instructions, which no load of the machine changes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, TypeVar

import pytest

from tacit.noise import bits

T = TypeVar("T")


def counted(call: Callable[[], T]) -> tuple[int, T]:
    """Return the number of instructions that a call runs, and its result. Instructions inside C are not counted."""
    number = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401 - a trace function returns itself
        nonlocal number
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        number += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = call()
    finally:
        sys.settrace(before)
    return number, result


def alike(steps: Iterable[int]) -> bool:
    """Return whether all calls but at most one took the same number of instructions.

    A draw takes more if it is undecided after 64 bits, with a probability below 2^-39; two draws of a test do so with a
    probability below 1e-16.
    """
    ((_, most),) = (numbers := Counter(steps)).most_common(1)
    return numbers.total() - most <= 1


def never_refill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw one block of random bytes for a whole test: a new block is due after a public number of draws."""
    monkeypatch.setattr(bits, "_SMALL", 2**24)
    bits.SYSTEM._forget()
    bits.SYSTEM.take(1)
