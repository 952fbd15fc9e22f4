"""The scripts of others are those that `tools/vendor_scripts.py` names, and no page has an inline script or style."""

from __future__ import annotations

import hashlib
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "vendor_scripts.py"))


def test_the_files_have_the_hashes_of_the_tool() -> None:
    for script in TOOL["FILES"]:
        content = (script.folder / script.name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == script.sha256, script.name


def test_no_other_file_is_there_and_the_readme_lists_each() -> None:
    shipped = {script.name for script in TOOL["FILES"] if script.folder == TOOL["VENDOR"]}
    assert {path.name for path in TOOL["VENDOR"].iterdir()} == shipped | {"README.md"}
    readme = (TOOL["VENDOR"] / "README.md").read_text(encoding="utf-8")
    lines = [script for script in TOOL["FILES"] if script.name in shipped]
    assert all(f"| {script.name} | {script.package} |" in readme and script.sha256 in readme for script in lines)


def test_templates_have_no_inline_script_style_or_handler() -> None:
    for path in sorted((ROOT / "src" / "tacit" / "web" / "templates").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        assert (
            re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:|hx-on|\|\s*safe", text) is None
        ), path
        assert all('name="csrf"' in form for form in re.findall(r'<form method="post".*?</form>', text, re.DOTALL)), (
            path
        )
