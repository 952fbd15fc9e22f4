"""The log of the server: one line for each request and event, as text or as JSON, without a value of the data."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from tacit.activity import LOGGER as ROOT
from tacit.safe_text import visible


class Facts(logging.Formatter):
    """A line of text: time, logger, level, message, and facts as name=value."""

    def __init__(self) -> None:
        """Choose the fields."""
        super().__init__("%(asctime)s %(name)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with characters that could control a terminal escaped."""
        facts = getattr(record, "facts", {})
        words = [f"{name}={json.dumps(value) if ' ' in str(value) else value}" for name, value in facts.items()]
        return visible(" ".join([super().format(record).partition("\n")[0], *words]))


class JsonFacts(logging.Formatter):
    """A line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        content: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "logger": record.name,
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        return json.dumps(content)


def start_log(level: str, form: str) -> None:
    """Write the log of tacit to stderr, from a level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFacts() if form == "json" else Facts())
    ROOT.addHandler(handler)
    ROOT.setLevel(level.upper())
