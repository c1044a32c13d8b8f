# Made of holdfast_client/aio/chats.py by scripts/generate_sync.py. Do not edit.
"""The chats that one may read."""

from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from typing import Any, Literal

from holdfast_client import models
from holdfast_client.content import Content, given, message_json
from holdfast_client.reply import Reply
from holdfast_client.sync.chat import Chat, Tools
from holdfast_client.sync.http import Http
from holdfast_client.sync.turn import OnApproval, Turn
from holdfast_client.tools import toolbox


class Chats:
    def __init__(self, http: Http) -> None:
        self._http = http

    def create(
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
    ) -> Chat:
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
        receipt = self._create(body, idempotency_key)
        return Chat(self._http, receipt.chat_id)

    def run(
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
    ) -> Reply[Chat]:
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
        receipt = self._create(body, idempotency_key)
        turn = Turn(Chat(self._http, receipt.chat_id), receipt, own)
        return turn.result(on_approval=on_approval, timeout=timeout)

    def retrieve(self, chat_id: str) -> Chat:
        """With `data` and `etag`; raises `NotFoundError`."""
        chat = Chat(self._http, chat_id)
        chat.refresh()
        return chat

    def list(
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
    ) -> Generator[models.ChatSummary]:
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
        with closing(found) as pages:
            for page in pages:
                for each in page:
                    yield models.ChatSummary.model_validate(each)

    def _create(self, body: Mapping[str, Any], key: str | None) -> models.Receipt:
        return models.Receipt.model_validate(self._http.change("POST", "chats", body, key))


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
