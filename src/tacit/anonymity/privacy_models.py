"""The privacy models that a published table can be required to meet.

| model | requirement on every class of rows that share their quasi-identifiers |
|---|---|
| `KAnonymity(k)` | it has at least k rows; with `unit=`, rows of at least k persons |
| `LDiversity(l)` | it has at least l different sensitive values |
| `LDiversity(l, kind="entropy")` | its entropy is at least log l |
| `LDiversity(l, kind="recursive", c=c)` | r₁ < c·(r_l + … + r_m), for its counts r in falling order |
| `TCloseness(t)` | its Earth Mover's Distance from the whole table is at most t |
| `NTCloseness(n, t)` | its distance from a natural superset of at least n rows is at most t |

A natural superset of a class is the set of all rows that agree with it on a selection of the quasi-identifiers. If the
selection is all of them, it is the class itself; if it is empty, the whole table.

A number stands for the decimal that Python prints, and every decision is exact: a class with a distance of exactly 0.2
meets t = 0.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias, cast

from tacit.anonymity.hierarchies import HierarchyRule
from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import to_fraction
from tacit.notebook import ShownAsFields

DiversityKind: TypeAlias = Literal["distinct", "entropy", "recursive"]
Distance: TypeAlias = Literal["equal", "ordered", "hierarchical"]
_KINDS, _DISTANCES = ("distinct", "entropy", "recursive"), ("equal", "ordered", "hierarchical")


def _require_whole(value: object, argument: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise bad_value(argument, value, "a whole number ≥ 1")


def share_of(value: object, argument: str) -> Fraction:
    """Return a parameter that is a number from 0 to 1 as the decimal that Python prints."""
    exact = to_fraction(value, argument, "a number from 0 to 1")
    if not 0 <= exact <= 1:
        raise bad_value(argument, value, "a number from 0 to 1")
    return exact


@dataclass(frozen=True, slots=True)
class KAnonymity(ShownAsFields):
    """Every class has at least k rows, or rows of k persons (Samarati and Sweeney 1998).

    >>> KAnonymity(5)
    KAnonymity(k=5)

    Args:
        k: the least number of rows or persons of a class.
    """

    k: int

    def __post_init__(self) -> None:
        """Check k."""
        _require_whole(self.k, "k")


@dataclass(frozen=True, slots=True)
class LDiversity(ShownAsFields):
    """Every class has at least l well-represented sensitive values (Machanavajjhala et al. 2006).

    >>> LDiversity(3, kind="entropy").level
    Fraction(3, 1)

    Args:
        l: the least diversity of a class.
        kind: "distinct", "entropy" or "recursive".
        c: for "recursive": the most frequent value of a class has less than c times the rows of all from the l-th on.
        column: the sensitive column; by default, every sensitive column.

    Attributes:
        level: l as an exact number.
        share: c as an exact number; 0 without c.
    """

    l: float  # noqa: E741 - the literature's letter
    kind: DiversityKind = "distinct"
    c: float | None = None
    column: str | None = None
    level: Fraction = field(init=False, repr=False)
    share: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the kind and its parameters."""
        if self.kind not in _KINDS:
            raise bad_value("kind", self.kind, f"one of {', '.join(_KINDS)}")
        if self.kind != "entropy":
            _require_whole(self.l, "l")
        object.__setattr__(self, "level", to_fraction(self.l, "l", "a number ≥ 1"))
        if self.level < 1:
            raise bad_value("l", self.l, "a number ≥ 1")
        if self.c is None and self.kind == "recursive":
            raise InvalidError("Recursive diversity needs c.", argument="c", hint="Give c, a number > 0.")
        if self.c is not None and self.kind != "recursive":
            raise InvalidError(f"c has no effect on {self.kind} diversity.", argument="c", hint="Remove it.")
        object.__setattr__(self, "share", Fraction(0) if self.c is None else to_fraction(self.c, "c", "a number > 0"))
        if self.c is not None and self.share <= 0:
            raise bad_value("c", self.c, "a number > 0")


@dataclass(frozen=True, slots=True)
class TCloseness(ShownAsFields):
    """Every class is at most t from the whole table (Li, Li and Venkatasubramanian 2007).

    >>> TCloseness(0.2).bound
    Fraction(1, 5)

    Args:
        t: the distance.
        distance: between two sensitive values: "equal", "ordered" or "hierarchical".
        hierarchy: of the sensitive values; for the ordered distance, their order from low to high.
        column: the sensitive column; by default, every sensitive column.

    Attributes:
        bound: t as an exact number.
    """

    t: float
    distance: Distance = "equal"
    hierarchy: HierarchyRule | Sequence[object] | None = None
    column: str | None = None
    bound: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check t and the distance."""
        object.__setattr__(self, "bound", share_of(self.t, "t"))
        _check_distance(self.distance, self.hierarchy)


@dataclass(frozen=True, slots=True)
class NTCloseness(ShownAsFields):
    """Every class is at most t from a natural superset of at least n rows (Li, Li and Venkatasubramanian 2010).

    >>> NTCloseness(1000, 0.2).bound
    Fraction(1, 5)

    Args:
        n: the least number of rows of the superset.
        t: the distance.
        distance: between two sensitive values: "equal", "ordered" or "hierarchical".
        hierarchy: of the sensitive values; for the ordered distance, their order from low to high.
        column: the sensitive column; by default, every sensitive column.

    Attributes:
        bound: t as an exact number.
    """

    n: int
    t: float
    distance: Distance = "equal"
    hierarchy: HierarchyRule | Sequence[object] | None = None
    column: str | None = None
    bound: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check n, t and the distance."""
        _require_whole(self.n, "n")
        object.__setattr__(self, "bound", share_of(self.t, "t"))
        _check_distance(self.distance, self.hierarchy)


Model: TypeAlias = KAnonymity | LDiversity | TCloseness | NTCloseness
MODELS = (KAnonymity, LDiversity, TCloseness, NTCloseness)
_MODEL_NAMES = "KAnonymity, LDiversity, TCloseness or NTCloseness"


def require_model(model: object) -> None:
    """Check that an object is a requirement."""
    if not isinstance(model, MODELS):
        raise bad_value("a requirement", model, _MODEL_NAMES)


def column_of(model: Model) -> str | None:
    """Return the sensitive column that a requirement names, if any."""
    return None if isinstance(model, KAnonymity) else model.column


def models_of(require: object) -> tuple[Model, ...]:
    """Return one requirement, or a list of them, as a tuple.

    Raises:
        InvalidError: the list is empty, or an item is not a requirement.
    """
    models = (require,) if isinstance(require, MODELS) or not isinstance(require, Iterable) else tuple(require)
    for model in models:
        if not isinstance(model, MODELS):
            raise bad_value("require", model, _MODEL_NAMES)
    if not models:
        raise InvalidError("require is empty.", argument="require", hint=f"Give at least one of {_MODEL_NAMES}.")
    return cast("tuple[Model, ...]", models)


def _check_distance(distance: object, tree: object) -> None:
    if distance not in _DISTANCES:
        raise bad_value("distance", distance, f"one of {', '.join(_DISTANCES)}")
    if distance == "hierarchical" and tree is None:
        raise InvalidError(
            "The hierarchical distance needs a hierarchy of the sensitive values.",
            argument="hierarchy",
            hint="Give hierarchy=….",
        )


def describe(model: Model) -> str:
    """Return the name of a requirement with its parameters.

    >>> describe(LDiversity(3, kind="entropy")), describe(TCloseness(0.2))
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
