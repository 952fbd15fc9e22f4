"""The kernel's list of mounts: mounted files, and file systems that span machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledgers import ONE
from tacit.errors import LedgerError
from tacit.ledger import ledger_file
from tacit.ledger.ledger_file import is_mount_point, shared_file_system
from tacit.ledger.open_ledger import open_ledger

TABLE = rb"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 27 0:40 / /home rw master:2 shared:3 - nfs4 server:/home rw
41 40 254:0 /x /home/ann/disk rw - xfs /dev/vdb rw
42 27 254:0 /srv/a.ledger /data/a.ledger rw - ext4 /dev/vda rw
43 27 254:0 /srv/b.ledger /data/my\040own\134\011b.ledger rw - ext4 /dev/vda rw
44 27 0:44 / /vault rw - fuse.gocryptfs /cipher rw
45 27 0:45 / /remote rw - fuse.sshfs ann@host:/ rw
46 27 0:46 / /twice rw - autofs systemd-1 rw
47 46 0:47 / /twice rw - nfs server:/twice rw
48 27 0:48 / /usb rw - fuseblk /dev/sdb1 rw

broken line
"""


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "mount_table", lambda: TABLE)


@pytest.mark.parametrize(
    ("path", "mounted"),
    [
        ("/data/a.ledger", True),
        ("/data/my own\\\tb.ledger", True),
        ("/data/my\\040own\\134\\011b.ledger", False),
        ("/srv/a.ledger", False),  # the file that is mounted elsewhere
        ("/data/a.ledger2", False),
        ("/data", False),
        ("/home/ann/disk", True),
    ],
)
def test_a_mounted_file_is_recognised(path: str, mounted: bool) -> None:  # noqa: FBT001 - a table
    assert is_mount_point(path) is mounted


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ann/a.ledger", "nfs4"),
        ("/home/ann/diskette/a.ledger", "nfs4"),
        ("/home/ann/disk/a.ledger", None),
        ("/homes/a.ledger", None),
        ("/a.ledger", None),
        ("/vault/a.ledger", None),
        ("/usb/a.ledger", None),
        ("/remote/a.ledger", "fuse.sshfs"),
        ("/twice/a.ledger", "nfs"),
    ],
)
def test_the_longest_mount_point_decides_the_file_system(path: str, kind: str | None) -> None:
    assert shared_file_system(path) == kind


SHARED = """nfs nfs4 cifs smb3 9p afs ceph lustre gpfs beegfs virtiofs vboxsf prl_fs
    fuse.sshfs fuse.s3fs fuse.gcsfuse fuse.rclone fuse.glusterfs fuse.cephfs"""


@pytest.mark.parametrize("kind", SHARED.split())
def test_a_ledger_on_a_file_system_of_several_machines_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    line = f"50 27 0:50 / {folder.resolve()} rw - {kind} server:/x rw\n".encode()
    monkeypatch.setattr(ledger_file, "mount_table", lambda: TABLE + line)
    with pytest.raises(LedgerError, match=rf"\({kind}\).*several machines.*postgresql://") as caught:
        open_ledger(folder / "a.ledger", ONE, "add/remove")
    assert caught.value.unspent
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "kind", ["ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs", "fuse.gocryptfs", "fuse", "fuseblk"]
)
def test_a_ledger_on_a_local_file_system_opens(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    line = f"50 27 0:50 / {folder.resolve()} rw - {kind} disk rw\n".encode()
    monkeypatch.setattr(ledger_file, "mount_table", lambda: TABLE + line)
    assert open_ledger(folder / "a.ledger", ONE, "add/remove").created


def test_without_a_list_of_mounts_nothing_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(ledger_file, "_TABLE", folder / "none")
    assert ledger_file.mount_table() == b""
    assert not is_mount_point("/")
    assert shared_file_system("/home") is None
