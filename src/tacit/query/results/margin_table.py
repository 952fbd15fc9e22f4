"""A margin of a consistent table, with the intervals of the fitted margin."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import ColumnNotFoundError, InvalidError
from tacit.query.aggregates.margins import Fit, Fitted, margin_interval
from tacit.query.expressions import Value
from tacit.query.formatting import percent
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Plan
from tacit.query.results.cut_columns import ReleasedCell
from tacit.query.results.table import Table
from tacit.query.sql.names import unique_names


def margin_table(
    plan: Plan, noise: Sequence[NoiseLaw], cells: Sequence[ReleasedCell], names: Sequence[str], confidence: float
) -> Table:
    """Return the counts of a crosstab or a histogram by some of its keys, with intervals; or raise InvalidError.

    Args:
        plan: the plan.
        noise: the noise of each of its bundles.
        cells: the cells of the answer, after noise.
        names: the keys of the margin.
        confidence: of each interval.
    """
    over = _over(plan, cells, names)
    factors = _factors(plan, over)
    fit = Fit.of(plan.aggregates[0].ask, plan.bundles, noise)
    sums: dict[tuple[bool, tuple[Value, ...]], list[float]] = {}
    for keys, released in cells:
        last = released[-1]
        rest = isinstance(last, Fitted) and last.rest and bool(over)
        margin_cell = sums.setdefault((rest, tuple(keys[index] for index in over)), [0, 0.0])
        margin_cell[0] += last.integers[0]
        margin_cell[1] += last.center if isinstance(last, Fitted) else 0.0
    ends = [
        margin_interval(center, fit, () if rest else factors, confidence) for (rest, _), (_, center) in sums.items()
    ]
    if not over and fit.size is not None:  # all rows, with the rest
        ends = [(float(fit.size), float(fit.size))]
    by_key = zip(*(keys for _, keys in sums), strict=True) if over else ()
    columns = [
        *map(tuple, by_key),
        tuple(int(count) for count, _ in sums.values()),
        *map(tuple, zip(*ends, strict=True)),
    ]
    return Table(
        tuple(unique_names([*(plan.keys[index].name for index in over), "count", "count_low", "count_high"])),
        (*(plan.keys[index].expression.kind for index in over), "integer", "real", "real"),
        tuple(columns),
        (f"count_low and count_high are the ends of the {percent(confidence)} interval of count.",),
    )


def _over(plan: Plan, cells: Sequence[ReleasedCell], names: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of a margin's keys, or raise InvalidError if the answer has no such margin."""
    keys = [key.name for key in plan.keys]
    if [aggregate.ask.function for aggregate in plan.aggregates] != ["table_count"]:
        raise InvalidError("The answer is not a crosstab or a histogram, so it has no margins.", argument="margin")
    if len(cells) != plan.measured_cells:
        raise InvalidError(
            "The answer does not have all cells of its table.",
            argument="margin",
            hint="Run the query without HAVING and LIMIT.",
        )
    for name in names:
        if name not in keys:
            raise ColumnNotFoundError(str(name), keys, argument="margin")
    return tuple(index for index, name in enumerate(keys) if name in names)


def _factors(plan: Plan, over: tuple[int, ...]) -> tuple[int, ...]:
    """Return the indices of the factors of a margin's keys, or raise InvalidError if it has a part of a factor."""
    factors = [(index, set(factor.places)) for index, factor in enumerate(plan.factors)]
    for _, places in factors:
        if places & set(over) and not places <= set(over):
            names = " and ".join(plan.keys[place].name for place in sorted(places))
            raise InvalidError(
                f"The combinations of {names} are listed together, so a margin has all of them or none.",
                argument="margin",
                hint=f"Name all of them: {names}.",
            )
    return tuple(index for index, places in factors if places <= set(over))
