"""Charts: Vega-Lite specifications for the page's script, and pictures for browsers without one and for files."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from fastapi import Response

from tacit import plots
from tacit.errors import MissingPackageError, TacitError
from tacit.safe_text import as_json, chart_label
from tacit.web import questions
from tacit.web.problems import Problem
from tacit.web.questions import Question
from tacit.web.server import Server
from tacit.web.services import asking

if TYPE_CHECKING:
    import altair as alt

Chart = dict[str, Any]
_MOST = 64
_KEPT: OrderedDict[tuple[str, str], Chart | None] = OrderedDict()
_LOCK = Lock()


def chart_of(server: Server, question: Question, theme: str) -> Chart | None:
    """Return the chart of an answer or a report; None if it has no chart, or if the charting packages are missing."""
    key = question.id, theme
    with _LOCK:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            return _KEPT[key]
    try:
        found = _drawn(server, question, theme)
    except (TacitError, Problem):
        return None  # it may have one later
    with _LOCK:
        _KEPT[key] = found
        while len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    return found


def _drawn(server: Server, question: Question, theme: str) -> Chart | None:
    if question.kind == "answer":
        chart: Chart = asking.chart(server, question, theme)["chart"]
        return chart
    content = question.content
    if question.state != questions.DONE or content is None or not is_drawable():
        return None
    drawn: Any = _limits(content) if question.kind == "limits" else _bounds(server, question, content)
    return None if drawn is None else specification(drawn, theme)


def is_drawable() -> bool:
    """Return whether the charting packages are here."""
    return find_spec("altair") is not None


def specification(chart: alt.LayerChart, theme: str) -> Chart:
    """Return a chart as a Vega-Lite specification."""
    if theme == "dark":
        chart = plots.darkened(chart)
    shown: Chart = chart.to_dict()
    return shown


def _limits(content: Mapping[str, Any]) -> alt.LayerChart | alt.FacetChart | None:
    """Draw the error of each reach, or the units that have more rows than it."""
    rows = [row for row in content["table"] if row["error"] is not None and row["cut"]]
    if len(rows) < 2:  # noqa: PLR2004 - a line needs two points
        return _units_above(content["table"])
    names = {"noise": "noise", "cut": "cut", "both": "error"}
    lines = {name: [row[column] for row in rows] for name, column in names.items()}
    titles = "reach: the most rows of one unit that count", "mean error of a group"
    return plots.error_by_reach([row["reach"] for row in rows], lines, best=content["reach"], titles=titles)


def _units_above(table: Sequence[Mapping[str, Any]]) -> alt.LayerChart | alt.FacetChart:
    """Draw how many units have more rows than each reach, with intervals."""
    import altair as alt  # noqa: PLC0415 - heavy

    names = {"reach": "reach", "units": "units_above", "low": "units_above_low", "high": "units_above_high"}
    rows = [{name: row[column] for name, column in names.items()} for row in table]
    chart = alt.Chart(alt.InlineData(values=rows), width=400, height=200)
    across = alt.X("reach:O", title="reach: the most rows of one unit that count", axis=alt.Axis(labelAngle=0))
    up = alt.Y("units:Q", title="units with more rows")
    whiskers = chart.mark_rule(color="#777777", strokeWidth=1.5).encode(x=across, y=alt.Y("low:Q"), y2="high:Q")
    points = chart.mark_point(color="#0072B2", filled=True, size=60).encode(x=across, y=up)
    return alt.layer(whiskers, points, title="Units with more rows than the reach")


def _bounds(server: Server, question: Question, content: Mapping[str, Any]) -> alt.LayerChart | alt.FacetChart | None:
    """Draw the bounds of the policy beside the private ones."""
    import altair as alt  # noqa: PLC0415 - heavy

    ends = content["low"], content["high"]
    if not all(isinstance(end, int | float) for end in ends):
        return None
    rows = [{"bounds": "private", "low": ends[0], "high": ends[1]}]
    policy = policy_bounds(server, question, str(content["column"]))
    rows = [{"bounds": "policy", "low": policy[0], "high": policy[1]}, *rows] if policy is not None else rows
    chart = alt.Chart(alt.InlineData(values=rows), width=480)
    across = alt.X("low:Q", title=chart_label(str(content["column"])), scale=alt.Scale(zero=False))
    up = alt.Y("bounds:N", title=None, sort=None)
    bars = chart.mark_bar(color="#0072B2", height=14).encode(x=across, x2="high:Q", y=up)
    return alt.layer(bars, title=f"Bounds of {chart_label(str(content['column']))}")


def policy_bounds(server: Server, question: Question, column: str) -> tuple[float, float] | None:
    """Return the bounds that the policy has now for a column of a question."""
    with server.datasets[question.dataset].use() as one:
        tables = [table for table in one.database.tables.values() if not table.public and column in table.columns]
    if not tables or tables[0].columns[column].bounds is None or tables[0].columns[column].days is not None:
        return None
    low, high = tables[0].columns[column].bounds or (0, 0)
    return float(low), float(high)


def picture_of(chart: Chart) -> bytes:
    """Return a chart as SVG, drawn by the server without a network."""
    if find_spec("vl_convert") is None:
        raise MissingPackageError("vl_convert", "A picture of a chart", extra="plot")
    import vl_convert  # noqa: PLC0415 - heavy

    return vl_convert.vegalite_to_svg(json.dumps(chart), allowed_base_urls=[]).encode()


def chart_response(chart: Chart | None, form: str) -> Response:
    """Return a chart as JSON or SVG, or raise the problem 404."""
    if chart is None:
        raise Problem(404, "no-chart", "There is no chart.", hint="The table has all values.")
    if form == "json":
        return Response(as_json(chart), media_type="application/json")
    return Response(picture_of(chart), media_type="image/svg+xml")
