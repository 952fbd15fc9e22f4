"""A fit draws what its budget allows and no more: every draw is recorded and its cost added up exactly."""

from fractions import Fraction

import numpy as np
import pytest

from tacit.arrays import Floats
from tacit.guarantees.events import Neighbours
from tacit.learn import fitting, private_sums
from tacit.learn.fitting import Method, Setting, fit
from tacit.learn.noise_budget import NoiseBudget, concentrated_budget, pure_budget
from tacit.learn.private_sums import GRID, LEAST, OFFSET, UNIT, Layout, layout_of
from tacit.learn.rates import column_shares, shrunk, tables_of
from tacit.synthetic.coded_rows import ArrayRows, CodedRows, Counts

SIZES = (2, 5, 30, 3)


class Meter(NoiseBudget):
    """A budget that adds up the cost of its draws from the noise that they really get."""

    def __init__(self, budget: NoiseBudget) -> None:
        """Take over the budget."""
        super().__init__(budget.law, budget.amount)
        object.__setattr__(self, "spent", [])

    def noisy(self, exact: Counts, moved: object, share: Fraction) -> tuple[Floats, float]:
        """Draw, and note the cost."""
        values, deviation = super().noisy(exact, moved, share)  # type: ignore[arg-type]  # Moved
        l1, squared = moved.l1, moved.l2_squared  # type: ignore[attr-defined]
        cost = squared / deviation**2 if self.law == "gaussian" else l1 / (deviation / 2**0.5)
        self.spent.append(cost)  # type: ignore[attr-defined]
        return values, deviation


def rows_of(size: int, classes: int = 2) -> ArrayRows:
    random = np.random.default_rng(1)
    columns = [random.integers(0, most, size) for most in SIZES[:3]]
    y = (columns[1] + random.integers(0, 3, size)) // 2 % classes
    return ArrayRows(np.stack([*columns, y], axis=1).astype(np.uint16), np.ones(size, dtype=np.int64), SIZES)


def setting_of(classes: tuple[int, ...], neighbours: Neighbours) -> Setting:
    return Setting(layout_of(SIZES, [0, 1, 2], 3, classes), 1, 1, neighbours)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("method", [None, "naive Bayes", "logistic regression"])
@pytest.mark.parametrize("size", [0, 200, 50_000])
@pytest.mark.parametrize("accuracy", [Fraction(0), Fraction(1, 5)])
@pytest.mark.parametrize("classes", [(0, 1, -1), (0, 1, 2)])
def test_all_draws_together_spend_the_budget(
    law: str, method: Method | None, size: int, accuracy: Fraction, classes: tuple[int, ...]
) -> None:
    budget = concentrated_budget(Fraction(1, 20)) if law == "gaussian" else pure_budget(Fraction(1, 2))
    meter = Meter(budget)
    found = fit(
        rows_of(size, max(classes) + 1), setting_of(classes, "add/remove"), meter, method=method, accuracy=accuracy
    )
    total = sum(meter.spent)  # type: ignore[attr-defined]
    assert total <= float(budget.amount) * (1 + 1e-9)
    assert total > 0.999 * float(budget.amount)
    assert np.isfinite(found.weights).all()
    assert np.isfinite(found.intercepts).all()
    assert (found.right is not None) == bool(accuracy)


@pytest.mark.parametrize("neighbours", ["add/remove", "change one"])
def test_every_draw_gets_the_noise_of_what_it_releases(monkeypatch: pytest.MonkeyPatch, neighbours: Neighbours) -> None:
    """The multipliers and the limit of the released sums are those whose sensitivity was drawn for."""
    released: list[int] = []
    real = private_sums.residual_sums

    def watched(
        rows: CodedRows, layout: Layout, multipliers: list[int], weights: Floats, intercept: float, clip: int
    ) -> Counts:
        assert min(multipliers) >= LEAST
        assert min(fitting._CLIPS) * GRID - 1 <= clip <= max(fitting._CLIPS) * GRID
        released.append(setting.residuals(clip, multipliers).l2_squared)
        found: Counts = real(rows, layout, multipliers, weights, intercept, clip)
        return found

    monkeypatch.setattr(private_sums, "residual_sums", watched)
    setting, drawn = setting_of((0, 1, -1), neighbours), list[int]()

    class Watch(NoiseBudget):
        def noisy(self, exact: Counts, moved: object, share: Fraction) -> tuple[Floats, float]:
            drawn.append(moved.l2_squared)  # type: ignore[attr-defined]
            return super().noisy(exact, moved, share)  # type: ignore[arg-type]

    budget = concentrated_budget(Fraction(1, 20))
    fit(rows_of(5_000), setting, Watch(budget.law, budget.amount), accuracy=Fraction(0))
    assert released
    assert drawn[-len(released) :] == released
    least = min(moved.l2_squared for schedule in setting.schedules(Fraction(0)) for _, moved in schedule)
    assert min(drawn) >= least


def test_more_rows_mean_more_rounds() -> None:
    rounds = []
    for size in (100, 200_000):
        meter = Meter(concentrated_budget(Fraction(1, 20)))
        fit(rows_of(size), setting_of((0, 1, -1), "add/remove"), meter, accuracy=Fraction(0))
        rounds.append(len(meter.spent) - 2)  # type: ignore[attr-defined]
    assert 2 <= rounds[0] < rounds[1] <= 6


def test_shares_favour_the_column_that_predicts() -> None:
    layout = Layout((0, 1), 2, (2, 2), (0, 1))
    counts = np.array([[900.0, 100.0, 500.0, 500.0], [100.0, 900.0, 500.0, 500.0]])
    tables = tables_of(counts, np.full(4, 10.0), layout)
    rates, spreads = shrunk(tables, layout)
    assert np.abs(rates[1] - [0.1, 0.9, 0.5, 0.5]).max() < 0.02
    shares = column_shares(spreads, tables, 10.0, layout)
    assert shares.sum() == pytest.approx(2)
    assert shares[0] > shares[1] >= 0.1


def test_noise_alone_is_shrunk_away() -> None:
    layout = Layout((0,), 1, (50,), (0, 1))
    noise = np.random.default_rng(1).normal(0, 10, (2, 50))
    rates, _ = shrunk(tables_of(np.full((2, 50), 20.0) + noise, np.full(50, 10.0), layout), layout)
    assert np.abs(rates[1] - 0.5).max() < 0.1
    assert UNIT > LEAST > 0 < OFFSET
