"""The options of a Spark that tacit starts on this machine, from the settings of `tc.open`, and when they cannot apply.

tacit can set memory, threads and the temporary directory only where it starts Spark itself, and only when it starts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from tacit.engines.spark.sessions import quiet_imports
from tacit.engines.temporary import check_directory
from tacit.errors import bad_value
from tacit.query.policy.engine_settings import EngineSettings

STARTED_WITH: Final[dict[str, str]] = {}
"""The options with which tacit started Spark in this process."""

_LEAST_MEMORY = 512 * 2**20  # Spark refuses a driver with less than 450 MiB
_OPTIONS = {"memory": "spark.driver.memory", "threads": "spark.master", "temporary": "spark.local.dir"}
_ELSEWHERE = {
    "memory": "spark.driver.memory and spark.executor.memory",
    "threads": "spark.master or spark.executor.cores",
    "temporary": "spark.local.dir",
}
_MASTER = re.compile(r"spark\.master\b|--master\b")
_REMOTE = ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


def options_of(settings: EngineSettings) -> dict[str, str]:
    """Return Spark's options for some settings, or raise InvalidError.

    >>> options_of(EngineSettings(memory=2 * 2**30, threads=4))
    {'spark.driver.memory': '2048m', 'spark.master': 'local[4]'}
    """
    options: dict[str, str] = {}
    if settings.memory is not None:
        if settings.memory < _LEAST_MEMORY:
            raise bad_value("memory", settings.memory, f"at least {_LEAST_MEMORY // 2**20}MiB for Spark")
        options["spark.driver.memory"] = f"{settings.memory // 2**20}m"
    if settings.threads is not None and not is_configured(_MASTER):
        options["spark.master"] = f"local[{settings.threads}]"
    if settings.temporary is not None:
        check_directory(settings.temporary)
        options["spark.local.dir"] = str(settings.temporary.absolute())
    return options


def cannot_apply(name: str, settings: EngineSettings, sources: Iterable[object]) -> str | None:
    """Return what to do instead, if a setting cannot be applied to these sources; None if it can."""
    if name not in _OPTIONS:
        return None
    instead = f"Set {_ELSEWHERE[name]} where Spark is started."
    if not all(isinstance(source, str) and source.startswith("spark:") for source in sources):
        return instead
    if _runs_already():
        wanted = options_of(settings).get(_OPTIONS[name])
        return None if wanted is not None and STARTED_WITH.get(_OPTIONS[name]) == wanted else instead
    return instead if name == "threads" and is_configured(_MASTER) else None


def _runs_already() -> bool:
    """Return whether this process has a Spark session or its Java, or the environment names a server."""
    if any(os.environ.get(name) for name in _REMOTE):
        return True
    with suppress(ImportError), quiet_imports():
        from pyspark import SparkContext  # noqa: PLC0415 - an extra
        from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

        return SparkContext._gateway is not None or SparkSession.getActiveSession() is not None  # noqa: SLF001 - as in `start`
    return False


def is_configured(option: re.Pattern[str], file: str | None = None) -> bool:
    """Return whether the user configured an option of Spark, or may have: a file of properties, or `file`, is there."""
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if "--properties-file" in arguments or option.search(arguments):
        return True
    return any(_configures(folder, option) or (file and (folder / file).exists()) for folder in _folders())


def _folders() -> list[Path]:
    """Return the folders from which Spark reads its settings."""
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415 - an extra

    folder = os.environ.get("SPARK_CONF_DIR")
    return [Path(folder) if folder else Path(_find_spark_home()) / "conf"]


def _configures(folder: Path, option: re.Pattern[str]) -> bool:
    with suppress(OSError, ValueError):
        lines = (folder / "spark-defaults.conf").read_text(encoding="utf-8", errors="replace").splitlines()
        return any(option.match(line.strip()) for line in lines)
    return False
