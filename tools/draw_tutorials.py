"""Draw the pictures of docs/tutorial from what its pages compute, for light and dark pages.

    python tools/draw_tutorials.py

Each run draws fresh noise, so most pictures change.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from make_notebooks import TUTORIALS, Cell, read_cells, run_cells

import tacit as tc

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "tutorial"
BOTH = {"wards": ("ask-a-database", "answer"), "races": ("first-release", "table")}
LIGHT = {"synthetic": ("synthetic-table", "made"), "weights": ("synthetic-table", "bayes")}


def run_page(name: str) -> dict[str, Any]:
    """Run a tutorial without its charts, and return its names."""
    cells: list[Cell] = [cell for cell in read_cells(TUTORIALS / f"{name}.md") if not cell.draws]
    names: dict[str, Any] = {"__name__": "__main__"}
    run_cells(cells, names, outputs=False)
    return names


def main() -> None:
    """Draw every picture; those whose charts have a dark form twice."""
    FOLDER.mkdir(exist_ok=True)
    pages = {page: run_page(page) for page, _ in (*BOTH.values(), *LIGHT.values())}
    for picture, (page, name) in BOTH.items():
        for theme in ("light", "dark"):
            pages[page][name].plot(theme=theme).save(FOLDER / f"{picture}-{theme}.svg")
    for picture, (page, name) in LIGHT.items():
        pages[page][name].plot().save(FOLDER / f"{picture}.svg")
    sizes = [2, 4, 8, 16, 32, 64, 128]
    tc.local.plot_errors(epsilon=1, domain_sizes=sizes).save(FOLDER / "protocols.svg")


if __name__ == "__main__":
    main()
