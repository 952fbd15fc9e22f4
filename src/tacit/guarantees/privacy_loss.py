"""The privacy loss as a random variable.

On two neighbouring tables a mechanism has two laws P and Q. At an output r the privacy loss is L = ln P(r)/Q(r), and
r is drawn from P. (P, Q) is the worst pair, by which the accountants price the release: no pair of neighbours is easier
to distinguish. The losses of independent releases add up.

**Moments** come from the cumulants of each law, which add up (`loss_laws`). They are computed with more and more
digits until two results agree in 25 digits, and are rounded to the nearest float.

**Pr[L > ε] of a single law** has a closed form (`loss_laws`), and so has δ(ε); both are enclosed by two floats.

**Pr[L > ε] of equal Laplace noise** has a closed form too, for up to 500 releases (`laplace_sums`).

**Pr[L > ε] of any other total.** Let D(t) = E_Q[(e^L - t)₊], so that δ(ε) = D(e^ε). D is convex, and its slope on the
right of t = e^ε is -Q[L > ε]. With the same event under P,

    Pr[L > ε] = D(t) + t·Q[L > ε].

The slopes of chords enclose those of D: for a < t < b,  (D(t) - D(b))/(b - t) ≤ Q[L > ε] ≤ (D(a) - D(t))/(t - a).
D itself is enclosed by the certified brackets of `pld`; each end of each chord is taken on its safe side, so the result
is certified too. A wide chord errs by its width, a narrow one by the width of the brackets; the best of several counts.
For e^(-y) < 1, D follows by symmetry: D(e^(-y)) = 1 - e^(-y)·(1 - D(e^y)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import erfc, expm1, inf, nextafter, sqrt

from tacit.errors import InvalidError, bad_value
from tacit.guarantees import laplace_sums
from tacit.guarantees.accountants import DELTAS, Components, lacks_law, loss_events, root_above
from tacit.guarantees.conversions import (
    as_decimal,
    float_above,
    gaussian_delta,
    gaussian_delta_below,
    nonnegative,
    working,
)
from tacit.guarantees.events import PoissonSampled
from tacit.guarantees.exact import Number, round_up, whole
from tacit.guarantees.loss_laws import (
    Cumulants,
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    LossLaw,
    loss_law,
    to_moment,
)
from tacit.guarantees.pld import Bounds, delta_curve
from tacit.guarantees.profile import PrivacyProfile
from tacit.notebook import ShownAsFields

LossAt = Callable[[object, object, object], float]
"""The privacy loss at an output, of one value against another."""

_MOST = 40
_DIGITS = (60, 120, 240, 480, 960, 1920, 3840)
_AGREE = Decimal("1e-25")
_ZERO_DIGITS = 960
"""With fewer digits, a moment of 1e-298 can cancel to 0: the loss of randomized response at ε = 700 has such ones."""
_SLACK = Decimal("1e-40")
_LEAST = 320
"""Numbers below 1e-320 are rounded down to 0."""
_VANISHING = Bounds(0.0, nextafter(0, 1))
_COARSE_GRID = 100
"""A grid is fine if it moves the total loss by less than a hundredth of its standard deviation."""
_CHORDS = tuple(0.5**n for n in range(1, 14))


@dataclass(frozen=True, slots=True)
class PrivacyLoss(ShownAsFields):
    """The privacy loss L of one mechanism, or of several together; see the module.

    >>> from tacit.guarantees.composition import compose
    >>> from tacit.guarantees.values import GaussianDP
    >>> loss = compose([GaussianDP(mu=2)]).loss
    >>> loss.mean, loss.variance, loss.moment(3), loss.moment(3, central=True)
    (2.0, 4.0, 32.0, 0.0)
    >>> round(loss.exceeds(epsilon=2).upper, 6)
    0.5

    Attributes:
        parts: the mechanisms, events and guarantees whose losses add up, each with its number.
        loss_at: the loss at an output of the mechanism; None if it is not known.
    """

    parts: Components
    loss_at: LossAt | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise InvalidError if a part has no law of its loss."""
        if lacks_law(self.parts) or any(isinstance(part, PrivacyProfile) for part, _ in self.parts):
            raise InvalidError(
                "A ZCDP, a RenyiDP and a PrivacyProfile state bounds, not a law of the privacy loss.",
                argument="loss",
                hint="Use .epsilon and .delta, or the loss of the mechanism itself.",
            )
        if any(isinstance(part, PoissonSampled) for part, _ in self.parts):
            raise InvalidError(
                "On a sample, removing and adding a unit have different privacy losses.",
                argument="loss",
                hint="Use .epsilon, .delta and .log_moments, which take the worse of the two.",
            )

    @property
    def mean(self) -> float:
        """E[L], the Kullback-Leibler divergence of the two laws; at most ε(e^ε-1) for an ε-DP release."""
        return self.moment(1)

    @property
    def variance(self) -> float:
        """E[(L - E[L])²]."""
        return self.moment(2, central=True)

    @property
    def std(self) -> float:
        """The standard deviation of L."""
        with working():
            return float(self._moment(2, central=True).sqrt())

    def moment(self, order: int, *, central: bool = False) -> float:
        """Return E[Lⁿ], or with `central` E[(L - E[L])ⁿ], for an order n from 1 to 40."""
        number = whole(order)
        if number is None or not 1 <= number <= _MOST:
            raise bad_value("order", order, f"a whole number from 1 to {_MOST}")
        return float(self._moment(number, central=central))

    def _moment(self, number: int, *, central: bool) -> Decimal:
        laws = self._laws()
        self._check_moments(laws, number)
        if central and number % 2 and all(isinstance(law, (GaussianLaw, DiscreteGaussianLaw)) for law, _ in laws):
            return Decimal(0)  # these laws are symmetric around their means

        def at(digits: int) -> Decimal:
            with working(digits):
                total = _total_cumulants(laws, number)
                return to_moment([Decimal(0), *total[1:]] if central else total, number)

        last = at(_DIGITS[0])
        for digits in _DIGITS[1:]:
            before, last = last, at(digits)
            with working():
                if abs(last - before) <= _AGREE * abs(last) and (last or digits >= _ZERO_DIGITS):
                    return last
        raise InvalidError("The moments of these losses cancel too many digits.", argument="order")

    def _laws(self) -> list[tuple[LossLaw, int]]:
        return [(loss_law(event), count) for event, count in loss_events(self.parts)]  # type: ignore[arg-type]  # checked above

    def _check_moments(self, laws: list[tuple[LossLaw, int]], order: int) -> None:
        if any(law.infinite for law, _ in laws):
            raise InvalidError(
                "The privacy loss is infinite with a probability above 0, so it has no moments.",
                argument="order",
                hint="Use .exceeds and .delta.",
            )
        known = min((law.orders for law, _ in laws if law.orders is not None), default=_MOST)
        if order > known:
            raise InvalidError(
                f"Above the order {known}, the moments of a vector with Gaussian noise of σ < 4 depend on the move.",
                argument="order",
                hint="Use the sensitivity of a single number.",
            )

    def exceeds(self, *, epsilon: Number) -> Bounds:
        """Bracket Pr[L > ε]. It is at least δ(ε), and often several times as much."""
        size = nonnegative(epsilon, "epsilon")
        if not self.parts:
            return Bounds(0.0, 0.0)
        single = self._single()
        if isinstance(single, GaussianLaw):
            return _normal_tail(single.mu_squared, size)
        tails = None if single is None else _tails(single, size)
        if tails is None:
            return self._of_equal_laplace(size) or self._by_chords(size)
        return _VANISHING if _vanishes(single, tails) else _enclosed(tails[0], tails[0])

    def delta(self, *, epsilon: Number, width: Number = 1e-3) -> Bounds:
        """Bracket δ(ε) = E[(1 - e^(ε-L))₊]: the release is (ε,δ)-DP at the upper end.

        The lower end is about the pair (P, Q). A selection, and a guarantee in ε, may have a smaller δ than this pair.

        Args:
            epsilon: ε ≥ 0.
            width: the relative width of the bracket for several releases, at least 1e-6; one release has a closed form.
        """
        size = nonnegative(epsilon, "epsilon")
        if not self.parts:
            return Bounds(0.0, 0.0)
        single = self._single()
        if isinstance(single, GaussianLaw):
            mu = round_up(root_above(single.mu_squared))
            at = float(size)
            below = gaussian_delta_below(mu * (1 - 2.0**-50), nextafter(at, inf))
            return Bounds(below, gaussian_delta(mu, max(0.0, nextafter(at, -inf))))
        tails = None if single is None else _tails(single, size)
        if tails is None:
            return DELTAS["tight"](self.parts, size, float(nonnegative(width, "width")))
        if _vanishes(single, tails):
            return _VANISHING
        with working():  # e^ε may be infinite, and then Q[L > ε] is 0
            value = tails[0] - (as_decimal(size).exp() * tails[1] if tails[1] else 0)
        return _enclosed(value, tails[0])

    def at(self, output: object, *, on: object, against: object) -> float:
        """Return L at an output: ln Pr[output | value `on`] - ln Pr[output | value `against`].

        This is for study. The result depends on the true values, so it is private.

        Args:
            output: a result of the mechanism.
            on: the true value on one table.
            against: the true value on a neighbouring table.

        >>> from tacit.mechanisms import Laplace
        >>> Laplace(sensitivity=1, epsilon=0.5).loss.at(331, on=337, against=338)
        0.5
        """
        if self.loss_at is None:
            raise InvalidError(
                "The privacy loss at an output needs a mechanism that adds noise or flips bits.",
                argument="output",
                hint="Use mechanism.loss.at(…) of each release, and add up the losses.",
            )
        return self.loss_at(output, on, against)

    def _single(self) -> LossLaw | None:
        """Return the law if there is only one release."""
        laws = self._laws()
        return laws[0][0] if len(laws) == 1 and laws[0][1] == 1 else None

    def _of_equal_laplace(self, size: Fraction) -> Bounds | None:
        """Bracket Pr[L > ε] if all releases have equal Laplace noise, continuous or on a fine grid; otherwise None."""
        laws = self._laws()
        count, kinds = sum(many for _, many in laws), {_laplace(law) for law, _ in laws}
        kind = kinds.pop()
        if kinds or kind is None or count > laplace_sums.MOST:
            return None
        epsilon, shift = kind
        if _COARSE_GRID * count * shift > Fraction(_scale(self)):
            return None
        ends = [laplace_sums.sum_tail(epsilon, count, size + side * count * shift) for side in (1, -1)]
        brackets = [_enclosed(value, error / _SLACK) for value, error in filter(None, ends)]
        return Bounds(brackets[0].lower, brackets[1].upper) if len(brackets) == len(ends) else None

    def _by_chords(self, size: Fraction) -> Bounds:
        """Return the best bracket of several chords.

        ε is between two floats, `below` and `above`. Pr[L > ε] does not rise with ε, so its lower end is taken at
        `above` and its upper end at `below`. The ends of a chord are floats too, and its length is that between them.
        """
        below, above = -round_up(-size), round_up(size)
        steps = [share * _scale(self) for share in _CHORDS]
        lefts = [below - step for step in steps if below - step < below]
        rights = [above + step for step in steps if above + step > above]
        curve = self._curve([below, above, *lefts, *rights])
        at_below, at_above = curve[:2]
        lower, upper = at_above.lower, 1.0
        for end, right in zip(rights, curve[2 + len(lefts) :], strict=True):
            length = _length(above, end)  # t/(b-t) = 1/(e^h - 1)
            lower = max(lower, at_above.lower + (at_above.lower - right.upper) / expm1(length) * (1 - 2.0**-40))
        for end, left in zip(lefts, curve[2 : 2 + len(lefts)], strict=True):
            length = _length(end, below)  # t/(t-a) = 1/(1 - e^-h)
            upper = min(upper, at_below.upper + (left.upper - at_below.lower) / -expm1(-length) * (1 + 2.0**-40))
        return Bounds(max(0.0, lower * (1 - 2.0**-40)), min(1.0, upper * (1 + 2.0**-40)))

    def _curve(self, points: list[float]) -> list[Bounds]:
        """Bracket D(e^x) at several x, also negative ones."""
        sizes = sorted({abs(x) for x in points})
        known = dict(zip(sizes, delta_curve(loss_events(self.parts), sizes), strict=True))
        return [known[x] if x >= 0 else _mirrored(known[-x], x) for x in points]


