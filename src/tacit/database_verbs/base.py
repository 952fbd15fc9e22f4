"""The parts that all verbs share: the session, and the methods that run or plan a query."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace

from tacit import verbs
from tacit.errors import UnusedOptionError, bad_value
from tacit.query.policy import TablePolicy
from tacit.query.results.quote import QueryForm
from tacit.query.results.release import Release
from tacit.query_options import GroupOptions, RowOptions, RunOptions, check_options, question_of
from tacit.quotes import SessionQuote
from tacit.session import Session, unspent
from tacit.verbs import ColumnNames


class SessionVerbs:
    """The session of a database, and the methods by which verbs run or plan their queries."""

    _session: Session

    @property
    def tables(self) -> Mapping[str, TablePolicy]:
        """The policy of each table: what is public about it."""
        return self._session.tables

    def _target(self, by: ColumnNames, where: str | None, table: str | None) -> verbs.VerbTarget:
        return verbs.VerbTarget(self.tables, by, where, table)

    def _ask(
        self,
        write: Callable[[], str],
        options: RunOptions,
        *,
        plan: bool,
        form: QueryForm = "rows",
        known: type[RowOptions] = GroupOptions,
    ) -> Release | SessionQuote:
        """Run the query that a verb writes, or return its quote; `known` are the options that the verb has."""
        with unspent():
            planned = is_plan(plan, options)
            check_options(options, known, ["plan"])
            question = replace(question_of(write(), options), form=form)
        quote = self._session.quote(question)
        return quote if planned else with_warnings(self._session.answer(quote, options.get("request")))


def is_plan(plan: object, options: RunOptions) -> bool:
    """Return whether a verb only plans, or raise InvalidError."""
    if not isinstance(plan, bool):
        raise bad_value("plan", plan, "True or False")
    if plan and options.get("request") is not None:
        raise UnusedOptionError("request", "with plan=True")
    return plan


def with_warnings(answer: Release) -> Release:
    """Return an answer, and issue its warnings."""
    for text in answer.warnings:
        warnings.warn(text, stacklevel=4)
    return answer
