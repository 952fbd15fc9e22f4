"""A search of a small table runs in Python and finds what the compiled search finds; a first try does not compile."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import tacit as tc
from tacit.anonymity import compilation, kernels, optimal, partitions, search_arrays
from tacit.anonymity.candidates import SearchMethod
from tacit.anonymity.class_kernels import number_pairs
from tacit.anonymity.lattice_kernels import walk

DISEASES = ["flu", "cold", "heart", "cancer", "none"]
REQUIREMENTS = (
    (tc.KAnonymity(4),),
    (tc.KAnonymity(3), tc.LDiversity(2)),
    (tc.LDiversity(2, kind="entropy"),),
    (tc.LDiversity(2, kind="recursive", c=3),),
    (tc.KAnonymity(2), tc.TCloseness(0.4)),
    (tc.KAnonymity(2), tc.NTCloseness(20, 0.4)),
)


def _table(rows: int, seed: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    return {
        "zip": [f"{zip_:05d}" for zip_ in rng.integers(47_000, 47_030, rows)],
        "age": rng.integers(20, 70, rows).tolist(),
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "disease": rng.choice(DISEASES, rows, p=[0.4, 0.3, 0.1, 0.1, 0.1]).tolist(),
    }


def _answers(rows: dict[str, list[Any]], require: tuple[Any, ...], **options: Any) -> list[Any]:  # noqa: ANN401 - of anonymize
    methods: tuple[SearchMethod, ...] = (
        ("optimal",) if isinstance(require[-1], tc.NTCloseness) else ("optimal", "local", "mondrian")
    )
    found: list[Any] = []
    for method in methods:
        given = {**options, "suppression": 0.1} if method == "optimal" else options
        out = tc.anonymity.anonymize(
            rows, quasi=["zip", "age", "sex"], sensitive="disease", require=list(require), method=method, **given
        )
        proof = out.certificate and (out.certificate.bounded, out.certificate.cut, out.certificate.tied)
        found.append((out.levels, out.suppressed, proof, pytest.approx(out.loss, abs=1e-12), out.report.classes))
    return found


def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels run in Python that other tests have used compiled, or often."""
    monkeypatch.setattr(kernels, "_SPENT", defaultdict(float))
    for module in (kernels, optimal):
        monkeypatch.setattr(module, "COMPILED", set())


def _refuse(function: kernels.Kernel) -> kernels.Kernel:
    raise AssertionError(f"{function.__name__} is compiled")


@pytest.mark.parametrize("require", REQUIREMENTS, ids=lambda require: type(require[-1]).__name__)
@pytest.mark.parametrize("mean", ["geometric", "arithmetic"])
def test_python_and_the_compiler_find_the_same(
    require: tuple[Any, ...], mean: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _table(60, seed=len(mean))
    _forget(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(compilation, "compiled", _refuse)
        plain = _answers(rows, require, mean=mean)
    for module in (optimal, partitions, search_arrays):
        monkeypatch.setattr(module, "is_plain", lambda *_: False)
    assert _answers(rows, require, mean=mean) == plain


@pytest.mark.parametrize("work", [0, 500, 5_000])
def test_a_walk_that_begins_in_python_goes_on_compiled(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, require = _table(60, seed=5), (tc.KAnonymity(2), tc.LDiversity(2))
    _forget(monkeypatch)
    whole = _answers(rows, require)
    _forget(monkeypatch)
    monkeypatch.setattr(optimal, "_PLAIN_STEPS", 60)
    monkeypatch.setattr(optimal, "_PLAIN_WORK", work)
    assert _answers(rows, require) == whole


def test_a_first_try_does_not_import_the_compiler() -> None:
    code = (
        "import sys, tacit as tc\n"
        "rows = {'zip': ['47677', '47602', '47678', '47905', '47909', '47906'], 'age': [29, 22, 27, 43, 52, 47]}\n"
        "rows['disease'] = ['a', 'a', 'b', 'c', 'd', 'd']\n"
        "require = [tc.KAnonymity(3), tc.LDiversity(2)]\n"
        "out = tc.anonymity.anonymize(rows, quasi=['zip', 'age'], sensitive='disease', require=require)\n"
        "assert out.report.k == 3, out.report\n"
        "assert 'numba' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603 - fixed code
    assert done.returncode == 0, done.stderr


def test_a_kernel_that_takes_long_in_all_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    _forget(monkeypatch)
    assert kernels.is_plain(walk, 60, 30, 100)
    with kernels.running(walk, plain=True):
        pass
    assert kernels.is_plain(walk, 60, 30, 100)
    monkeypatch.setattr(kernels, "_PATIENCE", -1.0)
    with kernels.running(walk, plain=True):
        pass
    assert not kernels.is_plain(walk, 60, 30, 100)
    assert not kernels.is_plain(number_pairs, 101, 30, 100)
