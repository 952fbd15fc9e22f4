"""The version of tacit; `pyproject.toml` reads it from here."""

VERSION = "0.2.0"
