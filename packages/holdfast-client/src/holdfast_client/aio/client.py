"""The client: one server, with the credential of one user."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Self

from holdfast_client import models as answers
from holdfast_client.aio.accounts import (
    AsyncApiKeys,
    AsyncOrganization,
    AsyncProviderKeys,
    AsyncSessions,
    AsyncUsers,
)
from holdfast_client.aio.chat import AsyncChat
from holdfast_client.aio.chats import AsyncChats
from holdfast_client.aio.follow import Route, Transport, follow
from holdfast_client.aio.http import AsyncHttp
from holdfast_client.config import resolve
from holdfast_client.events import Ping, WatchEvent, watch_event_of
from holdfast_client.patience import Patience
from holdfast_client.probe import Probe, date_of


class AsyncClient:
    """A server, and an API key for it; without arguments they are those of `HOLDFAST_URL` and
    `HOLDFAST_API_KEY`, else of the file that `holdfast login` writes.

    `timeout`: the seconds after which a call without an answer fails. `silence_timeout`: how long a
    stream may say nothing, not even a ping, before it counts as lost (servers ping every 15 s).
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        silence_timeout: float = 45.0,
    ) -> None:
        self._use(AsyncHttp(resolve(url, api_key), timeout, silence_timeout))

    def _use(self, http: AsyncHttp) -> None:
        self._http = http
        self.chats = AsyncChats(http)
        self.models = AsyncModels(http)
        self.workspace_templates = AsyncWorkspaceTemplates(http)
        self.users = AsyncUsers(http)
        self.api_keys = AsyncApiKeys(http)
        self.provider_keys = AsyncProviderKeys(http)
        self.sessions = AsyncSessions(http)
        self.organization = AsyncOrganization(http)

    @property
    def url(self) -> str:
        return self._http.target.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    def with_options(self, *, timeout: float) -> "AsyncClient":
        """The same client with another timeout. Both use the same connections; closing one closes
        both."""
        other = AsyncClient.__new__(AsyncClient)
        other._use(self._http.with_timeout(timeout))
        return other

    def chat(self, chat_id: str) -> AsyncChat:
        """A chat by its id. Asks nothing."""
        return AsyncChat(self._http, chat_id)

    async def request(
        self,
        method: str,
        path: str,
        body: answers.Json = None,
        *,
        idempotency_key: str | None = None,
    ) -> answers.Json:
        """One request to a path below `/api/v1`, for what has no method here. The parsed answer."""
        return await self._http.ask(method, path, body, key=idempotency_key)

    async def me(self) -> answers.Me:
        return answers.Me.model_validate(await self._http.get("me"))

    async def version(self) -> answers.VersionInfo:
        return answers.VersionInfo.model_validate(await self._http.get("version"))

    async def probe(self) -> Probe:
        """How the server answers, for diagnosis."""
        began = time.monotonic()
        response = await self._http.respond("GET", "version")
        took_s = time.monotonic() - began
        version = answers.VersionInfo.model_validate_json(response.content)
        return Probe(version.version, date_of(response.headers.get("date")), took_s)

    async def events(
        self,
        after: str | None = None,
        *,
        transport: Transport = "sse",
        on_reconnect: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[WatchEvent]:
        """What changes in your list of chats. Continues by itself like the events of a chat."""
        events = follow(
            self._http,
            Route("events", watch_event_of),
            after,
            Patience(None),
            transport=transport,
            on_reconnect=on_reconnect,
        )
        async with aclosing(events):
            async for event in events:
                if not isinstance(event, Ping):
                    yield event


class AsyncModels:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> list[answers.ModelInfo]:
        """The models that messages may ask for."""
        found = await self._http.get("models")
        return [answers.ModelInfo.model_validate(each) for each in found["data"]]


class AsyncWorkspaceTemplates:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> list[answers.Template]:
        """The kinds of workspaces that chats may have; the first is the default."""
        found = await self._http.get("workspace-templates")
        return [answers.Template.model_validate(each) for each in found["data"]]
