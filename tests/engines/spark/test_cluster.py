"""A standalone Spark cluster on this machine: a master and two workers. A test kills an executor, then the workers.

The driver is a separate process, because a process can have one Spark. It exchanges lines with the test.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep

import pyspark
import pytest

from spark_session import LIGHT_JAVA

PATIENCE = 240
DRIVER = """
import json, sys
from threading import Thread
from time import sleep
from pyspark.sql import SparkSession
import tacit as tc
from tacit.engines.spark import availability
from tacit.errors import SourceError

availability.EXECUTOR_WAIT = 15.0
master, folder, java = sys.argv[1:]
settings = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "1g",
    "spark.executor.memory": "600m", "spark.executor.cores": "1", "spark.sql.shuffle.partitions": "4",
    "spark.local.dir": f"{folder}/local", "spark.sql.warehouse.dir": f"{folder}/warehouse",
    "spark.driver.extraJavaOptions": java, "spark.executor.extraJavaOptions": java,
}
builder = SparkSession.builder.master(master).appName("tacit")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
ROWS = 4_000_000
visits = spark.range(0, ROWS, 1, 16).selectExpr(
    "id % 200000 AS person", "concat('w', cast(id % 5 AS string)) AS ward", "cast(id % 97 AS int) AS cost")
db = tc.open(
    visits, name="visits", unit="person", max_groups=1, max_rows=20, bounds={"cost": (0, 96)},
    keys={"ward": [f"w{k}" for k in range(5)]}, budget=tc.PureDP(epsilon=10**9))

def say(*words):
    print(json.dumps(words), flush=True)

def ask():
    try:
        answer = db.sql("SELECT ward, count(*) AS n, sum(cost) AS s FROM visits GROUP BY ward", epsilon=10**7)
    except SourceError as error:
        say("refused", error.message, error.unspent, float(db.spent.epsilon))
    else:
        say("answer", answer.rows(), float(db.spent.epsilon))

def watch():
    tracker = spark.sparkContext.statusTracker()
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage and stage.numCompletedTasks and stage.numActiveTasks for stage in stages):
            return say("running")
        sleep(0.05)

for line in sys.stdin:
    if line.strip() == "watch":
        Thread(target=watch, daemon=True).start()
    while line.strip() == "wait" and availability.executor_count(spark):
        sleep(0.2)  # the driver has not noticed yet
    ask()
"""
WARDS = [(f"w{k}", 800_000, sum(i % 97 for i in range(k, 4_000_000, 5))) for k in range(5)]


def java(*words: str, folder: Path, log: Path) -> subprocess.Popen[str]:
    """Start a class of Spark's cluster, which writes its log to a file of the folder."""
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": LIGHT_JAVA,
        "PYSPARK_PYTHON": sys.executable,
    }
    with log.open("w") as file:
        return subprocess.Popen(  # noqa: S603 - our own words
            [str(home / "bin" / "spark-class"), *words],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=file,
            text=True,
        )


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Kill a process and its children at the end."""
    with process:
        try:
            yield process
        finally:
            for child in children(process.pid):
                os.kill(child, signal.SIGKILL)
            process.kill()


def children(parent: int) -> list[int]:
    """Return the processes that a process started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            if int(fields[1]) == parent:
                found.append(int(entry.name))
    return found


def until(process: subprocess.Popen[str], log: Path, text: str) -> str:
    """Return the first line of a process's log with a text, as soon as there is one."""
    end = monotonic() + PATIENCE
    while monotonic() < end and process.poll() is None:
        for line in log.read_text().splitlines():
            if text in line:
                return line
        sleep(0.1)
    pytest.fail(f"the process did not write {text!r}")


def is_executor(process: int) -> bool:
    try:
        return "CoarseGrainedExecutorBackend" in Path(f"/proc/{process}/cmdline").read_text()
    except OSError:  # it ended meanwhile
        return False


def executors(worker: subprocess.Popen[str]) -> list[int]:
    """Return the executors of a worker, as soon as there is one."""
    end = monotonic() + PATIENCE
    while monotonic() < end:
        found = [child for child in children(worker.pid) if is_executor(child)]
        if found:
            return found
        sleep(0.2)
    pytest.fail("the worker started no executor")


class Cluster:
    """A master and its workers; `worker` starts one more."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        words = ("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = stack.enter_context(ended(java(*words, folder=folder, log=folder / "master.log")))
        self.url = until(master, folder / "master.log", "Starting Spark master at").split()[-1]
        self.workers = 0

    def worker(self) -> subprocess.Popen[str]:
        words = ("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g")
        more = ("--webui-port", "0", "--work-dir", str(self.folder / "work"), self.url)
        self.workers += 1
        log = self.folder / f"worker-{self.workers}.log"
        worker = self.stack.enter_context(ended(java(*words, *more, folder=self.folder, log=log)))
        until(worker, log, "Successfully registered with master")
        return worker


class Driver:
    """A process that asks the cluster; it says what it got."""

    def __init__(self, cluster: Cluster, stack: ExitStack) -> None:
        words = [sys.executable, "-c", DRIVER, cluster.url, str(cluster.folder), LIGHT_JAVA]
        pipe = subprocess.PIPE
        self.process = stack.enter_context(
            ended(subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True))  # noqa: S603 - ours
        )

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self) -> list[object]:
        assert self.process.stdout is not None
        heard: list[object] = json.loads(self.process.stdout.readline())
        return heard


@pytest.mark.long
def test_an_executor_that_is_killed_costs_no_integer_and_a_cluster_without_any_costs_nothing(tmp_path: Path) -> None:
    exact = [list(row) for row in WARDS]
    with ExitStack() as stack:
        cluster = Cluster(tmp_path, stack)
        workers = [cluster.worker(), cluster.worker()]
        driver = Driver(cluster, stack)
        driver.tell("watch")
        assert driver.hear() == ["running"]
        (killed, *_) = executors(workers[0])
        os.kill(killed, signal.SIGKILL)  # some tasks are done, and some run
        assert driver.hear() == ["answer", exact, 1e7]
        assert not is_executor(killed)

        for worker in workers:
            for each in (*executors(worker), worker.pid):
                os.kill(each, signal.SIGKILL)
            worker.wait()
        driver.tell("wait")
        refused = driver.hear()
        assert refused[0] == "refused"
        assert "did not run a task" in str(refused[1])
        assert refused[2:] == [True, 1e7]  # nothing was spent

        cluster.worker()
        driver.tell("ask")
        assert driver.hear() == ["answer", exact, 2e7]
