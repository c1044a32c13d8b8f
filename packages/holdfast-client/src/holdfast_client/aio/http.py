"""Requests that are repeated until they are answered, as far as that can do no harm."""

import secrets
from collections.abc import AsyncGenerator, Mapping
from copy import copy
from typing import Any, Final, Self, cast

import httpx2

from holdfast_client.aio.ground import sleep
from holdfast_client.config import Target
from holdfast_client.errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    RateLimitError,
    api_error,
    is_passing,
)
from holdfast_client.models import Json
from holdfast_client.patience import Patience
from holdfast_client.version import USER_AGENT
from holdfast_client.wire import dumps, loads

API: Final = "/api/v1"
PAGE: Final = 50
REPLAYED_HEADER: Final = "idempotent-replayed"
TRIES_MIN: Final = 3
"""An answer that is lost without a trace must leave time for others."""
_HARMLESS: Final = frozenset({"GET", "PUT", "PATCH", "DELETE"})
"""Methods that may be repeated without a key: our patches are merge patches."""
_NEVER_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class AsyncHttp:
    """One server, one credential, a pool of connections."""

    def __init__(self, target: Target, timeout: float, silence_timeout: float = 45.0) -> None:
        self.target = target
        self.timeout = timeout
        self.silence_timeout = silence_timeout
        self.headers: dict[str, str] = {"user-agent": USER_AGENT}
        if target.api_key is not None:
            self.headers["authorization"] = f"Bearer {target.api_key}"
        self.client = httpx2.AsyncClient(
            verify=target.url.startswith("https:"),  # else there is no TLS to make ready for
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        )

    def with_timeout(self, timeout: float) -> Self:
        """The same connections and credential with another timeout."""
        other = copy(self)
        other.timeout = timeout
        return other

    async def aclose(self) -> None:
        await self.client.aclose()

    def show(self, **credential: str) -> None:
        """Use another credential from now on, or none."""
        self.headers.pop("authorization", None)
        self.headers.pop("cookie", None)
        self.headers.update(credential)

    def url(self, path: str) -> str:
        return f"{self.target.url}{API}/{path}"

    async def get(self, path: str, **params: Json) -> Json:
        named = {name: value for name, value in params.items() if value is not None}
        return await self.ask("GET", path, params=named)

    async def pages(
        self, path: str, limit: int | None = None, **params: Json
    ) -> AsyncGenerator[list[Json]]:
        """The pages of a list, as they are taken; at most `limit` items."""
        left, cursor = limit, None
        while left is None or left > 0:
            size = PAGE if left is None else min(left, PAGE)
            page = await self.get(path, **params, limit=size, cursor=cursor)
            yield page["data"]
            left = None if left is None else left - len(page["data"])
            cursor = page["next_cursor"]
            if cursor is None:
                return

    async def put(self, path: str, body: Mapping[str, Any] | None = None) -> Json:
        return await self.ask("PUT", path, body)

    async def patch(
        self, path: str, body: Mapping[str, Any], if_match: str | None = None
    ) -> httpx2.Response:
        return await self.respond("PATCH", path, body, if_match=if_match)

    async def delete(self, path: str) -> Json:
        return await self.ask("DELETE", path)

    async def post(
        self, path: str, body: Mapping[str, Any] | None = None, key: str | None = None
    ) -> Json:
        """Without a key: a change that the server would make twice, so it is not repeated once the
        server may have received it."""
        return await self.ask("POST", path, body, key=key)

    async def change(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        *,
        if_match: str | None = None,
    ) -> Json:
        """A change that the server makes once per key, however often it is asked. `replayed` in the
        answer: an earlier request with the same key made it."""
        named = key or secrets.token_urlsafe(18)
        response = await self.respond(method, path, body, key=named, if_match=if_match)
        found = json_in(response)
        if not isinstance(found, dict):
            return found
        replayed = response.headers.get(REPLAYED_HEADER) == "true"
        return {**cast("dict[str, Json]", found), "replayed": replayed}

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Json:
        return json_in(await self.respond(method, path, body, params=params, key=key))

    async def respond(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
        if_match: str | None = None,
    ) -> httpx2.Response:
        harmless = key is not None or method in _HARMLESS
        patience = Patience(self.timeout)
        each_s = self.timeout / TRIES_MIN if harmless else self.timeout
        request = self.client.build_request(
            method,
            self.url(path),
            content=None if body is None else dumps(body),
            params=params,
            headers={**self.headers, **_headers(body, key, if_match)},
        )
        while True:
            request.extensions["timeout"] = httpx2.Timeout(patience.within(each_s)).as_dict()
            try:
                return await self._heard(request)
            except httpx2.TransportError as error:
                again = harmless or isinstance(error, _NEVER_SENT)
                pause_s = patience.pause_s() if again else None
                if pause_s is None:
                    raise _unanswered(self.target, error) from error
            except APIStatusError as error:
                again = is_passing(error) and (harmless or isinstance(error, RateLimitError))
                pause_s = patience.pause_s(error.retry_after_s) if again else None
                if pause_s is None:
                    raise
            await sleep(pause_s)

    async def _heard(self, request: httpx2.Request) -> httpx2.Response:
        response = await self.client.send(request)
        if response.is_success:
            return response
        raise problem_in(response)


def json_in(response: httpx2.Response) -> Json:
    if not response.content:
        return None
    try:
        return loads(response.content)
    except ValueError as error:
        message = "What answers there is not a Holdfast server."
        raise APIStatusError(response.status_code, "not_json", message) from error


def problem_in(response: httpx2.Response) -> APIStatusError:
    """Of a response that was read."""
    return error_in(response.status_code, response.content, response.headers)


def error_in(status: int, content: bytes, headers: Mapping[str, str]) -> APIStatusError:
    try:
        problem: object = loads(content)
    except ValueError:
        problem = None
    return api_error(status, problem, headers.get("retry-after"), headers.get("x-request-id"))


def _headers(
    body: Mapping[str, Any] | None, key: str | None, if_match: str | None
) -> dict[str, str]:
    headers = {} if body is None else {"content-type": "application/json"}
    headers |= {} if key is None else {"idempotency-key": key}
    return headers if if_match is None else {**headers, "if-match": if_match}


def _unanswered(target: Target, error: Exception) -> APIConnectionError:
    message = f"No answer from {target.url}: {str(error) or type(error).__name__}"
    if isinstance(error, httpx2.TimeoutException):
        return APITimeoutError(message)
    return APIConnectionError(message)
