"""The tutorials as notebooks: every example is in a cell, every cell runs, every picture and link exists."""

from __future__ import annotations

import base64
import doctest
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from web.running import running

ROOT = Path(__file__).parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "make_notebooks.py"))
PAGES: list[Path] = TOOL["pages"]()
read_cells, run_cells, to_notebook, Cell = (TOOL[name] for name in ("read_cells", "run_cells", "to_notebook", "Cell"))
_DIRECTIVE = re.compile(r"\s*#\s*doctest:.*")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def test_the_tutorials_are_eight() -> None:
    assert len(PAGES) == 8
    assert {page.stem for page in PAGES} >= TOOL["NEEDS_A_SERVER"]


@each_page
def test_a_notebook_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = read_cells(page, tmp_path)
    if page.stem not in TOOL["NEEDS_A_SERVER"]:
        run_cells(cells, {"__name__": "__main__"}, outputs=False)
        return
    with running(tmp_path, "--demo") as server:
        monkeypatch.setenv("TACIT_URL", server.url)
        monkeypatch.setenv("TACIT_TOKEN", server.tokens["ann"])
        run_cells(cells, {"__name__": "__main__"})
    assert any("BudgetError" in output.get("ename", "") for cell in cells for output in cell.outputs)


@each_page
def test_the_cells_have_all_examples_of_the_page_in_order(page: Path) -> None:
    examples = doctest.DocTestParser().get_examples(page.read_text("utf-8"))
    expected = "\n".join(_DIRECTIVE.sub("", example.source.rstrip()) for example in examples)
    cells = read_cells(page)
    assert "\n".join(cell.source for cell in cells if cell.code) == expected
    assert sum(cell.raises for cell in cells) == sum(example.exc_msg is not None for example in examples)
    assert not any(">>>" in cell.source for cell in cells)


@each_page
def test_a_notebook_has_the_format_and_its_pictures_and_links_exist(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site" / "notebooks"
    folder.mkdir(parents=True)
    content = to_notebook(read_cells(page, folder))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
    for cell in content["cells"]:
        required = {"cell_type", "id", "metadata", "source"}
        assert required <= cell.keys()
        if cell["cell_type"] == "code":
            assert cell.keys() == required | {"execution_count", "outputs"}
            compile(cell["source"], page.name, "exec")
            continue
        attached = cell.get("attachments", {})
        assert set(re.findall(r"\]\(attachment:([^)]+)\)", cell["source"])) == set(attached)
        assert all(len(base64.b64decode(data)) > 1000 for one in attached.values() for data in one.values())
        assert "<picture>" not in cell["source"]
        links = re.findall(r"\]\((?!https?:|attachment:)([^)#]+)", cell["source"])
        missing = [link for link in links if not link.endswith(".ipynb") and not (folder / link).exists()]
        assert missing == []
        siblings = {link.removesuffix(".ipynb") for link in links if link.endswith(".ipynb")}
        assert siblings <= {each.stem for each in PAGES}


@each_page
def test_the_pictures_of_a_page_exist(page: Path) -> None:
    named = re.findall(r'(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)', page.read_text("utf-8"))
    assert [source for pair in named for source in pair if source and not (page.parent / source).exists()] == []


def test_every_picture_of_the_tutorials_is_shown() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert [file.name for file in (ROOT / "docs/images/tutorial").iterdir() if file.name not in text] == []


def test_a_cell_that_fails_or_should_fail_is_an_error() -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run_cells([Cell("1 / 0", code=True)], {})
    with pytest.raises(AssertionError, match="1 / 1"):
        run_cells([Cell("1 / 1", code=True, raises=True)], {})


def test_outputs_are_what_a_cell_prints_returns_and_raises() -> None:
    cells = [Cell("print('a')\n1 + 1", code=True), Cell("1 / 0", code=True, raises=True), Cell("text")]
    run_cells(cells, {})
    assert [output["output_type"] for cell in cells for output in cell.outputs] == ["stream", "execute_result", "error"]
    assert cells[0].outputs[1]["data"] == {"text/plain": "2"}
    assert cells[1].outputs[0]["ename"] == "builtins.ZeroDivisionError"
