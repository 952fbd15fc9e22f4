"""Forked processes, copied objects and threads: no two of them share noise.

Noise that two processes share can be subtracted: two releases of neighbours then differ by their values. Here every
mechanism has a scale of about 10^9, so two fresh outputs are equal with a probability of about 1e-9, and three pairs of
outputs with a probability below 1e-24. Six choices among 1,000 candidates are equal with a probability of 1e-18.
`tests/noise/test_bits.py` has the bytes themselves, and `tests/test_threads_and_forks.py` the database in threads and
children.

A machine snapshot that is resumed twice repeats up to 8 KiB of random bytes; that is a known weakness.
"""

from __future__ import annotations

import ast
import copy
import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from attacks.references import BlockNoise, TextbookDatabase
from children import PATIENCE, result_of_child
from tacit.noise.bits import SYSTEM

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
needs_libc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C library is found on Linux only")

Draw = Callable[[], object]
SCORES = np.zeros(1000, dtype=np.int64)


def drawn(draw: Draw) -> list[object]:
    return [draw() for _ in range(3)]


def forked_by_os(draw: Draw) -> list[object]:
    """Return what a child of `os.fork` draws."""
    return list(ast.literal_eval(result_of_child(lambda: repr(drawn(draw)).encode()).decode()))


def forked_by_c(draw: Draw) -> list[object]:
    """Return what a child draws that was forked by C code, so that no hook of Python runs; it keeps Python's lock."""
    out, into = os.pipe()
    child = ctypes.PyDLL(None).fork()
    if not child:
        gc.disable()  # see `children`
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        try:
            os.write(into, repr(drawn(draw)).encode())
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        written = pipe.read()
    os.waitpid(child, 0)
    return list(ast.literal_eval(written.decode()))


FORKS = [
    pytest.param(forked_by_os, marks=needs_fork, id="os.fork"),
    pytest.param(forked_by_c, marks=needs_libc, id="fork in C"),
]


def releases(m: tc.Laplace | tc.Gaussian, value: object) -> Draw:
    return lambda: float(np.sum(m.release(value)))  # type: ignore[arg-type]  # numbers


PLAIN = tc.Laplace(sensitivity=1, epsilon=1e-9)
DRAWS: dict[str, Draw] = {
    "Laplace": lambda: PLAIN.release(0),
    "Laplace of reals": releases(tc.Laplace(sensitivity=1.0, epsilon=1e-9), 0.0),
    "Gaussian": releases(tc.Gaussian(sensitivity=1, sigma=1e9), 0),
    "Gaussian vector": releases(tc.Gaussian(sensitivity=1.0, sigma=1e9, outputs=100), [0.0] * 100),
    "5,000 counts": releases(PLAIN, np.zeros(5000, dtype=np.int64)),
    "Exponential": lambda: [tc.Exponential(sensitivity=1, epsilon=1e-9).choose(SCORES) for _ in range(2)],
    "PermuteAndFlip": lambda: [tc.PermuteAndFlip(sensitivity=1, epsilon=1e-9).choose(SCORES) for _ in range(2)],
    "NoisyMax": lambda: [tc.NoisyMax(sensitivity=1, epsilon=1e-9).choose(SCORES) for _ in range(2)],
    "RandomizedResponse": lambda: np.asarray(tc.RandomizedResponse(epsilon=1e-3).release([True] * 100)).tolist(),
    "tc.count": lambda: tc.count([1, 2, 3], epsilon=1e-9),
    "tc.sum": lambda: float(tc.sum([1, 2, 3], bounds=(0, 1), epsilon=1e-9)),
    "local GRR": lambda: list(
        tc.local.GRR(domain=list(range(10**4)), epsilon=1e-3).randomize([1] * 20).to_arrow()[0].to_pylist()
    ),
}
OWN_ENGINE = ("tc.count", "tc.sum")
"""These open a DuckDB database, which must not be opened in a child of a process that has one."""


@pytest.mark.parametrize("fork", FORKS)
@pytest.mark.parametrize("name", [name for name in DRAWS if name not in OWN_ENGINE])
def test_a_child_has_other_noise_than_its_parent(fork: Callable[[Draw], list[object]], name: str) -> None:
    draw = DRAWS[name]
    draw()  # a first draw fills a block of random bytes
    child, other = fork(draw), fork(draw)
    outputs = [repr(each) for each in (child, other, drawn(draw))]
    assert len(set(outputs)) == 3


@pytest.mark.parametrize("fork", FORKS)
def test_a_block_that_is_drawn_in_advance_is_shared(fork: Callable[[Draw], list[object]]) -> None:
    """Two children of one parent add the same noise, and the difference of their outputs is that of their values."""
    bad = BlockNoise(1e9)
    bad.release(0)
    ((first, *_), (second, *_)) = (fork(partial(bad.release, value)) for value in (0, 1))
    assert abs(float(str(second)) - float(str(first)) - 1) < 1e-6


