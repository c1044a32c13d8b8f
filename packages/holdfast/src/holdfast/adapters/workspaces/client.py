"""The server's side of a line to a workspace agent.

    async with AgentClient("unix:/run/ws/agent.sock") as agent:
        process = await agent.start(chat, call_id, Start(command="make"))
        look = await agent.look(chat, call_id, wait_s=600)

The agent runs beside what the model wrote, so it is believed nothing: answers are bounded, never
unpacked, never followed elsewhere, and checked against their schema. Two errors, no third:
`AgentRefused`, the agent's own no, and `AgentGone`, when there was no answer or none that makes
sense. After `AgentGone` a start or a stop may be said again: both are keyed.
"""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Literal, Self, TypeVar
from urllib.parse import quote

import aiohttp
from pydantic import BaseModel, ValidationError
from yarl import URL

from holdfast_agent.wire import (
    About,
    Edited,
    EditFiles,
    Fault,
    FaultCode,
    FindFiles,
    Found,
    Guidance,
    Input,
    Lines,
    Listed,
    ListFiles,
    Look,
    Matches,
    Process,
    Processes,
    ReadFile,
    SearchFiles,
    Signal,
    SkillText,
    Start,
    WriteFile,
    Written,
)

UNIX: Final = "unix:"
BODY_BYTES_MAX: Final = 8 * 1024 * 1024
MESSAGE_CHARS_MAX: Final = 4000
CONNECTIONS_MAX: Final = 1024
CONNECT_S: Final = 10.0
ANSWER_S: Final = 60.0
BEYOND_WAIT_S: Final = 30.0
"""How much longer than the agent waits we wait for its answer (L102)."""
SILENCE_S: Final = 30.0
"""While it waits, the agent sends a blank every 10 s."""
KEPT_S: Final = 15.0
"""Idle lines; the agent keeps them much longer, so that it is always we who close."""

T = TypeVar("T", bound=BaseModel)


