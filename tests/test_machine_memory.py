"""The memory that a machine, a container or a process limit allows."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from tacit.machine_memory import default_limit


def fake(root: Path, line: str, files: dict[str, str]) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(line)
    for name, content in files.items():
        (root / "sys/fs/cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "sys/fs/cgroup" / name).write_text(content)
    return root


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("0::/\n", {"memory.max": "2000000\n"}),
        ("0::/a/b\n", {"a/memory.max": "2000000\n", "a/b/memory.max": "max\n"}),
        ("0::/a/b\n", {"a/memory.max": "max\n", "a/b/memory.max": "2000000\n"}),
        ("3:cpu,memory:/x\n1:name=systemd:/y\n", {"memory/x/memory.limit_in_bytes": "2000000\n"}),
        ("4:memory:/gone\n", {"memory/memory.limit_in_bytes": "2000000\n"}),
    ],
)
def test_the_limit_of_a_container_counts(tmp_path: Path, line: str, files: dict[str, str]) -> None:
    assert default_limit(fake(tmp_path, line, files)) == 1_000_000


@pytest.mark.parametrize("content", ["max\n", "9223372036854771712\n", "", "not a number\n"])
def test_no_limit_is_the_size_of_the_machine(tmp_path: Path, content: str) -> None:
    assert default_limit(fake(tmp_path, "0::/\n", {"memory.max": content})) == default_limit(tmp_path / "none")


def test_the_limit_of_the_process_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (4_000_000, resource.RLIM_INFINITY))
    assert default_limit(tmp_path) == 2_000_000


def test_a_machine_without_known_sizes_has_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    monkeypatch.setattr("os.sysconf", lambda _: 0)
    assert default_limit(tmp_path) is None
