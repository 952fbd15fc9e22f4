"""The file of a ledger: which file it is, and the checks before each transaction on it.

SQLite writes charges to a log beside the file's name. A file that has two names has two logs, and could be spent twice.
A transaction is therefore refused if

* the file has more than one hard link;
* the file itself, not its folder, is a mount point (Linux), as when a container mounts a single file;
* its file system spans machines (Linux), since SQLite's log needs shared memory on one machine;
* another name of the file is in use at the moment (Linux; see `file_locks`);
* the path leads to another file than when the ledger was opened;
* a log is beside the path but no file, or beside an earlier path of the file.

All but the third are checked again in every transaction before anything is charged; links and the file's identity are
also checked after the write lock was taken. A link or a mount that is made later is refused when its name is used.
Symbolic links are resolved first, as SQLite does, so they do not count as a second name. After a commit the path is
checked once more: SQLite does not write the log back into a file that has moved, so tacit then gives no answer.

FAT and some FUSE file systems give a file another inode number after a while. A ledger there can be refused as
replaced; it works again when it is opened again.

**Earlier paths.** If the file is renamed while a connection is open, or after a process was killed, the log stays
beside the old path, and the file alone lacks the newest charges. The table `tacit_paths` therefore lists each path
under which the file was ever charged. `LedgerFile.check_logs` refuses the file while one of the other paths has a log.
The list helps only if it is in the file itself, not in the log that stays behind. A path is therefore recorded in three
steps, before anything is charged under it:

1. insert the path, with `in_file` = 0, and commit;
2. write the whole log back into the file, or stop;
3. set `in_file` to 1.

A process that reads `in_file` = 1, from the file or from its log, knows that step 2 was completed. If a process is
killed before step 3, the next transaction repeats step 2. A transaction under a recorded path writes nothing. The table
is not part of the chain of records: `verify`, `export` and `import` ignore it, and so does version 0.1.0.

**Mounts.** The Linux kernel lists the mounts of a process in /proc/self/mountinfo. Without that file (other systems, or
no /proc) both checks of mounts pass.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from errno import EDQUOT, ENOLCK, ENOSPC, ENOSYS, EOPNOTSUPP
from pathlib import Path
from stat import S_ISREG
from time import monotonic, sleep

from sqlalchemy import Connection

from tacit.errors import CommitError, LedgerError
from tacit.ledger import file_locks
from tacit.ledger.file_locks import Failure, FileUseError

_RENAMED = "If its folder or file was renamed, open it by the new name; a `-wal` file beside it belongs to it."
_LINKED = Failure(
    "has more than one name (hard link), and each name would have a separate list of charges",
    "Remove the other names; `find FOLDER -samefile FILE` lists them. Then run `tacit ledger verify POLICY`.",
)
_MOUNTED = Failure(
    "is mounted as a single file, and another name could hold newer charges",
    "Mount its folder, then run `tacit ledger verify POLICY`.",
)
_REPLACED = Failure(
    "was replaced by another file since it was opened",
    f"If you replaced it on purpose, open it again and check it with your latest receipt. {_RENAMED}",
)
_MOVED = Failure("was moved while the charge was written, so the charge may be recorded or lost", _RENAMED)
_NO_FILE_FOR_LOG = Failure(
    "does not exist, but a log (`-wal`) with charges is beside its path; a new ledger would delete the log",
    "If the ledger was renamed, rename it back. If it is lost, move the log elsewhere, then restore a copy.",
)
_NOT_A_FILE = Failure("is not a regular file", "Name a file.")

FULL = Failure("cannot be written: the disk is full", "Free some space, then try again.")
NOT_FOUND = Failure(
    "does not exist, or its folder is not writable",
    "If it was renamed, open it by the new name. If it was deleted, restore a copy and check it: "
    "`tacit ledger verify POLICY --receipt FILE`.",
)
_NO_LOCKS = Failure("cannot be locked: its file system has no locks", "Move it to a local disk, then try again.")
_SYSTEM = {ENOSPC: FULL, EDQUOT: FULL, ENOLCK: _NO_LOCKS, ENOSYS: _NO_LOCKS, EOPNOTSUPP: _NO_LOCKS}


def _on_shared_file_system(kind: str) -> Failure:
    """Return the failure of a ledger on a file system that spans machines."""
    return Failure(
        f"is on a file system ({kind}) that several machines can write, which do not see each other's newest charges",
        "Keep it on a local disk (in a container: in a volume of its engine), or in PostgreSQL by a postgresql:// URL.",
    )


def _left_behind(earlier: str, path: str) -> Failure:
    """Return the failure of a ledger whose log stayed beside an earlier path."""
    return Failure(
        f"had the path {earlier} before, and its newest charges are still in {earlier}-wal",
        f"End all programs that use it. If it was renamed, rename {earlier}-wal to {path}-wal, or rename the ledger "
        f"back. If {earlier} is still a name of it, open it by that name. Then run `tacit ledger verify POLICY`.",
    )


class LedgerFile:
    """A path, and the file that was there when the ledger was opened or created."""

    def __init__(self, path: Path, name: str) -> None:
        """Store which file is at a path, if there is one, and check it; raise LedgerError if it must not be used.

        Args:
            path: an absolute path.
            name: the name of the ledger in messages.
        """
        self.path, self._name = path, name
        self._inode: file_locks.Inode | None = None
        with self._ledger_errors():
            kind = shared_file_system(os.path.realpath(path))
            if kind is not None:
                raise FileUseError(_on_shared_file_system(kind))
            if path.exists():
                self._inode = _inode_of_regular(path)
                _check_mount(os.path.realpath(path))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Lock the name of the file for a transaction, which opens its connection, calls `check`, and closes within."""
        if self._inode is not None:
            self.check()
        with self._ledger_errors():
            real = os.path.realpath(self.path)
            _check_mount(real)
            _check_log_has_file(real)
            use = file_locks.enter(real, create=self._inode is None)
        try:
            self._inode = self._inode or use.inode
            yield
        finally:
            file_locks.leave(use)

    def closing(self) -> AbstractContextManager[None]:
        """Exclude others from closing a connection to the file; within `transaction`."""
        return file_locks.closing(self._inode)

    def check(self) -> None:
        """Raise LedgerError unless the path leads to the same file, which has one link."""
        with self._ledger_errors():
            if _inode_of_regular(self.path) != self._inode:
                raise FileUseError(_REPLACED)

    @property
    def real_path(self) -> bytes:
        """The path without symbolic links, in the encoding of the file system."""
        return os.fsencode(os.path.realpath(self.path))

    def check_logs(self, paths: Iterable[bytes]) -> None:
        """Raise LedgerError if a log stayed beside an earlier path of the file; within `transaction`.

        Args:
            paths: the recorded paths of the file, without symbolic links.
        """
        now = os.fsdecode(self.real_path)
        with self._ledger_errors():
            for earlier in map(os.fsdecode, paths):
                if earlier != now and _has_log(earlier) and not self._is_log_of_another(earlier, now):
                    raise FileUseError(_left_behind(earlier, now))

    def _is_log_of_another(self, earlier: str, now: str) -> bool:
        """Return whether the log beside an earlier path belongs to another file, or is the log beside this path."""
        status = _status(earlier)
        if status is None or status.st_size == 0:
            return False
        return file_locks.inode_of(status) != self._inode or file_locks.byte_of(earlier) == file_locks.byte_of(now)

    def check_after_commit(self) -> None:
        """Raise CommitError if the file was moved while a charge was written."""
        try:
            inode = file_locks.inode_of(self.path.stat())
        except OSError:
            inode = None
        if inode != self._inode:
            raise CommitError(f"Ledger {self._name} {_MOVED.fact}.", hint=_MOVED.hint)

    @contextmanager
    def _ledger_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, FileUseError) as error:
            failure = error.failure if isinstance(error, FileUseError) else _SYSTEM.get(error.errno or 0, NOT_FOUND)
            raise LedgerError(f"Ledger {self._name} {failure.fact}.", hint=failure.hint) from None


