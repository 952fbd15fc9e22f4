"""`tacit` and `python -m tacit`: one command in its process."""

import atexit
import gc
import os
import signal
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
    stops = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not if the parent process ignores it
    if stops:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports ends the process, without a traceback
    is_silent = sys.stdout is None
    _open_streams()
    if is_silent:
        _end(_refusal())
    from tacit.cli import main  # noqa: PLC0415 - after the lines above

    if stops:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, int):
            _end(end.code)
        raise


def _refusal() -> int:
    """Report that standard output is closed, and return the exit code."""
    from tacit.cli.output import print_error  # noqa: PLC0415 - as above
    from tacit.errors import InvalidError  # noqa: PLC0415 - as above

    error = InvalidError("Standard output is closed.", argument="stdout", hint="Redirect it to a file.")
    error.unspent = True
    return print_error(error, as_json="--json" in sys.argv[1:])


def _open_streams() -> None:
    """Open the null device in place of each standard stream that is closed.

    Otherwise the next file that is opened, such as a ledger, gets its number, and a library that writes a message to
    number 1 or 2 would write into that file.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:  # a file that Python opened before has the number
                os.close(null)
            setattr(sys, name, open(os.devnull if null != number else number, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end


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
