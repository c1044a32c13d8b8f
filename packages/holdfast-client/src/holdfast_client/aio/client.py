"""The client: who one is, chats, people, keys."""

import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Any, Literal, Self

from holdfast_client import models as answers
from holdfast_client.aio.chat import AsyncChat, Tools, message_json
from holdfast_client.aio.follow import Route, Transport, follow
from holdfast_client.aio.http import AsyncHttp
from holdfast_client.config import resolve
from holdfast_client.errors import TurnFailed
from holdfast_client.events import PingEvent, WatchEvent, watch_event_of
from holdfast_client.patience import Patience
from holdfast_client.probe import Probe, date_of
from holdfast_client.reply import Reply
from holdfast_client.tools import toolbox


class AsyncClient:
    """A server, and a user's token for it; without arguments: see `holdfast_client.config`.

    `timeout_s`: how long to go on asking before a call fails. `silence_s`: how long a stream may
    say nothing, not even a ping, before it counts as lost (servers ping every 15 s).
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        timeout_s: float = 30.0,
        *,
        silence_s: float = 45.0,
    ) -> None:
        self._http = AsyncHttp(resolve(url, token), timeout_s)
        self._silence_s = silence_s
        self.chats = AsyncChats(self._http, silence_s)
        self.users = AsyncUsers(self._http)
        self.keys = AsyncKeys(self._http)
        self.audit = AsyncAudit(self._http)

    @property
    def url(self) -> str:
        return self._http.target.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def me(self) -> answers.Me:
        return answers.Me.model_validate(await self._http.get("me"))

    async def version(self) -> answers.VersionInfo:
        return answers.VersionInfo.model_validate(await self._http.get("version"))

    async def models(self) -> answers.ModelList:
        return answers.ModelList.model_validate(await self._http.get("models"))

    async def templates(self) -> list[answers.Template]:
        """The kinds of workspaces that chats may have; the first is the default."""
        found = await self._http.get("templates")
        return [answers.Template.model_validate(each) for each in found["templates"]]

    async def probe(self) -> Probe:
        """How the server answers, for diagnosis."""
        began = time.monotonic()
        response = await self._http.respond("GET", "version")
        took_s = time.monotonic() - began
        version = answers.VersionInfo.model_validate_json(response.content)
        return Probe(version.version, date_of(response.headers.get("date")), took_s)

    async def sign_in(self, email: str, password: str, org_id: str | None = None) -> answers.User:
        """Speak by e-mail and password, as a browser would, until `sign_out`. For making a key."""
        self._http.show()
        body = {"email": email, "password": password, "org_id": org_id}
        response = await self._http.respond("POST", "sign-ins", body)
        # By hand: no jar would give a Secure cookie back to http://localhost.
        cookie = response.headers["set-cookie"].partition(";")[0]
        self._http.show(cookie=cookie, **{"sec-fetch-site": "same-origin"})
        return answers.User.model_validate_json(response.content)

    async def sign_out(self) -> None:
        await self._http.delete("sign-ins/current")
        self._http.show()

    async def watch(
        self,
        after: str | None = None,
        *,
        transport: Transport = "sse",
        on_reconnect: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[WatchEvent]:
        """What changes in one's list of chats; goes on by itself like the stream of a chat."""
        events = follow(
            self._http,
            Route("watch", "watch/socket", watch_event_of),
            after,
            Patience(None),
            transport=transport,
            silence_s=self._silence_s,
            on_reconnect=on_reconnect,
        )
        async with aclosing(events):
            async for event in events:
                if not isinstance(event, PingEvent):
                    yield event


