"""The version of this software, where everything may read it."""

VERSION = "0.1.0"
