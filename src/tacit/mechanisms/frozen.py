"""A mechanism's law, grid and guarantee are fixed when it is made."""

from __future__ import annotations


class Fixed:
    """A value whose attributes are set in `__init__` and never again; shown as the call that makes it."""

    _made: bool = False
    _shown: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse any change after construction."""
        if self._made:
            raise AttributeError(f"{type(self).__name__} is fixed; make a new one instead of changing {name}.")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        """Refuse any removal."""
        raise AttributeError(f"{type(self).__name__} is fixed; {name} cannot be removed.")

    def _fix(self, **shown: object) -> None:
        """End construction; remember the arguments that made this mechanism."""
        self._shown = tuple(f"{name}={value!r}" for name, value in shown.items() if value is not None)
        self._made = True

    def __repr__(self) -> str:
        """Show the call that makes this mechanism."""
        return f"{type(self).__name__}({', '.join(self._shown)})"
