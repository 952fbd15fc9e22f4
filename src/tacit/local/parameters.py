"""Read public parameters: `protocol` returns the protocol that they describe.

The constants of a protocol follow from its name, the domain, ε and what the survey chose itself. `protocol` computes
them and refuses parameters with other constants: a server cannot claim one ε and let people draw with another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from typing import cast

from tacit.errors import InvalidError, bad_value
from tacit.local.base import FORMAT, VERSION, Protocol
from tacit.local.domain import read_domain
from tacit.local.grr import GRR
from tacit.local.hadamard import Hadamard
from tacit.local.local_hashing import BLH, OLH
from tacit.local.projective_geometry import ProjectiveGeometry
from tacit.local.response_law import LONGEST
from tacit.local.subset_selection import SubsetSelection
from tacit.local.unary_encoding import OUE, SUE
from tacit.local.warner import Warner

ORACLES: dict[str, Callable[..., Protocol]] = {
    kind.__name__: kind for kind in (GRR, SUE, OUE, BLH, OLH, Hadamard, SubsetSelection, ProjectiveGeometry)
}
_OWN = {"GRR": ("p",), "SUE": ("p",), "OUE": ("p", "q"), "BLH": ("p",), "OLH": ("p",)}
"""The probabilities that a survey may choose itself; ε follows from them, except for OUE with p alone."""
_CHOSEN = {"OLH": ("buckets",), "SubsetSelection": ("size",)}
"""The constants that a survey may choose beside ε."""

_FRACTION = re.compile(r"[0-9]+(/0*[1-9][0-9]*)?")
_HINT = "Pass the JSON text that `parameters()` of a protocol returned. If it is in a file: Path(...).read_text()."


def protocol(parameters: object) -> Protocol:
    """Return the protocol that public parameters describe; raise InvalidError if they contradict themselves.

    >>> from tacit.local.local_hashing import OLH
    >>> oracle = OLH(domain=["a", "b", "c"], epsilon=1)
    >>> protocol(oracle.parameters()).digest == oracle.digest
    True

    Args:
        parameters: the JSON text of `parameters()`, or the object it reads as.
    """
    fields = _read_json(parameters)
    if fields.get("format") != FORMAT:
        raise InvalidError("These are not parameters of a local protocol.", argument="parameters", hint=_HINT)
    if fields.get("version") != VERSION:
        hint = f"This version of tacit reads parameters of version {VERSION}."
        raise InvalidError("The parameters have an unsupported version.", argument="parameters", hint=hint)
    result = _build(fields)
    if json.loads(result.parameters()) != fields:
        message = "The parameters contain fields that do not follow from the protocol, the domain and epsilon."
        raise InvalidError(message, argument="parameters", hint=f"{_HINT} Do not change it.")
    return result


def _build(fields: dict[str, object]) -> Protocol:
    name, epsilon = fields.get("protocol"), _rational(fields.get("epsilon"), "epsilon")
    if name == "Warner":
        words = None if fields.get("domain") == [False, True] else cast("list[str]", fields.get("domain"))
        chance = _rational(fields["p"], "p") if "p" in fields else None
        return Warner(p=chance, epsilon=epsilon if chance is None else None, words=words)
    if not isinstance(name, str) or name not in ORACLES:
        raise bad_value("protocol", name, f"one of Warner, {', '.join(ORACLES)}")
    own = {key: _rational(fields[key], key) for key in _OWN.get(name, ()) if key in fields}
    more: dict[str, object] = {key: fields.get(key) for key in _CHOSEN.get(name, ())}
    if not own or (name == "OUE" and "q" not in own):  # otherwise ε follows from them
        more["epsilon"] = epsilon
    return ORACLES[name](domain=read_domain(fields.get("domain")), **own, **more)


def _rational(text: object, argument: str) -> Fraction:
    if isinstance(text, str) and len(text) <= LONGEST and _FRACTION.fullmatch(text):
        return Fraction(text)
    raise bad_value(argument, text, "a fraction, as text")


def _read_json(parameters: object) -> dict[str, object]:
    try:
        fields = json.loads(parameters) if isinstance(parameters, (str, bytes)) else parameters
    except (ValueError, RecursionError):
        raise InvalidError("The parameters are not valid JSON.", argument="parameters", hint=_HINT) from None
    if not isinstance(fields, dict):
        raise bad_value("parameters", fields, "a JSON object", hint=_HINT)
    return fields
