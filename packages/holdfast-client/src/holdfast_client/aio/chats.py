"""The chats that one may read."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Literal

from holdfast_client import models
from holdfast_client.aio.chat import AsyncChat, Tools
from holdfast_client.aio.http import AsyncHttp
from holdfast_client.aio.turn import AsyncTurn, OnApproval
from holdfast_client.content import Content, given, message_json
from holdfast_client.reply import Reply
from holdfast_client.tools import toolbox


class AsyncChats:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http

    async def create(
        self,
        content: Content | None = None,
        *,
        title: str | None = None,
        labels: Iterable[str] | None = None,
        metadata: Mapping[str, str] | None = None,
        model: str | None = None,
        effort: str | None = None,
        web: bool | None = None,
        plan_mode: bool | None = None,
        tools: Tools = (),
        idempotency_key: str | None = None,
    ) -> AsyncChat:
        """Create a chat. With a first message its turn begins at once: `chat.turn(1)`. `model`,
        `effort`, `web` (whether the provider may search the web) and `plan_mode` (whether the
        model only makes a plan): of that turn, and of later ones that ask for no other."""
        body = given(
            **_asked(content, model, effort, web=web, plan_mode=plan_mode),
            title=title,
            labels=None if labels is None else [*labels],
            metadata=None if metadata is None else dict(metadata),
            tools=_declared(tools),
        )
        receipt = await self._create(body, idempotency_key)
        return AsyncChat(self._http, receipt.chat_id)

    async def run(
        self,
        content: Content,
        *,
        title: str | None = None,
        labels: Iterable[str] | None = None,
        metadata: Mapping[str, str] | None = None,
        model: str | None = None,
        effort: str | None = None,
        web: bool | None = None,
        plan_mode: bool | None = None,
        tools: Tools = (),
        on_approval: OnApproval | None = None,
        timeout: float | None = None,
        idempotency_key: str | None = None,
    ) -> Reply[AsyncChat]:
        """Create a chat and wait for the result of its first turn, running `tools` meanwhile.

        Raises `TurnFailedError` and `WaitTimeoutError`. If the turn waits for an answer that
        this call does not give: `reply.action_required`.
        """
        own = toolbox(tools)
        body = given(
            **_asked(content, model, effort, web=web, plan_mode=plan_mode),
            title=title,
            labels=None if labels is None else [*labels],
            metadata=None if metadata is None else dict(metadata),
            tools=_declared(own.values()),
        )
        receipt = await self._create(body, idempotency_key)
        turn = AsyncTurn(AsyncChat(self._http, receipt.chat_id), receipt, own)
        return await turn.result(on_approval=on_approval, timeout=timeout)

    async def retrieve(self, chat_id: str) -> AsyncChat:
        """With `data` and `etag`; raises `NotFoundError`."""
        chat = AsyncChat(self._http, chat_id)
        await chat.refresh()
        return chat

    async def list(
        self,
        *,
        search: str | None = None,
        label: str | None = None,
        metadata: Mapping[str, str] | None = None,
        archived: bool | Literal["any"] = False,
        pinned: bool | Literal["first"] | None = None,
        owner: Literal["me", "others"] | None = None,
        status: str | Iterable[str] | None = None,
        limit: int | None = None,
    ) -> AsyncGenerator[models.ChatSummary]:
        """Those that you may read, last updated first, page by page as they are taken.

        `search`: in the title. `metadata`: those with all of these pairs. `pinned="first"`: all of
        them, the pinned ones first. `limit`: at most so many.
        """
        filters = {f"metadata[{name}]": value for name, value in (metadata or {}).items()}
        found = self._http.pages(
            "chats",
            limit,
            q=search,
            label=label,
            archived=archived,
            pinned=pinned,
            owner=owner,
            status=[status] if isinstance(status, str) else status and [*status],
            **filters,
        )
        async with aclosing(found) as pages:
            async for page in pages:
                for each in page:
                    yield models.ChatSummary.model_validate(each)

    async def _create(self, body: Mapping[str, Any], key: str | None) -> models.Receipt:
        return models.Receipt.model_validate(await self._http.change("POST", "chats", body, key))


def _asked(
    content: Content | None,
    model: str | None,
    effort: str | None,
    *,
    web: bool | None,
    plan_mode: bool | None,
) -> dict[str, Any]:
    """A first message names the model itself; without one the chat does."""
    if content is None:
        return {"model": model, "effort": effort, "web": web, "plan_mode": plan_mode}
    return {"message": message_json(content, model, effort, web=web, plan_mode=plan_mode)}


def _declared(tools: Tools) -> object:
    """None: none."""
    return [each.declaration() for each in toolbox(tools).values()] or None
