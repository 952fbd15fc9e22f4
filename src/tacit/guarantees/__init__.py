"""Guarantees, the laws behind them, conversions, events and their composition; pure mathematics."""

from tacit.guarantees.values import ZCDP, ApproxDP, ApproxZCDP, GaussianDP, Guarantee, PureDP, RenyiDP

__all__ = ["ZCDP", "ApproxDP", "ApproxZCDP", "GaussianDP", "Guarantee", "PureDP", "RenyiDP"]
