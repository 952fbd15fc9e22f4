"""tacit opens a table in Jupyter, with ipywidgets and without.

DuckDB takes a process for Jupyter if it has no file and IPython is loaded with a kernel. Without ipywidgets it then
refuses every statement about its progress bar, which is off.
"""

from __future__ import annotations

import subprocess
import sys

OPEN = """
import sys, types
ipython = types.ModuleType("IPython")
ipython.get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = ipython
import duckdb
try:
    duckdb.connect(":memory:").execute("SET enable_progress_bar = false")
except duckdb.InvalidInputException as error:
    print("ipywidgets" in str(error))
import tacit as tc
db = tc.open({"n": [1, 2, 3]}, unit=tc.ROW, budget=tc.PureDP(epsilon=100))
print(db.count(epsilon=100).value)
"""


def test_a_table_opens_in_jupyter_without_widgets() -> None:
    done = subprocess.run([sys.executable, "-c", OPEN], capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert (done.stdout.split(), done.stderr) == (["True", "3"], "")
