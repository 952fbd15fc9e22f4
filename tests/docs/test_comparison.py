"""Each measured figure of the comparison occurs in the results of the bench, so a new run shows which are old."""

from __future__ import annotations

import re

from docs_site.pages import ROOT

PAGE = (ROOT / "docs" / "explanation" / "comparison.md").read_text("utf-8")
RESULTS = (ROOT / "bench" / "RESULTS.md").read_text("utf-8")
_FIGURE = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w,]*\d| ?%| s\b)")


def figures(page: str) -> list[str]:
    """Return the figures in the last column of the tables of measures."""
    tables = re.findall(r"^\| measure \| result \|\n\|[-|]+\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    cells = [line.rstrip(" |").rpartition("|")[2] for table in tables for line in table.splitlines()]
    return [figure for cell in cells for figure in _FIGURE.findall(cell)]


def absent(page: str) -> list[str]:
    return [one for one in figures(page) if not re.search(rf"(?<![\d.,]){re.escape(one)}(?![\d.]*\d)", RESULTS)]


def test_every_figure_of_the_tables_occurs_in_the_results() -> None:
    assert len(figures(PAGE)) > 15
    assert absent(PAGE) == []


def test_a_figure_that_was_not_measured_is_found() -> None:
    assert absent(PAGE.replace("| 9.81 |", "| 9.8765 |")) == ["9.8765"]
