"""Build the documentation site: hand-written pages, and a reference that the code describes.

python tools/build_docs.py            # writes site/; fails if a link is broken or a request would leave the machine
python tools/build_docs.py --out DIR  # writes DIR
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from docs_site.check import problems
from docs_site.pages import ROOT
from docs_site.stage import stage

BUILD = ROOT / "build" / "docs"


def build(out: Path, work: Path) -> list[str]:
    """Build the site and return what is wrong with it.

    Args:
        out: the folder of the site, which is replaced.
        work: a folder for sources and caches, which is replaced.
    """
    from sphinx.cmd.build import main as sphinx  # noqa: PLC0415 - only where a site is built

    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(out, ignore_errors=True)
    missing = stage(work / "source")
    os.environ.setdefault("NO_COLOR", "1")
    code = sphinx(
        ["-q", "-W", "--keep-going", "-b", "html", "-d", str(work / "doctrees"), str(work / "source"), str(out)]
    )
    shutil.rmtree(out / ".doctrees", ignore_errors=True)
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
