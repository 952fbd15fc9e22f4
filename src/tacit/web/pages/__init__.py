"""The workbench: pages for people, in plain HTML that works without JavaScript.

    page        what all pages share: the route that shows errors as pages, templates, forms, CSRF tokens
    assets      scripts, styles and pictures that ship with the package
    session     sign in and out
    datasets    what there is, what is left for me, what may be asked
    ask         SQL, or a form for people without SQL; the live plan; the charge
    question    an answer with its intervals and chart, its progress, its downloads
    history     what I asked, at no cost again
    limits      reports on limits and bounds, one click from the policy's draft
    ledger      what is left after each charge, who spent what, the check of the chain
    policy      fields with their mistakes, the diff, accept, save
    account     the person's tokens
    admin       people, budgets of analysts, health, the audit log

A page reads what `services` and the database return, and never a table of the data.
"""

from __future__ import annotations

from fastapi import APIRouter

from tacit.web.pages import account, admin, ask, assets, datasets, history, ledger, limits, policy, question, session

PAGES: tuple[APIRouter, ...] = (
    assets.router,
    session.router,
    datasets.router,
    ask.router,
    question.router,
    history.router,
    limits.router,
    ledger.router,
    policy.router,
    account.router,
    admin.router,
)
"""The routers of all pages, without a prefix."""
