"""Fetch the scripts that tacit ships to browsers, unchanged from npm, and write src/tacit/web/static/vendor/.

    python tools/vendor_scripts.py

The versions and the SHA-256 of every file are in `FILES`. A file with another hash stops the tool. Only `npm pack` uses
the network; tacit itself never does. A test compares the files of the tree with `FILES`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

VENDOR = Path(__file__).parents[1] / "src" / "tacit" / "web" / "static" / "vendor"
AXE = Path(__file__).parents[1] / "tests" / "browser" / "vendor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A file of an npm package: its source, the hash of what is written, and one line that is replaced."""

    package: str
    path: str
    name: str
    sha256: str
    licence: str
    folder: Path = VENDOR
    replaced: tuple[str, str] | None = None


FILES = (
    Script(
        package="htmx.org@2.0.11",
        path="dist/htmx.min.js",
        name="htmx.min.js",
        licence="0BSD",
        sha256="d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    ),
    Script(
        package="vega@6.4.0",
        path="build/vega.min.js",
        name="vega.min.js",
        licence="BSD-3-Clause",
        sha256="8f6a3587cf8d4f42c7e08120e3eb05d067e746d554e39d2dcf52acc0bd5ba28f",
    ),
    Script(
        package="vega-lite@6.4.3",
        path="build/vega-lite.min.js",
        name="vega-lite.min.js",
        licence="BSD-3-Clause",
        sha256="35a9821df838825b05a6a73e9414b58747a1b18321583858ed903c66393a5c7e",
    ),
    Script(
        package="vega-interpreter@2.3.2",
        path="build/vega-interpreter.js",
        name="vega-interpreter.js",
        licence="BSD-3-Clause",
        sha256="ca1de8c6b88d24f30bb3b576dbf9562ccf3899f25c421c3a0a88dccc7bc65822",
        replaced=(
            "import { ascending, isString, DisallowedObjectProperties } from 'vega-util';",
            "const { ascending, isString, DisallowedObjectProperties } = globalThis.vega;",
        ),
    ),
    Script(
        package="htmx.org@2.0.11",
        path="LICENSE",
        name="htmx.LICENSE.txt",
        licence="",
        sha256="d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38",
    ),
    Script(
        package="vega@6.4.0",
        path="LICENSE",
        name="vega.LICENSE.txt",
        licence="",
        sha256="63727832aaf62004a2b249c933e327f3c90caf49e41a72f4bf436edf632cbda8",
    ),
    Script(
        package="vega-lite@6.4.3",
        path="LICENSE",
        name="vega-lite.LICENSE.txt",
        licence="",
        sha256="f618900fd0d64046963b29f40590cdd1e341a2f41449f99110d82fd81fea808c",
    ),
    Script(
        package="d3-array@3.2.4",
        path="LICENSE",
        name="d3.LICENSE.txt",
        licence="",
        sha256="3e6849627f74ff73c257a3ae1efb574015d94fc1035c05ec3c15805165efcbc4",
    ),
    Script(
        package="axe-core@4.14.0",
        path="axe.min.js",
        name="axe.min.js",
        licence="MPL-2.0",
        sha256="20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878",
        folder=AXE,
    ),
    Script(
        package="axe-core@4.14.0",
        path="LICENSE",
        name="axe.LICENSE.txt",
        licence="",
        sha256="af175b9d96ee93c21a036152e1b905b0b95304d4ae8c2c921c7609100ba8df7e",
        folder=AXE,
    ),
)
"""What is fetched. One line of vega-interpreter imports its three helpers from Vega's own build, which has them."""


def main() -> int:
    """Fetch every package once, check every file, and write it; return 1 if a hash differs."""
    wrong: list[str] = []
    with TemporaryDirectory() as name:
        for package in sorted({script.package for script in FILES}):
            archive = packed(package, Path(name))
            scripts = [script for script in FILES if script.package == package]
            wrong += [script.name for script in scripts if not written(script, archive)]
    for each in wrong:
        print(f"{each} has another SHA-256 than tools/vendor_scripts.py states.", file=sys.stderr)
    return 1 if wrong else 0


def packed(package: str, folder: Path) -> Path:
    """Return the archive of a package from the registry."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), package]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return folder / printed.strip().splitlines()[-1]


def written(script: Script, archive: Path) -> bool:
    """Write a file of an archive if its hash is right; return whether it is."""
    content = content_of(script, archive)
    digest = hashlib.sha256(content).hexdigest()
    if digest != script.sha256:
        print(f"{script.name}: {digest}")
        return False
    script.folder.mkdir(parents=True, exist_ok=True)
    (script.folder / script.name).write_bytes(content)
    return True


def content_of(script: Script, archive: Path) -> bytes:
    """Return the file of an archive, with its one line replaced."""
    with tarfile.open(archive) as opened:
        member = opened.extractfile(f"package/{script.path}")
        if member is None:
            raise FileNotFoundError(script.path)
        content = member.read()
    if script.replaced is not None:
        before, after = (line.encode() for line in script.replaced)
        if content.count(before) != 1:
            raise ValueError(f"{script.name} does not have the line that is replaced.")
        content = content.replace(before, after)
    return content


if __name__ == "__main__":
    sys.exit(main())
