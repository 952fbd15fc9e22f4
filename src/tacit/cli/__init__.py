"""The command line: data to stdout, talk to stderr."""

from tacit.cli.main import main

__all__ = ["main"]
