"""Mounts on Linux: whether a file is a mount point, and whether its file system spans machines.

The kernel lists the mounts of a process in /proc/self/mountinfo. Without that file (other systems, or no /proc) both
checks pass.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_TABLE = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(rb"\\([0-7]{3})")

_SHARED = re.compile(
    "9p|acfs|afs|beegfs|ceph|cifs|coda|davfs|gfs2|gpfs|lustre|ncpfs|nfs|nfs4|ocfs2|orangefs|panfs|prl_fs|pvfs2|smb3|smbfs"
    "|vboxsf|virtiofs|vmhgfs|wekafs"
)
"""File systems that another machine, or a virtual machine's host, can write at the same time."""

_SHARED_FUSE = re.compile(
    "beegfs|blobfuse2?|ceph|ceph-fuse|cephfs|curlftpfs|davfs2?|gcsfuse|glusterfs|goofys|grpcfuse|juicefs|mfs|moosefs"
    "|mount-s3|mountpoint-s3|osxfs|prl_fsd|rclone|s3fs|seaweedfs|sshfs|vmhgfs-fuse"
)
"""The same among file systems of user programs; local ones (gocryptfs, ntfs-3g) have coherent memory and locks."""


def mount_table() -> bytes:
    """Return the kernel's list of this process's mounts, or nothing where there is no such list."""
    try:
        return _TABLE.read_bytes()
    except OSError:
        return b""


def is_mount_point(path: str) -> bool:
    """Return whether something is mounted at exactly this path, which must have no symbolic links.

    `os.path.ismount` misses a file that is mounted over another file of the same file system.
    """
    wanted = os.fsencode(path)
    return any(point == wanted for point, _ in _mounts())


def shared_file_system(path: str) -> str | None:
    """Return the type of the file system that holds a path if it spans machines; else None.

    The longest mount point that covers the path decides, and the latest of several mounts at one point.
    """
    covering = [(len(point), place, kind) for place, (point, kind) in enumerate(_mounts()) if _covers(point, path)]
    if not covering:
        return None
    kind = max(covering)[2]
    fuse, _, program = kind.partition(".")
    shared = _SHARED_FUSE.fullmatch(program) if fuse in ("fuse", "fuseblk") else _SHARED.fullmatch(kind)
    return kind if shared else None


def _mounts() -> list[tuple[bytes, str]]:
    """Return each mount point with its type, oldest first.

    A line is: id, parent, device, root, mount point, options, optional fields, "-", type, source, options.
    """
    mounts = []
    for line in mount_table().splitlines():
        before, _, after = line.partition(b" - ")
        fields, kind = before.split(b" "), after.partition(b" ")[0]
        if len(fields) > 5:  # noqa: PLR2004 - the fields before the optional ones
            mounts.append((_ESCAPE.sub(_character, fields[4]), kind.decode("ascii", "replace")))
    return mounts


def _character(escape: re.Match[bytes]) -> bytes:
    """Return the byte that the kernel wrote as three octal digits: a space, tab, newline or backslash."""
    return bytes([int(escape[1], 8) & 0xFF])


def _covers(point: bytes, path: str) -> bool:
    return (os.fsencode(path) + b"/").startswith(point.rstrip(b"/") + b"/")
