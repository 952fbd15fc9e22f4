"""Features of an output beside its value: its type, sign, digits and grid; and parameters that underflow.

The engine's half: a released sum or average is a function of noisy integers and public numbers, whatever digits the
data have. `tests/mechanisms/test_additive.py` has the types and the reachable outputs of ordinary values.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from attacks.references import RoundedNoise, TextbookDatabase, underflowing_laplace
from tacit.database import Database

SURE = 1 - 1e-12
ZEROS = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, -1e-300]


def negative_zero(output: float) -> bool:
    return output == 0 and math.copysign(1, output) < 0


@pytest.mark.parametrize("zero", ZEROS, ids=repr)
def test_a_zero_has_no_sign(zero: float) -> None:
    """The scale is a sixteenth of a step, so an output is 0 with probability above 0.99."""
    one, many = (tc.Laplace(sensitivity=1.0, epsilon=2**14, granularity=2.0**-10, outputs=size) for size in (1, 200))
    outputs = [float(one.release(zero)) for _ in range(200)] + np.asarray(many.release([zero] * 200)).tolist()
    assert outputs.count(0.0) > 300
    assert not any(map(negative_zero, outputs))


def test_the_textbook_shows_the_sign_of_a_zero() -> None:
    bad = RoundedNoise(1e-6)
    assert any(negative_zero(bad.release(-0.0)) for _ in range(20))
    assert not any(negative_zero(bad.release(0.0)) for _ in range(20))


def digits(output: object) -> int:
    """Return the number of characters that an output prints."""
    return len(repr(output))


def test_the_number_of_digits_tells_nothing() -> None:
    pair = (337.0, 337.123456)
    m = tc.Laplace(sensitivity=1.0, epsilon=1)
    fair = tc.audit(m.release, *pair, epsilon=1, features=digits, samples=8000, confidence=SURE, seed=1)
    bad = tc.audit(RoundedNoise(1.0).release, *pair, epsilon=1, features=digits, samples=8000, confidence=SURE, seed=1)
    assert (fair.verdict, bad.verdict) == ("no violation found", "violates")


NUMBERS: list[Any] = [3, 3.0, np.float32(3), np.float16(3), np.int8(3), np.uint64(3), 2**40, 2.5]


def test_the_type_tells_nothing() -> None:
    m = tc.Laplace(sensitivity=1.0, epsilon=1)
    assert {type(m.release(number)) for number in NUMBERS} == {float}
    arrays = [np.array([3.0], dtype=kind) for kind in ("f2", "f4", "f8", "i1", "u8")]
    assert {np.asarray(tc.Laplace(sensitivity=1.0, epsilon=1).release(each)).dtype.str for each in arrays} == {"<f8"}
    whole = tc.Laplace(sensitivity=1, epsilon=1)
    assert {type(whole.release(number)) for number in (3, np.int8(3), np.uint64(3), 2**61)} == {int}
    assert {type(RoundedNoise(1.0).release(number)) for number in NUMBERS} > {float}


@pytest.mark.parametrize("number", [np.longdouble("0.5"), "3", True, 3j, None, Fraction(1, 2)], ids=repr)
def test_other_numbers_are_refused_by_their_type_alone(number: object) -> None:
    """A double is not wide enough for a long double: rounded twice, a value could move by one step more."""
    with pytest.raises(tc.InvalidError) as caught:
        tc.Laplace(sensitivity=1.0, epsilon=1).release(number)  # type: ignore[arg-type]  # what is tested
    assert "0.5" not in str(caught.value)


UNDERFLOWS = [(5e-324, 2.0), (1e-200, 1e200), (1e-310, 1e10)]


@pytest.mark.parametrize(("sensitivity", "epsilon"), UNDERFLOWS)
def test_a_scale_that_underflows_is_refused_or_noise_is_added(sensitivity: float, epsilon: float) -> None:
    """A scale of 0 in floats adds nothing. tacit's parameters are rationals, and its grid must fit into floats."""
    assert underflowing_laplace(1.0, sensitivity=sensitivity, epsilon=epsilon) == 1.0
    try:
        m = tc.Laplace(sensitivity=sensitivity, epsilon=epsilon)
    except tc.InvalidError:
        return
    scale = Fraction(repr(sensitivity)) / Fraction(repr(epsilon))
    assert m.event.scale * Fraction(repr(m.granularity)) >= scale * (1 - Fraction(1, 2**40))


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1e300, 1e-300), (1e308, 1e-10), (1.0, 5e-324)])
def test_a_scale_that_overflows_is_refused(sensitivity: float, epsilon: float) -> None:
    """An infinite scale gives NaN or infinity for one value and a number for another."""
    assert not math.isfinite(underflowing_laplace(1.0, sensitivity=sensitivity, epsilon=epsilon))
    with pytest.raises(tc.InvalidError):
        tc.Laplace(sensitivity=sensitivity, epsilon=epsilon)


FINE = [[0.5] * 50, [1 / 3] * 50, [math.pi / 4] * 50, [5e-324] * 50, [1 - 2**-53] * 50]


def opened(values: list[float]) -> Database:
    return tc.open(
        pa.table({"x": values}), name="t", unit=tc.ROW, bounds={"x": (0, 1)}, budget=tc.PureDP(epsilon=10**9)
    )


@pytest.mark.parametrize("values", FINE, ids=lambda values: repr(values[0]))
def test_a_released_sum_is_on_the_grid_of_its_plan(values: list[float]) -> None:
    with opened(values) as db:
        sql = "SELECT sum(x) AS s FROM t"
        step = db.plan(sql, epsilon=1).plan.bundles[0].measures[0].step
        sums = [float(db.sql(sql, epsilon=1)) for _ in range(20)]
    assert all((Fraction(each) / step).denominator == 1 for each in sums)
    bad = TextbookDatabase(pa.table({"x": values}))
    sums = [float(row[0]) for row in [bad.answer(sql, 1)[0] for _ in range(20)]]  # type: ignore[arg-type]  # a number
    assert not all((Fraction(each) / step).denominator == 1 for each in sums)


def test_released_averages_of_other_digits_have_the_same_form() -> None:
    """An average is a quotient of two noisy integers: the same integers give the same float, whatever the data."""
    with opened([0.5] * 50) as one, opened([1 / 3] * 50) as other:
        shown = [{type(db.sql("SELECT avg(x) AS a FROM t", epsilon=1).value) for _ in range(5)} for db in (one, other)]
        plans = [db.plan("SELECT avg(x) AS a FROM t", epsilon=1).plan.bundles for db in (one, other)]
    assert shown == [{float}, {float}]
    assert repr(plans[0]) == repr(plans[1])
