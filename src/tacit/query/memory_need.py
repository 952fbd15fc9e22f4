"""The memory that an answer needs in the asking process, known before the charge from public numbers alone.

**The model.** Let g be the number of listed groups. The parts, in bytes:

| part | bytes |
|---|---|
| without bins | 24 MB |
| with bins: one block of counts with its noise, and the rows that are fetched at once | 40 MB + 40 a count |
| with trees: the same, and the computation of their quantiles | 40 MB + 120 a count |
| a group | 500 + 100 a key + 60 an output + 350 a bundle + 100 an integer of it |
| the quantiles of trees whose counts are dropped | 8 a number: 7 for each quantile and group |
| the noisy counts of trees that are kept, twice while they are copied | 16 a count |
| the text of the record, with a copy (`record_size`) | 2 a byte |

A block has at most 2^20 counts, or those of one group (`histograms.AT_ONCE`). The integers of a bundle are what is
released of a group: two of a draw, the counts of all bins of a histogram. The numbers were fitted to measured peaks and
rounded up; `tests/query/test_memory_need.py` measures some shapes again.

**No private number enters.** Groups, keys, bins, bundles and outputs are those of the plan. How many bins are not empty
is private, and does not matter: the engine sends them in batches, and a block has all bins. The limit is a setting or a
size of the machine (`machine_memory`), never the memory that is free now: what is in use depends on the data that was
loaded. So a refusal before the charge reveals nothing about rows.

**Discovered groups** have private keys, so their number is not known before the charge, and the need is None. Then this
holds: the asking process needs the memory of the discovered keys and of the shown groups, a group as above. If it runs
out, the charge stands.

The memory of the engine is not in these numbers; DuckDB runs in the asking process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from tacit.errors import RefusedError
from tacit.query.aggregates.tree_summary import BYTES_OF_COUNT, drops_trees, kept_misses, trees_of
from tacit.query.expressions import Value
from tacit.query.histograms import groups_at_once
from tacit.query.plan import Bundle, Plan
from tacit.query.rank_scores import widths

LARGE = 500_000_000
"""The need from which a plan shows it."""

LARGEST_RECORD = 20_000_000
"""The largest answer that a ledger stores, in bytes."""

SLOW = 60.0
"""The seconds from which a plan shows the time that drawing takes."""

_MB = 10**6
_LEAST = 24 * _MB
_BINNED, _COUNT, _TREE_COUNT = 40 * _MB, 40, 120
_GROUP, _KEY, _BUNDLE, _INTEGER, _OUTPUT = 500, 100, 350, 100, 60
_USUAL_MISS = Fraction(1, 20)
_DIGITS, _FLOAT, _CELL = 12, 20, 40
_UNITS_OF_GROUP = 10**6
_COPIES = 2
_SECONDS_A_DRAW, _SECONDS_A_WEIGHT = 8e-5, 4.5e-9
_SECONDS_A_COUNT, _SECONDS_AN_EDGE = 4e-8, 7e-8
_UNITS = ("B", "kB", "MB", "GB", "TB")
_THOUSAND = 1000


def memory_need(plan: Plan, *, recorded: bool = False) -> int | None:
    """Return the bytes that an answer needs at its peak; None if its groups are discovered in the data.

    Args:
        plan: the plan.
        recorded: whether the answer is recorded as text.
    """
    if plan.cells is None:
        return None
    dropped = drops_trees(plan, plan.cells)
    text = _COPIES * (record_size(plan) or 0) if recorded else 0
    return _block(plan) + plan.cells * _per_group(plan, dropped=dropped) + text


def _block(plan: Plan) -> int:
    """Return the bytes of one block and of the rows that are fetched at once."""
    bins = max((measure.bins for bundle in plan.bundles for measure in bundle.measures), default=1)
    if bins == 1:
        return _LEAST
    counts = min(plan.measured_cells, groups_at_once(bins)) * bins
    return _BINNED + counts * (_TREE_COUNT if trees_of(plan) else _COUNT)


def _per_group(plan: Plan, *, dropped: bool) -> int:
    """Return the bytes of a group."""
    trees = trees_of(plan)
    levels = {index for tree in trees for index in tree}
    size = _GROUP + _KEY * len(plan.keys) + _OUTPUT * len(plan.outputs)
    for index, bundle in enumerate(plan.bundles):
        counts = _COPIES * BYTES_OF_COUNT if index in levels else _INTEGER
        size += _BUNDLE + (0 if dropped and index in levels else counts * bundle.width)
    return size + (_summary_numbers(plan) * BYTES_OF_COUNT if dropped else 0)


def _summary_numbers(plan: Plan) -> int:
    """Return how many numbers are kept of a group's trees: each quantile, and the ends of its intervals."""
    levels = len(kept_misses(_USUAL_MISS))
    return sum(len(asks) * (1 + 2 * levels) for asks in trees_of(plan).values())


def record_size(plan: Plan) -> int | None:
    """Return the bytes of the record of an answer: an upper end if a group has at most a million units."""
    if plan.cells is None:
        return None
    dropped = drops_trees(plan, plan.cells)
    levels = {index for tree in trees_of(plan) for index in tree}
    sizes = [
        0 if dropped and index in levels else _digits(each) * each.width for index, each in enumerate(plan.bundles)
    ]
    keys = sum(max(map(_key_size, column), default=0) for factor in plan.factors for column in factor.columns)
    quantiles = _FLOAT * _summary_numbers(plan) if dropped else 0
    return plan.cells * (_CELL + keys + sum(3 + size for size in sizes) + quantiles)


