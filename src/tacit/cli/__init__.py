"""The command line: data on stdout, messages on stderr."""

from tacit.cli.main import main

__all__ = ["main"]
