"""Use tacit without an extra: answers, ledger, commands, local model, microdata, and errors of missing extras."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import tacit as tc

PACKAGES = ("altair", "fastapi", "psycopg", "pyspark", "vl_convert")
POLICY = """
budget = { epsilon = 9 }
ledger = "visits.ledger"

[tables.visits]
source = "visits.csv"
unit = "patient"
max_groups = 2
max_rows = 2

[tables.visits.columns]
ward = { keys = ["A", "B"] }
"""
SQL = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
SHARE = f"SELECT ward, n / sum(n) OVER () AS share FROM ({SQL})"  # noqa: S608 - constant text


def require(condition: object, promise: str) -> None:
    """End with an error if a promise is not met."""
    if not condition:
        raise SystemExit(f"Not met: {promise}")


def message_of(call: Callable[[], object]) -> str:
    """Return the text of the error that a call raises."""
    try:
        call()
    except tc.TacitError as error:
        return str(error)
    raise SystemExit("Not met: an error for a missing package")


def command(*words: str, code: int = 0) -> str:
    """Run `tacit` as an installed command; return what it prints on both streams."""
    program = Path(sys.executable).with_name("tacit")
    done = subprocess.run([str(program), *words], capture_output=True, text=True, check=False)
    require(done.returncode == code, f"tacit {' '.join(words)} ends with {code}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def use_database() -> None:
    """Open a file, answer, compute with released numbers in the second process, and verify the ledger."""
    Path("visits.csv").write_text("patient,ward\n" + "".join(f"{i // 2},{'AB'[i % 2]}\n" for i in range(200)))
    Path("visits.toml").write_text(POLICY)
    with tc.open("visits.toml") as db:
        require(len(db.sql(SQL, epsilon=1).rows()) == 2, "an answer has two rows")
        shares = [float(str(row[1])) for row in db.sql(SHARE, epsilon=1).rows()]
        require(abs(sum(shares) - 1) < 1e-9, "shares add up to 1")
    require("left ε = 6" in command("query", "visits.toml", SQL, "--epsilon", "1", "--yes"), "a command charges")
    command("ledger", "visits.toml", "verify")
    command("demo")


def use_local_and_microdata() -> None:
    """Randomise and estimate, and anonymise a small table by every method."""
    oracle = tc.local.OLH(domain=["a", "b", "c"], epsilon=8.0)
    counts = oracle.estimate(oracle.randomize(["a"] * 900 + ["b"] * 100)).counts
    require(counts[0] > counts[1] > counts[2], "an estimate ranks the values")
    require((Path(tc.local.__file__).parent / "browser").is_dir(), "the browser client is installed")
    table = {"age": [21, 22, 23, 41, 42, 43], "disease": ["flu", "cold", "flu", "cold", "flu", "cold"]}
    for method in ("optimal", "mondrian", "local"):
        out = tc.anonymity.anonymize(
            table,
            quasi={"age": tc.anonymity.intervals([10, 20, 40])},
            sensitive="disease",
            require=[tc.KAnonymity(3)],
            method=method,
        )
        require(out.report.k >= 3, f"a table by {method} is 3-anonymous")


def use_missing_extras() -> None:
    """Check that the error of each missing extra names the command that installs it, and that nothing is spent."""
    require(not any(map(find_spec, PACKAGES)), "the core installs no package of an extra")
    options = {"unit": tc.ROW, "budget": tc.PureDP(epsilon=1)}
    frame = {"x": [1, 2]}
    answer = tc.open(frame, **options).sql("SELECT count(*) AS n FROM data", epsilon=1)  # type: ignore[arg-type]
    missing = {
        "tacit[plot]": lambda: answer.plot().to_json(),
        "tacit[postgres]": lambda: tc.open("postgresql://localhost/x", table="t", **options),  # type: ignore[arg-type]
        "'tacit[postgres]'": lambda: tc.open(frame, ledger="postgresql://localhost/x", **options),  # type: ignore[arg-type]
        "tacit[spark]": lambda: tc.open("spark:visits", **options),  # type: ignore[arg-type]
        "'tacit[spark]'": lambda: tc.open("sc://localhost", table="t", **options),  # type: ignore[arg-type]
        "pip install pandas": answer.to_pandas,
        "pip install polars": answer.to_polars,
        "pip install pyarrow": answer.to_arrow,
    }
    for name, call in missing.items():
        text = message_of(call)
        require("pip install" in text and name in text, f"an error names {name}: {text}")
    for words in (("--chart", "a.svg"), ("--chart", "a.html")):
        text = command("query", "visits.toml", SQL, "--epsilon", "2", "--yes", *words, code=2)
        require("pip install 'tacit[plot]'" in text, f"the command names the extra: {text}")
    require("Left: ε = 6 of" in command("plan", "visits.toml", SQL, "--epsilon", "2"), "nothing was spent")


if __name__ == "__main__":
    require("site-packages" in tc.__file__, "tacit is the installed package")
    use_database()
    use_local_and_microdata()
    use_missing_extras()
