"""`tacit demo`: how many rural units are in the sample? True count 337, at ε = 0.1 and ε = 1."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict, dataclass

from tacit.mechanisms import Laplace

TRUE_COUNT = 337
BUDGETS = (0.1, 1.0)
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Answer:
    """One private count and what is known of it in public."""

    epsilon: float
    count: int
    error: int
    confidence: float
    noise_scale: float


def ask(epsilon: float) -> Answer:
    """Release the count once at one budget."""
    mechanism = Laplace(sensitivity=1, epsilon=epsilon)
    return Answer(
        epsilon=epsilon,
        count=int(mechanism.release(TRUE_COUNT)),
        error=int(mechanism.error(confidence=CONFIDENCE)),
        confidence=CONFIDENCE,
        noise_scale=mechanism.scale,
    )


def run(*, json: bool) -> None:
    """Print the answers as a table, or as JSON."""
    answers = [ask(epsilon) for epsilon in BUDGETS]
    if json:
        print(json_module.dumps({"schema": 1, "answers": [asdict(a) for a in answers]}))
        return
    _talk(answers)


def _talk(answers: list[Answer]) -> None:
    from rich.console import Console  # noqa: PLC0415 - heavy
    from rich.table import Table  # noqa: PLC0415 - heavy

    talk = Console(stderr=True, highlight=False)
    talk.print("[bold]How many rural units are in this survey?[/bold]\n")
    talk.print(
        f"The true count is {TRUE_COUNT}; only the steward may see it. One unit more or less\n"
        "moves it by 1, so Laplace noise of scale 1/ε hides every unit.\n"
    )
    table = Table("ε", "published", "95 % error", "interval", "noise scale", title=None)
    for answer in answers:
        low, high = answer.count - answer.error, answer.count + answer.error
        table.add_row(
            f"{answer.epsilon:g}", str(answer.count), f"± {answer.error}", f"{low} … {high}", f"{answer.noise_scale:g}"
        )
    Console(file=sys.stdout, highlight=False).print(table)
    talk.print(
        "\nTen times the budget, a tenth of the noise. Both together cost ε = 1.1.\n"
        "Run it again: the noise is new every time, and no seed brings it back."
    )
