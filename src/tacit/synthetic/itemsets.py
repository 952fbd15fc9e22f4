"""The answer of `db.itemsets`: frequent itemsets with noisy supports, their intervals, rules, tables and a chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from os import PathLike
from typing import TYPE_CHECKING, Any

from tacit.errors import InternalError, bad_value
from tacit.guarantees.values import ZCDP, ApproxDP, PureDP
from tacit.query.expressions import Value
from tacit.query.formatting import amounts, count_text, percent, spell
from tacit.query.results.table import Table
from tacit.safe_text import as_html, visible
from tacit.synthetic.baskets import Itemset
from tacit.synthetic.itemset_law import noise_reach
from tacit.synthetic.itemset_noise import Noise
from tacit.synthetic.itemset_question import ItemsetAnswer, MeasuredSet
from tacit.synthetic.itemset_rules import Ends, Items, rules_of
from tacit.synthetic.reading import CodedRelease

if TYPE_CHECKING:
    import pandas as pd

    from tacit.plots.answers import AnswerChart

_SHOWN = 20
_SUPPORTS = ("support", "low", "high")


def content_of(answer: ItemsetAnswer, labels: tuple[Value, ...]) -> dict[str, object]:
    """Return an answer as JSON: noisy numbers, their laws, and the names of released items only."""
    known = {one.itemset: one for one in answer.measured}
    parts = {part for one in answer.sets for part in _parts(one.itemset) if part in known}
    laws = list(dict.fromkeys(one.law for one in (answer.baskets, answer.total, *answer.measured)))

    def stored(one: MeasuredSet) -> list[object]:
        return [[_json(labels[item]) for item in one.itemset], one.steps, laws.index(one.law)]

    return {
        "baskets": stored(answer.baskets),
        "total": stored(answer.total),
        "sets": [stored(one) for one in answer.sets],
        "parts": [stored(known[part]) for part in sorted(parts - {one.itemset for one in answer.sets})],
        "laws": [[law.pure, str(law.amount), law.terms, law.step] for law in laws],
        "measured": len(answer.measured) + 2,
        "method": answer.method,
        "most": answer.most,
    }


def _parts(itemset: Itemset) -> Iterator[Itemset]:
    if len(itemset) > _LARGEST:
        return
    for chosen in range(1, 1 << len(itemset)):
        yield tuple(item for place, item in enumerate(itemset) if chosen >> place & 1)


_LARGEST = 6


def _json(label: Value) -> object:
    return label if isinstance(label, (str, int)) else str(label)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Itemsets:
    """Frequent itemsets, the largest support first: `len(r)`, `r.rows()`, `r.rules()`, `r.to_pandas()`, `r.plot()`.

    A support is the noisy number of baskets that include all items of a set. `low` and `high` hold together, with the
    probability `confidence`, for all sets whose support was measured, whether or not they are in the answer: so also
    for those that noise brought into it. They are for the baskets that count: at most `reach` of a unit, each with at
    most `most` items. If `full_items` is less than `most`, baskets with more listed items than that count in part.

    Attributes:
        release: the charge with its receipt.
        confidence: the probability with which all intervals hold together.
    """

    release: CodedRelease
    confidence: float
    reach: int
    most: int
    k: int | None = None
    """The number of sets that was asked for; None with `min_support`."""

    @property
    def cost(self) -> PureDP | ApproxDP | ZCDP:
        """The cost of the release."""
        cost = self.release.cost
        if isinstance(cost, ApproxDP) and not cost.delta:
            return PureDP(epsilon=cost.epsilon)
        if not isinstance(cost, (PureDP, ApproxDP, ZCDP)):
            raise InternalError("a release costs ε, (ε, δ) or ρ.")
        return cost

    @property
    def receipt(self) -> dict[str, object]:
        """The guarantee and the event as JSON, with the record of the ledger."""
        return self.release.receipt

    @property
    def repeated(self) -> bool:
        """True if the ledger had recorded the answer, so that it cost nothing this time."""
        return self.release.repeated

    @property
    def method(self) -> str:
        """The method: "basis" (all sets of few items are measured) or "pairs" (pairs, then larger sets)."""
        return str(self._content["method"])

    @property
    def full_items(self) -> int:
        """The number of listed items up to which a basket counts in full."""
        return int(self._content["most"])

    @property
    def baskets(self) -> Ends:
        """The noisy number of baskets with its interval: the estimate, the low and the high end."""
        return self._ends(self._content["baskets"])

    def rows(self) -> list[tuple[Items, int, int, int]]:
        """Return the sets as tuples: the items, the support, and the low and high end of its interval."""
        return [(tuple(one[0]), *self._whole(one)) for one in self._content["sets"]]

    def rules(self, *, min_confidence: float = 0.5, min_lift: float = 0.0) -> Table:
        """Return association rules of the sets, at no further cost, the largest confidence first.

        The intervals of all rules hold together, with the same probability as those of the supports.

        Args:
            min_confidence: the least estimated confidence, from 0 to 1.
            min_lift: the least estimated lift.
        """
        for name, value, most in (("min_confidence", min_confidence, 1.0), ("min_lift", min_lift, float("inf"))):
            if not 0 <= value <= most:
                raise bad_value(name, value, "a number from 0 to 1" if most == 1 else "a number of at least 0")
        content = self._content
        supports = {tuple(one[0]): self._ends(one) for one in [*content["sets"], *content["parts"]]}
        sets = [tuple(one[0]) for one in content["sets"]]
        found = rules_of(sets, supports, self._ends(content["total"]), min_confidence, min_lift)
        ends = ("confidence", "confidence_low", "confidence_high", "lift", "lift_low", "lift_high")
        rows = [
            (_joined(rule.antecedent), _joined(rule.consequent), round(rule.support[0]), *rule.confidence, *rule.lift)
            for rule in found
        ]
        names = ("antecedent", "consequent", "support", *ends)
        columns = tuple(tuple(column) for column in zip(*rows, strict=True)) if rows else ((),) * len(names)
        none = [] if rows else ["No rule of these sets reaches min_confidence and min_lift."]
        return Table(names, ("text", "text", "integer", *("real",) * 6), columns, (*none, self._note))

    @property
    def table(self) -> Table:
        """The sets as a table of text and whole numbers."""
        rows = [(_joined(items), *numbers) for items, *numbers in self.rows()]
        columns = tuple(zip(*rows, strict=True)) if rows else ((), (), (), ())
        return Table(("itemset", *_SUPPORTS), ("text", "integer", "integer", "integer"), columns, (self._note,))

    def __len__(self) -> int:
        """Return the number of sets."""
        return len(self._content["sets"])

    def __iter__(self) -> Iterator[tuple[Items, int, int, int]]:
        """Return an iterator over the rows."""
        return iter(self.rows())

    def to_dict(self) -> dict[str, object]:
        """Return the answer as JSON: the sets with intervals, the number of baskets, the cost and the receipt."""
        estimate, low, high = self.baskets
        sets = [{"items": list(items), "support": n, "low": a, "high": b} for items, n, a, b in self.rows()]
        return {
            "sets": sets,
            "baskets": {"estimate": round(estimate), "low": ceil(low), "high": floor(high)},
            "confidence": self.confidence,
            "method": self.method,
            "reach": self.reach,
            "most": self.most,
            "full_items": self.full_items,
            "cost": amounts(self.cost),
            "receipt": self.receipt,
        }

    def to_csv(self, path: str | PathLike[str] | None = None, *, spreadsheet: bool = True) -> str | None:
        """Return the sets as CSV, or write them to a path; items are joined by commas.

        Args:
            path: the file; without it the text is returned.
            spreadsheet: whether a text that a spreadsheet would run as a formula gets an apostrophe.
        """
        return self.table.to_csv(path, spreadsheet=spreadsheet)

    def to_pandas(self) -> pd.DataFrame:
        """Return the sets as a pandas frame, each itemset as a tuple."""
        frame = self.table.to_pandas()
        frame["itemset"] = [row[0] for row in self.rows()]
        return frame

    def plot(self, *, most: int = 30, theme: str = "light") -> AnswerChart:
        """Draw a bar for each of the first sets, with its interval; this requires the extra `tacit[plot]`.

        Args:
            most: the number of sets to draw.
            theme: "light" or "dark".
        """
        from tacit import plots  # noqa: PLC0415 - heavy
        from tacit.plots.answers import Caption, by_group  # noqa: PLC0415 - heavy
        from tacit.plots.marks import NoisyColumn  # noqa: PLC0415 - heavy

        if theme not in ("light", "dark"):
            raise bad_value("theme", theme, '"light" or "dark"')
        rows = self.rows()[:most]
        column = NoisyColumn(
            name="baskets",
            values=[n for _, n, _, _ in rows],
            low=[low for _, _, low, _ in rows],
            high=[high for _, _, _, high in rows],
            from_zero=True,
        )
        caption = Caption(
            title=self.release.question, cost=spell(self.cost), confidence=self.confidence, note=self._note
        )
        chart = by_group([_joined(row[0]) for row in rows], [column], caption, group="itemset")
        return plots.darkened(chart) if theme == "dark" else chart

    def __str__(self) -> str:
        """Return the first sets with their intervals, and what they mean."""
        return "\n".join([str(self._first()), *map(visible, self._lines())])

    def __repr__(self) -> str:
        """Return the number of sets and the cost in one line."""
        return visible(f"<Itemsets: {count_text(len(self), 'set')}; cost {spell(self.cost)}>")

    def _repr_html_(self) -> str:
        """Return the same as `print` shows, as HTML, for notebooks."""
        return self._first()._repr_html_() + "".join(f"<p>{as_html(line)}</p>" for line in self._lines())

    # --- parts ------------------------------------------------------------------------------------------------------

    @property
    def _content(self) -> Mapping[str, Any]:
        return self.release.content

    @property
    def _note(self) -> str:
        return (
            f"All intervals hold together in {percent(self.confidence)} of releases, also for sets that noise brought "
            "into the answer."
        )

    def _first(self) -> Table:
        table = self.table
        return Table(table.names, table.kinds, tuple(column[:_SHOWN] for column in table.columns))

    def _lines(self) -> list[str]:
        estimate, low, high = self.baskets
        more = [f"… and {count_text(len(self) - _SHOWN, 'more set')}"] if len(self) > _SHOWN else []
        count = f"About {max(0, round(estimate)):,} baskets count ({ceil(low):,} to {floor(high):,})."
        cut = limits_text(self.reach, self.most)
        part = f"Baskets with more than {self.full_items:,} of the listed items count in part."
        return [*more, *self._fewer, self._note, count, cut, *([part] if self.full_items < self.most else [])]

    @property
    def _fewer(self) -> list[str]:
        """Say so if the answer has fewer sets than were asked for."""
        if self.k is None or len(self) >= self.k:
            return []
        return [f"{count_text(len(self), 'set')}, not {self.k:,}: the items that were chosen form no more sets."]

    def _ends(self, one: list[Any]) -> Ends:
        """Return the estimate of a stored set with its ends."""
        _, steps, place = one
        pure, amount, terms, step = self._content["laws"][place]
        law = Noise(pure=pure, amount=Fraction(amount), terms=terms, step=step)
        beta = (1 - Fraction(repr(self.confidence))) / int(self._content["measured"])
        reach = noise_reach(law, beta)
        return steps / step, max(0.0, steps / step - reach), max(0.0, steps / step + reach)

    def _whole(self, one: list[Any]) -> tuple[int, int, int]:
        """Return the estimate and its ends as whole numbers; if all baskets count in full, supports are whole."""
        estimate, low, high = self._ends(one)
        if self.full_items < self.most:
            return round(estimate), floor(low), ceil(high)
        return round(estimate), ceil(low), floor(high)


def limits_text(reach: int, most: int) -> str:
    """Return which baskets and items count.

    >>> limits_text(1, 3)
    'At most 1 basket of a unit counts, with at most 3 items.'
    >>> limits_text(2, 1)
    'At most 2 baskets of a unit count, each with at most 1 item.'
    """
    baskets = "1 basket of a unit counts," if reach == 1 else f"{reach:,} baskets of a unit count, each"
    return f"At most {baskets} with at most {count_text(most, 'item')}."


def _joined(items: Items) -> str:
    return ", ".join(str(item).lower() if isinstance(item, bool) else str(item) for item in items)
