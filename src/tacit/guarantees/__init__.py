"""What is promised: frozen values, the laws behind them, conversions and events; pure mathematics."""

from tacit.guarantees.values import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP

__all__ = ["ZCDP", "ApproxDP", "GaussianDP", "Guarantee", "PureDP", "RenyiDP"]
