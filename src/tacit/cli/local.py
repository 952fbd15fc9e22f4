"""`tacit local choose`: compare protocols by their exact variances, and write the parameters of one."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, cast

from tacit.cli import local_files, output_files
from tacit.cli.local_protocols import ProtocolOptions, read_words
from tacit.cli.output import put_json, say
from tacit.cli.output_tables import make_table, put_table
from tacit.errors import InvalidError, UnusedOptionError, bad_value
from tacit.local import Choice, Protocol, plot_errors, plot_optimum
from tacit.local import choose as choose_protocol
from tacit.local.choose import Client
from tacit.local.domain import Domain
from tacit.local.optimum import Tunable

if TYPE_CHECKING:
    import altair as alt

_EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)
_SIZES = tuple(2**k for k in range(2, 17, 2))
_OPTIMA: dict[str, Tunable] = {"p": "OUE", "g": "OLH", "k": "SubsetSelection"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseOptions:
    """The domain, the people and the requirements for which a protocol is chosen."""

    numbers: ProtocolOptions
    domain: str | None
    domain_size: int | None
    words: str | None
    people: int
    max_report_bytes: int | None
    protocol: str | None
    client: str | None

    @property
    def name(self) -> str | None:
        """The protocol that is named, or that a constant implies."""
        return self.protocol or self.numbers.implied

    def values(self) -> object:
        """Return the values of the domain from its file or its words, or its size."""
        given = [each for each in (self.domain, self.domain_size, self.words) if each is not None]
        if not given and (self.name or "").lower() == "warner":
            return 2
        if len(given) != 1:
            problem = "The domain is given twice." if given else "No domain is given."
            raise InvalidError(problem, argument="--domain", hint="Give one of --domain, --domain-size and --words.")
        if self.words is not None:
            return read_words(self.words)
        return self.domain_size if self.domain is None else local_files.read_domain(self.domain)


def choose(
    options: ChooseOptions, *, save: str | None, against: str | None, chart: str | None, force: bool, json: bool
) -> None:
    """Print every protocol's error and the choice; write its parameters and a chart on request."""
    output_files.check_chart(chart)
    output_files.check({"save": save, "chart": chart}, (options.domain,), force=force)
    if against not in (None, "epsilon", "d", *_OPTIMA):
        raise bad_value("--against", against, "epsilon, d, p, g or k")
    if against is not None and chart is None:
        raise UnusedOptionError("--against", "without --chart", hint="Remove it, or add --chart.")
    values = options.values()
    d = Domain(values).size
    named = None if options.name is None else options.numbers.make_all([options.name], values)[0]
    epsilon = cast("float", options.numbers.epsilon) if named is None else named.epsilon
    choice = choose_protocol(
        domain_size=d,
        epsilon=epsilon,
        n=options.people,
        max_report_bytes=options.max_report_bytes,
        client=cast("Client | None", options.client),
    )
    protocol = _checked(options, named or choice.make(values))
    if save is not None:
        output_files.write_text(save, protocol.parameters())
    if json:
        put_json(_choice_json(choice, protocol, options, save))
    else:
        _print_choice(choice, protocol, options, save)
    if chart is not None:
        say(output_files.save_chart(lambda: _errors_chart(against or "epsilon", d, protocol.epsilon), chart))


def _errors_chart(against: str, d: int, epsilon: float) -> alt.LayerChart:
    """Draw the variance of every protocol against ε at one d or against d at one ε, or of one against its constant."""
    if against in _OPTIMA:
        return plot_optimum(protocol=_OPTIMA[against], epsilon=epsilon, domain_size=d)
    if against == "epsilon":
        return plot_errors(epsilons=sorted({*_EPSILONS, epsilon}), domain_size=d)
    return plot_errors(domain_sizes=sorted({*_SIZES, d}), epsilon=epsilon)


def _checked(options: ChooseOptions, protocol: Protocol) -> Protocol:
    """Return the protocol if its reports are small enough."""
    limit = options.max_report_bytes
    if limit is not None and protocol.report_bytes > limit:
        raise InvalidError(
            f"Reports of {type(protocol).__name__} have {protocol.report_bytes:,} bytes, but --max-report-bytes is "
            f"{limit:,}.",
            argument="--protocol",
            hint="Name a protocol with smaller reports, or leave out --protocol.",
        )
    return protocol


def _choice_json(choice: Choice, protocol: Protocol, options: ChooseOptions, save: str | None) -> dict[str, object]:
    rows = [
        {"protocol": row.protocol, "std": row.std, "report_bytes": row.report_bytes, "server": row.server}
        for row in choice.table
    ]
    return {
        "protocol": type(protocol).__name__,
        "best": choice.protocol,
        "why": choice.why,
        "epsilon": protocol.epsilon,
        "std": _standard_error(protocol, options),
        "domain_size": protocol.domain_size,
        "people": options.people,
        "table": rows,
        "digest": protocol.digest,
        "parameters": save,
    }


def _print_choice(choice: Choice, protocol: Protocol, options: ChooseOptions, save: str | None) -> None:
    rows = [
        [
            row.protocol,
            f"{row.std:,.0f}",
            f"{100 * row.std / options.people:.3g} %",
            f"{row.report_bytes:,}",
            row.server,
        ]
        for row in choice.table
    ]
    reports = f"{options.people:,} reports of ε = {protocol.epsilon:g}"
    say(f"Errors for a value that nobody has, with {reports} over {protocol.domain_size:,} values:")
    put_table(make_table(["protocol", "standard error", "of all", "bytes a report", "the server"], rows))
    say(choice.why)
    if options.numbers.own:
        error = f"{_standard_error(protocol, options):,.0f}"
        say(f"{type(protocol).__name__} with {options.numbers}: standard error {error}, ε = {protocol.epsilon:g}.")
    if save is not None:
        name = type(protocol).__name__
        say(f"Wrote the public parameters of {name} to {save}. Next: tacit local randomize {save} FILE")


def _standard_error(protocol: Protocol, options: ChooseOptions) -> float:
    return float(sqrt(protocol.variance(n=options.people)))
