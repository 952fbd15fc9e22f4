from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit import InvalidError, TacitError
from tacit.errors import BudgetError, RefusedError, SourceError, bad_value, show


def test_the_public_names_are_the_listed_ones() -> None:
    listed = (Path(__file__).parent / "surface.txt").read_text().split()
    assert sorted(tacit.__all__) == listed
    assert all(hasattr(tacit, name) for name in listed)


@pytest.mark.parametrize("kind", [InvalidError, RefusedError, BudgetError, SourceError])
def test_every_error_stands_under_one_root(kind: type[Exception]) -> None:
    assert issubclass(kind, TacitError)


def test_an_invalid_argument_is_also_a_value_error_and_crosses_processes() -> None:
    error = bad_value("epsilon", -1, "a number > 0", hint="Use 0.1.")
    assert isinstance(error, ValueError)
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (twin.argument, twin.hint, str(twin)) == ("epsilon", "Use 0.1.", str(error))


def test_a_shown_parameter_is_never_long_and_never_fails() -> None:
    assert show(-1) == "-1"
    assert len(show("x" * 10_000)) < 100
    assert show(10**5000) == "a number of thousands of digits"


def test_a_column_handed_in_by_mistake_is_not_shown() -> None:
    salaries = np.array([31_415.0, 27_182.0, 16_180.0])
    for call in (
        lambda: tacit.sensitivity.mean(salaries, 3, neighbours="change one"),  # type: ignore[arg-type]
        lambda: tacit.Laplace(sensitivity=1, epsilon=salaries),
        lambda: tacit.SmoothMedian(bounds=salaries.tolist(), epsilon=1, delta=1e-6),
    ):
        with pytest.raises(InvalidError) as caught:
            call()
        assert "31" not in str(caught.value)
