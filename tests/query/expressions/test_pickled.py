"""Expressions in another process, where texts have other hashes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

from tacit.query.expressions import Call, Case, Cast, Column, Constant, Expression

AGE = Column("age", "integer")
LATER = Call("add", (AGE, Constant(1, "integer")), "integer")


@pytest.mark.parametrize(
    "expression", [Cast(LATER, "real"), LATER, Case(((Cast(AGE, "boolean"), LATER),), None, "integer")]
)
def test_an_expression_from_another_process_has_the_hash_of_this_one(expression: Expression) -> None:
    write = "import pickle, sys; sys.stdout.buffer.write(pickle.dumps(pickle.loads(sys.stdin.buffer.read())))"
    ran = subprocess.run(  # noqa: S603 - this file alone gives it
        [sys.executable, "-c", write],
        input=pickle.dumps(expression),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert hash(pickle.loads(ran.stdout)) == hash(expression)  # noqa: S301 - written above
