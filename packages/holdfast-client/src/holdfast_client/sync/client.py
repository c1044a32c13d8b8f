# Made of holdfast_client/aio/client.py by scripts/generate_sync.py. Do not edit.
"""The client: one server, with the credential of one user."""

import time
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Self

from holdfast_client import models as answers
from holdfast_client.config import resolve
from holdfast_client.events import Ping, WatchEvent, watch_event_of
from holdfast_client.patience import Patience
from holdfast_client.probe import Probe, date_of
from holdfast_client.sync.accounts import (
    ApiKeys,
    Organization,
    ProviderKeys,
    Sessions,
    Users,
)
from holdfast_client.sync.chat import Chat
from holdfast_client.sync.chats import Chats
from holdfast_client.sync.follow import Route, Transport, follow
from holdfast_client.sync.http import Http


class Client:
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
        self._use(Http(resolve(url, api_key), timeout, silence_timeout))

    def _use(self, http: Http) -> None:
        self._http = http
        self.chats = Chats(http)
        self.models = Models(http)
        self.workspace_templates = WorkspaceTemplates(http)
        self.users = Users(http)
        self.api_keys = ApiKeys(http)
        self.provider_keys = ProviderKeys(http)
        self.sessions = Sessions(http)
        self.organization = Organization(http)

    @property
    def url(self) -> str:
        return self._http.target.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def with_options(self, *, timeout: float) -> "Client":
        """The same client with another timeout. Both use the same connections; closing one closes
        both."""
        other = Client.__new__(Client)
        other._use(self._http.with_timeout(timeout))
        return other

    def chat(self, chat_id: str) -> Chat:
        """A chat by its id. Asks nothing."""
        return Chat(self._http, chat_id)

    def request(
        self,
        method: str,
        path: str,
        body: answers.Json = None,
        *,
        idempotency_key: str | None = None,
    ) -> answers.Json:
        """One request to a path below `/api/v1`, for what has no method here. The parsed answer."""
        return self._http.ask(method, path, body, key=idempotency_key)

    def me(self) -> answers.Me:
        return answers.Me.model_validate(self._http.get("me"))

    def version(self) -> answers.VersionInfo:
        return answers.VersionInfo.model_validate(self._http.get("version"))

    def probe(self) -> Probe:
        """How the server answers, for diagnosis."""
        began = time.monotonic()
        response = self._http.respond("GET", "version")
        took_s = time.monotonic() - began
        version = answers.VersionInfo.model_validate_json(response.content)
        return Probe(version.version, date_of(response.headers.get("date")), took_s)

    def events(
        self,
        after: str | None = None,
        *,
        transport: Transport = "sse",
        on_reconnect: Callable[[], None] = lambda: None,
    ) -> Generator[WatchEvent]:
        """What changes in your list of chats. Continues by itself like the events of a chat."""
        events = follow(
            self._http,
            Route("events", watch_event_of),
            after,
            Patience(None),
            transport=transport,
            on_reconnect=on_reconnect,
        )
        with closing(events):
            for event in events:
                if not isinstance(event, Ping):
                    yield event


class Models:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> list[answers.ModelInfo]:
        """The models that messages may ask for."""
        found = self._http.get("models")
        return [answers.ModelInfo.model_validate(each) for each in found["data"]]


class WorkspaceTemplates:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> list[answers.Template]:
        """The kinds of workspaces that chats may have; the first is the default."""
        found = self._http.get("workspace-templates")
        return [answers.Template.model_validate(each) for each in found["data"]]
