"""Sensitivities: how far one unit can move the integers of a release, from the limits and measures of a receipt.

A row of weight 1 adds at most B, in absolute values, to the integers of a bundle. The rows of a unit weigh at most
M = min(max_rows, reach) in a cell, so they add at most K = M·B there, and T = min(g·K, reach·B) in all its g cells. If
a unit comes or goes, the L1 norm is at most T and the squared L2 norm at most K·T. Under "change one" a unit leaves and
another enters: 2T, and 2K·T if all integers have one sign, else 4K·T. One integer in each of c cells also moves by at
most c·D and c·D², where D bounds the difference of two units in a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import NamedTuple

from tacit.auditing.receipt_fields import Fields

_MOST_BITS, _MOST_TERMS, _MOST_PRODUCTS = 4096, 1 << 16, 16


class Limits(NamedTuple):
    """The limits of a unit: its rows in a cell, in all cells (`reach`), and its cells (`groups`)."""

    change: bool
    groups: int
    rows: int | None
    reach: int | None
    cells: int | None
    one_row: bool


class Moved(NamedTuple):
    """The change that one unit can make: the L1 and squared L2 norms, K, T, the cells c, and the number of integers."""

    l1: int
    l2_squared: int
    cell: int
    total: int
    cells: int
    integers: int


def limits_of(record: Fields) -> Limits:
    """Return the limits of a unit."""
    relation, one_row = record.get("neighbours", str), record.get("one_row_a_unit", bool)
    cells, groups = record.optional("cells", 0), record.optional("max_groups")
    rows = [each for each in (record.optional("max_rows"), record.optional("reach")) if each]
    record.expect(relation in ("add/remove", "change one"), "neighbours is not known")
    single = one_row or cells in (0, 1)
    record.expect(single or groups or cells, "nothing limits the groups of a unit")
    most = 1 if single else min(each for each in (groups, cells) if each)
    record.expect(record.whole("groups_a_unit_can_reach") == most, f"groups_a_unit_can_reach is not {most}")
    reach = None if one_row else record.optional("reach")
    return Limits(relation == "change one", most, 1 if one_row else min(rows, default=None), reach, cells, one_row)


def moved_by(bundle: Fields, limits: Limits, *, halves: bool = False) -> Moved:
    """Return how far one unit can move a bundle; with `halves` one of two cells gets noise, the other is the rest."""
    measures, over = bundle.each("measures"), "cells_of_the_margin" in bundle
    bundle.expect(measures, "there are no measures")
    if "combined" in bundle or (halves and not over):
        form = bundle.inner("combined")
        most = _combined(form, measures, limits) if form.value else _contribution(bundle, measures, limits)[0]
        return Moved(most, most**2, most, most, 1, 1)
    (cell, total), twice = _contribution(bundle, measures, limits), 2 if limits.change else 1
    cells, most = bundle.whole("cells_of_the_margin", 1) if over else limits.cells, limits.groups * twice
    places = most if cells is None else min(cells, most)
    block = bundle.optional("bins_added_up") or 1
    width = sum(-(-(measure.optional("bins") or 1) // block) for measure in measures)
    integers = min(places * width, twice * min(limits.groups * min(width, cell), total))
    cell, ends = total if over else cell, [0, *(end for measure in measures for end in _adds(measure))]
    low, high, one_sign = -min(ends), max(ends), min(ends) == 0 or max(ends) == 0
    l1, square = total * twice, cell * total * ((2 if one_sign else 4) if limits.change else 1)
    if limits.change and width == 1 and not over and (one_sign or "reach_in_all_groups" in bundle):
        apart = cell if one_sign else -(-cell * (low + high) // max(low, high))
        l1, square = min(l1, places * apart), min(square, places * apart**2)
    return Moved(l1, square, cell, total, places, integers)


def _adds(measure: Fields, *, moved: bool = False) -> list[int]:
    """Return what a row adds at its low and its high bound, and without a value if that counts.

    These are the bounds, or 1 for a count; a product starts at 0, and with `moved` the zero of values may be anywhere.
    """
    ends, (low, high), without = measure.pair("row_adds"), measure.pair("bounds_in_steps"), "row_without_a_value_adds"
    fits = low <= high and measure.whole("fraction_bits") <= _MOST_BITS
    none = ends == (0, 0) and 0 in measure.some("product_of")
    starts = ends == (low, high) or moved or ("product_of" in measure and min(ends) == 0)
    counts = measure.get("of", str) == "row" or ends == (1, 1)
    fits = fits and starts and counts and (abs(ends[1] - ends[0]) == high - low or none)
    measure.expect(fits, "the bounds do not fit what a row adds")
    return [*ends, *([measure.whole(without)] if without in measure else [])]


def _row(bundle: Fields, measures: Sequence[Fields]) -> int:
    """Return B: what all measures add, or their constant if they add up to one, or the largest if a row adds to one.

    Factors are whole numbers, x, y, W - x and V - y, all ≥ 0 for x in [0, W] and y in [0, V]. Products of up to three
    of them add up to a constant if their sum is the same at 4 × 4 points.
    """
    bits = [measure.whole("fraction_bits") for measure in measures]
    ends = [_adds(measure) for measure in measures]
    sizes = [max(map(abs, each)) << shift for each, shift in zip(ends, bits, strict=True)]
    if bundle.value.get("a_row_adds_to") == "one measure":
        bundle.expect(not any("product_of" in measure for measure in measures), "a row adds to each of its products")
        return max(sizes)
    best, steps = sum(sizes), bundle.inner("steps_from_the_low_bound")
    for number in range(2, min(len(measures), _MOST_PRODUCTS) + 1):
        if steps.value and all("product_of" in each for each in measures[:number]) and len(set(bits[:number])) == 1:
            sums = {sum(_value(m, steps, {"x": i % 4, "y": i // 4}) for m in measures[:number]) for i in range(16)}
            without = sum(sum(map(abs, each[2:])) for each in ends[:number])
            fit = min(min(each[:2]) for each in ends[:number]) >= 0
            fit = fit and all(
                max(each[:2]) <= _most(m, steps) for m, each in zip(measures[:number], ends, strict=False)
            )
            if len(sums) == 1 and fit and max(sizes[:number]) <= max(sums) << bits[0]:
                constant = max(*sums, without) << bits[0]
                best = min(best, constant + sum(sizes[number:]))
    return best


def _value(measure: Fields, steps: Fields, point: dict[str, int]) -> int:
    """Return a product of factors at a point, which need not be within the bounds."""
    widths = {name: steps.optional(name, 0) for name in point}
    values: dict[object, int] = {name: at for name, at in point.items() if widths[name] is not None}
    values |= {f"{width}-{name}": width - point[name] for name, width in widths.items() if width is not None}
    factors = [each for each in measure.get("product_of", list) if not isinstance(each, Fraction)]
    wholes = [each for each in measure.value["product_of"] if isinstance(each, Fraction)]
    known = len(factors) <= 3 and all(isinstance(each, str) and each in values for each in factors)  # noqa: PLR2004
    measure.expect(known and all(w >= 0 and w.denominator == 1 for w in wholes), "product_of has an unknown factor")
    return prod(values[factor] for factor in factors) * int(prod(wholes))


def _most(measure: Fields, steps: Fields) -> int:
    """Return the product of the largest value of each factor; `_value` has checked that they are known."""
    return prod(
        int(each) if isinstance(each, Fraction) else steps.whole(each[-1]) for each in measure.value["product_of"]
    )


def _contribution(bundle: Fields, measures: Sequence[Fields], limits: Limits) -> tuple[int, int]:
    """Return K and T."""
    kinds, row, first = {each.get("of", str) for each in measures}, _row(bundle, measures), measures[0]
    beyond, reach, alone = first.optional("rows_beyond_the_reach_up_to"), limits.reach, len(measures) == 1
    if beyond is not None:  # the weights of these rows add up to at most beyond - reach
        cut = alone and limits.cells is not None and limits.rows == reach and reach is not None and beyond > reach
        bundle.expect(cut, "it is of rows beyond a reach, but there is no reach")
        return ((beyond - (reach or 0)) * row,) * 2
    if alone and kinds & {"size", "groups", "unit"}:
        weighed = kinds == {"unit"} and "reach_in_all_groups" in bundle and limits.cells is not None
        return row, min(limits.groups, reach if weighed and reach else limits.groups) * row
    bundle.expect(kinds <= {"row", "rows"} or (alone and kinds == {"value"}), "it has unknown measures")
    bundle.expect(limits.rows, "it counts rows, but nothing limits the rows of a unit")
    cell = max(1, (limits.rows or 0) * row)
    return cell, limits.groups * cell if reach is None else min(limits.groups * cell, max(1, reach * row))


def _combined(form: Fields, measures: Sequence[Fields], limits: Limits) -> int:
    """Return the largest change of Σd, or of n·Σde - Σd·Σe over n rows, d in [0, W] and e in [0, V], by one row.

    That is W, or (n-1)·W·V (`query.aggregates.sized_moments`).
    """
    one = limits.one_row or (limits.rows == 1 and limits.reach is None)
    form.expect(limits.change and one and limits.cells == 1, "it needs 'change one', no groups and one row a unit")
    ends, step, what = (
        [_adds(each, moved=True) for each in measures],
        form.whole("divided_by", 1),
        form.get("integer", str),
    )
    kinds, bits = [each.get("of", str) for each in measures], [each.whole("fraction_bits") for each in measures]
    known = kinds[0] in ("rows", "unit") and set(kinds[1:]) <= {"row"} and not any(bits if len(bits) > 2 else bits[:1])  # noqa: PLR2004
    form.expect(known, "its measures are not known")
    if (what, len(measures)) == ("Σd", 2):
        return max(1, -(-((max(ends[1]) - min(ends[1])) << bits[1]) // step))
    form.expect((what, len(measures)) == ("n·Σde - Σd·Σe", 4) and limits.one_row, "the integer is not known")
    wide = (max(ends[1]) - min(ends[1])) * (max(ends[2]) - min(ends[2]))
    return max(1, -(-(form.whole("rows") - 1) * wide // step))


def marginal_cost(noise: Fields, *, change: bool) -> Fraction:
    """Return ε of Laplace noise on counts, or ρ of Gaussian noise on residuals (`synthetic.residuals`).

    A unit that comes or goes costs Σt/2, t = S²·∏nᵢ(nᵢ-1)/σ². One that moves between two cells which differ in the
    columns D costs Σt·(1 - ∏ over its columns in D of -1/(nᵢ-1)); the largest over all D counts, or that of each t.
    """
    steps, parts = noise.whole("steps_of_one_row", 1) * noise.whole("reach", 1), noise.each("parts")
    sets = [tuple(map(str, part.get("columns", list))) for part in parts]
    amounts, names = [part.number("amount") for part in parts], sorted({name for each in sets for name in each})
    noise.expect(parts and len(set(sets)) == len(sets) and min(amounts) > 0, "parts are not known")
    if noise.value.get("law") == "laplace":
        return sum((Fraction((2 if change else 1) * steps) / amount for amount in amounts), Fraction(0))
    sizes = {name: noise.inner("values_of_a_column").whole(name, 2) for name in names}
    squares = [prod(sizes[name] * (sizes[name] - 1) for name in each) * steps**2 for each in sets]
    costs = [square / amount for square, amount in zip(squares, amounts, strict=True)]

    def moving(differ: set[str]) -> Fraction:
        factors = [prod(Fraction(-1, sizes[name] - 1) for name in differ & {*each}) for each in sets]
        return sum((t * (1 - factor) for t, factor in zip(costs, factors, strict=True)), Fraction(0))

    if not change or len(sets) << len(names) > _MOST_TERMS:
        least = [min((sizes[name] for name in each), default=None) if change else None for each in sets]
        worst = [Fraction(1, 2) if size is None else Fraction(size, size - 1) for size in least]
        return sum((t * factor for t, factor in zip(costs, worst, strict=True)), Fraction(0))
    every = (set(some) for number in range(1, len(names) + 1) for some in combinations(names, number))
    return max(sum(costs, Fraction(0)) / 2, *map(moving, every))
