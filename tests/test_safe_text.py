from __future__ import annotations

import json
import re
from math import inf, nan
from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hostile_text import HOSTILE, KEYS, ORDINARY, SURROGATE, TERMINAL, acting
from tacit.safe_text import (
    aligned,
    as_html,
    as_json,
    chart_label,
    spreadsheet_cell,
    spreadsheet_text,
    visible,
    visible_lines,
    width,
)

SOURCE = Path(__file__).parents[1] / "src" / "tacit"
ANY = st.text(st.characters(categories=None, exclude_categories=()), max_size=20) | st.sampled_from([*KEYS, SURROGATE])


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == visible_lines(text) == chart_label(text) == text
    assert spreadsheet_cell(text) == text


@pytest.mark.parametrize("text", TERMINAL.values(), ids=TERMINAL)
def test_what_a_terminal_obeys_is_an_escape_that_python_reads_back(text: str) -> None:
    shown = visible(text)
    assert not acting(shown, lines=False)
    assert shown != text
    assert shown.encode("latin-1", "backslashreplace").decode("unicode_escape") == text


@given(ANY)
def test_no_text_acts_on_a_terminal(text: str) -> None:
    assert not acting(visible(text), lines=False)
    assert visible(visible(text)) == visible(text)
    assert not acting(visible_lines(text))
    assert visible_lines(text).count("\n") == text.count("\n")


@given(ANY)
def test_no_text_is_a_tag_in_html_or_ends_a_script(text: str) -> None:
    assert not re.search("[<>\"']", as_html(text))
    assert not acting(as_html(text), lines=False)
    assert not re.search("</?script|<!--", chart_label(text), re.IGNORECASE)


@pytest.mark.parametrize("ascii_only", [True, False])
@given(text=ANY)
def test_json_is_valid_and_reads_back_exactly(text: str, ascii_only: bool) -> None:  # noqa: FBT001 - a parameter
    written = as_json({text: [text, 1, None]}, ascii_only=ascii_only)
    assert json.loads(written) == {text: [text, 1, None]}
    assert not acting(written, lines=False)
    assert written.isascii() or not ascii_only


def test_json_has_no_infinity_and_no_nan() -> None:
    written = as_json({"a": (inf, -inf, nan, 1.5), "b": {"c": nan}, 3: True})
    assert json.loads(written, parse_constant=pytest.fail) == {
        "a": [None, None, None, 1.5],
        "b": {"c": None},
        "3": True,
    }
    assert as_json({"é": 1}, ascii_only=False) == '{"é": 1}'


@given(ANY)
def test_a_cell_for_a_spreadsheet_is_no_formula_and_reads_back(text: str) -> None:
    cell = spreadsheet_cell(text)
    assert spreadsheet_text(cell) == text
    assert cell[:1] not in set("=@\t\r\n＝＋－＠")
    if cell[:1] in set("+-"):
        float(cell)  # a number


@pytest.mark.parametrize("number", ["-5", "+5", "-5.3", "-.5", "-1e-300", "-inf"])
def test_a_number_is_no_formula(number: str) -> None:
    assert spreadsheet_cell(number) == number


@pytest.mark.parametrize("value", [-5, 1.5, None, True, b"=1"])
def test_a_cell_that_is_not_a_text_stays_as_it_is(value: object) -> None:
    assert spreadsheet_cell(value) is value


@pytest.mark.parametrize("text", ["-1+1", "-5 ", "-5\n", "-٣", "--5", "-", "+", "-1e", "-0x1"])
def test_what_only_begins_like_a_number_is_a_text(text: str) -> None:
    assert spreadsheet_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["abc", "東京", "e\u0301", "ｱ", "Ａ", "한글", "\u1112\u1161\u11ab", "שלום", "Köln", ""]
)
def test_width_is_that_of_a_terminal(text: str) -> None:
    assert width(text) == cell_len(text)


def test_every_line_of_a_table_has_the_width_of_the_table() -> None:
    lines = aligned([["key", "n"], *([key, "1"] for key in KEYS)])
    assert len(lines) == len(KEYS) + 1
    assert len({width(line) for line in lines}) == 1
    assert not any(acting(line, lines=False) for line in lines)


def test_one_module_renders_text() -> None:
    """A second module that escapes HTML or writes JSON for the command line would need the same rules again."""
    files = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert len(files) > 100
    assert [name for name, text in files.items() if re.search(r"\bhtml\.escape|escape as", text)] == ["safe_text.py"]
    cli = {name: text for name, text in files.items() if name.startswith("cli")}
    dumps = [name for name, text in cli.items() if re.search(r"json(_module)?\.dumps", text)]
    assert dumps == [str(Path("cli", "local_files.py"))]  # it compares spellings, and writes nothing
    printed = [name for name, text in cli.items() if re.search(r"print\(.*markup=False", text)]
    assert printed == [str(Path("cli", "output.py"))]


def test_the_corpus_has_every_kind_of_character() -> None:
    kinds = {category(letter) for text in HOSTILE.values() for letter in text}
    assert {"Cc", "Cf", "Co", "Cn", "Zl", "Zp"} <= kinds


@pytest.mark.parametrize("text", [" =1+1", "\u00a0=1+1", "\u200b=1+1", "\t=1+1", "'=1+1"])
def test_blanks_before_a_formula_do_not_hide_it(text: str) -> None:
    cell = spreadsheet_cell(text)
    assert cell == f"'{text}"
    assert spreadsheet_text(cell) == text