def _digits(bundle: Bundle) -> int:
    """Return the bytes of one integer of a bundle with its sign and a comma; what is drawn is a small integer."""
    if bundle.rank is not None or bundle.values is not None:
        return _DIGITS
    return max(_DIGITS, len(str(bundle.contribution * _UNITS_OF_GROUP)) + 2)


def _key_size(value: Value) -> int:
    """Return the bytes of a key, at least: JSON writes other letters than those of ASCII as six bytes or more."""
    return len(json.dumps(value) if isinstance(value, str) else repr(value))


def check_memory(plans: Sequence[Plan], limit: int, *, recorded: bool = False) -> None:
    """Raise RefusedError if the answers to some plans need more than a limit together; read nothing.

    Args:
        plans: the plans; those whose groups are discovered are left out.
        limit: the bytes that the asking process may use for them.
        recorded: whether the answers are recorded.
    """
    needs = [memory_need(plan, recorded=recorded) or 0 for plan in plans]
    if sum(needs) <= limit:
        return
    fact = f"The answer needs about {size_text(sum(needs))} of memory, but the limit is {size_text(limit)}."
    if limit < _LEAST:
        raise RefusedError(
            f"{fact} No answer needs less than {size_text(_LEAST)}.", hint="Set a larger memory limit with memory=."
        )
    largest = plans[max(range(len(plans)), key=needs.__getitem__)]
    raise RefusedError(fact, hint=_way_out(largest))


def check_record(plans: Sequence[Plan]) -> None:
    """Raise RefusedError if answers that must be recorded are too large for a ledger; read nothing."""
    size = sum(record_size(plan) or 0 for plan in plans)
    if size > LARGEST_RECORD:
        raise RefusedError(
            f"The answer would be a record of up to {size_text(size)}, and a ledger stores at most "
            f"{size_text(LARGEST_RECORD)}, so it could not be repeated under its request.",
            hint="Leave the request out, or ask for fewer groups.",
        )


def record_note(plan: Plan) -> list[str]:
    """Return that an answer may be too large for the ledger; an empty list if it is not, or its size is not known."""
    size = record_size(plan)
    if size is None or size <= LARGEST_RECORD:
        return []
    most = size_text(LARGEST_RECORD)
    return [
        f"The answer is a record of up to {size_text(size)}. Above {most} it is not stored: asking again costs again."
    ]


def _way_out(plan: Plan) -> str:
    """Return what makes the need of a plan smaller."""
    ways = ["ask for fewer groups (list fewer keys, or split the query by WHERE on a key)"] if plan.keys else []
    bins = max((measure.bins for bundle in plan.bundles for measure in bundle.measures), default=1)
    ways += ["ask for fewer quantiles"] if trees_of(plan) else []
    ways += ["ask for narrower bounds, which have fewer bins"] if bins > 1 and not trees_of(plan) else []
    return f"{'; '.join([*ways, 'set a larger limit with memory=']).capitalize()}."


def need_notes(plan: Plan) -> list[str]:
    """Return the memory and the time of a large answer in words; an empty list if they are small or not known."""
    need, seconds = memory_need(plan), seconds_of_bins(plan)
    if need is None or seconds is None:
        return []
    memory = f"The answer needs about {size_text(need)} of memory for {plan.cells:,} groups, besides the engine."
    time = f"Its quantiles take about {ceil(seconds / SLOW):,} min after the engine has read the rows."
    return [*([memory] if need >= LARGE else []), *([time] if seconds >= SLOW else [])]


def seconds_of_bins(plan: Plan) -> float | None:
    """Return about how many seconds the draws and the noise of bins take on one core; None without listed groups.

    A draw computes a weight for each candidate: each cell, with each half width if an interval is drawn. A tree has a
    noise for each count, and its quantiles are computed at all edges of the bins.
    """
    if plan.cells is None:
        return None
    each = 0.0
    for bundle in plan.bundles:
        if bundle.rank is not None:
            cells = bundle.measures[0].bins * bundle.rank.parts
            each += _SECONDS_A_DRAW + _SECONDS_A_WEIGHT * cells * (len(widths(cells)) if bundle.rank.miss else 1)
        elif any(measure.bins > 1 for measure in bundle.measures):
            each += _SECONDS_A_COUNT * bundle.width
    edges = sum(plan.bundles[tree[-1]].width * len(asks) for tree, asks in trees_of(plan).items())
    return plan.cells * (each + _SECONDS_AN_EDGE * edges)


def size_text(size: int) -> str:
    """Return a number of bytes in words, rounded up.

    >>> size_text(11_400_000_001), size_text(999), size_text(64_000_000)
    ('11.5 GB', '999 B', '64 MB')
    """
    unit = min(max(len(str(size)) - 1, 0) // 3, len(_UNITS) - 1)
    tenths = ceil(10 * size / _THOUSAND**unit)
    return f"{tenths / 10:,g} {_UNITS[unit]}"
