"""Tags on what a thread runs in Spark, by which another thread stops it, and nothing else on the cluster.

A Spark Connect session has separate tags. In a session of this process, `interruptAll` and `interruptTag` of Spark
4.3 miss some jobs, such as that of `session.range(…).collect()` (tried on 18 November 2026). Tags of the SparkContext
find them, so they are used there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING

from tacit.engines.spark.sessions import is_reachable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def new_tag() -> str:
    """Return a tag that nobody else uses."""
    return f"tacit-{token_hex(16)}"


@contextmanager
def tagged(session: SparkSession, tag: str) -> Iterator[None]:
    """Put a tag on everything that this thread runs in a session meanwhile."""
    if hasattr(session, "_jsparkSession"):
        session.sparkContext.addJobTag(tag)
    else:
        session.addTag(tag)
    try:
        yield
    finally:
        with suppress(Exception):  # Java may be gone
            if hasattr(session, "_jsparkSession"):
                session.sparkContext.removeJobTag(tag)
            else:
                session.removeTag(tag)


def stop(session: SparkSession, tag: str) -> None:
    """Stop what runs in a session with a tag; any thread may call this, and it does not raise."""
    with suppress(Exception):
        if hasattr(session, "_jsparkSession"):
            session.sparkContext.cancelJobsWithTag(tag)
        elif is_reachable(session):
            session.interruptTag(tag)
