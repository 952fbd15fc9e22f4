"""Audits of every mechanism of the public surface, on inputs where each is at its worst."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import tacit as tc
from auditing.audits import Path, Record, Sides, check, in_both_forms
from tacit.errors import RefusedError

EPSILON, DELTA, MANY = 2.0, 0.1, 15_000
Release = Callable[[], object]


def repeated(*pairs: tuple[Release, Release]) -> Callable[[int], list[Sides]]:
    """Run releases one by one."""
    return lambda runs: [([one() for _ in range(runs)], [other() for _ in range(runs)]) for one, other in pairs]


def at_once(release: Callable[[np.ndarray], object], *pairs: tuple[object, object]) -> Callable[[int], list[Sides]]:
    """Release many copies of a value in one call."""

    def copies(value: object, runs: int) -> Sequence[object]:
        found = release(np.full(runs, value))
        return list(found.tolist() if isinstance(found, np.ndarray) else found)  # type: ignore[arg-type]  # words

    return lambda runs: [(copies(one, runs), copies(other, runs)) for one, other in pairs]


def chosen(kind: type, *, monotone: bool = False) -> Callable[[int], list[Sides]]:
    """Choose among ten candidates: one against nine, ties, and scores far apart. A unit moves each score by 1."""
    mechanism = kind(sensitivity=1, epsilon=EPSILON, monotone=monotone)
    up, down = [1] + 9 * [0], [0] + 9 * [0 if monotone else 1]
    pairs = [(up, down), (10 * [0], [0, *(9 * [1])]), ([3, 2, 2], [2, 2, 2] if monotone else [2, 3, 3])]
    return repeated(*((lambda s=s: mechanism.choose(s), lambda t=t: mechanism.choose(t)) for s, t in pairs))


def alarm(values: Sequence[int]) -> tuple[bool | str, ...]:
    """Return the answers of one AboveThreshold; it is asked on after it has fired."""
    mechanism = tc.AboveThreshold(sensitivity=1, epsilon=EPSILON, threshold=1)

    def answers() -> Iterator[bool | str]:
        for value in values:
            try:
                yield mechanism.query(value)
            except RefusedError:
                yield "refused"

    return tuple(answers())


def alarms() -> Callable[[int], list[Sides]]:
    pairs = [(6 * [0] + [1], 6 * [1] + [0]), (30 * [1], 30 * [0]), (7 * [50], 7 * [49])]
    return repeated(*((lambda v=v: alarm(v), lambda w=w: alarm(w)) for v, w in pairs))


def medians() -> Callable[[int], list[Sides]]:
    smooth = tc.SmoothMedian(bounds=(0, 100), epsilon=EPSILON, delta=DELTA)
    same = 40 * [0]
    pairs = [
        ([0, 0, 0, 100, 100], [0, 0, 100, 100, 100]),
        (same, [*same[1:], 100]),
        ([0] * 20 + [100] * 21, [0] * 21 + [100] * 20),
        (list(range(30, 71)), [*range(31, 71), 100]),
    ]
    return repeated(*((lambda v=v: smooth.release(v), lambda w=w: smooth.release(w)) for v, w in pairs))


def proposals() -> Callable[[int], list[Sides]]:
    """Propose, test and release: two values far apart are both at distance 0 from a more sensitive table."""
    mechanism = tc.ProposeTestRelease(bound=1, epsilon=EPSILON, delta=0.2)
    return repeated(
        (lambda: mechanism.release(0, distance=0), lambda: mechanism.release(1000, distance=0)),
        (lambda: mechanism.release(0, distance=0), lambda: mechanism.release(0, distance=1)),
        (lambda: mechanism.release(0, distance=50), lambda: mechanism.release(1, distance=51)),
    )


def proposed_medians() -> Callable[[int], list[Sides]]:
    mechanism = tc.ProposeTestRelease(bound=1.0, epsilon=EPSILON, delta=0.2)

    def release(values: list[int]) -> Release:
        return lambda: mechanism.release_median(values, bounds=(0, 100))

    return repeated(
        (release([0, 0, 0, 100, 100]), release([0, 0, 100, 100, 100])),
        (release([0] * 3 + [50] * 1 + [100] * 3), release([0] * 3 + [100] * 4)),
        (release([0] * 4 + [2] * 5), release([0] * 5 + [2] * 4)),
    )


def contributions() -> Callable[[int], list[Sides]]:
    """Sums over four cells. A unit with one row may be in two of them; a change moves it to the other two."""
    size = tc.sensitivity.contributions((-8, 4), groups=2, rows=1, neighbours="change one")
    noise = tc.Laplace(sensitivity=size.l1, epsilon=EPSILON)
    return repeated(
        (lambda: noise.release([-8, -8, 0, 0]), lambda: noise.release([0, 0, -8, -8])),
        (lambda: noise.release([-8, -8, 0, 0]), lambda: noise.release([4, 4, 0, 0])),
    )


def totals() -> Callable[[int], list[Sides]]:
    """A sum of values from 5 to 9, with one unit or without."""
    size = tc.sensitivity.total((5, 9), neighbours="change one")
    return at_once(tc.Laplace(sensitivity=size.l1, epsilon=EPSILON).release, (0, 9), (5, 9))


def functions() -> Callable[[int], list[Sides]]:
    """The range of three values, whose sensitivity is found by enumeration."""
    size = tc.sensitivity.of(lambda rows: max(rows) - min(rows), domain=[0, 1, 5], n=3, neighbours="change one")
    noise = tc.Laplace(sensitivity=size.l1, epsilon=EPSILON)
    return repeated((lambda: noise.release(0), lambda: noise.release(5)))


INTEGERS = tc.Laplace(sensitivity=3, epsilon=EPSILON)
REALS = tc.Laplace(sensitivity=0.3, epsilon=EPSILON, outputs=3, granularity=0.3)
"""Three reals next to a place where the grid rounds up: they move by less than 0.3 together, and each by a step."""

GAUSS = tc.Gaussian(sensitivity=3, epsilon=EPSILON, delta=DELTA)
GAUSS_REALS = tc.Gaussian(sensitivity=0.3, epsilon=EPSILON, delta=DELTA)
GAUSS_RHO = tc.Gaussian(sensitivity=1, rho=1)
RESPONSE = tc.RandomizedResponse(epsilon=EPSILON)
WORDS = tc.RandomizedResponse(p=0.875, words=("ja", "nein"))

PATHS = (
    Path(name="Laplace", draw=at_once(INTEGERS.release, (0, 3), (10**15, 10**15 - 3), (-(2**62), 3 - 2**62))),
    Path(
        name="Laplace of reals",
        draw=repeated(
            (lambda: REALS.release([0.149] * 3), lambda: REALS.release([0.151] * 3)),
            (lambda: REALS.release([0.0, 0.0, 0.0]), lambda: REALS.release([0.3, 0.0, 0.0])),
        ),
    ),
    Path(name="Laplace with the sensitivity of contributions", draw=contributions()),
    Path(name="Laplace with the sensitivity of a total", draw=totals()),
    Path(name="Laplace with the sensitivity of a function", draw=functions()),
    Path(name="Gaussian", delta=DELTA, draw=at_once(GAUSS.release, (0, 3), (10**15, 10**15 - 3))),
    Path(
        name="Gaussian of reals",
        delta=DELTA,
        draw=repeated(
            (lambda: GAUSS_REALS.release(0.0), lambda: GAUSS_REALS.release(0.3)),
            (lambda: GAUSS_REALS.release(1e-9), lambda: GAUSS_REALS.release(-0.3)),
        ),
    ),
    Path(
        name="Gaussian in rho",
        epsilon=tc.compose([GAUSS_RHO]).epsilon(delta=DELTA).upper,
        delta=DELTA,
        draw=at_once(GAUSS_RHO.release, (0, 1)),
    ),
    Path(name="Exponential", draw=chosen(tc.Exponential)),
    Path(name="Exponential, monotone", draw=chosen(tc.Exponential, monotone=True)),
    Path(name="PermuteAndFlip", draw=chosen(tc.PermuteAndFlip)),
    Path(name="PermuteAndFlip, monotone", draw=chosen(tc.PermuteAndFlip, monotone=True)),
    Path(name="NoisyMax", draw=chosen(tc.NoisyMax)),
    Path(name="NoisyMax, monotone", draw=chosen(tc.NoisyMax, monotone=True)),
    Path(name="AboveThreshold", draw=alarms()),
    Path(name="RandomizedResponse", draw=at_once(RESPONSE.release, (True, False))),
    Path(
        name="RandomizedResponse, of words and p",
        epsilon=WORDS.guarantee.epsilon,
        draw=at_once(WORDS.release, ("ja", "nein")),
    ),
    Path(name="SmoothMedian", delta=DELTA, draw=medians()),
    Path(name="ProposeTestRelease", delta=0.2, draw=proposals()),
    Path(name="ProposeTestRelease of a median", delta=0.2, draw=proposed_medians()),
)


def mechanisms() -> set[str]:
    """Return the classes of the public surface that release something."""
    kinds = {name: getattr(tc, name) for name in tc.__all__}
    return {
        name
        for name, kind in kinds.items()
        if inspect.isclass(kind) and any(hasattr(kind, verb) for verb in ("release", "choose", "query", "randomize"))
    }


def test_every_mechanism_has_an_audit() -> None:
    assert len(mechanisms()) >= 9
    assert {path.name.split()[0].strip(",") for path in PATHS} == mechanisms()


@in_both_forms(*PATHS, long=MANY)
def test_no_mechanism_exceeds_its_claim(path: Path, record_property: Record) -> None:
    check(path, record_property)
