"""altair, loaded by the first chart: it is an extra, and slow to import."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tacit.errors import TacitError

__all__ = ["alt"]

if TYPE_CHECKING:
    import altair as alt
else:

    class _Altair:
        """Stands for the module until a chart is drawn."""

        def __getattr__(self, name: str) -> object:
            try:
                return getattr(import_module("altair"), name)
            except ImportError as missing:
                raise TacitError(
                    "A chart needs the package altair, which is not installed; nothing was released or spent. "
                    'Install it with: pip install "tacit[plot]"'
                ) from missing

    alt = _Altair()
