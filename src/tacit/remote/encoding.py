"""Arguments as JSON, and values and amounts from JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tacit.errors import bad_value
from tacit.guarantees.exact import Exact, to_fraction
from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tacit.query.expressions import Kind, Value

Guarantee = PureDP | ApproxDP | ZCDP | ApproxZCDP

_AMOUNTS = ("epsilon", "delta", "rho", "share", "spend")


def encoded(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a question as JSON; a missing one, which is None, is left out.

    >>> encoded({"epsilon": Fraction(1, 3), "bounds": {"day": (date(2026, 1, 1), date(2026, 1, 2))}, "keys": None})
    {'epsilon': '1/3', 'bounds': {'day': [{'date': '2026-01-01'}, {'date': '2026-01-02'}]}}
    """
    return {name: _encoded(name, value) for name, value in options.items() if value is not None}


def _encoded(name: str, value: object) -> object:
    if name in _AMOUNTS or (name == "error" and not isinstance(value, Mapping)):
        return _amount(name, value)
    if name == "error" and isinstance(value, Mapping):
        return {str(each): _amount(name, error) for each, error in value.items()}
    if name == "confidence" and isinstance(value, int):
        return float(value)
    return _cell(name, value)


def _amount(name: str, value: object) -> float | str:
    """Return a number as JSON, or as a fraction if no float has its value."""
    if isinstance(value, (int, float)) and not isinstance(value, (bool, Exact)):
        return value
    fraction = to_fraction(value, name)
    number = float(fraction)
    return number if Fraction(repr(number)) == fraction else f"{fraction.numerator}/{fraction.denominator}"


def _cell(name: str, value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case date():
            kind = "timestamp" if isinstance(value, datetime) else "date"
            return {kind: value.isoformat()}
        case Decimal() | Fraction():
            return float(value)
        case Mapping():
            return {str(key): _cell(name, each) for key, each in value.items()}
        case Sequence():
            return [_cell(name, each) for each in value]
    if not hasattr(value, "tolist"):
        raise bad_value(name, value, "a value that JSON has")
    return _cell(name, value.tolist())


def value_of(value: Any, kind: Kind) -> Value:  # noqa: ANN401 - JSON
    """Return a value of JSON as one of its kind.

    >>> value_of("2026-01-31", "date"), value_of(3, "real")
    (datetime.date(2026, 1, 31), 3.0)
    """
    if value is None:
        return None
    match kind:
        case "date":
            return date.fromisoformat(value)
        case "timestamp":
            return datetime.fromisoformat(value)
        case "real":
            return float(value)
    return value  # type: ignore[no-any-return]  # a number, a text or a truth value


def guarantee_of(amounts: Mapping[str, float]) -> Guarantee:
    """Return the guarantee or budget of its amounts.

    >>> guarantee_of({"epsilon": 0.5}), guarantee_of({"rho": 0.1})
    (PureDP(epsilon=0.5), ZCDP(rho=0.1))
    """
    delta = amounts.get("delta")
    if "rho" in amounts:
        rho = amounts["rho"]
        return ZCDP(rho=rho) if delta is None else ApproxZCDP(rho=rho, delta=delta)
    epsilon = amounts["epsilon"]
    return PureDP(epsilon=epsilon) if delta is None else ApproxDP(epsilon=epsilon, delta=delta)
