"""The searches that `method="best"` ran, in words: their losses, and what would lower the loss further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_HALF = 2


@dataclass(frozen=True, slots=True)
class Trial:
    """One search of `method="best"`.

    Attributes:
        method: of the search.
        loss: of its answer; None if it has no answer.
        suppression: the share of rows that it was allowed to suppress.
        suppressed: the rows that it suppressed.
        seconds: its duration, with compilation if there was any.
        note: why it has no answer, or why its answer was not considered; empty otherwise.
    """

    method: str
    loss: float | None
    suppression: float = 0.0
    suppressed: int = 0
    seconds: float = 0.0
    note: str = ""

    @property
    def considered(self) -> bool:
        """True if the search has an answer that may be published."""
        return self.loss is not None and not self.note


def trial_name(trial: Trial) -> str:
    """Return the method of a search, with the share of rows that it was allowed to suppress."""
    return trial.method + (f", up to {trial.suppression:.0%} suppressed" if trial.suppression else "")


def trial_lines(trials: Sequence[Trial], chosen: str) -> Iterator[str]:
    """Return a line for each search, the chosen one first and then by loss."""
    if trials:
        yield "searches, by loss:"
    for trial in sorted(trials, key=lambda trial: (trial.method != chosen or not trial.considered, _rank(trial))):
        name = trial_name(trial)
        loss = "no answer" if trial.loss is None else f"loss {trial.loss:.6f}"
        notes = [trial.note] if trial.note else ["chosen"] if trial.method == chosen else []
        yield f"  {name}: {'; '.join([loss, f'{trial.seconds:.1f} s', *notes])}"


def _rank(trial: Trial) -> float:
    return 2.0 if trial.loss is None else trial.loss


def hints(trials: Sequence[Trial], method: str, loss: float, suppressed: int) -> tuple[str, ...]:
    """Return what would halve the loss, or how to find out."""
    if not trials and method == "optimal" and loss > 0:
        more = "" if suppressed else " and with a little suppression"
        return (f'method="best" compares this table with local recoding{more}',)
    one_level = next((trial.loss for trial in trials if trial.method == "optimal" and trial.considered), None)
    saved = method != "optimal" and one_level is not None and one_level > 0 and loss * _HALF <= one_level
    local = f"one level for each column would lose {one_level:.3f}; local recoding loses {loss:.3f}" if saved else None
    allowed = (
        f"if {trial.suppression:.0%} of the rows may be suppressed, the loss falls from {loss:.3f} to "
        f"{trial.loss:.3f}; allow it with suppression={trial.suppression:g}"
        for trial in trials
        if trial.loss is not None and not trial.considered and trial.loss * _HALF <= loss and loss > 0
    )
    return (*(() if local is None else (local,)), *allowed)
