"""Both halves of the SDK behind one face, so that one suite can be run on both.

`Awaited` gives a sync object the async names: its calls run beside the loop of the test, as in a
program that has none.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal, cast

from holdfast_client import AsyncChat, AsyncClient, Chat, Client
from holdfast_client.aio import chat as aio_chat
from holdfast_client.aio import client as aio_client
from holdfast_client.sync import chat as sync_chat
from holdfast_client.sync import client as sync_client

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
            return _faced(value)
        return _face(value)


def _face(value: Any) -> Any:
    return Awaited(value) if type(value) in TWINS else value


async def _apart(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Beside the loop. Not in asyncio's pool: a call that hangs must not hang the end of a test."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def work() -> None:
        result, failed = None, None
        try:
            result = call(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - it is raised over there
            failed = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=work, daemon=True).start()
    return await done


def _faced(call: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        return _face(call(*args, **kwargs))

    return run


def _awaited(call: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> Any:
        return _face(await _apart(call, *args, **kwargs))

    return run


def _iterated(call: Callable[..., Generator[Any]]) -> Callable[..., AsyncGenerator[Any]]:
    async def run(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        items = call(*args, **kwargs)
        try:
            while (item := await _apart(next, items, _END)) is not _END:
                yield item
        finally:
            with suppress(ValueError):  # it is under way beside us, and the test is over
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
