"""Fuzz one target with atheris: `python tests/fuzz/run.py TARGET --seconds 600`.

It starts from the corpus of the target and keeps what it finds in a folder of its own. An input that breaks the rule is
written there as `crash-…`, a slow one as `timeout-…`. Copy it to `tests/fuzz/corpus/TARGET/` under a name that says
what it is, and fix the code.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

import atheris

from fuzz.targets import CORPUS, TARGETS

_INSTRUMENTED = ("tacit", "sqlglot", "tomllib")
_MOST_BYTES = 4096
_MOST_MEGABYTES = 3000
_TIMEOUT = 60


def main() -> None:
    """Fuzz until the time is over, or an input breaks the rule."""
    parser = argparse.ArgumentParser(description="Fuzz one target with atheris.")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--found", type=Path, help="the folder for new inputs")
    given = parser.parse_args()
    found = given.found or Path(tempfile.mkdtemp(prefix=f"fuzz-{given.target}-"))
    found.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=list(_INSTRUMENTED)):
        from fuzz.targets import check_of  # noqa: PLC0415 - its imports are instrumented

        check = check_of(given.target)
    warnings.simplefilter("error")
    dictionary = Path(__file__).parent / "dictionaries" / f"{given.target}.txt"
    flags = [
        f"-max_total_time={given.seconds}",
        f"-max_len={_MOST_BYTES}",
        f"-timeout={_TIMEOUT}",
        f"-rss_limit_mb={_MOST_MEGABYTES}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
        *([f"-dict={dictionary}"] if dictionary.exists() else []),
    ]
    atheris.Setup([sys.argv[0], *flags, str(found), str(CORPUS / given.target)], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
