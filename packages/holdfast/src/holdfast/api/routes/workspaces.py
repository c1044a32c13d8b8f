"""The workspace of a chat: look at it, create it, start, stop and delete it.

The chat's rules are its workspace's: who may read the chat may see that it has one, who may drive
the chat may change it. Asking again is the same as asking once, so no route here needs a key.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final

from starlette.responses import Response

from holdfast.api import requests as bodies
from holdfast.api import server_responses as shapes
from holdfast.api.auth import Asks, Caller
from holdfast.api.etags import IfMatch, only_number, present, tag_of_workspace, tagged
from holdfast.api.presenters import answer, page, workspace_json
from holdfast.api.routes.common import ChatIdInPath, router_for
from holdfast.chats import listing
from holdfast.domain.denials import FieldRefused
from holdfast.domain.errors import ChatNotFound, NotLawful
from holdfast.domain.ids import ChatId
from holdfast.domain.policy import Action
from holdfast.domain.workspaces import Workspace, WorkspaceStatus
from holdfast.ports.workspaces import NoWorkspace, Workspaces, WorkspaceUnusable

router = router_for("workspaces")

WAIT_S: Final = 5.0
"""How long a request waits for what it asked for; the work goes on without it."""
RETRY_AFTER: Final = "1"
"""Seconds: the next request waits again."""
UNDER_WAY: Final[dict[int | str, dict[str, Any]]] = {
    202: {
        "description": "The work goes on; ask again after `Retry-After` seconds.",
        "model": shapes.Workspace,
        "headers": {"Retry-After": {"schema": {"type": "integer"}}},
    }
}
NOT_OFFERED: Final = (
    "This server offers no workspaces. An administrator can set HOLDFAST_TEMPLATES."
)


@router.get("/workspace-templates", response_model=shapes.TemplatePage)
async def list_workspace_templates(asks: Asks) -> Response:
    """The kinds of workspaces that chats may have; the first is the default."""
    offered = () if asks.edge.workspaces is None else asks.edge.workspaces.templates
    return page(
        [
            {
                "name": each.name,
                "description": each.description,
                "ttl_seconds": each.ttl_s or None,
            }
            for each in offered
        ]
    )


@router.get("/chats/{chat_id}/workspace", response_model=shapes.Workspace)
async def get_workspace(chat_id: ChatIdInPath, asks: Asks) -> Response:
    """The chat's workspace; `workspace_not_found` if it has none."""
    await listing.find(asks.edge.chats.listing, asks.who, ChatId(chat_id))
    found = await _found(asks, ChatId(chat_id))
    if found is None:
        raise NoWorkspace("The chat has no workspace.")
    return tagged(answer(workspace_json(found)), tag_of_workspace(found))


@router.put("/chats/{chat_id}/workspace", response_model=shapes.Workspace, responses=UNDER_WAY)
async def create_workspace(
    chat_id: ChatIdInPath, body: bodies.CreateWorkspace, asks: Asks
) -> Response:
    """Let the chat have a workspace: made if there is none, started if it is stopped, and as it is
    if it runs. Waits a few seconds; if it is still `starting` then, ask again."""
    await _check_may_start(asks, ChatId(chat_id))
    workspaces = _offered(asks)
    if body.template is not None and body.template not in {t.name for t in workspaces.templates}:
        raise FieldRefused("template", "no such template")
    loaded = await asks.edge.chats.store.load(ChatId(chat_id))
    if loaded is None:
        raise ChatNotFound(ChatId(chat_id))  # deleted between two statements
    made = workspaces.create(loaded.facts.chat, body.template, ttl_s=body.ttl_seconds or 0)
    return await _within_a_wait(asks, ChatId(chat_id), made)


@router.post(
    "/chats/{chat_id}/workspace/start", response_model=shapes.Workspace, responses=UNDER_WAY
)
async def start_workspace(chat_id: ChatIdInPath, asks: Asks) -> Response:
    """Start the workspace, with the files that are in it; waits like `PUT`."""
    await _check_may_start(asks, ChatId(chat_id))
    return await _within_a_wait(asks, ChatId(chat_id), _offered(asks).start(ChatId(chat_id)))


@router.post(
    "/chats/{chat_id}/workspace/stop", response_model=shapes.Workspace, responses=UNDER_WAY
)
async def stop_workspace(chat_id: ChatIdInPath, asks: Asks) -> Response:
    """Stop the workspace and all that runs in it; its files stay. Waits like `PUT`."""
    await _check_may_drive(asks, ChatId(chat_id))
    return await _within_a_wait(asks, ChatId(chat_id), _offered(asks).stop(ChatId(chat_id)))


@router.delete("/chats/{chat_id}/workspace", response_model=shapes.Workspace, responses=UNDER_WAY)
async def delete_workspace(chat_id: ChatIdInPath, asks: Asks, if_match: IfMatch) -> Response:
    """Delete the workspace with everything in it; the chat may have another one."""
    await _check_may_drive(asks, ChatId(chat_id))
    workspaces, expected = _offered(asks), only_number(if_match)
    async with present(lambda: _tag(asks, ChatId(chat_id))):
        gone = workspaces.delete(ChatId(chat_id), expected=expected)
        return await _within_a_wait(asks, ChatId(chat_id), gone)


async def _check_may_drive(asks: Caller, chat_id: ChatId) -> None:
    await listing.find(asks.edge.chats.listing, asks.who, chat_id, Action.DRIVE)


async def _check_may_start(asks: Caller, chat_id: ChatId) -> None:
    entry = await listing.find(asks.edge.chats.listing, asks.who, chat_id, Action.DRIVE)
    if entry.archived:
        reason = "The chat is archived. Unarchive it first."
        raise NotLawful(chat_id, "archived", "start_workspace", reason)


def _offered(asks: Caller) -> Workspaces:
    if asks.edge.workspaces is None:
        raise WorkspaceUnusable(NOT_OFFERED)
    return asks.edge.workspaces


async def _found(asks: Caller, chat_id: ChatId) -> Workspace | None:
    return None if asks.edge.workspaces is None else await asks.edge.workspaces.of_chat(chat_id)


async def _within_a_wait(asks: Caller, chat_id: ChatId, work: Awaitable[Workspace]) -> Response:
    """The result, or the progress so far: a caller that stops waiting interrupts nothing."""
    try:
        async with asyncio.timeout(WAIT_S):
            reached = await work
    except TimeoutError:
        found = await _found(asks, chat_id)
        if found is None:
            raise NoWorkspace("The workspace is gone.") from None
        reached = found
    settled = reached.status not in (WorkspaceStatus.STARTING, WorkspaceStatus.STOPPING)
    told = answer(workspace_json(reached), 200 if settled else 202)
    if not settled:
        told.headers["retry-after"] = RETRY_AFTER
    return tagged(told, tag_of_workspace(reached))


async def _tag(asks: Caller, chat_id: ChatId) -> str:
    found = await _found(asks, chat_id)
    if found is None:
        raise NoWorkspace("The workspace is gone.")
    return tag_of_workspace(found)
