"""Progress bars of searches, on stderr and only if it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Advance: TypeAlias = Callable[[float], None]


@contextmanager
def progress_bar(title: str, *, measured: bool = True) -> Iterator[Advance | None]:
    """Show a progress bar if stderr is a terminal; the block gets a function that takes the part that is done.

    Args:
        title: of the bar.
        measured: whether the part that is done is known. If it is not, the bar only shows that the search works.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - heavy
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - heavy

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=1.0 if measured else None)
        yield lambda part: progress.update(task, completed=part)
