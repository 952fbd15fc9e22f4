"""The options of `tacit local` that make a protocol: its name, ε, and the constants that a survey may choose itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.errors import InvalidError, UnusedOptionError, bad_value
from tacit.local import Protocol, Warner
from tacit.local.parameters import ORACLES

_TAKE_P = ("Warner", "GRR", "SUE", "OUE", "BLH", "OLH")
_TAKERS = {"p": _TAKE_P, "q": ("OUE",), "buckets": ("OLH",), "size": ("SubsetSelection",)}
_BESIDE_EPSILON = {**_TAKERS, "p": ("OUE",)}
"""By constant: the protocols that take it; with ε, p is for OUE alone, because for others ε follows from p."""
_SYMBOLS = {"epsilon": "ε", "p": "p", "q": "q", "buckets": "g", "size": "k"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolOptions:
    """The numbers that fix the law of a protocol: ε, or its own p; and its other constants."""

    epsilon: float | None
    p: float | None
    q: float | None = None
    buckets: int | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        """Check that something determines ε."""
        if self.epsilon is None and self.p is None:
            hint = "Give one of --epsilon and --p."
            raise InvalidError("Neither --epsilon nor --p is given.", argument="--epsilon", hint=hint)
        if self.q is not None and (self.p is None or self.epsilon is not None):
            hint = "Give --p and --q, from which ε follows."
            problem = "--q needs --p." if self.p is None else "--epsilon and --q exclude each other."
            raise InvalidError(problem, argument="--q", hint=hint)

    def __str__(self) -> str:
        """Return the numbers that are given, such as "ε = 1, g = 5"."""
        return ", ".join(f"{_SYMBOLS[name]} = {value:g}" for name, value in self._given().items())

    @property
    def own(self) -> dict[str, float]:
        """The constants beside ε that are given."""
        return {name: value for name, value in self._given().items() if name != "epsilon"}

    @property
    def implied(self) -> str | None:
        """The protocol that a constant implies if none is named: the only one that takes it, and Warner for p."""
        takers = [_TAKERS[name][0] for name in ("q", "buckets", "size", "p") if name in self.own]
        return takers[0] if takers else None

    def make_all(self, names: Sequence[str], values: object) -> list[Protocol]:
        """Return the protocols of these names, in upper or lower case, for a domain.

        Raises:
            InvalidError: a name is unknown, or a protocol does not fit the domain or the numbers.
            UnusedOptionError: no protocol takes a constant that is given.
        """
        known = [_known_name(name) for name in names]
        takers = _TAKERS if self.epsilon is None else _BESIDE_EPSILON
        for constant in self.own:
            if not set(known) & set(takers[constant]):
                raise self._refusal(constant, known)
        return [self._make(name, values, takers) for name in known]

    def _make(self, name: str, values: object, takers: dict[str, tuple[str, ...]]) -> Protocol:
        numbers = {constant: value for constant, value in self.own.items() if name in takers[constant]}
        if self.epsilon is not None:
            numbers["epsilon"] = self.epsilon
        elif "p" not in numbers:
            hint = f"--p is for {', '.join(_TAKE_P)}."
            raise InvalidError(f"{name} needs --epsilon.", argument="--epsilon", hint=hint)
        elif name == "OLH" and self.buckets is None:
            hint = "Give the number of buckets, such as 4."
            raise InvalidError("OLH needs --buckets with --p.", argument="--buckets", hint=hint)
        try:
            return (
                Warner(words=_yes_no(values), **numbers)
                if name == "Warner"
                else ORACLES[name](domain=values, **numbers)
            )
        except InvalidError as error:
            if error.argument in numbers:  # named as in Python
                message = error.message.replace(error.argument, f"--{error.argument}", 1)
                raise InvalidError(message, argument=f"--{error.argument}", hint=error.hint) from None
            raise

    def _refusal(self, constant: str, known: Sequence[str]) -> InvalidError:
        if constant == "p" and set(known) & set(_TAKE_P):
            hint = "Give one of them. Only OUE takes both."
            return InvalidError("--epsilon and --p exclude each other.", argument="--epsilon", hint=hint)
        return UnusedOptionError(
            f"--{constant}",
            f"with {' and '.join(known)}",
            hint=f"Remove it. It is for {', '.join(_TAKERS[constant])}.",
        )

    def _given(self) -> dict[str, float]:
        numbers = {"epsilon": self.epsilon, "p": self.p, "q": self.q, "buckets": self.buckets, "size": self.size}
        return {name: value for name, value in numbers.items() if value is not None}


def _known_name(name: str) -> str:
    """Return the name of a protocol as it is written.

    Raises:
        InvalidError: there is no such protocol.
    """
    for known in ("Warner", *ORACLES):
        if known.lower() == name.lower():
            return known
    raise bad_value("--protocol", name, f"one of Warner, {', '.join(ORACLES)}")


def _yes_no(values: object) -> list[str] | None:
    """Return the words of a domain of two texts; None for two numbers, or false and true."""
    if values in (2, [False, True]):
        return None
    if isinstance(values, list) and len(values) == 2 and all(isinstance(value, str) for value in values):  # noqa: PLR2004 - yes and no
        return values
    raise InvalidError(
        "Warner's protocol asks yes or no, so it does not fit this domain.",
        argument="--protocol",
        hint="Give two texts (--words yes,no or a file of two lines), or name another protocol.",
    )


def read_words(text: str) -> list[str]:
    """Return the words of `--words yes,no`."""
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(words) or words[0] == words[1]:  # noqa: PLR2004 - yes and no
        raise bad_value("--words", text, "two different words with a comma between them, such as yes,no")
    return words
