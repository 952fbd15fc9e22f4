"""`tacit audit`: run a Python function on neighbouring inputs and bound its ε from below."""

from __future__ import annotations

import importlib
import importlib.util
import json as json_module
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

import typer

from tacit.auditing.arguments import Pair
from tacit.auditing.audit import audit as audit_release
from tacit.auditing.report import AuditReport
from tacit.cli.numbers import parameter
from tacit.cli.output import REFUSED, counting, put, put_json
from tacit.errors import InvalidError, suggestion

_HINT = "Write module:function, or path/to/file.py:function."


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """The options of `tacit audit`."""

    pair: Sequence[str]
    pairs: str | None
    epsilon: str | None
    delta: str | None
    samples: int
    confidence: float
    time: bool
    messages: bool
    batched: bool
    seed: int | None


def audit(target: str, options: AuditOptions, *, json: bool) -> None:
    """Audit a function, print the report, and end with code 3 if it violates its claim."""
    release = load(target, "TARGET")
    if not callable(release):
        raise InvalidError(f"{target!r} is not a function.", argument="TARGET", hint=_HINT)
    pairs = read_inputs(options)
    total = options.samples * len(pairs) if isinstance(pairs, Sequence) else None
    with counting("Running", total) as advance:
        report = audit_release(
            release,
            pairs=pairs,
            epsilon=parameter(options.epsilon, "--epsilon"),
            delta=parameter(options.delta, "--delta") or 0,
            samples=options.samples,
            confidence=options.confidence,
            time=options.time,
            messages=options.messages,
            batched=options.batched,
            seed=options.seed,
            progress=advance,
        )
    command = reproduction(target, options, report.seed)
    if json:
        put_json({**report.to_dict(), "reproduce": command})
    else:
        put(_text(report, command))
    if report.violates:
        raise typer.Exit(REFUSED)


def _text(report: AuditReport, command: str) -> str:
    lines = str(report).splitlines()
    again = f"Reproduce: {command} ({report.versions}). The noise itself differs from run to run."
    return "\n".join([*lines[:-1], again])


def load(target: str, argument: str) -> object:
    """Return the object that module:name or file.py:name denotes. Importing the module runs its code.

    >>> load("math:sqrt", "TARGET")
    <built-in function sqrt>
    """
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise InvalidError(f"{target!r} does not name a function.", argument=argument, hint=_HINT)
    module: object = _file(place, argument) if place.endswith(".py") else _module(place, argument)
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            hint = suggestion(part, [each for each in dir(found) if not each.startswith("_")])
            raise InvalidError(f"{place} has no {part!r}.", argument=argument, hint=hint or _HINT)
        found = getattr(found, part)
    return found


def _module(name: str, argument: str) -> ModuleType:
    if os.getcwd() not in sys.path:  # noqa: PTH109 - sys.path has texts
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as above
    return _imported(lambda: importlib.import_module(name), name, argument)


def _file(path: str, argument: str) -> ModuleType:
    file = Path(path)
    if not file.is_file():
        raise InvalidError(f"There is no file {path!r}.", argument=argument, hint=_HINT)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise InvalidError(f"{path!r} is not a Python file.", argument=argument, hint=_HINT)
    module, loader = importlib.util.module_from_spec(spec), spec.loader

    def run() -> ModuleType:
        loader.exec_module(module)
        return module

    return _imported(run, path, argument)


def _imported(run: Callable[[], ModuleType], name: str, argument: str) -> ModuleType:
    try:
        return run()
    except Exception as error:
        reason = str(error) if isinstance(error, ImportError) else type(error).__name__
        raise InvalidError(f"Cannot import {name!r}: {reason}.", argument=argument, hint=_HINT) from error


def read_inputs(options: AuditOptions) -> Iterable[Pair]:
    """Return the pairs of --pair, or those of the list or the generator function that --pairs names."""
    if (options.pairs is None) == (not options.pair):
        hint = "Give --pair '[0, 1]' (may be repeated), or --pairs module:name."
        raise InvalidError("The audit needs neighbouring inputs.", argument="--pair", hint=hint)
    if options.pairs is None:
        return [_read_pair(text) for text in options.pair]
    found = load(options.pairs, "--pairs")
    return cast("Iterable[Pair]", found() if callable(found) else found)


def _read_pair(text: str) -> Pair:
    try:
        pair = json_module.loads(text)
    except ValueError:
        pair = None
    if not isinstance(pair, list) or len(pair) != 2:  # noqa: PLR2004 - a pair
        hint = "For example --pair '[[1, 2, 3], [1, 2]]', with quotes for the shell."
        raise InvalidError("--pair must be a JSON list of two inputs.", argument="--pair", hint=hint)
    return pair[0], pair[1]


def reproduction(target: str, options: AuditOptions, seed: int) -> str:
    """Return the command that repeats the audit."""
    words = [target, *(f"--pair {shlex.quote(text)}" for text in options.pair)]
    named: dict[str, object] = {
        "pairs": options.pairs,
        "epsilon": options.epsilon,
        "delta": options.delta,
        "samples": options.samples,
    }
    named |= {"confidence": options.confidence, "seed": seed}
    words += [f"--{name} {value}" for name, value in named.items() if value is not None]
    flags = {"time": options.time, "messages": options.messages, "batched": options.batched}
    words += [f"--{name}" for name, given in flags.items() if given]
    return f"tacit audit {' '.join(words)}"
