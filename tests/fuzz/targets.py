"""The fuzz targets by their names, and their corpora: a folder of inputs each, one file an input."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
DICTIONARIES = Path(__file__).parent / "dictionaries"
TARGETS: Mapping[str, str] = {
    "sql": "fuzz.sql_target",
    "policy": "fuzz.policy_target",
    "report": "fuzz.report_target",
    "event": "fuzz.event_target",
    "web": "fuzz.web_target",
}


def check_of(target: str) -> Callable[[bytes], None]:
    """Return the function that checks one input of a target."""
    check: Callable[[bytes], None] = import_module(TARGETS[target]).check
    return check


def corpus(target: str) -> dict[str, bytes]:
    """Return the inputs in the corpus of a target, by the names of their files."""
    return {path.name: path.read_bytes() for path in sorted((CORPUS / target).iterdir())}


def words_of(target: str) -> list[bytes]:
    """Return the words in the dictionary of a target, a file in the format of libFuzzer."""
    lines = (DICTIONARIES / f"{target}.txt").read_text(encoding="utf-8").splitlines()
    return [json.loads(line).encode() for line in lines]
