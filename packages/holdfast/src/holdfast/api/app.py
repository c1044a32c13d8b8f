"""The app: routes, problems and bounds put together, and the OpenAPI document of all of it."""

from dataclasses import dataclass
from importlib import metadata
from inspect import signature
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.routing import compile_path

from holdfast.api import problems
from holdfast.api.dependencies import Edge
from holdfast.api.document import openapi_of, operation_id
from holdfast.api.guard import Guard
from holdfast.api.routes import (
    administration,
    answers,
    catalogue,
    chats,
    credentials,
    events,
    messages,
    oidc,
    people,
    provider_keys,
    queue,
    server,
    settings,
    steering,
    workspaces,
)
from holdfast.api.ui_files import STATIC, UiFiles, files_in

PREFIX: Final = "/api/v1"
ANONYMOUS: Final = frozenset(
    {("GET", "/healthz"), ("GET", "/readyz"), ("GET", f"{PREFIX}/version")}
    | {
        ("POST", f"{PREFIX}/sessions"),
        ("POST", f"{PREFIX}/sessions/by-link"),
        ("POST", f"{PREFIX}/sessions/by-account-link"),
        ("GET", f"{PREFIX}/oidc"),
    }
    | {("GET", f"{PREFIX}/oidc/{{provider}}/{step}") for step in ("start", "callback")}
)
"""Routes that ask for no credential; all others do, and a test goes through them."""

_RESOURCES: Final = (
    *(chats, messages, queue, steering, answers, events, workspaces),
    *(people, credentials, oidc, settings, catalogue, server),
    *(administration, provider_keys),
)
_ROUTERS: Final = (
    *((PREFIX, each.router) for each in _RESOURCES),
    (PREFIX, oidc.returns),
    (PREFIX, people.organization),
    (PREFIX, administration.accounts),
    ("", server.health),
)


_PATTERNS: Final = tuple(
    (compile_path(prefix + route.path)[0], method)
    for prefix, router in _ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods or ())
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A route, as the reference and the tests need it."""

    method: str
    path: str
    about: str
    says: str
    """The name of what it answers, if that is an object."""
    conditional: bool = False
    """It takes `If-Match`."""


def all_routes() -> list[Listed]:
    """Every route there is; the app is made of the same table."""
    return [
        Listed(method, prefix + route.path, _about(route), _says(route), _conditional(route))
        for prefix, router in _ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute | APIWebSocketRoute)
        for method in _methods(route)
    ]


def allowed_methods(path: str) -> str:
    """The methods of a path, as the header `Allow` names them."""
    found = {method for pattern, method in _PATTERNS if pattern.match(path)}
    return ", ".join(sorted(found))


def _methods(route: APIRoute | APIWebSocketRoute) -> list[str]:
    return sorted(route.methods or ()) if isinstance(route, APIRoute) else ["WEBSOCKET"]


def _about(route: APIRoute | APIWebSocketRoute) -> str:
    said = (route.endpoint.__doc__ or route.name.replace("_", " ").capitalize() + ".").strip()
    return " ".join(said.split("\n\n")[0].split())


def _conditional(route: APIRoute | APIWebSocketRoute) -> bool:
    return "if_match" in signature(route.endpoint).parameters


def _says(route: APIRoute | APIWebSocketRoute) -> str:
    shape = route.response_model if isinstance(route, APIRoute) else None
    return shape.__name__ if isinstance(shape, type) else ""


def _routed(version: str) -> FastAPI:
    app = FastAPI(
        title="Holdfast",
        version=version,
        summary="AI agent chats that never lose a turn.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # its page would load scripts from another server
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
        # Ours are in `telemetry/`. Asking whether to make these takes 2 % of each request.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    for prefix, router in _ROUTERS:
        app.include_router(router, prefix=prefix)
    return app


def create_app(edge: Edge) -> FastAPI:
    app = _routed(edge.version)
    app.state.edge = edge
    app.router.default = UiFiles(
        app.router.default, files_in(STATIC), image_hosts=edge.options.image_hosts
    )
    problems.install(app, allowed_methods)
    options = edge.options
    app.add_middleware(
        Guard,
        body_bytes_max=options.body_bytes_max,
        body_s_max=options.body_s_max,
        requests_max=options.requests_max,
        version=edge.version,
    )
    app.openapi = lambda: _document(app)
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        app.openapi_schema = openapi_of(app, ANONYMOUS)
    return app.openapi_schema


def contract() -> dict[str, Any]:
    """The OpenAPI document without a server, for those who generate clients from it."""
    return openapi_of(_routed(metadata.version("holdfast")), ANONYMOUS)
