"""Every receipt that a test produces is checked by `tacit.auditing.receipts`, whether the test reads it or not.

`install` wraps the places where receipts are made, and `problems` returns the receipts that did not hold since the last
call. Receipts that differ only in their place in the ledger are checked once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from tacit.auditing.receipts import ReceiptCheck, verify_receipt

_PLACE = ("ledger_entry", "ledger_link", "policy", "policy_file", "data_version", "software", "accuracy", "analyst")
_found: list[str] = []
_known: dict[str, ReceiptCheck | None] = {}


def see(receipt: Mapping[str, Any]) -> None:
    """Check a receipt, unless one with this content was checked."""
    content = {name: value for name, value in receipt.items() if name not in _PLACE}
    text = json.dumps(content, sort_keys=True, default=str)
    if text in _known:
        return
    _known[text] = None
    try:
        check = verify_receipt(json.loads(json.dumps(receipt, default=str)))
    except Exception as error:  # noqa: BLE001 - the test that made the receipt reports it
        _found.append(f"{type(error).__name__}: {error}\n{text}")
        return
    _known[text] = check
    if not check.holds:
        _found.append(f"{check.problems}\n{text}")


def problems() -> list[str]:
    """Return the receipts that did not hold since the last call."""
    found = _found.copy()
    _found.clear()
    return found


def checks() -> Mapping[str, ReceiptCheck | None]:
    """Return the checks so far, by the content of the receipt."""
    return _known


def install() -> None:
    """Wrap the places where receipts are made."""
    from tacit.outside_release import OutsideRelease  # noqa: PLC0415 - heavy
    from tacit.query.results.derived_release import DerivedRelease  # noqa: PLC0415 - heavy
    from tacit.query.results.quote import Quote  # noqa: PLC0415 - heavy
    from tacit.query.results.release import Release  # noqa: PLC0415 - heavy
    from tacit.session import Session  # noqa: PLC0415 - heavy
    from tacit.synthetic.marginals import Marginals  # noqa: PLC0415 - heavy
    from tacit.synthetic.reading import CodedRelease  # noqa: PLC0415 - heavy

    for kind in (Release, DerivedRelease, OutsideRelease, CodedRelease, Marginals):
        original = vars(kind)["receipt"].fget
        setattr(kind, "receipt", property(_seen(original), doc=original.__doc__))  # noqa: B010 - mypy has no other way
    released = Session._released

    def seen(self: Session, quote: Quote, context: Mapping[str, object]) -> Release:
        release = released(self, quote, context)
        _ = release.receipt
        return release

    setattr(Session, "_released", seen)  # noqa: B010 - as above


def _seen(original: Callable[[Any], dict[str, object]]) -> Callable[[Any], dict[str, object]]:
    @wraps(original)
    def receipt(release: Any) -> dict[str, object]:  # noqa: ANN401 - any release
        made = original(release)
        see(made)
        return made

    return receipt
