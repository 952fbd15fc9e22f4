"""What every protocol is: a randomiser for clients, a tally and its decoding for servers, a law, parameters.

A protocol has a number of outputs and draws one of them for a value; the probability of each is a rational that is
fixed when the protocol is made (see `law`). Randomising needs the public parameters alone. Decoding needs the tally:
a fixed number of integer cells, whatever the number of people.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ints
from tacit.errors import InvalidError, show
from tacit.guarantees.events import PureRelease, RandomizedBit
from tacit.guarantees.exact import Exact, Number, to_fraction
from tacit.guarantees.values import PureDP
from tacit.local.domain import Domain
from tacit.local.reports import Reports
from tacit.local.response_law import Pure, read_epsilon
from tacit.local.tails import Decoded, Supports
from tacit.mechanisms.frozen import Frozen
from tacit.mechanisms.validation import count_of
from tacit.noise.bits import SYSTEM, BitSource

if TYPE_CHECKING:
    from tacit.local.aggregator import Aggregator
    from tacit.local.estimate import Estimate

Records = npt.NDArray[np.uint8]

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
    """

    code: ClassVar[int]
    _cells: int
    _width: int

    def __init__(self, domain: Domain, epsilon: Fraction) -> None:
        """Keep what all protocols have; a child goes on and calls `_finish`."""
        self._domain = domain
        self._epsilon = epsilon
        self.guarantee = PureDP(epsilon=Exact(epsilon))
        self.event: PureRelease | RandomizedBit = PureRelease(epsilon=epsilon, neighbours="change one")

    def _finish(self, width: int, cells: int, **shown: object) -> None:
        """End construction: the bytes of a report, the cells of the tally, and the digest of the parameters."""
        self._width, self._cells = width, cells
        self.report_bytes = width
        self._digest = hashlib.sha256(_canonical(self._written()).encode()).digest()[:16]
        self._freeze(**shown)

    @property
    def domain(self) -> Sequence[object]:
        """The values, in the order of the estimates; a range where only their number was given."""
        return self._domain.values

    @property
    def domain_size(self) -> int:
        """How many values there are."""
        return self._domain.size

    @property
    def epsilon(self) -> float:
        """The ε of each report."""
        return self.guarantee.epsilon

    @property
    def digest(self) -> str:
        """Sixteen bytes, in hexadecimal digits, that stand for the parameters in every report."""
        return self._digest.hex()

    def parameters(self) -> str:
        """Return all that a client needs, as JSON: public, the same for everybody; `tc.local.protocol` reads it."""
        return _canonical({**self._written(), "digest": self.digest})

    def _written(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "protocol": type(self).__name__,
            "epsilon": str(self._epsilon),
            "domain": self._domain.written(),
            **self._constants(),
        }

    @abstractmethod
    def _constants(self) -> dict[str, object]:
        """Return what the client draws with; it follows from ε and the domain."""

    def randomize(self, values: object) -> Reports:
        """Return one report for each value, drawn from the operating system's randomness; for the person's device.

        Args:
            values: values of the domain: a list, an array, a column of a frame, or one value.
        """
        return self._randomize(self._domain.places(values), SYSTEM)

    def _randomize(self, index: Ints, bits: BitSource) -> Reports:
        records = np.empty((index.size, self._width), dtype=np.uint8)
        step = max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // self._width))
        for start in range(0, index.size, step):
            records[start : start + step] = self._draw(index[start : start + step], bits)
        return Reports(protocol=self.code, digest=self._digest, records=records)

    @abstractmethod
    def _draw(self, index: Ints, bits: BitSource) -> Records:
        """Draw one record for each place of the domain."""

    @abstractmethod
    def _chance(self, record: bytes, index: int) -> Fraction:
        """Return the exact probability that a person with this value sends this record."""

    @abstractmethod
    def _tally(self, records: Records) -> tuple[Ints, int]:
        """Return the cells of these records and how many of them were in range; the others are left out."""

    def _possible(self, cells: Ints, n: int) -> bool:
        """Tell whether n reports can have left these cells: right in number, none below 0, none above n."""
        return cells.shape == (self._cells,) and 0 <= int(cells.min()) <= int(cells.max()) <= n

    @abstractmethod
    def _decode(self, cells: Ints, n: int) -> Decoded:
        """Return the unbiased counts of n ≥ 1 reports."""

    @abstractmethod
    def _variance(self, n: int, frequency: float) -> float: ...

    def variance(self, *, n: int, frequency: float = 0.0) -> float:
        """Return the exact variance of the estimated count of a value that a share `frequency` of n people has.

        Args:
            n: how many people report.
            frequency: the share of them that has the value.
        """
        share = to_fraction(frequency, "frequency", _SHARE)
        if not 0 <= share <= 1:
            raise InvalidError("frequency", show(frequency), _SHARE)
        return self._variance(count_of(n, "n"), float(share))

    def aggregator(self) -> Aggregator:
        """Return an empty tally: reports are added as they come, tallies are merged, saved and estimated from."""
        from tacit.local.aggregator import Aggregator  # noqa: PLC0415 - it knows protocols

        return Aggregator(self)

    def estimate(self, reports: Reports) -> Estimate:
        """Return the estimates from these reports alone."""
        total = self.aggregator()
        total.add(reports)
        return total.estimate()


class PureProtocol(Protocol):
    """A protocol with one p' and one q' for all values (see `law.Pure`); the tally becomes supports, then counts."""

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
        """Return how many reports support each value."""
        return cells[: self._domain.size]

    def _decode(self, cells: Ints, n: int) -> Decoded:
        return Supports(self._law, self._support(cells), n)

    def _variance(self, n: int, frequency: float) -> float:
        return self._law.variance(n, frequency)


def begin(domain: object, epsilon: Number) -> tuple[Domain, Fraction]:
    """Read the two arguments that protocols share."""
    return domain if isinstance(domain, Domain) else Domain(domain), read_epsilon(epsilon)


def total(cells: Ints) -> int:
    """Return the sum of cells that are not below 0, exactly, whatever a file claims that they hold."""
    return (int((cells >> 32).sum()) << 32) + int((cells & 0xFFFFFFFF).sum())


def _canonical(parts: dict[str, object]) -> str:
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
