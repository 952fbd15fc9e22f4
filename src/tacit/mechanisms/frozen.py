"""Frozen objects: a mechanism's law, grid and guarantee are fixed at construction."""

from __future__ import annotations

from tacit.guarantees.composition import HasEvent, compose
from tacit.guarantees.privacy_loss import LossAt, PrivacyLoss
from tacit.notebook import fields_html
from tacit.safe_text import html_lines

_SHOWN = ("guarantee", "scale", "sigma", "sensitivity", "outputs", "granularity", "monotone", "p", "std", "threshold")
"""The attributes that notebooks show, of mechanisms that have them."""


class Frozen:
    """An object whose attributes are set in `__init__` only. Its representation is the call that constructs it."""

    _frozen: bool = False
    _arguments: tuple[str, ...] = ()

    @property
    def loss(self: HasEvent) -> PrivacyLoss:
        """The privacy loss of one release as a random variable: its value at an output, moments, Pr[L > ε] and δ(ε)."""
        loss_at: LossAt | None = getattr(self, "_loss_at", None)
        return PrivacyLoss(compose([self]).parts, loss_at)

    def __setattr__(self, name: str, value: object) -> None:
        """Raise AttributeError on any change after construction."""
        if self._frozen:
            raise AttributeError(f"{type(self).__name__} is frozen. Construct a new one instead of changing {name}.")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        """Raise AttributeError on any deletion."""
        raise AttributeError(f"{type(self).__name__} is frozen. {name} cannot be deleted.")

    def _freeze(self, **arguments: object) -> None:
        """End construction and store the arguments for the representation, without those that are None."""
        self._arguments = tuple(f"{name}={value!r}" for name, value in arguments.items() if value is not None)
        self._frozen = True

    def __repr__(self) -> str:
        """Return the call that constructs this object."""
        return f"{type(self).__name__}({', '.join(self._arguments)})"

    def _repr_html_(self) -> str:
        """Return the call that constructs this object, and what it guarantees, as HTML for notebooks."""
        return html_lines([repr(self)]) + fields_html(self, _SHOWN)
