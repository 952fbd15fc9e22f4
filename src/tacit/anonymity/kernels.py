"""Loops of the searches, which run as Python or compiled.

numba takes some seconds to compile a search on a new machine, and up to a second to load it from the cache on disk. A
small table needs less time in Python. So a kernel is a plain function of Python, and `running` compiles it for large
tables, and if it is used often. The same source has the same meaning in both, by these rules:

* NumPy's integers of 32 bits overflow in Python, while the compiler computes with 64 bits. The kernels multiply such
  integers only to number pairs: (number of a class or rest, below the number of rows) · (number of different values or
  rests). `fits_plain` admits a table if no such product reaches 2³¹.
* Unsigned integers of 64 bits wrap around in both. NumPy would warn in Python; `running` turns the warning off.
* Logarithms may differ in their last bits. So of two candidates that are equal up to these bits, either may win.

No guarantee rests on this: `outcome.publish` checks every requirement again, on the published table.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

Kernel: TypeAlias = Callable[..., Any]

ENTRIES: dict[Kernel, bool] = {}
"""All kernels, and whether Python calls them (otherwise only other kernels do)."""

COMPILED: set[Kernel] = set()
"""The kernels that this process uses compiled from now on."""

_PLAIN_PRODUCT = 2**31
_PATIENCE = 2.0  # processor seconds of one kernel in Python, in all calls together
_SPENT = defaultdict[Kernel, float](float)


def kernel(function: Kernel) -> Kernel:
    """Mark a loop that Python calls."""
    ENTRIES[function] = True
    return function


def inner_kernel(function: Kernel) -> Kernel:
    """Mark a loop that only other kernels call."""
    ENTRIES[function] = False
    return function


def fits_plain(rows: int, widest: int) -> bool:
    """Return whether no product of a kernel needs more than 31 bits, from the rows and the widest column."""
    return rows * max(rows, widest) < _PLAIN_PRODUCT


def is_plain(function: Kernel, rows: int, widest: int, most: int) -> bool:
    """Return whether a kernel runs in Python: on at most `most` rows that fit, unless the process uses it compiled."""
    return rows <= most and fits_plain(rows, widest) and function not in COMPILED


@contextmanager
def running(function: Kernel, *, plain: bool) -> Iterator[Kernel]:
    """Return a kernel as Python, or compiled; report on stderr if the cache on disk does not have it compiled.

    If a kernel has taken two seconds in Python, the process uses it compiled from the next search on.
    """
    if plain:
        start = time.process_time()
        with np.errstate(over="ignore"):
            yield function
        _SPENT[function] += time.process_time() - start
        if _SPENT[function] > _PATIENCE:
            COMPILED.add(function)
        return
    from tacit.anonymity.compilation import announce_compilation, compiled  # noqa: PLC0415 - numba is slow to import

    COMPILED.add(function)
    loop = compiled(function)
    with announce_compilation(loop):
        yield loop
