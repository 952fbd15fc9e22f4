"""The parts that the charts of all mechanisms share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, get_args

from tacit import plots
from tacit.errors import InvalidError, TooMuchNoiseError, bad_value
from tacit.plots import ChartText, Mark
from tacit.plots.frame import short

if TYPE_CHECKING:
    import altair as alt

LawChart: TypeAlias = Literal["law", "neighbours", "releases", "error"]
"""The charts of every mechanism."""

NoiseChart: TypeAlias = Literal["law", "cdf", "quantile", "neighbours", "releases", "error"]
"""The charts of additive noise."""

Theme: TypeAlias = Literal["light", "dark"]

_POINTS = 17

Chart = TypeVar("Chart", bound="alt.LayerChart")


def check_kind(kind: object, kinds: object) -> None:
    """Raise InvalidError unless a kind is one of a Literal."""
    if kind not in get_args(kinds):
        raise bad_value("kind", kind, f"one of {', '.join(map(repr, get_args(kinds)))}")


def themed(chart: Chart, theme: object) -> Chart:
    """Return the chart for a light or a dark page."""
    if theme not in get_args(Theme):
        raise bad_value("theme", theme, "'light' or 'dark'")
    return plots.darkened(chart) if theme == "dark" else chart


def around(size: float) -> list[float]:
    """Return numbers from a tenth of a size to ten times it, evenly spaced on a log scale."""
    return [size * 10 ** (2 * i / (_POINTS - 1) - 1) for i in range(_POINTS)]


def error_chart(
    symbol: str, size: float, errors: Callable[[float], Sequence[float]], names: Sequence[str], title: str
) -> alt.LayerChart:
    """Draw errors against the size of the guarantee, with a mark at the size of this mechanism.

    Args:
        symbol: of the guarantee, ε or ρ.
        size: that of this mechanism.
        errors: the errors at a size, one for each name.
        names: of the lines.
        title: the title.
    """
    at = around(size)
    rows = [_tried(errors, each, len(names)) for each in at]
    if all(not 0 < error < inf for row in rows for error in row):
        message = f"All errors near {symbol} = {short(size)} are 0, so the chart would be empty."
        raise InvalidError(message, argument="kind", hint="Draw the kind 'law'.")
    lines = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    own = errors(size)
    told = ", ".join(f"{name} {short(error)}" for name, error in zip(names, own, strict=True))
    text = ChartText(
        title=title,
        notes=(f"At {symbol} = {short(size)}: {told}.",),
        across=symbol,
        up="error",
        description=f"{title}: lines that fall as {symbol} grows. At {symbol} = {short(size)}: {told}.",
    )
    return plots.curves(at, lines, text, log=True, mark=Mark(at=size, label=f"{symbol} = {short(size)}"))


def _tried(errors: Callable[[float], Sequence[float]], size: float, count: int) -> Sequence[float]:
    """Return the errors at a size; infinity if its noise does not fit into 64 bits."""
    try:
        return errors(size)
    except TooMuchNoiseError:
        return [inf] * count
