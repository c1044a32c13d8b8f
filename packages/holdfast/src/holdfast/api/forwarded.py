"""The client's address, as a trusted proxy names it; a proxy that is not trusted is logged."""

import logging
from typing import Any, Final, cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

_LOG: Final = logging.getLogger(__name__)


class Forwarded:
    """Behind a proxy that is not trusted all clients have one address and share its limits, those
    for wrong passwords included. A stranger can cause the warning, but not often: it is one line
    for each process."""

    def __init__(self, app: ASGIApp, trusted_proxies: str) -> None:
        named = cast("Any", ProxyHeadersMiddleware)(app, trusted_proxies)
        self._app: ASGIApp = named
        self._trusted: Any = named.trusted_hosts
        self._warned = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._warned and scope["type"] != "lifespan":
            self._look(scope)
        await self._app(scope, receive, send)

    def _look(self, scope: Scope) -> None:
        peer: str = (scope.get("client") or ("",))[0]
        if peer in self._trusted:
            return
        if any(name == b"x-forwarded-for" for name, _ in scope["headers"]):
            self._warned = True
            _LOG.warning(
                "api: X-Forwarded-For from a peer that is no trusted proxy was ignored: all clients"
                " behind it share one address and its limits. If it is your proxy, name it in"
                " HOLDFAST_TRUSTED_PROXIES",
                extra={"peer": peer},
            )
