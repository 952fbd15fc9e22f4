"""The time limit of one reading: what it interrupts, what it raises, and what it lets pass."""

from __future__ import annotations

from threading import Event
from time import monotonic, sleep

import pytest

from tacit.engines import time_limit
from tacit.engines.time_limit import TimeLimit
from tacit.errors import SourceError, TimeLimitError

SECRET = "a value of a row"  # noqa: S105 - stands for data


def test_a_result_in_time_is_returned_and_nothing_is_interrupted() -> None:
    interrupts: list[float] = []
    assert TimeLimit(60).run(lambda: 5, lambda: interrupts.append(1)) == 5
    assert interrupts == []


def test_an_interrupt_that_is_lost_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "_AGAIN", 0.01)
    stopped, interrupts = Event(), list[float]()

    def interrupt() -> None:
        interrupts.append(monotonic())
        if len(interrupts) < 3:
            raise RuntimeError(SECRET)  # it fails, or comes between two statements
        stopped.set()

    def read() -> int:
        stopped.wait(10)
        raise RuntimeError(SECRET)

    with pytest.raises(TimeLimitError) as caught:
        TimeLimit(0.01).run(read, interrupt)
    assert stopped.is_set()
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    count = len(interrupts)
    sleep(0.05)
    assert len(interrupts) == count  # none comes after the end: it would stop the next reading


def test_an_error_in_time_stays_what_it_is() -> None:
    def fail() -> int:
        raise RuntimeError(SECRET)

    with pytest.raises(RuntimeError, match=SECRET):
        TimeLimit(60).run(fail, lambda: None)


def test_an_error_of_tacit_stays_what_it_is_even_if_the_time_is_over() -> None:
    def fail() -> int:
        sleep(0.02)
        raise SourceError("The table changed.")

    with pytest.raises(SourceError, match="The table changed"):
        TimeLimit(0.01).run(fail, lambda: None)


def test_a_result_that_is_complete_is_returned_even_if_the_time_is_over() -> None:
    def read() -> int:
        sleep(0.02)
        return 7

    assert TimeLimit(0.01).run(read, lambda: None) == 7


def test_a_key_of_the_user_is_not_replaced() -> None:
    def stop() -> int:
        sleep(0.02)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TimeLimit(0.01).run(stop, lambda: None)


def test_what_is_left_ends_at_zero() -> None:
    limit = TimeLimit(0.02)
    assert 0 < limit.left <= 0.02
    sleep(0.03)
    assert limit.left == 0
