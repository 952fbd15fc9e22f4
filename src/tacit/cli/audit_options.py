"""The arguments and options of `tacit audit` and `tacit verify`, with their help texts."""

from __future__ import annotations

from typing import Annotated

import typer

AuditTargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="The function to audit, of one input: module:function, or path/to/file.py:function. "
        "Importing it runs its code.",
    ),
]
PairOption = Annotated[
    list[str] | None,
    typer.Option(help="Two neighbouring inputs as a JSON list, such as '[[1, 2, 3], [1, 2]]'; may be repeated."),
]
PairsOption = Annotated[
    str | None,
    typer.Option(help="A Python list of pairs, or a function that yields pairs: module:name or file.py:name."),
]
AuditEpsilonOption = Annotated[
    str | None, typer.Option("--epsilon", help="The claimed ε. The audit stops as soon as it is refuted.")
]
AuditDeltaOption = Annotated[str | None, typer.Option("--delta", help="The claimed δ; 0 is the default.")]
SamplesOption = Annotated[int, typer.Option(help="The largest number of runs on each input of a pair.")]
TimeOption = Annotated[bool, typer.Option("--time", help="The duration of a run is an output too.")]
MessagesOption = Annotated[bool, typer.Option("--messages", help="The texts of exceptions are outputs too.")]
BatchedOption = Annotated[
    bool, typer.Option("--batched", help="The function takes an input and a number, and returns that many outputs.")
]
AuditSeedOption = Annotated[
    int | None, typer.Option("--seed", help="The seed of the order in which inputs are run; printed if not given.")
]
ReceiptArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A file with a receipt, or with an answer in JSON that has one; - reads standard input."
    ),
]
