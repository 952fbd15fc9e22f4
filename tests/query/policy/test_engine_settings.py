"""The settings of engines: their values, and which of argument, environment and policy counts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import InvalidError
from tacit.query.policy.engine_settings import (
    LEAST_MEMORY,
    EngineSettings,
    read_memory,
    read_temporary,
    read_threads,
    read_timeout,
    settle,
)
from tacit.query.policy.file import load
from tacit.query.policy.mistakes import PolicyError

POLICY = """budget = {{ epsilon = 1 }}
{engine}
[tables.visits]
source = "visits.csv"
each_row = true
"""


@pytest.mark.parametrize(
    "value",
    [0, -1, float("nan"), float("inf"), -0.0, 1e-9, 0.0099, True, False, "60", None, [60], 604_801, 10**400, 1j],
)
def test_a_time_limit_that_is_not_one_is_refused(value: object) -> None:
    with pytest.raises(InvalidError, match=r"^timeout must be a number of seconds from 0.01") as caught:
        read_timeout(value)
    assert caught.value.argument == "timeout"


@pytest.mark.parametrize("value", [60, 0.5, 0.01, Fraction(1, 3), np.float64(2.5), np.int64(7), 604_800])
def test_a_time_limit_is_any_number_of_seconds(value: float) -> None:
    assert read_timeout(value) == float(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("8GB", 8 * 10**9),
        ("8 GB", 8 * 10**9),
        ("8gb", 8 * 10**9),
        ("8GiB", 8 * 2**30),
        ("512 MiB", 512 * 2**20),
        ("0.5TB", 5 * 10**11),
        ("1_000MB", 10**9),
        ("8_000_000_000", 8 * 10**9),
        ("100000kB", 10**8),
        ("64000000B", LEAST_MEMORY),
        (8_000_000_000, 8 * 10**9),
        (np.int64(10**9), 10**9),
        (LEAST_MEMORY, LEAST_MEMORY),
        (10**15, 10**15),
    ],
)
def test_memory_is_bytes_or_a_text_with_a_unit(value: object, expected: int) -> None:
    assert read_memory(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        *("", "8", "8G", "GB", "8 Gigabytes", "8iB", "-8GB", "8,000MB", "8GB 8GB", "1e9", "٨GB", "nan", "9" * 5000),
        *("63MB", LEAST_MEMORY - 1, 10**15 + 1, "1001TB", 0, -(10**10), 8e9, True, None, float("nan"), b"8GB"),
    ],
)
def test_memory_that_is_too_small_or_not_a_size_is_refused(value: object) -> None:
    with pytest.raises(InvalidError, match=r'^memory must be a text such as "8GB"'):
        read_memory(value)


@pytest.mark.parametrize("value", [0, -1, 1025, True, 2.0, "4", None])
def test_threads_are_a_whole_number(value: object) -> None:
    assert read_threads(np.int64(4)) == 4
    with pytest.raises(InvalidError, match=r"^threads must be a whole number from 1 to 1,024"):
        read_threads(value)


@pytest.mark.parametrize("value", ["", " ", "a\0b", 5, True, b"/scratch", None, "~nobody-has-this-name/x"])
def test_a_directory_is_a_path(value: object) -> None:
    assert read_temporary("~/x") == Path("~/x").expanduser()
    with pytest.raises(InvalidError, match=r"^temporary must be the path of a directory"):
        read_temporary(value)


def test_arguments_come_before_the_environment_and_that_before_the_policy() -> None:
    policy = {"timeout": 1, "memory": "1GB", "threads": 1, "temporary": "p"}
    variables = {"TACIT_TIMEOUT": "2.5", "TACIT_MEMORY": "2GB", "TACIT_THREADS": "2", "TACIT_TEMPORARY": "e"}
    arguments = {"timeout": 3, "memory": 3 * 10**9, "threads": 3, "temporary": Path("a")}
    everything = frozenset(policy)
    assert settle({}, {}, {}) == EngineSettings()
    assert settle({}, policy, {}) == EngineSettings(
        timeout=1, memory=10**9, threads=1, temporary=Path("p"), declared=everything
    )
    from_environment = EngineSettings(timeout=2.5, memory=2 * 10**9, threads=2, temporary=Path("e"))
    assert settle({}, {}, variables) == from_environment  # not declared: it is ignored where it cannot apply
    assert settle(dict.fromkeys(policy), policy, variables).timeout == from_environment.timeout
    assert settle(arguments, policy, variables) == EngineSettings(
        timeout=3, memory=3 * 10**9, threads=3, temporary=Path("a"), declared=everything
    )
    assert settle({}, {}, dict.fromkeys(variables, "")) == EngineSettings()


@pytest.mark.parametrize(
    ("name", "text"), [("TIMEOUT", "soon"), ("TIMEOUT", "0"), ("TIMEOUT", "nan"), ("MEMORY", "8"), ("THREADS", "2.5")]
)
def test_an_error_names_the_variable(name: str, text: str) -> None:
    with pytest.raises(InvalidError, match=rf"^TACIT_{name} must be "):
        settle({}, {}, {f"TACIT_{name}": text})


def written(folder: Path, engine: str) -> Path:
    file = folder / "clinic.toml"
    file.write_text(POLICY.format(engine=engine), encoding="utf-8")
    return file


def test_a_policy_has_settings_that_do_not_change_its_version(tmp_path: Path) -> None:
    plain = load(written(tmp_path, ""))
    text = 'engine = { timeout = 600, memory = "8GB", threads = 4, temporary = "${WHERE}/spill" }'
    policy = load(written(tmp_path, text), environment={"WHERE": "scratch"})
    assert policy.version == plain.version
    settings = policy.engine_settings({}, {"WHERE": "scratch"})
    assert settings == EngineSettings(
        timeout=600,
        memory=8 * 10**9,
        threads=4,
        temporary=tmp_path / "scratch" / "spill",  # relative to the policy
        declared=frozenset({"timeout", "memory", "threads", "temporary"}),
    )
    assert plain.engine_settings({}, {}) == EngineSettings()


@pytest.mark.parametrize(
    ("engine", "messages"),
    [
        ("engine = { timeout = 0 }", ["engine.timeout must be a number of seconds from 0.01"]),
        ('engine = { memory = "8G", threads = 0 }', ["engine.memory must be", "engine.threads must be"]),
        ('engine = { time_out = 5, temporary = "" }', ["time_out is not a key", "temporary is not filled in"]),
        ('engine = { temporary = "${NOWHERE_SET}/x" }', ["NOWHERE_SET"]),
        ("engine = 5", ["engine must be a table of settings"]),
    ],
)
def test_every_mistake_is_at_its_line(tmp_path: Path, engine: str, messages: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        load(written(tmp_path, engine), environment={})
    assert len(caught.value.mistakes) == len(messages)
    for message in messages:
        assert message in str(caught.value)
    assert {mistake.line for mistake in caught.value.mistakes} == {2}
