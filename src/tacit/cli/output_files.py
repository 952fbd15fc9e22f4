"""Files that a command writes: checks before the work, atomic writes, charts, and a lock against other runs.

An output is never one of the command's inputs. A file is written completely or not at all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from tacit.cli.output import say
from tacit.errors import InvalidError, MissingPackageError, SourceError, TacitError, bad_value, show_name

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

if TYPE_CHECKING:
    import altair as alt

_CHARTS = (".svg", ".png", ".pdf", ".html", ".json")
_CONVERTED = (".svg", ".png", ".pdf")

_PATIENCE = 1.0
"""Seconds of waiting for a lock before a message says so."""

_PAUSE = 0.02
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


def check(
    outputs: Mapping[str, str | None], inputs: Iterable[str | None], *, force: bool, extends: Iterable[str] = ()
) -> None:
    """Check that every output can be written, is not an input or another output, and does not exist yet.

    Args:
        outputs: the file of each option, by the option's name; None if the option is not given.
        inputs: the files that the command reads; they are never replaced, even with `force`.
        force: whether an existing file may be replaced.
        extends: the options whose file may exist, because the command adds to it.
    """
    paths = {option: path for option, path in outputs.items() if path is not None}
    read = [file for path in inputs if path is not None for file in _files(path)]
    for option, path in paths.items():
        name = show_name(path)
        _check_folder(option, path)
        if any(_same(path, other) for other in read):
            raise InvalidError(
                f"Cannot write --{option} to {name}, because this command reads it.",
                argument=f"--{option}",
                hint="Name another file.",
            )
        if any(_same(path, other) for other_option, other in paths.items() if other_option != option):
            raise InvalidError(
                f"Two outputs have the same file {name}.",
                argument=f"--{option}",
                hint="Name another file for each output.",
            )
        if Path(path).is_file() and not force and option not in extends:
            raise InvalidError(
                f"The file {name} of --{option} already exists.",
                argument=f"--{option}",
                hint="Name a new file, or replace it with --force.",
            )


def check_different(inputs: Sequence[str]) -> None:
    """Check that no file is given twice, because its reports would count twice."""
    for i, path in enumerate(inputs):
        if any(_same(path, other) for other in inputs[:i]):
            raise InvalidError(
                f"The file {show_name(path)} is given twice, so its reports would count twice.",
                argument="reports",
                hint="Give each file once.",
            )


def _files(path: str) -> list[str]:
    return [path] if Path(path).exists() else glob(path)  # noqa: PTH207 - a pattern, as DuckDB reads it


def _same(path: str, other: str) -> bool:
    try:
        return Path(path).samefile(other)
    except (OSError, ValueError):
        return Path(path).absolute() == Path(other).absolute()


def _check_folder(option: str, path: str) -> None:
    try:
        folder = Path(path).absolute().parent
        writable = bool(path) and folder.is_dir() and not Path(path).is_dir() and os.access(folder, os.W_OK)
    except (OSError, ValueError):
        writable = False
    if not writable:
        raise InvalidError(
            f"Cannot write --{option} to {show_name(path)}.",
            argument=f"--{option}",
            hint="Name a file in a folder that exists and is writable.",
        )


@contextmanager
def atomic(path: str) -> Iterator[Path]:
    """Give a temporary file in the same folder, which replaces the target once the block has written everything.

    If the block fails, the target is unchanged. A device or a pipe is written to directly.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        try:
            yield target
        except OSError:
            raise SourceError(
                f"{show_name(path)} is not a regular file and could not be written; it may have received a part of"
                " the data.",
                hint="Name a regular file, and run the command again.",
            ) from None
        return
    target = target.resolve()  # a link stays a link
    temporary = target.with_name(f".{target.stem}.{os.getpid()}.half{target.suffix}")
    try:
        yield temporary
        temporary.replace(target)
    except OSError:
        raise SourceError(
            f"{show_name(path)} could not be written, because the disk or the folder failed. A file of that name is"
            " unchanged.",
            hint="Free some space or name another folder, and run the command again.",
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str, content: str) -> None:
    """Write a text completely or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(content, encoding="utf-8")


def check_chart(chart: str | None) -> None:
    """Check the name, the folder and the charting packages of a chart, before anything is spent."""
    if chart is None:
        return
    file = Path(chart)
    if file.suffix.lower() not in _CHARTS:
        raise bad_value("--chart", chart, f"a file whose name ends in one of {', '.join(_CHARTS)}")
    packages = ("altair", "vl_convert") if file.suffix.lower() in _CONVERTED else ("altair",)
    for package in packages:
        if find_spec(package) is None:
            raise MissingPackageError(package, "A chart", extra="plot")
    if file.is_dir() or not file.absolute().parent.is_dir() or not os.access(file.absolute().parent, os.W_OK):
        raise InvalidError(
            f"Cannot write --chart to {show_name(chart)}.",
            argument="--chart",
            hint="Name a file in a folder that exists and is writable.",
        )


def save_chart(make: Callable[[], alt.TopLevelMixin], chart: str) -> str:
    """Make and save a chart; return a sentence with its file, or with the reason why there is no chart.

    An answer that was paid for has been printed already, so a failure is not an error.
    """
    try:
        make().save(chart)
    except TacitError as error:
        return f"No chart was drawn. {error}"
    except Exception as error:  # noqa: BLE001 - of the charting packages or the disk
        return f"The chart could not be written ({type(error).__name__}); the answer above is complete."
    return f"Wrote the chart to {chart}."


@contextmanager
def locked(path: str, *, quiet: bool = False) -> Iterator[None]:
    """Keep other runs from changing a file while the block runs.

    If another run has the lock, wait for it; after a second, say so. The lock is on a separate file beside the target,
    because the target is replaced. The run with the lock removes the lock file at the end. The system releases the lock
    of a killed process; the next run takes the file that it left, and removes it.

    Args:
        path: the file that the block reads, changes and replaces; it need not exist.
        quiet: whether to wait without a message.

    Raises:
        SourceError: the folder or its disk does not support locks.
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    try:
        file = _acquire(lock, None if quiet else path)
    except OSError:
        raise SourceError(
            f"{show_name(path)} could not be locked against other runs. Nothing was added, and the file is unchanged.",
            hint=f"Check that {lock.name!r} can be created beside it, on a disk that supports locks.",
        ) from None
    try:
        yield
    finally:
        _release(file, lock)


def _acquire(lock: Path, announced: str | None) -> int:
    """Wait for a lock and return its open file.

    Args:
        lock: the lock file.
        announced: the file to name in the message about waiting; None for no message.
    """
    deadline = monotonic() + _PATIENCE
    while True:
        file = os.open(lock, _FLAGS, 0o666)
        try:
            if _try_lock(file) and _is_current(file, lock):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        if announced is not None and monotonic() > deadline:
            say(f"Another run is adding to {announced!r}. Waiting until it ends; this run then adds to its result.")
            announced = None
        sleep(_PAUSE)


def _is_current(file: int, lock: Path) -> bool:
    """Return whether an open file is still the lock file: the previous run may have removed it."""
    try:
        return os.path.samestat(os.fstat(file), lock.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _try_lock(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _release(file: int, lock: Path) -> None:
        os.close(file)
        with suppress(OSError):  # another run has it open, and removes it
            lock.unlink()

else:

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(file: int, lock: Path) -> None:
        with suppress(OSError):  # the folder was removed
            lock.unlink()
        os.close(file)
