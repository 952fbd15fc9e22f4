"""`tacit` and `python -m tacit`: one command in a process of its own."""

import gc

_OBJECTS = 1_000_000


def run() -> None:
    """Run the command line, without searching for cycles of objects while packages are imported and at the end.

    A command creates about 200,000 objects when it imports packages. They are needed until it ends. By default Python
    searches them for unused cycles at every 700 objects, and once more when it exits. Both took a quarter of the time
    of a small query. A command that creates many more objects is searched as usual.
    """
    gc.set_threshold(_OBJECTS)
    from tacit.cli import main  # noqa: PLC0415 - after the line above

    try:
        main()
    finally:
        gc.freeze()  # the search at the exit skips what exists now


if __name__ == "__main__":
    run()
