"""What the charts of a composition show: the numbers, from the accountants; the drawing is `tacit.plots`.

| kind | picture |
|---|---|
| "delta" | δ(ε) between its certified bounds |
| "rules" | ε at one δ against how often all of it is done, by every rule that knows its parts |
| "loss" | the law of the total privacy loss, and what lies beyond ε(δ) |
| "moments" | ln E[e^(αL)], the moments view, and the lines by which rules bound it |
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from tacit import plots
from tacit.errors import InvalidError, show
from tacit.guarantees import rules
from tacit.guarantees.accountants import Rule
from tacit.guarantees.composition import Composition
from tacit.guarantees.conversions import probability
from tacit.guarantees.pld.bracket import total_law

if TYPE_CHECKING:
    import altair as alt

Kind: TypeAlias = Literal["delta", "rules", "loss", "moments"]

_TIMES = (1, 2, 5, 10, 20, 50, 100)
_ORDERS = [Fraction(n, 4) for n in range(1, 129)]


def draw(total: Composition, kind: Kind, delta: float) -> alt.LayerChart:
    """Draw one of the pictures."""
    if kind not in get_args(Kind):
        raise InvalidError("kind", show(kind), f"one of {', '.join(map(repr, get_args(Kind)))}")
    if not total.parts:
        raise InvalidError("total", "a composition that costs nothing", "one that costs something, to be drawn")
    if not 0 < probability(delta, "delta") < 1:
        raise InvalidError("delta", show(delta), "a number between 0 and 1")
    return {"delta": _curve, "rules": _rules, "loss": _loss, "moments": _moments}[kind](total, delta)


def _curve(total: Composition, _: float) -> alt.LayerChart:
    found = total.curve()
    return plots.privacy_curve(
        [x for x, _ in found], [bounds.lower for _, bounds in found], [bounds.upper for _, bounds in found]
    )


def _rules(total: Composition, delta: float) -> alt.LayerChart:
    """A rule that does not know a part, or has no finite answer, is left out or named in the subtitle."""
    by_rule: dict[str, list[float]] = {}
    for rule in get_args(Rule):
        found = [_by(times(total, k), rule, delta) for k in _TIMES]
        if rule != "pld":  # drawn as "tight"
            by_rule[rule] = found
    if all(min(found) == inf for found in by_rule.values()):
        raise InvalidError("delta", show(delta), "larger: at this one no rule gives a finite ε")
    return plots.epsilon_by_count(_TIMES, by_rule, delta=delta)


def _by(total: Composition, rule: Rule, delta: float) -> float:
    """Return ε by one rule; infinite where the rule does not know a part, or has no answer at this δ."""
    try:
        return total.epsilon(delta=delta, rule=rule, width=1e-2).upper
    except InvalidError:
        return inf


def times(total: Composition, k: int) -> Composition:
    """Return all of it, done k times."""
    return Composition(tuple((part, count * k) for part, count in total.parts))


def _loss(total: Composition, delta: float) -> alt.LayerChart:
    epsilon = total.epsilon(delta=delta).upper
    if epsilon == inf:
        raise InvalidError("delta", show(delta), "one at which ε is finite")
    losses, masses, infinite = total_law(total.events(), delta)
    return plots.loss_law([*losses, inf], [*masses, infinite], epsilon, total.delta(epsilon=epsilon).upper)


def _moments(total: Composition, _: float) -> alt.LayerChart:
    """The moments themselves, and the lines by which zCDP and the basic rule bound them."""
    by_name = {"the moments": total.log_moments(_ORDERS)}
    for name, bound in (("zcdp: ρα(α+1)", _by_zcdp), ("basic: αε", _by_basic)):
        try:
            by_name[name] = bound(total)
        except InvalidError:  # a part that the rule does not know
            continue
    return plots.moments([float(a) for a in _ORDERS], by_name)


def _by_zcdp(total: Composition) -> list[float]:
    return [float(total.rho()[0] * a * (a + 1)) for a in _ORDERS]


def _by_basic(total: Composition) -> list[float]:
    epsilon = float(rules.basic(total.pairs()).epsilon)
    return [epsilon * float(a) for a in _ORDERS]