def _laplace(law: LossLaw) -> tuple[Fraction, Fraction] | None:
    """Return ε of Laplace noise, and how far a grid moves the loss; None for other noise."""
    if isinstance(law, LaplaceLaw):
        return law.epsilon, Fraction(0)
    if isinstance(law, DiscreteLaplaceLaw):
        return law.shift / law.scale, laplace_sums.grid_shift(law.scale)
    return None


def _length(low: float, high: float) -> float:
    """Return high - low with a relative error of at most 2^-53."""
    return float(Fraction(high) - Fraction(low))


def _mirrored(found: Bounds, x: float) -> Bounds:
    """Return 1 - e^x·(1 - D(e^(-x))) for x < 0."""
    ends = (1 + expm1(x)) * (1 - found.lower), (1 + expm1(x)) * (1 - found.upper)
    return Bounds(max(0.0, 1 - ends[0] * (1 + 2.0**-48)), 1 - ends[1] * (1 - 2.0**-48))


def _scale(loss: PrivacyLoss) -> float:
    """Return a length of the size of the losses: their standard deviation, or 1 if it is infinite."""
    try:
        return min(1.0, loss.std) or 1.0
    except InvalidError:
        return 1.0


def _total_cumulants(laws: list[tuple[LossLaw, int]], order: int) -> Cumulants:
    each = [(law.cumulants(order), count) for law, count in laws]
    return [sum((count * cumulants[n] for cumulants, count in each), Decimal(0)) for n in range(order)]