class AgentRefused(Exception):
    """The agent was asked and said no. The message is for the model and for people."""

    def __init__(self, code: FaultCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class AgentGone(Exception):
    """The agent could not be reached, was cut off, or answered nonsense."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class AgentClient:
    def __init__(self, address: str, token: str | None = None) -> None:
        self._address = address
        self._headers = {"accept": "application/json", "accept-encoding": "identity"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"
        self._base = "http://agent" if address.startswith(UNIX) else address.rstrip("/")
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            connector=_connector(self._address),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # a few packed bytes may become gigabytes (F5)
            trust_env=False,
            headers=self._headers,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._http is not None
        await self._http.close()

    async def about(self) -> About:
        return await self._ask(About, "GET", "/v1/about")

    # Processes

    async def start(self, chat: str, key: str, start: Start) -> Process:
        """The process of this key, started now or before: said twice, it is started once."""
        return await self._ask(Process, "PUT", _one(chat, key), start)

    async def processes(self, chat: str) -> Processes:
        return await self._ask(Processes, "GET", _all(chat))

    async def look(
        self,
        chat: str,
        key: str,
        *,
        after: int = 0,
        wait_s: float = 0,
        until: Literal["exit", "output"] = "exit",
    ) -> Look:
        """May come back before `until` is met: when `wait_s` is over, or the line was cut and a
        second look was possible (L101). Look at the process's state."""
        if wait_s > 0:
            query = {"after": str(after), "wait_s": f"{wait_s:.3f}", "until": until}
            try:
                return await self._ask(Look, "GET", _one(chat, key), query=query, wait_s=wait_s)
            except AgentGone:
                # The wait broke, not the process: it may have ended meanwhile, and its real result
                # is worth one more question. If that fails, too, it is the agent that is gone.
                pass
        return await self._ask(Look, "GET", _one(chat, key), query={"after": str(after)})

    async def write_input(self, chat: str, key: str, given: Input) -> Process:
        return await self._ask(Process, "POST", f"{_one(chat, key)}/input", given)

    async def signal(self, chat: str, key: str, signal: Signal) -> Process:
        return await self._ask(Process, "POST", f"{_one(chat, key)}/signal", signal)

    async def stop(self, chat: str, key: str) -> Process:
        """Nothing of it is alive when this returns; never started, it never will be."""
        return await self._ask(Process, "DELETE", _one(chat, key))

    async def stop_all(self, chat: str) -> Processes:
        return await self._ask(Processes, "DELETE", _all(chat))

    # Files

    async def read(self, asked: ReadFile) -> Lines:
        return await self._ask(Lines, "POST", "/v1/files/read", asked)

    async def write(self, asked: WriteFile) -> Written:
        return await self._ask(Written, "POST", "/v1/files/write", asked)

    async def edit(self, asked: EditFiles) -> Edited:
        return await self._ask(Edited, "POST", "/v1/files/edit", asked)

    async def list(self, asked: ListFiles) -> Listed:
        return await self._ask(Listed, "POST", "/v1/files/list", asked)

    async def find(self, asked: FindFiles) -> Found:
        return await self._ask(Found, "POST", "/v1/files/find", asked)

    async def search(self, asked: SearchFiles) -> Matches:
        return await self._ask(Matches, "POST", "/v1/files/search", asked)

    async def guidance(self) -> Guidance:
        return await self._ask(Guidance, "GET", "/v1/guidance")

    async def skill(self, name: str) -> SkillText:
        return await self._ask(SkillText, "GET", f"/v1/skills/{quote(name, safe='')}")

    async def _ask(
        self,
        kind: type[T],
        method: str,
        path: str,
        said: BaseModel | None = None,
        *,
        query: Mapping[str, str] | None = None,
        wait_s: float = 0,
    ) -> T:
        status, body = await self._exchange(method, path, said, query, wait_s)
        try:
            if status in (200, 201):
                return kind.model_validate_json(body)
            fault = Fault.model_validate_json(body)
        except ValidationError as error:
            raise AgentGone(f"The workspace agent answered nonsense (status {status}).") from error
        raise AgentRefused(fault.code, fault.message[:MESSAGE_CHARS_MAX])

    async def _exchange(
        self,
        method: str,
        path: str,
        said: BaseModel | None,
        query: Mapping[str, str] | None,
        wait_s: float,
    ) -> tuple[int, bytes]:
        assert self._http is not None, "the client is not open"
        url = URL(f"{self._base}{path}", encoded=True).with_query(query)
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENCE_S)
        within_s = wait_s + BEYOND_WAIT_S if wait_s else ANSWER_S
        try:
            async with (
                asyncio.timeout(within_s),
                self._http.request(
                    method,
                    url,
                    data=None if said is None else said.model_dump_json().encode(),
                    headers={} if said is None else {"content-type": "application/json"},
                    allow_redirects=False,
                    timeout=limits,
                ) as response,
            ):
                return response.status, await _body(response)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            # The kind only: the words may hold an address or a token.
            message = f"The workspace agent does not answer ({type(error).__name__})."
            raise AgentGone(message) from error


async def _body(response: aiohttp.ClientResponse) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("an answer with a content encoding that was not requested")
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > BODY_BYTES_MAX:
            raise ValueError("an answer without end")
    return bytes(body)


def _connector(address: str) -> aiohttp.BaseConnector:
    if address.startswith(UNIX):
        path = address.removeprefix(UNIX)
        return aiohttp.UnixConnector(path, limit=CONNECTIONS_MAX, keepalive_timeout=KEPT_S)
    return aiohttp.TCPConnector(limit=CONNECTIONS_MAX, keepalive_timeout=KEPT_S)


def _all(chat: str) -> str:
    return f"/v1/chats/{quote(chat, safe='')}/processes"


def _one(chat: str, key: str) -> str:
    return f"{_all(chat)}/{quote(key, safe='')}"
