"""Write the tutorials as notebooks: docs/tutorial/*.md to site/notebooks/*.ipynb, with their outputs.

    python tools/make_notebooks.py [FOLDER]

A block of a page that begins with `>>>` becomes code cells without prompts: a cell ends where the page shows an output.
A line that the page does not test (`# doctest: +SKIP`), such as a chart, runs in the notebook too. The rest of the page
becomes text with its pictures inside. The workbench needs a server, so the outputs of its notebook are empty.
"""

from __future__ import annotations

import ast
import base64
import doctest
import json
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorial"
FOLDER = ROOT / "site" / "notebooks"
NEEDS_A_SERVER = {"workbench"}

_CODE = re.compile(r"^```python\n(?=>>>)(.*?)^```$", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*doctest:[^\n]*")
_PICTURE = re.compile(r'<picture>.*?<img alt="(?P<alt>[^"]*)" src="(?P<source>[^"]*)">\s*</picture>', re.DOTALL)
_IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<source>[^):]*)\)")
_DRAWN = re.compile(r"\A\s*(?:<picture>.*?</picture>|!\[[^\]]*\]\([^)]*\))", re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|attachment:)(?P<page>[^)#]+)(?P<anchor>#[^)]*)?\)")
_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


@dataclass
class Cell:
    """A cell of a notebook."""

    source: str
    code: bool = False
    raises: bool = False
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)
    outputs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def draws(self) -> bool:
        """True if the cell ends with a chart."""
        return self.code and bool(re.search(r"\.plot\w*\(|tc\.figures\.", self.source.rpartition("\n")[2]))

    def to_json(self, number: int) -> dict[str, Any]:
        """Return the cell in the notebook format 4.5."""
        content: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}, "source": self.source}
        if not self.code:
            return {
                "cell_type": "markdown",
                **content,
                **({"attachments": self.attachments} if self.attachments else {}),
            }
        content["metadata"] = {"tags": ["raises-exception"]} if self.raises else {}
        return {"cell_type": "code", **content, "execution_count": None, "outputs": self.outputs}


def read_cells(page: Path, folder: Path = FOLDER) -> list[Cell]:
    """Return the cells of a page; links lead from the folder of the notebooks."""
    cells: list[Cell] = []
    for number, part in enumerate(_CODE.split(page.read_text("utf-8"))):
        if number % 2:
            cells += _code_cells(part)
        elif part.strip():
            cells.append(_text_cell(part, page, folder, drawn=bool(cells) and cells[-1].draws))
    return [cell for cell in cells if cell.source]


def run_cells(cells: list[Cell], namespace: dict[str, Any], *, outputs: bool = True) -> None:
    """Run the code cells in a namespace; raise AssertionError if a cell raises and should not, or the reverse.

    Args:
        cells: the cells of one notebook.
        namespace: the names that the cells share.
        outputs: whether to keep what they print and return, with charts as pictures.
    """
    for cell in cells:
        if not cell.code:
            continue
        printed, value, error = StringIO(), None, None
        try:
            with redirect_stdout(printed):
                value = _run(cell.source, namespace)
        except Exception as raised:  # noqa: BLE001 - any error of a cell is compared with what the page expects
            error = raised
        if (error is not None) != cell.raises:
            raise AssertionError(f"{cell.source}\n{error!r}") from error
        if outputs:
            cell.outputs = [*_stream(printed.getvalue()), *_result(value), *_error(error)]


def to_notebook(cells: list[Cell]) -> dict[str, Any]:
    """Return a notebook in the format 4.5."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "cells": [cell.to_json(number) for number, cell in enumerate(cells)],
    }


def pages() -> list[Path]:
    """Return the tutorials."""
    return sorted(TUTORIALS.glob("*.md"))


def _code_cells(block: str) -> Iterator[Cell]:
    lines: list[str] = []
    for example in doctest.DocTestParser().get_examples(block):
        if example.exc_msg is not None and lines:
            yield Cell("\n".join(lines), code=True)
            lines = []
        lines.append(_DIRECTIVE.sub("", example.source.rstrip("\n")))
        if example.want or example.options:
            yield Cell("\n".join(lines), code=True, raises=example.exc_msg is not None)
            lines = []
    if lines:
        yield Cell("\n".join(lines), code=True)


def _text_cell(text: str, page: Path, folder: Path, *, drawn: bool) -> Cell:
    """Return a text with its pictures inside; a picture of the chart that the cell before has drawn is left out."""
    text = text.strip("\n")
    if drawn:
        text = _DRAWN.sub("", text)
    attachments: dict[str, dict[str, str]] = {}

    def attach(found: re.Match[str]) -> str:
        file = (page.parent / found["source"]).resolve()
        attachments[file.name] = {_TYPES[file.suffix]: base64.b64encode(file.read_bytes()).decode()}
        return f"![{found['alt']}](attachment:{file.name})"

    def link(found: re.Match[str]) -> str:
        target = (page.parent / found["page"]).resolve()
        if target.parent == page.parent.resolve():
            return f"]({target.stem}.ipynb{found['anchor'] or ''})"
        return f"]({Path(os.path.relpath(target, folder.resolve())).as_posix()}{found['anchor'] or ''})"

    return Cell(_LINK.sub(link, _IMAGE.sub(attach, _PICTURE.sub(attach, text))).strip("\n"), attachments=attachments)


def _run(source: str, namespace: dict[str, Any]) -> object:
    """Run the statements, and return the value of the last one if it is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), namespace)  # noqa: S102 - the pages are ours
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)  # noqa: S307 - the pages are ours


def _stream(text: str) -> list[dict[str, Any]]:
    return [{"output_type": "stream", "name": "stdout", "text": text}] if text else []


def _result(value: object) -> list[dict[str, Any]]:
    if value is None:
        return []
    data = {"text/plain": type(value).__name__ if hasattr(value, "to_url") else repr(value)}
    if hasattr(value, "to_url"):  # a chart of altair
        svg = StringIO()
        value.save(svg, format="svg")  # type: ignore[attr-defined]
        data["image/svg+xml"] = svg.getvalue()
    elif hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_()
    return [{"output_type": "execute_result", "metadata": {}, "execution_count": None, "data": data}]


def _error(error: Exception | None) -> list[dict[str, Any]]:
    if error is None:
        return []
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    lines = traceback.format_exception_only(error)
    return [
        {
            "output_type": "error",
            "ename": name,
            "evalue": str(error),
            "traceback": [line.rstrip("\n") for line in lines],
        }
    ]


def main(folder: Path) -> None:
    """Write a notebook for each tutorial."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages():
        cells = read_cells(page, folder)
        if page.stem not in NEEDS_A_SERVER:
            run_cells(cells, {"__name__": "__main__"})
        target = folder / f"{page.stem}.ipynb"
        target.write_text(json.dumps(to_notebook(cells), ensure_ascii=False, indent=1) + "\n", "utf-8")
        print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
