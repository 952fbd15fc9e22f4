"""Charts of answers as files: looked at before anything is spent, drawn after the answer has been shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import InvalidError, TacitError, show
from tacit.query.results.release import Release

if TYPE_CHECKING:
    import altair as alt

_FORMATS = (".svg", ".png", ".pdf", ".html", ".json")
_DRAWN = (".svg", ".png", ".pdf")


def check(chart: str | None) -> None:
    """Raise if a chart could not be written to a file, whatever the answer is."""
    if chart is None:
        return
    file = Path(chart)
    if file.suffix.lower() not in _FORMATS:
        raise InvalidError("chart", show(chart), f"a file whose name ends in one of {', '.join(_FORMATS)}")
    missing = [name for name in ("altair", *_converter(file)) if find_spec(name) is None]
    if missing:
        want = 'left out, or the charting packages installed with: pip install "tacit[plot]"'
        raise InvalidError("chart", f"a chart without the package {missing[0]}", want)
    if file.is_dir() or not file.absolute().parent.is_dir() or not os.access(file.absolute().parent, os.W_OK):
        raise InvalidError("chart", show(chart), "a file in a folder that exists and can be written to")


def _converter(file: Path) -> tuple[str, ...]:
    return ("vl_convert",) if file.suffix.lower() in _DRAWN else ()


def draw(answer: Release, chart: str, confidence: float | None = None) -> str:
    """Save a chart of an answer, and say where it is or why there is none; the answer has been paid for either way."""
    return save(lambda: answer.plot(confidence), chart)


def save(make: Callable[[], alt.TopLevelMixin], chart: str) -> str:
    """Make and save a chart, and say where it is or why there is none."""
    try:
        make().save(chart)
    except TacitError as error:
        return f"No chart was drawn. {error}"
    except Exception as error:  # noqa: BLE001 - of the charting packages or the disk; the answer must not be lost for it
        return f"The chart could not be written ({type(error).__name__}); the answer above is complete."
    return f"A chart is in {chart}."
