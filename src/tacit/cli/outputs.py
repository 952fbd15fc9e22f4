"""Files that a command writes: looked at before the work begins, never an input, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path

from tacit.errors import InvalidError, SourceError

_FOLDER = "a file in a folder that exists and can be written to"


def check(
    outputs: Mapping[str, str | None], inputs: Iterable[str | None], *, force: bool, goes_on: Iterable[str] = ()
) -> None:
    """Raise if an output could not be written, is an input or another output, or exists already.

    Args:
        outputs: the file of each option, by its name; None where it was not given.
        inputs: the files that the command reads; they are never replaced, whatever `force` says.
        force: whether a file that exists may be replaced.
        goes_on: the options whose file may exist, for the command goes on with it.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    read = [found for path in inputs if path is not None for found in _files(path)]
    for option, path in given.items():
        _require_folder(option, path)
        if any(_same(path, other) for other in read):
            raise InvalidError(option, f"{path!r}, which this command reads", "another file than those it reads")
        if any(_same(path, other) for name, other in given.items() if name != option):
            raise InvalidError(option, f"{path!r} for two outputs", "another file for each output")
        if Path(path).is_file() and not force and option not in goes_on:
            raise InvalidError(option, f"{path!r}, which exists already", "a new file, or --force given to replace it")


def require_different(inputs: Sequence[str]) -> None:
    """Raise if one file is given twice, for what it holds would count twice."""
    for place, path in enumerate(inputs):
        if any(_same(path, other) for other in inputs[:place]):
            raise InvalidError("reports", f"{path!r} twice", "different files, for a file given twice counts twice")


def _files(path: str) -> list[str]:
    return [path] if Path(path).exists() else glob(path)  # noqa: PTH207 - a pattern, as DuckDB reads it


def _same(path: str, other: str) -> bool:
    try:
        return Path(path).samefile(other)
    except (OSError, ValueError):
        return Path(path).absolute() == Path(other).absolute()


def _require_folder(option: str, path: str) -> None:
    try:
        folder = Path(path).absolute().parent
        fits = bool(path) and folder.is_dir() and not Path(path).is_dir() and os.access(folder, os.W_OK)
    except (OSError, ValueError):
        fits = False
    if not fits:
        raise InvalidError(option, repr(path), _FOLDER)


@contextmanager
def whole(path: str) -> Iterator[Path]:
    """Give a file beside the one that is meant, which takes its place once everything is written.

    What fails leaves the file that is meant as it was. A device or a pipe is written to itself.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        try:
            yield target
        except OSError:
            raise SourceError(
                f"{path!r}, which is no regular file, could not be written to; what was taken before the end is there."
                " Name a file, and run the command again."
            ) from None
        return
    target = target.resolve()  # a link stays a link
    half = target.with_name(f".{target.stem}.{os.getpid()}.half{target.suffix}")
    try:
        yield half
        half.replace(target)
    except OSError:
        raise SourceError(
            f"{path!r} could not be written, as the disk or its folder fails; a file of that name is as it was."
            " Make room or name another folder, and run the command again."
        ) from None
    finally:
        half.unlink(missing_ok=True)


def text(path: str, content: str) -> None:
    """Write a text whole or not at all."""
    with whole(path) as half:
        half.write_text(content, encoding="utf-8")
