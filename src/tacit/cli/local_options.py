"""Arguments and options of `tacit local`, with their help texts."""

from __future__ import annotations

from typing import Annotated

import typer

ParametersArgument = Annotated[
    str, typer.Argument(help="The file of public parameters that `tacit local choose --save` writes.")
]
ValuesArgument = Annotated[str, typer.Argument(help="A file with one value per line; - for standard input.")]
ReportsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files of reports: .jsonl, .parquet, .npz (tallies), other names (bytes); - for JSON lines on stdin."
    ),
]
ReportEpsilonOption = Annotated[float | None, typer.Option("--epsilon", help="ε of each person's report, at most 50.")]
TruthOption = Annotated[
    float | None,
    typer.Option("--p", help="Instead of ε: the probability of the truth; for Warner if no protocol is named."),
]
OtherBitOption = Annotated[
    float | None, typer.Option("--q", help="With --p, for OUE: the probability that a bit of another value is 1.")
]
BucketsOption = Annotated[int | None, typer.Option(help="For OLH: g, the number of buckets.")]
SubsetSizeOption = Annotated[
    int | None, typer.Option("--size", help="For SubsetSelection: k, the number of values in a report.")
]
WordsOption = Annotated[str | None, typer.Option(help="A domain of two words, such as yes,no.")]
ClientOption = Annotated[
    str | None, typer.Option(help="browser: choose among the protocols of the client for browsers.")
]
SimulationSeedOption = Annotated[int | None, typer.Option("--seed", help="Make the simulation reproducible.")]
DomainOption = Annotated[
    str | None, typer.Option(help="A file of the possible values: one text per line, or a JSON list in a .json file.")
]
DomainSizeOption = Annotated[
    int | None, typer.Option("--domain-size", help="Instead of a file: the values are 0, 1, …, d-1.")
]
SimulatedSizeOption = Annotated[
    int | None, typer.Option("--domain-size", help="The number of possible values; 128 by default, 2 for Warner.")
]
PeopleOption = Annotated[int, typer.Option(help="The number of people who report.")]
MaxReportBytesOption = Annotated[int | None, typer.Option(help="The largest acceptable report, in bytes.")]
ProtocolOption = Annotated[str | None, typer.Option(help="Use this protocol instead of the best one.")]
ProtocolsOption = Annotated[
    list[str] | None, typer.Option("--protocol", help="Simulate only this protocol; may be repeated.")
]
SaveParametersOption = Annotated[
    str | None, typer.Option("--save", help="Write the public parameters for all devices to this file.")
]
AgainstOption = Annotated[
    str | None,
    typer.Option(help="The axis of the chart: epsilon (the default), d, or a protocol's constant: p, g or k."),
]
ReportsOutOption = Annotated[
    str | None,
    typer.Option("--out", help="A file for the reports: .jsonl, .parquet, or any other name for framed bytes."),
]
TallyOption = Annotated[
    str | None, typer.Option(help="Add to the tally in this file and save it there; create the file if needed.")
]
SimultaneousOption = Annotated[
    bool, typer.Option("--simultaneous", help="Make all intervals hold at once, not each alone.")
]
ConsistentOption = Annotated[
    str | None,
    typer.Option(
        help="Make counts possible ones by norm-sub, norm-mul, base-cut, simplex or isotonic: biased, often far closer."
    ),
]
TopOption = Annotated[int, typer.Option(help="The number of largest counts to print.")]
PopulationShapeOption = Annotated[
    str, typer.Option("--population", help="The distribution of the values: zipf, geometric or uniform.")
]
RunsOption = Annotated[int, typer.Option(help="The number of times that everybody reports.")]
