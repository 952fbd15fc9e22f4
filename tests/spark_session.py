"""One Spark for all tests of a process: on this machine, or where TACIT_TEST_SPARK says: an sc:// URL, or a master."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


LIGHT_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Options for a Java that lives for minutes on few cores: a quick compiler, and no threads that collect garbage."""

ROOMY_JAVA = "-Xms1g -Xmn400m -XX:ReservedCodeCacheSize=192m"
"""Room for the caches of Spark's parser and for compiled code, which many statements fill; a full heap is searched
again and again."""

SMALL = {
    "spark.buffer.pageSize": "1m",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.ui.retainedExecutions": "1",
}
"""Settings for small tables: blocks of memory are small, and nothing is stored for a page that nobody opens."""


@cache
def spark() -> SparkSession:
    """Return the session; it writes to a temporary directory that is removed when the process ends."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    where = os.environ.get("TACIT_TEST_SPARK", "")
    if where.startswith("sc://"):
        return SparkSession.builder.remote(where).getOrCreate()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run what the tests run
    folder = Path(tempfile.mkdtemp(prefix="tacit-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        **SMALL,
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} {LIGHT_JAVA} {ROOMY_JAVA}",
    }
    builder = SparkSession.builder.master(where or "local[2]").appName("tacit")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def frame_of(table: pa.Table) -> DataFrame:
    """Return an Arrow table as a DataFrame, its moments without a zone as such."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - an extra

    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    return spark().createDataFrame(table, schema=schema)
