"""Draws of what the true values of a released table could be: the released values minus fresh noise of their known law.

Let y = x + Z be released, with noise Z of a known law. A draw is y - Z', with Z' of the same law and independent. For a
function f of the values, the quantiles of f(y - Z') at β/2 and 1 - β/2 are an interval for f(x):

* if f is linear, f(y) - f(x) = f(Z), and f(y - Z') ≤ f(x) exactly if f(Z') ≥ f(Z). Z' and Z have one law, so each end
  misses with probability β/2;
* if f = a/b is a ratio of linear functions and b(y - Z') > 0, then f(y - Z') ≤ f(x) = θ exactly if (a - θb)(y - Z') ≤ 0
  = (a - θb)(x), that is (a - θb)(Z') ≥ (a - θb)(Z), and the same holds (this is Fieller's interval);
* if f = h(q) is a rising or falling function h of one of these, its order statistics are h of those of q, so its
  interval holds h(q(x)) whenever that of q holds q(x).

No other function is simulated (`derivations`): the draws of (y - c)², say, are all too large.

The order statistics k and B + 1 - k of B draws, with k = ⌊(B + 1)·β/2⌋, have these levels exactly on average over the
draws. Everything here is public: nothing is read, and the draws are repeatable because their seed is a hash of the
released values. They are never added to private values.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import chain
from math import prod

import numpy as np

from tacit.arrays import Floats
from tacit.query.aggregates import STATISTICS
from tacit.query.aggregates.margins import FITTED, Fit, Fitted
from tacit.query.aggregates.statistic import Released
from tacit.query.expressions import Value
from tacit.query.noise_law import NoiseLaw
from tacit.query.plan import Bundle, Noisy, Output, Plan
from tacit.query.pricing.output_errors import aggregates_in
from tacit.query.results.cells import Cell
from tacit.query.results.release import Release

_LINEAR = frozenset({"count", "count_units", "count_distinct", "sum"})
_STEP = 2**24
_SMALL = 32
_FAR = 40


def seeded(releases: Sequence[Release]) -> np.random.Generator:
    """Return a generator whose seed is a hash of the released values."""
    text = repr([[(cell.keys, [list(each.integers) for each in cell.released]) for cell in r.cells] for r in releases])
    return np.random.default_rng(int.from_bytes(sha256(text.encode()).digest()[:16]))


def is_drawable(release: Release, output: Output) -> bool:
    """Return whether an output has noise that is simply added, so that it can be drawn again.

    Quantiles and categories that are drawn have no such noise, nor have the numbers of units by which groups were
    found: these are released only if they are large.
    """
    plan = release.plan
    needed = {index for place in aggregates_in(output) for index in plan.aggregates[place].bundles}
    laws = {type(release.price.noise[index]) for index in needed}
    fitted = is_fitted(plan)
    return laws <= {NoiseLaw} and (not fitted or isinstance(output, Noisy)) and (fitted or not plan.adds_up)


def is_linear(plan: Plan, output: Output) -> bool:
    """Return whether an output is a linear function of its noise: a count or a sum, and nothing computed from them."""
    return isinstance(output, Noisy) and (is_fitted(plan) or _is_linear(plan, output.place))


def is_fitted(plan: Plan) -> bool:
    """Return whether the cells of a plan are fitted together."""
    return any(aggregate.ask.function in FITTED for aggregate in plan.aggregates)


def draws(release: Release, names: Sequence[str], count: int, random: np.random.Generator) -> list[Floats]:
    """Return draws of some outputs that are linear (`is_linear`), each as an array of cells by draws."""
    outputs = dict(release.plan.outputs)
    if is_fitted(release.plan):
        noise: dict[int, Floats] = {}
        return [_fitted_draws(release, outputs[name], count, random, noise) for name in names]
    places = [output.place for output in (outputs[name] for name in names) if isinstance(output, Noisy)]
    results = [np.empty((len(release.cells), count)) for _ in names]
    for row, cell in enumerate(release.cells):
        parts = [_noise(each.noise, len(each.integers), count, random) for each in cell.released]
        for place, result in zip(places, results, strict=True):
            result[row] = _linear_draws(release.plan, place, cell, parts)
    return results


def _is_linear(plan: Plan, place: int) -> bool:
    return plan.aggregates[place].ask.function in _LINEAR


def _linear_draws(plan: Plan, place: int, cell: Cell, noise: Sequence[Floats]) -> Floats:
    """Return draws of an aggregate that is linear in its integers, from its value and its slopes."""
    aggregate = plan.aggregates[place]
    value = _number(cell.estimates[place])
    drawn = np.full(noise[0].shape[1] if noise else 1, value)
    for index in aggregate.bundles:
        for place_in_bundle in range(len(cell.released[index].integers)):
            higher = _estimate(plan, place, _shifted(cell.released, index, place_in_bundle, _STEP))
            drawn = drawn - (higher - value) / _STEP * noise[index][place_in_bundle]
    return drawn


def _shifted(released: Sequence[Released], index: int, place: int, step: int) -> list[Released]:
    integers = [int(x) + (step if other == place else 0) for other, x in enumerate(released[index].integers)]
    moved = Released(released[index].bundle, integers, released[index].noise)
    return [moved if other == index else each for other, each in enumerate(released)]


def _estimate(plan: Plan, place: int, released: Sequence[Released]) -> float:
    """Return the estimate of one aggregate; those of others, such as quantiles, may take long."""
    aggregate = plan.aggregates[place]
    own = [released[index] for index in aggregate.bundles]
    return _number(STATISTICS[aggregate.ask.function].estimate(aggregate.ask, own))


def _number(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")


def _noise(law: NoiseLaw, width: int, count: int, random: np.random.Generator) -> Floats:
    """Return draws of discrete noise, as floats: integers by draws."""
    shape, scale = (width, count), law.scale
    if type(law) is not NoiseLaw:
        return np.zeros(shape)  # no output that is drawn uses it
    if scale > _SMALL:  # there the rounded continuous law differs by less than 1 in 1,000 of its width
        return np.rint(random.laplace(0, scale, shape) if law.law == "laplace" else random.normal(0, scale, shape))
    values = np.arange(-_FAR * _SMALL, _FAR * _SMALL + 1, dtype=np.float64)
    weights = np.exp(-np.abs(values) / scale if law.law == "laplace" else -(values**2) / (2 * scale**2))
    return random.choice(values, shape, p=weights / weights.sum())


def _fitted_draws(
    release: Release, output: Output, count: int, random: np.random.Generator, drawn_noise: dict[int, Floats]
) -> Floats:
    """Return draws of a fitted table, around the fit before it was rounded, in the order of the cells.

    `drawn_noise` has the noise of the bundles that were drawn before: outputs that share a bundle share its noise.
    """
    plan = release.plan
    if not isinstance(output, Noisy):
        raise TypeError("only the fitted numbers themselves can be drawn")
    aggregate = plan.aggregates[output.place]
    bundles = [plan.bundles[index] for index in aggregate.bundles]
    laws = [release.price.noise[index] for index in aggregate.bundles]
    fit, sizes = Fit.of(aggregate.ask, bundles, laws), [_measured(plan, bundle) for bundle in bundles]
    fitted = [cell.released[aggregate.bundles[-1]] for cell in release.cells]
    centers = np.array([each.center for each in fitted if isinstance(each, Fitted)])
    order = {keys: place for place, keys in enumerate(plan.listed_groups())}
    rests = [isinstance(each, Fitted) and each.rest for each in fitted]
    places = [plan.listed if rest else order[cell.keys] for cell, rest in zip(release.cells, rests, strict=True)]
    still = fit.table([[0] * size for size in sizes]).ravel()
    step = float(bundles[0].measures[0].step) if aggregate.ask.function == "table_sum" else 1.0
    for index, law, size in zip(aggregate.bundles, laws, sizes, strict=True):
        if index not in drawn_noise:
            drawn_noise[index] = _noise(law, size, count, random)
    drawn = np.empty((len(release.cells), count))
    for number in range(count):
        noise = [drawn_noise[index][:, number].copy() for index in aggregate.bundles]
        if plan.halves:
            noise[-1][1] = -noise[-1][0]
        moved = fit.table([part.tolist() for part in noise]).ravel() - still
        moved = np.append(moved, -moved.sum()) if plan.rest else moved
        drawn[:, number] = (centers - moved[places]) * step
    return drawn


def _measured(plan: Plan, bundle: Bundle) -> int:
    """Return the number of integers of a margin."""
    if bundle.over is None:
        return plan.measured_cells
    return prod(plan.factors[index].size for index in bundle.over)


def flat(drawn: Floats) -> list[float | None]:
    """Return draws as one list, draw by draw, with None for NaN."""
    return list(chain.from_iterable([None if x != x else x for x in column] for column in drawn.T.tolist()))  # noqa: PLR0124 - NaN
