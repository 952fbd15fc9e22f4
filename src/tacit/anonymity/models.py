"""What a published table may be required to be: k-anonymous, l-diverse, t-close, (n, t)-close.

| requirement | every class of rows that share their quasi-identifiers |
|---|---|
| `KAnonymity(k)` | holds at least k rows; with `unit=`, rows of at least k persons |
| `LDiversity(l)` | holds at least l different sensitive values |
| `LDiversity(l, kind="entropy")` | has entropy at least log l |
| `LDiversity(l, kind="recursive", c=c)` | has r₁ < c·(r_l + … + r_m), counts r in falling order |
| `TCloseness(t)` | is at most t from the whole table, by Earth Mover's Distance |
| `NTCloseness(n, t)` | is at most t from a natural superset of at least n rows |

A natural superset of a class is the set of all rows that agree with it on some of its quasi-identifiers: all of them
(the class itself), any selection, or none (the whole table).

Numbers mean the decimal that Python prints, and every decision is exact: a class that meets t = 0.2 exactly meets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias, cast

from tacit.anonymity.exact import fraction
from tacit.anonymity.hierarchies import Rule
from tacit.errors import InvalidError, show

Kind: TypeAlias = Literal["distinct", "entropy", "recursive"]
Distance: TypeAlias = Literal["equal", "ordered", "hierarchical"]
_KINDS, _DISTANCES = ("distinct", "entropy", "recursive"), ("equal", "ordered", "hierarchical")


def _whole(value: object, argument: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidError(argument, show(value), "a whole number ≥ 1")


def _share(value: object, argument: str) -> Fraction:
    exact = fraction(value, argument, "a number from 0 to 1")
    if not 0 <= exact <= 1:
        raise InvalidError(argument, show(value), "a number from 0 to 1")
    return exact


@dataclass(frozen=True, slots=True)
class KAnonymity:
    """Every class holds at least k rows, or rows of k persons (Samarati and Sweeney 1998).

    >>> KAnonymity(5)
    KAnonymity(k=5)
    """

    k: int

    def __post_init__(self) -> None:
        """Check k."""
        _whole(self.k, "k")


@dataclass(frozen=True, slots=True)
class LDiversity:
    """Every class has at least l well-represented sensitive values (Machanavajjhala et al. 2006).

    >>> LDiversity(3, kind="entropy").level
    Fraction(3, 1)
    """

    l: float  # noqa: E741 - the literature's letter
    kind: Kind = "distinct"
    c: float | None = None
    column: str | None = None
    level: Fraction = field(init=False, repr=False)
    share: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the kind and what it needs."""
        if self.kind not in _KINDS:
            raise InvalidError("kind", show(self.kind), f"one of {', '.join(_KINDS)}")
        if self.kind != "entropy":
            _whole(self.l, "l")
        object.__setattr__(self, "level", fraction(self.l, "l", "a number ≥ 1"))
        if self.level < 1:
            raise InvalidError("l", show(self.l), "a number ≥ 1")
        if (self.c is None) == (self.kind == "recursive"):
            raise InvalidError("c", show(self.c), "given for recursive diversity, and for no other kind")
        object.__setattr__(self, "share", Fraction(0) if self.c is None else fraction(self.c, "c", "a number > 0"))
        if self.c is not None and self.share <= 0:
            raise InvalidError("c", show(self.c), "a number > 0")


@dataclass(frozen=True, slots=True)
class TCloseness:
    """Every class is at most t from the whole table (Li, Li and Venkatasubramanian 2007).

    >>> TCloseness(0.2).bound
    Fraction(1, 5)

    Args:
        t: the distance.
        distance: between two sensitive values: "equal", "ordered" or "hierarchical".
        hierarchy: of the sensitive values; for the ordered distance, their order from low to high.
        column: the sensitive column; every one of them where it is not given.
    """

    t: float
    distance: Distance = "equal"
    hierarchy: Rule | Sequence[object] | None = None
    column: str | None = None
    bound: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check t and the distance."""
        object.__setattr__(self, "bound", _share(self.t, "t"))
        _check_distance(self.distance, self.hierarchy)


@dataclass(frozen=True, slots=True)
class NTCloseness:
    """Every class is at most t from a natural superset of at least n rows (Li, Li and Venkatasubramanian 2010).

    >>> NTCloseness(1000, 0.2).bound
    Fraction(1, 5)
    """

    n: int
    t: float
    distance: Distance = "equal"
    hierarchy: Rule | Sequence[object] | None = None
    column: str | None = None
    bound: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check n, t and the distance."""
        _whole(self.n, "n")
        object.__setattr__(self, "bound", _share(self.t, "t"))
        _check_distance(self.distance, self.hierarchy)


Model: TypeAlias = KAnonymity | LDiversity | TCloseness | NTCloseness
MODELS = (KAnonymity, LDiversity, TCloseness, NTCloseness)


def models_of(require: object) -> tuple[Model, ...]:
    """Return requirements as a tuple: one, or a list of them.

    Raises:
        InvalidError: there is none, or one that is no requirement.
    """
    given = (require,) if isinstance(require, MODELS) or not isinstance(require, Iterable) else tuple(require)
    for model in given:
        if not isinstance(model, MODELS):
            raise InvalidError("require", show(model), "KAnonymity, LDiversity, TCloseness or NTCloseness")
    if not given:
        raise InvalidError("require", "nothing", "at least one requirement")
    return cast("tuple[Model, ...]", given)


def _check_distance(distance: object, tree: object) -> None:
    if distance not in _DISTANCES:
        raise InvalidError("distance", show(distance), f"one of {', '.join(_DISTANCES)}")
    if distance == "hierarchical" and tree is None:
        raise InvalidError("hierarchy", "none", "given for the hierarchical distance")


def say(model: Model) -> str:
    """Return a requirement in words.

    >>> say(LDiversity(3, kind="entropy")), say(TCloseness(0.2))
    ('entropy 3-diversity', '0.2-closeness (equal)')
    """
    of = "" if isinstance(model, KAnonymity) or model.column is None else f" of {model.column}"
    match model:
        case KAnonymity(k=k):
            return f"{k}-anonymity"
        case LDiversity(l=l, kind="recursive", c=c):
            return f"recursive ({c}, {l})-diversity{of}"
        case LDiversity(l=l, kind=kind):
            return f"{kind} {l}-diversity{of}"
        case TCloseness(t=t, distance=distance):
            return f"{t}-closeness ({distance}){of}"
        case NTCloseness(n=n, t=t, distance=distance):
            return f"({n}, {t})-closeness ({distance}){of}"
