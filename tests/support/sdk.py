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

from holdfast_client import (
    AsyncChat,
    AsyncClient,
    AsyncToolApproval,
    AsyncTurn,
    Chat,
    Client,
    ToolApproval,
    Turn,
)
from holdfast_client.aio import accounts as aio_accounts
from holdfast_client.aio import catalogue as aio_catalogue
from holdfast_client.aio import chat_core as aio_core
from holdfast_client.aio import chat_parts as aio_parts
from holdfast_client.aio import chats as aio_chats
from holdfast_client.aio import client as aio_client
from holdfast_client.aio import workspace as aio_workspace
from holdfast_client.sync import accounts as sync_accounts
from holdfast_client.sync import catalogue as sync_catalogue
from holdfast_client.sync import chat_core as sync_core
from holdfast_client.sync import chat_parts as sync_parts
from holdfast_client.sync import chats as sync_chats
from holdfast_client.sync import client as sync_client
from holdfast_client.sync import workspace as sync_workspace

Half = Literal["async", "sync"]
HALVES: tuple[Half, ...] = ("async", "sync")
TWINS: dict[type[Any], type[Any]] = {
    Client: AsyncClient,
    Chat: AsyncChat,
    sync_core.ChatCore: aio_core.AsyncChatCore,
    Turn: AsyncTurn,
    ToolApproval: AsyncToolApproval,
    sync_parts.Messages: aio_parts.AsyncMessages,
    sync_parts.Queue: aio_parts.AsyncQueue,
    sync_workspace.Workspace: aio_workspace.AsyncWorkspace,
    sync_chats.Chats: aio_chats.AsyncChats,
    sync_client.Models: aio_client.AsyncModels,
    sync_client.WorkspaceTemplates: aio_client.AsyncWorkspaceTemplates,
    sync_accounts.Users: aio_accounts.AsyncUsers,
    sync_accounts.ApiKeys: aio_accounts.AsyncApiKeys,
    sync_accounts.Sessions: aio_accounts.AsyncSessions,
    sync_accounts.Organization: aio_accounts.AsyncOrganization,
    sync_catalogue.OrganizationProviders: aio_catalogue.AsyncOrganizationProviders,
    sync_catalogue.OrganizationModels: aio_catalogue.AsyncOrganizationModels,
    sync_accounts.OrganizationSettings: aio_accounts.AsyncOrganizationSettings,
    sync_accounts.AuditLog: aio_accounts.AsyncAuditLog,
    sync_accounts.OrganizationChats: aio_accounts.AsyncOrganizationChats,
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
async def sdk_client(
    half: Half, url: str, api_key: str, **more: Any
) -> AsyncGenerator[AsyncClient]:
    if half == "async":
        async with AsyncClient(url, api_key=api_key, **more) as client:
            yield client
    else:
        with Client(url, api_key=api_key, **more) as client:
            yield cast(AsyncClient, Awaited(client))
