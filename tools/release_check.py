"""Build the source distribution and the wheel, and run the whole test suite on each, on every Python.

For each version of Python, the distribution is unpacked into an empty folder, the wheel that was built from it is
installed into a new environment with all extras, and the tests of the unpacked folder run on the installed package.
No compiler can be called: `CC` and `CXX` name a command that fails.

Usage: release_check.py [VERSION …] [-- PYTEST_OPTION …], such as 3.12 -- tests/noise; by default all of both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from package_check import ROOT, UV, VERSIONS, interpreter

TESTS = ("tests", "docs", "README.md", "-m", "not long", "-n", str(os.cpu_count() or 2), "--dist", "worksteal")
NO_COMPILER = {"CC": "false", "CXX": "false"}


def build(folder: Path) -> tuple[Path, Path]:
    """Build the distributions; return the unpacked source and the wheel."""
    subprocess.run([UV, "build", "--quiet", "--out-dir", folder, ROOT], check=True)
    (archive,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz"), wheel


def installed(python: str, source: Path, wheel: Path, environment: Path) -> Path:
    """Install the wheel with all extras and what the tests need; return the environment's Python."""
    target = environment / "bin" / "python"
    requirement = f"tacit[web,postgres,spark,plot] @ {wheel.as_uri()}"
    subprocess.run([UV, "venv", "--quiet", "--seed", "--python", python, environment], check=True)
    group = f"{source / 'pyproject.toml'}:test"
    command: list[str | Path] = [UV, "pip", "install", "--quiet", "--python", target, "--group", group, requirement]
    subprocess.run(command, check=True, env={**os.environ, **NO_COMPILER})
    return target


def passes(version: str, options: list[str]) -> bool:
    """Run the tests on one version of Python; a version that is not on this machine is named and passes."""
    python = interpreter(version)
    if python is None:
        print(f"Python {version}: skipped, because this machine has no interpreter of this version.", flush=True)
        return True
    with TemporaryDirectory() as name:
        source, wheel = build(Path(name))
        target = installed(python, source, wheel, Path(name) / "environment")
        environment = {**os.environ, **NO_COMPILER, "PATH": f"{target.parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            [target, "-m", "pytest", "-q", *(options or TESTS)], cwd=source, env=environment, check=False
        )
    print(f"Python {version}: {'passes' if done.returncode == 0 else 'FAILED'}", flush=True)
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Run the tests on the versions that were named; return the exit code."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    versions, options = arguments[:split] or list(VERSIONS), arguments[split + 1 :]
    results = [passes(version, options) for version in versions]
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
