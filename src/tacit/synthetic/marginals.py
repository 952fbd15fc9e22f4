"""The answer of `db.marginals`: tables that agree with each other, their errors, and a fit without negative counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from tacit.errors import InvalidError
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.expressions import Kind, Value
from tacit.query.formatting import amounts, count_text, grouped, percent, spell
from tacit.query.results.render import WARNING
from tacit.query.results.table import Table, format_value
from tacit.query.sql.names import unique_names
from tacit.safe_text import html_lines, visible, visible_lines
from tacit.synthetic.domain_labels import values_of
from tacit.synthetic.marginal_parts import marginal_of
from tacit.synthetic.marginal_release import Columns, Floats
from tacit.synthetic.marginal_request import places_of, read_name
from tacit.synthetic.marginal_table import MarginalRelease, MarginalTable, key_columns
from tacit.synthetic.nonnegative_fit import nonnegative_parts
from tacit.synthetic.reading import CodedRelease

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from tacit.plots.answers import AnswerChart

ALL = "*"
"""The value of a column that a marginal does not have, in the table of all marginals."""

BIASED = (
    "These counts are not negative and agree with each other, but they are biased: small counts move toward what the "
    "single columns predict. The intervals of the unbiased marginals do not hold for them."
)
_MOST_LINES = 40


class _Named:
    """Access to marginals by the names of their columns."""

    release: MarginalRelease
    requested: tuple[tuple[str, ...], ...]

    def _places(self, names: str | Sequence[str]) -> Columns:
        """Return the columns of a marginal in the given order, or raise InvalidError if there is no such marginal."""
        columns = read_name(names)
        known = self.release.domain.names
        wanted = set(places_of(known, columns))
        if not any(wanted <= set(places_of(known, each)) for each in self.requested):
            raise InvalidError(
                f"The release has no marginal of {', '.join(columns)}.",
                argument="the index",
                hint="Ask for it in db.marginals. A released marginal has those of its columns too.",
            )
        return tuple(known.index(column) for column in columns)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Return an iterator over the requested marginals, as tuples of names."""
        return iter(self.requested)

    def __len__(self) -> int:
        """Return the number of requested marginals."""
        return len(self.requested)


@dataclass(frozen=True, eq=False, repr=False)
class NonnegativeMarginals(_Named):
    """Marginals without negative counts that agree with each other: biased, and without intervals.

    `fit["age", "sex"]` is a table; any part of a requested marginal has one.

    Attributes:
        release: the noisy counts.
        requested: the marginals that were asked for.
        parts: the fitted counts of each marginal.
    """

    release: MarginalRelease
    requested: tuple[tuple[str, ...], ...]
    parts: Mapping[Columns, Floats]

    def __getitem__(self, names: str | tuple[str, ...]) -> Table:
        """Return one marginal as a table."""
        places = self._places(names)
        keys = key_columns(self.release.domain, places)
        return Table(
            tuple(unique_names([*(key.name for key in keys), "count"])),
            (*(key.kind for key in keys), "real"),
            (*(key.values for key in keys), tuple(self.counts(names).ravel().tolist())),
            (BIASED,),
        )

    def counts(self, names: str | Sequence[str]) -> Floats:
        """Return the counts of one marginal as an array with an axis for each column.

        Args:
            names: the columns of the marginal.
        """
        places = self._places(names)
        rising = tuple(sorted(places))
        table = np.maximum(marginal_of(self.parts, self.release.domain.sizes, rising), 0.0)
        return np.transpose(table, [rising.index(place) for place in places])

    def _lines(self) -> list[str]:
        names = [", ".join(each) for each in self.requested]
        more = [f"… and {len(names) - _MOST_LINES:,} more marginals"] if len(names) > _MOST_LINES else []
        return [f"{count_text(len(self), 'marginal')} without negative counts.", *names[:_MOST_LINES], *more, BIASED]

    def __str__(self) -> str:
        """Return the names of the marginals, and what their counts mean."""
        return visible_lines("\n".join(self._lines()))

    def __repr__(self) -> str:
        """Return the number of marginals in one line."""
        return f"<NonnegativeMarginals: {len(self):,}; biased>"

    def _repr_html_(self) -> str:
        """Return the names of the marginals as HTML, for notebooks."""
        return html_lines(self._lines())


