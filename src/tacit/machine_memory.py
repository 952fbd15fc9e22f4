"""The memory that the machine, the container or the process limits allow: public numbers, the same for all data.

The memory that is free at the moment is not read: what is in use depends on the data that the process has loaded, and a
refusal by it would reveal how much that is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

_SHARE = 2
_UNLIMITED = 2**60
_ROOT = Path("/")


def default_limit(root: Path = _ROOT) -> int | None:
    """Return half of the memory that this process can have; None if no size is known.

    The other half is for the engine and for what the process holds already.
    """
    sizes = [size for size in (*_control_groups(root), *_process_limit(), *_physical()) if 0 < size < _UNLIMITED]
    return min(sizes) // _SHARE if sizes else None


def _control_groups(root: Path) -> Iterator[int]:
    """Yield the limits of the control groups that this process is in, of both versions, and of their parents."""
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            name = "memory.limit_in_bytes" if "memory" in controllers.split(",") else "memory.max"
            if controllers and name == "memory.max":
                continue
            top = root / "sys/fs/cgroup" / ("memory" if controllers else "")
            inner = PurePosixPath(path.lstrip("/"))
            for folder in (inner, *inner.parents):
                yield from _number(top / folder / name)


def _number(file: Path) -> Iterator[int]:
    """Yield the number in a file, if it has one; `max` means that there is no limit."""
    with suppress(OSError, ValueError):
        yield int(file.read_text())


def _process_limit() -> Iterator[int]:
    """Yield the limit on the address space of this process, if the system has such limits."""
    with suppress(ImportError):
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit  # noqa: PLC0415 - not on Windows

        soft, _ = getrlimit(RLIMIT_AS)
        if soft != RLIM_INFINITY:
            yield soft


def _physical() -> Iterator[int]:
    """Yield the size of the machine's memory, if the system says it."""
    with suppress(AttributeError, OSError, ValueError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
