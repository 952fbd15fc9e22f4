"""The tools that build the site are scripts, not a package: tests here import them from `tools/`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
