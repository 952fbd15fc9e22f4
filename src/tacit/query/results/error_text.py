"""The errors of a quote in words: how far each column may be off, under which condition, or why that is not known."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.categories import category_error, is_category
from tacit.query.aggregates.drawn_quantile import DrawnQuantile
from tacit.query.aggregates.quantile import Quantile
from tacit.query.expressions.presence import is_always_present
from tacit.query.formatting import grouped, listed, percent
from tacit.query.plan import Noisy, Output, Plan
from tacit.query.pricing.noisy_filters import choosing_clauses
from tacit.query.pricing.output_errors import aggregates_in, may_divide_by_zero
from tacit.query.results.intervals import lacks_interval
from tacit.query.results.moment_ends import ERROR_UNITS
from tacit.query.results.public_note import is_public

if TYPE_CHECKING:
    from tacit.query.results.quote import Quote

MANY_UNITS = 10**9
"""A number of units at which an error that depends on it differs from one without."""

_ASSUME = "for the error in a group of N units, add assume=N or --assume N"


def error_texts(quote: Quote) -> list[tuple[str, str]]:
    """Return each noisy output with a text on its error; outputs in a row with one text share it."""
    errors = quote.error
    lines: list[tuple[list[str], str]] = []
    for name, output in quote.plan.outputs:
        text = None
        if is_public(output):
            text = "exact and public"
        elif is_category(quote.plan, output):
            text = _category_text(quote, output)
        elif name in errors:
            text = _known(quote, output, errors[name])
        elif name in quote.unknown:
            text = f"the error is not known before{_remedy(quote, output)}"
        if text is not None and lines and lines[-1][1] == text:
            lines[-1][0].append(name)
        elif text is not None:
            lines.append(([name], text))
    return [(listed(names), f"{'each ' if _is_shared(names, text) else ''}{text}") for names, text in lines]


def _is_shared(names: list[str], text: str) -> bool:
    return len(names) > 1 and text.startswith(("off", "within"))


def extent(plan: Plan, confidence: float) -> str:
    """Return where an error holds: in one group, or in all possible groups together."""
    share, clauses, groups = percent(confidence), choosing_clauses(plan), plan.cells
    if not clauses or groups == 1:
        return f" with {share} confidence"
    if groups is None:
        return f" in one group with {share} confidence"
    return f" in all {groups:,} groups at once, with {share} confidence"


def _known(quote: Quote, output: Output, error: float) -> str:
    if not any(quote.plan.aggregates[index].bundles for index in aggregates_in(output)):
        return "exact"
    where = extent(quote.plan, quote.confidence)
    statistic = _quantile(quote.plan, output.place) if isinstance(output, Noisy) else None
    if quote.assume is None and isinstance(output, Noisy) and statistic is not None:
        return _rank_text(quote, output.place, statistic, where)
    unit = f" {ERROR_UNITS[output.kind]}" if output.kind in ERROR_UNITS else ""
    return f"off by at most {grouped(error)}{unit}{where}{_condition(quote, output)}"


def _quantile(plan: Plan, index: int) -> Quantile | DrawnQuantile | None:
    """Return the statistic of an aggregate that is a quantile; None for any other."""
    statistic: object = STATISTICS[plan.aggregates[index].ask.function]
    return statistic if isinstance(statistic, (Quantile, DrawnQuantile)) else None


def _rank_text(quote: Quote, index: int, statistic: Quantile | DrawnQuantile, where: str) -> str:
    """Return the error of a quantile in rows: its values depend on the data, but the error of its rank does not."""
    aggregate = quote.plan.aggregates[index]
    bundles = [quote.plan.bundles[i] for i in aggregate.bundles]
    noise = [quote.price.noise[i] for i in aggregate.bundles]
    rows = ceil(statistic.rank_rows(aggregate.ask, bundles, noise, quote.confidence_in_group))
    end = statistic.which in ("min", "max")
    half = aggregate.ask.parameter is None or aggregate.ask.parameter * 2 == 1
    what = "its rank" if end else "the median" if half else "the quantile"
    dense = ", where values are dense" if isinstance(statistic, DrawnQuantile) else ""
    return f"within {rows:,} row{'' if rows == 1 else 's'} of {what}{where}{dense}"


def _condition(quote: Quote, output: Output) -> str:
    """Return what an error assumes: the size of a group and the spread of its values, if that matters."""
    worst = " (the worst case, of values that hardly differ)" if _has_root(quote.plan, output) else ""
    if quote.error_of(output, None) == quote.error_of(output, MANY_UNITS):
        return worst
    if quote.assume is None:
        return f" (the worst case; {_ASSUME})"
    unit = "row" if quote.plan.table.unit is None else "unit"
    units = f"{quote.assume:,} {unit}{'' if quote.assume == 1 else 's'}"
    if any(_quantile(quote.plan, index) is not None for index in aggregates_in(output)):
        return f" if {units}{' of a group' if quote.plan.keys else ''} are spread evenly over the bounds{worst}"
    values = " with a value" if _may_be_missing(quote.plan, output) else ""
    return f" if {'a group has' if quote.plan.keys else 'there are'} {units}{values}{worst}"


def _may_be_missing(plan: Plan, output: Output) -> bool:
    """Return whether rows may have no value for an aggregate: fewer values have a larger error."""
    asks = [plan.aggregates[index].ask for index in aggregates_in(output)]
    return any(not is_always_present(value) for ask in asks for value in ask.values)


def _has_root(plan: Plan, output: Output) -> bool:
    """Return whether an error is that of a standard deviation, which is largest where the deviation is 0."""
    return any("stddev" in plan.aggregates[index].ask.function for index in aggregates_in(output))


def _remedy(quote: Quote, output: Output) -> str:
    """Return why an error is not known before, and how to learn it."""
    noise = quote.price.noise
    known = quote.assume is None and quote.error_of(output, MANY_UNITS) is not None
    zero = not known and may_divide_by_zero(quote.plan, noise, output, quote.assume or MANY_UNITS)
    remedy = f" ({_ASSUME})" if known else ", because its denominator may be 0" if zero else ""
    return remedy if lacks_interval(quote.plan, output) else f"{remedy}; the answer will have an interval"


def _category_text(quote: Quote, output: Output) -> str:
    """Return the error of a drawn category in words."""
    if not isinstance(output, Noisy):
        return "computed from a drawn category, without an interval"
    where = extent(quote.plan, quote.confidence)
    return category_error(quote.plan, quote.price.noise, output.place, quote.confidence_in_group, where)
