"""The measures of a bundle as products, for receipts.

Averages, variances and covariances measure several sums that add up to a constant for every row. A receipt shows the
factors of each measure, so that a reader can add them up: `["x"]` and `["8-x"]` add up to 8. `x` and `y` are the whole
steps of a value from its low bound. Each factor is a whole number ≥ 0, `x`, `y`, or a number of steps less `x` or `y`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.query.expressions import Call, Constant, Expression
from tacit.query.plan import Bundle, Measure

Factor = int | str

_NAMES = ("x", "y")


@dataclass(frozen=True, slots=True)
class Formulas:
    """The factors of each measure, None for one that is not such a product, and the steps of each variable."""

    products: list[list[Factor] | None]
    widths: dict[str, int]


def formulas(bundle: Bundle) -> Formulas | None:
    """Return the measures of a bundle as products; None if it has one measure, or if none of them is a product."""
    measures = bundle.measures
    if len(measures) == 1 or bundle.combined is not None or bundle.values is not None:
        return None
    if all(measure.value is not None and _grid(measure) == _grid(measures[0]) for measure in measures):
        return _balanced(measures)
    widths: dict[str, int] = {}
    steps: list[Expression] = []
    products = [_product(measure.value, steps, widths) for measure in measures]
    return Formulas(products, widths) if any(products) else None


def _grid(measure: Measure) -> tuple[object, ...]:
    return measure.value, measure.step, measure.low, measure.high, measure.fraction_bits


def _balanced(measures: tuple[Measure, ...]) -> Formulas | None:
    """Return measures of one value: its steps from the low bound, from the high bound, or none."""
    width = measures[0].high - measures[0].low
    forms: dict[tuple[int, int], list[Factor]] = {
        (1, -measures[0].low): ["x"],
        (-1, measures[0].high): [f"{width}-x"],
        (0, 0): [0],
    }
    found = [forms.get((measure.sign, measure.offset)) for measure in measures]
    return Formulas(list(found), {"x": width}) if all(found) else None


def _product(value: Expression | None, steps: list[Expression], widths: dict[str, int]) -> list[Factor] | None:
    """Return the factors of a product of steps; None for any other expression."""
    match value:
        case Call(function="multiply", arguments=(left, right)):
            parts = [_product(each, steps, widths) for each in (left, right)]
            return None if None in parts else [factor for part in parts for factor in part or ()]
        case Call(function="subtract", arguments=(Constant(value=int(width)), Call(function="steps") as inner)):
            name = _name(inner, steps, widths)
            return None if name is None or widths[name] != width else [f"{width}-{name}"]
        case Call(function="steps"):
            name = _name(value, steps, widths)
            return None if name is None else [name]
        case Constant(value=int(number)) if number >= 0:
            return [number]
    return None


def _name(steps_of_value: Call, steps: list[Expression], widths: dict[str, int]) -> str | None:
    """Return the variable of the steps of a value, a new one if the value is new."""
    match steps_of_value.arguments:
        case (_, _, Constant(value=int(low)), Constant(value=int(high))):
            if steps_of_value not in steps:
                steps.append(steps_of_value)
            place = steps.index(steps_of_value)
            if place < len(_NAMES):
                widths[_NAMES[place]] = high - low
                return _NAMES[place]
    return None
