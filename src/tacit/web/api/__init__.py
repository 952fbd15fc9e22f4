"""The API under /api/v1: one file for each noun. `ROUTERS` has all of them."""

from __future__ import annotations

from fastapi import APIRouter

from tacit.web.api import (
    answers,
    audit,
    datasets,
    health,
    history,
    jobs,
    ledger,
    limits,
    plans,
    policies,
    session,
    tokens,
    users,
)

ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    session.router,
    tokens.router,
    datasets.router,
    plans.router,
    answers.router,
    limits.router,
    jobs.router,
    history.router,
    ledger.router,
    policies.router,
    users.router,
    audit.router,
)
