"""Draw the pictures of docs/explanation/laws.md, for light and dark pages.

    python tools/draw_laws.py

The simulations have a seed, so that the pictures stay the same.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import tacit as tc

if TYPE_CHECKING:
    import altair as alt

    from tacit.mechanisms.charts.common import Theme

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "laws"
NATIONS = {"Chinese": 12, "Indian": 9, "American": 11}


def pictures() -> dict[str, Callable[[Theme], alt.LayerChart]]:
    """Return the pictures by the names of their files."""
    count, reals = tc.Laplace(sensitivity=1, epsilon=0.1), tc.Laplace(sensitivity=1.0, epsilon=0.5)
    gaussian, choice = tc.Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6), tc.Exponential(sensitivity=1, epsilon=1)
    figures = tc.figures
    return {
        "densities": lambda theme: figures.laplace_densities(theme=theme),
        "law": lambda theme: count.plot(theme=theme),
        "cdf": lambda theme: tc.Laplace(sensitivity=1, epsilon=0.5).plot("cdf", theme=theme),
        "neighbours": lambda theme: reals.plot("neighbours", theme=theme),
        "releases": lambda theme: count.plot("releases", value=337, theme=theme),
        "error": lambda theme: count.plot("error", theme=theme),
        "gaussian": lambda theme: gaussian.plot("neighbours", theme=theme),
        "choice": lambda theme: choice.plot("neighbours", scores=NATIONS, theme=theme),
        "surveys": lambda theme: tc.RandomizedResponse(epsilon=1).plot("releases", theme=theme),
        "normal": lambda theme: figures.laplace_and_normal(theme=theme),
        "memory": lambda theme: figures.exponential("memory", rates=[0.5], theme=theme),
        "exp-epsilon": lambda theme: figures.exp_epsilon(theme=theme),
        "queries": lambda theme: figures.laplace_and_gaussian(epsilon=1, delta=1e-6, theme=theme),
        "people": lambda theme: figures.laplace_and_randomized_response(epsilon=1, theme=theme),
    }


def main() -> None:
    """Draw every picture twice."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in pictures().items():
        draw("light").save(FOLDER / f"{name}-light.svg")
        draw("dark").save(FOLDER / f"{name}-dark.svg")


if __name__ == "__main__":
    main()