def _inode_of_regular(path: Path) -> file_locks.Inode:
    """Return the inode that a path leads to; raise FileUseError if it is not a regular file with one link."""
    status = path.stat()
    if not S_ISREG(status.st_mode):
        raise FileUseError(_NOT_A_FILE)
    if status.st_nlink > 1:
        raise FileUseError(_LINKED)
    return file_locks.inode_of(status)


def _status(path: str) -> os.stat_result | None:
    """Return the status of a path, or None if this process finds nothing there."""
    try:
        return os.stat(path)  # noqa: PTH116 - a path of another machine need not be one here
    except (OSError, ValueError):
        return None


def _has_log(real: str) -> bool:
    """Return whether a log that is not empty is beside a path."""
    status = _status(f"{real}-wal")
    return status is not None and status.st_size > 0


def _check_log_has_file(real: str) -> None:
    """Raise FileUseError if a log is beside a path without a ledger: SQLite would delete it with its charges.

    SQLite writes the first page of a new file before its log, so this function looks for the log first.
    """
    if _has_log(real):
        status = _status(real)
        if status is None or status.st_size == 0:
            raise FileUseError(_NO_FILE_FOR_LOG)


def _check_mount(real: str) -> None:
    """Raise FileUseError if a path without symbolic links is a mount point."""
    if is_mount_point(real):
        raise FileUseError(_MOUNTED)


