"""`tacit local choose`: compare protocols by their exact variances, and write the parameters of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tacit.cli import local_files, output_files
from tacit.cli.output import put_json, say
from tacit.cli.output_tables import make_table, put_table
from tacit.errors import InvalidError, UnusedOptionError, bad_value
from tacit.local import Choice, Protocol, Warner, plot_errors, plot_optimum
from tacit.local import choose as choose_protocol
from tacit.local.choose import Client
from tacit.local.domain import Domain
from tacit.local.optimum import Tunable
from tacit.local.parameters import ORACLES

if TYPE_CHECKING:
    import altair as alt

_EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)
_SIZES = tuple(2**k for k in range(2, 17, 2))
_OPTIMA: dict[str, Tunable] = {"p": "OUE", "g": "OLH", "k": "SubsetSelection"}
_WARNER = "warner"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolOptions:
    """The number that fixes the law of a protocol: ε, or its own p."""

    epsilon: float | None
    p: float | None

    def __post_init__(self) -> None:
        """Check that there is one of the two."""
        if (self.epsilon is None) == (self.p is None):
            problem = (
                "Neither --epsilon nor --p is given." if self.p is None else "--epsilon and --p exclude each other."
            )
            raise InvalidError(problem, argument="--epsilon", hint="Give one of --epsilon and --p.")

    def make(self, name: str, values: object) -> Protocol:
        """Return the protocol of this name, in upper or lower case, for a domain."""
        number = {"epsilon": self.epsilon} if self.p is None else {"p": self.p}
        if name.lower() == _WARNER:
            return Warner(words=_yes_no(values), **number)
        for known, kind in ORACLES.items():
            if known.lower() == name.lower():
                return kind(domain=values, **number)
        raise bad_value("--protocol", name, f"one of Warner, {', '.join(ORACLES)}")


def _yes_no(values: object) -> list[str] | None:
    """Return the words of a domain of two texts; None for two numbers, or false and true."""
    if values in (2, [False, True]):
        return None
    if isinstance(values, list) and len(values) == 2 and all(isinstance(value, str) for value in values):  # noqa: PLR2004 - yes and no
        return values
    raise InvalidError(
        "Warner's protocol asks yes or no, so it does not fit this domain.",
        argument="--protocol",
        hint="Give two texts (--words yes,no or a file of two lines), or name another protocol.",
    )


def read_words(text: str) -> list[str]:
    """Return the words of `--words yes,no`."""
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(words) or words[0] == words[1]:  # noqa: PLR2004 - yes and no
        raise bad_value("--words", text, "two different words with a comma between them, such as yes,no")
    return words


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
        """The protocol that is asked for: with --p and no name it is Warner."""
        return _WARNER if self.protocol is None and self.numbers.p is not None else self.protocol

    def values(self) -> object:
        """Return the values of the domain from its file or its words, or its size."""
        given = [each for each in (self.domain, self.domain_size, self.words) if each is not None]
        if not given and (self.name or "").lower() == _WARNER:
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
    named = None if options.name is None else options.numbers.make(options.name, values)
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
    if save is not None:
        name = type(protocol).__name__
        say(f"Wrote the public parameters of {name} to {save}. Next: tacit local randomize {save} FILE")
