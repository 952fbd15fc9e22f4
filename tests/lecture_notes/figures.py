"""Read the curves of charts."""

from __future__ import annotations

from typing import Any

Curve = dict[float, float]


def curves(chart: Any) -> dict[str, Curve]:  # noqa: ANN401 - of altair
    """Return the points of every curve of a chart by its name, from the largest table."""
    table = max(chart.to_dict()["datasets"].values(), key=len)
    lines: dict[str, Curve] = {}
    for point in table:
        lines.setdefault(point["line"], {})[round(point["at"], 6)] = point["value"]
    return lines
