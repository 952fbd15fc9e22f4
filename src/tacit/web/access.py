"""Roles: every route declares its role here, and a route without a role stops the start of the server.

    @route(router, "GET", "/datasets", role=Role.ANALYST)
    def datasets(person: Caller, …) -> …

A role includes those below it: public < analyst < steward < admin. The guard of a route signs the caller in and checks
the role before it reads the body, so nobody learns anything about a route that is not theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from time import monotonic
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.routing import APIRoute

from tacit.errors import TacitError
from tacit.web import problems, quantum
from tacit.web.credentials import Person, authenticate
from tacit.web.roles import Role
from tacit.web.security import check_csrf

__all__ = ["PREFIX", "Caller", "GuardedRoute", "Role", "Rule", "check_routes", "route", "router", "rule_of", "rules"]

_Handler = TypeVar("_Handler", bound=Callable[..., Any])
_KEY: Final = "x-tacit"
_SAFE: Final = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Rule:
    """The callers of a route, and the way in which its answer leaves."""

    role: Role
    quantised: bool = False
    csrf: bool = True


class GuardedRoute(APIRoute):
    """A route that checks its rule first, and turns every error into a problem."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler behind its guard."""
        handle = super().get_route_handler()
        rule = rule_of(self)

        async def guarded(request: Request) -> Response:
            started = monotonic()
            state = request.app.state.server
            try:
                request.state.person = await _admitted(request, rule)
                response = await handle(request)
            except Exception as error:  # noqa: BLE001 - every error becomes a problem, with a constant text if unknown
                if isinstance(error, TacitError) and not rule.quantised:
                    error.unspent = True  # only such routes charge
                response = problems.response_of(error, state.clean)
            if rule.quantised:
                await quantum.wait(started, state.settings.quantum)
            person = getattr(request.state, "person", None)
            state.metrics.note(request.method, self.path, response.status_code, monotonic() - started, person)
            return response

        return guarded


async def _admitted(request: Request, rule: Rule) -> Person | None:
    """Return who calls, or raise a problem: 401 for nobody, 403 for a role that is too low or a missing CSRF token."""
    if rule.role is Role.PUBLIC:
        return None
    person = await authenticate(request)
    if person.role < rule.role:
        raise problems.Problem(
            403, "forbidden", "Your role does not allow this.", hint=f"It needs the role {rule.role.word}."
        )
    if rule.csrf and request.method not in _SAFE:
        await check_csrf(request, person)
    return person


def rule_of(one: APIRoute) -> Rule:
    """Return the rule of a route; RuntimeError if it declares none."""
    rule = getattr(one.endpoint, "__tacit_rule__", None)
    if not isinstance(rule, Rule):
        raise RuntimeError(f"The route {one.path} declares no role.")  # noqa: TRY004 - a fault of the program
    return rule


def route(
    router: APIRouter,
    method: str,
    path: str,
    *,
    role: Role,
    quantised: bool = False,
    csrf: bool = True,
    status: int = 200,
    problems_of: tuple[int, ...] = (),
    **options: Any,  # noqa: ANN401 - FastAPI's own options
) -> Callable[[_Handler], _Handler]:
    """Declare a route with its role.

    Args:
        router: the router that gets the route.
        method: GET, POST, PUT or DELETE.
        path: the path below that of the router.
        role: the lowest role that may call it.
        quantised: whether its response leaves at a fixed time, because its work depends on the data.
        csrf: whether a caller with a cookie must prove that the page is ours.
        status: the status of success.
        problems_of: the statuses of errors beside those of every route.
        options: those of FastAPI.
    """

    def declare(handler: _Handler) -> _Handler:
        rule = Rule(role, quantised, csrf)
        handler.__tacit_rule__ = rule  # type: ignore[attr-defined]
        responses = problems.documented(role, method, problems_of) | options.pop("responses", {})
        security: dict[str, Any] = {} if role is Role.PUBLIC else {"security": [{"token": []}, {"cookie": []}]}
        router.add_api_route(
            path,
            handler,
            methods=[method],
            status_code=status,
            responses=responses,
            openapi_extra={_KEY: {"role": role.word}, **security, **options.pop("extra", {})},
            **options,
        )
        return handler

    return declare


PREFIX: Final = "/api/v1"
"""Where the API is."""


def router(tag: str, prefix: str = PREFIX) -> APIRouter:
    """Return a router whose routes are guarded."""
    return APIRouter(prefix=prefix, route_class=GuardedRoute, tags=[tag])


def rules(app: FastAPI) -> dict[tuple[str, str], Rule]:
    """Return the rule of each route by its method and path; RuntimeError for a route that is not guarded."""
    found: dict[tuple[str, str], Rule] = {}
    for one in app.routes:
        if not isinstance(one, GuardedRoute):
            raise RuntimeError(f"The route {getattr(one, 'path', one)} is not guarded.")  # noqa: TRY004 - as above
        found |= {(method, one.path): rule_of(one) for method in one.methods or ()}
    return found


def check_routes(app: FastAPI) -> None:
    """Raise RuntimeError if a route declares no role."""
    rules(app)


def _caller(request: Request) -> Person:
    return request.state.person  # type: ignore[no-any-return]


Caller = Annotated[Person, Depends(_caller)]
"""The person who calls, whose role the guard has checked."""
