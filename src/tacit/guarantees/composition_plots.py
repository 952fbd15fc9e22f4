"""The numbers in the charts of a composition. The accountants compute them, and `tacit.plots` draws them.

| kind | chart |
|---|---|
| "delta" | δ(ε) between its certified bounds |
| "rules" | ε at one δ against the number of parts, by every rule that can price them |
| "loss" | the law of the total privacy loss, with the part beyond ε(δ) marked |
| "moments" | ln E[e^(αL)], the moments view, and the lines by which rules bound it |
"""

from __future__ import annotations

from fractions import Fraction
from itertools import cycle
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from tacit import plots
from tacit.errors import InternalError, InvalidError, bad_value
from tacit.guarantees import composition_rules
from tacit.guarantees.accountants import CompositionRule, epsilon_delta_pairs, lacks_law, loss_events, total_rho
from tacit.guarantees.composition import Composition
from tacit.guarantees.conversions import probability
from tacit.guarantees.pld.bounds import total_law

if TYPE_CHECKING:
    import altair as alt

PlotKind: TypeAlias = Literal["delta", "rules", "loss", "moments"]

_LEAST_PARTS, _POINTS = 100, 7
_ORDERS = [Fraction(n, 4) for n in range(1, 129)]


def draw(total: Composition, kind: PlotKind, delta: float) -> alt.LayerChart:
    """Draw one of the charts."""
    if kind not in get_args(PlotKind):
        raise bad_value("kind", kind, f"one of {', '.join(map(repr, get_args(PlotKind)))}")
    if not total.parts:
        raise InvalidError("The composition is empty: it costs nothing, so there is no chart of it.", argument="total")
    if not 0 < probability(delta, "delta") < 1:
        raise bad_value("delta", delta, "a number between 0 and 1")
    return {"delta": _curve, "rules": _rules, "loss": _loss, "moments": _moments}[kind](total, delta)


def _curve(total: Composition, _: float) -> alt.LayerChart:
    curve = total.curve()
    return plots.privacy_curve(
        [x for x, _ in curve], [bounds.lower for _, bounds in curve], [bounds.upper for _, bounds in curve]
    )


def _rules(total: Composition, delta: float) -> alt.LayerChart:
    """Draw ε by each rule. A rule that cannot price a part, or has no finite ε, is named in the subtitle."""
    counts = part_counts(total)
    by_rule: dict[str, list[float]] = {}
    for rule in get_args(CompositionRule):
        epsilons = [_epsilon_by(first_parts(total, k), rule, delta) for k in counts]
        if rule != "pld":  # drawn as "tight"
            by_rule[rule] = epsilons
    if all(min(epsilons) == inf for epsilons in by_rule.values()):
        raise _no_finite_epsilon(delta)
    return plots.epsilon_by_count(counts, by_rule, delta=delta)


def part_counts(total: Composition) -> list[int]:
    """Return the numbers of parts at which the rules are compared: from 1 to all of them, or to 100 for a single one.

    >>> from tacit.guarantees.values import PureDP
    >>> part_counts(Composition(((PureDP(epsilon=1), 4),)))
    [1, 2, 3, 4]
    """
    most = sum(count for _, count in total.parts)
    most = most if most > 1 else _LEAST_PARTS
    return sorted({round(most ** (i / (_POINTS - 1))) for i in range(_POINTS)})


def first_parts(total: Composition, k: int) -> Composition:
    """Return the composition of the first k parts; after the last part the first one follows again.

    >>> from tacit.guarantees.values import PureDP
    >>> parts = ((PureDP(epsilon=1), 2), (PureDP(epsilon=3), 5))
    >>> [count for _, count in first_parts(Composition(parts), 4).parts]
    [2, 2]
    """
    found = dict.fromkeys((component for component, _ in total.parts), 0)
    for component, count in cycle(total.parts):
        taken = min(count, k)
        found[component] += taken
        k -= taken
        if not k:
            return Composition(tuple((component, count) for component, count in found.items() if count))
    raise InternalError("a composition has no parts.")


def _no_finite_epsilon(delta: float) -> InvalidError:
    return InvalidError(f"No rule gives a finite ε at delta = {delta}.", argument="delta", hint="Use a larger delta.")


def _epsilon_by(total: Composition, rule: CompositionRule, delta: float) -> float:
    """Return ε by one rule; infinite if the rule cannot price a component or gives no ε at this δ."""
    try:
        return total.epsilon(delta=delta, rule=rule, width=1e-2).upper
    except InvalidError:
        return inf


def _loss(total: Composition, delta: float) -> alt.LayerChart:
    if lacks_law(total.parts):
        raise InvalidError(
            "A ZCDP or a RenyiDP has no law of the privacy loss.",
            argument="kind",
            hint="Draw the kind 'delta' or 'moments', or compose the mechanism itself.",
        )
    epsilon = total.epsilon(delta=delta).upper
    if epsilon == inf:
        raise _no_finite_epsilon(delta)
    losses, masses, infinite = total_law(loss_events(total.parts), delta)
    return plots.loss_law([*losses, inf], [*masses, infinite], epsilon, total.delta(epsilon=epsilon).upper)


def _moments(total: Composition, _: float) -> alt.LayerChart:
    """Draw the moments, and the lines by which zCDP and the basic rule bound them."""
    by_name = {"the moments": total.log_moments(_ORDERS)}
    for name, bound in (("zcdp: ρα(α+1)", _by_zcdp), ("basic: αε", _by_basic)):
        try:
            by_name[name] = bound(total)
        except InvalidError:  # the rule cannot price a component
            continue
    return plots.moments([float(a) for a in _ORDERS], by_name)


def _by_zcdp(total: Composition) -> list[float]:
    return [float(total_rho(total.parts)[0] * a * (a + 1)) for a in _ORDERS]


def _by_basic(total: Composition) -> list[float]:
    epsilon = float(composition_rules.basic(epsilon_delta_pairs(total.parts)).epsilon)
    return [epsilon * float(a) for a in _ORDERS]
