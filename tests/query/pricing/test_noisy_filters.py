"""Coverage of intervals if HAVING or LIMIT chooses groups by noisy values.

It is computed exactly over all noise of a small query, and simulated for every kind of aggregate. A simulated case has
`RUNS` releases. The hypothesis that all returned intervals hold together in at least 95 % of releases is wrongly
rejected with probability at most `FALSE_ALARM` a case (the exact binomial law). Intervals that hold separately must be
rejected: they hold together in less than half of these releases, and pass with probability below 1e-9. The long suite
makes 2,000 releases a case, of every aggregate, and wrongly rejects 95 % with probability at most 1e-3 over all cases
together; it rejects intervals that hold together in at most 85 % of releases.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import nextafter

import numpy as np
import pytest
from scipy.stats import binom

from bounded import REAL, WHOLE, Row, ask_for, bounds, key, measured, plan_of, policy
from evidence import FALSE_ALARM
from tacit.arrays import WideInts
from tacit.errors import InvalidError
from tacit.noise.bits import SYSTEM, BitSource
from tacit.query.aggregates.margins import as_table_count, with_margins
from tacit.query.aggregates.quantile import bins_of
from tacit.query.expressions import Column
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Ask, Computed, Constantly, Grouped, Key, Noisy, Order, Plan
from tacit.query.pricing.noisy_filters import (
    answer_meaning,
    choosing_clauses,
    confidence_each,
    confidence_in_group,
    interval_note,
    meaning,
)
from tacit.query.pricing.partition_selection import Choose, DiscoveredGroups, Find
from tacit.query.pricing.price import Cost, price
from tacit.query.pricing.solve import solve
from tacit.query.results.answer_codec import from_text, to_text
from tacit.query.results.intervals import interval
from tacit.query.results.quote import Quote
from tacit.query.results.release import Release, release, release_discovered

ROW = policy(unit=None)
COUNT = ask_for("count")
N = Noisy(0, "integer")
OVER = Computed("greater", (N, Constantly(4, "integer")), "boolean")
OF_KEY = Computed("equal", (Grouped(0, "text"), Constantly("g1", "text")), "boolean")
DOWN = Order(by=N, descending=True, nulls_first=False)
BY_KEY = Order(by=Grouped(0, "text"), descending=False, nulls_first=False)
SILENT = NoiseLaw(law="laplace", amount=Fraction(1, 1000), sensitivity=1, moving=1)  # 0, but with probability e^-1000
RUNS, MANY = 150, 2000
LONG_ALARM = 1e-3 / 24  # of 24 cases


def groups(count: int) -> list[Key]:
    return [key("k", *(f"g{i}" for i in range(count)))]


def counted(count: int, **clauses: object) -> Plan:
    return plan_of(ROW, COUNT, keys=groups(count), **clauses)  # type: ignore[arg-type]


# --- which clauses choose ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ({}, ()),
        ({"having": OF_KEY}, ()),
        ({"having": OVER}, ("HAVING",)),
        ({"having": Computed("and", (OF_KEY, OVER), "boolean")}, ("HAVING",)),
        ({"order": (DOWN,)}, ()),
        ({"limit": 3}, ()),
        ({"order": (BY_KEY,), "limit": 3, "offset": 2}, ()),
        ({"order": (DOWN,), "limit": 3}, ("LIMIT",)),
        ({"order": (BY_KEY, DOWN), "limit": 3}, ("LIMIT",)),
        ({"order": (DOWN,), "offset": 3}, ("OFFSET",)),
        ({"order": (DOWN,), "limit": 8}, ("LIMIT",)),  # it drops no group, but the first one is chosen
        ({"order": (DOWN,), "limit": 8, "offset": 1}, ("LIMIT", "OFFSET")),
        ({"having": OVER, "order": (DOWN,), "limit": 1}, ("HAVING", "LIMIT")),
    ],
)
def test_clauses_choose_if_noisy_values_decide_what_they_leave_out(
    clauses: dict[str, object], expected: tuple[str, ...]
) -> None:
    plan = counted(8, **clauses)
    assert choosing_clauses(plan) == expected
    assert confidence_in_group(plan, 0.95) == (1 - Fraction(1, 160) if expected else 0.95)
    assert meaning(plan)["hold"] == ("together" if expected else "each")


def test_one_cell_keeps_its_confidence() -> None:
    plan = plan_of(ROW, COUNT, having=OVER, order=(DOWN,), limit=1)
    assert choosing_clauses(plan) == ("HAVING",)
    assert confidence_in_group(plan, 0.95) == 0.95
    assert interval_note(plan, None, 0.95) == (
        "HAVING decided by noisy values whether the answer is shown. The probability that it is shown and its 95% "
        "interval is wrong is at most 5%."
    )


# --- exact numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999, 1 - 1e-12, nextafter(1, 0)])
@pytest.mark.parametrize("count", [2, 400, 10**6, 10**9])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(20)])
def test_no_rounding_makes_an_interval_of_many_groups_too_narrow(
    confidence: float, count: int, scale: Fraction
) -> None:
    """Pr[|K| > t] = 2r^(t+1)/(1+r), with 60 digits, is at most β/m, and with t - 1 it is not."""
    beta = (1 - Fraction(repr(confidence))) / count
    each = confidence_each(confidence, count)
    assert each == 1 - beta
    noise = NoiseLaw(law="laplace", amount=scale, sensitivity=1, moving=1)
    plan = plan_of(ROW, COUNT)
    cell = release(plan, replace(price(plan, Cost(epsilon=1)), noise=(noise,)), [[10**9]], {}).cells[0]
    ends = interval(plan, N, cell.released, (), each)
    assert ends is not None
    reach = int(ends[1] - ends[0]) // 2
    with localcontext() as exact:
        exact.prec = 60
        r = (-1 / (Decimal(scale.numerator) / Decimal(scale.denominator))).exp()
        beyond = [Fraction(2 * r ** (t + 1) / (1 + r)) for t in (reach, reach - 1)]
    assert beyond[0] <= beta
    assert reach == 0 or beyond[1] > beta


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(NoiseLaw):
    """Noise that the test chooses."""

    values: tuple[int, ...]

    def draw_array(self, size: int, bits: BitSource = SYSTEM) -> WideInts:
        del bits
        assert size == len(self.values)
        return np.array(self.values)


@pytest.mark.parametrize(
    "clauses",
    [{"having": Computed("greater", (N, Constantly(0, "integer")), "boolean")}, {"order": (DOWN,), "limit": 1}],
)
def test_a_shown_interval_is_wrong_no_more_often_than_promised_over_all_noise(clauses: dict[str, object]) -> None:
    """All noise of three groups: what is left out has probability below 1e-6. Intervals of one group are wrong."""
    plan, scale, confidence = counted(3, **clauses), Fraction(1, 2), 0.96
    r = float(np.exp(-1 / float(scale)))
    chances = {k: (1 - r) / (1 + r) * r ** abs(k) for k in range(-7, 8)}
    priced = price(plan, Cost(epsilon=2))
    missed = alone = 0.0
    for drawn in product(chances, repeat=3):
        law = Fixed(law="laplace", amount=scale, sensitivity=1, moving=1, values=drawn)
        answer = release(plan, replace(priced, noise=(law,)), [[0] * 3], {})
        chance = float(np.prod([chances[k] for k in drawn]))
        missed += chance * any(not low <= 0 <= high for _, _, low, high in answer.intervals(confidence).rows())  # type: ignore[operator]
        alone += chance * any(outside(plan, cell.released, confidence) for cell in answer.cells)
    assert missed <= 0.04 < alone


def outside(plan: Plan, released: Sequence[object], confidence: float) -> bool:
    ends = interval(plan, N, released, ("g0",), confidence)  # type: ignore[arg-type]
    assert ends is not None
    return not ends[0] <= 0 <= ends[1]


# --- every aggregate, simulated ---------------------------------------------------------------------------------

TENS, WIDE = bounds(0, 10), bounds(-3, 1000)


def rows_of(function: str) -> list[Row]:
    """The rows of each group: none for counts, else some whose noise decides."""
    many = {"count": 0, "sum": 30, "avg": 60, "var_pop": 400, "stddev_samp": 400, "covar_pop": 400, "corr": 4000}
    return [{"n": i % 11, "x": i * 5 % 11 / 1.1} for i in range(many.get(function, 4))]


def question(function: str, clauses: dict[str, object]) -> Plan:
    """A question of 40 groups, or of 8 for aggregates that take long."""
    ask = {
        "count": COUNT,
        "table_count": COUNT,
        "histogram": COUNT,
        "quantile": Ask(function="quantile", values=(REAL,), bounds=(WIDE,), parameter=Fraction(1, 2)),
        "covar_pop": Ask(function="covar_pop", values=(REAL, WHOLE), bounds=(TENS, TENS)),
        "corr": Ask(function="corr", values=(REAL, WHOLE), bounds=(TENS, TENS)),
    }.get(function) or ask_for(function, WHOLE, TENS)
    plan = plan_of(ROW, ask, keys=groups(8 if function in SLOW else 40), **clauses)  # type: ignore[arg-type]
    if function == "table_count":
        return with_margins(as_table_count(plan), "laplace")
    return as_table_count(plan) if function == "histogram" else plan


def exact_integers(plan: Plan, function: str) -> list[list[int]]:
    if function == "quantile":  # 50 rows in every bin: so many that the interval is no wider than it must be
        bins, width = bins_of("real", WIDE).count, plan.bundles[0].measures[0].bins
        return [([50] * bins + [0] * (width - bins)) * plan.listed for _ in plan.bundles]
    one = measured(replace(plan, keys=()), rows_of(function))
    return [column * plan.listed for column in one]


def chosen(kind: str, above: float) -> dict[str, object]:
    over = Computed("greater", (Noisy(0, "real"), Constantly(above, "real")), "boolean")
    order = Order(by=Noisy(0, "real"), descending=True, nulls_first=False)
    return {"having": over} if kind == "HAVING" else {"order": (order,), "limit": 4}


ABOVE = {"count": 2, "sum": 170, "avg": 5.1, "table_count": 6, "histogram": 6, "quantile": 498.5}
ABOVE |= {"var_pop": 10.1, "stddev_samp": 3.2, "covar_pop": 0.2, "corr": 0.001}


def together(answer: Release, truth: float, confidences: Sequence[Fraction | float]) -> list[bool]:
    """Return whether all returned intervals hold, at each of these confidences for one group."""
    output = answer.plan.outputs[-1][1]
    return [
        all(
            low - 1e-9 <= truth <= high + 1e-9
            for cell in answer.cells
            if (ends := interval(answer.plan, output, cell.released, cell.keys, each)) is not None
            for low, high in [ends]
        )
        for each in confidences
    ]


def simulated(function: str, kind: str, runs: int) -> tuple[int, int]:
    """Count the releases without a wrong interval: with those of the answer, and with separate intervals."""
    plan = question(function, chosen(kind, ABOVE[function]))
    exact, epsilon = exact_integers(plan, function), 1.0
    priced = price(plan, Cost(epsilon=epsilon))
    silent = replace(priced, noise=(SILENT,) * len(plan.bundles))
    truth = release(replace(plan, having=None, limit=None), silent, exact, {}).cells[0].estimates[0]
    assert isinstance(truth, (int, float))
    held = alone = 0
    for _ in range(runs):
        answer = release(plan, priced, exact, {})
        shown = answer.intervals().rows()
        held += all(low - 1e-9 <= truth <= high + 1e-9 for *_, low, high in shown)  # type: ignore[operator]
        alone += together(answer, float(truth), [0.95])[0]
    return held, alone


QUICK = ["count", "sum", "avg", "table_count", "histogram"]
SLOW = ["quantile", "var_pop", "stddev_samp", "covar_pop", "corr"]
KINDS = ["HAVING", "LIMIT"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", QUICK)
def test_shown_intervals_hold_together_over_listed_groups(function: str, kind: str) -> None:
    held, alone = simulated(function, kind, RUNS)
    assert binom.cdf(held, RUNS, 0.95) > FALSE_ALARM
    assert binom.cdf(alone, RUNS, 0.95) <= FALSE_ALARM


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [*QUICK, *SLOW])
def test_shown_intervals_hold_together_in_95_percent_of_2000_releases(function: str, kind: str) -> None:
    held, alone = simulated(function, kind, MANY)
    assert binom.cdf(held, MANY, 0.95) > LONG_ALARM
    assert binom.cdf(alone, MANY, 0.95) <= FALSE_ALARM


def test_intervals_that_hold_one_by_one_would_be_found() -> None:
    for runs, rate in ((RUNS, 0.5), (MANY, 0.85)):
        most = int(binom.ppf(FALSE_ALARM, runs, 0.95))
        assert binom.sf(most - 1, runs, rate) < 1e-9


# --- groups that are found --------------------------------------------------------------------------------------

UNITS = policy(groups=1, rows=3)
SIZES = np.array([*range(1, 30)] * 12, dtype=np.int64)
"""So many units have the groups in the data: some are shown always, some never, most by chance."""


def finding(plan: Plan) -> Find:
    """An engine whose groups have `SIZES` units, each with three rows of n = 2."""

    def find(asked: Plan, choose: Choose) -> DiscoveredGroups:
        assert asked is plan
        places = choose(SIZES).tolist()
        sizes = [int(SIZES[place]) for place in places]
        exact = [
            [size * (1 if measure.per == "unit" else 3 * 2 << measure.fraction_bits) for size in sizes]
            for bundle in plan.bundles
            for measure in bundle.measures
        ]
        return DiscoveredGroups([(f"g{place}",) for place in places], places, exact)

    return find


def found_question(asks: Sequence[Ask], clauses: dict[str, object]) -> Plan:
    return plan_of(UNITS, *asks, keys=[Key(name="k", expression=Column("k", "text"), values=None)], **clauses)  # type: ignore[arg-type]


PEOPLE, TOTAL = ask_for("count_units"), ask_for("sum", WHOLE, TENS)


def simulated_found(ask: Ask, kind: str, runs: int) -> tuple[int, int]:
    """The same as `simulated`, for groups that are found."""
    plan = found_question([ask], chosen(kind, {"count_units": 14, "sum": 90}[ask.function]))
    priced, each = price(plan, Cost(epsilon=2, delta=1e-4)), 1 if ask.function == "count_units" else 6
    held = alone = 0
    for _ in range(runs):
        answer = release_discovered(plan, priced, finding(plan), {})
        truths = [each * int(SIZES[int(str(cell.keys[0])[1:])]) for cell in answer.cells]
        rows = answer.intervals().rows()
        held += all(low <= truth <= high for truth, (*_, low, high) in zip(truths, rows, strict=True))  # type: ignore[operator]
        single = [interval(plan, N, cell.released, cell.keys, 0.95) for cell in answer.cells]
        alone += all(ends is not None and ends[0] <= t <= ends[1] for ends, t in zip(single, truths, strict=True))
    return held, alone


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ask", [PEOPLE, TOTAL], ids=["count_units", "sum"])
def test_shown_intervals_hold_together_over_found_groups(ask: Ask, kind: str) -> None:
    held, alone = simulated_found(ask, kind, RUNS)
    assert binom.cdf(held, RUNS, 0.95) > FALSE_ALARM
    assert binom.cdf(alone, RUNS, 0.95) <= FALSE_ALARM


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ask", [PEOPLE, TOTAL], ids=["count_units", "sum"])
def test_found_groups_hold_together_in_95_percent_of_2000_releases(ask: Ask, kind: str) -> None:
    held, alone = simulated_found(ask, kind, MANY)
    assert binom.cdf(held, MANY, 0.95) > LONG_ALARM
    assert binom.cdf(alone, MANY, 0.95) <= FALSE_ALARM


def found_answer(clauses: dict[str, object]) -> Release:
    plan = found_question([PEOPLE, TOTAL], clauses)
    return release_discovered(plan, price(plan, Cost(epsilon=2, delta=1e-4)), finding(plan), {})


def test_found_groups_are_counted_before_having_and_limit() -> None:
    answer = found_answer({"order": (DOWN,), "limit": 2})
    assert len(answer.cells) == 2
    assert answer.found_groups is not None
    assert answer.found_groups > 100
    assert answer.interval_note == (
        "LIMIT chose these groups by their noisy values. With 95% confidence the intervals of a column are right for "
        f"all {answer.found_groups} groups that were found."
    )
    assert answer_meaning(answer.plan, answer.found_groups)["groups"] == answer.found_groups


def test_an_answer_without_groups_says_so() -> None:
    plan = counted(3, having=OVER)
    assert release(plan, price(plan, Cost(epsilon=5)), [[-1000] * 3], {}).interval_note == "No group passed HAVING."


def test_a_record_keeps_the_number_of_found_groups() -> None:
    answer = found_answer({"order": (DOWN,), "limit": 2})
    again = from_text(to_text(answer), answer.plan, answer.price, {})
    assert again == answer
    assert again.intervals().rows() == answer.intervals().rows()


def test_a_record_of_cells_alone_has_no_intervals_after_a_choice() -> None:
    answer = found_answer({"order": (DOWN,), "limit": 2})
    old = json.dumps(json.loads(to_text(answer))["cells"])
    again = from_text(old, answer.plan, answer.price, {})
    assert again.rows() == answer.rows()
    assert again.intervals().names == ("k", "a0", "a1")
    assert again.interval_note is not None
    assert "so there are no intervals" in again.interval_note
    assert answer_meaning(again.plan, None)["hold"] is None
    assert "so there are no intervals" in str(again)


def test_a_record_of_cells_alone_keeps_its_intervals_without_a_choice() -> None:
    answer = found_answer({"limit": 2})
    again = from_text(json.dumps(json.loads(to_text(answer))["cells"]), answer.plan, answer.price, {})
    assert again.intervals().rows() == answer.intervals().rows()


def test_a_record_of_listed_groups_is_a_list_of_cells_as_before() -> None:
    plan = counted(5, having=OVER)
    answer = release(plan, price(plan, Cost(epsilon=1)), [[9] * 5], {})
    assert isinstance(json.loads(to_text(answer)), list)
    assert from_text(to_text(answer), plan, answer.price, {}).intervals().rows() == answer.intervals().rows()


# --- notes on intervals -----------------------------------------------------------------------------------------------


def test_an_answer_says_what_its_intervals_mean() -> None:
    plan = counted(400, having=OVER, order=(DOWN,), limit=3)
    answer = release(plan, price(plan, Cost(epsilon=1)), [[50] * 400], {})
    note = (
        "HAVING and LIMIT chose these groups by their noisy values. With 95% confidence the intervals of a column are "
        "right for all 400 groups that could have been shown."
    )
    assert str(answer).splitlines()[-2:] == [note, "Rows with another k, and rows where k is NULL, are not counted."]
    assert f"<p>{note}</p>" in answer._repr_html_()
    subtitle = answer.plot(0.9).to_dict()["title"]["subtitle"]
    assert note.replace("95%", "90%") in " ".join(subtitle)
    assert answer.receipt["accuracy"]["intervals"] == {  # type: ignore[index]
        "hold": "together",
        "groups": 400,
        "chosen_by": ["HAVING", "LIMIT"],
    }


def test_an_order_by_noisy_values_says_that_intervals_are_of_groups() -> None:
    plan = counted(3, order=(DOWN,))
    answer = release(plan, price(plan, Cost(epsilon=1)), [[50] * 3], {})
    assert "not for a position such as the first" in str(answer)
    assert "not for a position" not in str(release(counted(3), price(plan, Cost(epsilon=1)), [[50] * 3], {}))


def test_a_plan_foretells_the_error_of_the_intervals() -> None:
    plan = counted(400, having=OVER)
    planned = Quote(plan, price(plan, Cost(epsilon=1)), 0.95, None)
    ((*_, n, low, high), *_) = release(plan, planned.price, [[50] * 400], {}).intervals().rows()
    assert planned.error == {"a0": high - n}  # type: ignore[operator]
    assert high - n == n - low == 9  # type: ignore[operator]
    assert "a0: off by at most 9 in all 400 groups at once, with 95% confidence" in str(planned)
    assert "HAVING chooses groups by noisy values." in str(planned)
    assert Quote(counted(400), planned.price, 0.95, None).error == {"a0": 3}


def test_a_plan_of_found_groups_says_that_their_number_is_not_known() -> None:
    plan = found_question([PEOPLE], {"order": (DOWN,), "limit": 2})
    said = str(Quote(plan, price(plan, Cost(epsilon=2, delta=1e-4)), 0.95, None))
    assert "in one group with 95% confidence" in said
    assert "LIMIT chooses groups by noisy values." in said
    assert "The number of groups is not known before." in said


def test_errors_are_solved_for_all_groups_together() -> None:
    plan = counted(400, order=(DOWN,), limit=3)
    weighed, paid = solve(plan, Cost(error=9), confidence=0.95)
    assert Quote(weighed, paid, 0.95, None).error["a0"] <= 9
    alone = solve(counted(400), Cost(error=9), confidence=0.95)[1]
    assert paid.guarantee.epsilon > 2 * alone.guarantee.epsilon  # type: ignore[operator]


def test_a_margin_needs_all_cells() -> None:
    plan = question("table_count", {"order": (DOWN,), "limit": 3})
    answer = release(plan, price(plan, Cost(epsilon=1)), exact_integers(plan, "table_count"), {})
    with pytest.raises(InvalidError, match="all cells"):
        answer.margin()
