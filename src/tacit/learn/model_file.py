"""The file of a classifier: JSON, with a SHA-256 of its content.

`load` checks the sum and every field, and runs nothing from the file. The sum finds edits and damage; it is not a
signature, so it does not prove who wrote the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from hashlib import sha256
from math import inf, isfinite
from pathlib import Path
from typing import TypeGuard

import numpy as np

from tacit.errors import InvalidError, TacitError, show_name
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.learn.columns import MOST_CODES, Label, PublicColumn
from tacit.learn.intervals import Ends
from tacit.learn.model import Accuracy, Classifier, checked

FORMAT = "tacit classifier 2"
_FIELDS = {
    *("format", "columns", "classes", "weights", "intercepts", "method", "cost", "rows"),
    *("intervals", "confidence", "accuracy", "receipt"),
}
_METHODS = ("naive Bayes", "logistic regression", "ridge")
_MOST_BYTES = 2**28


def save(model: Classifier, path: str | Path) -> None:
    """Write a model as JSON."""
    content = content_of(model)
    text = json.dumps({"model": content, "sha256": _sum(content)}, indent=1, ensure_ascii=False, allow_nan=False)
    Path(path).write_text(text, encoding="utf-8")


def content_of(model: Classifier) -> dict[str, object]:
    """Return a model as JSON."""
    accuracy = model.accuracy
    return {
        "format": FORMAT,
        "columns": [_column_content(column) for column in model.columns],
        "classes": [_label_content(label) for label in model.classes],
        "weights": model.weights.tolist(),
        "intercepts": model.intercepts.tolist(),
        "method": model.method,
        "cost": _cost_content(model.cost),
        "rows": model.rows,
        "intervals": None if model.ends is None else [[[_end(x) for x in ends] for ends in row] for row in model.ends],
        "confidence": model.confidence,
        "accuracy": None if accuracy is None else [accuracy.value, *accuracy.interval],
        "receipt": json.loads(json.dumps(dict(model.receipt), default=str)),
    }


def load(path: str | Path) -> Classifier:
    """Read a model that `save` wrote; raise InvalidError if the file was changed."""
    try:
        file = Path(path)
        if file.stat().st_size > _MOST_BYTES:
            raise _refusal("is larger than 256 MB")
        record = json.loads(file.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except TacitError:
        raise
    except OSError:
        hint = "Check its name and its folder."
        raise InvalidError(f"Cannot read the model file {show_name(str(path))}.", argument="path", hint=hint) from None
    except (ValueError, RecursionError):
        raise _refusal("cannot be read as JSON") from None
    content = record.get("model") if isinstance(record, dict) and set(record) == {"model", "sha256"} else None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _refusal(f"is not of the format {FORMAT!r}")
    if record["sha256"] != _sum(content):
        raise _refusal("was changed after it was saved: its checksum does not fit")
    if set(content) != _FIELDS:
        raise _refusal("has missing or unknown fields")
    with suppress(TypeError, ValueError, KeyError, IndexError, OverflowError):
        return checked(_read(content))
    raise _refusal("has a field that is not valid")


def _no_constant(_: str) -> float:
    raise ValueError


def _sum(content: Mapping[str, object]) -> str:
    return sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _refusal(reason: str) -> InvalidError:
    return InvalidError(f"The model file {reason}.", argument="path", hint="Save the model again.")


def _read(content: Mapping[str, object]) -> Classifier:
    columns = tuple(_column(part) for part in _list(content["columns"]))
    classes = tuple(_label(part) for part in _list(content["classes"]))
    if not columns or len(set(classes)) != len(classes) or content["method"] not in _METHODS:
        raise ValueError
    if len({column.name for column in columns}) != len(columns) or not isinstance(content["receipt"], dict):
        raise ValueError
    weights = [[_finite(x) for x in _list(row)] for row in _list(content["weights"])]
    confidence, ends, accuracy = _finite(content["confidence"]), content["intervals"], content["accuracy"]
    rows = 1 if len(classes) == 2 else len(classes)  # noqa: PLR2004
    intervals = None if ends is None else tuple(tuple(map(_ends, _list(row))) for row in _list(ends))
    if intervals is not None and [len(row) for row in intervals] != [sum(c.size for c in columns)] * rows:
        raise ValueError
    if not 0 < confidence < 1:
        raise ValueError
    measured = None
    if accuracy is not None:
        value, low, high = (_finite(x) for x in _list(accuracy))
        measured = Accuracy(value=value, interval=(low, high), confidence=confidence)
    return Classifier(
        columns=columns,
        classes=classes,
        weights=np.array(weights, dtype=np.float64),
        intercepts=np.array([_finite(x) for x in _list(content["intercepts"])], dtype=np.float64),
        method=str(content["method"]),
        cost=_cost(content["cost"]),
        rows=_finite(content["rows"]),
        ends=intervals,
        confidence=confidence,
        accuracy=measured,
        receipt=content["receipt"],
    )


def _list(value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > 2**24:
        raise ValueError
    return value


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def _finite(value: object) -> float:
    if not _is_finite(value):
        raise ValueError
    return float(value)


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < MOST_CODES:
        raise ValueError
    return value


def _end(value: float) -> float | str:
    return value if isfinite(value) else ("inf" if value > 0 else "-inf")


def _ends(value: object) -> Ends:
    low, high = (inf if x == "inf" else -inf if x == "-inf" else _finite(x) for x in _list(value))
    return low, high


def _column_content(column: PublicColumn) -> dict[str, object]:
    values = [_label_content(value) for value in column.values]
    return {"name": column.name, "values": values, "edges": list(column.edges)} | {
        "missing": column.missing,
        "other": column.other,
    }


def _column(part: object) -> PublicColumn:
    if not isinstance(part, dict) or set(part) != {"name", "values", "edges", "missing", "other"}:
        raise ValueError
    if not isinstance(part["name"], str):
        raise TypeError
    values, edges = tuple(map(_label, _list(part["values"]))), tuple(map(_finite, _list(part["edges"])))
    return PublicColumn(part["name"], values, edges, _whole(part["missing"]), _whole(part["other"]))


def _label_content(label: Label) -> object:
    if isinstance(label, datetime):
        return {"timestamp": label.isoformat()}
    return {"date": label.isoformat()} if isinstance(label, date) else label


def _label(part: object) -> Label:
    if isinstance(part, dict):
        ((kind, text),) = part.items()
        return {"timestamp": datetime, "date": date}[kind].fromisoformat(text)
    if not isinstance(part, (str, bool)):
        return part if type(part) is int else _finite(part)
    return part


def _cost_content(cost: PureDP | ApproxDP | ZCDP) -> dict[str, float]:
    if isinstance(cost, ZCDP):
        return {"rho": float(cost.rho)}
    return {"epsilon": float(cost.epsilon), "delta": float(cost.delta) if isinstance(cost, ApproxDP) else 0.0}


def _cost(part: object) -> PureDP | ApproxDP | ZCDP:
    if not isinstance(part, dict):
        raise TypeError
    numbers = {str(name): _finite(value) for name, value in part.items()}
    if set(numbers) == {"rho"}:
        return ZCDP(rho=numbers["rho"])
    if set(numbers) != {"epsilon", "delta"}:
        raise ValueError
    return ApproxDP(**numbers) if numbers["delta"] else PureDP(epsilon=numbers["epsilon"])
