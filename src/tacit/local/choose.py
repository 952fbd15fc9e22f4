"""Choose a protocol: the least variance of a rare value, and among near equals the smallest report.

All numbers come from closed forms of the variance. If the standard errors of two protocols are within 2 % of each
other, the size of a report and the work of the server decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from tacit.errors import InvalidError, bad_value
from tacit.guarantees.exact import Number
from tacit.local.base import Protocol, read_arguments
from tacit.local.domain import Domain
from tacit.local.parameters import ORACLES
from tacit.local.response_law import read_epsilon
from tacit.mechanisms.validation import count_of
from tacit.notebook import ShownAsFields

if TYPE_CHECKING:
    import altair as alt

Client = Literal["browser"]

BROWSER = frozenset(ORACLES)
"""The protocols that browser/tacit-local.js draws, besides Warner."""

_NEAR = 1.02
_SERVER: Mapping[str, tuple[int, str]] = {
    "GRR": (0, "counts outputs"),
    "Hadamard": (1, "counts outputs, then one Hadamard transform"),
    "ProjectiveGeometry": (1, "counts outputs, then one Fourier transform"),
    "OUE": (2, "adds up d bits a report"),
    "SUE": (2, "adds up d bits a report"),
    "SubsetSelection": (2, "adds up d bits a report"),
    "BLH": (3, "computes d hashes a report"),
    "OLH": (3, "computes d hashes a report"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(ShownAsFields):
    """The error and the cost of one protocol.

    Attributes:
        protocol: its name.
        std: the standard error of the count of a value that nobody has, from n reports, or from one report if n is
            not known; it grows with √n.
        report_bytes: the size of a report.
        server: the server's work.
    """

    protocol: str
    std: float
    report_bytes: int
    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(ShownAsFields):
    """The protocol to use, and the reason.

    Attributes:
        protocol: its name.
        std: the predicted standard error of a rare value's count, as in the table.
        why: the reason, in a sentence.
        table: all protocols, from the least error up.
        domain_size: the number of values.
        epsilon: ε of each report.
    """

    protocol: str
    std: float
    why: str
    table: tuple[Option, ...]
    domain_size: int
    epsilon: float

    def make(self, domain: object = None) -> Protocol:
        """Return the protocol, for a list of values or, without one, for 0, …, d-1.

        Args:
            domain: `domain_size` values.
        """
        values = Domain(self.domain_size if domain is None else domain)
        if values.size != self.domain_size:
            message = f"The domain has {values.size:,} values, but the protocol was chosen for {self.domain_size:,}."
            raise InvalidError(message, argument="domain", hint="Choose again for the new size.")
        return ORACLES[self.protocol](domain=values, epsilon=self.epsilon)


def choose(
    *,
    domain_size: int,
    epsilon: Number,
    n: int | None = None,
    max_report_bytes: int | None = None,
    client: Client | None = None,
) -> Choice:
    """Return the protocol with the least error for these numbers, or the lightest of those within 2 %.

    >>> choose(domain_size=3, epsilon=1).protocol
    'GRR'
    >>> choose(domain_size=1024, epsilon=1).protocol
    'ProjectiveGeometry'

    Args:
        domain_size: the number of values.
        epsilon: the guarantee of each report.
        n: the number of people who will report; it only scales the error.
        max_report_bytes: the largest acceptable report.
        client: "browser" to choose among the protocols of the client for browsers, which has all of them today.
    """
    if client not in (None, *get_args(Client)):
        raise bad_value("client", client, "'browser' or None")
    names = [name for name in ORACLES if client is None or name in BROWSER]
    domain, _ = read_arguments(domain_size, epsilon)
    people = 1 if n is None else count_of(n, "n")
    table = sorted((_option(name, domain, epsilon, people) for name in names), key=lambda option: option.std)
    most = None if max_report_bytes is None else count_of(max_report_bytes, "max_report_bytes")
    fitting = [option for option in table if most is None or option.report_bytes <= most]
    if not fitting:
        least = min(option.report_bytes for option in table)
        raise bad_value("max_report_bytes", max_report_bytes, f"at least {least} for this domain")
    near = [option for option in fitting if option.std <= _NEAR * fitting[0].std]
    best = min(near, key=lambda option: (option.report_bytes, _SERVER[option.protocol][0], option.std))
    return Choice(
        protocol=best.protocol,
        std=best.std,
        why=_why(best, fitting, near, table),
        table=tuple(table),
        domain_size=domain.size,
        epsilon=epsilon,  # type: ignore[arg-type]  # stored unchanged; a protocol reads it again
    )


def _option(name: str, domain: Domain, epsilon: Number, n: int) -> Option:
    oracle = ORACLES[name](domain=domain, epsilon=epsilon)
    std = sqrt(oracle.variance(n=n))
    return Option(protocol=name, std=std, report_bytes=oracle.report_bytes, server=_SERVER[name][1])


def _why(best: Option, fitting: Sequence[Option], near: Sequence[Option], table: Sequence[Option]) -> str:
    if best is fitting[0]:
        first = "the least error of a rare value"
    else:
        first = f"within 2 % of the least error ({fitting[0].protocol}'s), and lighter"
    ties = [option.protocol for option in near if option is not best]
    equal = f"; {', '.join(ties)} would err as little" if ties else ""
    limit = "" if len(fitting) == len(table) else f"; {len(table) - len(fitting)} with larger reports left out"
    size = f"{best.report_bytes} byte{'s' * (best.report_bytes > 1)} a report"
    return f"{best.protocol}: {first}; {size}; the server {best.server}{equal}{limit}."


def plot_errors(
    *, epsilons: Sequence[float] | None = None, domain_sizes: Sequence[int] | None = None, **fixed: float
) -> alt.LayerChart:
    """Draw n·Var/n² of a rare value for every protocol, against ε at one domain size or against d at one ε.

    >>> chart = plot_errors(epsilons=[0.5, 1, 2], domain_size=128)
    >>> chart.to_dict()["title"]["text"]
    'Variance of a rare value, d = 128'

    Args:
        epsilons: the ε to compare at, with `domain_size=`; or
        domain_sizes: the sizes to compare at, with `epsilon=`.
        **fixed: the other one.
    """
    from tacit import plots  # noqa: PLC0415 - only for charts

    if epsilons is not None and domain_sizes is None and set(fixed) == {"domain_size"}:
        at, d = _several(epsilons, "epsilons"), Domain(fixed["domain_size"]).size
        lines = {name: [_each(name, d, epsilon) for epsilon in at] for name in ORACLES}
        return plots.variances(
            [float(read_epsilon(epsilon)) for epsilon in at],
            lines,
            across="ε",
            title=f"Variance of a rare value, d = {d}",
        )
    if domain_sizes is not None and epsilons is None and set(fixed) == {"epsilon"}:
        sizes, epsilon = [Domain(size).size for size in _several(domain_sizes, "domain_sizes")], fixed["epsilon"]
        title = f"Variance of a rare value, ε = {float(read_epsilon(epsilon)):g}"
        lines = {name: [_each(name, d, epsilon) for d in sizes] for name in ORACLES}
        return plots.variances(sizes, lines, across="domain size d", title=title)
    raise InvalidError("plot_errors needs epsilons= and domain_size=, or domain_sizes= and epsilon=.")


def _several(values: object, argument: str) -> list[Any]:
    """Return a list of at least one number."""
    numbers = list(values) if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)) else []
    if not numbers:
        raise bad_value(argument, values, "a list of at least one number")
    return [number.item() if isinstance(number, np.generic) else number for number in numbers]


def _each(name: str, d: int, epsilon: Number) -> float:
    return ORACLES[name](domain=d, epsilon=epsilon).variance(n=1)
