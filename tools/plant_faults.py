"""Plant the faults of `tests/mutants/` one at a time and run the tests of their package; each must be caught.

    python tools/plant_faults.py                 # all of them, two at a time; exit code 1 if a fault survives
    python tools/plant_faults.py --only ledger   # the faults of tests/mutants/ledger.toml
    python tools/plant_faults.py --privacy       # the faults that break a guarantee, against audits of release paths

Each fault is planted in a copy of the repository, so that the working tree stays as it is. The tests without Spark run
first; if they pass, those on Spark run. A failing example is not made smaller.

A fault with `privacy = true` breaks a guarantee. If it has an `audit`, that audit of a release path must catch it with
`--privacy`. Without one its tests must catch it: no audit is known to, because the fault changes ε too little, or a δ
that is too small to observe, the rounding, the ledger, or a rule about what may be asked.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "mutants"
LIMIT = 900
_PASSED, _NO_TESTS = 0, 5
_WITHOUT_AND_WITH_SPARK = ("not spark", "spark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A fault: the file, the text to replace, its replacement, and the tests that must catch it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    privacy: bool = False
    audit: str | None = None

    @property
    def is_audited(self) -> bool:
        """True if the audit of a release path must catch it."""
        return self.tests == (self.audit,)

    def plant(self, root: Path) -> str:
        """Write the fault into a tree; return the original text of the file."""
        path = root / self.file
        text = path.read_text("utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: the old text occurs {text.count(self.old)} times in {self.file}")
        path.write_text(text.replace(self.old, self.new), "utf-8")
        return text


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict of the tests on a fault."""

    mutant: Mutant
    verdict: str
    seconds: float
    detail: str


def mutants(only: str | None = None) -> Iterator[Mutant]:
    """Yield the faults of every file, or of one."""
    for path in sorted(FOLDER.glob("*.toml")):
        if only in (None, path.stem):
            for entry in tomllib.loads(path.read_text("utf-8"))["mutant"]:
                yield Mutant(**{**entry, "tests": tuple(entry["tests"])})


def copy_tree(target: Path) -> Path:
    """Copy the files under version control to a new folder."""
    names = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def run(mutant: Mutant, tree: Path) -> Outcome:
    """Plant a fault in a copy, run its tests until the first failure, and restore the copy."""
    start, original = time.monotonic(), mutant.plant(tree)
    verdict, detail = "no tests", ""
    try:
        for names in ("",) if mutant.is_audited else _WITHOUT_AND_WITH_SPARK:
            done = _pytest(mutant, tree, names)
            if done.returncode == _NO_TESTS:
                continue
            verdict = "survived" if done.returncode == _PASSED else "caught"
            lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            detail = lines[0] if lines else (done.stdout.splitlines() or [""])[-1]
            if verdict == "caught":
                break
    except subprocess.TimeoutExpired:
        verdict, detail = "caught", f"no end within {LIMIT} s"
    finally:
        (tree / mutant.file).write_text(original, "utf-8")
    return Outcome(mutant, verdict, time.monotonic() - start, detail[:160])


def _pytest(mutant: Mutant, tree: Path, names: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a fault whose names match an expression."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-k", names, "-p", "no:cacheprovider"]
    command += [] if mutant.is_audited else ["-m", "not long"]
    command += ["-o", "faulthandler_timeout=0", "--hypothesis-profile=planted"]
    return subprocess.run(
        [*command, *mutant.tests],
        check=False,
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )


def run_all(chosen: list[Mutant], workers: int) -> Iterator[Outcome]:
    """Run all faults, each worker in a copy of the tree, and yield the outcomes as they come."""
    with TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            trees.put(copy_tree(Path(folder) / str(number)))

        def work(mutant: Mutant) -> Outcome:
            tree = trees.get()
            try:
                return run(mutant, tree)
            finally:
                trees.put(tree)

        yield from pool.map(work, chosen)


def against_audit(mutant: Mutant) -> Mutant:
    """Return a fault with its audit in place of its tests, if it has one."""
    return mutant if mutant.audit is None else replace(mutant, tests=(mutant.audit,))


def main() -> int:
    """Print one line per fault and a summary; return 1 unless all are caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="the stem of one file of tests/mutants/")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--privacy", action="store_true", help="only faults that break a guarantee, against audits")
    options = parser.parse_args()
    chosen, start = list(mutants(options.only)), time.monotonic()
    if options.privacy:
        chosen = [against_audit(mutant) for mutant in chosen if mutant.privacy]
    found: list[Outcome] = []
    for outcome in run_all(chosen, options.workers):
        found.append(outcome)
        catcher = "by an audit" if outcome.mutant.is_audited else "by tests"
        who = f"{catcher:11} " if options.privacy else ""
        line = f"{outcome.verdict:9} {who}{outcome.seconds:6.1f} s  {outcome.mutant.name}: {outcome.detail}"
        print(line, flush=True)
    caught = [outcome.mutant for outcome in found if outcome.verdict == "caught"]
    by_audit = sum(mutant.is_audited for mutant in caught)
    split = f" ({by_audit} by audits, {len(caught) - by_audit} by tests)" if options.privacy else ""
    print(f"{len(caught)} of {len(chosen)} faults caught{split} in {time.monotonic() - start:,.0f} s.")
    return int(len(caught) < len(chosen) or not chosen)


if __name__ == "__main__":
    sys.exit(main())
