"""`tacit` and `python -m tacit`: one command in its process."""

import atexit
import gc
import os
import sys
import threading

_OBJECTS = 1_000_000


def run() -> None:
    """Run the command line in this process, and end the process.

    A command creates about 200,000 objects when it imports packages, and needs them until it ends. By default Python
    searches them for unused cycles while it imports. So it searches only after a million new objects.
    """
    gc.set_threshold(_OBJECTS)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy starts threads, and tacit multiplies only short vectors
    from tacit.cli import main  # noqa: PLC0415 - after the lines above

    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, int):
            _end(end.code)
        raise


def _end(code: int) -> None:
    """End the process as Python does, but do not free every object, which takes a fifth of the time of a small query.

    Threads are joined, functions that `atexit` registered are called, and both streams are written. Every charge was
    committed to the disk before its query read a row. If a stream cannot be written, return; Python reports it.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - Python's own first step
    atexit._run_exitfuncs()  # noqa: SLF001 - and its second
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


if __name__ == "__main__":
    run()