# --- mounts ---------------------------------------------------------------------------------------------------------

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
"""The same among FUSE file systems; local ones (gocryptfs, ntfs-3g) have coherent memory and locks."""


def mount_table() -> bytes:
    """Return the kernel's list of the mounts of this process, or an empty text if there is no such list."""
    try:
        return _TABLE.read_bytes()
    except OSError:
        return b""


def is_mount_point(path: str) -> bool:
    """Return whether something is mounted at exactly this path, which must have no symbolic links.

    `os.path.ismount` misses a file that is mounted over another file of the same file system.
    """
    encoded = os.fsencode(path)
    return any(point == encoded for point, _ in _mounts())


def shared_file_system(path: str) -> str | None:
    """Return the type of the file system that holds a path if it spans machines; else None.

    The longest mount point that covers the path decides, and the latest of several mounts at one point.
    """
    covering = [(len(point), order, kind) for order, (point, kind) in enumerate(_mounts()) if _covers(point, path)]
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


# --- earlier paths --------------------------------------------------------------------------------------------------

_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tacit_paths'"
_CREATE = "CREATE TABLE IF NOT EXISTS tacit_paths (path BLOB PRIMARY KEY, in_file INTEGER NOT NULL) WITHOUT ROWID"


def recorded_paths(connection: Connection) -> dict[bytes, bool]:
    """Return each recorded path, and whether it is certainly in the file itself; within a transaction."""
    if connection.exec_driver_sql(_EXISTS).first() is None:
        return {}
    rows = connection.exec_driver_sql("SELECT path, in_file FROM tacit_paths")
    return {path: in_file == 1 for path, in_file in rows if isinstance(path, bytes)}


def record_path(connection: Connection, path: bytes, wait: float) -> bool:
    """Record a path in the file; return False if a reader kept the log from being written back.

    Args:
        connection: a connection to the file, outside a transaction.
        path: the path, without symbolic links.
        wait: the number of seconds for which to retry while others prevent it.
    """
    with connection.begin():
        connection.exec_driver_sql(_CREATE)
        connection.exec_driver_sql("INSERT OR IGNORE INTO tacit_paths VALUES (?, 0)", (path,))
    until, pause = monotonic() + wait, 0.005
    while not _write_back(connection):
        if monotonic() > until:
            return False
        sleep(pause)
        pause = min(2 * pause, 0.25)
    with connection.begin():
        connection.exec_driver_sql("UPDATE tacit_paths SET in_file = 1 WHERE path = ?", (path,))
    return True


def _write_back(connection: Connection) -> bool:
    """Write the log back into the file and sync it; return whether all of it was written."""
    connection.execution_options(outside_transaction=True)
    try:
        with connection.begin():
            busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(FULL)").one()
    finally:
        connection.execution_options(outside_transaction=False)
    return bool(busy == 0)
