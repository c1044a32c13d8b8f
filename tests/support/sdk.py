"""Both halves of the SDK behind one face, so that one suite can be run on both.

`Awaited` gives a sync object the async names: its calls run in a worker of asyncio's, one at a time
per call, as in a program that has no loop.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from typing import Any, Literal, cast

from holdfast.sdk import AsyncChat, AsyncClient, Chat, Client
from holdfast.sdk.aio import chat as aio_chat
from holdfast.sdk.aio import client as aio_client
from holdfast.sdk.sync import chat as sync_chat
from holdfast.sdk.sync import client as sync_client

Half = Literal["async", "sync"]
HALVES: tuple[Half, ...] = ("async", "sync")
TWINS: dict[type[Any], type[Any]] = {
    Client: AsyncClient,
    Chat: AsyncChat,
    sync_chat.Queue: aio_chat.AsyncQueue,
    sync_client.Chats: aio_client.AsyncChats,
    sync_client.Users: aio_client.AsyncUsers,
    sync_client.Keys: aio_client.AsyncKeys,
    sync_client.Audit: aio_client.AsyncAudit,
}
_END = object()


class Awaited:
    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        twin = getattr(TWINS[type(self._target)], name, None)
        if inspect.iscoroutinefunction(twin):
            return _awaited(value)
        if inspect.isasyncgenfunction(twin):
            return _iterated(value)
        if callable(value):
            return lambda *args, **kwargs: _face(value(*args, **kwargs))
        return _face(value)


def _face(value: Any) -> Any:
    return Awaited(value) if type(value) in TWINS else value


def _awaited(call: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> Any:
        return _face(await asyncio.to_thread(call, *args, **kwargs))

    return run


def _iterated(call: Callable[..., Generator[Any]]) -> Callable[..., AsyncGenerator[Any]]:
    async def run(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        items = call(*args, **kwargs)
        try:
            while (item := await asyncio.to_thread(next, items, _END)) is not _END:
                yield item
        finally:
            items.close()

    return run


@asynccontextmanager
async def sdk_client(half: Half, url: str, token: str, **more: Any) -> AsyncGenerator[AsyncClient]:
    if half == "async":
        async with AsyncClient(url, token, **more) as client:
            yield client
    else:
        with Client(url, token, **more) as client:
            yield cast(AsyncClient, Awaited(client))