class AsyncChats:
    def __init__(self, http: AsyncHttp, silence_s: float) -> None:
        self._http = http
        self._silence_s = silence_s

    async def create(
        self,
        text: str | None = None,
        *,
        model: str | None = None,
        effort: str | None = None,
        tools: Tools = (),
        title: str | None = None,
        key: str | None = None,
    ) -> AsyncChat:
        """Begin a chat; with a first message it runs at once."""
        body: dict[str, Any] = {}
        if text is not None:
            body["message"] = message_json(text, model, effort)
        declared = [each.declaration() for each in toolbox(tools).values()]
        if declared:
            body["tools"] = declared
        made = answers.Committed.model_validate(await self._http.change("POST", "chats", body, key))
        chat = self.handle(made.chat_id)
        if title is not None:
            await chat.rename(title)
        return chat

    async def run(
        self,
        text: str,
        *,
        model: str | None = None,
        effort: str | None = None,
        tools: Tools = (),
        timeout_s: float | None = None,
    ) -> Reply:
        """Begin a chat and wait for what comes of it, running `tools` meanwhile.

        Raises `TurnFailed` and `WaitTimeout`. If the turn waits for input: `reply.awaiting`.
        """
        own = list(tools)
        chat = await self.create(text, model=model, effort=effort, tools=own)
        reply = await chat.wait(timeout_s=timeout_s, tools=own)
        if reply.status == "failed":
            raise TurnFailed(reply)
        return reply

    def handle(self, chat_id: str) -> AsyncChat:
        """Asks nothing."""
        return AsyncChat(self._http, chat_id, silence_s=self._silence_s)

    async def get(self, chat_id: str) -> AsyncChat:
        """With `known` filled; raises `NotFound`."""
        chat = self.handle(chat_id)
        await chat.info()
        return chat

    async def list(
        self,
        *,
        search: str | None = None,
        label: str | None = None,
        archived: bool = False,
        pinned: bool | None = None,
        shared: bool | None = None,
        status: str | Iterable[str] | None = None,
        limit: int | None = None,
        pinned_first: bool = False,
    ) -> AsyncGenerator[answers.ChatEntry]:
        """Those that one may read, last touched first, page by page as they are taken.

        `search`: in the title. `shared`: True for those of others, False for one's own.
        """
        left, after = limit, None
        while left is None or left > 0:
            page = await self._http.get(
                "chats",
                q=search,
                label=label,
                archived=archived,
                pinned=pinned,
                whose=None if shared is None else "shared" if shared else "own",
                status=[status] if isinstance(status, str) else status and list(status),
                order="pinned_first" if pinned_first else None,
                limit=50 if left is None else min(left, 50),
                after=after,
            )
            for each in page["chats"]:
                yield answers.ChatEntry.model_validate(each)
            left = None if left is None else left - len(page["chats"])
            after = page["after"]
            if after is None:
                return

    async def last(self) -> answers.ChatEntry | None:
        """The one that was touched last."""
        async with aclosing(self.list(limit=1)) as found:
            async for entry in found:
                return entry
        return None


class AsyncUsers:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self) -> AsyncGenerator[answers.User]:
        after = None
        while True:
            page = await self._http.get("users", after=after)
            for each in page["users"]:
                yield answers.User.model_validate(each)
            after = page["after"]
            if after is None:
                return

    async def create(
        self,
        name: str,
        email: str,
        *,
        role: Literal["admin", "member"] = "member",
        password: str | None = None,
    ) -> answers.User:
        body = {"name": name, "email": email, "role": role, "password": password}
        return answers.User.model_validate(await self._http.post("users", body))

    async def get(self, user_id: str) -> answers.User:
        return answers.User.model_validate(await self._http.get(f"users/{user_id}"))

    async def set_role(self, user_id: str, role: Literal["admin", "member"]) -> answers.User:
        return answers.User.model_validate(
            await self._http.put(f"users/{user_id}/role", {"role": role})
        )

    async def disable(self, user_id: str) -> answers.User:
        """Every credential of the user's stops working; chats and history stay."""
        return answers.User.model_validate(await self._http.post(f"users/{user_id}/disable"))

    async def enable(self, user_id: str) -> answers.User:
        return answers.User.model_validate(await self._http.post(f"users/{user_id}/enable"))

    async def set_password(self, user_id: str, password: str) -> answers.User:
        """By an admin; ends every sign-in of the user's."""
        return answers.User.model_validate(
            await self._http.put(f"users/{user_id}/password", {"password": password})
        )


class AsyncKeys:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(self, user_id: str | None = None) -> list[answers.Key]:
        """Your own keys; without `user_id` an admin gets all keys of the organisation."""
        found = await self._http.get("keys", user_id=user_id)
        return [answers.Key.model_validate(each) for each in found["keys"]]

    async def create(
        self,
        name: str,
        *,
        scopes: Iterable[str] = ("read", "write"),
        expires_at: str | None = None,
    ) -> answers.MadeKey:
        """The secret is shown this once. `expires_at`: a time with its zone, ISO 8601."""
        body = {"name": name, "scopes": sorted(scopes), "expires_at": expires_at}
        return answers.MadeKey.model_validate(await self._http.post("keys", body))

    async def revoke(self, key_id: str) -> None:
        await self._http.delete(f"keys/{key_id}")


class AsyncAudit:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def list(
        self, *, actor_id: str | None = None, limit: int | None = None
    ) -> AsyncGenerator[answers.AuditEntry]:
        """What was done in the organisation, newest first; for its admins."""
        left, before = limit, None
        while left is None or left > 0:
            page = await self._http.get(
                "audit",
                before=before,
                actor_id=actor_id,
                limit=50 if left is None else min(left, 50),
            )
            for each in page["entries"]:
                yield answers.AuditEntry.model_validate(each)
            left = None if left is None else left - len(page["entries"])
            before = page["before"]
            if before is None:
                return