def _tails(law: LossLaw, x: Fraction) -> tuple[Decimal, Decimal] | None:
    with working():
        return law.tails(x)


def _vanishes(law: LossLaw | None, tails: tuple[Decimal, Decimal]) -> bool:
    """Return True if a probability is above 0 but too small for a Decimal: Gaussian losses have no largest value."""
    return isinstance(law, DiscreteGaussianLaw) and tails[0] == 0


def _enclosed(value: Decimal, terms: Decimal) -> Bounds:
    """Return two floats around a number that was computed from terms of a given size."""
    with working():
        slack = _SLACK * terms
        lower, upper = max(Decimal(0), value - slack), min(Decimal(1), value + slack)
        below = max(0.0, -round_up(-Fraction(lower))) if lower.adjusted() > -_LEAST else 0.0
        return Bounds(below, 0.0 if terms == 0 else min(1.0, float_above(upper)))


def _normal_tail(square: Fraction, x: Fraction) -> Bounds:
    """Bracket Pr[N(μ²/2, μ²) > x] = ½erfc(z) with z = (x/μ - μ/2)/√2.

    μ and z√2 are rationals, μ rounded up by less than 2^-100 of itself, so z has an error of less than
    2^-48·(x/μ + μ/2), and erfc one of a few 2^-52 of itself. Beyond |z√2| = 100, erfc is 0 or 2 to all digits. The
    probability is never 0, so the upper end is at least the least float above 0.
    """
    mu = root_above(square)
    middle, slack = x / mu - mu / 2, (x / mu + mu / 2) / 2**48
    near, far = (float(min(max(z, Fraction(-100)), Fraction(100))) / sqrt(2) for z in (middle - slack, middle + slack))
    lower, upper = erfc(far) / 2 * (1 - 2.0**-48), erfc(near) / 2 * (1 + 2.0**-48)
    return Bounds(lower, min(1.0, max(upper, nextafter(0, 1))))
