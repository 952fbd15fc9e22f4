"""The workbench: pages for people, in plain HTML that works without JavaScript.

    page        what all pages share: the route that shows errors as pages, templates, forms, CSRF tokens
    assets      scripts, styles and pictures that ship with the package
    session     sign in and out
    datasets    what there is, what is left for me, what may be asked
    ask         SQL, or a form for people without SQL; the live plan; the charge
    question    an answer with its intervals and chart, its progress, its downloads
    history     what I asked, at no cost again

A page reads what `services` and the database return, and never a table of the data.
"""

from __future__ import annotations

from fastapi import APIRouter

from tacit.web.pages import ask, assets, datasets, history, question, session

PAGES: tuple[APIRouter, ...] = (
    assets.router,
    session.router,
    datasets.router,
    ask.router,
    question.router,
    history.router,
)
"""The routers of all pages, without a prefix."""