@dataclass(frozen=True, eq=False, repr=False)
class Marginals(_Named):
    """Unbiased marginals that agree with each other: `m["age", "sex"]` is a table with intervals.

    The columns may be named in any order, and every part of a requested marginal has a table too. `m.nonnegative()` is
    a second, biased set of tables without negative counts.

    Attributes:
        release: the noisy counts.
        requested: the marginals that were asked for.
        charged: the charge with its receipt.
        warnings: sentences about what limits the answer.
    """

    release: MarginalRelease
    requested: tuple[tuple[str, ...], ...]
    charged: CodedRelease
    warnings: tuple[str, ...] = ()

    def __getitem__(self, names: str | tuple[str, ...]) -> MarginalTable:
        """Return one marginal."""
        return MarginalTable(self.release, self._places(names))

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """The cost of all marginals together."""
        return self.release.cost

    @property
    def confidence(self) -> float:
        """The confidence of the intervals."""
        return self.release.confidence

    @property
    def repeated(self) -> bool:
        """True if the ledger had recorded the release, so that it cost nothing this time."""
        return self.charged.repeated

    @cached_property
    def error(self) -> dict[str, float]:
        """The largest error of a cell of each requested marginal, at the confidence of the release."""
        known = self.release.domain.names
        return {", ".join(names): self.release.error(places_of(known, names)) for names in self.requested}

    @property
    def receipt(self) -> dict[str, object]:
        """The guarantee and the noise as JSON, with the record in the ledger."""
        domain, noise = self.release.domain, self.release.noise
        shown = {", ".join(domain.names[place] for place in each): str(value) for each, value in noise.amounts.items()}
        amount = "variance_of_residual" if noise.law == "gaussian" else "scale_of_count"
        steps = {"steps_of_one_row": 1 << domain.coded.bits, "reach": domain.reach}
        places = {name: domain.sizes[place] for place, name in enumerate(domain.names)}
        parts = [
            {"columns": [domain.names[place] for place in each], "amount": str(value)}
            for each, value in noise.amounts.items()
        ]
        more = {"values_of_a_column": places, "parts": parts}
        return {**self.charged.receipt, "noise": {"law": noise.law, amount: shown, **steps, **more}}

    def nonnegative(self) -> NonnegativeMarginals:
        """Return marginals without negative counts that agree with each other; it costs nothing, and it is biased."""
        return self._fit

    @cached_property
    def _fit(self) -> NonnegativeMarginals:
        release = self.release
        sets = [places_of(release.domain.names, names) for names in self.requested]
        parts = nonnegative_parts(release.parts, release.noise.variances, release.domain.sizes, sets)
        return NonnegativeMarginals(release, self.requested, parts)

    def plot(self, *names: str, confidence: float | None = None, theme: str = "light") -> AnswerChart:
        """Draw one marginal as released, with its error; without names the first one. See `MarginalTable.plot`.

        Args:
            names: the columns of the marginal.
            confidence: that of the error; by default that of the release.
            theme: "light" or "dark".
        """
        return self[names or self.requested[0]].plot(confidence, theme=theme)

    # --- all marginals as one table ---------------------------------------------------------------------------------

    @cached_property
    def table(self) -> Table:
        """All requested marginals below each other; `*` stands for a column that a marginal does not have."""
        domain = self.release.domain
        columns: list[list[Value]] = [[] for _ in (*domain.names, "count", "low", "high")]
        texts = [tuple(map(format_value, values_of(domain, place)[1])) for place in range(len(domain.names))]
        for names in self.requested:
            places = places_of(domain.names, names)
            shown = self[tuple(domain.names[place] for place in places)].table
            codes = np.indices([domain.sizes[place] for place in places]).reshape(len(places), -1)
            for place in range(len(domain.names)):
                some = codes[places.index(place)].tolist() if place in places else None
                columns[place] += [ALL] * len(shown) if some is None else [texts[place][code] for code in some]
            for place, values in enumerate(shown.columns[-3:], start=-3):
                columns[place] += values
        texts_first: list[Kind] = ["text"] * len(domain.names)
        return Table(
            tuple(unique_names([*domain.names, "count", "low", "high"])),
            (*texts_first, "real", "real", "real"),
            tuple(map(tuple, columns)),
        )

    def to_csv(self, path: str | PathLike[str] | None = None, *, spreadsheet: bool = True) -> str | None:
        """Return the table of all marginals as CSV, or write it to a path.

        Args:
            path: the file; without it the text is returned.
            spreadsheet: whether a text that a spreadsheet would run as a formula gets an apostrophe.
        """
        return self.table.to_csv(path, spreadsheet=spreadsheet)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of all marginals as a pandas frame."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the table of all marginals as a polars frame."""
        return self.table.to_polars()

    def to_arrow(self) -> pa.Table:
        """Return the table of all marginals as an Arrow table."""
        return self.table.to_arrow()

    def to_dict(self) -> dict[str, object]:
        """Return the marginals as JSON."""
        errors = list(self.error.values())
        return {
            "question": self.charged.question,
            "cost": amounts(self.cost),
            "confidence": self.confidence,
            "marginals": [
                {"columns": list(names), "error": error, "rows": self[names].dicts()}
                for names, error in zip(self.requested, errors, strict=True)
            ],
            "warnings": list(self.warnings),
            "notes": self.notes,
            "receipt": self.receipt,
        }

    # --- text -------------------------------------------------------------------------------------------------------

    @property
    def notes(self) -> list[str]:
        """Sentences that belong under the marginals."""
        return [
            f"Each error holds for one cell with {percent(self.confidence)} confidence.",
            *domain_notes(self.release),
        ]

    def _lines(self) -> list[str]:
        errors = list(self.error.items())
        more = len(errors) - _MOST_LINES
        return [
            *(f"{WARNING}{text}" for text in self.warnings),
            f"{count_text(len(self), 'marginal')} at a cost of {spell(self.cost)}.",
            *(f"{name}: each count ± {grouped(error)}" for name, error in errors[:_MOST_LINES]),
            *([f"… and {more:,} more marginals"] if more > 0 else []),
            *self.notes,
        ]

    def __str__(self) -> str:
        """Return the marginals with their errors."""
        return visible_lines("\n".join(self._lines()))

    def __repr__(self) -> str:
        """Return the number of marginals and the cost in one line."""
        return visible(f"<Marginals: {len(self):,}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """Return the marginals with their errors as HTML, for notebooks."""
        return html_lines(self._lines())


def domain_notes(release: MarginalRelease) -> list[str]:
    """Return sentences on what the domain and the reach do to the counts."""
    domain = release.domain
    binned = [column.name for column in domain.columns if column.edges is not None]
    notes = []
    if binned:
        notes.append(f"Values beyond the first or the last bin of {', '.join(binned)} are in that bin.")
    if domain.table.unit is not None:
        rows = count_text(domain.reach, "row")
        notes.append(f"A unit with more than {rows} counts as {rows} in all.")
    return notes
