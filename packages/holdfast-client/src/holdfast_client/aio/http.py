"""Requests that are repeated until they are answered, as far as that can do no harm."""

import secrets
from collections.abc import Mapping
from typing import Any, Final

import httpx2
import orjson

from holdfast_client.aio.ground import sleep
from holdfast_client.config import Target
from holdfast_client.errors import ApiError, TooMany, Unavailable, Unreachable, api_error
from holdfast_client.models import Json
from holdfast_client.patience import Patience

API: Final = "/api/v1"
TRIES_MIN: Final = 3
"""An answer that is lost without a trace must leave time for others."""
_HARMLESS: Final = frozenset({"GET", "PUT", "DELETE"})
_NEVER_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class AsyncHttp:
    """One server, one credential, a pool of connections."""

    def __init__(self, target: Target, timeout_s: float) -> None:
        self.target = target
        self.timeout_s = timeout_s
        self.headers: dict[str, str] = {"user-agent": "holdfast-sdk"}
        if target.token is not None:
            self.headers["authorization"] = f"Bearer {target.token}"
        self.client = httpx2.AsyncClient(
            verify=target.url.startswith("https:"),  # else there is no TLS to make ready for
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        )

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

    async def put(self, path: str, body: Mapping[str, Any] | None = None) -> Json:
        return await self.ask("PUT", path, body)

    async def delete(self, path: str) -> Json:
        return await self.ask("DELETE", path)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Json:
        """A change that the server would make twice: not repeated once it may have been heard."""
        return await self.ask("POST", path, body)

    async def change(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Json:
        """A change that the server makes once per key, however often it is asked."""
        return await self.ask(method, path, body, key=key or secrets.token_urlsafe(18))

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Json:
        response = await self.respond(method, path, body, params=params, key=key)
        if not response.content:
            return None
        try:
            return orjson.loads(response.content)
        except orjson.JSONDecodeError as error:
            message = "What answers there is not a Holdfast server."
            raise ApiError(response.status_code, "not_json", message) from error

    async def respond(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> httpx2.Response:
        harmless = key is not None or method in _HARMLESS
        patience = Patience(self.timeout_s)
        each_s = self.timeout_s / TRIES_MIN if harmless else self.timeout_s
        request = self.client.build_request(
            method,
            self.url(path),
            content=None if body is None else orjson.dumps(body),
            params=params,
            headers={**self.headers, **_headers(body, key)},
        )
        while True:
            request.extensions["timeout"] = httpx2.Timeout(patience.within(each_s)).as_dict()
            try:
                return await self._heard(request)
            except httpx2.TransportError as error:
                again = harmless or isinstance(error, _NEVER_SENT)
                pause_s = patience.pause_s() if again else None
                if pause_s is None:
                    raise Unreachable(_sentence(self.target, error)) from error
            except (TooMany, Unavailable) as error:
                again = harmless or isinstance(error, TooMany)
                pause_s = patience.pause_s(error.retry_after_s) if again else None
                if pause_s is None:
                    raise
            await sleep(pause_s)

    async def _heard(self, request: httpx2.Request) -> httpx2.Response:
        response = await self.client.send(request)
        if response.is_success:
            return response
        raise problem_in(response)


def problem_in(response: httpx2.Response) -> ApiError:
    """Of a response that was read."""
    return error_in(response.status_code, response.content, response.headers.get("retry-after"))


def error_in(status: int, content: bytes, retry_after: str | None) -> ApiError:
    try:
        problem: object = orjson.loads(content)
    except orjson.JSONDecodeError:
        problem = None
    return api_error(status, problem, retry_after)


def _headers(body: Mapping[str, Any] | None, key: str | None) -> dict[str, str]:
    headers = {} if body is None else {"content-type": "application/json"}
    return headers if key is None else {**headers, "idempotency-key": key}


def _sentence(target: Target, error: Exception) -> str:
    return f"No answer from {target.url}: {str(error) or type(error).__name__}"
