"""The chart of an answer: a Vega-Lite specification for scripts, and a picture for everybody else."""

from __future__ import annotations

import json
from collections import OrderedDict
from importlib.util import find_spec
from threading import Lock
from typing import Any

from tacit.errors import MissingPackageError, TacitError
from tacit.web.problems import Problem
from tacit.web.questions import Question
from tacit.web.server import Server
from tacit.web.services import asking

_MOST = 64
_KEPT: OrderedDict[tuple[str, str], dict[str, Any] | None] = OrderedDict()
_LOCK = Lock()


def chart_of(server: Server, question: Question, theme: str) -> dict[str, Any] | None:
    """Return the chart of an answer; None if it has no chart, or if the charting packages are missing."""
    key = question.id, theme
    with _LOCK:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            return _KEPT[key]
    try:
        found: dict[str, Any] | None = asking.chart(server, question, theme)["chart"]
    except (TacitError, Problem):
        found = None
    with _LOCK:
        _KEPT[key] = found
        while len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    return found


def picture_of(chart: dict[str, Any]) -> bytes:
    """Return a chart as SVG, drawn by the server without a network."""
    if find_spec("vl_convert") is None:
        raise MissingPackageError("vl_convert", "A picture of a chart", extra="plot")
    import vl_convert  # noqa: PLC0415 - heavy

    return vl_convert.vegalite_to_svg(json.dumps(chart), allowed_base_urls=[]).encode()
