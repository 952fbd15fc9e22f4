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
    from tacit.query.results.release import Release  # noqa: PLC0415 - heavy
    from tacit.session import Session  # noqa: PLC0415 - heavy
    from tacit.synthetic.marginals import Marginals  # noqa: PLC0415 - heavy
    from tacit.synthetic.reading import CodedRelease  # noqa: PLC0415 - heavy

    for kind in (Release, DerivedRelease, OutsideRelease, CodedRelease, Marginals):
        original = kind.receipt.fget  # type: ignore[attr-defined]  # a property
        kind.receipt = property(_seen(original), doc=original.__doc__)  # type: ignore[method-assign,assignment]
    released = Session._released

    @wraps(released)
    def seen(*arguments: Any) -> Release:  # noqa: ANN401 - those of the method
        release = released(*arguments)
        if "limits_chosen" not in release.context or "settled" in release.context:
            _ = release.receipt
        return release

    Session._released = seen  # type: ignore[method-assign]


def _seen(original: Callable[[Any], dict[str, object]]) -> Callable[[Any], dict[str, object]]:
    @wraps(original)
    def receipt(release: Any) -> dict[str, object]:  # noqa: ANN401 - any release
        made = original(release)
        see(made)
        return made

    return receipt
