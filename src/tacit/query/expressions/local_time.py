"""The local time of an instant in a time zone, as a row expression.

An instant is a timestamp in UTC. Local time is `utc + offset(utc)`, where the offset is piecewise constant:

* before the last listed change, a binary search over the changes, as nested CASE;
* after it, if the zone has a rule, the offset by month, day and weekday.

It uses only functions that mean the same in every engine (`functions`), and all numbers in it are constants from one
copy of the time-zone data. So the engines agree, and their own time-zone data do not matter. The result is NULL if the
instant or its local time is outside the years 1 to 9999.

**The rule.** Let `t` be an instant, and let a turn be at midnight of the day D, with D the first `weekday` on or after
the `day` of `month`, in the time s = t + shift. Let x be the day of s in that month, and y the last day up to x with
that weekday, y = x − ((weekday(x) − weekday) mod 7). Then x ≥ D if and only if y ≥ day: D has that weekday, so x ≥ D
means y ≥ D, and no day from `day` to D − 1 has that weekday. So `t` is at or after the turn of the year of s if s is in
a later month, or in that month with y ≥ day.

**The year.** Turns are between 10 February and 20 November of s, and |shift| is at most 8 days. So no turn is in
January or December of UTC; there the offset is that of New Year. In the other months, s is in the same year as t.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tacit.query.expressions import Call, Case, Column, Constant, Expression, Kind
from tacit.query.expressions.time_zones import Change, Rule, Turn, time_zone

_WITHOUT_TURNS = (1, 12)


@cache
def local_time(instant: Column, zone: str) -> Expression:
    """Return the local time of an instant in a zone; InvalidError if there is no such zone.

    >>> local_time(Column("at", "timestamp"), "UTC").arguments
    (Column(name='at', kind='timestamp'), Constant(value=0, kind='integer'))
    """
    return Call("add_seconds", (instant, _offset(instant, zone)), "timestamp")


def _offset(instant: Column, zone: str) -> Expression:
    """Return the offset of local time from UTC, in seconds."""
    found = time_zone(zone)
    if found.rule is None:
        return _search(instant, found.first, found.changes)
    after = _by_rule(instant, found.rule)
    if not found.changes:
        return after
    before = _search(instant, found.first, found.changes[:-1])
    return _if(_call("less", instant, Constant(found.changes[-1][0], "timestamp")), before, after)


def _search(instant: Column, first: int, changes: Sequence[Change]) -> Expression:
    """Return the offset among some changes by a binary search; `first` is the offset before them."""
    if not changes:
        return _whole(first)
    middle = len(changes) // 2
    at, offset = changes[middle]
    earlier, later = _search(instant, first, changes[:middle]), _search(instant, offset, changes[middle + 1 :])
    return _if(_call("less", instant, Constant(at, "timestamp")), earlier, later)


def _by_rule(instant: Column, rule: Rule) -> Expression:
    """Return the offset in a year in which the rule holds."""
    started, ended = _is_after(instant, rule.start), _is_after(instant, rule.end)
    is_summer = _call("or" if rule.summer_at_new_year else "and", started, _call("not", ended))
    at_new_year = _whole(rule.summer if rule.summer_at_new_year else rule.standard)
    between = _if(is_summer, _whole(rule.summer), _whole(rule.standard))
    return _if(_call("in", _part("month", instant), *map(_whole, _WITHOUT_TURNS)), at_new_year, between)


def _is_after(instant: Column, turn: Turn) -> Expression:
    """Return whether an instant is at or after the turn of its year; see the module."""
    moment = Call("add_seconds", (instant, _whole(turn.shift)), "timestamp")
    month = _part("month", moment)
    since = Call("modulo", (_sum("add", _part("weekday", moment), _whole(7 - turn.weekday)), _whole(7)), "integer")
    last = _sum("subtract", _part("day", moment), since)
    in_month = _call("and", _call("equal", month, _whole(turn.month)), _call("greater_equal", last, _whole(turn.day)))
    return _call("or", _call("greater", month, _whole(turn.month)), in_month)


def _whole(number: int) -> Expression:
    return Constant(number, "integer")


def _sum(name: str, left: Expression, right: Expression) -> Expression:
    return Call(name, (left, right), "integer")


def _part(name: str, moment: Expression) -> Expression:
    return Call(name, (moment,), "integer")


def _call(name: str, *arguments: Expression, kind: Kind = "boolean") -> Expression:
    return Call(name, arguments, kind)


def _if(test: Expression, then: Expression, otherwise: Expression) -> Expression:
    return Case(((test, then),), otherwise, then.kind)
