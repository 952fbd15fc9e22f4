"""What is promised: frozen values, the laws behind them, conversions and events; pure mathematics."""

from tacit.guarantees.values import ZCDP, ApproxDP, Guarantee, PureDP

__all__ = ["ZCDP", "ApproxDP", "Guarantee", "PureDP"]
