"""Fuzz one target with atheris: `python tests/fuzz/run.py TARGET --seconds 600`.

It starts from the corpus of the target and keeps new inputs in a separate folder. An input that breaks the rule is
written there as `crash-…`, a slow one as `timeout-…`. Copy it to `tests/fuzz/corpus/TARGET/` under a name that says
what it is, and fix the code.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

_HERE = Path(__file__).parent
_INSTRUMENTED = ("tacit",)
_TARGETS = ("sql", "policy", "report", "event", "web")
_MOST_BYTES, _MOST_MEGABYTES, _MOST_SECONDS = 4096, 3000, 60


def main() -> None:
    """Fuzz until the time is over, or an input breaks the rule."""
    parser = argparse.ArgumentParser(description="Fuzz one target with atheris.")
    parser.add_argument("target", choices=_TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--found", type=Path, help="the folder for new inputs; by default a temporary one")
    given = parser.parse_args()
    fuzz(given.target, given.seconds, given.found or Path(tempfile.mkdtemp(prefix=f"fuzz-{given.target}-")))


def fuzz(target: str, seconds: int, found: Path) -> None:
    """Fuzz a target for some seconds; new inputs go to a folder."""
    import atheris  # noqa: PLC0415 - pytest imports this module without it

    found.mkdir(parents=True, exist_ok=True)
    print(f"New inputs and findings are in {found}.", flush=True)  # noqa: T201 - a script
    with atheris.instrument_imports(include=list(_INSTRUMENTED)):
        from fuzz.targets import check_of, corpus, words_of  # noqa: PLC0415 - their imports are instrumented
        from fuzz.tokens import with_changed_tokens  # noqa: PLC0415

        check = check_of(target)
    warnings.simplefilter("error")
    flags = [
        f"-max_total_time={seconds}",
        f"-max_len={_MOST_BYTES}",
        f"-timeout={_MOST_SECONDS}",
        f"-rss_limit_mb={_MOST_MEGABYTES}",
        f"-artifact_prefix={found}/",
        f"-dict={_HERE / 'dictionaries' / f'{target}.txt'}",
        "-print_final_stats=1",
    ]
    words, inputs = words_of(target), list(corpus(target).values())

    def changed(data: bytes, most: int, seed: int) -> bytes:
        new: bytes = with_changed_tokens(data, words, inputs, seed) if seed % 2 else atheris.Mutate(data, most)
        return new[:most]

    arguments = [sys.argv[0], *flags, str(found), str(_HERE / "corpus" / target)]
    atheris.Setup(arguments, check, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.path.insert(0, str(_HERE.parent))
    main()
