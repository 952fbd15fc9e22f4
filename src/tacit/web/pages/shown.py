"""Numbers, amounts and times as the pages show them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite

from tacit.query.formatting import plain
from tacit.safe_text import visible

SYMBOLS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}


def amounts_text(amounts: Mapping[str, float] | None) -> str:
    """Return an amount of the budget as text.

    >>> amounts_text({"epsilon": 0.5, "delta": 1e-06}), amounts_text({"rho": 0.0})
    ('ε = 0.5, δ = 1e-06', 'ρ = 0')
    """
    parts = {name: value for name, value in (amounts or {}).items() if name != "delta" or value > 0}
    return ", ".join(f"{SYMBOLS.get(name, name)} = {value:.6g}" for name, value in parts.items())


def main_amount(amounts: Mapping[str, float] | None) -> float:
    """Return the ε or the ρ of an amount.

    >>> main_amount({"epsilon": 0.5, "delta": 1e-06})
    0.5
    """
    return next((value for name, value in (amounts or {}).items() if name != "delta"), 0.0)


def main_text(amounts: Mapping[str, float] | None) -> str:
    """Return the ε or the ρ of an amount as text.

    >>> main_text({"epsilon": 0.5, "delta": 1e-06})
    'ε = 0.5'
    """
    return amounts_text({name: value for name, value in (amounts or {}).items() if name != "delta"})


def part_of(amounts: Mapping[str, float], whole: Mapping[str, float]) -> float:
    """Return which part of a budget an amount is, from 0 to 1.

    >>> part_of({"epsilon": 1.0}, {"epsilon": 4.0})
    0.25
    """
    total = main_amount(whole)
    return min(1.0, main_amount(amounts) / total) if total > 0 else 0.0


def number_text(value: float | None) -> str:
    """Return a number with few digits and separated thousands.

    >>> number_text(45114.301), number_text(0.01234567), number_text(3.0), number_text(None)
    ('45,114', '0.01235', '3', '')
    """
    if value is None or not isfinite(value):
        return "" if value is None else plain(value)
    if abs(value) >= 1_000:  # noqa: PLR2004 - from here no decimals
        return f"{value:,.0f}"
    return f"{value:.4g}"


def cell_text(value: object) -> str:
    """Return a key or another exact value of an answer as text.

    >>> cell_text(None), cell_text(True), cell_text("north")
    ('NULL', 'yes', 'north')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "yes" if value else "no"
        case float():
            return number_text(value)
    return visible(str(value))


def time_text(seconds: int) -> str:
    """Return a time of the server in UTC.

    >>> time_text(0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