@needs_fork
def test_a_pool_of_forked_workers_shares_no_noise() -> None:
    PLAIN.release(0)
    children = [forked_by_os(lambda: PLAIN.release(0)) for _ in range(8)]
    assert len({repr(each) for each in children}) == 8


@needs_fork
def test_a_grandchild_has_other_noise_too() -> None:
    PLAIN.release(0)

    def child() -> bytes:
        inner = forked_by_os(lambda: PLAIN.release(0))
        return repr([inner, drawn(lambda: PLAIN.release(0))]).encode()

    inner, outer = ast.literal_eval(result_of_child(child).decode())
    assert len({repr(inner), repr(outer), repr(drawn(lambda: PLAIN.release(0)))}) == 3


COPIES: dict[str, Callable[[object], object]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),  # noqa: S301 - our own
}


@pytest.mark.parametrize("how", COPIES)
def test_a_copied_mechanism_has_its_own_noise(how: str) -> None:
    copied = COPIES[how](PLAIN)
    assert isinstance(copied, tc.Laplace)
    assert [copied.release(0) for _ in range(3)] != [PLAIN.release(0) for _ in range(3)]
    bad = BlockNoise(1e9)
    bad.release(0)
    twin = COPIES[how](bad) if how != "copy" else BlockNoise(bad.scale, list(bad.block))
    assert isinstance(twin, BlockNoise)
    assert twin.release(0) == bad.release(0)


@pytest.mark.parametrize("how", COPIES)
def test_a_source_of_bits_is_not_copied_or_gives_other_bytes(how: str) -> None:
    SYSTEM.take(1)
    try:
        twin = COPIES[how](SYSTEM)
    except TypeError:
        return
    assert twin.take(32) != SYSTEM.take(32)  # type: ignore[attr-defined]  # a source


@pytest.mark.parametrize("how", COPIES)
def test_a_mechanism_with_a_state_cannot_be_copied(how: str) -> None:
    """Each copy of an AboveThreshold would compare with one noisy threshold, and could fire once more."""
    alarm = tc.AboveThreshold(sensitivity=1, epsilon=1, threshold=100)
    with pytest.raises(TypeError, match="cannot be copied"):
        COPIES[how](alarm)


@needs_libc
def test_a_mechanism_with_a_state_refuses_to_work_in_a_child_of_c() -> None:
    alarm = tc.AboveThreshold(sensitivity=1, epsilon=1, threshold=10**6)

    def query() -> str:
        try:
            return repr(alarm.query(0))
        except tc.RefusedError as error:
            return type(error).__name__

    assert forked_by_c(query) == ["RefusedError"] * 3


def test_threads_share_no_noise() -> None:
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda _: PLAIN.release(0), range(2000)))
    assert len(set(outputs)) > 1990  # two of 2,000 are equal with a probability of 0.1 %, and ten pairs never


def test_a_started_process_has_other_noise() -> None:
    """A process that is started and not forked imports everything again."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (outputs,) = pool.map(_in_process, [0])
    assert outputs != drawn(lambda: PLAIN.release(0))


def _in_process(value: int) -> list[object]:
    return drawn(lambda: PLAIN.release(value))


@pytest.mark.parametrize("name", OWN_ENGINE)
def test_two_answers_of_an_engine_have_other_noise(name: str) -> None:
    assert len({repr(DRAWS[name]()) for _ in range(3)}) == 3


@needs_libc
def test_a_child_of_c_and_its_parent_spend_one_budget(tmp_path: Path) -> None:
    """A budget in the memory of each process would be spent twice."""
    with tc.open(
        pa.table({"x": [1]}), name="t", unit=tc.ROW, budget=tc.PureDP(epsilon=1), ledger=tmp_path / "t.ledger"
    ) as db:

        def charge() -> bool:
            try:
                db.charge(tc.PureDP(epsilon=0.3), note="a choice")
            except tc.BudgetError:
                return False
            return True

        assert charge()
        assert [*forked_by_c(charge), *drawn(charge)] == [True, True, False, False, False, False]
        assert db.ledger.spent.loss == Fraction(9, 10)
    book = TextbookDatabase(pa.table({"x": [1]}))

    def spend() -> float:
        book.spent += 0.5
        return book.spent

    assert spend() == 0.5
    assert forked_by_c(spend) == [1.0, 1.5, 2.0]
    assert book.spent == 0.5


@needs_libc
def test_a_database_refuses_to_answer_in_a_child_of_c() -> None:
    with tc.open(pa.table({"x": [1, 2]}), name="t", unit=tc.ROW, budget=tc.PureDP(epsilon=1)) as db:

        def ask() -> str:
            try:
                return repr(db.sql("SELECT count(*) AS n FROM t", epsilon=1e-9).value)
            except tc.TacitError as error:
                return type(error).__name__

        assert set(forked_by_c(ask)) <= {"RefusedError", "SourceError"}  # of the ledger in memory, or of the engine
