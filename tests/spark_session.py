"""One Spark for all tests of a process: on this machine, or where TACIT_TEST_SPARK says (an sc:// or a master's URL)."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@cache
def spark() -> SparkSession:
    """Return the session; what it writes is below a temporary directory that goes with the process."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    where = os.environ.get("TACIT_TEST_SPARK", "")
    if where.startswith("sc://"):
        return SparkSession.builder.remote(where).getOrCreate()
    folder = Path(tempfile.mkdtemp(prefix="tacit-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -XX:TieredStopAtLevel=1",
    }
    builder = SparkSession.builder.master(where or "local[2]").appName("tacit")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
