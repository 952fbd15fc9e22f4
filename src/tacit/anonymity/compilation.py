"""Kernels compiled by numba.

numba caches the result beside the file of a kernel, or in the user's cache if the folder is read-only. numba checks
only the file of a function for changes, and its cache cannot be read once a named tuple has another name. So a hash of
all files that compiled code depends on is a part of the name in the cache.

numba must find compiled functions under the names that a kernel calls. So `compiled` copies a kernel with other global
names: those of its inner kernels lead to their compiled copies.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, cast

import numba
from numba.core import event

from tacit.anonymity.kernels import ENTRIES, Kernel

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}  # no entry from C
SOURCES = ("class_kernels.py", "lattice_kernels.py", "partitions.py", "search_arrays.py", "split_kernels.py")


def _digest() -> str:
    """Return a hash of all files that the compiled loops depend on."""
    folder = Path(__file__).parent
    try:
        return sha256(b"".join((folder / name).read_bytes() for name in SOURCES)).hexdigest()[:12]
    except OSError:  # without the sources numba has no cache
        return "unknown"


_DIGEST = _digest()


@cache
def compiled(function: Kernel) -> Kernel:
    """Return a kernel that is compiled on its first call; the result is cached on disk."""
    copy = _copy_for_compiler(function)
    if not ENTRIES[function]:  # without an entry from Python, which compiles faster
        return _jit(copy, {**_OPTIONS, "no_cpython_wrapper": True})
    try:
        return _jit(copy, {**_OPTIONS, "cache": True})
    except RuntimeError:  # no folder is writable: every process compiles it
        return _jit(copy, _OPTIONS)


def _jit(function: Kernel, options: dict[str, Any]) -> Kernel:
    return cast("Kernel", numba.njit(**options)(function))


def _copy_for_compiler(function: Kernel) -> Kernel:
    """Return a copy that calls compiled kernels, under a name of this version of the sources."""
    known = function.__globals__
    inner = {name: compiled(known[name]) for name in function.__code__.co_names if _is_kernel(known.get(name))}
    copy = FunctionType(function.__code__, {**known, **inner}, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, f"{function.__name__}_{_DIGEST}"
    return copy


def _is_kernel(value: object) -> bool:
    return isinstance(value, FunctionType) and value in ENTRIES


class _Notice(event.Listener):
    """A listener that reports on stderr when numba compiles a function; a process reports it once."""

    written: ClassVar[bool] = False

    def __init__(self, function: object) -> None:
        self.function = function

    def on_start(self, event: event.Event) -> None:
        """Write a line when the compilation starts."""
        if event.data["dispatcher"] is self.function and not _Notice.written:
            _Notice.written = True
            sys.stderr.write("tacit: compiling searches for this machine, once; this takes some seconds.\n")

    def on_end(self, event: event.Event) -> None:
        """Write nothing when it ends."""


@contextmanager
def announce_compilation(function: object) -> Iterator[None]:
    """Report on stderr if a function is compiled inside the block, because the cache on disk does not have it.

    Only the first compilation of a process is reported.
    """
    with event.install_listener("numba:compile", _Notice(function)):
        yield
