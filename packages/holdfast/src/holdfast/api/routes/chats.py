"""Chats: begin, list, look at, name, pin, label, archive, share, mark as read."""

from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.responses import Response

from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, ByKey, Caller
from holdfast.api.etags import IfMatch, listed_in, present, tag_of_chat, tagged
from holdfast.api.presenters import answer, committed, nothing, tool_json
from holdfast.api.routes.common import (
    After,
    ChatIdInPath,
    Limit,
    UserIdInPath,
    chat_tag,
    check_model,
    router_for,
)
from holdfast.chats import create, declare, listing, steer
from holdfast.chats.changes import Commit
from holdfast.chats.listing import entry_json
from holdfast.domain.chat import Status
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.commands import Fork
from holdfast.domain.errors import ChatNotFound
from holdfast.domain.events import EventKind, of_state
from holdfast.domain.ids import ChatId, Seq, UserId, Version
from holdfast.domain.policy import Action, TargetKind, rule_for
from holdfast.ports.listing import ListFilter

router = router_for("chats")


@router.post("/chats", status_code=201, response_model=shapes.Committed)
async def begin(body: bodies.NewChat, asks: Asks, key: ByKey) -> Response:
    """Create a chat; with a first message its turn starts at once."""
    rule_for(asks.who, Action.CREATE, TargetKind.CHAT)
    messages = () if body.message is None else (body.message.body(asks.who.user_id),)
    if body.message is not None:
        check_model(asks, body.message.model)
    tools = _tools(asks, body.tools)
    chats = asks.edge.chats
    commit = await create.create(
        chats.ledger, chats.ids, asks.driver, messages, tools=tools, keyed=key
    )
    return _begun(commit)


@router.post("/chats/{chat_id}/fork", status_code=201, response_model=shapes.Committed)
async def fork(chat_id: ChatIdInPath, body: bodies.Forking, asks: Asks, key: ByKey) -> Response:
    """Create a chat with this one's history; the caller needs to be able to read it."""
    rule_for(asks.who, Action.CREATE, TargetKind.CHAT)
    chats = asks.edge.chats
    await listing.find(chats.listing, asks.who, ChatId(chat_id))
    command = Fork(
        None if body.at is None else Seq(body.at),
        None if body.as_of is None else Version(body.as_of),
    )
    commit = await create.fork(
        chats.ledger, chats.ids, asks.driver, ChatId(chat_id), command, keyed=key
    )
    return _begun(commit)


@router.get("/chats", response_model=shapes.ChatPage)
async def page(
    asks: Asks,
    status: Annotated[list[Status] | None, Query(max_length=10)] = None,
    archived: bool | None = False,  # noqa: FBT001, FBT002
    pinned: bool | None = None,  # noqa: FBT001
    label: Annotated[str | None, Query(max_length=200)] = None,
    q: Annotated[str | None, Query(max_length=200, description="In the title.")] = None,
    whose: Literal["own", "shared"] | None = None,
    order: Literal["pinned_first", "mixed"] = "mixed",
    limit: Limit = 50,
    after: After = None,
) -> Response:
    """The chats that one may read, last touched first."""
    wanted = ListFilter(
        statuses=None if status is None else frozenset(status),
        archived=archived,
        pinned=pinned,
        label=label,
        title_has=q,
        whose=whose,
    )
    found = await listing.page(
        asks.edge.chats.listing,
        asks.who,
        wanted,
        limit=limit,
        after=after,
        pinned="first" if order == "pinned_first" else "mixed",
    )
    return answer({"chats": [entry_json(each) for each in found.entries], "after": found.after})


@router.get("/oversight/chats", response_model=shapes.ChatPage)
async def oversee(asks: Asks, limit: Limit = 50, after: After = None) -> Response:
    """All chats of the organisation, for its admins: that they are there, not what they say."""
    found = await listing.oversee(
        asks.edge.chats.listing, asks.who, ListFilter(archived=None), limit=limit, after=after
    )
    return answer({"chats": [entry_json(each) for each in found.entries], "after": found.after})


@router.get("/chats/{chat_id}", response_model=shapes.Chat)
async def look(chat_id: ChatIdInPath, asks: Asks) -> Response:
    """A chat, and what of it is happening now."""
    entry = await listing.find(asks.edge.chats.listing, asks.who, ChatId(chat_id))
    loaded = await asks.edge.chats.store.load(ChatId(chat_id))
    if loaded is None:
        raise ChatNotFound(ChatId(chat_id))  # deleted between two statements
    told: dict[str, Any] = {event.kind: event.data for event in of_state(loaded.facts.chat, 0)}
    status = told[EventKind.STATUS]
    told_now = answer(
        {
            **entry_json(entry),
            "model": status["model"],
            "effort": status["effort"],
            "attempt": status["attempt"],
            "queue": told[EventKind.QUEUE]["messages"],
            "error": told.get(EventKind.ERROR),
            "retry": told.get(EventKind.RETRY),
            "action_required": told.get(EventKind.ACTION_REQUIRED),
            "tools": [tool_json(each) for each in loaded.facts.chat.tools],
        }
    )
    return tagged(told_now, tag_of_chat(entry))


