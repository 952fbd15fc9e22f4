"""From public parameters back to the protocol; a client checks what it is told before it draws anything.

What a client draws with follows from the protocol's name, the domain and ε. So the protocol is made anew from those,
and parameters that say anything else are refused: a server cannot claim one ε and have people draw with another.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction

from tacit.errors import InvalidError, show
from tacit.local.base import FORMAT, VERSION, Protocol
from tacit.local.blh import BLH
from tacit.local.domain import read
from tacit.local.grr import GRR
from tacit.local.hadamard import Hadamard
from tacit.local.olh import OLH
from tacit.local.oue import OUE
from tacit.local.projective_geometry import ProjectiveGeometry
from tacit.local.response_law import LONGEST
from tacit.local.subset_selection import SubsetSelection
from tacit.local.sue import SUE
from tacit.local.warner import Warner

ORACLES = {kind.__name__: kind for kind in (GRR, SUE, OUE, BLH, OLH, Hadamard, SubsetSelection, ProjectiveGeometry)}

_FRACTION = re.compile(r"[0-9]+(/0*[1-9][0-9]*)?")
_WANT = "what `parameters()` of a protocol returned"


def protocol(parameters: object) -> Protocol:
    """Return the protocol that public parameters describe, or refuse parameters that contradict themselves.

    >>> from tacit.local.olh import OLH
    >>> oracle = OLH(domain=["a", "b", "c"], epsilon=1)
    >>> protocol(oracle.parameters()).digest == oracle.digest
    True

    Args:
        parameters: the JSON text of `parameters()`, or the object it reads as.
    """
    parts = _object(parameters)
    if parts.get("format") != FORMAT:
        raise InvalidError("parameters", "something else", _WANT)
    if parts.get("version") != VERSION:
        raise InvalidError("parameters", "another version", f"of version {VERSION}, which this program reads")
    made = _made(parts)
    if json.loads(made.parameters()) != parts:
        got = "fields that do not follow from the protocol, the domain and epsilon"
        raise InvalidError("parameters", got, f"{_WANT}, unchanged")
    return made


def _made(parts: dict[str, object]) -> Protocol:
    name, epsilon = parts.get("protocol"), _rational(parts.get("epsilon"), "epsilon")
    if name == "Warner":
        return Warner(p=_rational(parts["p"], "p")) if "p" in parts else Warner(epsilon=epsilon)
    if not isinstance(name, str) or name not in ORACLES:
        raise InvalidError("protocol", show(name), f"one of Warner, {', '.join(ORACLES)}")
    return ORACLES[name](domain=read(parts.get("domain")), epsilon=epsilon)


def _rational(text: object, argument: str) -> Fraction:
    if isinstance(text, str) and len(text) <= LONGEST and _FRACTION.fullmatch(text):
        return Fraction(text)
    raise InvalidError(argument, show(text), "a fraction, as text")


def _object(parameters: object) -> dict[str, object]:
    got = show(parameters)
    try:
        parts = json.loads(parameters) if isinstance(parameters, (str, bytes)) else parameters
    except (ValueError, RecursionError):
        parts, got = None, "text that is no JSON"
    if not isinstance(parts, dict):
        want = f"{_WANT}, the JSON text itself; of a file, read its text first: Path(...).read_text()"
        raise InvalidError("parameters", got, want)
    return parts
