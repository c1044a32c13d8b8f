"""A client that talks to a replica over HTTP, as a program or a browser does."""

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import aiohttp
import orjson

ADMIN_EMAIL: Final = "ada@acme.example"
PASSWORD: Final = "correct horse battery staple"
OUR_ORIGIN: Final = "http://ours.example"
ANSWER_S: Final = 30.0


def uuid_of(public_id: str) -> UUID:
    """For a statement: what the database has instead of an id of the API, of whatever type."""
    return UUID(hex=public_id[-32:])


@dataclass
class Answer:
    status: int
    headers: Any
    raw: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.raw)

    @property
    def code(self) -> str:
        return self.json["code"]


@dataclass
class Client:
    """A client with a credential, or without one, at one replica."""

    http: aiohttp.ClientSession
    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    answered_within_s: float = ANSWER_S
    """Then it gives up."""

    def at(self, url: str) -> "Client":
        return Client(self.http, url, self.headers)

    def as_(self, key: str | None) -> "Client":
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        return Client(self.http, self.url, headers)

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        **headers: str,
    ) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = raw if raw is not None else None if body is None else orjson.dumps(body)
        if data is not None:
            named.setdefault("content-type", "application/json")
        async with (
            asyncio.timeout(self.answered_within_s),
            self.http.request(
                method,
                self.url + (path if path.startswith("/") else f"/api/v1/{path}"),
                data=None if data is None else io.BytesIO(data),
                headers={**self.headers, **named},
                allow_redirects=False,
            ) as response,
        ):
            return Answer(response.status, response.headers, await response.read())

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.ask("GET", path, raw=None, **headers)

    async def post(self, path: str, body: object = None, **headers: str) -> Answer:
        return await self.ask("POST", path, body, raw=None, **headers)

    async def signed_in(self, email: str = ADMIN_EMAIL, password: str = PASSWORD) -> "Client":
        """The same replica with a session, as a page of it: a key makes no keys."""
        login = {"email": email, "password": password}
        opened = await self.as_(None).post("sessions", login)
        assert opened.status == 201, opened.raw
        cookie = opened.headers["set-cookie"].split(";")[0]
        page = {"cookie": cookie, "sec-fetch-site": "same-origin"}
        return Client(self.http, self.url, page)

    async def new_key(self, name: str, *scopes: str, email: str = ADMIN_EMAIL) -> dict[str, Any]:
        """Of a user with the usual password; without scopes: the default ones."""
        session = await self.signed_in(email)
        body = {"name": name, **({"scopes": list(scopes)} if scopes else {})}
        made = await session.post("api-keys", body)
        assert made.status == 201, made.raw
        return made.json

    async def new_chat(self, text: str | None = None) -> str:
        body = {} if text is None else {"message": {"text": text}}
        answer = await self.post("chats", body)
        assert answer.status == 201, answer.raw
        return answer.json["chat_id"]

    @asynccontextmanager
    async def stream(
        self, chat_id: str, after: str | None = None, **headers: str
    ) -> AsyncGenerator[AsyncIterator[dict[str, Any]]]:
        """Server-sent events: the envelope of each."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if after is not None:
            named["last-event-id"] = after
        where = f"chats/{chat_id}/events" if chat_id else "events"
        async with self.http.get(
            f"{self.url}/api/v1/{where}", headers={**self.headers, **named}
        ) as response:
            assert response.status == 200, await response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield _events(response.content)

    def watch(
        self, after: str | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[dict[str, Any]]]:
        """The events of one's list."""
        return self.stream("", after)

    async def until(self, chat_id: str, *statuses: str, within_s: float = 60) -> dict[str, Any]:
        """The chat, once it stands so."""
        async with asyncio.timeout(within_s):
            while True:
                chat = (await self.get(f"chats/{chat_id}")).json
                if chat["status"] in statuses:
                    return chat
                await asyncio.sleep(0.03)


async def _events(content: aiohttp.StreamReader) -> AsyncIterator[dict[str, Any]]:
    """Raises `AssertionError` if the lines of an event differ from its envelope."""
    lines: dict[str, str] = {}
    async for line in content:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            lines[name] = value
            continue
        if "data" in lines:
            event: dict[str, Any] = orjson.loads(lines["data"])
            assert (event["type"], event["cursor"]) == (lines["event"], lines.get("id")), lines
            yield event
        lines = {}


async def add_member(
    admin: Client, name: str, scopes: tuple[str, ...] = ("read", "write")
) -> Client:
    """A new member of the admin's organisation, with a key."""
    email, anonymous = f"{name.lower()}@acme.example", admin.as_(None)
    made = await admin.post("users", {"name": name, "email": email, "password": PASSWORD})
    assert made.status == 201, made.raw
    return admin.as_((await anonymous.new_key("key", *scopes, email=email))["secret"])
