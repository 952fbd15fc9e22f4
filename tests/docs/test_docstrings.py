"""Docstrings become Markdown that shows every character as it was written."""

from __future__ import annotations

import pytest
from docs_site.docstrings import items, markdown, prose, summary

DOCSTRING = """Add noise of scale Δ/ε.

The density is e^(-|x|/s)/2s, and a*b*c is a product.

>>> 1 + 1
2

| a | b |
|---|---|
| 1 | 2 |

Args:
    x: how often, or
        how much.
    y, z: the rest.

Raises:
    InvalidError: x is not valid.
"""


def test_sections_examples_tables_and_formulas_keep_their_form() -> None:
    text = markdown(DOCSTRING)
    assert "e^(-|x|/s)/2s" in text
    assert r"a\*b\*c" in text
    assert "```pycon\n>>> 1 + 1\n2\n```" in text
    assert "| a | b |\n|---|---|" in text
    assert "**Arguments**\n\n* `x`: how often, or how much.\n* `y, z`: the rest." in text
    assert "**Errors**\n\n* `InvalidError`: x is not valid." in text


def test_a_section_can_be_left_out() -> None:
    assert "Arguments" not in markdown(DOCSTRING, without=("Args",))
    assert "Errors" in markdown(DOCSTRING, without=("Args",))


def test_names_that_share_a_line_are_read_apart() -> None:
    assert items(DOCSTRING, "Args") == {"x": "how often, or how much.", "y": "the rest.", "z": "the rest."}
    assert items(DOCSTRING, "Returns") == {}


@pytest.mark.parametrize(
    ("text", "shown"),
    [("% of rows", r"\% of rows"), ("> 0", r"\> 0"), ("- x", r"\- x"), ("a <b> c", r"a \<b> c"), ("x < y", "x < y")],
)
def test_no_character_of_prose_becomes_markup(text: str, shown: str) -> None:
    assert prose(text) == shown


def test_a_summary_is_the_first_sentence() -> None:
    assert summary("Return x: a number. More follows.\n\nEnd.") == "Return x: a number."
    assert summary(None) == ""
