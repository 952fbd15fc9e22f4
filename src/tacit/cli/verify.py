"""`tacit verify`: check a receipt by code that shares nothing with pricing but the events."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from tacit.auditing.receipt_fields import MOST_TEXT
from tacit.auditing.receipts import ReceiptCheck, verify_receipt
from tacit.cli.output import REFUSED, put, put_json
from tacit.errors import UnreadableFileError
from tacit.safe_text import visible


def verify(file: str, *, json: bool) -> None:
    """Print what the check found, and end with code 3 if the receipt does not hold."""
    check = verify_receipt(_text(file))
    if json:
        found = {"checked": check.checked, "unchecked": check.unchecked, "problems": check.problems}
        put_json({"holds": check.holds, "kind": check.kind, **{name: list(texts) for name, texts in found.items()}})
    else:
        put(report(check))
    if not check.holds:
        raise typer.Exit(REFUSED)


def _text(file: str) -> str:
    """Return the text of a file, or of standard input for `-`; no more of it than is too much for `verify_receipt`."""
    try:
        if file == "-":
            return sys.stdin.read(MOST_TEXT + 1)
        with Path(file).open(encoding="utf-8") as lines:
            return lines.read(MOST_TEXT + 1)
    except OSError:
        raise UnreadableFileError(file, "the file does not exist, or you may not read it.", argument="FILE") from None
    except UnicodeDecodeError:
        raise UnreadableFileError(file, "it is not a receipt in JSON.", argument="FILE") from None


def report(check: ReceiptCheck) -> str:
    """Return a check as text, one line for each thing that was checked, not checked or wrong."""
    first = f"The receipt of a {check.kind} {'holds' if check.holds else 'does NOT hold'}."
    lines = [f"  wrong: {text}" for text in check.problems]
    lines += [f"  checked: {text}" for text in check.checked]
    lines += [f"  not checked: {text}" for text in check.unchecked]
    return "\n".join([first, *map(visible, lines)])
