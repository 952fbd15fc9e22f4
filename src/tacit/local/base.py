"""The base class of all protocols: a randomiser for clients, a tally and its decoding for servers.

A protocol draws one of its outputs for each value. The probability of each output is a rational number, fixed at
construction (see `response_law`). Randomising needs only the public parameters. Decoding needs the tally: a number of
integer cells that does not depend on the number of people.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tacit.arrays import Bytes, Ints
from tacit.errors import bad_value
from tacit.guarantees.events import PureRelease, RandomizedBit
from tacit.guarantees.exact import Exact, Number, to_fraction
from tacit.guarantees.values import PureDP
from tacit.local.count_laws import Decoded, Supports
from tacit.local.domain import Domain
from tacit.local.reports import Reports
from tacit.local.response_law import Pure, read_epsilon
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.validation import count_of
from tacit.noise.bits import SYSTEM, BitSource

if TYPE_CHECKING:
    from tacit.local.aggregator import Aggregator
    from tacit.local.estimate import Estimate


FORMAT, VERSION = "tacit.local", 1
_SHARE = "a number from 0 to 1"
_CHUNK_ROWS, _CHUNK_BYTES = 1 << 16, 1 << 20


class Protocol(Frozen):
    """A frequency oracle with one report a person; ε-DP for each person against everybody, the server included.

    Attributes:
        domain: the values that people may have; public.
        guarantee: what each report promises to the person who sends it.
        event: what was run, for accountants. One report of one person; several of one person compose.
        report_bytes: the size of one report without its envelope.
        code: the number of the protocol in the envelope of a report.

    Args:
        epsilon: ε of each report.
    """

    code: ClassVar[int]
    _cells: int
    _width: int

    def __init__(self, domain: Domain, epsilon: Fraction) -> None:
        """Store what all protocols have. A subclass continues and then calls `_finish`."""
        self._domain = domain
        self._epsilon = epsilon
        self.guarantee = PureDP(epsilon=Exact(epsilon))
        self.event: PureRelease | RandomizedBit = PureRelease(epsilon=epsilon, neighbours="change one")

    def _finish(self, width: int, cells: int, **shown: object) -> None:
        """Finish construction: set the bytes of a report, the cells of the tally and the digest of the parameters."""
        self._width, self._cells = width, cells
        self.report_bytes = width
        self._digest = hashlib.sha256(_canonical(self._fields()).encode()).digest()[:16]
        self._freeze(**shown)

    @property
    def domain(self) -> Sequence[object]:
        """The values, in the order of the estimates; a range if only their number was given."""
        return self._domain.values

    @property
    def domain_size(self) -> int:
        """The number of values."""
        return self._domain.size

    @property
    def epsilon(self) -> float:
        """The ε of each report."""
        return self.guarantee.epsilon

    @property
    def digest(self) -> str:
        """The identifier of the parameters in every report: 16 bytes in hexadecimal."""
        return self._digest.hex()

    def parameters(self) -> str:
        """Return the public parameters that a client needs, as JSON; `tc.local.protocol` reads it."""
        return _canonical({**self._fields(), "digest": self.digest})

    def _fields(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "protocol": type(self).__name__,
            "epsilon": str(self._epsilon),
            "domain": self._domain.to_json(),
            **self._constants(),
        }

    @abstractmethod
    def _constants(self) -> dict[str, object]:
        """Return the constants that the client draws with. They follow from ε and the domain."""

    def randomize(self, values: object) -> Reports:
        """Return one report for each value, drawn from the operating system's randomness. Run it on the device.

        Args:
            values: values of the domain: a list, an array, a column of a frame, or one value.
        """
        return self._randomize(self._domain.positions(values), SYSTEM)

    def _randomize(self, index: Ints, bits: BitSource) -> Reports:
        records = np.empty((index.size, self._width), dtype=np.uint8)
        step = max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // self._width))
        for start in range(0, index.size, step):
            records[start : start + step] = self._draw(index[start : start + step], bits)
        return Reports(protocol=self.code, digest=self._digest, records=records)

    @abstractmethod
    def _draw(self, index: Ints, bits: BitSource) -> Bytes:
        """Draw one record for each position in the domain."""

    @abstractmethod
    def _chance(self, record: bytes, index: int) -> Fraction:
        """Return the exact probability that a person with this value sends this record."""

    @abstractmethod
    def _tally(self, records: Bytes) -> tuple[Ints, int]:
        """Return the cells of these records and the number of records that were in range. Skip the others."""

    def _possible(self, cells: Ints, n: int) -> bool:
        """Return whether n reports can produce these cells: the right number of cells, each from 0 to n."""
        return cells.shape == (self._cells,) and 0 <= int(cells.min()) <= int(cells.max()) <= n

    @abstractmethod
    def _decode(self, cells: Ints, n: int) -> Decoded:
        """Return the unbiased counts of n ≥ 1 reports."""

    @abstractmethod
    def _variance(self, n: int, frequency: float) -> float: ...

    def variance(self, *, n: int, frequency: float = 0.0) -> float:
        """Return the exact variance of the estimated count of a value that a share `frequency` of n people has.

        Args:
            n: the number of people who report.
            frequency: the share of them who have the value.
        """
        share = to_fraction(frequency, "frequency", _SHARE)
        if not 0 <= share <= 1:
            raise bad_value("frequency", frequency, _SHARE)
        return self._variance(count_of(n, "n"), float(share))

    def aggregator(self) -> Aggregator:
        """Return an empty tally. Add reports to it, merge it with others, save it, and estimate from it."""
        from tacit.local.aggregator import Aggregator  # noqa: PLC0415 - it knows protocols

        return Aggregator(self)

    def estimate(self, reports: Reports) -> Estimate:
        """Return the estimates from these reports alone."""
        total = self.aggregator()
        total.add(reports)
        return total.estimate()


class PureProtocol(Protocol):
    """A protocol with one p' and one q' for all values (see `response_law.Pure`). Supports give counts."""

    _law: Pure

    @property
    def p(self) -> float:
        """p': the probability that a report supports the value of the person who sent it."""
        return float(self._law.p)

    @property
    def q(self) -> float:
        """q': the probability that it supports any other given value."""
        return float(self._law.q)

    def _support(self, cells: Ints) -> Ints:
        """Return the number of reports that support each value."""
        return cells[: self._domain.size]

    def _decode(self, cells: Ints, n: int) -> Decoded:
        return Supports(self._law, self._support(cells), n)

    def _variance(self, n: int, frequency: float) -> float:
        return self._law.variance(n, frequency)


def read_arguments(domain: object, epsilon: Number) -> tuple[Domain, Fraction]:
    """Read the two arguments that protocols share."""
    return read_domain(domain), read_epsilon(epsilon)


def read_domain(domain: object) -> Domain:
    """Read the values or their number."""
    return domain if isinstance(domain, Domain) else Domain(domain)


def own_chances(**chances: object) -> dict[str, object]:
    """Return the probabilities that a survey chose itself, as fractions for the public parameters."""
    return {name: str(to_fraction(chance, name)) for name, chance in chances.items() if chance is not None}


def total(cells: Ints) -> int:
    """Return the exact sum of non-negative cells, also if a damaged file holds cells whose sum overflows 64 bits."""
    return (int((cells >> 32).sum()) << 32) + int((cells & 0xFFFFFFFF).sum())


def _canonical(parts: dict[str, object]) -> str:
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
