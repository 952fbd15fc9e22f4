"""The duration of a release against its noise: a large noise must not take longer than a small one.

The number of instructions stands for the duration, so no load of the machine can fail a test. NumPy's share of the work
has arrays of public sizes. `tests/mechanisms/test_additive.py` has the same by the clock, and `tests/noise` shows that
each draw takes the same number of random bytes.

**The statistic** is Spearman's correlation of the number of instructions with |noise| over 600 releases. Under
independence its standard deviation is 1/√599, so 0.3 is 7.3 deviations: a false alarm has probability below 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import gcd
from typing import Any

import pytest
from scipy.stats import spearmanr

import tacit as tc
from attacks.bytecodes import alike, counted, never_refill
from attacks.references import CountedGeometric

RUNS, FAR = 600, 0.3

ONE_ROUND: dict[str, Callable[[], object]] = {
    "Laplace": partial(tc.Laplace(sensitivity=1, epsilon=0.1).release, 0),
    "Laplace of a large scale": partial(tc.Laplace(sensitivity=1, epsilon=1e-9).release, 0),
    "Laplace of reals": partial(tc.Laplace(sensitivity=1.0, epsilon=0.1).release, 0.3),
    "RandomizedResponse": partial(tc.RandomizedResponse(epsilon=1).release, True),  # noqa: FBT003 - an answer
    "Exponential": partial(tc.Exponential(sensitivity=1, epsilon=0.1).choose, range(20)),
    "PermuteAndFlip": partial(tc.PermuteAndFlip(sensitivity=1, epsilon=0.1).choose, range(20)),
    "NoisyMax": partial(tc.NoisyMax(sensitivity=1, epsilon=0.1).choose, range(20)),
}
REJECTING: dict[str, Callable[[], object]] = {
    "Gaussian": partial(tc.Gaussian(sensitivity=1, sigma=30).release, 0),
    "Gaussian of reals": partial(tc.Gaussian(sensitivity=1.0, sigma=30).release, 0.3),
}


def size_of(output: Any) -> float:  # noqa: ANN401 - a number, or an answer
    return abs(float(output))


def trial(release: Callable[[], object]) -> tuple[list[int], list[float]]:
    """Return the instructions and the sizes of many releases."""
    for _ in range(5):
        release()  # what runs once: imports and tables
    pairs = [counted(release) for _ in range(RUNS)]
    return [steps for steps, _ in pairs], [size_of(output) for _, output in pairs]


def correlation(steps: Sequence[int], sizes: Sequence[float]) -> float:
    """Return Spearman's correlation; it is 0 if all numbers of instructions are equal."""
    return 0.0 if len(set(steps)) == 1 else abs(float(spearmanr(steps, sizes).statistic))


@pytest.mark.parametrize("name", ONE_ROUND)
def test_every_release_takes_the_same_instructions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    never_refill(monkeypatch)
    steps, sizes = trial(ONE_ROUND[name])
    assert alike(steps)
    assert len(set(sizes)) > 1


@pytest.mark.parametrize("name", REJECTING)
def test_the_rounds_of_a_gaussian_draw_tell_nothing_of_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rejected proposal is followed by a fresh one: the number of rounds is independent of what is accepted."""
    never_refill(monkeypatch)
    steps, sizes = trial(REJECTING[name])
    assert correlation(steps, sizes) < FAR


def test_coins_that_are_counted_tell_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    never_refill(monkeypatch)
    steps, sizes = trial(partial(CountedGeometric(10).release, 0))
    assert not alike(steps)
    assert correlation(steps, sizes) > FAR


def parity_of(release: Callable[[int], object]) -> Callable[[Any], int]:
    """Return the attack: the parity of output plus coins, where a coin is the common step of all durations."""
    seen = sorted({counted(lambda: release(0))[0] for _ in range(300)})
    coin = gcd(*(each - seen[0] for each in seen)) or 1
    return lambda pair: (pair[1] + (pair[0] - seen[0]) // coin) % 2


def _audited(release: Callable[[int], object]) -> str:
    report = tc.audit(
        lambda value: counted(partial(release, value)),
        *(0, 1),
        epsilon=0.1,
        features=parity_of(release),
        samples=2000,
        confidence=1 - 1e-12,
        seed=1,
    )
    return report.verdict


def test_the_duration_and_the_output_together_tell_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of c heads minus d heads has the parity of c + d, which the duration tells; the output has the rest."""
    never_refill(monkeypatch)
    verdicts = [_audited(m.release) for m in (CountedGeometric(10), tc.Laplace(sensitivity=1, epsilon=0.1))]
    assert verdicts == ["violates", "no violation found"]


@pytest.mark.long
def test_an_audit_with_a_clock_finds_nothing() -> None:
    """The values are neighbours, so an output with its duration must be as private as the output alone."""
    m = tc.Laplace(sensitivity=1, epsilon=1)
    report = tc.audit(m.release, 0, 1, epsilon=1, time=True, samples=50_000, confidence=1 - 1e-12, seed=1)
    assert report.verdict == "no violation found"
