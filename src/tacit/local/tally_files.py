"""Tallies as files: NumPy's .npz with a text and the cells, written whole or not at all, read with suspicion."""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from errno import EINVAL
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.errors import InvalidError, show

Read = TypeVar("Read")

_WANT = "a tally that `save` wrote"
_LONGEST, _HEAD = 1 << 31, 4096


def write(path: str | os.PathLike[str], about: str, cells: Ints) -> None:
    """Write both parts beside the file, then put them in its place; a link stays a link."""
    try:
        target = Path(path)
    except TypeError:
        raise InvalidError("path", show(path), "the path of a file") from None
    half = target
    try:
        place = Path(os.path.realpath(target)) if target.name else target
        _require_no_device(place)
        half = place.with_name(f".{place.name}.{os.getpid()}.tmp") if target.name else target
        with half.open("wb") as file:
            np.savez_compressed(file, about=np.frombuffer(about.encode(), dtype=np.uint8), cells=cells)
            file.flush()
            os.fsync(file.fileno())
        half.replace(place)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            if half != target:
                half.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or "no possible name"
        want = "a file that can be written, in a folder that exists; the tally is still in memory"
        raise InvalidError("path", f"{show(str(target))}: {reason}", want) from None


def read(path: str | os.PathLike[str], kind: str, version: int) -> tuple[dict[str, object], Callable[[int], Ints]]:
    """Return what a saved tally says of itself, and how to read so many cells of it."""
    try:
        endless = _endless(Path(path))
        data = io.BytesIO(b"" if endless else Path(path).read_bytes())
    except FileNotFoundError:
        raise InvalidError("path", "no file", _WANT) from None
    except (OSError, ValueError, TypeError):
        raise InvalidError("path", "something that cannot be read", _WANT) from None
    if endless:
        raise InvalidError("path", "no regular file", _WANT)
    about = _part(data, "about", _LONGEST, lambda part: json.loads(part.tobytes()))
    if not isinstance(about, dict) or about.get("format") != kind or about.get("version") != version:
        raise InvalidError("path", "another file, or one of another version", _WANT)
    return about, lambda size: _part(data, "cells", 8 * size + _HEAD, _int64)


def _endless(path: Path) -> bool:
    """Tell whether there is a device or a pipe, which may never end and cannot be replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _require_no_device(path: Path) -> None:
    if _endless(path):
        raise OSError(EINVAL, "no regular file")


def contradiction() -> InvalidError:
    """Return the error for a file that can be read and cannot be true."""
    return InvalidError("path", "a file whose numbers contradict each other", f"{_WANT}, unchanged")


def _part(data: io.BytesIO, name: str, most: int, read_: Callable[[npt.NDArray[Any]], Read]) -> Read:
    """Read one array, if it is not larger than it should be: a small file can claim to hold gigabytes."""
    try:
        with zipfile.ZipFile(data) as parts, parts.open(f"{name}.npy") as file:
            text = file.read(most + 1)
        with warnings.catch_warnings(action="ignore"):
            array = np.lib.format.read_array(io.BytesIO(text[:most]), allow_pickle=False)
        return read_(array)
    except Exception:  # noqa: BLE001 - zipfile, zlib and NumPy raise whatever they meet in a damaged file
        raise InvalidError("path", "another file, or a part of one", _WANT) from None


def _int64(cells: npt.NDArray[Any]) -> Ints:
    return cells.copy() if cells.dtype == np.int64 else np.empty(0, dtype=np.int64)