@router.put("/chats/{chat_id}/tools", response_model=shapes.Committed)
async def declare_tools(
    chat_id: ChatIdInPath, body: bodies.Declaring, asks: Asks, key: ByKey
) -> Response:
    """The tools that its client runs: these and no others, from the next turn on."""
    tools = _tools(asks, body.tools)
    commit = await declare.declare(
        asks.edge.chats.ledger, asks.driver, ChatId(chat_id), tools, keyed=key
    )
    return committed(commit)


@router.put("/chats/{chat_id}/title", response_model=shapes.ChatEntry)
async def rename(
    chat_id: ChatIdInPath, body: bodies.Titling, asks: Asks, if_match: IfMatch
) -> Response:
    """Give a title, which the server then leaves alone; null takes it away."""
    chat, expected = ChatId(chat_id), listed_in(if_match)
    async with present(lambda: chat_tag(asks, chat)):
        port = asks.edge.chats.listing
        entry = await listing.rename(port, asks.who, chat, body.title, expected=expected)
    return tagged(answer(entry_json(entry)), tag_of_chat(entry))


@router.put("/chats/{chat_id}/pinned", response_model=shapes.ChatEntry)
async def pin(
    chat_id: ChatIdInPath, body: bodies.Pinning, asks: Asks, if_match: IfMatch
) -> Response:
    """Pin a chat, or unpin it, in its owner's list."""
    chat, expected = ChatId(chat_id), listed_in(if_match)
    async with present(lambda: chat_tag(asks, chat)):
        port = asks.edge.chats.listing
        entry = await listing.pin(port, asks.who, chat, pinned=body.pinned, expected=expected)
    return tagged(answer(entry_json(entry)), tag_of_chat(entry))


@router.put("/chats/{chat_id}/labels", response_model=shapes.ChatEntry)
async def label(
    chat_id: ChatIdInPath, body: bodies.Labelling, asks: Asks, if_match: IfMatch
) -> Response:
    """Give a chat these labels and no others."""
    chat, expected = ChatId(chat_id), listed_in(if_match)
    async with present(lambda: chat_tag(asks, chat)):
        port = asks.edge.chats.listing
        entry = await listing.label(port, asks.who, chat, body.labels, expected=expected)
    return tagged(answer(entry_json(entry)), tag_of_chat(entry))


@router.put("/chats/{chat_id}/read", response_model=shapes.ReadUpTo)
async def mark_read(chat_id: ChatIdInPath, body: bodies.Reading, asks: Asks) -> Response:
    """Set how far the caller has read; it only moves forward."""
    reached = await listing.mark_read(
        asks.edge.chats.listing, asks.who, ChatId(chat_id), Seq(body.seq)
    )
    return answer({"read_seq": reached})


@router.post("/chats/{chat_id}/archive", response_model=shapes.Committed)
async def archive(chat_id: ChatIdInPath, asks: Asks, key: ByKey) -> Response:
    """Archive a chat; it accepts no commands until it is unarchived."""
    ledger = asks.edge.chats.ledger
    return committed(await steer.archive(ledger, asks.driver, ChatId(chat_id), keyed=key))


@router.post("/chats/{chat_id}/unarchive", response_model=shapes.Committed)
async def unarchive(chat_id: ChatIdInPath, asks: Asks, key: ByKey) -> Response:
    """Unarchive a chat."""
    ledger = asks.edge.chats.ledger
    return committed(await steer.unarchive(ledger, asks.driver, ChatId(chat_id), keyed=key))


@router.get("/chats/{chat_id}/shares", response_model=shapes.Shares)
async def shares(chat_id: ChatIdInPath, asks: Asks) -> Response:
    """With whom a chat is shared; for its owner."""
    found = await listing.shares(asks.edge.chats.listing, asks.who, ChatId(chat_id))
    told = [
        {"user_id": str(each.user_id), "name": each.name, "email": each.email} for each in found
    ]
    return answer({"shares": told})


@router.put("/chats/{chat_id}/shares/{user_id}", status_code=204)
async def share(chat_id: ChatIdInPath, user_id: UserIdInPath, asks: Asks) -> Response:
    """Share the chat read-only with a member of the organisation. Repeating changes nothing."""
    chats, clock = asks.edge.chats, asks.edge.clock
    await listing.share(chats.listing, clock, asks.who, ChatId(chat_id), UserId(user_id))
    return nothing()


@router.delete("/chats/{chat_id}/shares/{user_id}", status_code=204)
async def unshare(chat_id: ChatIdInPath, user_id: UserIdInPath, asks: Asks) -> Response:
    """Take a share back; open streams of that reader end within 20 s."""
    chats, clock = asks.edge.chats, asks.edge.clock
    await listing.unshare(chats.listing, clock, asks.who, ChatId(chat_id), UserId(user_id))
    return nothing()


def _begun(commit: Commit) -> Response:
    response = committed(commit, 201)
    response.headers["location"] = f"/api/v1/chats/{commit.chat.chat_id}"
    return response


def _tools(asks: Caller, given: bodies.ToolsIn) -> list[ClientTool]:
    tools = [each.tool() for each in given]
    declare.check_tools(tools, asks.edge.reserved_tools)
    return tools
