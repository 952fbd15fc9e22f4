"""Build the documentation site: hand-written pages, and a reference that the code describes.

python tools/build_docs.py            # writes site/; fails if a link is broken or a request would leave the machine
python tools/build_docs.py --out DIR  # writes DIR
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from docs_site.check import problems
from docs_site.pages import ROOT
from docs_site.stage import stage

from tacit.version import VERSION

BUILD = ROOT / "build" / "docs"
NOTEBOOKS = ROOT / "site" / "notebooks"
"""The tutorials as notebooks, if they were written before; the site keeps them and links them."""


def build(out: Path, work: Path, notebooks: Path = NOTEBOOKS) -> list[str]:
    """Build the site and return what is wrong with it.

    Args:
        out: the folder of the site, which is replaced.
        work: a folder for sources and caches, which is replaced.
        notebooks: the tutorials as notebooks, if they exist; may be in the folder of the site.
    """
    shutil.rmtree(work, ignore_errors=True)
    if notebooks.is_dir():
        shutil.copytree(notebooks, work / "notebooks")
    shutil.rmtree(out, ignore_errors=True)
    missing = stage(work / "source", work / "notebooks")
    options = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(work / "doctrees")]
    environment = {"NO_COLOR": "1", **os.environ, "TACIT_DOCS_VERSION": VERSION}
    command = [sys.executable, "-m", "sphinx", *options, str(work / "source"), str(out)]
    code = subprocess.run(command, env=environment, check=False).returncode
    if (work / "notebooks").is_dir():
        shutil.copytree(work / "notebooks", out / "notebooks", dirs_exist_ok=True)
    return [*missing, *(["Sphinx found the mistakes above."] if code else []), *problems(out)]


def main() -> int:
    """Build the site; 1 if something is wrong with it."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    wrong = build(parser.parse_args().out.absolute(), BUILD)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
