"""Reports in a Spark table: the workers' tallies add up to what one aggregator holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from spark_session import spark
from tacit.errors import InvalidError, SourceError
from tacit.local.base import Protocol

PROTOCOLS: list[Protocol] = [
    tc.local.Warner(epsilon=1),
    tc.local.GRR(domain=range(20), epsilon=1),
    tc.local.OUE(domain=range(20), epsilon=1),
    tc.local.OLH(domain=range(20), epsilon=1),
    tc.local.Hadamard(domain=range(20), epsilon=1),
    tc.local.ProjectiveGeometry(domain=range(20), epsilon=1),
]


def drawn(protocol: Protocol, n: int) -> pa.Table:
    values = [bool(i % 3) for i in range(n)] if isinstance(protocol, tc.local.Warner) else [i % 20 for i in range(n)]
    return protocol.randomize(values).to_arrow()


def frame(table: pa.Table, parts: int = 5) -> Any:  # noqa: ANN401 - a DataFrame of Spark
    plain = pa.table({name: pa.array(table[name].to_pylist(), pa.binary()) for name in ("report", "parameters")})
    return spark().createDataFrame(plain).repartition(parts)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: type(one).__name__)
def test_the_tally_is_that_of_one_aggregator(protocol: Protocol) -> None:
    table = drawn(protocol, 3000)
    here, there = protocol.aggregator(), protocol.aggregator()
    here.add(tc.local.Reports.from_arrow(table))
    assert there.add_spark(frame(table)) == 3000
    assert np.array_equal(here._cells, there._cells)
    assert (here.n, here.dropped) == (there.n, there.dropped)
    assert np.array_equal(here.estimate().counts, there.estimate().counts)


def test_bad_rows_are_counted_and_dropped() -> None:
    oracle, other = (tc.local.GRR(domain=range(20), epsilon=epsilon) for epsilon in (1, 2))
    good, strange = drawn(oracle, 100), drawn(other, 7)
    digest = good["parameters"][0].as_py()
    bad = pa.table({"report": [b"", b"\xff" * 99, None, b"\xff" * oracle.report_bytes], "parameters": [digest] * 4})
    rows = [row for table in (good, strange, bad) for row in table.select(["report", "parameters"]).to_pylist()]
    rows.append({"report": good["report"][0].as_py(), "parameters": None})
    total = oracle.aggregator()
    assert total.add_spark(frame(pa.Table.from_pylist(rows))) == 100
    assert total.dropped == 7 + 4 + 1


def test_an_empty_table_adds_nothing() -> None:
    oracle = tc.local.GRR(domain=range(20), epsilon=1)
    total = oracle.aggregator()
    assert total.add_spark(frame(drawn(oracle, 5)).limit(0)) == 0
    assert (total.n, total.dropped) == (0, 0)


def test_columns_by_other_names_and_wrong_ones() -> None:
    oracle = tc.local.GRR(domain=range(20), epsilon=1)
    named = frame(drawn(oracle, 9)).withColumnRenamed("report", "my `report`")
    total = oracle.aggregator()
    assert total.add_spark(named, column="my `report`") == 9
    with pytest.raises(InvalidError, match="Unknown column"):
        total.add_spark(named)
    with pytest.raises(InvalidError, match="binary"):
        total.add_spark(named.withColumn("report", named["parameters"].cast("string")))
    with pytest.raises(InvalidError, match="a Spark DataFrame"):
        total.add_spark([1, 2])
    assert total.n == 9


def test_a_failure_adds_nothing_and_says_nothing_of_the_data() -> None:
    from pyspark.sql.functions import raise_error  # noqa: PLC0415 - an extra

    oracle = tc.local.GRR(domain=range(20), epsilon=1)
    broken = frame(drawn(oracle, 9))
    broken = broken.withColumn("parameters", raise_error(broken["report"].cast("string")).cast("binary"))
    total = oracle.aggregator()
    with pytest.raises(SourceError, match="Nothing was added") as caught:
        total.add_spark(broken)
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)
    assert (total.n, total.dropped) == (0, 0)
