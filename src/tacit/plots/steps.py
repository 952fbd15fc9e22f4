"""Steps down: what is left after each question."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.plots.frame import AXIS, BLUE, WIDTH, inline, tooltip
from tacit.plots.loading import alt
from tacit.plots.reading import MOST_ROWS, Numbers, Row, read, require


def burn_down(left: Numbers, names: Sequence[str], *, unit: str) -> alt.LayerChart:
    """Draw what is left of a budget after each question, as steps down.

    >>> burn_down([1, 0.5], ["", "ann"], unit="ε").to_dict()["title"]["text"]
    'What is left of the budget'

    Args:
        left: what is left at first and after each question.
        names: who asked, "" for nobody.
        unit: of what: ε or ρ.
    """
    (values,) = read({"left": left})
    require(len(names) == values.size, "names", f"a length of {len(names)}", "as long as left")
    rows: list[Row] = [
        {"question": float(place), "left": values[place], "analyst": names[place] or "–"}
        for place in range(values.size)
    ][:: max(1, values.size // MOST_ROWS)]
    across = alt.X("question:Q", axis=AXIS | {"title": "questions asked", "tickMinStep": 1})
    up = alt.Y("left:Q", axis=AXIS | {"title": f"{unit} left"}, scale=alt.Scale(zero=True))
    tips = [tooltip("question", "question"), tooltip("left", f"{unit} left"), alt.Tooltip("analyst:N")]
    area = alt.Chart().mark_area(interpolate="step-after", color=BLUE, opacity=0.2)
    line = alt.Chart().mark_line(interpolate="step-after", color=BLUE, point=values.size < 60)  # noqa: PLR2004 - more dots would touch
    layers = [one.encode(x=across, y=up, tooltip=tips) for one in (area, line)]
    heading = alt.TitleParams(text="What is left of the budget", anchor="start", fontSize=17)
    layered = alt.LayerChart(layer=layers, data=inline(rows))
    drawn: alt.LayerChart = layered.properties(width=WIDTH, title=heading)
    return drawn
