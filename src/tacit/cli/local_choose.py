"""`tacit local choose`: every protocol by its exact variance, the best of them, and its public parameters."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.cli import charts, local_files, outputs
from tacit.cli.show import SCHEMA, paper, say, table
from tacit.errors import InvalidError, show
from tacit.local import Choice, Protocol, Warner, plot_errors
from tacit.local import choose as choose_protocol
from tacit.local.domain import Domain
from tacit.local.parameters import ORACLES
from tacit.safe_text import as_json

if TYPE_CHECKING:
    import altair as alt

_EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)
_SIZES = tuple(2**k for k in range(2, 17, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What `choose` is asked for."""

    epsilon: float
    domain: str | None
    domain_size: int | None
    people: int
    max_report_bytes: int | None
    protocol: str | None

    def values(self) -> object:
        """Return the domain, from its file or as its size."""
        if (self.domain is None) == (self.domain_size is None):
            got = "neither" if self.domain is None else "both"
            raise InvalidError("domain", got, "given by one of --domain and --domain-size")
        return self.domain_size if self.domain is None else local_files.domain(self.domain)


def choose(
    wanted: Wanted, *, save: str | None, against: str | None, chart: str | None, force: bool, json: bool
) -> None:
    """Print every protocol's error and the choice; write its parameters and a chart if they are asked for."""
    charts.check(chart)
    outputs.check({"save": save, "chart": chart}, (wanted.domain,), force=force)
    if against not in (None, "epsilon", "d"):
        raise InvalidError("against", show(against), "epsilon or d")
    if against is not None and chart is None:
        raise InvalidError("against", f"{show(against)} without --chart", "left out, or given with --chart")
    values = wanted.values()
    d = Domain(values).size
    choice = choose_protocol(
        domain_size=d, epsilon=wanted.epsilon, n=wanted.people, max_report_bytes=wanted.max_report_bytes
    )
    made = _made(wanted, values, choice)
    if save is not None:
        outputs.text(save, made.parameters())
    if json:
        print(as_json(_choice_json(choice, made, wanted, save)), flush=True)
    else:
        _show_choice(choice, made, wanted, save)
    if chart is not None:
        say(charts.save(lambda: errors_chart(against or "epsilon", d, wanted.epsilon), chart))


def make(name: str, values: object, epsilon: float) -> Protocol:
    """Return the protocol of this name, in any case of letters, for a domain."""
    for known, kind in ORACLES.items():
        if known.lower() == name.lower():
            return kind(domain=values, epsilon=epsilon)
    raise InvalidError("protocol", show(name), f"one of {', '.join(ORACLES)}")


def errors_chart(against: str, d: int, epsilon: float) -> alt.LayerChart:
    """Draw the variance of every protocol against ε at one d, or against d at one ε."""
    if against == "epsilon":
        return plot_errors(epsilons=sorted({*_EPSILONS, epsilon}), domain_size=d)
    return plot_errors(domain_sizes=sorted({*_SIZES, d}), epsilon=epsilon)


def _made(wanted: Wanted, values: object, choice: Choice) -> Protocol:
    made = _named(wanted, values, wanted.protocol or choice.protocol)
    limit = wanted.max_report_bytes
    if limit is not None and made.report_bytes > limit:
        want = f"one whose reports have at most {limit:,} bytes, as --max-report-bytes asks; or left out"
        raise InvalidError("protocol", f"{type(made).__name__}, whose reports have {made.report_bytes:,} bytes", want)
    return made


def _named(wanted: Wanted, values: object, name: str) -> Protocol:
    if name.lower() == "warner":
        if values not in (2, [False, True]):
            raise InvalidError("protocol", "'Warner'", "another one for this domain: Warner asks yes or no")
        return Warner(epsilon=wanted.epsilon)
    return make(name, values, wanted.epsilon)


def _choice_json(choice: Choice, made: Protocol, wanted: Wanted, save: str | None) -> dict[str, object]:
    rows = [
        {"protocol": o.protocol, "std": o.std, "report_bytes": o.report_bytes, "server": o.server} for o in choice.table
    ]
    return {
        "schema": SCHEMA,
        "protocol": type(made).__name__,
        "best": choice.protocol,
        "why": choice.why,
        "epsilon": wanted.epsilon,
        "domain_size": made.domain_size,
        "people": wanted.people,
        "table": rows,
        "digest": made.digest,
        "parameters": save,
    }


def _show_choice(choice: Choice, made: Protocol, wanted: Wanted, save: str | None) -> None:
    rows = [
        [
            option.protocol,
            f"{option.std:,.0f}",
            _share(option.std, wanted.people),
            f"{option.report_bytes:,}",
            option.server,
        ]
        for option in choice.table
    ]
    reports = f"{wanted.people:,} reports of ε = {wanted.epsilon:g}"
    say(f"A value that nobody has, counted by {reports} over {made.domain_size:,} values:")
    paper().print(table(["protocol", "standard error", "of all", "bytes a report", "the server"], rows))
    sys.stdout.flush()
    say(choice.why)
    if save is not None:
        say(f"The public parameters of {type(made).__name__} are in {save}; next: tacit local randomize {save} FILE")


def _share(count: float, people: int) -> str:
    return f"{100 * count / people:.3g} %"
